"""Elementary functions in arithmetic that the compiler vectorizes; calls of the mathematical library it does not.

A loop that uses them must not be compiled with reassociation, which would fold the two-part constant in `exp`.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Of the normal density and distribution function, which are made of the functions below.
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
INVERSE_ROOT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
ROOT_HALF = math.sqrt(0.5)


@intrinsic
def _float_bits(typing_context, bits):  # type: ignore[no-untyped-def]  # numba's own calling convention
    """The double whose bit pattern is this integer."""

    def generate(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def _integer_bits(typing_context, value):  # type: ignore[no-untyped-def]
    """The bit pattern of a double."""

    def generate(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


_SHIFT = 6755399441055744.0  # 1.5·2⁵²: adding a whole number puts it into the low bits of the double


@numba.njit(inline="always")
def exp(x: float) -> float:
    """eˣ for |x| < 708 to 2e-16, by Taylor's series."""
    whole = np.floor(x * 1.4426950408889634 + 0.5)
    rest = (x - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10
    # To degree 13, by Horner's rule; a loop over a tuple of coefficients would not be unrolled.
    series = rest * (1.0 / 6227020800.0) + 1.0 / 479001600.0
    series = series * rest + 1.0 / 39916800.0
    series = series * rest + 1.0 / 3628800.0
    series = series * rest + 1.0 / 362880.0
    series = series * rest + 1.0 / 40320.0
    series = series * rest + 1.0 / 5040.0
    series = series * rest + 1.0 / 720.0
    series = series * rest + 1.0 / 120.0
    series = series * rest + 1.0 / 24.0
    series = series * rest + 1.0 / 6.0
    series = series * rest + 0.5
    series = series * rest + 1.0
    series = series * rest + 1.0
    power = _float_bits((_integer_bits(whole + _SHIFT) << 52) + 4607182418800017408)
    return series * power


@numba.njit(inline="always")
def log(x: float) -> float:
    """The natural logarithm of a normal double x > 0 to 2e-16 (absolutely near 1), by the series of artanh."""
    bits = _integer_bits(x)
    # The exponent, as a double: the mantissa of 2⁵² is a whole number.
    exponent = _float_bits((bits >> 52) | 4841369599423283200) - 4503599627371519.0
    fraction = _float_bits((bits & 4503599627370495) | 4607182418800017408)
    large = fraction > 1.4142135623730951
    fraction = 0.5 * fraction if large else fraction
    exponent = exponent + 1.0 if large else exponent
    s = (fraction - 1.0) / (fraction + 1.0)
    z = s * s
    series = z * (1.0 / 21.0) + 1.0 / 19.0
    series = series * z + 1.0 / 17.0
    series = series * z + 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    return 2.0 * (s + s * z * series) + exponent * 0.6931471805599453


@numba.njit(inline="always")
def erfcx(x: float) -> float:
    """exp(x²)·erfc(x) for x ≥ 0, to 4e-16 relative.

    (1 + 2x)·erfcx(x) is a smooth function of t = (x − 3.75)/(x + 3.75) on [−1, 1), here by its Chebyshev interpolant.

    Shepherd, Laframboise. Chebyshev approximation of (1+2x)exp(x²)erfc x in 0 ≤ x < ∞. Math. Comp. 1981.
    """
    t = (x - 3.75) / (x + 3.75)
    value = t * -2.623107347133476e-09 - 1.9551358868985616e-09
    value = value * t + 3.197926671666804e-08
    value = value * t + 1.879082322370048e-08
    value = value * t - 2.4857126248016745e-07
    value = value * t - 5.084465378687302e-08
    value = value * t + 1.7419821586224816e-06
    value = value * t - 9.792625707303523e-07
    value = value * t - 1.1438048033346894e-05
    value = value * t + 2.2387565714911816e-05
    value = value * t + 5.164652974177416e-05
    value = value * t - 0.00029015535246077655
    value = value * t + 0.000293714378044958
    value = value * t + 0.0017556261651970652
    value = value * t - 0.009746579683265262
    value = value * t + 0.02836227737211114
    value = value * t - 0.05869339857664934
    value = value * t + 0.09230432116428125
    value = value * t - 0.10880393014244462
    value = value * t + 0.08227673848999506
    value = value * t + 0.0035854154854790257
    value = value * t - 0.14024059858554525
    value = value * t + 1.2375126308378275
    return value / (1.0 + 2.0 * x)

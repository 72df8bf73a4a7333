from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch

from scorebo.acquisition._truncation import TAIL
from scorebo.acquisition.truncation import log_cdf, terms, truncate, truncated_quantile

mpmath.mp.dps = 60


def exact(threshold: float) -> dict[str, mpmath.mpf]:
    x = mpmath.mpf(float(threshold))
    cdf = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
    r = mpmath.npdf(x) / cdf
    q = x + r
    factor = 1 - r * q
    return {"ratio": r, "excess": q, "factor": factor, "slope": r * (q * q - factor), "log_cdf": mpmath.log(cdf)}


def relative_errors(values, name, thresholds):
    pairs = zip(values.tolist(), thresholds, strict=True)
    return max(abs(float((mpmath.mpf(value) - exact(at)[name]) / exact(at)[name])) for value, at in pairs)


def grid(low, high):
    return np.concatenate([np.linspace(low, high, 8 * int(high - low) + 1), [TAIL - 1e-9, TAIL, TAIL + 1e-9]])


def test_ratio_is_accurate_in_both_tails():
    thresholds = grid(-40, 37)
    ratio, _ = truncate(torch.from_numpy(thresholds))
    assert relative_errors(ratio, "ratio", thresholds) < 1e-12


def test_variance_factor_is_accurate_in_both_tails():
    thresholds = grid(-40, 40)
    _, factor = truncate(torch.from_numpy(thresholds))
    assert relative_errors(factor, "factor", thresholds) < 1e-11


def test_derivatives_are_accurate_in_both_tails():
    thresholds = grid(-40, 37)
    x = torch.from_numpy(thresholds)
    assert relative_errors(terms(x).excess, "excess", thresholds) < 1e-11
    for output, expected in ((0, lambda t: -t["ratio"] * t["excess"]), (1, lambda t: t["slope"])):
        at = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(truncate(at)[output].sum(), at)
        errors = [
            abs(float(mpmath.mpf(value) / expected(exact(t)) - 1))
            for value, t in zip(gradient.tolist(), thresholds, strict=True)
        ]
        # Just above the tail F' is still a difference of terms 700 times its size.
        assert max(errors) < 1e-10


def test_log_cdf_and_its_slope():
    thresholds = np.concatenate([grid(-40, 8), [-30.0, -1e3, -1e5]])
    x = torch.from_numpy(thresholds).requires_grad_()
    value = log_cdf(x)
    (gradient,) = torch.autograd.grad(value.sum(), x)
    expected = np.array([float(exact(t)["log_cdf"]) for t in thresholds])
    # Near 0, for large arguments, log Φ is accurate absolutely.
    np.testing.assert_allclose(value.detach().numpy(), expected, rtol=1e-13, atol=1e-15)
    assert relative_errors(gradient, "ratio", thresholds) < 1e-12


@pytest.mark.parametrize("function", [lambda x: sum(truncate(x)), log_cdf])
def test_finite_for_any_threshold(function):
    size = 10.0 ** torch.arange(-300, 101, 10, dtype=torch.float64)
    x = torch.cat([-size, torch.zeros(1, dtype=torch.float64), size]).requires_grad_()
    value = function(x)
    (gradient,) = torch.autograd.grad(value.sum(), x)
    assert value.isfinite().all()
    assert gradient.isfinite().all()


def test_variance_factor_is_between_0_and_1():
    x = torch.linspace(-200, 50, 20001, dtype=torch.float64)
    ratio, factor = truncate(x)
    assert ((factor > 0) & (factor <= 1)).all()
    assert (ratio >= 0).all()
    assert (factor.diff() > -1e-11).all()


@pytest.mark.parametrize("threshold", [-60.0, -8.0, -1.0, 0.0, 3.0, 20.0])
def test_truncated_quantile_inverts_the_cdf(threshold):
    scores = torch.linspace(-7, 7, 15, dtype=torch.float64)
    w = truncated_quantile(scores, torch.full_like(scores, threshold))
    for score, value in zip(scores.tolist(), w.tolist(), strict=True):
        above = mpmath.erfc(mpmath.mpf(value) / mpmath.sqrt(2)) / 2
        survival = above / (mpmath.erfc(-mpmath.mpf(threshold) / mpmath.sqrt(2)) / 2)
        # P(w above | w ≥ −α) must be 1 − u = Φ(−score); near −α rounding of w itself limits the lower levels.
        expected = mpmath.erfc(mpmath.mpf(score) / mpmath.sqrt(2)) / 2
        assert abs(survival - expected) < 1e-11 * (1 + abs(threshold)) ** 2 * expected

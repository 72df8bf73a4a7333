"""Tasks on measured data with a solver behind them; all are minimized. The data: `scorebo data list`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scorebo.benchmarks.outside.process import Solve
from scorebo.benchmarks.outside.task import OutsideTask
from scorebo.benchmarks.solvers import galaxies, lasso, svm
from scorebo.data.sources import required
from scorebo.errors import check_integer


class LassoDNA(OutsideTask):
    """Cross-validated error of a weighted Lasso on the DNA data, one penalty for each of 180 features."""

    bounds = ((-1.0,) * lasso.FEATURES, (1.0,) * lasso.FEATURES)
    quantity = "mean squared error of the class number (1, 2 or 3), five-fold cross-validated"
    expensive = True

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        (file,) = required("dna")
        return lasso.dna, {"file": str(file)}


class _SVM(OutsideTask):
    bounds = ((0.0,) * (svm.FEATURES + 3), (1.0,) * (svm.FEATURES + 3))
    quantity = "root mean squared error on 250 test rows, the place of a slice scaled to [0, 1]"
    expensive = True


class SVMCT(_SVM):
    """Test error of support-vector regression on the CT slices, 388 hyperparameters; the user supplies the table."""

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        (file,) = required("ct_slice")
        return svm.ct_slice, {"file": str(file)}


class SVMCT757(_SVM):
    """As `SVMCT`, on 757 rows of the table: another function, and not to be compared with it."""

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        (file,) = required("ct_slice_757")
        return svm.ct_slice_757, {"file": str(file)}


class Cosmology(OutsideTask):
    """Minus the log likelihood of 11 cosmological constants; a failed or too long computation scores 300.

    CAMB and the power spectrum of the SDSS luminous red galaxies (DR7), as in Kandasamy, Schneider, Póczos. High
    dimensional Bayesian optimization and bandits via additive models. ICML 2015.

    In order: baryon density Ω_b h², cold dark matter Ω_c h², curvature Ω_k, Hubble constant (km/s/Mpc), temperature of
    the microwave background (K), helium fraction, number of massless neutrinos, scalar amplitude, spectral index, and
    the fudge factors of RECFAST for hydrogen and helium.

    Args:
        num_groups: most groups of an additive model of it, which takes them from here; the function has none.
        options: those of every task that outside code evaluates.
    """

    bounds = (
        (0.01, 0.01, 0.01, 52.5, 2.7, 0.2, 2.9, 1.5e-9, 0.72, 0.0, 0.0),
        (0.08, 0.25, 0.25, 100.0, 2.8, 0.3, 3.09, 2.6e-8, 2.7, 100.0, 100.0),
    )
    quantity = "-ln L of the galaxies' power spectrum, up to a constant"
    expensive = True
    failure_value = 300.0
    package = ("camb", "cosmology")

    def __init__(self, *, num_groups: int = 4, **options: Any) -> None:
        self.num_groups = check_integer("num_groups", num_groups, 1)
        super().__init__(**options)

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        folder = required("sdss_lrg_dr7")[0].parent
        return galaxies.sdss, {"folder": str(folder)}

"""Tasks on measured data with a solver behind them; both are minimized. The data: `scorebo data list`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scorebo.benchmarks.outside.process import Solve
from scorebo.benchmarks.outside.task import OutsideTask
from scorebo.benchmarks.solvers import lasso, svm
from scorebo.data.check import required


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

"""How many threads the numerical libraries may use; they read it once, when they load."""

from __future__ import annotations

import os
import sys

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def limit_threads(threads: int) -> None:
    """Set the number of threads of this process and of those it starts; call it before numpy or torch load."""
    for variable in VARIABLES:
        os.environ[variable] = str(threads)
    if "numpy" in sys.modules:
        # Too late for the variables: BLAS can still be told through threadpoolctl, and torch itself.
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)

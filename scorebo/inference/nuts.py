"""NUTS by nutpie over the compiled density: the sampler of all runs.

Hoffman, Gelman: The No-U-Turn Sampler, JMLR 2014. The paper's code has one chain with a dense mass matrix and tree
depth at most 6 ᶜ; nutpie's low-rank adaptation takes the place of the dense matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebo.gp import _callback
from scorebo.gp.density import LogDensity
from scorebo.inference import engine
from scorebo.inference.diagnostics import Chain

# Chosen by scripts/validation/nuts_settings.py, whose table is results/reference/nuts-settings.md.
MAX_TREE_DEPTH = 4
TARGET_ACCEPTANCE = 0.9
# With more coordinates 128 warm-up draws do not tell directions apart: with the low-rank part a chain of `saas` at
# D = 180, n = 100 took longer (1.9 against 1.6 s) for fewer effective draws (2 against 5, medians of four seeds).
LOW_RANK_UP_TO = 100


def sample(
    density: LogDensity,
    start: np.ndarray,
    *,
    warmup: int,
    draws: int,
    seed: int,
    max_tree_depth: int | None = None,
    target_acceptance: float | None = None,
    low_rank: bool | None = None,
) -> Chain:
    """Draw one chain from `start`.

    The mass matrix is diagonal plus low rank, or only diagonal; None is the latter where there are many coordinates.

    Raises:
        RuntimeError: the chain could not be started, or broke off.
    """
    block = density.packed()
    sampler = engine.start(
        _callback.evaluate,
        _callback.copy,
        block,
        start,
        low_rank=density.dim <= LOW_RANK_UP_TO if low_rank is None else low_rank,
        seed=seed,
        num_tune=warmup,
        num_draws=draws,
        num_chains=1,
        maxdepth=max_tree_depth or MAX_TREE_DEPTH,
        target_accept=target_acceptance or TARGET_ACCEPTANCE,
    )
    # Stopped here on an interrupt: nutpie's Python side would return the draws made so far.
    try:
        sampler.wait(None)
        trace = sampler.take_results()
    except KeyboardInterrupt:
        sampler.abort()
        raise
    finally:
        density.evaluations += int(block[0])
        density.raise_error()
    return _read(trace, density.dim, warmup, draws)


def _read(trace: Any, dim: int, warmup: int, draws: int) -> Chain:
    """The draws after warm-up, straight from nutpie's Arrow batches (its conversion to arviz takes longer)."""
    import pyarrow

    draw_batches, statistic_batches = trace.get_arrow_trace()
    # By DLPack: `to_numpy` would import pandas, half a second.
    theta = np.from_dlpack(pyarrow.record_batch(draw_batches[0]).column("theta").flatten()).reshape(-1, dim)
    if len(theta) != warmup + draws:
        raise RuntimeError(f"nutpie returned {len(theta)} of {warmup + draws} draws")
    theta = theta[warmup:].copy()
    statistics = pyarrow.record_batch(statistic_batches[0]).slice(warmup)

    def column(name: str) -> np.ndarray:
        return np.from_dlpack(statistics.column(name)).copy()

    return Chain(
        theta=theta,
        divergences=sum(statistics.column("diverging").to_pylist()),
        acceptance=float(column("mean_tree_accept").mean()),
        step_size=float(column("step_size_bar")[-1]),
        tree_depth=column("depth"),
        energy=column("energy"),
    )

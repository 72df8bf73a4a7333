"""NUTS by nutpie over the compiled density: the sampler of all runs.

Hoffman, Gelman: The No-U-Turn Sampler, JMLR 2014. The paper's code has one chain with a dense mass matrix and tree
depth at most 6 ᶜ; nutpie's low-rank adaptation takes the place of the dense matrix.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from scorebo.gp import _callback
from scorebo.gp.density import LogDensity
from scorebo.inference.diagnostics import Chain

# Chosen by scripts/nuts_settings.py, whose table is results/reference/nuts-settings.md.
MAX_TREE_DEPTH = 4
TARGET_ACCEPTANCE = 0.9


def sample(
    density: LogDensity,
    start: np.ndarray,
    *,
    warmup: int,
    draws: int,
    seed: int,
    max_tree_depth: int | None = None,
    target_acceptance: float | None = None,
    low_rank: bool = True,
) -> Chain:
    """Draw one chain from `start`; the mass matrix is diagonal plus low rank, or only diagonal.

    Raises:
        RuntimeError: the chain could not be started, or broke off.
    """
    nutpie, Model = _import_nutpie()
    block = density.packed()
    model = Model(
        compiled_logp_func=_callback.evaluate,
        compiled_expand_func=_callback.copy,
        user_data=block,
        n_expanded=density.dim,
        shape_info=(["theta"], [slice(0, density.dim)], [(density.dim,)]),
        # nutpie's `init_mean` does not reach the sampler; this does.
        initial_point_func=lambda _: start,
        _n_dim=density.dim,
        _shapes={"theta": (density.dim,)},
        _coords={},
        dims={},
        shared_data={},
        logp_func=None,
        expand_func=None,
    )
    sampler = nutpie.sample(
        model,
        draws=draws,
        tune=warmup,
        chains=1,
        cores=1,
        seed=seed,
        maxdepth=max_tree_depth or MAX_TREE_DEPTH,
        target_accept=target_acceptance or TARGET_ACCEPTANCE,
        low_rank_modified_mass_matrix=low_rank,
        progress_bar=False,
        return_raw_trace=True,
        blocking=False,
    )
    # Waited for here: nutpie's own waiting takes an interrupt for a wish to keep the draws made so far.
    try:
        trace = sampler.wait()
    except KeyboardInterrupt:
        sampler.cancel()
        raise
    finally:
        density.evaluations += int(block[0])
    return _read(trace, density.dim, warmup, draws)


def _read(trace: Any, dim: int, warmup: int, draws: int) -> Chain:
    """The draws after warm-up, straight from nutpie's Arrow batches (its conversion to arviz takes longer)."""
    import pyarrow

    draw_batches, statistic_batches = trace.get_arrow_trace()
    theta = pyarrow.record_batch(draw_batches[0]).column("theta").flatten().to_numpy(zero_copy_only=False)
    theta = np.array(theta, dtype=np.float64).reshape(-1, dim)
    if len(theta) != warmup + draws:
        raise RuntimeError(f"nutpie returned {len(theta)} of {warmup + draws} draws")
    theta = theta[warmup:]
    statistics = pyarrow.record_batch(statistic_batches[0]).slice(warmup)

    def column(name: str) -> np.ndarray:
        return statistics.column(name).to_numpy(zero_copy_only=False)

    return Chain(
        theta=theta,
        divergences=int(column("diverging").sum()),
        acceptance=float(column("mean_tree_accept").mean()),
        step_size=float(column("step_size_bar")[-1]),
        tree_depth=column("depth"),
        energy=column("energy"),
    )


def _import_nutpie() -> tuple[Any, Any]:
    """nutpie, and its model of a C function; the other kind calls Python, at 20 µs an evaluation."""
    with warnings.catch_warnings():
        # nutpie imports arviz, which announces its own reorganisation.
        warnings.filterwarnings("ignore", message=r"[\s\S]*ArviZ is undergoing", category=FutureWarning)
        import nutpie
        from nutpie.compile_pymc import CompiledPyMCModel
    return nutpie, CompiledPyMCModel

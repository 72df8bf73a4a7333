"""How far an optimization run has come: regrets, and the recommended point."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from scorebo.acquisition.maximize import maximize
from scorebo.acquisition.mixture_mean import MixtureMean
from scorebo.errors import EvaluationError, InputError, TaskError, describe_point
from scorebo.gp import FullyBayesianGP
from scorebo.search.box import unit_box
from scorebo.seeds import derive
from scorebo.store.schema import OptimizationMetrics, nothing
from scorebo.transforms.standardize import DataTransform

if TYPE_CHECKING:
    from scorebo.benchmarks.base import Benchmark

logger = logging.getLogger(__name__)

# A value better than the optimum by more than this, relative to the larger of 1 and the optimum, is no rounding.
VIOLATION = 1e-8


def optimization_metrics(
    model: FullyBayesianGP,
    benchmark: Benchmark,
    transform: DataTransform,
    X: Tensor,
    y: Tensor,
    f: Tensor,
    seed: int,
    iteration: int,
    optimizer: Mapping[str, Any] | None = None,
) -> OptimizationMetrics:
    """Judge what the model recommends and what the run has seen.

    Args:
        model: the ensemble fitted to the observations.
        benchmark: the task, as `for_seed` gives it.
        transform: between the task's units and the model's.
        X: `n x D`, the points queried, in the task's units.
        y: `n`, their noisy observations.
        f: `n`, their noiseless values.
        seed: the run's seed.
        iteration: the iteration; with the seed and the task's name it seeds the search.
        optimizer: settings of `maximize` other than its own, as for acquisitions.
    """
    mixture_mean = MixtureMean(model)
    queried = transform.to_unit(X).clamp(0.0, 1.0)
    with torch.no_grad():
        means = mixture_mean(queried.unsqueeze(-2))
    best_queried = int(means.argmax())
    found, height = maximize(
        mixture_mean,
        unit_box(benchmark.dim),
        seed=derive(benchmark.name, seed, "recommendation", iteration),
        around=queried[best_queried],
        **(optimizer or {}),
    )
    # The search starts next to the points queried, not at them.
    best = found[0] if height > means[best_queried] else queried[best_queried]
    recommended = transform.from_unit(best)
    value = _value_at(benchmark, recommended)
    judged: OptimizationMetrics = {
        **_observed(benchmark, y, f),
        "inference_regret": _regret(benchmark, value),
        "in_sample_inference_regret": _regret(benchmark, float(f[best_queried])),
        "inference_value": value,
        "recommended_x": recommended.tolist(),
    }
    return _checked(benchmark, judged)


def observed_metrics(benchmark: Benchmark, y: Tensor, f: Tensor) -> OptimizationMetrics:
    """What the observations alone tell, noisy `y` and noiseless `f`, each `n`; no model is asked."""
    return _checked(benchmark, _observed(benchmark, y, f))


def _observed(benchmark: Benchmark, y: Tensor, f: Tensor) -> OptimizationMetrics:
    best_observed, best_noiseless = (float(v.max() if benchmark.maximize else v.min()) for v in (y, f))
    found: OptimizationMetrics = nothing(OptimizationMetrics)
    found["simple_regret"] = _regret(benchmark, best_noiseless)
    found["best_observed"], found["best_noiseless"] = best_observed, best_noiseless
    return found


def _value_at(benchmark: Benchmark, x: Tensor) -> float:
    """The noiseless value at the recommended point; where there is none, that is a failed evaluation as any other."""
    try:
        return float(benchmark.evaluate_true(x.unsqueeze(0)))
    except TaskError:
        raise
    except InputError as error:
        point = x.tolist()
        message = f"The recommended point x = {describe_point(point)} failed. {error}"
        raise EvaluationError(message, point, str(error)) from error


def _regret(benchmark: Benchmark, value: float) -> float | None:
    """How far a noiseless value is from the optimum."""
    if benchmark.optimal_value is None:
        return None
    return max(0.0, _sign(benchmark) * (benchmark.optimal_value - value))


def _sign(benchmark: Benchmark) -> float:
    return 1.0 if benchmark.maximize else -1.0


def _checked(benchmark: Benchmark, found: OptimizationMetrics) -> OptimizationMetrics:
    """The metrics with their `optimum_violation`, which is warned of; 0 within rounding."""
    optimum, values = benchmark.optimal_value, (found["best_noiseless"], found["inference_value"])
    if optimum is None:
        return found
    excess = max(_sign(benchmark) * (value - optimum) for value in values if value is not None)
    if excess <= VIOLATION * max(1.0, abs(optimum)):
        return {**found, "optimum_violation": 0.0}
    logger.warning(
        "Task '%s': a noiseless value is better than the optimal value %.10g by %.3g: its regrets are too small.",
        benchmark.name,
        optimum,
        excess,
    )
    return {**found, "optimum_violation": excess}

"""One run: observe, draw θ, look, choose, observe again; one record per iteration."""

from __future__ import annotations

import dataclasses
import logging
import math
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from scorebo import metrics
from scorebo.acquisition import Context, build_strategy
from scorebo.benchmarks.base import Benchmark
from scorebo.box import unit_box
from scorebo.config import instantiate, load_model, sampler_settings
from scorebo.errors import EvaluationError, InputError, TaskError, describe_point, reason_of
from scorebo.gp import FullyBayesianGP
from scorebo.inference import Carry, fit_gp
from scorebo.processor import processor_seconds
from scorebo.regret import OptimisationMetrics, observed_metrics, optimisation_metrics
from scorebo.scaling import Scaling
from scorebo.seeds import derive
from scorebo.store import RunStore

logger = logging.getLogger(__name__)

Record = dict[str, Any]
Seconds = dict[str, dict[str, float]]


class Run:
    """The run a configuration describes, without its storage: `record(k)` needs the records before it and `carry`.

    Every random number is seeded by (task, seed, stream, iteration), so that iteration k is the same however often the
    run was interrupted before it.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.seed: int = config["seed"]
        self.mcmc = config["mcmc"]
        # A stored configuration is of the identity alone, without this.
        self.metrics_every: int = config.get("metrics_every", 1)
        task: Benchmark = instantiate("benchmark", config["benchmark"], expected=Benchmark)
        self.benchmark = task.for_seed(self.seed)
        self.surrogate = load_model(config["model"])
        self.surrogate.check_dim(self.benchmark.dim)
        self.optimizer = config["optimizer"]
        self.strategy = build_strategy(config["acquisition"], self.optimizer)
        self.design = self.benchmark.initial_design(self.seed)
        # What the sampler hands on from one iteration to the next; stays empty for those that start anew.
        self.carry = Carry()

    @property
    def num_records(self) -> int:
        """One per observation, and the closing one."""
        return self.benchmark.total + 1

    def judges(self, iteration: int) -> bool:
        """Whether the model of an iteration is judged: the first, every `metrics_every`-th after it, and the last."""
        fits = iteration - self.benchmark.initial - 1
        return fits % self.metrics_every == 0 or iteration > self.benchmark.total

    def record(self, iteration: int, before: list[Record], judge: bool | None = None) -> Record:
        """Record `iteration` (counted from 1), given all records before it; `judge` overrules `judges`."""
        if iteration <= self.benchmark.initial:
            return self._initial(iteration)
        return self._step(iteration, before, self.judges(iteration) if judge is None else judge)

    def _initial(self, iteration: int) -> Record:
        seconds = _no_seconds()
        observed = self._observe(self.design[iteration - 1], iteration, seconds)
        return {"iteration": iteration, "kind": "initial", "num_observations": None, **observed, **_NO_MODEL} | seconds

    def _step(self, iteration: int, before: list[Record], judge: bool) -> Record:
        seconds = _no_seconds()
        X, y, f = (torch.tensor([record[name] for record in before], dtype=torch.float64) for name in ("x", "y", "f"))
        with _timed(seconds, "fit"):
            model, scaling = self.fit(iteration, X, y)
        with _timed(seconds, "metrics"):
            if judge:
                quality = metrics.evaluate(model, self.benchmark, scaling, self.seed, iteration)
                progress = optimisation_metrics(
                    model, self.benchmark, scaling, X, y, f, self.seed, iteration, self.optimizer
                )
            else:
                quality, progress = metrics.ModelQuality(), observed_metrics(self.benchmark, y, f)
        closing = iteration > self.benchmark.total
        observed: Record = {"x": None, "y": None, "f": None}
        value, fallbacks = None, 0
        if not closing:
            with _timed(seconds, "acquisition"):
                context = Context(
                    model=model,
                    bounds=unit_box(self.benchmark.dim),
                    task=self.benchmark.name,
                    seed=self.seed,
                    iteration=iteration,
                    num_optima=self.mcmc["num_optima"] or Context.num_optima,
                    num_features=self.mcmc["num_features"] or Context.num_features,
                )
                proposal = self.strategy.propose(context)
            observed = self._observe(scaling.from_unit(proposal.x), iteration, seconds)
            value, fallbacks = proposal.value, proposal.num_fallbacks
        return {
            "iteration": iteration,
            "kind": "closing" if closing else "query",
            "num_observations": len(before),
            **observed,
            "judged": judge,
            "negative_mll": quality.negative_mll,
            "nlpd": quality.nlpd,
            "rmse": quality.rmse,
            "jittered_blocks": quality.jittered_blocks,
            **progress.as_dict(),
            "decomposition_error": metrics.decomposition_error(model, self.benchmark),
            "acquisition_value": value,
            "acquisition_fallbacks": fallbacks,
            "mcmc": None if model.diagnostics is None else model.diagnostics.as_dict(),
            "hyperparameters": hyperparameters(model),
            "noise_floor": model.noise_floor,
            "output_mean": scaling.output_mean,
            "output_std": scaling.output_std,
            "output_power": scaling.output_power,
            "output_sign": scaling.sign,
            **seconds,
        }

    def fit(self, iteration: int, X: Tensor, y: Tensor) -> tuple[FullyBayesianGP, Scaling]:
        """The model of an iteration, given the observations before it `n x D` and `n`; `carry` is moved on."""
        scaling = Scaling.of(
            self.benchmark.bounds,
            y,
            maximize=self.benchmark.maximize,
            standardize=self.surrogate.standardize,
            yeo_johnson=self.surrogate.yeo_johnson,
        )
        model = fit_gp(
            scaling.to_unit(X),
            scaling.to_model(y),
            self.surrogate,
            seed=derive(self.benchmark.name, self.seed, "mcmc", iteration),
            carry=self.carry,
            **sampler_settings(self.mcmc),
        )
        return model, scaling

    def _observe(self, x: Tensor, iteration: int, seconds: Seconds) -> Record:
        point = x.tolist()
        try:
            with _timed(seconds, "evaluate"):
                y, f = self.benchmark.observe(x, self.seed, iteration)
            if not (math.isfinite(y) and math.isfinite(f)):
                raise InputError(f"Task '{self.benchmark.name}' observed y = {y}, f = {f}.")
        except TaskError:
            raise
        except Exception as error:  # whatever a user's function does; an interrupt is no exception of this kind
            reason = reason_of(error)
            full_stop = "" if reason.endswith(".") else "."
            message = f"Observation {iteration} at x = {describe_point(point)} failed. {reason}{full_stop}"
            raise EvaluationError(message, point, reason) from error
        return {"x": point, "y": y, "f": f}


def hyperparameters(model: FullyBayesianGP) -> dict[str, Any]:
    """Every set of a model, as records keep them; after the hyperparameters what the kernel has of its own."""
    sets = {name: getattr(model, name).tolist() for name in ("lengthscale", "outputscale", "noise", "mean")}
    return sets | model.kernel.structure()


_NO_MODEL: Record = dict.fromkeys(
    (
        "judged",
        "negative_mll",
        "nlpd",
        "rmse",
        "jittered_blocks",
        *(field.name for field in dataclasses.fields(OptimisationMetrics)),
        "decomposition_error",
        "acquisition_value",
        "acquisition_fallbacks",
        "mcmc",
        "hyperparameters",
        "noise_floor",
        "output_mean",
        "output_std",
        "output_power",
        "output_sign",
    )
)


def execute(
    config: Mapping[str, Any], on_record: Callable[[Record, int], None] = lambda record, total: None
) -> Record | None:
    """Run a configuration to its end, or from where it stopped.

    Args:
        config: the resolved configuration.
        on_record: called with each new record and the number of records there will be.

    Returns:
        The last record; None if the run was finished before, and nothing was done.

    Raises:
        EvaluationError: the task's function raised or returned no number. What was recorded before stays, the failure
            is noted beside it, and the next start tries the same point again.
        TaskError: the task's data or its solver cannot be used. What was recorded before stays.
    """
    store = RunStore(Path(config["results"]), config)
    if store.is_finished():
        return None
    run = Run(config)
    with store:
        resumed = store.resume()
        records = resumed.records
        run.carry.state = resumed.state
        for repair in resumed.repairs:
            logger.warning("Repaired %s: %s", store.folder, repair)
        for iteration in range(len(records) + 1, run.num_records + 1):
            try:
                records.append(run.record(iteration, records))
            except EvaluationError as error:
                noted = store.note_failure(iteration, error.x, error.reason, traceback.format_exception(error))
                raise EvaluationError(
                    f"{error} It is noted in {noted}; the same command goes on from there.", error.x, error.reason
                ) from error
            except TaskError:  # nothing of the run itself failed that could be replayed
                raise
            except Exception as error:  # the sampler, the metrics, or what a user has added
                store.note_failure(iteration, None, reason_of(error), traceback.format_exception(error))
                raise
            store.append(records[-1], run.carry.state)
            on_record(records[-1], run.num_records)
        store.finish()
    return records[-1]


def _no_seconds() -> Seconds:
    return {"seconds": {}, "cpu_seconds": {}}


@contextmanager
def _timed(seconds: Seconds, phase: str) -> Iterator[None]:
    """Note wall and processor time of the block, that of child processes included, as those of `phase`."""
    began, cpu_began = time.perf_counter(), processor_seconds()
    yield
    # Time of a child is counted in ticks, and may be less by one once the child has ended.
    seconds["cpu_seconds"][phase] = max(0.0, processor_seconds() - cpu_began)
    seconds["seconds"][phase] = time.perf_counter() - began

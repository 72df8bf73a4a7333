"""One run: observe, draw θ, look, choose, observe again; one record per iteration."""

from __future__ import annotations

import logging
import math
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from scorebo.acquisition import Context, build_strategy
from scorebo.benchmarks.base import Benchmark
from scorebo.config import instantiate, load_model, sampler_settings
from scorebo.errors import EvaluationError, InputError, TaskError, describe_point, reason_of
from scorebo.gp import FullyBayesianGP
from scorebo.inference import Carry
from scorebo.inference.fit import build_sampler
from scorebo.run import metrics
from scorebo.run.avoidance import MOST_FAILURES, fit_tried, propose, tried_points
from scorebo.run.processor import processor_seconds
from scorebo.run.regret import observed_metrics, optimization_metrics
from scorebo.search.box import unit_box
from scorebo.seeds import derive
from scorebo.store import RunStore
from scorebo.store.identity import passed
from scorebo.store.ledger import read_ledger
from scorebo.store.schema import FailedPoint, Metrics, ModelQuality, Observation, Phase, Record, Timings, nothing
from scorebo.transforms.standardize import DataTransform

logger = logging.getLogger(__name__)


class Run:
    """The run a configuration describes, without its storage: `record(k)` needs the records before it and `carry`.

    Every random number is seeded by (task, seed, stream, iteration), so that iteration k is the same however often the
    run was interrupted before it.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.seed: int = config["seed"]
        self.mcmc = config["mcmc"]
        # A stored configuration is of the identity alone, without these.
        self.metrics_every: int = config.get("metrics_every", 1)
        self.on_failure: str = config.get("on_failure", "stop")
        task: Benchmark = instantiate("benchmark", config["benchmark"], expected=Benchmark)
        self.benchmark = task.for_seed(self.seed)
        self.surrogate = load_model(config["model"])
        self.surrogate.check_dim(self.benchmark.dim)
        self.optimizer = passed(config["acquisition_optimizer"])
        self.strategy = build_strategy(config["acquisition"], self.optimizer)
        self.design = self.benchmark.initial_design(self.seed)
        self.sampler = build_sampler(self.surrogate, **sampler_settings(self.mcmc))
        # What the sampler hands on from one iteration to the next; stays empty for those that start anew.
        self.carry = Carry()

    @property
    def num_records(self) -> int:
        """One per observation, and the closing one."""
        return self.benchmark.total + 1

    def computes_metrics(self, iteration: int) -> bool:
        """Whether the model of an iteration is judged: the first, every `metrics_every`-th after it, and the last."""
        fits = iteration - self.benchmark.initial - 1
        return fits % self.metrics_every == 0 or iteration > self.benchmark.total

    def record(
        self,
        iteration: int,
        before: list[Record],
        judge: bool | None = None,
        failed: Sequence[FailedPoint] = (),
        seconds: Timings | None = None,
    ) -> Record:
        """Record `iteration` (counted from 1), given all records before it.

        Args:
            iteration: its number.
            before: the records before it.
            judge: overrules `computes_metrics`.
            failed: `x` and `reason` of the points that were tried in this iteration and failed.
            seconds: by phase, spent on them.

        Raises:
            EvaluationError: the evaluation failed. `carry` may have moved on.
        """
        seconds = _no_seconds() if seconds is None else seconds
        if iteration <= self.benchmark.initial:
            record = self._initial(iteration, before, failed, seconds)
        else:
            judge = self.computes_metrics(iteration) if judge is None else judge
            record = self._step(iteration, before, judge, failed, seconds)
        return {**record, "failed_points": list(failed)} if failed else record

    def _initial(self, iteration: int, before: list[Record], failed: Sequence[FailedPoint], seconds: Timings) -> Record:
        # A point that failed is replaced by the next one of the design's sequence, and so are all after it.
        place = iteration - 1 + len(failed) + sum(len(record.get("failed_points", ())) for record in before)
        x = self.design[place] if place < len(self.design) else self.benchmark.design_point(self.seed, place)
        observed = self._observe(x, iteration, seconds)
        record: Record = {**nothing(Record), "iteration": iteration, "kind": "initial", **observed, **seconds}
        return {**record, "task": self.benchmark.describe()} if iteration == 1 else record

    def _step(
        self, iteration: int, before: list[Record], judge: bool, failed: Sequence[FailedPoint], seconds: Timings
    ) -> Record:
        tried, values = history(before, failed, self.benchmark.dim)
        with _timed(seconds, "fit"):
            model, transform = self.fit(iteration, tried, values)
        with _timed(seconds, "metrics"):
            judged = self._metrics(model, transform, before, iteration, judge)
        closing = iteration > self.benchmark.total
        observed: Observation = {"x": None, "y": None, "f": None}
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
                proposal = propose(self.strategy, context, transform.to_unit(tried[values.isnan()]))
            observed = self._observe(transform.from_unit(proposal.x), iteration, seconds)
            value, fallbacks = proposal.value, proposal.num_fallbacks
        return {
            "iteration": iteration,
            "kind": "final" if closing else "query",
            "num_observations": len(before),
            **observed,
            "has_metrics": judge,
            **judged,
            "decomposition_error": metrics.decomposition_error(model, self.benchmark),
            "acquisition_value": value,
            "acquisition_fallbacks": fallbacks,
            "mcmc": None if model.diagnostics is None else model.diagnostics.as_dict(),
            "hyperparameters": hyperparameters(model),
            "noise_floor": model.noise_floor,
            "output_mean": transform.output_mean,
            "output_std": transform.output_std,
            "yeo_johnson_lambda": transform.yeo_johnson_lambda,
            "output_sign": transform.sign,
            **seconds,
        }

    def fit(self, iteration: int, X: Tensor, y: Tensor) -> tuple[FullyBayesianGP, DataTransform]:
        """The model of an iteration, given the points tried before it, as from `history`; `carry` is moved on."""
        return fit_tried(
            X,
            y,
            self.benchmark.bounds,
            self.surrogate,
            self.mcmc,
            maximize=self.benchmark.maximize,
            seed=derive(self.benchmark.name, self.seed, "mcmc", iteration),
            carry=self.carry,
        )

    def _metrics(
        self, model: FullyBayesianGP, transform: DataTransform, before: list[Record], iteration: int, judge: bool
    ) -> Metrics:
        """Metrics of the model and of the observations; those that need the function where it fails may be missing."""
        observed = ([record["x"] for record in before], [r["y"] for r in before], [r["f"] for r in before])
        X, y, f = (torch.tensor(values, dtype=torch.float64) for values in observed)
        quality, progress = nothing(ModelQuality), None
        problems: list[str] = []
        if judge:
            with self._tolerated(problems):
                quality = metrics.evaluate(model, self.benchmark, transform, self.seed, iteration)
            with self._tolerated(problems):
                progress = optimization_metrics(
                    model, self.benchmark, transform, X, y, f, self.seed, iteration, self.optimizer
                )
        found: Metrics = {**quality, **(progress or observed_metrics(self.benchmark, y, f))}
        return {**found, "metrics_failure": " ".join(problems)} if problems else found

    @contextmanager
    def _tolerated(self, problems: list[str]) -> Iterator[None]:
        """With `on_failure=avoid`, note a failure of the task's function in the block instead of raising it."""
        try:
            yield
        except TaskError:
            raise
        except InputError as error:
            if self.on_failure == "stop":
                raise
            problems.append(str(error))

    def _observe(self, x: Tensor, iteration: int, seconds: Timings) -> Observation:
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


def history(before: Sequence[Record], failed: Sequence[FailedPoint], dim: int) -> tuple[Tensor, Tensor]:
    """Every point tried in the records and then in vain, `n x D`, and its observation `n`, NaN where it failed."""
    attempts: list[tuple[list[float], float | None]] = []
    for record in before:
        attempts += [(point["x"], None) for point in record.get("failed_points", ())]
        if record["x"] is not None:
            attempts.append((record["x"], record["y"]))
    return tried_points([*attempts, *((point["x"], None) for point in failed)], dim)


def hyperparameters(model: FullyBayesianGP) -> dict[str, Any]:
    """Every set of a model, as records keep them; after the hyperparameters what the kernel has of its own."""
    sets = {name: getattr(model, name).tolist() for name in ("lengthscale", "outputscale", "noise", "mean")}
    return sets | model.kernel.structure()


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
        EvaluationError: the task's function raised or returned no number; with `on_failure=avoid`, at too many points
            in a row. What was recorded before stays, the failure is noted beside it, and the next start tries the same
            point again.
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
            records.append(_next_record(run, store, iteration, records))
            store.append(records[-1], run.carry.state)
            on_record(records[-1], run.num_records)
        store.finish()
    return records[-1]


def _next_record(run: Run, store: RunStore, iteration: int, records: list[Record]) -> Record:
    """The record of an iteration; with `on_failure=avoid` that of the first point whose evaluation succeeds."""
    failed: list[FailedPoint] = []
    seconds = _no_seconds()
    state = run.carry.state
    while True:
        attempt = None if run.on_failure == "stop" else len(failed)
        try:
            return run.record(iteration, records, failed=failed, seconds=seconds)
        except EvaluationError as error:
            trace = traceback.format_exception(error)
            ledger = store.note_failure(iteration, error.x, error.reason, trace, attempt)
            failed.append({"x": error.x, "reason": error.reason})
            if attempt is None or len(failed) == MOST_FAILURES:
                message = f"{error} {_what_to_do(ledger, iteration, failed, attempt)}"
                raise EvaluationError(message, error.x, error.reason) from error
            logger.warning("%s Another point is tried.", error)
            run.carry.state = state
        except TaskError:  # nothing of the run itself failed that could be replayed
            raise
        except Exception as error:  # the sampler, the metrics, or what a user has added
            store.note_failure(iteration, None, reason_of(error), traceback.format_exception(error), attempt)
            raise


def _what_to_do(ledger: Path, iteration: int, failed: list[FailedPoint], attempt: int | None) -> str:
    if attempt is not None:
        return f"All {len(failed)} points tried in this iteration failed; they are noted in {ledger}."
    same = [entry for entry in read_ledger(ledger.parent) if entry["iteration"] == iteration]
    times = sum(entry.get("x") == failed[-1]["x"] and entry["reason"] == failed[-1]["reason"] for entry in same)
    if times > 1:
        return (
            f"This point has now failed {times} times for this reason, as noted in {ledger}. The same command tries it "
            "again; with on_failure=avoid the run goes on with another point."
        )
    return f"It is noted in {ledger}; the same command goes on from there."


def _no_seconds() -> Timings:
    return {"wall_seconds": {}, "cpu_seconds": {}}


@contextmanager
def _timed(seconds: Timings, phase: Phase) -> Iterator[None]:
    """Add wall and processor time of the block, that of child processes included, to those of `phase`."""
    began, cpu_began = time.perf_counter(), processor_seconds()
    try:
        yield
    finally:
        # Time of a child is counted in ticks, and may be less by one once the child has ended.
        cpu, wall = max(0.0, processor_seconds() - cpu_began), time.perf_counter() - began
        for spent, value in ((seconds["cpu_seconds"], cpu), (seconds["wall_seconds"], wall)):
            spent[phase] = spent.get(phase, 0.0) + value

"""The record of an iteration, typed once: its fields, the columns of the table made of them, and what a metric is.

The loop writes records, `collect` makes columns of them, tables and statistics read the metrics: all from here. A new
field is added here; the format stays the same, because readers ignore unknown fields and read missing ones as null.
"""

# Annotations are not postponed here: `NotRequired` counts when the class is made.

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar, cast, get_type_hints

Fields = TypeVar("Fields")
Number = float | None  # where there may be none


@dataclass(frozen=True)
class Column:
    """Marks a field that becomes a column of the table.

    Args:
        label: what it is called, of a metric that methods are compared by; smaller is better.
        experiment: whose runs are compared by it unless another is named.
        of_model: whether it is computed only for models with metrics (`has_metrics`).
        log: whether its logarithm is compared.
        common_unit: whether differences on two tasks can be averaged.
        task_decides: whether larger is better on a task that is maximized.
    """

    label: str = ""
    experiment: str = ""
    of_model: bool = False
    log: bool = False
    common_unit: bool = True
    task_decides: bool = False

    @property
    def words(self) -> str:
        """What is compared, in words."""
        return f"log10 {self.label}" if self.log else self.label


class Seconds(TypedDict, total=False):
    """Seconds of an iteration by phase; a phase that it does not have is absent."""

    fit: float
    metrics: float
    acquisition: float
    evaluate: float


Phase = Literal["fit", "metrics", "acquisition", "evaluate"]


class FailedPoint(TypedDict):
    """A point whose evaluation failed."""

    x: list[float]
    reason: str


class Task(TypedDict):
    """What the first record says of the task; `optimal_value` is None where it is not known."""

    dim: int
    maximize: bool
    optimal_value: Number


class Position(TypedDict):
    """Where a record stands in its run; `round` is reserved for batches of queries, and not written yet."""

    task: NotRequired[Task]
    iteration: Annotated[int, Column()]
    round: Annotated[NotRequired[int | None], Column()]
    kind: Annotated[str, Column()]
    num_observations: Annotated[int | None, Column()]
    failed_points: Annotated[NotRequired[list[FailedPoint]], Column()]
    has_metrics: Annotated[bool | None, Column()]


class Observation(TypedDict):
    """The point queried and its observation `y`, noiseless `f`, in the task's units; None in the closing record."""

    x: Annotated[list[float] | None, Column()]
    y: Annotated[Number, Column()]
    f: Annotated[Number, Column()]


class ModelQuality(TypedDict):
    """Metrics of one fit; all None without metrics, or where the task's values take too long for test points.

    Args:
        negative_mll: minus the joint log density of a block of noiseless targets under the noisy prediction, divided
            by the block's size; averaged over sets and blocks.
        negative_mll_task_units: the same density in the task's units, of `y` instead of standardized (and perhaps
            power-transformed) outputs. Methods standardize by different deviations, which may reverse their order.
        nlpd: minus the log density of the mixture at single points, averaged.
        nlpd_task_units: the same density in the task's units.
        rmse: root mean squared error of the mixture mean, in the task's units; where outputs are transformed it is the
            mean of the transformed ones, transformed back.
        jittered_blocks: block covariances that needed a jitter before they could be factorized.
    """

    negative_mll: Annotated[Number, Column("negative MLL", "al_mll", of_model=True)]
    negative_mll_task_units: Annotated[Number, Column("negative MLL in the task's units", "al_mll", of_model=True)]
    nlpd: Annotated[Number, Column("negative log predictive density", "al_mll", of_model=True)]
    nlpd_task_units: Annotated[
        Number, Column("negative log predictive density in the task's units", "al_mll", of_model=True)
    ]
    rmse: Annotated[Number, Column("RMSE", "al_rmse", of_model=True, log=True)]
    jittered_blocks: Annotated[int | None, Column()]


class OptimizationMetrics(TypedDict):
    """Metrics of one iteration, in the task's units and sign; a regret is never negative.

    Regrets and `optimum_violation` are None where the task's optimal value is not known; what needs the model is None
    without metrics.

    Args:
        inference_regret: of the point at which the mixture mean is best over the whole box.
        in_sample_inference_regret: of the queried point at which the mixture mean is best.
        simple_regret: of the best point queried, judged without noise.
        best_observed: best noisy observation.
        best_noiseless: noiseless value of the best point queried.
        inference_value: noiseless value at the recommended point.
        recommended_x: the point at which the mixture mean is best over the whole box.
        optimum_violation: by how much a noiseless value is better than the optimal value, 0 where none is.
    """

    inference_regret: Annotated[Number, Column("inference regret", "bo_regret", of_model=True, log=True)]
    in_sample_inference_regret: Annotated[Number, Column("in-sample regret", "bo_regret", of_model=True, log=True)]
    simple_regret: Annotated[Number, Column("simple regret", "bo_regret", log=True)]
    best_observed: Annotated[Number, Column("best observation", "saas_final", common_unit=False, task_decides=True)]
    best_noiseless: Annotated[
        Number, Column("best noiseless value", "saas_final", common_unit=False, task_decides=True)
    ]
    inference_value: Annotated[Number, Column(of_model=True)]
    recommended_x: list[float] | None
    optimum_violation: Annotated[Number, Column()]


class Metrics(ModelQuality, OptimizationMetrics):
    """Both; `metrics_failure` says why some are missing where the task's function fails."""

    metrics_failure: NotRequired[str]


class Fit(TypedDict):
    """The model and what the acquisition made of it; None before there is one."""

    decomposition_error: Annotated[Number, Column()]
    acquisition_value: Annotated[Number, Column()]
    acquisition_fallbacks: Annotated[int | None, Column()]
    mcmc: dict[str, Any] | None  # the scalar ones become columns `mcmc_…`
    hyperparameters: dict[str, Any] | None
    noise_floor: float | None
    output_mean: float | None
    output_std: float | None
    yeo_johnson_lambda: float | None
    output_sign: float | None


class Timings(TypedDict):
    """Wall time and processor time; records of version 0.1 have the first alone."""

    wall_seconds: Annotated[Seconds, Column()]
    cpu_seconds: Annotated[Seconds, Column()]


class Record(Position, Observation, Metrics, Fit, Timings):
    """One iteration: the model fitted to the observations before it, its metrics, and the next observation."""


# Nodes that have a name; with the seed they tell the runs of an experiment apart.
NAMES = ("benchmark", "model", "acquisition")
WHO = (*NAMES, "seed")
PHASES = tuple(get_type_hints(Seconds))
TYPES: dict[str, Any] = get_type_hints(Record)
COLUMNS: dict[str, Column] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Record, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
TIMINGS = tuple(get_type_hints(Timings))
# With `metrics_every` above 1 not all models have these.
MODEL_METRICS = tuple(name for name, column in COLUMNS.items() if column.of_model)
METRICS = {name: column for name, column in COLUMNS.items() if column.label}


def nothing(kind: type[Fields]) -> Fields:
    """A record, or metrics, of which nothing is known: the fields that are always there, all None."""
    required = kind.__required_keys__  # type: ignore[attr-defined]
    return cast(Fields, dict.fromkeys(name for name in get_type_hints(kind) if name in required))

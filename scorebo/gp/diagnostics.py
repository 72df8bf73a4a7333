"""Diagnostics of a fit, kept with the ensemble it gave and with every record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self


@dataclass(frozen=True)
class Diagnostics:
    """Health of one fit.

    `ess_bulk` is the smallest, `rhat` the largest over the parameters, computed from all draws before thinning; null
    where there are too few draws or nothing was sampled. `retry_reason` says what was wrong with chains that were drawn
    again, `fallback` names what replaced a sampler that kept failing.
    Of the sequential sampler: `carried_ess`, the effective sample size of the carried samples by their weights;
    `refresh_reason`, why a full NUTS run replaced them (first, scheduled, acceptance, diversity, other data);
    `num_refreshes`, how many such runs there were so far; `next_step_size`, the step size of the moves after it.
    `num_partitions`: how many different ones a chain of partitions has looked at.
    `own`: diagnostics that a sampler from elsewhere has of its own; a record has them beside the others.
    """

    sampler: str
    draws: int
    wall_seconds: float
    gradient_evaluations: int
    divergences: int = 0
    acceptance: float | None = None
    step_size: float | None = None
    tree_depth_mean: float | None = None
    tree_depth_max: int | None = None
    ess_bulk: float | None = None
    rhat: float | None = None
    energy_bfmi: float | None = None
    retries: int = 0
    retry_reason: str | None = None
    fallback: str | None = None
    carried_ess: float | None = None
    refresh_reason: str | None = None
    num_refreshes: int | None = None
    next_step_size: float | None = None
    num_partitions: int | None = None
    own: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Diagnostics with these values, those of other names in `own`."""
        known = {field.name for field in fields(cls)} - {"own"}
        own = {name: values.pop(name) for name in list(values) if name not in known}
        return cls(**values, own=own)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a record."""
        values = asdict(self)
        return values | values.pop("own")

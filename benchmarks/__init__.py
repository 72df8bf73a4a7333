"""The tasks, one file a suite; each is named by `_target_` in a file of `configs/benchmark/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorebo.benchmarks.base import Benchmark

__all__ = ["Benchmark"]


def __getattr__(name: str) -> Any:
    """Import on first use: the child processes of `scorebo.benchmarks.outside` do without torch."""
    if name == "Benchmark":
        from scorebo.benchmarks.base import Benchmark

        return Benchmark
    raise AttributeError(f"module 'benchmarks' has no attribute {name!r}")

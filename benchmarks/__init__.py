"""The tasks, one file a suite; each is named by `_target_` in a file of `configs/benchmark/`."""

from benchmarks.base import Benchmark

__all__ = ["Benchmark"]

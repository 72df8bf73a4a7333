"""Tasks made of the solvers of `outside_tasks`."""

from __future__ import annotations

from scorebo.benchmarks.outside.task import OutsideTask
from tests import outside_tasks


class Outside(OutsideTask):
    bounds = ((0.0, 0.0), (1.0, 1.0))
    expensive = True

    def __init__(self, fault="none", file=None, time_limit=30.0, memory_limit_mb=2048.0, **options):
        self.fault, self.file = fault, file
        super().__init__(time_limit=time_limit, memory_limit_mb=memory_limit_mb, **options)

    def solver(self):
        return outside_tasks.make, {"fault": self.fault, "file": self.file}


class Scored(Outside):
    failure_value = 300.0

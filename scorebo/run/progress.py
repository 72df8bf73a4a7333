"""Progress of one run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from tqdm import tqdm

# Seconds per iteration, also when it is less than one.
BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_inv_fmt}{postfix}]"


def describe(record: Mapping[str, Any]) -> str:
    """The metrics of a record in a few words."""
    if record.get("kind") == "initial":
        return "initial design"
    judged, regret = record["negative_mll"] is not None, record.get("inference_regret")
    parts = [f"negative MLL {record['negative_mll']:.3f}, RMSE {record['rmse']:.4g}"] if judged else []
    if not judged or regret is None:  # where no optimum is known, what was found is all that tells of progress
        parts.append(f"best observed {record['best_observed']:.6g}")
    return ", ".join(parts if regret is None else [*parts, f"regret {regret:.3g}"])


class Progress:
    """Called with every new record; `quiet` shows nothing."""

    def __init__(self, label: str, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.label = label
        self.quiet = quiet
        self.stream = stream or sys.stderr
        self._bar: tqdm | None = None
        self._began = time.perf_counter()
        self._first: int | None = None

    def __call__(self, record: Mapping[str, Any], num_records: int) -> None:
        if self.quiet:
            return
        iteration = record["iteration"]
        if self._first is None:
            self._first = iteration
        if self.stream.isatty():
            if self._bar is None:
                self._bar = tqdm(
                    total=num_records, initial=iteration - 1, desc=self.label, file=self.stream, bar_format=BAR
                )
            self._bar.set_postfix_str(describe(record), refresh=False)
            self._bar.update()
            return
        pace = (time.perf_counter() - self._began) / (iteration - self._first + 1)
        print(f"{iteration}/{num_records}  {describe(record)}  {pace:.2f} s/iteration", file=self.stream, flush=True)

    def report(self, text: str) -> None:
        """Say on standard output how the run ended."""
        if not self.quiet:
            print(f"{self.label}: {text}")

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()

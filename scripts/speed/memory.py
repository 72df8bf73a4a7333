"""Memory of a run as it goes on: the resident size of the process after every tenth iteration, and its growth.

The covariances of M sets and their factors grow with n², everything else should not grow at all.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402

from scorebo.config import as_dict, compose  # noqa: E402
from scorebo.run.loop import execute  # noqa: E402

PAGE = resource.getpagesize()
MEGABYTE = 2**20
# What the imports and the first iterations leave behind is not growth.
SETTLED = 20


def main() -> None:
    """Run, and print megabytes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("overrides", nargs="*", default=["benchmark=hartmann6", "acquisition=scorebo_hr"])
    parser.add_argument("--total", type=int, default=100, help="evaluations")
    options = parser.parse_args()
    sizes: list[tuple[int, float]] = []

    def note(record: Mapping[str, Any], total: int) -> None:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        sizes.append((record["iteration"], pages * PAGE / MEGABYTE))
        if record["iteration"] % 10 == 0:
            print(f"iteration {record['iteration']:4d}: {sizes[-1][1]:7.1f} MB", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        settings = [*options.overrides, f"benchmark.total={options.total}", f"results={folder}"]
        execute(as_dict(compose(settings)), note)
    later = np.array([pair for pair in sizes if pair[0] >= SETTLED])
    slope = np.polyfit(later[:, 0], later[:, 1], 1)[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
    print(f"{slope:+.3f} MB an iteration from iteration {SETTLED} on; peak {peak:.0f} MB")


if __name__ == "__main__":
    main()

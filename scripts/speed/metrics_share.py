"""How much of an iteration the metrics take: whole runs by acquisition, sampler, features and `metrics_every`.

    python scripts/speed/metrics_share.py [--benchmark hartmann6] [--total 100] [--acquisitions sal_hr scorebo_hr]
        [--samplers nuts sequential] [--every 1 5]

One Markdown row for each, from the phases that every record keeps: the share about n = 20, 50 and 100 observations, and
over the whole run; beside it the milliseconds of the metrics and of all the rest, on average over iterations.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Mapping
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

from scorebo.config import as_dict, compose  # noqa: E402
from scorebo.run.loop import execute  # noqa: E402

AT = (20, 50, 100)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchmark", default="hartmann6")
    parser.add_argument("--total", type=int, default=100, help="evaluations of a run")
    parser.add_argument("--acquisitions", nargs="+", default=["sal_hr", "scorebo_hr"])
    parser.add_argument("--samplers", nargs="+", default=["nuts", "sequential"])
    parser.add_argument("--features", type=int, nargs="+", default=[2048, 8192], help="of acquisitions with optima")
    parser.add_argument("--every", type=int, nargs="+", default=[1], help="values of metrics_every")
    options = parser.parse_args()
    print("| acquisition | sampler | features | judged | " + " | ".join(f"n = {n}" for n in AT) + " | whole run |")
    print("|---|---|---|---|" + "---|" * (len(AT) + 1))
    for acquisition, sampler, every in itertools.product(options.acquisitions, options.samplers, options.every):
        for features in options.features if acquisition.startswith(("scorebo", "jes", "mes", "pes")) else [None]:
            overrides = [f"benchmark={options.benchmark}", f"benchmark.total={options.total}"]
            overrides += [f"acquisition={acquisition}", f"mcmc={sampler}"]
            if features is not None:
                overrides.append(f"mcmc.num_features={features}")
            judged = "every fit" if every == 1 else f"one fit in {every}"
            cells = [acquisition, sampler, str(features or ""), judged, *shares(overrides, every)]
            print(f"| {' | '.join(cells)} |", flush=True)


def shares(overrides: list[str], every: int) -> list[str]:
    """The cells of a run's row, of which one fit in `every` is judged."""
    with tempfile.TemporaryDirectory() as folder:
        phases: list[tuple[int, float, float]] = []

        def note(record: Mapping[str, Any], total: int) -> None:
            if record["kind"] == "query":
                seconds = record["wall_seconds"]
                rest = sum(seconds.values()) - seconds["metrics"]
                phases.append((record["num_observations"], seconds["metrics"], rest))

        execute(as_dict(compose([*overrides, f"metrics_every={every}", f"results={folder}"])), note)
    # The first iteration with a model loads what is compiled.
    phases = phases[every:]
    near = [[phase for phase in phases if abs(phase[0] - n) <= 2 * (every + 1)] for n in AT]
    return [_cell(part) for part in (*near, phases)]


def _cell(phases: list[tuple[int, float, float]]) -> str:
    if not phases:
        return ""
    metrics, rest = (sum(phase[i] for phase in phases) / len(phases) for i in (1, 2))
    return f"{metrics / (metrics + rest):.0%} ({1e3 * metrics:.0f} / {1e3 * rest:.0f} ms)"


if __name__ == "__main__":
    main()

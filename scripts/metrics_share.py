"""How much of an iteration the metrics take: whole runs on Hartmann-6, by acquisition, sampler and number of features.

    python scripts/metrics_share.py [--total 100] [--acquisitions sal_hr scorebo_hr] [--samplers nuts sequential]

One Markdown row for each, from the phases that every record keeps: the share about n = 20, 50 and 100 observations, and
over the whole run; beside it the milliseconds of the metrics and of all the rest.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile

from scorebo.threads import limit_threads

limit_threads(1)

from scorebo.config import as_dict, compose  # noqa: E402
from scorebo.loop import execute  # noqa: E402

AT = (20, 50, 100)
# Iterations on either side, of which the median is taken.
AROUND = 3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--total", type=int, default=100, help="evaluations of a run")
    parser.add_argument("--acquisitions", nargs="+", default=["sal_hr", "scorebo_hr"])
    parser.add_argument("--samplers", nargs="+", default=["nuts", "sequential"])
    parser.add_argument("--features", type=int, nargs="+", default=[2048, 8192], help="of acquisitions with optima")
    options = parser.parse_args()
    print("| acquisition | sampler | features | " + " | ".join(f"n = {n}" for n in AT) + " | whole run |")
    print("|---|---|---|" + "---|" * (len(AT) + 1))
    for acquisition, sampler in itertools.product(options.acquisitions, options.samplers):
        for features in options.features if acquisition.startswith(("scorebo", "jes", "mes", "pes")) else [None]:
            overrides = [f"acquisition={acquisition}", f"mcmc={sampler}", f"benchmark.total={options.total}"]
            if features is not None:
                overrides.append(f"mcmc.num_features={features}")
            print(f"| {acquisition} | {sampler} | {features or ''} | {' | '.join(shares(overrides))} |", flush=True)


def shares(overrides: list[str]) -> list[str]:
    """The cells of a run's row."""
    with tempfile.TemporaryDirectory() as folder:
        phases: list[tuple[int, float, float]] = []

        def note(record: dict, total: int) -> None:
            if record["kind"] == "query":
                seconds = record["seconds"]
                rest = sum(seconds.values()) - seconds["metrics"]
                phases.append((record["num_observations"], seconds["metrics"], rest))

        execute(as_dict(compose(["benchmark=hartmann6", *overrides, f"results={folder}"])), note)
    cells = []
    for n in AT:
        near = [(metrics, rest) for count, metrics, rest in phases if abs(count - n) <= AROUND]
        cells.append(_cell(*(statistics.median(column) for column in zip(*near, strict=True))) if near else "")
    # The first iteration with a model loads what is compiled.
    _, metrics, rest = zip(*phases[1:], strict=True)
    return [*cells, _cell(sum(metrics), sum(rest))]


def _cell(metrics: float, rest: float) -> str:
    return f"{metrics / (metrics + rest):.0%} ({1e3 * metrics:.0f} / {1e3 * rest:.0f} ms)"


if __name__ == "__main__":
    main()

"""The work of one iteration, counted: what makes it slower shows here, whatever the machine is doing."""

import sys
from collections import Counter
from typing import NamedTuple

import pytest
import torch

from scorebo import metrics
from scorebo.config import as_dict, compose
from scorebo.loop import Run
from scorebo.optima import _search


class Work(NamedTuple):
    """What an iteration took: of the sampler, of both ascents (acquisition and mixture mean), of the optima."""

    gradients: int  # evaluations of the log density
    batches: int  # evaluations in a row of what is maximised
    points: int  # and points in them
    screened: int = 0  # values of the paths at raw points
    climbed: int = 0  # and evaluations with their gradients, on the way up


# As measured; rounding differs from machine to machine, and chains with it, so a quarter more is allowed.
MEASURED = {
    ("gramacy2", "sal_hr", "nuts"): Work(4857, 30, 283),
    ("gramacy2", "sal_hr", "sequential"): Work(384, 38, 266),
    ("branin", "scorebo_hr", "nuts"): Work(5566, 20, 180, 402_944, 2010),
    ("branin", "scorebo_hr", "sequential"): Work(400, 20, 160, 341_632, 2201),
    ("branin", "jes", "nuts"): Work(5566, 21, 180, 402_944, 2010),
    ("branin", "mes", "nuts"): Work(5566, 27, 185, 402_944, 2010),
    ("branin", "nei", "nuts"): Work(5566, 23, 201),
}
FACTORISATIONS = ("cholesky", "cholesky_ex", "inv", "inv_ex", "eigh", "svd")


@pytest.mark.parametrize(("benchmark", "acquisition", "sampler"), MEASURED)
def test_work_of_an_iteration(benchmark, acquisition, sampler, monkeypatch):
    settings = [f"benchmark={benchmark}", f"acquisition={acquisition}", f"mcmc={sampler}"]
    features = ["mcmc.num_features=256"] if benchmark == "branin" else []
    run = Run(as_dict(compose([*settings, *features, "benchmark.initial=12", "benchmark.total=20", "results=unused"])))
    # The first fit is a chain whatever the sampler.
    last = 13 if sampler == "nuts" else 14
    records: list = []
    for iteration in range(1, last):
        records.append(run.record(iteration, records))
    counts: Counter = Counter()
    for name in FACTORISATIONS:
        monkeypatch.setattr(torch.linalg, name, counting(getattr(torch.linalg, name), counts, "factorisations"))
    monkeypatch.setattr(metrics.lapack, "dpotrf", counting(metrics.lapack.dpotrf, counts, "blocks"))
    module = sys.modules["scorebo.acquisition.maximize"]
    ascend, search_set = module.ascend, _search.search_set

    def counted_ascent(function, *arguments, **options):
        def evaluate(x):
            counts["points"] += len(x)
            return counting(function, counts, "batches")(x)

        return ascend(evaluate, *arguments, **options)

    def counted_search(points, values, *arguments):
        counts["screened"] += values.size
        counts["climbed"] += sum(search_set(points, values, *arguments))

    monkeypatch.setattr(module, "ascend", counted_ascent)
    monkeypatch.setattr(_search, "search_set", counted_search)
    record = run.record(last, records)

    # All sets are factorised at once, and only for the ensemble; noisy EI factorises its baseline too.
    assert counts["factorisations"] == (3 if acquisition == "nei" else 1)
    # Ten blocks of test points for each of the 16 sets; no second attempt with a jitter.
    assert counts["blocks"] == 160
    assert record["mcmc"].get("refreshed") is None
    work = Work(record["mcmc"]["gradient_evaluations"], *(counts[name] for name in Work._fields[1:]))
    for name, done, measured in zip(Work._fields, work, MEASURED[benchmark, acquisition, sampler], strict=True):
        assert min(measured, 1) <= done <= 1.25 * measured, f"{name}: {work}"


def counting(function, counts, name):
    def counted(*arguments, **options):
        counts[name] += 1
        return function(*arguments, **options)

    return counted

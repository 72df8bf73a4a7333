"""Two parts of the page: processor seconds, and the runs that nobody goes on with."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from scorebo.launch.sweep import Sweep
from scorebo.report.html.sections import overview_section, timings_section
from scorebo.report.html.write import _failures
from scorebo.report.query import Query
from tests.launch.sweeps import sweep_of


def rows(cpu):
    """A run of two iterations of each method; `cpu` is the processor time of each phase, NaN if it is not known."""
    return pd.DataFrame(
        [
            {"benchmark": "gramacy1", "model": "al_lognormal", "acquisition": method, "run_id": method}
            | {"num_observations": 2 + k}
            | dict.fromkeys(
                ("wall_seconds_fit", "wall_seconds_metrics", "wall_seconds_acquisition", "wall_seconds_evaluate"), 720.0
            )
            | {f"cpu_seconds_{phase}": cpu[method] for phase in ("fit", "metrics", "acquisition", "evaluate")}
            for method in cpu
            for k in range(2)
        ]
    )


def test_timings_are_processor_seconds_and_say_where_they_are_not():
    known = timings_section(rows({"bald": 90.0, "sal_hr": 180.0}))
    assert "Mean processor seconds an iteration" in known
    assert ">360<" in known  # four phases of 90 s
    assert ">0.2<" in known  # hours of two iterations
    assert "wall time" not in known
    partly = timings_section(rows({"bald": 90.0, "sal_hr": np.nan}))
    assert "1 of 2 runs have no processor seconds: for them these are seconds of wall time." in partly
    assert ">360<" in partly
    assert ">2.88e+03<" in partly


def test_hours_of_the_overview_are_those_of_the_processor():
    shown = overview_section(rows({"bald": 90.0}), "all runs", [], [])
    assert '<span class="count">0.2</span> processor hours' in shown


def test_cancelled_runs_are_listed_as_such(tmp_path):
    sweep = Sweep.create(sweep_of(tmp_path, range(1, 2)), [])
    sweep.cancel()
    wanted = frozenset(run.run_id for run in sweep.runs)
    evidence = SimpleNamespace(query=Query(tmp_path), chosen=[])
    shown = _failures(evidence, wanted, {}, pd.DataFrame({"run_id": pd.Series(dtype=str)}))
    assert "Runs that failed, were lost or were cancelled" in shown
    assert ">cancelled<" in shown
    assert ">failed<" not in shown

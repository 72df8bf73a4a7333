from sweeps import comparable, sweep_of, undisturbed

from scorebo.launch import outcomes
from scorebo.launch.sweep import Sweep
from scorebo.launch.worker import work


def test_a_run_of_a_cancelled_sweep_stops_after_its_iteration_and_goes_on_later(tmp_path):
    """Also where the pool, or SLURM, is not there to end it."""
    configs = sweep_of(tmp_path / "results", range(1, 2))
    sweep = Sweep.create(configs, [])
    sweep.cancel()
    assert work(sweep, 0) == outcomes.FAILED
    assert outcomes.read_note(sweep, sweep.runs[0])["reason"] == "cancelled"
    assert len(comparable(configs[0])) == 1
    again = Sweep.create(configs, [])
    assert work(again, 0) == outcomes.FINISHED
    assert outcomes.read_note(again, again.runs[0])["records"] == len(comparable(configs[0])) - 1
    assert comparable(configs[0]) == undisturbed(tmp_path / "undisturbed", 1)

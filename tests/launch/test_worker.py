import pytest
from sweeps import comparable, sweep_of, undisturbed

from scorebo.launch.status import LOG_LINES, survey
from scorebo.launch.sweep import CANCELLED, FAILED, FINISHED, Sweep
from scorebo.launch.worker import work


def test_a_run_of_a_cancelled_sweep_stops_after_its_iteration_and_goes_on_later(tmp_path, capfd):
    """Also where the pool, or SLURM, is not there to end it."""
    configs = sweep_of(tmp_path / "results", range(1, 2))
    sweep = Sweep.create(configs, [])
    sweep.cancel()
    with capfd.disabled():  # what is printed goes to the log
        assert work(sweep, 0) == CANCELLED
    note = sweep.read_note(sweep.runs[0])
    assert (note["state"], note["reason"]) == (CANCELLED, "sweep-1 was cancelled")
    assert sweep.log(sweep.runs[0]).read_text() == ""
    assert len(comparable(configs[0])) == 1
    again = Sweep.create(configs, [])
    assert work(again, 0) == FINISHED
    assert again.read_note(again.runs[0])["records"] == len(comparable(configs[0])) - 1
    assert comparable(configs[0]) == undisturbed(tmp_path / "undisturbed", 1)


class TestEndOfTheLog:
    """The last lines of a failed run's log, which `scorebo status` shows."""

    @pytest.fixture
    def fails(self, tmp_path, capfd):
        """Do a run that fails; returns its log, and the end of it."""

        def fails(task, **options):
            sweep = Sweep.create(sweep_of(tmp_path / "results", range(1, 2), task=task, **options), [])
            with capfd.disabled():
                assert work(sweep, 0) == FAILED
            (run,) = survey(tmp_path / "results").runs
            return sweep.log(sweep.runs[0]).read_text(), run.log_tail

        return fails

    @pytest.mark.parametrize("task", ["Raises", "Breakable"])
    def test_is_the_user_s_exception_without_our_frames(self, fails, tmp_path, task):
        """Also where the exception passes the checks of `evaluate_true`, and is the cause of ours."""
        fault = tmp_path / "fault"
        fault.touch()
        log, tail = fails(task, **({"fault": str(fault)} if task == "Breakable" else {}))
        lines = tail.splitlines()
        assert lines[-1] == "RuntimeError: the machine is on fire"
        assert lines[-2].strip() == 'raise RuntimeError("the machine is on fire")'
        assert "bad_tasks.py" in lines[-3]
        assert len(lines) == LOG_LINES
        end = log.rpartition("Traceback (most recent call last)")[2]
        assert "/loop.py" not in end
        assert "/base.py" not in end
        assert "EvaluationError: Observation" in log, "the whole traceback comes before"
        assert "/loop.py" in log

    def test_is_our_message_where_nothing_of_the_user_s_was_raised(self, fails):
        log, tail = fails("ReturnsNaN")
        assert tail.splitlines()[-1].startswith("scorebo.errors.InputError: Task 'gramacy1' returned nan")
        assert "without the frames" not in log

    def test_keeps_the_frames_of_a_user_who_calls_us(self, fails):
        _, tail = fails("CallsUs")
        assert tail.splitlines()[-1].startswith("scorebo.errors.InputError: budget must be a whole number")
        assert "bad_tasks.py" in tail

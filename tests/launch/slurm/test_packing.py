import pytest

from scorebo.errors import InputError
from scorebo.launch import Slurm
from scorebo.launch.slurm.packing import LONGEST_SECONDS, SHORTEST_SECONDS, job_seconds, pack


def test_every_run_once_in_order_and_no_job_longer_than_asked():
    seconds = [10.0, 200.0, None, 90.0, 30.0, 400.0, 5.0, 5.0]
    packs = pack(seconds, 300.0)
    assert packs == [[0, 1], [2], [3, 4], [5], [6, 7]]
    assert [place for places in packs for place in places] == list(range(len(seconds)))


@pytest.mark.parametrize(
    ("runs", "each", "at_a_time", "limit", "length"),
    [
        (1000, 10.0, 256, 14400.0, SHORTEST_SECONDS),  # all places would be filled by jobs of 39 s
        (1000, 10.0, 10, 14400.0, 1000.0),
        (1000, 600.0, 256, 14400.0, LONGEST_SECONDS),
        (1000, 10.0, 2, 600.0, 300.0),  # half the time limit
        (0, 10.0, 2, 14400.0, SHORTEST_SECONDS),
    ],
)
def test_length_of_a_job(runs, each, at_a_time, limit, length):
    assert job_seconds([each] * runs, at_a_time, limit) == pytest.approx(length)


def test_long_runs_have_a_job_each():
    assert pack([7200.0] * 3, LONGEST_SECONDS) == [[0], [1], [2]]


def test_other_words_than_auto_are_refused():
    Slurm(runs_per_job="auto").check(1, None)
    for value in ("many", 0, 1.5, True):
        with pytest.raises(InputError, match="runs_per_job"):
            Slurm(runs_per_job=value).check(1, None)


def test_a_number_is_that_many_runs():
    assert Slurm(runs_per_job=3)._packs([None] * 7) == [[0, 1, 2], [3, 4, 5], [6]]
    assert Slurm(runs_per_job="auto")._packs([20.0] * 30) == [list(range(15)), list(range(15, 30))]

from scorebo.errors import InputError
from scorebo.launch import run_all
from scorebo.store import RunStore
from tests.runs import tiny_config


def test_pool_runs_all_and_names_what_failed(tmp_path):
    configs = [tiny_config(tmp_path, "gramacy1", "random", f"seed={seed}", "benchmark.total=4") for seed in (1, 2)]
    broken = tiny_config(tmp_path, "gramacy1", "random", "seed=3")
    broken["benchmark"]["_target_"] = "tests.bad_tasks.ReturnsNaN"
    seen = []
    errors = run_all([*configs, broken], workers=2, on_progress=seen.append)
    assert errors[:2] == [None, None]
    assert isinstance(errors[2], InputError)
    assert all(RunStore(tmp_path, config).is_finished() for config in configs)
    assert not RunStore(tmp_path, broken).is_finished()
    assert sorted((p.run, p.iteration) for p in seen) == [(run, k) for run in (0, 1) for k in range(1, 6)]
    assert {p.num_records for p in seen} == {5}

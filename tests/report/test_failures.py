from scorebo.report.failures import ledger_lines, runs_in
from scorebo.store.ledger import enter


def test_only_full_nuts_runs_are_left_out_as_scheduled(tmp_path):
    run = tmp_path / "branin" / "bo_lognormal" / "nei" / "seed-1-0123456789ab"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("seed: 1\n")
    entries = [
        {"iteration": 3, "kind": "refresh", "reason": "first"},
        {"iteration": 9, "kind": "refresh", "reason": "weights"},
        {"iteration": 12, "kind": "evaluation failed", "reason": "scheduled"},
    ]
    enter(run, entries)
    assert [line["iterations"] for line in ledger_lines(runs_in(tmp_path))] == [[9], [12]]
    assert [line["iterations"] for line in ledger_lines(runs_in(tmp_path), scheduled=True)] == [[3], [9], [12]]

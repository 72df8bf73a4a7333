import json
import re

import numpy as np
import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.report import draw, provenance
from scorebo.store import collect
from tests.report.report_tables import suite
from tests.store.store_samples import make_record, make_run

AWKWARD = ["scorebo", "plot", "a (b) \\ c", 'quote " and <tag> & é']


def smoke(results, *more):
    for config in sweep_configs(["experiment=al_mll", "scale=smoke", "benchmark=gramacy1", *more]):
        make_run(results, config, 4)


@pytest.mark.parametrize("suffix", provenance.FIELDS)
def test_every_format_keeps_it(tmp_path, suffix):
    table = suite(["higdon"], ["bald"]).assign(run_id="0123456789abcdef")
    out = draw("al-mll", table, tmp_path / f"a{suffix}", command=AWKWARD, selection={"results": "here"})
    found = provenance.read(out)
    assert found["figure"] == "al-mll"
    assert found["command"] == AWKWARD
    assert found["selection"] == {"results": "here"}
    assert list(found["runs"]) == ["0123456789ab"]
    assert found["packages"]["torch"]
    assert set(found["git"] or {"commit": "", "dirty": ""}) == {"commit", "dirty"}


def test_digests_follow_the_numbers_and_nothing_else():
    table = suite(["higdon"], ["bald"], seeds=[1, 2])
    table = table.assign(
        run_id=np.where(table["seed"] == 1, "a" * 64, "b" * 64), wall_seconds_fit=1.0, cpu_seconds_fit=1.0
    )
    before = provenance.digests(table)
    assert provenance.digests(table.assign(wall_seconds_fit=2.0, cpu_seconds_fit=3.0, run="moved")) == before
    assert provenance.digests(table[table["seed"] == 1]) == {"a" * 12: before["a" * 12]}
    # A column that only another run has, as when a folder grows.
    more = table.assign(mcmc_extra=np.where(table["seed"] == 2, 1.0, np.nan))
    assert provenance.digests(more)["a" * 12] == before["a" * 12]
    assert provenance.digests(more)["b" * 12] != before["b" * 12]
    changed = table.copy()
    changed.loc[4, "negative_mll"] += 1e-12
    assert provenance.digests(changed)["a" * 12] != before["a" * 12]


@pytest.mark.parametrize(("name", "content"), [("a.png", b"no"), ("a.svg", b"<svg"), ("a.pdf", b"%PDF-1.4")])
def test_files_of_others_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="does not say where it comes from"):
        provenance.read(tmp_path / name)
    with pytest.raises(InputError, match="Cannot read"):
        provenance.read(tmp_path / f"none{name}")
    with pytest.raises(InputError, match=r"ends in \.pdf, \.png, \.svg"):
        provenance.read(tmp_path / "a.txt")


def test_provenance_sees_what_happened_to_the_runs(tmp_path, capsys):
    results, out = tmp_path / "results", tmp_path / "a.svg"
    smoke(results, "acquisition=bald,sal_hr", "seed=1,2")
    assert main(["plot", "al-mll", "--results", str(results), "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["provenance", str(out)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^figure +al-mll$", text, re.MULTILINE)
    assert f"command    scorebo plot al-mll --results {results} --out {out}" in text
    assert "data       unchanged: all 4 runs are as they were" in text

    smoke(results, "acquisition=bqbc", "seed=1")
    folders = sorted((results / "gramacy1" / "al_lognormal" / "bald").iterdir())
    config = next(c for c in sweep_configs(["experiment=al_mll", "scale=smoke", "benchmark=gramacy1",
                                            "acquisition=bald", "seed=1"]))  # fmt: skip
    from scorebo.store import RunStore

    with RunStore(results, config) as store:
        store.resume()
        store.append(make_record(5), None)
    for file in folders[1].iterdir():
        file.unlink()
    assert main(["provenance", str(out), "--json"]) == 0
    now = json.loads(capsys.readouterr().out)["now"]
    assert (now["unchanged"], len(now["changed"]), len(now["gone"]), now["further"]) == (2, 1, 1, 1)
    assert main(["provenance", str(out)]) == 0
    assert "changed: 1 runs have other records" in capsys.readouterr().out
    assert main(["provenance", str(out), "--results", str(tmp_path / "elsewhere")]) == 0
    assert "cannot be looked at" in capsys.readouterr().out
    assert main(["provenance", str(tmp_path / "none.png")]) == 2


def test_a_table_from_disk_gives_the_same_digests(tmp_path):
    smoke(tmp_path, "acquisition=bald", "seed=1")
    assert provenance.digests(collect(tmp_path)) == provenance.digests(collect(tmp_path))

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest
from omegaconf import OmegaConf
from store_samples import make_config, make_record

from scorebo.acquisition import SAL
from scorebo.config import as_dict, compose
from scorebo.errors import InputError
from scorebo.gp import Surrogate
from scorebo.run.loop import execute
from scorebo.store import IDENTITY_NODES, RunStore, collect, identity, identity_nodes, run_folder, run_id
from scorebo.store.identity import config_text, read_config, run_ids
from tests.runs import tiny_overrides


def test_the_id_is_64_hexadecimal_digits_and_never_changes():
    # A golden value: a change of it orphans every stored run.
    assert run_id(make_config()) == "7ca16282e60cf2df0e46f8ce8d6a84393e0ff3e0240b8c64f671a7cc020c2ce6"


def test_only_the_identity_nodes_count():
    other = make_config(results="/elsewhere", threads=8, experiment={"name": "al_mll"}, launcher="slurm", scale="paper")
    assert run_id(other) == run_id(make_config())
    assert set(identity_nodes(other)) == set(IDENTITY_NODES)


@pytest.mark.parametrize("node", IDENTITY_NODES)
def test_every_identity_node_counts(node):
    changed = 2 if node == "seed" else {**make_config()[node], "further": 1}
    assert run_id(make_config(**{node: changed})) != run_id(make_config())


def test_the_order_of_keys_does_not_count():
    config = make_config()
    backwards = {key: dict(reversed(v.items())) if isinstance(v, dict) else v for key, v in reversed(config.items())}
    assert run_id(backwards) == run_id(config)


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (10**22, 1e22), ([2, 3], [2.0, 3.0]), ([1], (1,))])
def test_numbers_count_by_value(one, other):
    assert run_id(make_config(mcmc={"a": one})) == run_id(make_config(mcmc={"a": other}))


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, "1"), (None, "null"), (0.3, 0.1 + 0.2), (2**60, 2**60 + 1), ([1], [1, 1])]
)
def test_different_values_give_different_ids(one, other):
    assert run_id(make_config(mcmc={"a": one})) != run_id(make_config(mcmc={"a": other}))


def test_omegaconf_with_interpolations_is_the_resolved_plain_config():
    text = make_config()
    text["benchmark"] = {**text["benchmark"], "initial": "${mcmc.two}"}
    text["mcmc"] = {**text["mcmc"], "two": 2, "list": [1, [2.5, None], {"a": True}]}
    plain = make_config(mcmc=text["mcmc"])
    assert run_id(OmegaConf.create(text)) == run_id(plain)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "mcmc.a must be a finite number"),
        ([1.0, float("-inf")], r"mcmc.a\[1\] must be a finite number"),
        ("${seed}", "mcmc.a is not resolved"),
        ("???", "mcmc.a is not resolved"),
        ({1: 2}, "keys of mcmc.a must be text"),
        (b"x", "mcmc.a cannot be part"),
        ({1, 2}, "mcmc.a cannot be part"),
    ],
)
def test_values_without_one_meaning_are_refused(value, says):
    with pytest.raises(InputError, match=says):
        run_id(make_config(mcmc={"a": value}))


def test_a_missing_node_is_named():
    config = make_config()
    del config["acquisition_optimizer"]
    with pytest.raises(InputError, match="no acquisition_optimizer"):
        run_id(config)


def test_the_folder_names_the_run(tmp_path):
    config = make_config(seed=7)
    folder = run_folder(tmp_path, config)
    assert folder == tmp_path / "gramacy1" / "al_lognormal" / "sal_hr" / f"seed-7-{run_id(config)[:12]}"
    assert run_folder(tmp_path, make_config(seed=7.0)) == folder


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\nb", " a", "x" * 201, None, 3])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=re.escape("benchmark.name must be")):
        run_folder(tmp_path, make_config(benchmark={"name": name}))


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, None])
def test_a_seed_that_is_none_is_refused(tmp_path, seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        run_folder(tmp_path, make_config(seed=seed))


AWKWARD = ["1", "1e-3", "1.0", "no", "on", "null", "~", "2024-01-01", "0x10", "1_000", "a: b", "#c", "ü", "", " ",
           "a\nb", "=", ".inf", "- x", "'", '"', "!t", "&a", "*a", "1:30", "0o7", "yes\n"]  # fmt: skip


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_texts_survive_config_yaml_in_plain_yaml_and_in_omegaconf(tmp_path, text):
    config = make_config(mcmc={"a": text, "b": [text], "c": 1e-5, "d": 1e22, "e": 5e-324, "f": [], "g": {}})
    path = tmp_path / "config.yaml"
    path.write_text(config_text(identity_nodes(config)), encoding="utf-8")
    assert read_config(path) == identity_nodes(config)
    assert run_id(OmegaConf.load(path)) == run_id(config)


def test_the_store_starts_without_the_numerical_libraries():
    code = "import sys, scorebo.store; print([m for m in ('torch', 'numpy', 'pandas', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def surrogate(**settings):
    return make_config(model={"name": "m", "_target_": "scorebo.gp.Surrogate", "kernel": "rbf", **settings})


class TestNeutralValues:
    def test_a_setting_that_is_added_later_changes_no_id(self, monkeypatch):
        before, old = run_id(make_config()), make_config()
        new = {**old["acquisition"], "fantasies": 0}
        assert run_id(make_config(acquisition=new)) != before
        monkeypatch.setitem(identity.NEUTRAL, "scorebo.acquisition.SAL", {"fantasies": 0})
        assert run_id(make_config(acquisition=new)) == before
        assert run_id(make_config(acquisition={**new, "fantasies": 1})) != before
        assert run_ids(make_config(acquisition=new), [1]) == [before]

    def test_so_does_a_setting_of_a_node_without_a_class(self, monkeypatch):
        before, mcmc = run_id(make_config()), make_config()["mcmc"]
        monkeypatch.setitem(identity.NEUTRAL, "mcmc", {"chains": 1})
        assert run_id(make_config(mcmc={**mcmc, "chains": 1})) == before
        assert run_id(make_config(mcmc={**mcmc, "chains": 2})) != before

    def test_and_a_whole_node(self, monkeypatch, tmp_path):
        before = run_id(make_config())
        monkeypatch.setitem(identity.NEUTRAL, "run", {"batch": 1})
        assert run_id(make_config()) == run_id(make_config(batch=1)) == before
        other = make_config(batch=4)
        assert run_id(other) != before
        with RunStore(tmp_path, other) as store:  # it is stored, and read again
            assert read_config(store.folder / "config.yaml")["batch"] == 4

    def test_it_is_known_by_the_class_not_by_the_name_of_the_setting(self):
        other = make_config(model={"name": "m", "_target_": "my_package.Model", "standardize": True})
        assert run_id(other) != run_id(make_config(model={"name": "m", "_target_": "my_package.Model"}))

    @pytest.mark.parametrize(("name", "value"), identity.NEUTRAL["scorebo.gp.Surrogate"].items())
    def test_those_of_the_models_are_the_defaults_of_their_class(self, name, value):
        assert inspect.signature(Surrogate).parameters[name].default == value
        assert run_id(surrogate(**{name: value})) == run_id(surrogate())
        assert run_id(surrogate(**{name: "other"})) != run_id(surrogate())

    @pytest.mark.parametrize(("name", "value"), identity.NEUTRAL["scorebo.acquisition.SAL"].items())
    @pytest.mark.parametrize("acquisition", ["sal_hr", "sal_ws_mc"])
    def test_those_of_sal_are_the_defaults_of_its_class_and_of_its_configs(self, tmp_path, acquisition, name, value):
        assert inspect.signature(SAL).parameters[name].default == value
        config = as_dict(compose([*tiny_overrides(tmp_path), f"acquisition={acquisition}"]))
        node = {key: setting for key, setting in config["acquisition"].items() if key != name}
        assert config["acquisition"].get(name, value) == value
        assert run_id({**config, "acquisition": node}) == run_id(config)
        assert run_id({**config, "acquisition": {**node, name: "other"}}) != run_id(config)


class TestVersion:
    def test_absent_is_one_and_another_one_is_another_run(self):
        config = make_config()
        first = make_config(acquisition={**config["acquisition"], "version": 1})
        second = make_config(acquisition={**config["acquisition"], "version": 2})
        assert run_id(first) == run_id(config) != run_id(second)

    @pytest.mark.parametrize("version", [0, 1.5, "two", True, None])
    def test_must_be_a_whole_number(self, version):
        with pytest.raises(InputError, match=r"acquisition\.version must be a whole number"):
            run_id(make_config(acquisition={"name": "a", "version": version}))

    def test_is_not_passed_to_the_class(self, tmp_path):
        nodes = ("benchmark", "model", "mcmc", "acquisition", "acquisition_optimizer")
        plain = compose(tiny_overrides(tmp_path))
        config = as_dict(compose([*tiny_overrides(tmp_path), *(f"++{node}.version=3" for node in nodes)]))
        assert run_id(config) != run_id(plain)
        assert execute(config)["kind"] == "final"


class TestDisplay:
    def test_is_stored_with_the_run_and_no_part_of_its_identity(self, tmp_path):
        config = make_config()
        shown = make_config(acquisition={**config["acquisition"], "display": {"label": "Mine", "color": "#123456"}})
        assert run_id(shown) == run_id(config)
        with RunStore(tmp_path, shown) as store:
            store.resume()
            store.append(make_record(1))
        assert collect(tmp_path).attrs["display"]["acquisition"] == {"sal_hr": {"label": "Mine", "color": "#123456"}}
        assert RunStore(tmp_path, config).folder == store.folder

    @pytest.mark.parametrize(
        ("setting", "says"),
        [
            ("acquisition.display.color=red", "must be a color such as"),
            ("+acquisition.display.linestyle=wavy", "Unknown acquisition.display.linestyle 'wavy'"),
            ("+acquisition.display.colour='#000000'", "Unknown setting in 'acquisition.display' 'colour'"),
            ("benchmark.display.label=3", "benchmark.display.label must be a text"),
            ("benchmark.display=3", "benchmark.display must be a node of settings"),
        ],
    )
    def test_is_checked(self, tmp_path, setting, says):
        with pytest.raises(InputError, match=says):
            compose([*tiny_overrides(tmp_path), setting])

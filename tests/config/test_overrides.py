"""Settings of the command line take effect or are refused; none is ignored."""

import pytest

from scorebo.cli import main
from scorebo.config import as_dict, compose
from scorebo.config.compose_many import Composer
from scorebo.config.overrides import check_effect
from scorebo.config.sweep import sweep_configs, sweep_ids
from scorebo.errors import InputError
from scorebo.store import run_id
from tests.runs import tiny_overrides

RUN = ["benchmark=gramacy1", "acquisition=random"]


def axes(configs):
    """The names that the runs have, by axis, and their seeds."""
    names = {group: [*dict.fromkeys(c[group]["name"] for c in configs)] for group in ("benchmark", "acquisition")}
    return names["benchmark"], names["acquisition"], [*dict.fromkeys(c["seed"] for c in configs)]


class TestExperiment:
    """`experiment.NAME=VALUE` changes the experiment that is swept."""

    def test_acquisitions_of_one_s_own_among_them(self, tmp_path):
        (tmp_path / "acquisition").mkdir()
        (tmp_path / "acquisition" / "disagreement.yaml").write_text("_target_: x\n")
        configs = sweep_configs(["experiment=demo", "experiment.acquisitions=[bald,sal_hr,disagreement]"], tmp_path)
        assert axes(configs) == (["gramacy1", "gramacy2"], ["bald", "sal_hr", "disagreement"], [1, 2, 3])

    @pytest.mark.parametrize("given", [["experiment.acquisitions=bald,bqbc"], ["experiment.acquisitions=[bald,bqbc]"]])
    def test_names_seeds_and_tasks(self, given):
        configs = sweep_configs(["experiment=demo", *given, "experiment.seeds=1", "experiment.benchmarks=[higdon]"])
        assert axes(configs) == (["higdon"], ["bald", "bqbc"], [1])
        assert {config["benchmark"]["total"] for config in configs} == {20}

    def test_models(self):
        configs = sweep_configs(
            ["experiment=demo", "experiment.models=[botorch,al_lognormal]", "acquisition=bald", "seed=1"]
        )
        assert {config["model"]["name"] for config in configs} == {"botorch", "al_lognormal"}
        (truth,) = sweep_configs(
            ["experiment=priors", "experiment.models=[true]", "experiment.acquisitions=random", "experiment.seeds=1"]
        )
        assert truth["model"]["name"] == "true"

    def test_what_is_asked_for_is_among_what_it_has_now(self):
        changed = ["experiment=demo", "experiment.acquisitions=[sal_kl]"]
        (config,) = sweep_configs([*changed, "acquisition=sal_kl", "benchmark=gramacy1", "seed=2"])
        assert (config["acquisition"]["name"], config["seed"]) == ("sal_kl", 2)
        with pytest.raises(InputError, match=r"experiment=demo has no acquisition 'bald'\. It has: sal_kl"):
            sweep_configs([*changed, "acquisition=bald"])
        with pytest.raises(InputError, match=r"has no seed 2\. It has: 1 to 1"):
            sweep_configs(["experiment=demo", "experiment.seeds=1", "seed=2"])

    def test_it_wins_over_the_scale(self):
        base = ["experiment=bo_regret", "scale=smoke", "benchmark=branin", "acquisition=nei"]
        assert len(sweep_configs(base)) == 3
        configs = sweep_configs(
            [*base, "experiment.seeds=2", "experiment.total=9", "experiment.settings.mcmc.num_features=64"]
        )
        assert [c["seed"] for c in configs] == [1, 2]
        assert {(c["benchmark"]["total"], c["mcmc"]["num_features"]) for c in configs} == {(9, 64)}
        (config,) = sweep_configs([*base, "experiment.total=9", "benchmark.total=8", "seed=1"])
        assert config["benchmark"]["total"] == 8, "the setting itself wins"
        (config,) = sweep_configs([*base, "experiment.settings={mcmc.num_mcmc_samples:5}", "seed=1"])
        assert (config["mcmc"]["num_mcmc_samples"], config["mcmc"]["num_features"]) == (5, 8192), (
            "in place of the scale's"
        )

    def test_a_scale_of_it(self):
        base = ["experiment=al_mll", "benchmark=gramacy1", "acquisition=bald"]
        change = ["experiment.scales.small.seeds=2", "experiment.scales.small.settings.mcmc.num_mcmc_samples=4"]
        configs = sweep_configs([*base, "scale=small", *change])
        assert [(c["seed"], c["mcmc"]["num_mcmc_samples"], c["benchmark"]["total"]) for c in configs] == [
            (1, 4, 30),
            (2, 4, 30),
        ]
        assert len(sweep_configs([*base, "scale=small,smoke", *change])) == 2 + 3

    def test_several_values(self):
        configs = sweep_configs(["experiment=demo", "experiment.total=5,6", "benchmark=gramacy1", "acquisition=bald"])
        assert sorted({(c["seed"], c["benchmark"]["total"]) for c in configs}) == [
            (seed, total) for seed in (1, 2, 3) for total in (5, 6)
        ]

    def test_in_every_way_of_composing(self):
        change = [
            "experiment=al_mll",
            "scale=small",
            "experiment.total=0.2",
            "experiment.settings.mcmc.num_mcmc_samples=3",
        ]
        config = as_dict(compose([*change, *RUN, "seed=7"]))
        assert (config["benchmark"]["total"], config["mcmc"]["num_mcmc_samples"]) == (10, 3)
        assert Composer().compose([*change, *RUN], [3, 7])[1] == config
        given = [*change, "experiment.acquisitions=[bald]", "experiment.benchmarks=[gramacy1]", "experiment.seeds=2"]
        assert sweep_ids(given, Composer()) == {run_id(config) for config in sweep_configs(given)}

    def test_the_next_sweep_has_the_experiment_as_it_is(self):
        composer = Composer()
        base = ["experiment=al_mll", "scale=smoke"]
        before = len(sweep_configs(base, composer=composer))
        assert len(sweep_configs([*base, "experiment.seeds=1"], composer=composer)) == before / 3
        assert len(sweep_configs(base, composer=composer)) == before

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            (
                "experiment.acquisition=[bald]",
                "Unknown setting of experiment 'demo' 'acquisition'. Did you mean acq",
            ),
            ("experiment.scales.tiny.seeds=1", "Unknown scale 'tiny'. Allowed: paper, small, smoke"),
            ("experiment.seeds=[1,2]", "seeds of experiment 'demo' must be a whole number of at least 1"),
            ("experiment.acquisitions=[]", r"experiment.acquisitions must be a list of names, e.g. .*, got \[\]"),
            ("experiment.acquisitions=[3]", "must be a list of names"),
            ("experiment.acquisitions=[bad]", "Unknown acquisition 'bad'"),
            ("experiment.benchmarks=[gramcy1]", "needs tasks that are not available: gramcy1"),
            ("experiment.total.gramacy1=5", "give the whole of it, experiment.total=VALUE"),
            ("experiment.settings.mcmc.num_set=5", "sets mcmc.num_set, which no setting has as its name"),
            ("~experiment.seeds", "is changed by experiment.NAME=VALUE"),
        ],
    )
    def test_mistakes(self, override, message):
        with pytest.raises(InputError, match=message):
            sweep_configs(["experiment=demo", override])

    def test_without_an_experiment(self):
        with pytest.raises(InputError, match=r"experiment\.seeds=2 changes an experiment, but none is given"):
            sweep_configs([*RUN, "experiment.seeds=2"])
        with pytest.raises(InputError, match=r"experiment\.total=9 changes an experiment, but none is given"):
            compose([*RUN, "experiment.total=9"])


def test_the_paper_s_scale_is_that_of_everything_without_scales():
    for overrides in (RUN, ["experiment=demo", *RUN]):
        config = as_dict(compose([*overrides, "scale=paper"]))
        check_effect([*overrides, "scale=paper"], [config], sweep=False)
        with pytest.raises(InputError, match="scale=small"):
            check_effect([*overrides, "scale=small"], [config], sweep=False)


@pytest.mark.parametrize("forced", ["++seed=2", "+seed=2"])
def test_a_seed_that_is_forced_is_a_seed(forced):
    configs = sweep_configs(["experiment=demo", "acquisition=bald", "benchmark=gramacy1", forced])
    assert [config["seed"] for config in configs] == [2]


ONE_RUN = "use `scorebo sweep`"
WITHOUT_EFFECT = [
    (
        "run",
        [*RUN, "experiment=demo", "experiment.seeds=1"],
        f"seeds=1 chooses the runs of a sweep: {ONE_RUN}",
    ),
    ("run", [*RUN, "experiment=demo", "experiment.acquisitions=[bald]"], ONE_RUN),
    ("run", [*RUN, "experiment=al_mll", "scale=small", "experiment.scales.small.seeds=1"], ONE_RUN),
    ("run", [*RUN, "experiment=demo", "experiment.acquisition=[bald]"], "Allowed: acquisitions, benchmarks"),
    (
        "run",
        [*RUN, "experiment=al_mll", "experiment.scales.small.total=9"],
        "no effect at scale=paper: add scale=sm",
    ),
    ("run", [*RUN, "launcher=slurm"], f"launcher=slurm says where a sweep is run: {ONE_RUN}"),
    ("run", [*RUN, "launcher.minutes=3"], ONE_RUN),
    ("run", [*RUN, "workers=2"], ONE_RUN),
    ("run", [*RUN, "seed=1", "seed=2"], "'seed' is given twice"),
    ("run", [*RUN, "benchmark=gramacy2"], "'benchmark' is given twice"),
    ("run", [*RUN, "scale=small"], "scale=small is the size of an experiment, but none is given: add experiment=NAME"),
    ("run", [*RUN, "experiment=demo", "scale=small"], "experiment=demo has no scales: leave out scale=small"),
    ("run", [*RUN, "hydra/launcher=submitit_slurm"], "`scorebo run -m hydra/launcher=submitit_slurm …`"),
    ("run", [*RUN, "hydra.verbose=true"], "Only Hydra's own multirun reads hydra.verbose"),
    (
        "run",
        [*RUN, "+mcmc.num_mcmc_sample=3"],
        "Unknown setting of sampler 'nuts' 'num_mcmc_sample'. Did you mean num_mcmc_samples",
    ),
    (
        "run",
        [*RUN, "+acquisition_optimizer.num_restart=3"],
        "Unknown setting in 'acquisition_optimizer' 'num_restart'. Did you mean num_restarts",
    ),
    (
        "run",
        [*RUN, "+mcmc.transitions=3"],
        "Unknown setting of sampler 'nuts' 'transitions'. Allowed: max_tree_depth, num_mcmc_samples, target_acc",
    ),
    ("sweep", [*RUN, "--scale", "small"], "scale=small is the size of an experiment, but none is given"),
    ("sweep", ["experiment=demo", "scale=small"], "experiment=demo has no scales: leave out scale=small"),
    ("sweep", ["experiment=al_mll", "experiment.scales.small.seeds=1"], "no effect at scale=paper: add scale=sm"),
    ("sweep", [*RUN, "hydra/launcher=submitit_slurm"], "Only Hydra's own multirun reads hydra/launcher"),
    ("sweep", [*RUN, "launcher=slurm", "workers=2"], "workers=2 has no effect with launcher=slurm: launcher.array_par"),
    ("run", ["-m", *RUN, "experiment=demo", "experiment.seeds=1"], f"does not read experiment.seeds=1: {ONE_RUN}"),
    ("run", ["-m", *RUN, "launcher=slurm"], ONE_RUN),
    ("run", [*RUN, "-m", "workers=2"], ONE_RUN),
]


@pytest.mark.parametrize(("command", "arguments", "message"), WITHOUT_EFFECT)
def test_settings_without_effect_are_refused(command, arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([command, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("scorebo: ")
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_a_run_takes_what_an_experiment_says_of_each_run(tmp_path):
    overrides = [o for o in tiny_overrides(tmp_path, *("gramacy1", "random")) if not o.startswith("benchmark.total")]
    assert main(["run", "--quiet", *overrides, "experiment=al_mll", "scale=small", "experiment.total=3"]) == 0
    (records,) = tmp_path.rglob("records.jsonl")
    assert len(records.read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["run", "seed=1,2"], "scorebo sweep seed=1,2"),
        (["run", *RUN, "--quiet", "seed=range(1,3)"], f"scorebo sweep {' '.join(RUN)} 'seed=range(1,3)'"),
        (["run", "--config-dir", "mine", "benchmark=glob(*)"], "scorebo sweep --config-dir mine 'benchmark=glob(*)'"),
        (["run", "--benchmark", "gramacy1"], "scorebo run benchmark=gramacy1"),
        (["run", "--benchmark=gramacy1", "acquisition=bald"], "scorebo run benchmark=gramacy1 acquisition=bald"),
        (
            ["run", "--benchmark", "gramacy1", "--acquisition", "bald"],
            "scorebo run benchmark=gramacy1 acquisition=bald",
        ),
        (["run", "--mcmc.warmup", "8", "--metrics-every=2"], "scorebo run mcmc.warmup=8 metrics_every=2"),
        (["run", *RUN, "--seed", "--quiet"], f"scorebo run {' '.join(RUN)} seed=VALUE --quiet"),
        (["run", "--seed", "1,2"], "scorebo sweep seed=1,2"),
        (["sweep", "--workers", "2", "seed=1,2", "--dry-run"], "scorebo sweep workers=2 seed=1,2 --dry-run"),
        (["sweep", "--scale", "small", "--experiment=al_mll"], "scorebo sweep --scale small experiment=al_mll"),
        (["sweep", "--results", "out", *RUN], f"scorebo sweep results=out {' '.join(RUN)}"),
        (["retry", "--failed", "--workers", "2"], "scorebo retry --failed workers=2"),
    ],
)
def test_the_command_that_was_meant(arguments, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("scorebo: ")
    assert f": `{command}`.\n" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_option_that_is_no_setting_stays_the_parser_s(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["run", *RUN, "--loud", "3"])
    assert stop.value.code == 2
    assert "unrecognized arguments: --loud" in capsys.readouterr().err


class TestNodesOfAnotherClass:
    """`NODE={_target_: …}` replaces the node: settings of the former class are not passed to the new one."""

    GAMMA = "model.lengthscale={_target_: scorebo.priors.Gamma, shape: 3.0, rate: 6.0}"

    def test_a_prior(self):
        expected = {"_target_": "scorebo.priors.Gamma", "shape": 3.0, "rate": 6.0}
        assert as_dict(compose([*RUN, self.GAMMA]))["model"]["lengthscale"] == expected
        (config,) = Composer().compose([*RUN, self.GAMMA])
        assert config["model"]["lengthscale"] == expected
        other = "model.lengthscale={_target_: scorebo.priors.HalfCauchy}"
        assert as_dict(compose([*RUN, other]))["model"]["lengthscale"] == {"_target_": "scorebo.priors.HalfCauchy"}

    def test_a_node_below(self):
        local = "model.lengthscale.local_shrinkage={_target_: scorebo.priors.LogNormal, mean: 0.0, variance: 1.0}"
        node = as_dict(compose([*RUN, "model=saas", local]))["model"]["lengthscale"]
        assert node["local_shrinkage"] == {"_target_": "scorebo.priors.LogNormal", "mean": 0.0, "variance": 1.0}
        assert node["global_shrinkage"] == {"_target_": "scorebo.priors.HalfCauchy", "scale": 0.1}

    def test_in_a_sweep(self):
        for config in sweep_configs([*RUN, self.GAMMA, "seed=1,2"]):
            assert config["model"]["lengthscale"]["_target_"] == "scorebo.priors.Gamma"
            assert "mean" not in config["model"]["lengthscale"]

    def test_an_unknown_setting(self):
        with pytest.raises(InputError, match=r"Unknown setting in 'model' 'lengthscal'. Did you mean lengthscale\?"):
            compose([*RUN, self.GAMMA.replace("scale=", "scal=")])

from functools import partial
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from scorebo.config import as_dict, available, compose, config_file, describe_choice
from scorebo.config.compose_many import Composer
from scorebo.config.composition import hydra_compose
from scorebo.config.scale import SCALES, _total, at_scale
from scorebo.config.sweep import sweep_configs, sweep_ids
from scorebo.errors import InputError
from scorebo.store import identity_nodes, run_id

# EXPERIMENTS.md §5.
WITHOUT_RUNS = {"sal_example", "scorebo_example", "hellinger_mm", "wasserstein_mm"}
REPETITIONS = {
    **dict.fromkeys(("al_mll", "al_rmse", "sal_mc"), 25),
    **dict.fromkeys(("ishigami_hyperparameters", "ishigami_hyperparameters_no_outputscale"), 25),
    "hartmann6_hyperparameters": 25,
    **dict.fromkeys(("bo_regret", "distances_ws", "distances_kl", "scorebo_mc", "rosenbrock4_hyperparameters"), 50),
    **dict.fromkeys(("priors", "gp8_regret", "gp8_hyperparameters_lognormal", "gp8_hyperparameters_botorch"), 20),
    **dict.fromkeys(("saas_final", "saas_hyperparameters", "saas_noise", "addgp", "pd1"), 20),
}
WITHOUT_FIGURE = {"pd1_few_samples", "lcbench", "svm_ct757"}  # for a claim alone, and in place of what is not at hand
# Tasks the paper has and this project does not have yet. A task that arrives is taken from here.
NOT_AVAILABLE: set[str] = set()


@pytest.fixture(scope="module")
def composer():
    """One for all tests that read the project's own configs, which do not change meanwhile."""
    return Composer()


@pytest.fixture(scope="module")
def sweep(composer):
    return partial(sweep_configs, composer=composer)


def who(configs):
    return [(c["seed"], c["benchmark"]["name"], c["model"]["name"], c["acquisition"]["name"]) for c in configs]


class TestGrammar:
    def test_lists_and_ranges_seed_by_seed(self, sweep):
        overrides = ["acquisition=bald,sal_hr", "benchmark=gramacy1", "seed=range(1,4)", "mcmc.num_mcmc_samples=4,8"]
        configs = sweep(overrides)
        assert who(configs)[:4] == [
            (1, "gramacy1", "al_lognormal", name) for name in ("bald", "bald", "sal_hr", "sal_hr")
        ]
        assert [c["mcmc"]["num_mcmc_samples"] for c in configs[:4]] == [4, 8, 4, 8]
        assert [c["seed"] for c in configs] == [1] * 4 + [2] * 4 + [3] * 4

    def test_glob_chooses_among_the_configs_of_a_group(self, tmp_path):
        configs = sweep_configs(["benchmark=glob(gramacy*)", "acquisition=random"])
        assert who(configs) == [(1, name, "al_lognormal", "random") for name in ("gramacy1", "gramacy2")]
        (tmp_path / "acquisition").mkdir()
        (tmp_path / "acquisition" / "rand_mine.yaml").write_text("_target_: scorebo.acquisition.SAL\n")
        configs = sweep_configs(["benchmark=gramacy1", "acquisition=glob(rand*)"], tmp_path)
        assert [c["acquisition"]["name"] for c in configs] == ["rand_mine", "random"]

    def test_a_run_is_swept_once_however_often_it_is_asked_for(self, sweep):
        configs = sweep(
            [
                "benchmark=gramacy1",
                "acquisition=bald,bald",
                "seed=2,1,2",
                "acquisition_optimizer.sample_around_best_sigma=0.1,1e-1",
            ]
        )
        assert [c["seed"] for c in configs] == [2, 1]

    def test_a_model_named_like_a_truth_value(self, sweep):
        configs = sweep(["benchmark=gp8", "acquisition=random", "model=true,botorch"])
        assert [c["model"]["name"] for c in configs] == ["true", "botorch"]
        assert who(sweep(["experiment=priors", "model=true", "seed=1"])) == [(1, "gp8", "true", "nei")]

    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            ([], "Nothing to sweep. Give settings with lists or ranges"),
            (["seed=range(1,1)"], r"seed=range\(1,1\) stands for no value"),
            (["benchmark=glob(nothing*)"], "stands for no value"),
            (["seed=1,2"], "No benchmark given"),
            (
                ["benchmark=gramacy1", "acquisition=bald", "seed=1,x"],
                "seed must be a whole number of at least 0, got 'x'",
            ),
            (["benchmark=gramacy1", "benchmark=gramacy2"], "'benchmark' is given twice"),
            (["mcmc.warmup=glob(*)"], "can only choose among configs"),
            (["mcmc.target_acceptance=interval(0,1)"], "a sweep needs values one by one"),
            (["seed"], "Cannot read 'seed': a setting is given as NAME=VALUE"),
            (["experiment=al_mlll"], "Unknown experiment 'al_mlll'. Did you mean al_mll"),
            (["experiment=al_mll", "scale=tiny"], "Unknown scale 'tiny'. Allowed: paper, small, smoke"),
            (["benchmark=gramacy1", "acquisition=bald", "scale=tiny"], "Unknown scale 'tiny'"),
            (
                ["experiment=al_mll", "acquisition=nei"],
                "experiment=al_mll has no acquisition 'nei'. It has: qbmgp, bqbc",
            ),
            (["experiment=al_mll", "scale=small", "seed=11"], "has no seed 11. It has: 1 to 10"),
            (["experiment=sal_example"], "experiment=sal_example has no runs"),
        ],
    )
    def test_mistakes_are_explained(self, overrides, message, sweep):
        with pytest.raises(InputError, match=message):
            sweep(overrides)


class TestComposer:
    """What is not composed anew must equal what would be."""

    def check(self, overrides, config_dir=None, composer=None):
        configs = (composer or Composer(config_dir)).compose(overrides, [3, 7])
        assert configs[1] == as_dict(compose([*overrides, "seed=7"], config_dir))
        return configs

    def test_one_composition_for_all_seeds(self):
        self.check(["experiment=priors", "scale=small", "benchmark=gp8", "acquisition=nei", "model=true"])

    @pytest.mark.parametrize("value", ["${..seed}", "a${oc.select:seed}", "${${model.key}}"])
    def test_also_where_a_user_s_config_depends_on_the_seed(self, tmp_path, value):
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "mine.yaml").write_text(f"_target_: x\nkey: seed\nvalue: {value}\n")
        configs = self.check(["benchmark=gramacy1", "acquisition=random", "model=mine"], config_dir=tmp_path)
        assert [str(c["model"]["value"])[-1] for c in configs] == ["3", "7"]

    def test_acquisitions_that_change_nothing_else_share_a_composition(self, composer):
        before = len(composer._composed)
        for acquisition in available("acquisition"):
            composer.compose(["benchmark=branin", f"acquisition={acquisition}"])
        assert len(composer._composed) == before + 2  # nei_map selects its model
        for acquisition in ("nei_map", "scorebo_ws_mc"):
            self.check(["benchmark=branin", f"acquisition={acquisition}"], composer=composer)

    @pytest.mark.parametrize(
        ("group", "text", "more"),
        [
            ("benchmark", "# @package _global_\nbenchmark: {_target_: x}\nacquisition: {weight: 3}\n", []),
            ("acquisition", "defaults: [bald]\nname: mine\n_target_: x\n", []),
            ("acquisition", "# @package _global_\nacquisition: {name: mine, _target_: x}\nseed: 5\n", []),
            ("acquisition", "_target_: x\nweight: ${acquisition_optimizer.num_restarts}\n", []),
            ("acquisition", "_target_: x\nname: mine\nweight: ${acquisition_optimizer.num_restarts}\n", []),
            ("model", "_target_: x\nname: mine\nvalue: ${acquisition.distance}\n", []),
            ("acquisition", "_target_: x\nname: mine\nweight: 1\n", ["acquisition.weight=2"]),
            ("acquisition", "_target_: x\nname: mine\nweight: 1\n", ["+acquisition.height=2"]),
        ],
    )
    def test_and_others_do_not(self, tmp_path, group, text, more):
        (tmp_path / group).mkdir()
        (tmp_path / group / "mine.yaml").write_text(text)
        others = {"benchmark": "benchmark=gramacy1", "acquisition": "acquisition=sal_hr"} | {group: f"{group}=mine"}
        self.check([*others.values(), *more], tmp_path)

    @pytest.mark.parametrize("name", ["al_mll", "gp8_regret", "pd1_few_samples", "demo_bo"])
    def test_experiments_that_say_nothing_else_share_a_composition(self, name):
        composer = Composer()
        node = hydra_compose([f"experiment={name}", "benchmark=gramacy1", "acquisition=random"], None).experiment
        assert OmegaConf.to_container(composer.experiment(name)) == OmegaConf.to_container(node)
        self.check([f"experiment={name}", "scale=small", "benchmark=branin", "acquisition=nei"], composer=composer)
        self.check([f"experiment={name}", "scale=smoke", "benchmark=branin", "acquisition=bald"], composer=composer)
        shared = ("benchmark=branin", "acquisition=random") in composer._composed
        assert shared == (name != "demo_bo")  # which sets more

    @pytest.mark.parametrize(
        "text",
        [
            "# @package _global_\nexperiment: {name: mine, seeds: 2}\nmcmc: {warmup: 77}\n",
            "# @package _global_\nexperiment: {name: mine, seeds: '${acquisition_optimizer.num_restarts}'}\n",
            "# @package _global_\ndefaults: [{override /model: botorch}]\nexperiment: {name: mine, seeds: 2}\n",
            "# @package _global_\ndefaults: [own]\nexperiment: {name: mine, seeds: 2}\n",
        ],
    )
    def test_and_other_experiments_do_not(self, tmp_path, text):
        (tmp_path / "experiment").mkdir()
        (tmp_path / "experiment" / "mine.yaml").write_text(text)
        (tmp_path / "experiment" / "own.yaml").write_text("# @package _global_\nmcmc: {warmup: 33}\n")
        self.check(["experiment=mine", "benchmark=gramacy1", "acquisition=sal_hr"], tmp_path)

    def test_ids_are_those_of_the_configurations(self, composer, tmp_path):
        overrides = ["experiment=al_mll", "scale=smoke", "benchmark=gramacy1", "acquisition=sal_hr,bald"]
        assert sweep_ids(overrides, composer) == {run_id(config) for config in sweep_configs(overrides)}
        own = ["benchmark=gramacy1", "acquisition=sal_hr", "mcmc.warmup=8,9"]  # the seed is the configuration's own
        assert sweep_ids(own, composer) == {run_id(config) for config in sweep_configs(own)}
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "mine.yaml").write_text("_target_: x\nvalue: ${..seed}\n")
        varied = ["benchmark=gramacy1", "acquisition=sal_hr", "model=mine", "seed=1,2"]
        expected = {run_id(config) for config in sweep_configs(varied, tmp_path)}
        assert sweep_ids(varied, Composer(tmp_path)) == expected

    def test_nothing_is_shared_between_the_runs(self):
        composer = Composer()
        overrides = ["benchmark=gramacy1", "acquisition=random"]
        first, second = composer.compose(overrides, [1, 2])
        first["benchmark"]["total"] = 7
        assert second["benchmark"]["total"] == composer.compose(overrides)[0]["benchmark"]["total"] == 50


class TestScales:
    def test_budget_and_settings_of_the_scale_and_the_command_line_wins(self, composer):
        base = ["experiment=bo_regret", "benchmark=hartmann6", "acquisition=scorebo_hr"]
        found = [composer.compose([*base, f"scale={scale}"])[0] for scale in SCALES]
        numbers = [(config["benchmark"]["total"], config["mcmc"]["num_features"]) for config in found]
        assert numbers == [(20, 1024), (100, 2048), (200, 8192)]
        given = compose([*base, "scale=small", "benchmark.total=9", "mcmc.num_features=64"])
        assert (given.benchmark.total, given.mcmc.num_features) == (9, 64)

    def test_a_budget_leaves_a_model_that_has_seen_a_query(self, sweep):
        for experiment, task, total in (("al_mll", "hartmann6_al", 15), ("sal_mc", "gramacy1", 5)):
            (config,) = sweep(
                [f"experiment={experiment}", "scale=smoke", f"benchmark={task}", "acquisition=sal_ws", "seed=1"]
            )
            assert config["benchmark"]["total"] == total
        node = {"name": "mine", "total": 0.01}
        assert _total(node, OmegaConf.create({"initial": 7, "total": 150})) == 9
        with pytest.raises(InputError, match=r"benchmark\.total must be a whole number"):
            _total(node, OmegaConf.create({"initial": 7}))

    def write(self, folder: Path, text: str):
        (folder / "experiment").mkdir()
        (folder / "experiment" / "mine.yaml").write_text(f"# @package _global_\nexperiment:\n{text}")

    def test_a_user_s_own_experiment(self, tmp_path):
        self.write(
            tmp_path,
            "  name: mine\n  benchmarks: [gramacy1, higdon]\n  acquisitions: [random]\n  seeds: 2\n"
            "  total: {gramacy1: 7}\n  settings: {mcmc.num_mcmc_samples: 3}\n",
        )
        configs = sweep_configs(["experiment=mine"], tmp_path)
        assert [(c["seed"], c["benchmark"]["total"], c["mcmc"]["num_mcmc_samples"]) for c in configs] == [
            *((1, 7, 3), (1, 50, 3), (2, 7, 3), (2, 50, 3))
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("  seed: 3\n", "Unknown setting of experiment 'mine' 'seed'. Did you mean seeds"),
            ("  seeds: many\n", "seeds of experiment 'mine' must be a whole number"),
            ("  seeds: 2\n  total: 1.5\n", "total of experiment 'mine'"),
            ("  seeds: 2\n  settings: {mcmc.num_set: 3}\n", "sets mcmc.num_set, which no setting has"),
            ("  scales: {small: {seeds: 2}}\n", "experiment=mine has no scale 'paper'. It has: small"),
        ],
    )
    def test_mistakes_in_it_are_explained(self, tmp_path, text, message):
        self.write(tmp_path, f"  name: mine\n  benchmarks: [gramacy1]\n  acquisitions: [random]\n{text}")
        with pytest.raises(InputError, match=message):
            sweep_configs(["experiment=mine"], tmp_path)


class TestUnion:
    """experiment=paper: the runs of many experiments."""

    def test_it_has_the_runs_of_its_members_once(self, composer):
        members = composer.experiment("paper").experiments
        ids = sweep_ids(["experiment=paper", "seed=1"], composer)
        assert ids == sweep_ids([f"experiment={','.join(members)}", "seed=1"], composer)
        assert set(members) == set(REPETITIONS) | {"pd1_few_samples"}

    def test_each_run_belongs_to_the_first_member_that_has_it(self, sweep):
        configs = sweep(["experiment=paper", "benchmark=ishigami,branin", "seed=26,1"])
        named = {c["experiment"]["name"] for c in configs if c["benchmark"]["name"] == "ishigami"}
        assert named == {"al_mll", "sal_mc", "ishigami_hyperparameters_no_outputscale"}
        assert {c["seed"] for c in configs if c["benchmark"]["name"] == "ishigami"} == {1}
        assert {c["seed"] for c in configs if c["benchmark"]["name"] == "branin"} == {1, 26}

    def test_at_a_smaller_scale(self, sweep):
        (config,) = sweep(["experiment=paper", "scale=smoke", "benchmark=branin", "acquisition=jes", "seed=1"])
        assert config["benchmark"]["total"] == 10
        assert config["mcmc"]["num_features"] == 1024

    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            (["benchmark=gramacy"], "experiment=paper has no benchmark 'gramacy'. It has: gramacy1"),
            (["seed=51"], "experiment=paper has no seed 51. It has: 1 to 50"),
            (["model=saas"], "model=saas: experiment=paper is a union; change one of its experiments"),
            (["experiment.seeds=3"], "experiment.seeds=3: experiment=paper is a union"),
        ],
    )
    def test_mistakes_are_explained(self, overrides, message, sweep):
        with pytest.raises(InputError, match=message):
            sweep(["experiment=paper", *overrides])

    def test_a_single_run_has_one_experiment(self):
        with pytest.raises(InputError, match="experiment=paper is a union of experiments, for sweeps alone"):
            compose(["experiment=paper", "benchmark=branin", "acquisition=jes"])


class TestFigures:
    def test_every_figure_has_an_experiment_of_its_name(self, composer):
        figures = set(REPETITIONS) | WITHOUT_RUNS
        assert set(available("experiment")) == figures | {"demo", "demo_bo", "paper"} | WITHOUT_FIGURE
        for name in figures:
            node = composer.experiment(name)
            assert node.name == name
            own = name.replace("_", "-")
            assert node.figures == ([own, "al-mll-task-units"] if own == "al-mll" else [own])
            assert describe_choice("experiment", name).startswith(f"Figure {name.replace('_', '-')}: ")

    def test_repetitions_of_the_paper_and_fewer_at_smaller_scales(self, composer):
        for name, repetitions in REPETITIONS.items():
            smoke, small, paper = (at_scale(composer.experiment(name), scale) for scale in SCALES)
            assert paper["seeds"] == repetitions
            assert 1 < smoke["seeds"] < small["seeds"] < paper["seeds"]
            assert 0 < smoke["total"] < small["total"] < 1
            assert "total" not in paper
            assert not paper["settings"]

    def test_what_they_name_exists_but_for_the_tasks_to_come(self, composer):
        missing = set()
        for name in REPETITIONS:
            for scale in SCALES:
                node = at_scale(composer.experiment(name), scale)
                assert set(node["acquisitions"]) <= set(available("acquisition"))
                assert set(node.get("models", [])) <= set(available("model"))
                missing |= set(node["benchmarks"]) - set(available("benchmark"))
        assert missing == NOT_AVAILABLE

    def test_a_figure_whose_tasks_are_missing_names_them(self, tmp_path):
        own = config_file("experiment", "addgp").read_text().replace("addgp10", "addgp100")
        (tmp_path / "experiment").mkdir()
        (tmp_path / "experiment" / "mine.yaml").write_text(own.replace("name: addgp", "name: mine"))
        message = (
            r"needs tasks that are not available: addgp100\. Of its tasks there are: benchmark=addgp6,cosmology\.$"
        )
        with pytest.raises(InputError, match=message):
            sweep_configs(["experiment=mine"], tmp_path)
        narrowed = sweep_configs(["experiment=mine", "benchmark=addgp6", "seed=1"], tmp_path)
        assert [c["acquisition"]["name"] for c in narrowed] == ["scorebo_hr", "nei"]

    @pytest.mark.parametrize(("scale", "runs", "total"), [("smoke", 3, 8), ("small", 10, 40), ("paper", 20, 80)])
    def test_additive_tasks_at_every_scale(self, sweep, scale, runs, total):
        configs = sweep(["experiment=addgp", f"scale={scale}", "benchmark=addgp6,addgp10"])
        assert len(configs) == 2 * 2 * runs
        assert {config["benchmark"]["total"] for config in configs} == {total, total * 5 // 4}
        groups = {(c["benchmark"]["name"], c["model"]["partitions"]["max_groups"]) for c in configs}
        assert groups == {("addgp6", 3), ("addgp10", 5)}

    @pytest.mark.parametrize(
        ("experiment", "task", "totals"),
        [
            *(
                ("saas_final", task, totals)
                for task, totals in (("lasso_dna", (12, 90, 150)), ("svm_ct", (8, 60, 100)))
            ),
            *(("pd1", task, (15, 63, 125)) for task in ("pd1_wmt", "pd1_lm1b", "pd1_cifar100")),
            ("addgp", "cosmology", (20, 100, 200)),
            ("svm_ct757", "svm_ct757", (8, 60, 100)),
            ("lcbench", "lcbench_167168", (15, 63, 125)),
        ],
    )
    def test_real_tasks_at_every_scale(self, sweep, experiment, task, totals):
        """They are composed without their data, which only the run itself needs."""
        for scale, total in zip(SCALES, totals, strict=True):
            config = sweep([f"experiment={experiment}", f"scale={scale}", f"benchmark={task}", "seed=1"])[0]
            assert (config["benchmark"]["name"], config["benchmark"]["total"]) == (task, total)

    def test_a_run_is_the_same_run_composed_by_hand(self, sweep):
        (config,) = sweep(["experiment=bo_regret", "scale=small", "benchmark=branin", "acquisition=nei_map", "seed=4"])
        hand = ["benchmark=branin", "acquisition=nei_map", "seed=4", "benchmark.total=50", "mcmc.num_features=2048"]
        assert run_id(config) == run_id(compose(hand))
        assert config["model"]["name"] == "map"
        (paper,) = sweep(["experiment=al_mll", "benchmark=higdon", "acquisition=bald", "seed=25"])
        assert identity_nodes(paper) == identity_nodes(compose(["benchmark=higdon", "acquisition=bald", "seed=25"]))

    def test_figures_share_their_runs_at_every_scale(self, sweep):
        for part, whole, task in (
            ("ishigami_hyperparameters", "al_mll", "ishigami"),
            ("gp8_hyperparameters_botorch", "gp8_regret", "gp8"),
        ):
            more = [f"benchmark={task}", "scale=smoke,small,paper", "seed=2"]
            ids = {name: {run_id(c) for c in sweep([f"experiment={name}", *more])} for name in (part, whole)}
            assert len(ids[part]) in (6, 15)
            assert ids[part] <= ids[whole]

    def test_several_experiments_at_once(self, sweep):
        configs = sweep(
            ["experiment=al_mll,al_rmse,sal_mc", "benchmark=gramacy1", "acquisition=sal_ws", "seed=1,2", "scale=smoke"]
        )
        assert who(configs) == [(seed, "gramacy1", "al_lognormal", "sal_ws") for seed in (1, 2)]

    def test_the_runs_of_the_demos_are_as_they_were(self, composer, sweep):
        for name, tasks, methods in (
            ("demo", ("gramacy1", "gramacy2"), ("qbmgp", "bqbc", "bald", "sal_ws", "sal_hr")),
            ("demo_bo", ("branin",), ("scorebo_hr", "nei", "jes", "mes")),
        ):
            more = ["benchmark.total=20"] + (["mcmc.num_features=2048"] if name == "demo_bo" else [])
            expected = [
                run_id(composer.compose([f"benchmark={task}", f"acquisition={method}", *more], [seed])[0])
                for seed in (1, 2, 3)
                for task in tasks
                for method in methods
            ]
            assert [run_id(config) for config in sweep([f"experiment={name}"])] == expected

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir, version
from hydra.core.global_hydra import GlobalHydra

import scorebo
from scorebo.config import available, compose, config_root, describe_choice, load_model
from scorebo.errors import InputError

BASE = ["benchmark=gramacy1", "acquisition=sal_hr"]


@pytest.mark.parametrize(("benchmark", "features"), [("hartmann6", 8192), ("gp8", 2048), ("gramacy1", None)])
def test_a_sampler_leaves_the_benchmarks_draws_and_optima_as_they_are(benchmark, features):
    nuts, sequential = (
        compose([f"benchmark={benchmark}", "acquisition=sal_hr", f"mcmc={sampler}"]).mcmc
        for sampler in ("nuts", "sequential")
    )
    assert nuts == compose([f"benchmark={benchmark}", "acquisition=sal_hr"]).mcmc
    assert nuts.num_features == sequential.num_features == features
    assert {name for name in sequential if name not in nuts or sequential[name] != nuts[name]} == {
        "sampler",
        "transitions",
        "refresh_every",
        "refresh_fraction",
    }


def test_benchmark_selects_model_and_mcmc_and_the_command_line_wins():
    config = compose(BASE)
    assert config.model.name == "al_lognormal"
    assert (config.mcmc.warmup, config.mcmc.thinning, config.mcmc.num_mcmc_samples) == (256, 16, 16)
    assert config.mcmc.sampler == "nuts"
    config = compose([*BASE, "model=botorch", "mcmc.warmup=8", "benchmark.total=9", "benchmark.noise_std=0.5"])
    assert config.model.name == "botorch"
    assert (config.mcmc.warmup, config.benchmark.total, config.benchmark.noise_std) == (8, 9, 0.5)


def test_the_paper_s_optimizer_numbers():
    optimizer = compose(BASE).acquisition_optimizer
    numbers = {"raw_samples": 1024, "num_restarts": 20, "maxiter": 100, "sample_around_best_sigma": 0.1}
    assert dict(optimizer) == numbers | {"version": 3}


def test_model_named_like_a_truth_value():
    config = compose([*BASE, "model=true", "model.lengthscale=[0.2]"])
    assert config.model.name == "true"
    assert load_model(config.model).lengthscale == [0.2]


def test_experiment_changes_the_run_and_the_command_line_wins():
    assert compose([*BASE, "experiment=demo"]).benchmark.total == 20
    assert compose([*BASE, "experiment=demo", "benchmark.total=7"]).benchmark.total == 7
    assert compose([*BASE, "experiment=al_mll"]).benchmark.total == 50


@pytest.mark.parametrize("name", ["al_mll", "al_rmse", "demo"])
def test_experiments_name_what_exists(name):
    experiment = compose([*BASE, f"experiment={name}"]).experiment
    assert experiment.name == name
    assert set(experiment.benchmarks) <= set(available("benchmark"))
    assert set(experiment.acquisitions) <= set(available("acquisition"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["acquisition=sal_hr"], "No benchmark given: benchmark=NAME with one of"),
        (["benchmark=gramacy1"], "No acquisition given"),
        (["benchmark=gramacy", "acquisition=sal_hr"], "Unknown benchmark 'gramacy'. Did you mean gramacy2 or gramacy1"),
        (["benchmark=gramacy1", "acquisition=sal_hh"], "Unknown acquisition 'sal_hh'. Did you mean sal_hr"),
        ([*BASE, "model=al_normal"], "Unknown model 'al_normal'. Did you mean al_lognormal"),
        ([*BASE, "seed=-1"], "seed must be a whole number of at least 0, got -1"),
        ([*BASE, "seed=one"], "seed must be a whole number of at least 0, got 'one'"),
        ([*BASE, "seed=1.5"], "seed must be a whole number"),
        ([*BASE, "threads=0"], "threads must be a whole number of at least 1"),
        ([*BASE, "metrics_every=0"], "metrics_every must be a whole number of at least 1"),
        ([*BASE, "mcmc.num_mcmc_samples=0"], "mcmc.num_mcmc_samples must be a whole number of at least 1"),
        ([*BASE, "mcmc.thinning=0"], "mcmc.thinning must be a whole number of at least 1"),
        ([*BASE, "mcmc.sampler=hmc"], "Unknown sampler 'hmc'. Allowed: map, nuts, pyro, sequential"),
        ([*BASE, "mcmc=hmc"], "Unknown mcmc 'hmc'. Allowed: nuts, pyro, sequential"),
        ([*BASE, "mcmc=sequential", "mcmc.transitions=0"], "transitions must be a whole number of at least 1"),
        ([*BASE, "mcmc=sequential", "mcmc.refresh_every=0"], "refresh_every must be a whole number of at least 1"),
        ([*BASE, "mcmc=sequential", "mcmc.refresh_fraction=-1"], "refresh_fraction must be a finite number"),
        ([*BASE, "mcmc/draws=many"], "Unknown mcmc/draws 'many'. Allowed: active_learning"),
        ([*BASE, "mcmc.num_optima=0"], "mcmc.num_optima must be a whole number of at least 1"),
        (
            [*BASE, "acquisition_optimizer.num_restarts=0"],
            "acquisition_optimizer.num_restarts must be a whole number of at least 1",
        ),
        ([*BASE, "results="], "results must be the path of a folder"),
        ([*BASE, "benchmark.totl=3"], "Unknown setting in 'benchmark' 'totl'. Did you mean total"),
        ([*BASE, "sed=3"], "Unknown setting in 'the configuration' 'sed'. Did you mean seed"),
        ([*BASE, "seed"], "Cannot read 'seed': a setting is given as NAME=VALUE"),
        ([*BASE, "model=true"], "No value for model.lengthscale"),
        ([*BASE, "model=null"], "Unknown model 'null'. Allowed: additive, al_lognormal"),
    ],
)
def test_bad_overrides_are_explained(overrides, message):
    with pytest.raises(InputError, match=message):
        compose(overrides)


def test_config_dir_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        compose(BASE, tmp_path / "nowhere")


def test_mistakes_beside_users_own_configs(tmp_path):
    (tmp_path / "benchmark").mkdir()
    path = tmp_path / "benchmark" / "mine.yaml"
    path.write_text("_target_: scorebo.benchmarks.Gramacy1\nnoise_std: 0.1\ninitial: 2\ntotal: 5\n")
    with pytest.raises(InputError, match="Unknown setting in 'benchmark' 'totl'"):
        compose(["benchmark=mine", "acquisition=random", "benchmark.totl=7"], tmp_path)
    path.write_text("total: [1\n")
    with pytest.raises(InputError, match="not valid YAML"):
        compose(["benchmark=mine", "acquisition=random"], tmp_path)
    path.rename(path.with_name("gramacy1.yaml"))
    with pytest.raises(InputError, match="has the name of one of the project's own configs"):
        compose(["benchmark=gramacy1", "acquisition=random"], tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        available("benchmark", tmp_path / "nowhere")


def test_users_own_configs_are_found_and_get_their_names(tmp_path):
    (tmp_path / "acquisition").mkdir()
    path = tmp_path / "acquisition" / "mine.yaml"
    path.write_text("# The most curious of all.\n_target_: scorebo.acquisition.SAL\n")
    config = compose(["benchmark=gramacy1", "acquisition=mine"], tmp_path)
    assert config.acquisition.name == "mine"
    assert "mine" in available("acquisition", tmp_path)
    assert describe_choice("acquisition", "mine", tmp_path) == "The most curious of all."


def test_load_benchmark_takes_overrides():
    task = scorebo.load_benchmark("gramacy1", noise_std=0.7, total=9)
    assert (task.name, task.noise_std, task.total, task.initial) == ("gramacy1", 0.7, 9, 2)
    with pytest.raises(InputError, match="Unknown benchmark 'gramacy3'"):
        scorebo.load_benchmark("gramacy3")
    with pytest.raises(InputError, match="Unknown setting of benchmark 'gramacy1' 'noise'"):
        scorebo.load_benchmark("gramacy1", noise=0.7)
    with pytest.raises(InputError, match="noise_std"):
        scorebo.load_benchmark("gramacy1", noise_std=-1.0)


def test_callers_hydra_state_is_left_alone():
    assert not GlobalHydra.instance().is_initialized()
    compose(BASE)
    assert not GlobalHydra.instance().is_initialized()
    with initialize_config_dir(str(config_root() / "model"), version_base="1.2"):
        assert compose(BASE).model.name == "al_lognormal"
        assert hydra_compose("botorch").name == "botorch"
        assert str(version.getbase()) == "1.2"


@pytest.mark.parametrize("group", ["benchmark", "model", "acquisition"])
def test_every_config_says_what_it_is_and_carries_its_name(group):
    for name in available(group):
        assert len(describe_choice(group, name)) > 10, f"{group}/{name}.yaml has no describing comment"
    for name in set(available(group)) - {"true"}:
        overrides = [o for o in BASE if not o.startswith(group)] + [f"{group}={name}"]
        # How many groups there may be is the task's to say, or the user's.
        overrides += ["model.partitions.max_groups=1"] if name == "additive" else []
        assert compose(overrides)[group].name == name


@pytest.mark.parametrize(
    ("benchmark", "draws", "changed"),
    [
        ("ishigami", "active_learning", {"warmup": 128}),
        ("branin", "synthetic_bo", {"warmup": 128}),
        ("gp8", "gp_samples", {"warmup": 128}),
        ("pd1_wmt", "warped", {"warmup": 96}),
        ("addgp6", "additive", {"warmup": 128, "thinning": 8}),
    ],
)
def test_draws_of_the_released_code_differ_from_the_papers_in_what_it_says(benchmark, draws, changed):
    paper = compose([f"benchmark={benchmark}", "acquisition=nei"]).mcmc
    released = compose([f"benchmark={benchmark}", "acquisition=nei", f"mcmc/draws=released_{draws}"]).mcmc
    assert released == {**paper, **changed} != paper


def test_departures_of_the_released_code_compose_with_any_sampler_and_distance(tmp_path):
    settings = ["acquisition.marginal_variance=mean", "acquisition.observation_noise=false"]
    config = compose([*BASE, "acquisition=sal_ws", "acquisition.distance=reverse_kl", *settings, "mcmc=pyro"])
    assert (config.acquisition.marginal_variance, config.acquisition.observation_noise) == ("mean", False)
    assert (config.mcmc.sampler, config.mcmc.max_tree_depth) == ("pyro", 6)

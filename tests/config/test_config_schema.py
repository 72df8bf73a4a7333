"""The configuration is typed once: the checks, the allowed names and the completion follow from the types."""

import inspect
from typing import get_type_hints

import pytest
from omegaconf import OmegaConf

from scorebo.acquisition import maximize
from scorebo.config import as_dict, compose, config_root, sampler_settings
from scorebo.config.choices import GROUPS
from scorebo.config.compose_many import Composer
from scorebo.config.schema import TOP_LEVEL, AcquisitionOptimizer, Mcmc, RunConfig, check_config
from scorebo.errors import InputError
from scorebo.inference.samplers import SAMPLERS

BASE = ["benchmark=gramacy1", "acquisition=sal_hr"]


def settings(kind):
    return set(get_type_hints(kind))


def test_the_type_has_every_setting_of_the_configs_and_no_other():
    files = OmegaConf.load(config_root() / "config.yaml")
    assert {*files, *(group for group in GROUPS if "/" not in group)} - {"defaults", "hydra"} == set(TOP_LEVEL)
    assert settings(RunConfig) == set(TOP_LEVEL)
    for sampler in ("nuts", "sequential"):
        mcmc = compose([*BASE, f"mcmc={sampler}"]).mcmc
        own = set(inspect.signature(SAMPLERS[sampler]).parameters)
        assert {*mcmc, "version"} == settings(Mcmc) | own | {"sampler"}
    optimizer = compose(BASE).acquisition_optimizer
    assert {*optimizer, "version"} == settings(AcquisitionOptimizer)
    assert set(optimizer) - {"version"} <= set(inspect.signature(maximize).parameters)


def test_what_is_not_the_samplers():
    mcmc = as_dict(compose([*BASE, "mcmc=sequential", "+mcmc.version=2"]).mcmc)
    assert mcmc.keys() - sampler_settings(mcmc).keys() == {"num_optima", "num_features", "version"}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("mcmc.target_acceptance=0", "target_acceptance must be a finite number above 0 and below 1, got 0"),
        ("mcmc.target_acceptance=1.0", "above 0 and below 1, got 1.0"),
        ("mcmc.warmup=null", "mcmc.warmup must be a whole number of at least 1, got None"),
        ("mcmc.warmup=true", "got True"),
        ("+mcmc.transition=6", "Unknown setting of sampler 'nuts' 'transition'. Allowed: max_tree_depth"),
        (
            "+acquisition_optimizer.restarts=6",
            "Unknown setting in 'acquisition_optimizer' 'restarts'. Did you mean num",
        ),
        ("+mcmc.version=0", "mcmc.version must be a whole number of at least 1"),
        ("on_failure=ignore", "Unknown on_failure 'ignore'. Allowed: avoid, stop"),
        ("threads=null", "threads must be a whole number"),
        ("launcher.memory=3", "Unknown setting in 'launcher' 'memory'"),
        ("++benchmark.display=blue", "benchmark.display must be a node of settings"),
    ],
)
def test_values_and_names(override, message):
    with pytest.raises(InputError, match=message):
        compose([*BASE, override])


@pytest.mark.parametrize("override", ["workers=null", "mcmc.num_optima=null", "mcmc.num_features=null"])
def test_what_may_be_null(override):
    check_config(compose([*BASE, override]))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("mcmc.warmup.more=3", "mcmc.warmup is one value and has no settings of its own: give mcmc.warmup=VALUE"),
        ("mcmc.warm.more=3", "Unknown setting in 'mcmc' 'warm'. Did you mean warmup"),
        ("model.lengthscale.variants=1", "Unknown setting in 'model.lengthscale' 'variants'. Did you mean variance"),
        ("experiments=al_mll", "Unknown setting in 'the configuration' 'experiments'. Did you mean experiment"),
    ],
)
def test_a_setting_that_does_not_exist_is_told_with_those_that_do(override, message):
    """Also where another setting is wrong as well: nothing is composed a second time."""
    for more in ([], ["mcmc.thinning=0"]):
        with pytest.raises(InputError, match=message):
            compose([*BASE, override, *more])


def test_the_display_of_an_acquisition_is_checked_in_a_sweep_too(tmp_path):
    (tmp_path / "acquisition").mkdir()
    (tmp_path / "acquisition" / "mine.yaml").write_text(
        "name: mine\n_target_: scorebo.acquisition.SAL\ndisplay: {color: blue}\n"
    )
    overrides = ["benchmark=gramacy1", "acquisition=mine"]
    for composed in (lambda: compose(overrides, tmp_path), lambda: Composer(tmp_path).compose(overrides, [1, 2])):
        with pytest.raises(InputError, match=r"acquisition\.display\.color must be a color"):
            composed()

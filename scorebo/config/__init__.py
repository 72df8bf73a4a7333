"""Configuration: composed by Hydra, checked, instantiated by `_target_`; grammar of sweeps, scale of experiments."""

from scorebo.config.choices import available, config_file, config_root, describe_choice
from scorebo.config.composition import as_dict, compose
from scorebo.config.instantiate import instantiate, load_benchmark, load_model
from scorebo.config.schema import sampler_settings

__all__ = ["as_dict", "available", "compose", "config_file", "config_root", "describe_choice"]
__all__ += ["instantiate", "load_benchmark", "load_model", "sampler_settings"]

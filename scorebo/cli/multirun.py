"""Hydra's own multirun: `scorebo run -m …` or `python -m scorebo -m …`, with any of Hydra's launchers.

The runs, their ids and folders are those of `scorebo run` and `scorebo sweep`; what a sweep adds (freezing, packing,
status of what is queued, retry) it lacks: Hydra's launchers stay until all runs have ended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from omegaconf import DictConfig

from scorebo.config import as_dict, config_root
from scorebo.config.composition import resolve, without_hydra
from scorebo.config.overrides import check_one_run, check_scale, key_of, of_experiment
from scorebo.config.scale import apply_scale
from scorebo.errors import InputError


def run(config: DictConfig) -> None:
    """One run of the multirun; under a SLURM launcher in a job of its own."""
    from hydra.core.hydra_config import HydraConfig

    from scorebo.threads import limit_threads

    hydra = HydraConfig.get()
    config = without_hydra(config, hydra.runtime.choices)
    given = list(hydra.overrides.task)
    apply_scale(config, set(map(key_of, given)))
    resolved = as_dict(resolve(config))
    check_scale(given, [resolved])
    limit_threads(resolved["threads"])
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    from scorebo.run.loop import execute

    execute(resolved)


def main(arguments: Sequence[str]) -> None:
    """Hand the command line to Hydra; refuse what it would leave without effect."""
    import hydra

    for argument in arguments:
        if of_experiment(argument):
            raise InputError(
                f"Hydra's own multirun does not read {argument}: use `scorebo sweep`, or give the setting itself, "
                "e.g. benchmark.total=20."
            )
    check_one_run(arguments)
    sys.argv = [sys.argv[0], *arguments]
    # Not as a decorator: launchers pickle `run` by its name.
    hydra.main(version_base="1.3", config_path=str(config_root()), config_name="config")(run)()

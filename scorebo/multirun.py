"""Hydra's own multirun: `scorebo run -m …` or `python -m scorebo -m …`, with any of Hydra's launchers.

The runs, their ids and folders are those of `scorebo run` and `scorebo sweep`; what a sweep adds (freezing, packing,
status of what is queued, retry) it lacks: Hydra's launchers stay until all runs have ended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from omegaconf import DictConfig

from scorebo.config import as_dict, config_root, resolve, without_hydra
from scorebo.scales import apply_scale


def run(config: DictConfig) -> None:
    """One run of the multirun; under a SLURM launcher in a job of its own."""
    from hydra.core.hydra_config import HydraConfig

    from scorebo.threads import limit_threads

    hydra = HydraConfig.get()
    config = without_hydra(config, hydra.runtime.choices)
    apply_scale(config, {override.lstrip("+").partition("=")[0] for override in hydra.overrides.task})
    resolved = as_dict(resolve(config))
    limit_threads(resolved["threads"])
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    from scorebo.loop import execute

    execute(resolved)


def main(arguments: Sequence[str]) -> None:
    """Hand the command line, from `-m` on, to Hydra."""
    import hydra

    sys.argv = [sys.argv[0], *arguments]
    # Not as a decorator: launchers pickle `run` by its name.
    hydra.main(version_base="1.3", config_path=str(config_root()), config_name="config")(run)()

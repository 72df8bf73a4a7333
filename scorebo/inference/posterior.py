"""Sets drawn from nothing but the data: one chain of a sampler, tried again when it fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorebo.gp import LogDensity
from scorebo.inference import maximum, nuts, pyro_nuts
from scorebo.inference.diagnostics import Chain
from scorebo.seeds import derive

logger = logging.getLogger(__name__)

SAMPLERS: dict[str, Callable[..., Chain]] = {"nuts": nuts.sample, "pyro": pyro_nuts.sample}
ATTEMPTS = 3
PRIOR_DRAWS_FOR_START = 32


@dataclass(frozen=True)
class ChainSettings:
    """How one chain is drawn and thinned; None leaves a choice to the sampler."""

    warmup: int
    thinning: int
    num_mcmc_samples: int
    max_tree_depth: int | None = None
    target_acceptance: float | None = None


@dataclass(frozen=True)
class ColdDraws:
    """The sets `M x dim` kept of a chain; after a sampler that kept failing there is a fallback instead of a chain.

    `retry_reason`: what was wrong with the chains that failed, each reason once.
    """

    theta: np.ndarray
    chain: Chain | None
    retries: int
    fallback: str | None = None
    retry_reason: str | None = None


def draw(density: LogDensity, sampler: str, settings: ChainSettings, seed: int) -> ColdDraws:
    """Every `thinning`-th draw of one chain."""
    problems: dict[str, None] = {}  # in the order of the attempts
    for attempt in range(ATTEMPTS):
        try:
            chain = SAMPLERS[sampler](
                density,
                start(density, seed, attempt),
                seed=derive(sampler, seed, attempt) >> 1,
                warmup=settings.warmup,
                draws=settings.thinning * settings.num_mcmc_samples,
                max_tree_depth=settings.max_tree_depth,
                target_acceptance=settings.target_acceptance,
            )
            problem = chain.failure
        except (RuntimeError, ArithmeticError) as error:
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        if problem is None:
            kept = chain.theta[settings.thinning - 1 :: settings.thinning]
            return ColdDraws(kept, chain, retries=attempt, retry_reason="; ".join(problems) or None)
        problems[problem] = None
        logger.warning("Sampler %s, attempt %d of %d failed: %s.", sampler, attempt + 1, ATTEMPTS, problem)
    logger.warning("Sampler %s failed %d times: the sets are Laplace draws around the maximum.", sampler, ATTEMPTS)
    theta = maximum.laplace_draws(density, size=settings.num_mcmc_samples, seed=derive("laplace", seed))
    return ColdDraws(theta, None, retries=ATTEMPTS, fallback="laplace", retry_reason="; ".join(problems))


def start(density: LogDensity, seed: int, attempt: int = 0) -> np.ndarray:
    """Where a chain begins: the best of some prior draws; on the last attempt the maximum of the density."""
    if attempt == ATTEMPTS - 1:
        return maximum.maximize(density, noise_lower_bound=0.0, seed=derive("start", seed, attempt))
    draws = density.sample_prior(np.random.default_rng(derive("start", seed, attempt)), PRIOR_DRAWS_FOR_START)
    return draws[int(np.argmax([density(theta)[0] for theta in draws]))]

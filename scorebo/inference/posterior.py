"""Samples from nothing but the data: one chain of a sampler, tried again when it fails."""

from __future__ import annotations

import logging

import numpy as np

from scorebo.gp import LogDensity
from scorebo.inference import maximum
from scorebo.inference.base import ChainSampler, Samples
from scorebo.seeds import derive

logger = logging.getLogger(__name__)

ATTEMPTS = 3
PRIOR_DRAWS_FOR_START = 32


def draw(density: LogDensity, sampler: ChainSampler, num_samples: int, seed: int) -> Samples:
    """Every `thinning`-th draw of one chain; Laplace draws without a chain after a sampler that kept failing.

    `retry_reason`, among the diagnostics: what was wrong with the chains that failed, each reason once.
    """
    problems: dict[str, None] = {}  # in the order of the attempts
    for attempt in range(ATTEMPTS):
        try:
            chain = sampler.chain(
                density,
                start(density, seed, attempt),
                draws=sampler.thinning * num_samples,
                seed=derive(sampler.name, seed, attempt) >> 1,
            )
            problem = chain.failure
        except (RuntimeError, ArithmeticError) as error:
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        if problem is None:
            told = {"retries": attempt, "retry_reason": "; ".join(problems) or None}
            return Samples(chain.theta[sampler.thinning - 1 :: sampler.thinning], chain, diagnostics=told)
        problems[problem] = None
        logger.warning("Sampler %s, attempt %d of %d failed: %s.", sampler.name, attempt + 1, ATTEMPTS, problem)
    logger.warning("Sampler %s failed %d times: the sets are Laplace draws around the maximum.", sampler.name, ATTEMPTS)
    theta = maximum.laplace_draws(density, size=num_samples, seed=derive("laplace", seed))
    told = {"retries": ATTEMPTS, "retry_reason": "; ".join(problems), "fallback": "laplace"}
    return Samples(theta, diagnostics=told)


def start(density: LogDensity, seed: int, attempt: int = 0) -> np.ndarray:
    """Where a chain begins: the best of some prior draws; on the last attempt the maximum of the density."""
    if attempt == ATTEMPTS - 1:
        return maximum.maximize(density, noise_lower_bound=0.0, seed=derive("start", seed, attempt))
    draws = density.sample_prior(np.random.default_rng(derive("start", seed, attempt)), PRIOR_DRAWS_FOR_START)
    return draws[int(np.argmax([density(theta)[0] for theta in draws]))]

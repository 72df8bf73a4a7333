"""Noisy expected improvement: BoTorch's own, on the ensemble.

Letham, Karrer, Ottoni, Bakshy. Constrained Bayesian optimization with noisy experiments. Bayesian Analysis 2019.
Ament, Daulton, Eriksson, Balandat, Bakshy. Unexpected improvements to expected improvement. NeurIPS 2023.
"""

from __future__ import annotations

import warnings

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.monte_carlo import qNoisyExpectedImprovement
from botorch.exceptions.warnings import NumericsWarning
from botorch.models.model import Model
from botorch.sampling.normal import SobolQMCNormalSampler

from scorebo.errors import InputError, check_integer


def noisy_expected_improvement(
    model: Model, log: bool = True, num_samples: int = 256, seed: int = 0
) -> AcquisitionFunction:
    """Expected improvement over the unknown best of the observed points, averaged over the sets.

    Args:
        model: the ensemble.
        log: the logarithm, numerically better and with the same maximiser (averaged over the sets as EI).
        num_samples: quasi-Monte Carlo samples of the observed points' values.
        seed: of the samples; the global random state, which BoTorch's pruning uses, is left as it was.
    """
    if not isinstance(log, bool):
        raise InputError(f"log must be true or false, got {log!r}.")
    check_integer("num_samples", num_samples, 1)
    kind = qLogNoisyExpectedImprovement if log else qNoisyExpectedImprovement
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        # BoTorch advises against the plain form; who asks for it wants the paper's.
        warnings.simplefilter("ignore", NumericsWarning)
        torch.manual_seed(seed)
        return kind(
            model,
            X_baseline=model.train_X,
            sampler=SobolQMCNormalSampler(torch.Size([num_samples]), seed=seed % 2**32),
            prune_baseline=True,
        )

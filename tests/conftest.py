"""Shared by all tests: one thread, as in runs, set before the numerical libraries load."""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import pytest
import torch

from scorebo.gp import RBF, Additive, FullyBayesianGP, Kernel, Matern52, Warped
from tests import real_data as data


@pytest.fixture(autouse=True)
def _global_random_state():
    """No test depends on the global random state that another one left."""
    torch.manual_seed(20231210)
    before = torch.get_rng_state()
    yield
    torch.set_rng_state(before)


@pytest.fixture
def real_data(monkeypatch):
    """The folder with the data of the real tasks, set as the one they are looked for in."""
    folder = data.folder()
    if folder is None:
        pytest.skip("The data of the real tasks are not here: set SCOREBO_DATA to their folder.")
    monkeypatch.setenv("SCOREBO_DATA", str(folder))
    return folder


def random_ensemble(seed: int, *, n: int = 12, dim: int = 2, num_mcmc_samples: int = 4, kernel: str = "matern52"):
    """An ensemble with hyperparameters spread over a plausible range, on data of its own first set's scale."""
    rng = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=rng, dtype=torch.float64)

    X = uniform(n, dim)
    Y = torch.sin(5.0 * X.sum(-1)) + 0.1 * torch.randn(n, generator=rng, dtype=torch.float64)
    return FullyBayesianGP(
        X,
        (Y - Y.mean()) / Y.std(),
        lengthscale=0.1 + uniform(num_mcmc_samples, dim),
        outputscale=0.3 + 2.0 * uniform(num_mcmc_samples),
        noise=0.01 + 0.2 * uniform(num_mcmc_samples),
        mean=uniform(num_mcmc_samples) - 0.5,
        kernel=kernel,
    )


def additive_ensemble(seed: int, *, n: int = 12, dim: int = 4, num_mcmc_samples: int = 3) -> FullyBayesianGP:
    """Such an ensemble under a sum over groups of inputs, the sets with one group, two, three …"""
    plain = random_ensemble(seed, n=n, dim=dim, num_mcmc_samples=num_mcmc_samples)
    partitions = tuple(tuple(1 + d % (1 + m % dim) for d in range(dim)) for m in range(num_mcmc_samples))
    return _with_kernel(plain, Additive(RBF(), partitions))


def warped_ensemble(seed: int, *, n: int = 12, dim: int = 2, num_mcmc_samples: int = 4) -> FullyBayesianGP:
    """Such an ensemble with warped inputs."""
    plain = random_ensemble(seed, n=n, dim=dim, num_mcmc_samples=num_mcmc_samples)
    rng = torch.Generator().manual_seed(seed)
    first, second = (0.3 * torch.randn(2, num_mcmc_samples, dim, generator=rng, dtype=torch.float64)).exp()
    return _with_kernel(plain, Warped(Matern52(), first, second))


def _with_kernel(model: FullyBayesianGP, kernel: Kernel) -> FullyBayesianGP:
    sets = {name: getattr(model, name) for name in ("lengthscale", "outputscale", "noise", "mean")}
    return FullyBayesianGP(model.train_X, model.train_Y, kernel=kernel, **sets)

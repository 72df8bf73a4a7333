"""Time of the log density of θ with its gradient, beside the same by GPyTorch's kernel and automatic differentiation.

`python scripts/speed/density_speed.py`; `--model saas` takes another surrogate. Each time is the least of many
short repeats on one core, ours and the peer's in turn, so that a busy machine disturbs both alike. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial

from scorebo.threads import limit_threads

limit_threads(1)

import gpytorch  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from scorebo.config import load_model  # noqa: E402
from scorebo.gp import LogDensity, Surrogate  # noqa: E402
from scorebo.gp.kernels import Matern52, as_kernel  # noqa: E402
from scorebo.gp.priors import Prior  # noqa: E402
from scorebo.gp.warping import MARGIN  # noqa: E402

# n, D, and the most microseconds there may be.
CASES = (
    *((20, 6, 6), (50, 6, 30), (100, 6, 130), (150, 6, 400), (200, 6, 750)),
    *((100, 25, 150), (100, 180, 400), (100, 388, 800)),
)
SLICE = 5e-4  # seconds of one repeat, about


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--model", default="bo_lognormal")
    parser.add_argument("--kernel", default="matern52")
    options = parser.parse_args()
    surrogate = load_model(options.model, kernel=options.kernel)
    print("| n | D | µs | at most | autograd, µs | ratio |\n|---|---|---|---|---|---|")
    for n, dim, bar in CASES:
        rng = np.random.default_rng(n)
        X = rng.random((n, dim))
        y = np.sin(4.0 * X[:, 0]) + 0.2 * rng.standard_normal(n)
        density = LogDensity(X, (y - y.mean()) / y.std(), surrogate)
        theta = 0.3 * rng.standard_normal(density.dim)
        ours, peer = least(
            partial(_ours, density, theta), partial(_peer, X, y, surrogate, theta), repeats=options.repeats
        )
        print(f"| {n} | {dim} | {ours:.1f} | {bar} | {peer:.0f} | {peer / ours:.0f} |", flush=True)


def _ours(density: LogDensity, theta: np.ndarray, count: int) -> None:
    density.batch(np.tile(theta, (count, 1)))


def _peer(X: np.ndarray, y: np.ndarray, surrogate: Surrogate, theta: np.ndarray, count: int) -> None:
    for _ in range(count):
        by_autograd(X, y, surrogate, theta)


def least(ours: Callable[[int], None], peer: Callable[[int], None], *, repeats: int) -> tuple[float, float]:
    """The least microseconds of one call of each, both called in turn; the peer is called a tenth as often."""
    calls = {}
    for function in (ours, peer):
        function(1)
        began = time.perf_counter()
        function(10)
        calls[function] = max(1, round(10 * SLICE / (time.perf_counter() - began)))
    best = dict.fromkeys(calls, np.inf)
    for repeat in range(repeats):
        for function, count in calls.items():
            if function is peer and repeat % 10:
                continue
            began = time.perf_counter()
            function(count)
            best[function] = min(best[function], (time.perf_counter() - began) / count)
    return 1e6 * best[ours], 1e6 * best[peer]


def by_autograd(
    X: np.ndarray,
    y: np.ndarray,
    surrogate: Surrogate,
    theta: np.ndarray,
    *,
    of_logarithms: bool = True,
    noise_floor: float | None = None,
    labels: Sequence[int] | None = None,
) -> tuple[float, np.ndarray]:
    """Log density and gradient from GPyTorch's kernels, torch's normal distribution and automatic differentiation."""
    points, outputs = torch.from_numpy(X), torch.from_numpy(y)
    u = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
    dim = X.shape[1]
    total = torch.zeros((), dtype=torch.float64)
    known = torch.from_numpy(surrogate.known_parameters(dim))
    weights = torch.zeros(len(known), len(theta), dtype=torch.float64)
    same: dict[Prior, list[int]] = {}
    for position, coordinate in enumerate(surrogate.coordinates(dim)):
        same.setdefault(coordinate.prior, []).append(position)
        weights[coordinate.first : coordinate.last, position] = coordinate.weight
    for prior, positions in same.items():
        own = u[positions]
        total = total + prior.log_prob(own.exp() if prior.positive else own).sum()
        if prior.positive and of_logarithms:
            total = total + own.sum()
    parameters = known + weights @ u
    if surrogate.concentration is not None:
        first, second = parameters[dim + 3 :].exp().split(dim)
        points = 1.0 - (1.0 - (MARGIN + (1.0 - 2.0 * MARGIN) * points) ** second) ** first
    rough = isinstance(as_kernel(surrogate.kernel), Matern52)
    kernel = (gpytorch.kernels.MaternKernel(nu=2.5) if rough else gpytorch.kernels.RBFKernel()).double()
    kernel.lengthscale = 1.0
    scaled = points / parameters[:dim].exp()
    noise = parameters[dim + 1].exp() + (surrogate.noise_floor if noise_floor is None else noise_floor)
    covariance = noise * torch.eye(len(X), dtype=torch.float64)
    owners = torch.zeros(dim) if labels is None else torch.tensor(labels)
    for group in owners.unique():
        own = scaled[:, owners == group]
        covariance = covariance + parameters[dim].exp() * kernel(own, own).to_dense()
    mean = parameters[dim + 2].expand(len(X))
    total = total + torch.distributions.MultivariateNormal(mean, covariance).log_prob(outputs)
    total.backward()
    assert u.grad is not None
    return float(total.detach()), u.grad.numpy()


if __name__ == "__main__":
    main()

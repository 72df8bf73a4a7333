"""The explanatory figures, from small one-dimensional fits with fixed seeds: how SAL and SCoreBO add up over sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scorebo.report.small_fits import GRID, distances_per_set, grid, small_fit

if TYPE_CHECKING:
    from scorebo.gp import FullyBayesianGP

COLORS = ("#0072B2", "#D55E00", "#009E73")
GRAY = "#777777"
X = np.linspace(0.0, 1.0, GRID)  # `grid`
EXAMPLE = 15  # the fit shown by the first two: its sets explain the data in different ways
NUM_OPTIMA = 2
# Of twenty fits, one where moment matching is 6 % off on average (Hellinger), and one with 19 % where the mixture has
# several modes and the shape is lost for one set.
CASES = {"A good case": 7, "A poor case": 1}


def sal(_: Any = None) -> Figure:
    """The mixture, the three GPs it is made of, and what each adds to SAL-HR."""
    model = small_fit(EXAMPLE)
    figure, axes = _rows(model.num_mcmc_samples + 1)
    _mixture(axes[0], model)
    near, _, _ = distances_per_set(model, "hellinger")
    mean, variance = _marginals(model)
    for m in range(model.num_mcmc_samples):
        _one(axes[m + 1, 0], model, mean[:, m], variance[:, m], COLORS[m], f"GP {m + 1}")
        _share(axes[m + 1, 1], near[:, m].numpy(), COLORS[m])
    _total(axes[0, 1], near.mean(dim=1).numpy(), "SAL-HR, the mean of the shares below")
    return figure


def scorebo(_: Any = None) -> Figure:
    """The same, each GP conditioned on two of its optima."""
    import torch

    from scorebo.acquisition import SCoreBO
    from scorebo.optima import sample_optima
    from scorebo.search.box import unit_box

    model = small_fit(EXAMPLE)
    inputs, outputs = sample_optima(model, unit_box(1), num_optima=NUM_OPTIMA, seed=1)
    acquisition = SCoreBO(model, inputs, outputs)
    points = grid()
    with torch.no_grad():
        shares = acquisition.per_optimum(points, acquisition.levels)  # N x M x b
        mean, variance = acquisition.conditional_moments(points)
    figure, axes = _rows(model.num_mcmc_samples + 1)
    _mixture(axes[0], model)
    for m in range(model.num_mcmc_samples):
        for n in range(NUM_OPTIMA):
            style = "-" if n == 0 else "--"
            words = f"GP {m + 1} given its first (solid) or second optimum"
            _one(axes[m + 1, 0], model, mean[n, m].numpy(), variance[n, m].numpy(), COLORS[m], words, style)
            axes[m + 1, 0].plot(float(inputs[n, m, 0]), float(outputs[n, m, 0]), "*", color=COLORS[m], markersize=6)
            _share(axes[m + 1, 1], shares[n, m].numpy(), COLORS[m], style)
    _total(axes[0, 1], shares.mean(dim=(0, 1)).numpy(), "SCoreBO-HR, the mean of the shares below")
    return figure


def moment_matching(_: Any = None, *, distance: str) -> Figure:
    """Each set's distance by moment matching (solid) and exactly (dashed): a good and a poor case side by side."""
    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    axes = figure.subplots(4, 2, sharex=True, squeeze=False)
    for column, (words, seed) in enumerate(CASES.items()):
        model = small_fit(seed)
        near, exact, _ = (part.numpy() for part in distances_per_set(model, distance))
        mean, variance = _marginals(model)
        for m in range(model.num_mcmc_samples):
            _posterior(axes[0, column], mean[:, m], variance[:, m], COLORS[m], 0.12)
            axes[m + 1, column].plot(X, near[:, m], color=COLORS[m], label="Moment matching")
            axes[m + 1, column].plot(X, exact[:, m], color=COLORS[m], linestyle="--", label="Exact")
            _from_zero(axes[m + 1, column])
            axes[m + 1, 0].set_ylabel(f"{distance.capitalize()},\nset {m + 1}")
        _data(axes[0, column], model)
        axes[0, column].set_title(words)
        axes[-1, column].set_xlabel("x")
    axes[0, 0].set_ylabel("Posterior of each set")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.align_ylabels(axes[:, 0])
    return figure


def _rows(count: int) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(7.2, 1.25 * count), layout="constrained")
    axes = figure.subplots(count, 2, sharex=True, squeeze=False)
    for axis in axes[-1]:
        axis.set_xlabel("x")
    return figure, axes


def _marginals(model: FullyBayesianGP) -> tuple[np.ndarray, np.ndarray]:
    """Each set's mean and variance at the grid."""
    mean, variance = model.marginals(grid(), observation_noise=True)
    return mean.detach().numpy(), variance.detach().numpy()


def _data(axes: Axes, model: FullyBayesianGP) -> None:
    axes.plot(model.train_X.numpy()[:, 0], model.train_Y.numpy()[:, 0], "o", color="black", markersize=3, zorder=3)


def _mixture(axes: np.ndarray, model: FullyBayesianGP) -> None:
    mean, variance = _marginals(model)
    total = variance.mean(axis=1) + mean.var(axis=1)
    _one(axes[0], model, mean.mean(axis=1), total, GRAY, "Mixture of all sets, moments matched")


def _one(
    axes: Axes, model: FullyBayesianGP, mean: np.ndarray, variance: np.ndarray, color: str, words: str, style: str = "-"
) -> None:
    _posterior(axes, mean, variance, color, 0.15, style)
    _data(axes, model)
    axes.set_title(words)
    axes.set_ylabel("y")


def _posterior(axes: Axes, mean: np.ndarray, variance: np.ndarray, color: str, alpha: float, style: str = "-") -> None:
    spread = 2.0 * np.sqrt(variance)
    axes.plot(X, mean, color=color, linestyle=style)
    axes.fill_between(X, mean - spread, mean + spread, color=color, alpha=alpha, linewidth=0)


def _share(axes: Axes, values: np.ndarray, color: str, style: str = "-") -> None:
    axes.plot(X, values, color=color, linestyle=style)
    axes.fill_between(X, 0.0, values, color=color, alpha=0.12, linewidth=0)
    _from_zero(axes)
    axes.set_title("Its Hellinger distance to the mixture")


def _total(axes: Axes, values: np.ndarray, words: str) -> None:
    axes.plot(X, values, color="black")
    axes.plot(X[values.argmax()], values.max(), "v", color="black", markersize=5)
    _from_zero(axes)
    axes.set_title(words)


def _from_zero(axes: Axes) -> None:
    """An axis from 0 that holds all lines drawn so far, with room for a marker."""
    axes.set_ylim(0.0, 1.12 * max(float(np.max(line.get_ydata())) for line in axes.lines))

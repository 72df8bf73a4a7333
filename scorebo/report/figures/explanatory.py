"""The explanatory figures, from small one-dimensional fits with fixed seeds: how SAL and SCoreBO add up over GPs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scorebo.report.small_fits import GRID, distances_per_set, grid, small_fit

if TYPE_CHECKING:
    from scorebo.gp import FullyBayesianGP

COLORS = ("#0072B2", "#D55E00", "#009E73")
GRAY, LEGEND = "#777777", "#444444"
ESTIMATES: dict[str, Any] = {"Moment matching": "-", "Exact": "--"}
X = np.linspace(0.0, 1.0, GRID)  # `grid`
EXAMPLE = 15  # the fit shown by the first two: its GPs explain the data in different ways
OPTIMA: dict[str, Any] = {"Given the GP's first optimum": "-", "Given its second optimum": "--"}
# Of twenty fits, one where moment matching is 6 % off on average (Hellinger), and one with 19 % where the mixture has
# several modes and the shape is lost for one GP.
CASES = {"A good case": 7, "A poor case": 1}


def sal(_: Any = None) -> Figure:
    """Each GP's posterior above what it adds to SAL-HR; last the mixture above the sum."""
    model = small_fit(EXAMPLE)
    figure, above, below = _columns(model.num_mcmc_samples)
    near, _, _ = distances_per_set(model, "hellinger")
    mean, variance = _marginals(model)
    for m in range(model.num_mcmc_samples):
        _posterior(above[m], mean[:, m], variance[:, m], COLORS[m], 0.15)
        _share(below[m], near[:, m].numpy(), COLORS[m])
        above[m].set_title(f"GP {m + 1}")
    _mixture(above, model)
    _total(below, near.mean(dim=1).numpy(), "SAL-HR")
    return figure


def scorebo(_: Any = None) -> Figure:
    """The same, each GP conditioned on two of its optima."""
    import torch

    from scorebo.acquisition import SCoreBO
    from scorebo.optima import sample_optima
    from scorebo.search.box import unit_box

    model = small_fit(EXAMPLE)
    inputs, outputs = sample_optima(model, unit_box(1), num_optima=len(OPTIMA), seed=1)
    acquisition = SCoreBO(model, inputs, outputs)
    points = grid()
    with torch.no_grad():
        shares = acquisition.per_optimum(points, acquisition.levels)  # N x M x b
        mean, variance = acquisition.conditional_moments(points)
    figure, above, below = _columns(model.num_mcmc_samples)
    for m in range(model.num_mcmc_samples):
        for n, (words, style) in enumerate(OPTIMA.items()):
            _posterior(
                above[m], mean[n, m].numpy(), variance[n, m].numpy(), COLORS[m], 0.15, linestyle=style, label=words
            )
            star = {"color": COLORS[m], "markersize": 6, "label": "Optimum"}
            above[m].plot(float(inputs[n, m, 0]), float(outputs[n, m, 0]), "*", **star)
            _share(below[m], shares[n, m].numpy(), COLORS[m], linestyle=style, label=words)
        above[m].set_title(f"GP {m + 1}, given an optimum")
    _mixture(above, model)
    _total(below, shares.mean(dim=(0, 1)).numpy(), "SCoreBO-HR")
    handles = [Line2D([], [], color=LEGEND, linestyle=style, label=words) for words, style in OPTIMA.items()]
    handles.append(Line2D([], [], color=LEGEND, marker="*", linestyle="none", markersize=6, label="Optimum"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def moment_matching(_: Any = None, *, distance: str) -> Figure:
    """Each GP's distance by moment matching (solid) and exactly (dashed): a good and a poor case side by side."""
    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    axes = figure.subplots(4, 2, sharex=True, squeeze=False)
    for column, (case, seed) in enumerate(CASES.items()):
        model = small_fit(seed)
        near, exact, _ = (part.numpy() for part in distances_per_set(model, distance))
        mean, variance = _marginals(model)
        for m in range(model.num_mcmc_samples):
            _posterior(axes[0, column], mean[:, m], variance[:, m], COLORS[m], 0.12)
            for values, (words, style) in zip((near, exact), ESTIMATES.items(), strict=True):
                axes[m + 1, column].plot(X, values[:, m], color=COLORS[m], linestyle=style, label=words)
            _from_zero(axes[m + 1, column])
            axes[m + 1, 0].set_ylabel(f"{distance.capitalize()},\nGP {m + 1}")
        _data(axes[0, column], model)
        axes[0, column].set_title(case)
        axes[-1, column].set_xlabel("x")
    axes[0, 0].set_ylabel("Posterior\nof each GP")
    # In no GP's color: the style of the line is what it tells.
    handles = [Line2D([], [], color=LEGEND, linestyle=style, label=words) for words, style in ESTIMATES.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.align_ylabels(axes[:, 0])
    return figure


def _columns(count: int) -> tuple[Figure, np.ndarray, np.ndarray]:
    """Axes of posteriors and, below them, of what each GP adds; a column a GP and one for all of them."""
    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    axes = figure.subplots(2, count + 1, sharex=True, sharey="row", squeeze=False)
    for axis in axes[1]:
        axis.set_xlabel("x")
    axes[0, 0].set_ylabel("y")
    axes[1, 0].set_ylabel("Hellinger distance")
    return figure, axes[0], axes[1]


def _marginals(model: FullyBayesianGP) -> tuple[np.ndarray, np.ndarray]:
    """Each GP's mean and variance at the grid."""
    mean, variance = model.marginals(grid(), observation_noise=True)
    return mean.detach().numpy(), variance.detach().numpy()


def _data(axes: Axes, model: FullyBayesianGP) -> None:
    axes.plot(model.train_X.numpy()[:, 0], model.train_Y.numpy()[:, 0], "o", color="black", markersize=3, zorder=3)


def _mixture(axes: np.ndarray, model: FullyBayesianGP) -> None:
    """The mixture of all GPs in the last axes, and the data in all of them."""
    mean, variance = _marginals(model)
    total = variance.mean(axis=1) + mean.var(axis=1)
    _posterior(axes[-1], mean.mean(axis=1), total, GRAY, 0.15)
    axes[-1].set_title("Mixture of all GPs")
    for each in axes:
        _data(each, model)


def _posterior(axes: Axes, mean: np.ndarray, variance: np.ndarray, color: str, alpha: float, **line: Any) -> None:
    spread = 2.0 * np.sqrt(variance)
    axes.plot(X, mean, color=color, **line)
    axes.fill_between(X, mean - spread, mean + spread, color=color, alpha=alpha, linewidth=0)


def _share(axes: Axes, values: np.ndarray, color: str, **line: Any) -> None:
    axes.plot(X, values, color=color, **line)
    axes.fill_between(X, 0.0, values, color=color, alpha=0.12, linewidth=0)


def _total(axes: np.ndarray, values: np.ndarray, words: str) -> None:
    """The mean of the shares in the last axes, marked at its maximum; all axes from 0."""
    axes[-1].plot(X, values, color="black")
    axes[-1].plot(X[values.argmax()], values.max(), "v", color="black", markersize=5)
    axes[-1].set_title(f"{words}, their mean")
    axes[-1].set_ylim(0.0, 1.12 * max(float(np.max(line.get_ydata())) for each in axes for line in each.lines))


def _from_zero(axes: Axes) -> None:
    """An axis from 0 that holds all lines drawn so far, with room for a marker."""
    axes.set_ylim(0.0, 1.12 * max(float(np.max(line.get_ydata())) for line in axes.lines))

"""A quadrature grid for integrals over the mixture of M normals, compiled.

The axis is cut into panels of Gauss–Legendre nodes, so narrow that in each the mixture's log density is a polynomial to
the tolerance. They are halves of halves of cells at multiples of a power of two: nodes do not move with the moments, so
that the derivative of a sum over them is that of its terms. The grid is made once for each point and serves all its
conditionals. One that is narrower than a panel, or has an edge in it, has panels of its own inside, where the log
density is that polynomial.
"""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit
from scorebo.acquisition._mixture import log_prob, log_prob_gradient
from scorebo.acquisition._quantiles import quantiles_gradient

ORDER = 8
NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
# From values at the nodes to the coefficients of 1, ξ, ξ² …, and to the last two of Legendre's polynomials.
TO_POWERS = np.linalg.inv(np.vander(NODES, increasing=True))
TO_LAST = np.array([(k + 0.5) * WEIGHTS * np.polynomial.legendre.Legendre.basis(k)(NODES) for k in (6, 7)])
# Standard deviations at which a normal ends: a tail of 3e-14 is left.
REACH = 7.5
# The widest panel within the reach of a component, in its standard deviations.
WIDEST = 4.0
# Panels of a point; whatever would need more is cut no further.
MOST_PANELS = 1024


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def panels(mean, precision, low, high, tolerance):  # type: ignore[no-untyped-def]
    """Panels of each of b mixtures.

    Args:
        mean: `b x M`.
        precision: `b x M`.
        low: `b`, where the conditionals of each point begin; the mixture's own reach is covered too.
        high: `b`, where they end.
        tolerance: of the log density between the nodes.

    Returns:
        The first panel of each point `b + 1`, the left end and width of each panel, and `panels x 8` nodes,
        log densities there and coefficients of their polynomial in powers of ξ, from −1 to 1 over a panel.
    """
    rows = mean.shape[0]
    first = np.zeros(rows + 1, np.int64)
    left, width = np.empty(64 * rows), np.empty(64 * rows)
    log_density = np.empty((64 * rows, ORDER))
    for row in range(rows):
        own = _panels(mean[row], precision[row], low[row], high[row], tolerance)
        start, end = first[row], first[row] + own[0].shape[0]
        if end > left.shape[0]:
            left, width, log_density = _longer(left, end), _longer(width, end), _longer(log_density, end)
        left[start:end], width[start:end], log_density[start:end] = own
        first[row + 1] = end
    count = first[rows]
    y = nodes_of(left[:count], width[:count])
    return first, left[:count], width[:count], y, log_density[:count], log_density[:count] @ TO_POWERS.T


@njit(error_model="numpy")
def nodes_of(left, width):  # type: ignore[no-untyped-def]
    """The nodes of panels. `panels x 8`."""
    y = np.empty((left.shape[0], ORDER))
    for i in range(left.shape[0]):
        for k in range(ORDER):
            y[i, k] = left[i] + 0.5 * width[i] * (1.0 + NODES[k])
    return y


@njit(error_model="numpy")
def _panels(mean, precision, low, high, tolerance):  # type: ignore[no-untyped-def]
    """Left ends, widths and log densities of one mixture's panels, in the order of the axis."""
    std = 1.0 / np.sqrt(precision)
    low, high = min(low, np.min(mean - REACH * std)), max(high, np.max(mean + REACH * std))
    width = 2.0 ** np.ceil(np.log2((high - low) / 4.0))
    begin, end = np.floor(low / width), np.ceil(high / width)
    lefts, widths = width * np.arange(begin, end), np.full(int(end - begin), width)
    done_left, done_width = np.empty(MOST_PANELS), np.empty(MOST_PANELS)
    done_density = np.empty((MOST_PANELS, ORDER))
    done, top = 0, -np.inf
    while lefts.shape[0] > 0:
        spare = MOST_PANELS - done - lefts.shape[0]
        lefts, widths = _cut_to_components(lefts, widths, mean, std, spare)
        y = nodes_of(lefts, widths)
        values = log_prob(mean.reshape(1, -1), precision.reshape(1, -1), y.reshape(1, -1)).reshape(y.shape)
        top = max(top, np.max(values))
        again = np.zeros(lefts.shape[0], np.bool_)
        spare = MOST_PANELS - done - lefts.shape[0]
        for i in range(lefts.shape[0]):
            # Where the density is tiny its logarithm matters as a part of itself.
            allowed = tolerance * (1.0 + top - np.max(values[i]))
            if spare > 0 and abs(np.dot(TO_LAST[0], values[i])) + abs(np.dot(TO_LAST[1], values[i])) > allowed:
                again[i] = True
                spare -= 1
            else:
                done_left[done], done_width[done], done_density[done] = lefts[i], widths[i], values[i]
                done += 1
        lefts, widths = _halves(lefts, widths, again)
    order = np.argsort(done_left[:done])
    return done_left[:done][order], done_width[:done][order], done_density[:done][order]


@njit(error_model="numpy")
def _cut_to_components(lefts, widths, mean, std, spare):  # type: ignore[no-untyped-def]
    """Halve panels until none is too wide for a component whose mass is in it."""
    while True:
        wide = np.zeros(lefts.shape[0], np.bool_)
        for i in range(lefts.shape[0]):
            for k in range(mean.shape[0]):
                near = lefts[i] < mean[k] + REACH * std[k] and lefts[i] + widths[i] > mean[k] - REACH * std[k]
                if near and widths[i] > WIDEST * std[k] and spare > 0:
                    wide[i] = True
                    spare -= 1
                    break
        if not wide.any():
            return lefts, widths
        halves, half_widths = _halves(lefts, widths, wide)
        lefts, widths = np.concatenate((lefts[~wide], halves)), np.concatenate((widths[~wide], half_widths))


@njit(error_model="numpy")
def _halves(lefts, widths, chosen):  # type: ignore[no-untyped-def]
    left, half = lefts[chosen], 0.5 * widths[chosen]
    return np.concatenate((left, left + half)), np.concatenate((half, half))


@njit()
def _longer(values, count):  # type: ignore[no-untyped-def]
    result = np.empty((max(count, 2 * values.shape[0]), *values.shape[1:]))
    result[: values.shape[0]] = values
    return result


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def gradient(mean, precision, first, width, y, log_density, by_nodes, weight, mass, of_quantiles):  # type: ignore[no-untyped-def]
    """Derivatives by means and variances, `b x M`, of sums that depend on the mixture at the nodes.

    `by_nodes` are the derivatives of C sums by the log densities at the nodes, or with `of_quantiles` by the nodes as
    quantiles: flat, of each point `C x nodes`. The sums are weighted with `weight`, `b x C`. Each sum has besides the
    mass of the mixture over all panels, times `mass`.
    """
    rows, size = mean.shape
    by_mean, by_variance = np.empty((rows, size)), np.empty((rows, size))
    for row in range(rows):
        own = slice(first[row], first[row + 1])
        at, values = y[own].reshape(1, -1), log_density[own].reshape(1, -1)
        share = np.zeros(at.shape)
        total = mass * np.sum(weight[row])
        for i in range(own.stop - own.start):
            for k in range(ORDER):
                j = ORDER * i + k
                share[0, j] = total * 0.5 * width[own][i] * WEIGHTS[k] * np.exp(values[0, j])
        start = weight.shape[1] * ORDER * first[row]
        for c in range(weight.shape[1]):
            for j in range(at.shape[1]):
                share[0, j] += weight[row, c] * by_nodes[start + c * at.shape[1] + j]
        alone = slice(row, row + 1)
        if of_quantiles:
            moved = quantiles_gradient(mean[alone], precision[alone], at, values, share)
            by_mean[row], by_variance[row] = moved[0][0], moved[1][0]
        else:
            pulled = log_prob_gradient(mean[alone], precision[alone], at, values, share)
            by_mean[row], by_variance[row] = pulled[0][0], pulled[1][0]
    return by_mean, by_variance


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def masses(first, width, log_density):  # type: ignore[no-untyped-def]
    """The mass of each mixture over its panels by the quadrature itself, which rounding alone tells from 1. `b`."""
    result = np.zeros(first.shape[0] - 1)
    for row in range(result.shape[0]):
        for i in range(first[row], first[row + 1]):
            for k in range(ORDER):
                result[row] += 0.5 * width[i] * WEIGHTS[k] * np.exp(log_density[i, k])
    return result

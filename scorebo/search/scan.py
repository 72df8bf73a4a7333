"""Scans of every coordinate through a top: hills that the raw points missed are often in line with one.

In many dimensions raw points are far from each other, and the highest hill may be narrow or at an edge of the box. What
makes a top high in most coordinates often does so elsewhere on a line through it as well.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Even ones, bounds included.
LEVELS = 9


def lines(tops: Tensor) -> Tensor:
    """Points on the lines through tops `T x D` along every coordinate, those of the tops last: `TD(LEVELS + 1) x D`."""
    dim = tops.shape[1]
    points = tops[:, None, None, :].repeat(1, dim, LEVELS + 1, 1)  # T x D x L + 1 x D
    levels = torch.linspace(0.0, 1.0, LEVELS, dtype=torch.float64)
    points[:, range(dim), :-1, range(dim)] = levels
    return points.flatten(end_dim=-2)


def crests(points: Tensor, values: Tensor, count: int) -> Tensor:
    """The highest points of `lines` that are higher than their neighbors on a line: hills besides that of its top.

    Args:
        points: `TD(LEVELS + 1) x D`.
        values: `TD(LEVELS + 1)`.
        count: most points to choose.

    Returns:
        `S x D` with S ≤ count, the highest first.
    """
    dim = points.shape[1]
    line = points.reshape(-1, dim, LEVELS + 1, dim)
    position = line[:, range(dim), :, range(dim)].transpose(0, 1)  # T x D x L + 1
    order = position.argsort(dim=-1, stable=True)
    height = values.nan_to_num(nan=-torch.inf).reshape(position.shape).gather(-1, order)
    ends = torch.full_like(height[..., :1], -torch.inf)
    rises = height > torch.cat([ends, height[..., :-1]], dim=-1)
    falls = height > torch.cat([height[..., 1:], ends], dim=-1)
    found = rises & falls & (order < LEVELS)
    first = torch.arange(0, len(points), LEVELS + 1).reshape(*order.shape[:2], 1)
    places = (first + order)[found]
    best = values[places].argsort(descending=True, stable=True)[:count]
    return points[places[best]]

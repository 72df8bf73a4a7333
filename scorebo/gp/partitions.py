"""Which inputs act together: partitions of the inputs as label vectors, and the moves between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorebo.errors import InputError, check_integer

Labels = tuple[int, ...]


@dataclass(frozen=True)
class Partitions:
    """Uniform over label vectors g ∈ {1 … max_groups}^D: inputs with the same label are a group.

    A partition into k groups is that of max_groups!/(max_groups − k)! label vectors. A move gives two inputs the same
    label, so that every state but the first has a group of two or more: with max_groups ≥ D the partition into D single
    inputs is never reached, and is never a first state either.

    Args:
        max_groups: most groups, at most D.
        hastings: whether acceptance corrects for the proposal, which is not symmetric; the paper's does not.
    """

    max_groups: int
    hastings: bool = False

    def __post_init__(self) -> None:
        check_integer("max_groups, the most groups of a partition,", self.max_groups, 1)
        if not isinstance(self.hastings, bool):
            raise InputError(f"hastings must be true or false, got {self.hastings!r}.")

    def first(self, dim: int) -> Labels:
        """Where a chain starts that has nothing to go on from: all inputs in one group."""
        return (1,) * dim

    def propose(self, labels: Labels, rng: np.random.Generator) -> Labels:
        """Give two distinct inputs the same label, all three drawn uniformly; a single input is given one."""
        dim = len(labels)
        i = int(rng.integers(dim))
        j = (i + 1 + int(rng.integers(dim - 1))) % dim if dim > 1 else i
        label = 1 + int(rng.integers(self.max_groups))
        proposed = list(labels)
        proposed[i] = proposed[j] = label
        return tuple(proposed)

    def log_correction(self, labels: Labels, proposed: Labels) -> float:
        """Log q(proposed → labels)/q(labels → proposed), by which the corrected acceptance differs from the paper's.

        Each q is a number of pairs and labels that make the move, over all there are; −inf where there is no way back.
        """
        if not self.hastings or labels == proposed:
            return 0.0
        back, forth = number_of_ways(proposed, labels), number_of_ways(labels, proposed)
        return float(np.log(back) - np.log(forth)) if back else -np.inf


def number_of_ways(labels: Labels, proposed: Labels) -> int:
    """How many choices of two inputs and a label turn one label vector into another, different one."""
    changed = [d for d, (old, new) in enumerate(zip(labels, proposed, strict=True)) if old != new]
    if len(changed) == 1:  # together with any input that has the new label already
        return labels.count(proposed[changed[0]])
    return int(len(changed) == 2 and proposed[changed[0]] == proposed[changed[1]])


def canonical(labels: Labels) -> Labels:
    """The label vector of the same partition with labels 1, 2 … in the order in which they first occur."""
    order = {label: place for place, label in enumerate(dict.fromkeys(labels), start=1)}
    return tuple(order[label] for label in labels)

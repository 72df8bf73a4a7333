"""Optima of 16 x 8 paths: time by phase, evaluations, and how often a ten times heavier search finds more.

    OMP_NUM_THREADS=1 python scripts/optima_speed.py [--dims 2 6 25] [--features 2048] [--observed 20 100] [--botorch]

CPU seconds, the least of three runs after one that compiles. `hits` are the paths whose maximum is within 1e-3 of the
best known (ours, the heavy search's and, where asked for, BoTorch's); BoTorch takes minutes.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace

import torch
from botorch.models.deterministic import GenericDeterministicModel
from botorch.utils.sampling import optimize_posterior_samples
from torch import Tensor

from scorebo.gp import FullyBayesianGP
from scorebo.optima import PosteriorPaths, _search, maximise, sample_paths
from scorebo.seeds import derive

SETS, PATHS = 16, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 4, 6, 8, 12, 25, 388])
    parser.add_argument("--features", type=int, nargs="+", default=[2048])
    parser.add_argument("--observed", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--botorch", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("   D features   n |  paths screen  climb  total s | evaluations single double | hits", flush=True)
    for dim in arguments.dims:
        for num_features in arguments.features:
            for n in arguments.observed:
                report(dim, num_features, n, arguments.botorch)


def report(dim: int, num_features: int, n: int, botorch: bool) -> None:
    model = random_model(dim, n)
    bounds = torch.stack([torch.zeros(dim), torch.ones(dim)]).double()
    _timed(model, bounds, num_features)
    spent, counts, values = min((_timed(model, bounds, num_features) for _ in range(3)), key=lambda run: run[0][-1])
    paths = sample_paths(model, PATHS, num_features)
    heavy = maximise.maximise_paths(paths, model, bounds, 10 * 2048, 10 * 20, seed=1)[1][..., 0]
    best = torch.maximum(values, heavy)
    peer = botorch_maxima(paths, bounds) if botorch else None
    if peer is not None:
        best = torch.maximum(best, peer)
    line = " ".join(f"{seconds:6.3f}" for seconds in spent)
    hits = " ".join(
        f"{name} {float((found >= best - 1e-3).double().mean()):.3f}"
        for name, found in (("ours", values), ("heavy", heavy), ("BoTorch", peer))
        if found is not None
    )
    per_path = [count / (SETS * PATHS) for count in counts]
    print(f"{dim:4d} {num_features:8d} {n:3d} | {line}   | {per_path[0]:18.0f} {per_path[1]:6.1f} | {hits}", flush=True)


def _timed(model: FullyBayesianGP, bounds: Tensor, num_features: int) -> tuple[list[float], list[int], Tensor]:
    """Seconds for drawing, screening, climbing and all; evaluations in single and double precision; the maxima."""
    spent, counts = [0.0, 0.0, 0.0], [0, 0]

    def timing(function, phase):  # type: ignore[no-untyped-def]
        def timed(*args):  # type: ignore[no-untyped-def]
            begin = time.process_time()
            result = function(*args)
            spent[phase] += time.process_time() - begin
            if phase == 2:
                counts[0] += result[0]
                counts[1] += result[1]
            return result

        return timed

    phases = ((maximise, "sample_paths"), (maximise, "screen"), (_search, "search_set"))
    plain = [getattr(module, name) for module, name in phases]
    for phase, (module, name) in enumerate(phases):
        setattr(module, name, timing(plain[phase], phase))
    try:
        begin = time.process_time()
        _, values = maximise.sample_optima(model, bounds, PATHS, num_features)
        total = time.process_time() - begin
    finally:
        for (module, name), function in zip(phases, plain, strict=True):
            setattr(module, name, function)
    return [*spent, total], counts, values[..., 0]


def random_model(dim: int, n: int) -> FullyBayesianGP:
    """Hyperparameters about as wide as their posterior, lengthscales growing with √D; a sum of waves observed."""
    generator = torch.Generator().manual_seed(derive("optima speed", dim, n))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    X = torch.rand(n, dim, generator=generator, dtype=torch.float64)
    Y = torch.sin(X @ (4.0 * normal(dim, 3)) + normal(3)).sum(dim=-1) + 0.1 * normal(n)
    common = 0.7 * normal(dim) - 0.7 + 0.5 * math.log(dim)
    return FullyBayesianGP(
        X, (Y - Y.mean()) / Y.std(), lengthscale=(common + 0.5 * normal(SETS, dim)).exp(),
        outputscale=(0.7 * normal(SETS)).exp(), noise=(1.5 * normal(SETS) - 4.0).exp(), mean=0.3 * normal(SETS),
        noise_floor=1e-6,
    )  # fmt: skip


def botorch_maxima(paths: PosteriorPaths, bounds: Tensor) -> Tensor:
    """Maxima of the same paths by optimize_posterior_samples, one set after the other: `N x M`."""

    def of_set(m: int) -> Tensor:
        keep = slice(m, m + 1)
        one = replace(
            paths, frequencies=paths.frequencies[keep], cosine_weights=paths.cosine_weights[:, keep],
            sine_weights=paths.sine_weights[:, keep], lengthscale=paths.lengthscale[keep],
            update_weights=paths.update_weights[:, keep], mean=paths.mean[keep],
        )  # fmt: skip

        def evaluate(X: Tensor) -> Tensor:
            if X.ndim == 2:
                return one(X)[:, 0].unsqueeze(-1)
            # Each path at its own points: those of the other paths are evaluated too and left out.
            every = one(X.flatten(0, 1))[:, 0].reshape(len(X), len(X), -1)
            return every.diagonal(dim1=0, dim2=1).mT.unsqueeze(-1)

        return optimize_posterior_samples(GenericDeterministicModel(evaluate), bounds)[1].reshape(-1)

    return torch.stack([of_set(m) for m in range(paths.num_sets)], dim=-1)


if __name__ == "__main__":
    main()

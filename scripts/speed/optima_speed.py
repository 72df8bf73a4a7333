"""Optima of 16 x 8 paths beside BoTorch's of the same ones: seconds, evaluations, and how often the maximum is found.

    OMP_NUM_THREADS=1 python scripts/speed/optima_speed.py [--dims 2 6 25] [--features 2048] [--observed 20 100]
    OMP_NUM_THREADS=1 python scripts/speed/optima_speed.py --runs results/tour [--features 2048] [--observed 20 100]

One Markdown row for each dimension, number of features and number of observations, over a few random models that no
setting was chosen on; or over the models of stored runs, all of one task, after so many observations. Ours: CPU seconds
for all 16 x 8 paths, the least of three runs after one that compiles, median over the models. BoTorch's: CPU seconds of
optimize_posterior_samples (1024 raw points, 20 restarts) with its own torch evaluation for the paths of one set, times
16. Hits: paths whose maximum is within 1e-3 of the best known, by ours, by BoTorch's or by a search with eight times
the raw points and starts; for these BoTorch's optimizer evaluates compiled paths, which differ from torch's by
rounding. At least: paths on which ours is at least BoTorch's.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from botorch.models.deterministic import GenericDeterministicModel
from botorch.utils.sampling import optimize_posterior_samples
from torch import Tensor

from scorebo.benchmarks.base import Benchmark
from scorebo.config import instantiate
from scorebo.gp import FullyBayesianGP
from scorebo.optima import PosteriorPaths, _search, generations, maximize, raw, sample_paths
from scorebo.search.box import unit_box
from scorebo.seeds import derive
from scorebo.store import find_runs, read_records, run_id
from scorebo.store.identity import read_config
from scorebo.store.resume import RUN_DIGITS
from scorebo.transforms.standardize import DataTransform

SETS, PATHS = 16, 8


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 4, 6, 8, 12, 25, 388])
    parser.add_argument("--features", type=int, nargs="+", default=[2048])
    parser.add_argument("--observed", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--models", type=int, default=2, help="random models for each row")
    parser.add_argument("--runs", type=Path, help="folder of results whose models are taken instead of random ones")
    parser.add_argument("--sets", type=int, default=4, help="sets of each model whose maxima are compared")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of ours for each model")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "| D | features | n | ours s | drawing, screening, climbing "
        "| BoTorch s | hits | BoTorch's | at least | evaluations |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    if arguments.runs is not None:
        groups = [stored_models(arguments.runs, n) for n in arguments.observed]
    else:
        sizes = itertools.product(arguments.dims, arguments.observed)
        groups = [[random_model(dim, n, index) for index in range(arguments.models)] for dim, n in sizes]
    for num_features, models in itertools.product(arguments.features, groups):
        print(row(models, num_features, arguments.sets, arguments.repeats), flush=True)


def row(models: list[FullyBayesianGP], num_features: int, sets: int, repeats: int) -> str:
    """One row of the table, over models of one size."""
    n, dim = models[0].train_X.shape
    bounds = unit_box(dim)
    spent, evaluations, ours, peers, best = [], [], [], [], []
    for model in models:
        timed(model, bounds, num_features)
        runs = [timed(model, bounds, num_features) for _ in range(repeats)]
        spent.append(min((run[0] for run in runs), key=lambda phases: phases[-1]))
        evaluations.append(sum(runs[0][1]) / (SETS * PATHS))
        paths = sample_paths(model, PATHS, num_features)
        few = of_samples(paths, slice(sets)), model_of_sets(model, slice(sets))
        heavy = maximize.maximize_paths(*few, bounds, 8 * 1280, 8 * 12, seed=1)[1][..., 0]
        ours.append(runs[0][2][:, :sets])
        alone = [of_samples(paths, slice(m, m + 1)) for m in range(sets)]
        peers.append(torch.stack([botorch_maxima(path, bounds, own)[0] for path in alone], dim=-1))
        best.append(torch.stack([ours[-1], peers[-1], heavy]).amax(dim=0))
    _, seconds = botorch_maxima(alone[0], bounds, through_torch)
    phases = [statistics.median(phase) for phase in zip(*spent, strict=True)]
    found, peer, known = (torch.stack(part) for part in (ours, peers, best))
    hits = [f"{float((part >= known - 1e-3).double().mean()):.3f}" for part in (found, peer)]
    at_least = float((found >= peer - 1e-6 * peer.abs()).double().mean())
    shares = ", ".join(f"{phase:.3f}" for phase in phases[:-1])
    return (
        f"| {dim} | {num_features} | {n} | {phases[-1]:.3f} | {shares} | {SETS * seconds:.0f} "
        f"| {hits[0]} | {hits[1]} | {at_least:.3f} | {statistics.mean(evaluations):.0f} |"
    )


def timed(model: FullyBayesianGP, bounds: Tensor, num_features: int) -> tuple[list[float], list[int], Tensor]:
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

    phases = (
        (maximize, "sample_paths", 0), (raw, "screen", 1), (_search, "search_set", 2), (generations, "search_set", 2),
    )  # fmt: skip
    plain = [getattr(module, name) for module, name, _ in phases]
    for function, (module, name, phase) in zip(plain, phases, strict=True):
        setattr(module, name, timing(function, phase))
    try:
        begin = time.process_time()
        _, values = maximize.sample_optima(model, bounds, PATHS, num_features)
        total = time.process_time() - begin
    finally:
        for (module, name, _), function in zip(phases, plain, strict=True):
            setattr(module, name, function)
    return [*spent, total], counts, values[..., 0]


def random_model(dim: int, n: int, index: int) -> FullyBayesianGP:
    """Hyperparameters about as wide as their posterior, lengthscales growing with √D; a sum of waves observed."""
    generator = torch.Generator().manual_seed(derive("optima speed", dim, n, index))

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


def stored_models(results: Path, n: int) -> list[FullyBayesianGP]:
    """The model that each run of a folder had after n observations, from its records."""
    models = []
    for folder in find_runs(results):
        config = read_config(folder / "config.yaml")
        records = read_records(folder / "records.jsonl", run_id(config)[:RUN_DIGITS]).records
        X, y = (torch.tensor([record[name] for record in records[:n]], dtype=torch.float64) for name in ("x", "y"))
        record, bounds = records[n], instantiate("benchmark", config["benchmark"], expected=Benchmark).bounds
        transform = DataTransform(bounds, record["output_sign"], record["output_mean"], record["output_std"])
        numbers: Any = {
            name: torch.tensor(values, dtype=torch.float64) for name, values in record["hyperparameters"].items()
        }
        models.append(
            FullyBayesianGP(transform.to_unit(X), transform.to_model(y), noise_floor=record["noise_floor"], **numbers)
        )
    return models


def model_of_sets(model: FullyBayesianGP, keep: slice) -> FullyBayesianGP:
    """Some of the sets of a model."""
    return FullyBayesianGP(
        model.train_X, model.train_Y, lengthscale=model.lengthscale[keep], outputscale=model.outputscale[keep],
        noise=model.noise[keep], mean=model.mean[keep], noise_floor=model.noise_floor,
    )  # fmt: skip


def of_samples(paths: PosteriorPaths, keep: slice) -> PosteriorPaths:
    """The paths of some of the sets."""
    return replace(
        paths, frequencies=paths.frequencies[keep], cosine_weights=paths.cosine_weights[:, keep].contiguous(),
        sine_weights=paths.sine_weights[:, keep].contiguous(), lengthscale=paths.lengthscale[keep],
        update_weights=paths.update_weights[:, keep].contiguous(), mean=paths.mean[keep],
        structure=paths.structure and paths.structure.of_samples(keep),
    )  # fmt: skip


def botorch_maxima(paths: PosteriorPaths, bounds: Tensor, at_own: Callable) -> tuple[Tensor, float]:
    """Maxima of the paths of one set by optimize_posterior_samples, `N`, and its CPU seconds.

    `at_own` evaluates each path at points of its own, `N x q x D` -> `N x q`.
    """

    def evaluate(X: Tensor) -> Tensor:
        values = paths(X)[:, 0] if X.ndim == 2 else at_own(X, paths)
        return values.unsqueeze(-1)

    torch.manual_seed(0)
    began = time.process_time()
    maxima = optimize_posterior_samples(GenericDeterministicModel(evaluate), bounds)[1].reshape(-1)
    return maxima, time.process_time() - began


def through_torch(X: Tensor, paths: PosteriorPaths) -> Tensor:
    """By torch alone, path after path."""
    return torch.stack([paths(points)[p, 0] for p, points in enumerate(X)])


class _Own(torch.autograd.Function):
    """Values and gradients from the compiled paths."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, paths: PosteriorPaths) -> Tensor:
        values, gradients = paths.own(X.unsqueeze(1), gradient=True)
        ctx.save_for_backward(gradients[:, 0])
        return values[:, 0]

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> tuple[Tensor, None]:
        return weight.unsqueeze(-1) * ctx.saved_tensors[0], None


own = _Own.apply


if __name__ == "__main__":
    main()

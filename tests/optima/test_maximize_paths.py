from dataclasses import replace

import numpy as np
import pytest
import torch
from botorch.models.deterministic import GenericDeterministicModel
from botorch.utils.sampling import optimize_posterior_samples

from scorebo.errors import InputError
from scorebo.optima import _search, generations, sample_optima, sample_paths
from scorebo.optima._batch import evaluate_batch
from scorebo.optima._climb import climb_newton, newton_step, step_workspace
from scorebo.optima._lbfgs import Ground, climb_together
from scorebo.optima._waves import workspace
from scorebo.optima.raw import raw_points
from scorebo.seeds import derive
from scripts.speed import optima_speed
from tests.conftest import additive_ensemble, random_ensemble, warped_ensemble


def unit_box(dim: int) -> torch.Tensor:
    return torch.stack([torch.zeros(dim), torch.ones(dim)]).double()


def of_set(paths, m: int):
    """The paths of one set."""
    keep = slice(m, m + 1)
    return replace(
        paths,
        frequencies=paths.frequencies[keep],
        cosine_weights=paths.cosine_weights[:, keep],
        sine_weights=paths.sine_weights[:, keep],
        lengthscale=paths.lengthscale[keep],
        update_weights=paths.update_weights[:, keep],
        mean=paths.mean[keep],
    )


def botorch_optima(paths, dim: int) -> torch.Tensor:
    """BoTorch's maxima of the same paths, one set after the other: N x M."""

    def maxima(one):
        def evaluate(X):
            if X.ndim == 2:
                return one(X)[:, 0].unsqueeze(-1)
            # Each path at its own points: those of the other paths are evaluated too and left out.
            every = one(X.reshape(-1, dim))[:, 0].reshape(len(X), len(X), -1)
            return every.diagonal(dim1=0, dim2=1).mT.unsqueeze(-1)

        return optimize_posterior_samples(GenericDeterministicModel(evaluate), unit_box(dim))[1].reshape(-1)

    return torch.stack([maxima(of_set(paths, m)) for m in range(paths.num_mcmc_samples)], dim=-1)


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
@pytest.mark.parametrize(("dim", "n"), [(1, 1), (1, 20), (2, 50), (6, 20), (25, 10)])
def test_outputs_are_the_paths_at_the_inputs_and_no_raw_point_is_higher(dim, n, kernel):
    model = random_ensemble(dim, n=max(n, 2), dim=dim, num_mcmc_samples=3, kernel=kernel)
    bounds = unit_box(dim)
    inputs, outputs = sample_optima(model, bounds, num_optima=2, num_features=256, num_restarts=3, seed=7)
    assert inputs.shape == (2, 3, dim)
    assert outputs.shape == (2, 3, 1)
    assert inputs.dtype == outputs.dtype == torch.float64
    assert bool(((inputs >= bounds[0]) & (inputs <= bounds[1])).all())

    paths = sample_paths(model, 2, 256, seed=7)
    assert torch.equal(outputs, paths.own(inputs.unsqueeze(-2))[0])
    every = paths(inputs.reshape(-1, dim)).reshape(2, 3, 2, 3)
    same = torch.stack([torch.stack([every[p, m, p, m] for m in range(3)]) for p in range(2)])
    torch.testing.assert_close(outputs[..., 0], same, rtol=0, atol=1e-11)

    raw = raw_points(model, bounds, 1024, seed=7)
    best = torch.stack([paths(raw.of_set(m))[:, m].amax(dim=-1) for m in range(3)], dim=-1)
    assert bool((outputs[..., 0] >= best - 1e-11).all())  # rounding between two ways to sum the same waves


def test_optima_under_groups_are_the_sum_of_those_of_the_groups():
    """A path is a sum of functions of two inputs each: on grids of their squares nothing is higher."""
    model = additive_ensemble(5, n=20, dim=4, num_mcmc_samples=2)  # the second set has inputs 1, 3 and 2, 4 together
    inputs, outputs = sample_optima(model, unit_box(4), num_optima=3, num_features=256, seed=1)
    paths = sample_paths(model, 3, 256, seed=1)
    torch.testing.assert_close(outputs, paths.own(inputs.unsqueeze(-2))[0])
    side = torch.linspace(0.0, 1.0, 33, dtype=torch.float64)
    for p in range(3):
        for pair in ([0, 2], [1, 3]):
            grid = inputs[p, 1].repeat(33 * 33, 1)
            grid[:, pair] = torch.cartesian_prod(side, side)
            assert float(paths(grid)[p, 1].max()) <= float(outputs[p, 1]) + 1e-9


def test_optima_under_warped_inputs_lie_in_the_box_and_are_maxima_there():
    model = warped_ensemble(6, n=15, num_mcmc_samples=3)
    box = torch.tensor([[0.0, 0.2], [1.0, 0.9]], dtype=torch.float64)
    inputs, outputs = sample_optima(model, box, num_optima=2, num_features=256, seed=4)
    assert inputs.shape == (2, 3, 2)
    assert bool(((inputs >= box[0]) & (inputs <= box[1])).all())
    grid = torch.cartesian_prod(*(torch.linspace(*side, 41, dtype=torch.float64) for side in box.T.tolist()))
    for m in range(3):
        paths = sample_paths(model.unwarped(m), 2, 256, seed=derive("optima", 4, m))
        own = model.kernel.of_set(m)
        there = paths(own.warp(inputs[:, m])[0])[:, 0].diagonal()
        torch.testing.assert_close(there, outputs[:, m, 0], rtol=1e-6, atol=1e-6)
        assert bool((paths(own.warp(grid)[0])[:, 0].amax(dim=-1) <= outputs[:, m, 0] + 1e-9).all())


def test_optima_are_stationary_within_the_box():
    model = random_ensemble(8, n=30, dim=4, num_mcmc_samples=4)
    inputs, _ = sample_optima(model, unit_box(4), num_optima=4, num_features=512)
    _, gradient = sample_paths(model, 4, 512).own(inputs.unsqueeze(-2), gradient=True)
    gradient = gradient.squeeze(-2)
    free = torch.where(inputs == 0.0, gradient.clamp_min(0.0), gradient)
    free = torch.where(inputs == 1.0, gradient.clamp_max(0.0), free)
    # A climb ends with a gradient of 1e-10 or a promised gain of 1e-14, at curvatures of up to about 10³.
    assert float(free.abs().max()) < 1e-5
    assert bool((inputs == 0.0).any())
    assert bool((inputs == 1.0).any())


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_as_good_as_botorch(dim):
    """Path by path: at least as high in 99 of 100, for which there are 96 paths: at most none may be lower."""
    lower = total = 0
    for seed, n in ((1, 10), (2, 40), (3, 100)):
        model = random_ensemble(seed, n=n, dim=dim, num_mcmc_samples=4)
        _, ours = sample_optima(model, unit_box(dim), num_optima=8, num_features=512, seed=seed)
        peer = botorch_optima(sample_paths(model, 8, 512, seed), dim)
        lower += int((ours[..., 0] < peer - 1e-6 * peer.abs()).sum())
        total += peer.numel()
    assert lower <= 0.01 * total


def test_one_dimension_against_a_dense_grid():
    model = random_ensemble(6, n=8, dim=1, num_mcmc_samples=3)
    grid = torch.linspace(0.0, 1.0, 20_001, dtype=torch.float64)[:, None]
    _, outputs = sample_optima(model, unit_box(1), num_optima=5, num_features=512)
    highest = sample_paths(model, 5, 512)(grid).amax(dim=-1)
    assert bool((outputs[..., 0] >= highest - 1e-11).all())
    # Half a grid step of 5e-5 from the top, at a curvature of at most 10⁴.
    torch.testing.assert_close(outputs[..., 0], highest, rtol=0, atol=1e-5)


def test_box_elsewhere_than_the_unit_box():
    """The same functions over a stretched and shifted space have the same maxima, at the corresponding points."""
    model = random_ensemble(9, n=15, dim=2)
    shift, width = torch.tensor([-3.0, 10.0]).double(), torch.tensor([8.0, 0.25]).double()
    moved = type(model)(
        shift + width * model.train_X, model.train_Y, lengthscale=width * model.lengthscale,
        outputscale=model.outputscale, noise=model.noise, mean=model.mean,
    )  # fmt: skip
    inputs, outputs = sample_optima(moved, torch.stack([shift, shift + width]), 3, 256)
    assert bool(((inputs >= shift) & (inputs <= shift + width)).all())
    paths = sample_paths(moved, 3, 256)
    # The paths differ in phase from those of the unit box, so compare with a dense search of their own.
    grid = torch.cartesian_prod(*[torch.linspace(0.0, 1.0, 150, dtype=torch.float64)] * 2)
    assert bool((outputs[..., 0] >= paths(shift + width * grid).amax(dim=-1) - 1e-11).all())


@pytest.mark.parametrize(("dim", "single", "double"), [(2, 4.8, 13.4), (6, 180.2, 2.1), (25, 1781.8, 22.8)])
def test_few_evaluations(dim, single, double, monkeypatch):
    """Counted, not timed: a path's evaluations as measured for this ensemble, and at most a quarter more."""
    counts = []

    def counting(search_set):
        return lambda *args: counts.append(search_set(*args))

    for module in (_search, generations):
        monkeypatch.setattr(module, "search_set", counting(module.search_set))
    sample_optima(random_ensemble(3, n=30, dim=dim), unit_box(dim), num_features=256)
    roughly, exactly = np.sum(counts, axis=0) / (4 * 8)
    assert 1 <= roughly <= 1.25 * single
    assert 1 <= exactly <= 1.25 * double


def test_observations_outside_the_box_are_no_harm():
    model = random_ensemble(9, n=15, dim=2)
    bounds = torch.tensor([[0.6, 0.6], [0.7, 0.9]], dtype=torch.float64)
    inputs, _ = sample_optima(model, bounds, 2, 64)
    assert bool(((inputs >= bounds[0]) & (inputs <= bounds[1])).all())


def test_a_function_of_the_seed_alone():
    model, bounds = random_ensemble(1), unit_box(2)
    state = torch.get_rng_state()
    first, again, other = (sample_optima(model, bounds, 2, 64, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])
    assert torch.equal(torch.get_rng_state(), state)


def by_newton(starts, paths, scale):
    """Climb the only path of the only set from each start: tops, heights, and evaluations of each."""
    path, none = _search._one(paths.of_set(0), 0), np.empty((0, 3))
    tops, box = starts.copy(), (np.zeros(3), np.ones(3))
    ends = [climb_newton(x, path, scale, *box, 1.0, -np.inf, none, workspace(path[1]), 1e-14, 200) for x in tops]
    return tops, np.array([end[0] for end in ends]), max(end[1] for end in ends)


def ground_of(paths, scale, single=False):
    prepared = generations.prepare(paths.of_set(0, single=single), paths.structure_of_set(0, single=single))
    return Ground(prepared, scale, np.zeros(paths.dim), np.ones(paths.dim), 1.0)


def by_lbfgs(starts, paths, scale):
    tops, heights = np.empty_like(starts), np.empty(len(starts))
    which, best = np.zeros(len(starts), dtype=np.int64), np.full(1, -np.inf)
    # One at a time, so that no climb is given up for another.
    used = [
        climb_together(starts[k : k + 1], which[:1], ground_of(paths, scale), best.copy(), 1e-14, 0,
                       tops[k : k + 1], heights[k : k + 1], np.empty(1, dtype=bool))
        for k in range(len(starts))
    ]  # fmt: skip
    return tops, heights, max(used)


@pytest.mark.parametrize("climb", [by_newton, by_lbfgs])
def test_climbs_reach_a_top_and_never_descend(climb):
    model = random_ensemble(5, n=10, dim=3, num_mcmc_samples=1)
    paths = sample_paths(model, 1, 512)
    starts = torch.rand(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    tops, heights, used = climb(starts.numpy().copy(), paths, model.lengthscale[0].numpy())
    assert np.all(heights >= paths(starts)[0, 0].numpy())
    assert used < 200
    _, gradients = paths.own(torch.from_numpy(tops).reshape(1, 1, 20, 3), gradient=True)
    gradients = gradients[0, 0].numpy()
    pinned = ((tops == 0.0) & (gradients < 0.0)) | ((tops == 1.0) & (gradients > 0.0))
    # The gain left at a top with curvature 10: g²/20, at most a few 1e-14 when the climb ends.
    assert np.all(np.abs(gradients[~pinned]) < 1e-5)


@pytest.mark.parametrize(("single", "tolerance"), [(False, 1e-12), (True, 1e-4)])
@pytest.mark.parametrize("make", [random_ensemble, additive_ensemble])
def test_a_batch_is_every_path_at_its_point(make, single, tolerance):
    """Against the evaluation of one path at one point, for more frequencies than a block and a part of another."""
    model = make(4, n=12, dim=4)
    paths = sample_paths(model, 3, 1400)
    X = torch.rand(7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    which, values, gradients = np.arange(7) % 3, np.empty(7), np.empty((7, 4))
    evaluate_batch(X.numpy(), which, ground_of(paths, np.ones(4), single).paths, values, gradients)
    own, slopes = paths.own(X.expand(3, paths.num_mcmc_samples, 7, 4), gradient=True)
    np.testing.assert_allclose(values, own[which, 0, range(7)], rtol=0, atol=tolerance)
    np.testing.assert_allclose(gradients, slopes[which, 0, range(7)], rtol=0, atol=100 * tolerance)


def test_many_dimensions_are_a_function_of_the_seed_alone_too():
    """Whatever is searched before: another seed, and fewer paths."""
    model, bounds = random_ensemble(1, dim=20), unit_box(20)
    first, other, again = (sample_optima(model, bounds, 2, 64, seed=seed) for seed in (3, 4, 3))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


def test_the_maximum_of_a_bilinear_path_in_many_dimensions():
    """Lengthscales so long that a path is linear: every input ends at the bound to which the path rises."""
    model = random_ensemble(2, n=15, dim=24, num_mcmc_samples=2)
    model = type(model)(
        model.train_X, model.train_Y, lengthscale=torch.full((2, 24), 300.0, dtype=torch.float64),
        outputscale=1e4 * model.outputscale, noise=model.noise, mean=model.mean,
    )  # fmt: skip
    inputs, _ = sample_optima(model, unit_box(24), 3, 256)
    _, gradient = sample_paths(model, 3, 256).own(inputs.unsqueeze(-2), gradient=True)
    assert torch.equal(inputs, (gradient.squeeze(-2) > 0.0).double())


def test_newton_step_solves_a_concave_quadratic_in_a_box():
    """Against a dense grid: the model's constrained maximum, where one bound is active."""
    hessian = np.array([[-4.0, 1.0], [1.0, -2.0]])
    gradient = np.array([3.0, 1.0])
    x, step = np.array([0.5, 0.5]), np.empty(2)
    used = newton_step(x, gradient, hessian, 0.0, np.ones(2), np.zeros(2), np.ones(2), step, step_workspace(2))
    assert used == 0.0
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401)), -1).reshape(-1, 2) - x
    values = grid @ gradient + 0.5 * np.einsum("ni,ij,nj->n", grid, hessian, grid)
    np.testing.assert_allclose(step, grid[values.argmax()], atol=1.0 / 400)


def test_newton_step_is_damped_where_the_path_is_convex():
    step = np.empty(2)
    gradient = np.array([0.1, -0.2])
    used = newton_step(
        np.full(2, 0.5),
        gradient,
        np.diag([2.0, -1.0]),
        0.0,
        np.ones(2),
        np.zeros(2),
        np.ones(2),
        step,
        step_workspace(2),
    )
    assert used > 2.0
    assert step @ gradient > 0.0


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (torch.tensor([[1.0, 0.0], [0.0, 1.0]]), "lower below"),
        (torch.tensor([[0.0, 0.0], [1.0, 0.0]]), "lower below"),
        (torch.tensor([[0.0, 0.0], [1.0, float("inf")]]), "finite"),
        (torch.tensor([[0.0, float("nan")], [1.0, 1.0]]), "finite"),
        (torch.tensor([0.0, 1.0]), "2 x D.* with D = 2"),
        (torch.zeros(2, 3), "2 x D.* with D = 2"),
    ],
)
def test_bad_bounds(bounds, message):
    with pytest.raises(InputError, match=message):
        sample_optima(random_ensemble(1), bounds)


@pytest.mark.parametrize("name", ["num_optima", "num_features", "raw_samples", "num_restarts"])
def test_bad_numbers(name):
    for number in (0, -1, 1.5):
        with pytest.raises(InputError, match=name):
            sample_optima(random_ensemble(1), unit_box(2), **{name: number})


def test_the_speed_script_sees_every_phase():
    model = optima_speed.random_model(2, 10, 0)
    (drawing, screening, climbing, total), counts, values = optima_speed.timed(model, unit_box(2), num_features=64)
    assert min(drawing, screening, climbing) > 0.0
    assert drawing + screening + climbing <= total
    assert min(counts) > 0
    assert values.shape == (optima_speed.PATHS, optima_speed.SETS)

import json
import math

import numpy as np
import pytest
import torch

from scorebo import fit_gp
from scorebo.config import load_model
from scorebo.gp import LogDensity
from scorebo.inference import Carry, nuts, sequential
from scorebo.inference.hmc import MAX_STEPS
from scorebo.inference.sequential import State
from scripts.validation.sequential_calibration import simulate, uniformity

FAST = {"warmup": 64, "thinning": 4, "sampler": "sequential", "refresh_fraction": None}


def data(n, dim=2):
    """The first n of the same 60 observations."""
    rng = torch.Generator().manual_seed(0)
    X = torch.rand(60, dim, generator=rng, dtype=torch.float64)
    y = torch.sin(5.0 * X[:, 0]) + 0.5 * X[:, -1] + 0.2 * torch.randn(60, generator=rng, dtype=torch.float64)
    return X[:n], y[:n]


def standardized(y):
    return (y - y.mean()) / y.std()


def fits(sizes, carry=None, dim=2, **settings):
    """Diagnostics of fits to the first n of the same data, and the carry afterwards."""
    carry = carry or Carry()
    X, y = data(max(sizes), dim)
    return [
        fit_gp(X[:n], standardized(y[:n]), carry=carry, seed=n, **FAST | settings).diagnostics for n in sizes
    ], carry


@pytest.mark.parametrize("model", ["al_lognormal", "al_lognormal_no_outputscale", "bo_lognormal", "botorch", "saas"])
@pytest.mark.parametrize("dim", [1, 25])
def test_moves_cost_few_evaluations(model, dim):
    diagnostics, _ = fits(range(12, 18), dim=dim, model=model, transitions=5)
    assert diagnostics[0].refresh_reason == "first"
    moved = [d for d in diagnostics if d.refresh_reason is None]
    assert len(moved) >= 4
    for d in moved:
        assert d.gradient_evaluations <= 16 + 16 * 5 * MAX_STEPS
        assert d.draws == 16
        assert d.acceptance > 0.3
        assert d.step_size > 0
        assert 1 <= d.carried_ess <= 16


def test_a_typical_iteration_costs_a_tenth_of_a_chain():
    diagnostics, _ = fits([*range(20, 30)])
    assert np.mean([d.gradient_evaluations for d in diagnostics[1:]]) < 450
    chain = fit_gp(*data(25), seed=1).diagnostics
    # 32 prior draws for the start, a few for the first step size, and at most 2⁴ − 1 leapfrog steps a draw.
    assert chain.gradient_evaluations <= 32 + 64 + 512 * 15


def test_chains_come_first_on_schedule_and_are_counted():
    diagnostics, _ = fits(range(12, 19), refresh_every=3)
    assert [d.refresh_reason for d in diagnostics] == ["first", None, None, "scheduled", None, None, "scheduled"]
    assert [d.num_refreshes for d in diagnostics] == [1, 1, 1, 2, 2, 2, 3]
    assert all(d.sampler == "sequential" for d in diagnostics)


def test_chains_come_sooner_while_there_are_few_data():
    diagnostics, _ = fits(range(8, 21), refresh_fraction=0.2, refresh_every=3)
    scheduled = [n for n, d in zip(range(8, 21), diagnostics, strict=True) if d.refresh_reason == "scheduled"]
    # Every fit for fewer than 10 observations, every second for fewer than 15, then every third.
    assert scheduled == [9, 11, 13, 16, 19]


def test_without_a_carry_every_fit_is_a_first_one():
    X, y = data(12)
    assert [fit_gp(X, y, **FAST).diagnostics.refresh_reason for _ in range(2)] == ["first", "first"]


def test_state_survives_json_to_the_last_bit():
    _, carry = fits([12, 13])
    again = Carry(json.loads(json.dumps(carry.state)))
    assert again.state == carry.state
    X, y = data(14)
    first, second = (fit_gp(X, standardized(y), carry=c, seed=14, **FAST) for c in (carry, again))
    assert first.diagnostics.refresh_reason is None
    for name in ("lengthscale", "outputscale", "noise", "mean"):
        assert torch.equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("change", ["inputs", "outputs", "fewer", "sets"])
def test_other_data_are_not_continued(change):
    _, carry = fits([12])
    X, y = data(13)
    y = standardized(y)
    sets = 8 if change == "sets" else 16
    if change == "inputs":
        X = 1.0 - X
    elif change == "outputs":
        y = y.flip(0)
    elif change == "fewer":
        X, y = X[:10], y[:10]
    d = fit_gp(X, y, carry=carry, num_mcmc_samples=sets, **FAST).diagnostics
    assert (d.refresh_reason, d.num_refreshes) == ("other data", 2)


def test_sets_that_no_longer_fit_are_drawn_anew():
    """Smooth data, then twenty wild outputs at once: no set of before explains them."""
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.uniform(size=(50, 1)))
    y = torch.sin(3.0 * X[:, 0])
    y[30:] += torch.from_numpy(rng.standard_normal(20))
    settings = {"carry": Carry(), "standardize": False, **FAST}
    fit_gp(X[:30], y[:30], **settings)
    d = fit_gp(X, y, **settings).diagnostics
    assert d.refresh_reason == "diversity"
    assert d.carried_ess < 0.2 * 16
    assert d.ess_bulk is not None


@pytest.mark.parametrize(
    ("limit", "value", "reason"), [("LEAST_ACCEPTANCE", 1.1, "acceptance"), ("MOST_STUCK", -1, "diversity")]
)
def test_moves_that_fail_are_replaced_by_a_chain(monkeypatch, limit, value, reason):
    _, carry = fits([12])
    monkeypatch.setattr(sequential, limit, value)
    (d,), _ = fits([13], carry)
    assert (d.refresh_reason, d.num_refreshes) == (reason, 2)
    assert d.gradient_evaluations > 300


def test_a_step_size_that_failed_is_not_tried_again(monkeypatch):
    """Otherwise every later fit would fail like this one, and be a cold chain."""
    _, carry = fits([30], dim=25, model="saas")
    carry.state["step_size"] = 2.1
    monkeypatch.setattr(sequential, "LEAST_ACCEPTANCE", 0.6)
    diagnostics, _ = fits(range(31, 35), carry, dim=25, model="saas")
    assert diagnostics[0].refresh_reason == "acceptance"
    assert [d.refresh_reason for d in diagnostics[1:]] == [None] * 3
    assert carry.state["step_size"] < 1.0


@pytest.mark.parametrize("model", ["bo_lognormal", "saas", "al_lognormal_no_outputscale"])
def test_rescaling_follows_the_outputs(model):
    """Under rescaled outputs the same functions have the same likelihood but for the constant slope⁻ⁿ."""
    X, y = (v.numpy() for v in data(10))
    surrogate = (
        load_model(model, mean=0.0, noise_floor=0.0) if model.startswith("al") else load_model(model, noise_floor=0.0)
    )
    slope, shift = (1.7, 0.0) if model.startswith("al") else (1.7, -0.4)
    before, after = LogDensity(X, y, surrogate), LogDensity(X, slope * y + shift, surrogate)
    theta = before.sample_prior(np.random.default_rng(0), 5)
    rescaled = after.rescale(theta, slope, shift)
    if model.startswith("al"):  # a known outputscale stays as it is: only the noise follows
        np.testing.assert_allclose(rescaled - theta, [[0.0, 0.0, 2.0 * math.log(slope)]] * 5, rtol=1e-12, atol=1e-14)
        return
    likelihood = [log_likelihood(before, t) for t in theta]
    moved = [log_likelihood(after, t) + len(y) * math.log(slope) for t in rescaled]
    np.testing.assert_allclose(moved, likelihood, rtol=1e-9)


def log_likelihood(density, theta):
    prior = sum(
        float(prior.log_prob(torch.tensor(math.exp(v) if prior.positive else v, dtype=torch.float64)))
        + (v if prior.positive else 0.0)
        for prior, v in zip([coordinate.prior for coordinate in density.coordinates], theta, strict=True)
    )
    return density(theta)[0] - prior


def test_batch_is_the_density_of_every_row():
    X, y = (v.numpy() for v in data(10))
    for of_logarithms in (True, False):
        density = LogDensity(X, y, load_model("bo_lognormal"), of_logarithms=of_logarithms)
        theta = density.sample_prior(np.random.default_rng(0), 4)
        values, gradients = density.batch(theta)
        assert density.evaluations == 4
        for m in range(4):
            value, gradient = density(theta[m])
            assert values[m] == pytest.approx(value, rel=1e-14)
            np.testing.assert_allclose(gradients[m], gradient, rtol=1e-14)
    assert density.names == ["log lengthscale 1", "log lengthscale 2", "log outputscale", "log noise", "mean"]


def test_carried_sets_are_draws_of_the_posterior():
    """256 sets carried from 10 to 25 observations against a long chain, in standard errors of both."""
    X, y = data(25)
    carry = Carry()
    for n in range(10, 26):
        fit_gp(
            X[:n],
            standardized(y[:n]),
            carry=carry,
            num_mcmc_samples=256,
            thinning=2,
            warmup=200,
            sampler="sequential",
            seed=n,
        )
    sets = State.from_dict(carry.state).theta
    density = LogDensity(X.numpy(), standardized(y).numpy(), load_model("bo_lognormal"))
    chain = nuts.sample(density, sets[0], warmup=400, draws=6000, seed=1).theta
    # The chain's effective size is beyond 1000: its error is at most half of that of 256 draws.
    error = chain.std(axis=0) * math.sqrt(1 / 256 + 1 / 1000)
    assert (np.abs(sets.mean(axis=0) - chain.mean(axis=0)) < 4 * error).all()
    # The log sd of 256 draws has a standard error of about √(kurtosis − 1)/(2·√256), 0.06 for kurtosis 5.
    assert (np.abs(np.log(sets.std(axis=0) / chain.std(axis=0))) < 4 * 0.065).all()


def test_ranks_of_the_truth_are_uniform_along_growing_data():
    """Simulation-based calibration in small; scripts/validation/sequential_calibration.py has the large one.

    30 ranks of each of four parameters at two n: a z-score beyond 4 has a probability of 6e-5 if all is well, and sets
    that are half as wide as they should be, or off by one standard deviation, exceed it.
    """
    surrogate = load_model("bo_lognormal")
    ranks = np.stack([simulate(surrogate, 1, 4, [8, 14], seed, warmup=80, thinning=4)[0] for seed in range(30)])
    for i in range(2):
        for j in range(4):
            center, spread, _ = uniformity(ranks[:, i, j])
            assert abs(center) < 4
            assert abs(spread) < 4

import numpy as np
import pytest
from arviz_stats.base import array_stats

from scorebo.gp.diagnostics import Diagnostics
from scorebo.inference.diagnostics import (
    Chain,
    bayesian_fraction_of_missing_information,
    bulk_ess,
    split_rhat,
    summarize,
)


def autoregressive(rho, draws, seed=0):
    rng = np.random.default_rng(seed)
    x = np.empty(draws)
    x[0] = rng.standard_normal()
    for t in range(1, draws):
        x[t] = rho * x[t - 1] + np.sqrt(1 - rho**2) * rng.standard_normal()
    return x


def test_ess_of_an_autoregression_is_known():
    """An AR(1) chain with coefficient ρ has effective size n(1 − ρ)/(1 + ρ)."""
    chain = np.stack([autoregressive(0.0, 20_000), autoregressive(0.8, 20_000, 1)], axis=1)
    assert bulk_ess(chain[:, :1]) == pytest.approx(20_000, rel=0.1)
    assert bulk_ess(chain) == pytest.approx(20_000 * 0.2 / 1.8, rel=0.15)


def test_split_rhat_is_the_ratio_of_between_and_within_halves():
    rng = np.random.default_rng(3)
    mixed = rng.standard_normal((1000, 2))
    assert split_rhat(mixed) == pytest.approx(1.0, abs=0.01)
    drifted = mixed + np.repeat([0.0, 3.0], 500)[:, None]
    within = np.mean([drifted[:500, 0].var(ddof=1), drifted[500:, 0].var(ddof=1)])
    between = 500 * np.var([drifted[:500, 0].mean(), drifted[500:, 0].mean()], ddof=1)
    by_hand = np.sqrt((499 / 500 * within + between / 500) / within)
    assert split_rhat(drifted[:, :1]) == pytest.approx(by_hand, rel=1e-10)


@pytest.mark.parametrize("draws", [8, 31, 256])
@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.5, 0.99])
def test_ess_and_rhat_are_those_of_arviz(rho, draws):
    chain = np.stack([autoregressive(rho, draws, seed) for seed in range(3)], axis=1)
    chain[draws // 2 : draws // 2 + 2] = chain[draws // 2 - 1]  # rejected proposals: ties
    half = draws // 2
    halves = np.stack([chain[:half], chain[-half:]])
    ess = array_stats.ess(chain[None], chain_axis=0, draw_axis=1, method="bulk")
    rhat = array_stats.rhat(halves, chain_axis=0, draw_axis=1, method="identity")
    assert bulk_ess(chain) == pytest.approx(np.min(ess), rel=1e-10)
    assert split_rhat(chain) == pytest.approx(np.max(rhat), rel=1e-10)


def test_a_parameter_that_never_moved_has_no_diagnostics():
    chain = np.stack([autoregressive(0.0, 50), np.ones(50)], axis=1)
    assert bulk_ess(chain) is None
    assert split_rhat(chain) is None


def test_energy_statistic_by_hand():
    energy = np.array([1.0, 2.0, 4.0, 3.0, 3.5])
    assert bayesian_fraction_of_missing_information(energy) == pytest.approx((1 + 4 + 1 + 0.25) / 4 / energy.var())


def test_too_few_draws_give_nothing_instead_of_nan():
    told = summarize(Chain(np.zeros((2, 3))))
    diagnostics = Diagnostics.of(**told, sampler="nuts", wall_seconds=0.1, gradient_evaluations=5)
    assert diagnostics.ess_bulk is None
    assert diagnostics.rhat is None
    assert diagnostics.as_dict()["draws"] == 2


@pytest.mark.parametrize(
    ("chain", "failure"),
    [
        (Chain(np.random.default_rng(0).standard_normal((5, 2)), acceptance=0.8), None),
        (Chain(np.array([[0.0], [np.nan]])), "not finite"),
        (Chain(np.ones((5, 2))), "no proposal was accepted"),
        (Chain(np.random.default_rng(0).standard_normal((5, 2)), acceptance=0.0), "no proposal was accepted"),
    ],
)
def test_failures_are_named(chain, failure):
    assert (chain.failure is None) if failure is None else (failure in chain.failure)

"""The chain of partitions against the exact posterior, by enumeration of all label vectors."""

import itertools

import numpy as np
import pytest
import torch

import scorebo
from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp.partitions import Partitions, canonical, number_of_ways
from scorebo.inference import Carry
from scorebo.inference.partition_chain import PartitionFits, walk
from scorebo.seeds import derive
from tests.runs import tiny_config

D = 4


def states(max_groups, dim=D):
    return list(itertools.product(range(1, max_groups + 1), repeat=dim))


def moves(state, max_groups):
    """Where each choice of two inputs and a label leads."""
    for i, j in itertools.combinations(range(len(state)), 2):
        for label in range(1, max_groups + 1):
            proposed = list(state)
            proposed[i] = proposed[j] = label
            yield tuple(proposed)


def fits_of(seed=0, n=12, dim=D):
    """Fits of data that leave the partition open: little signal in the first two inputs together, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, dim))
    y = np.sin(6.0 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.5 * rng.standard_normal(n)
    return PartitionFits(X, (y - y.mean()) / y.std(ddof=1), load_model("additive", partitions=Partitions(2)))


def transition_matrix(partitions, log_target):
    """The chain's, from every choice of a proposal and the acceptance of each."""
    every = states(partitions.max_groups)
    place = {state: k for k, state in enumerate(every)}
    P = np.zeros((len(every), len(every)))
    for state in every:
        choices = list(moves(state, partitions.max_groups))
        for proposed in choices:
            log_ratio = log_target(proposed) - log_target(state) + partitions.log_correction(state, proposed)
            accepted = np.exp(min(0.0, log_ratio))
            P[place[state], place[proposed]] += accepted / len(choices)
            P[place[state], place[state]] += (1.0 - accepted) / len(choices)
    return P


def posterior(max_groups, log_target):
    """Uniform over label vectors times the marginal likelihood, normalized."""
    heights = np.array([log_target(state) for state in states(max_groups)])
    weights = np.exp(heights - heights.max())
    return weights / weights.sum()


@pytest.mark.parametrize("max_groups", [2, 3])
def test_number_of_ways_is_that_of_all_choices(max_groups):
    for state in states(max_groups):
        led = list(moves(state, max_groups))
        for proposed in states(max_groups):
            if proposed != state:
                assert number_of_ways(state, proposed) == led.count(proposed)


def test_proposals_are_drawn_uniformly():
    """Each of 6 pairs and 3 labels as often as another: 20,000 draws against the exact shares, 5 standard errors."""
    partitions, state, rng, count = Partitions(3), (1, 2, 2, 3), np.random.default_rng(0), 20_000
    drawn = [partitions.propose(state, rng) for _ in range(count)]
    led = list(moves(state, 3))
    for proposed in set(led):
        share = led.count(proposed) / len(led)
        assert abs(drawn.count(proposed) / count - share) < 5 * np.sqrt(share / count)
    assert set(drawn) == set(led)


@pytest.mark.parametrize("max_groups", [2, 3])
def test_corrected_acceptance_leaves_the_posterior_as_it_is(max_groups):
    fits = fits_of()

    def log_target(labels):
        return fits(labels).log_likelihood

    exact = posterior(max_groups, log_target)
    corrected = transition_matrix(Partitions(max_groups, hastings=True), log_target)
    np.testing.assert_allclose(exact @ corrected, exact, rtol=0, atol=1e-14)
    # The paper's does not: the proposal is not symmetric.
    plain = transition_matrix(Partitions(max_groups), log_target)
    assert np.abs(exact @ plain - exact).max() > 1e-3
    assert len(fits) == {2: 8, 3: 14}[max_groups]  # partitions of four into at most so many groups


@pytest.mark.parametrize("max_groups", [2, 3])
def test_frequencies_of_the_chain_are_the_exact_posterior(max_groups):
    """z-scores of the share of every label vector, with the standard error that the transition matrix implies.

    Up to 81 z-scores: beyond 4.5 one in 150,000 lies.
    """
    fits, partitions, steps = fits_of(), Partitions(max_groups, hastings=True), 20_000

    def log_target(labels):
        return fits(labels).log_likelihood

    exact = posterior(max_groups, log_target)
    P = transition_matrix(partitions, log_target)
    # Autocovariances of the indicators summed over all lags: 2·Z − I with Z = (I − P + 1π)⁻¹.
    fundamental = np.linalg.inv(np.eye(len(P)) - P + exact)
    variance = exact * (2.0 * fundamental.diagonal() - 1.0 - exact)
    chain = walk(log_target, partitions, partitions.first(D), steps, np.random.default_rng(max_groups))
    every = states(max_groups)
    counts = np.bincount([every.index(state) for state in chain.states], minlength=len(every))
    assert (counts > 0).all()
    z = (counts / steps - exact) / np.sqrt(variance / steps)
    assert np.abs(z).max() < 4.5
    assert 0.5 < np.std(z) < 1.6


@pytest.mark.parametrize("hastings", [False, True])
@pytest.mark.parametrize("max_groups", [2, 3, 4])
def test_only_the_partition_into_single_inputs_is_never_reached(max_groups, hastings):
    partitions = Partitions(max_groups, hastings=hastings)
    reached = {partitions.first(D)}
    waiting = list(reached)
    while waiting:
        state = waiting.pop()
        for proposed in set(moves(state, max_groups)) - reached:
            if partitions.log_correction(state, proposed) > -np.inf:
                reached.add(proposed)
                waiting.append(proposed)
    single = {state for state in states(max_groups) if len(set(state)) == D}
    assert len(single) == {2: 0, 3: 0, 4: 24}[max_groups]
    assert set(states(max_groups)) - reached == single


def test_a_fit_is_a_function_of_the_partition_and_made_once():
    fits, again = fits_of(), fits_of()
    one = fits((1, 2, 1, 2))
    assert fits((2, 1, 2, 1)) is one
    assert len(fits) == 1
    again((1, 1, 1, 1))
    assert np.array_equal(again((3, 1, 3, 1)).theta, one.theta)
    assert canonical((3, 1, 3, 2)) == (1, 2, 1, 3)


def test_a_fit_is_the_maximum_of_its_posterior():
    """Within bounds no coordinate can be moved to rise, and a hundred starts from the prior find nothing higher."""
    from scorebo.inference.maximum import maximize

    fits = fits_of(n=30)
    for labels in ((1, 1, 1, 1), (1, 1, 2, 3), (1, 2, 2, 1)):
        density = fits.density(labels)
        theta = fits(labels).theta
        value, gradient = density(theta)
        low, _ = density.bounds(1e-4)
        free = ~((theta <= low) & (gradient < 0))
        assert np.abs(gradient[free]).max() < 1e-2
        best = maximize(density, noise_lower_bound=1e-4, seed=1, starts=25)
        assert value >= density(best)[0] - 1e-5


def additive_data(n=20):
    rng = np.random.default_rng(1)
    X = rng.random((n, D))
    y = np.sin(6.0 * X[:, 0] * X[:, 1]) + np.cos(5.0 * X[:, 2] * X[:, 3]) + 0.05 * rng.standard_normal(n)
    return torch.from_numpy(X), torch.from_numpy((y - y.mean()) / y.std(ddof=1))


SETTINGS = {"model": "additive", "partitions": Partitions(2), "warmup": 6, "thinning": 2, "num_mcmc_samples": 5}


def test_sets_are_every_thinned_partition_after_warm_up_and_the_last_is_handed_on():
    X, y = additive_data()
    carry = Carry()
    gp = scorebo.fit_gp(X, y, **SETTINGS, seed=3, carry=carry)
    every = scorebo.fit_gp(X, y, **{**SETTINGS, "warmup": 1, "thinning": 1, "num_mcmc_samples": 15}, seed=3)
    assert gp.kernel.partitions == every.kernel.partitions[6::2]
    assert carry.state == {"labels": list(gp.kernel.partitions[-1])}
    assert gp.diagnostics.sampler == "partitions"
    assert gp.diagnostics.num_partitions <= 16
    assert bool((gp.noise >= 1e-4).all())
    # The next fit goes on from there.
    start, fits = (1, 1, 2, 2), PartitionFits(X.numpy(), y.numpy(), load_model("additive", partitions=Partitions(2)))
    rng = np.random.default_rng(derive("partitions", 5))
    chain = walk(lambda labels: fits(labels).log_likelihood, Partitions(2), start, 16, rng)
    gp = scorebo.fit_gp(X, y, **SETTINGS, seed=5, carry=Carry({"labels": list(start)}))
    assert gp.kernel.partitions == tuple(chain.states[7::2])


def test_finds_the_groups_of_data_that_have_them():
    X, y = additive_data(60)
    gp = scorebo.fit_gp(X, y, **{**SETTINGS, "warmup": 32, "num_mcmc_samples": 8}, seed=2)
    assert {canonical(labels) for labels in gp.kernel.partitions} == {(1, 1, 2, 2)}


@pytest.mark.parametrize(
    ("max_groups", "message"),
    [
        (0, "most groups of a partition, must be a whole number of at least 1, got 0"),
        (-1, "at least 1, got -1"),
        (1.5, "whole number"),
        (5, "must be at most the number of inputs, 4; got 5"),
    ],
)
def test_refuses_numbers_of_groups_that_cannot_be(max_groups, message):
    X, y = additive_data()
    with pytest.raises(InputError, match=message):
        scorebo.fit_gp(X, y, "additive", partitions=Partitions(max_groups))


def test_a_task_without_groups_needs_to_be_told(tmp_path):
    with pytest.raises(InputError, match="max_groups"):
        load_model(tiny_config(tmp_path, "branin", "nei", "model=additive")["model"])
    config = tiny_config(tmp_path, "branin", "nei", "model=additive", "model.partitions.max_groups=2")
    assert load_model(config["model"]).partitions == Partitions(2)

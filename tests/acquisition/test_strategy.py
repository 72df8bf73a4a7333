from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from acquisition_contract import unit_box
from omegaconf import OmegaConf

import scorebo
from scorebo.acquisition import SAL, Context, MixtureMean, Proposal, Strategy, build_strategy, maximize
from scorebo.errors import InputError
from scorebo.seeds import derive
from tests.conftest import random_ensemble

CONFIGS = Path(scorebo.__file__).parents[1] / "configs" / "acquisition"
OPTIMIZER = {"raw_samples": 64, "num_restarts": 4, "maxiter": 50, "sample_around_best_sigma": 0.1}


def context(**changes) -> Context:
    settings = {"model": random_ensemble(0), "bounds": unit_box(2), "task": "gramacy2", "seed": 3, "iteration": 11}
    return Context(**(settings | changes))


class Diagonal(Strategy):
    """A strategy of a user's own."""

    def __init__(self, step: float):
        self.step = step

    def propose(self, context):
        return Proposal(torch.full((2,), self.step * context.iteration, dtype=torch.float64))


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_config_builds_and_proposes(path):
    node = OmegaConf.load(path)
    node = node.get("acquisition", node)  # a config that also selects a model has a node of its own
    assert node.name == path.stem
    strategy = build_strategy(node, OmegaConf.create(OPTIMIZER))
    proposal = strategy.propose(context())
    assert proposal.x.shape == (2,)
    assert ((proposal.x >= 0) & (proposal.x <= 1)).all()
    assert (proposal.value is None) == (path.stem in ("sobol", "random", "thompson"))
    assert torch.equal(pickle.loads(pickle.dumps(strategy)).propose(context()).x, proposal.x)


def test_all_of_this_issue_are_there():
    names = {path.stem for path in CONFIGS.glob("*.yaml")}
    assert names >= {"sal_hr", "sal_ws", "sal_kl", "sal_hr_mc", "sal_ws_mc", "sal_kl_mc", "bald", "bqbc", "qbmgp"}
    assert names >= {"balm", "sobol", "random"}


def test_an_acquisition_is_maximized_with_the_named_seed_around_the_best_observation():
    node = {"name": "mine", "_target_": "scorebo.acquisition.SAL", "distance": "wasserstein"}
    proposal = build_strategy(node, OPTIMIZER).propose(context())
    model = random_ensemble(0)
    around = model.train_X[model.train_Y.argmax()]
    seed = derive("gramacy2", 3, "acquisition", 11)
    x, value = maximize(SAL(model, "wasserstein"), unit_box(2), seed=seed, around=around, **OPTIMIZER)
    assert torch.equal(proposal.x, x[0])
    assert proposal.value == value.item()


@pytest.mark.parametrize("name", ["sobol", "random"])
def test_references_depend_on_task_seed_and_iteration_only(name):
    strategy = build_strategy(OmegaConf.load(CONFIGS / f"{name}.yaml"), OPTIMIZER)
    x = strategy.propose(context()).x
    assert torch.equal(strategy.propose(context(model=random_ensemble(9))).x, x)
    for change in ({"task": "higdon"}, {"seed": 4}, {"iteration": 12}):
        assert not torch.equal(strategy.propose(context(**change)).x, x)


def test_sobol_is_one_sequence():
    strategy = build_strategy({"_target_": "scorebo.acquisition.Sobol"})
    X = torch.stack([strategy.propose(context(iteration=i)).x for i in range(1, 65)])
    # A digital net: each half, quarter ... of every coordinate holds its exact share.
    for cells in (2, 8, 64):
        for column in X.mT:
            assert torch.bincount((column * cells).long(), minlength=cells).tolist() == [64 // cells] * cells


def test_references_use_the_box():
    bounds = torch.tensor([[2.0, -1.0], [3.0, 0.0]], dtype=torch.float64)
    for name in ("Sobol", "Random"):
        x = build_strategy({"_target_": f"scorebo.acquisition.{name}"}).propose(context(bounds=bounds)).x
        assert ((x >= bounds[0]) & (x <= bounds[1])).all()


def test_thompson_queries_the_maximizer_of_one_draw_from_one_set():
    strategy = build_strategy({"_target_": "scorebo.acquisition.Thompson"})
    now = context(num_features=128)
    x = strategy.propose(now).x
    optima, _ = now.sample_optima(num_optima=1)
    assert (optima[0] == x).all(dim=-1).any()
    torch.rand(5)  # the global random state plays no part
    assert torch.equal(strategy.propose(now).x, x)
    # Over the iterations every set has its turn.
    chosen = set()
    for iteration in range(1, 31):
        then = context(num_features=128, iteration=iteration)
        same = (then.sample_optima(num_optima=1)[0][0] == strategy.propose(then).x).all(dim=-1)
        chosen.add(int(same.nonzero()[0]))
    assert chosen == {0, 1, 2, 3}


def test_exploit_step_queries_the_maximizer_of_the_mean():
    node = {"name": "mine", "_target_": "scorebo.acquisition.SAL", "exploit_probability": 0.5}
    strategy = build_strategy(node, OPTIMIZER)
    model = random_ensemble(0)
    around = model.train_X[model.train_Y.argmax()]
    proposals = {i: strategy.propose(context(iteration=i)) for i in range(1, 25)}
    exploited = {i: proposal for i, proposal in proposals.items() if proposal.value is None}
    # 24 fair coins: within three standard deviations.
    assert 5 <= len(exploited) <= 19
    for i, proposal in list(exploited.items())[:3]:
        seed = derive("gramacy2", 3, "acquisition", i)
        x, _ = maximize(MixtureMean(model), unit_box(2), seed=seed, around=around, **OPTIMIZER)
        assert torch.equal(proposal.x, x[0])


def test_a_strategy_from_elsewhere():
    strategy = build_strategy({"name": "diagonal", "_target_": f"{__name__}.Diagonal", "step": 0.01}, OPTIMIZER)
    assert strategy.propose(context()).x.tolist() == pytest.approx([0.11, 0.11])


@pytest.mark.parametrize(
    ("node", "optimizer", "message"),
    [
        ({"name": "a"}, {}, "no _target_"),
        ({"name": "a", "_target_": "scorebo.acquisition.SALT"}, {}, "cannot be loaded"),
        ({"name": "a", "_target_": "scorebo.acquisition.sal.ESTIMATOR_NAMES"}, {}, "not a class"),
        ({"name": "a", "_target_": "scorebo.acquisition.SAL", "distanse": "kl"}, {}, "Allowed: distance, estimator"),
        ({"name": "a", "_target_": "scorebo.acquisition.SAL", "distance": "l2"}, {}, "kl, reverse_kl, wasserstein"),
        ({"name": "a", "_target_": "scorebo.acquisition.Sobol", "step": 1}, {}, "Allowed: none"),
        ({"name": "a", "_target_": "scorebo.acquisition.UCB", "beta": -1}, {}, "beta must be"),
        ({"name": "a", "_target_": "scorebo.acquisition.JES", "exploit_probability": -1}, {}, "exploit_probability"),
        ({"name": "a", "_target_": "scorebo.acquisition.JES", "exploit_probability": 2.0}, {}, "exploit_probability"),
        ({"name": "a", "_target_": "scorebo.acquisition.BALD"}, {"restart": 3}, "Allowed: raw_samples, num_restarts"),
    ],
)
def test_unusable_nodes_are_refused_before_anything_runs(node, optimizer, message):
    with pytest.raises(InputError, match=message):
        build_strategy(node, optimizer)

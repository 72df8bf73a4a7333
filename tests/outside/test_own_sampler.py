"""A sampler from outside the tree: one class, found by its import path, and one config file."""

import json
import textwrap

import numpy as np
import pandas as pd
import pytest
import torch

import scorebo
from scorebo.cli import main
from scorebo.config import as_dict, compose
from scorebo.errors import InputError
from scorebo.inference import Carry
from scorebo.run.loop import execute
from scorebo.run.replay import replay
from scorebo.store import RunStore, read_records
from tests.runs import tiny_overrides, without_timings

MODULE = """
import numpy as np

from scorebo.inference import Chain, ChainSampler, Sampler, Samples


def walk(density, theta, steps, step_size, rng):
    states, accepted = [], 0
    value, _ = density(theta)
    for _ in range(steps):
        proposed = theta + step_size * rng.standard_normal(len(theta))
        new_value, _ = density(proposed)
        if np.log(rng.uniform()) < new_value - value:
            theta, value, accepted = proposed, new_value, accepted + 1
        states.append(theta)
    return np.stack(states), accepted / steps


class Metropolis(Sampler):
    '''Random-walk Metropolis, from where the chain of the fit before ended.'''

    def __init__(self, warmup, thinning, step_size=0.5):
        self.warmup, self.thinning, self.step_size = warmup, thinning, step_size

    def sample(self, density, num_samples, seed, state):
        rng = np.random.default_rng(seed)
        start = density.sample_prior(rng, 1)[0] if state is None else np.array(state["theta"])
        warmup = self.warmup if state is None else 0
        draws, acceptance = walk(density, start, warmup + self.thinning * num_samples, self.step_size, rng)
        kept = draws[warmup:]
        fits = 1 if state is None else state["fits"] + 1
        return Samples(
            kept[self.thinning - 1 :: self.thinning],
            chain=Chain(kept, acceptance=acceptance),
            state={"theta": kept[-1].tolist(), "fits": fits},
            diagnostics={"fits": fits},
        )


class Afresh(ChainSampler):
    '''The same, from the prior in every fit.'''

    def chain(self, density, start, draws, seed):
        steps = self.warmup + draws
        states, acceptance = walk(density, start, steps, 0.5, np.random.default_rng(seed))
        return Chain(states[self.warmup :], acceptance=acceptance)


class Unfinished(Sampler):
    pass


class Returns(Sampler):
    '''Returns what it is told.'''

    def __init__(self, what):
        self.what = what

    def sample(self, density, num_samples, seed, state):
        theta = np.zeros((num_samples, density.dim))
        return {
            "infinite": Samples(theta + np.inf),
            "wide": Samples(np.zeros((num_samples, density.dim + 1))),
            "array": Samples(theta, state={"theta": theta}),
            "tuple": Samples(theta, state={"theta": (1, 2)}),
        }[self.what]
"""
MCMC = {
    "metropolis": "# Random-walk Metropolis.\nsampler: own_sampler.Metropolis\nstep_size: 0.4\n",
    "afresh": "sampler: own_sampler.Afresh\n",
}
DATA = torch.linspace(0, 1, 12, dtype=torch.float64)[:, None]
FIT = {"X": DATA, "Y": torch.sin(6 * DATA) / 0.6, "num_mcmc_samples": 8, "seed": 3}


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A folder with the module and the configs, from which the commands are called."""
    (tmp_path / "own_sampler.py").write_text(textwrap.dedent(MODULE))
    (tmp_path / "configs" / "mcmc").mkdir(parents=True)
    for name, text in MCMC.items():
        (tmp_path / "configs" / "mcmc" / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def overrides(results, mcmc="metropolis", *more):
    return tiny_overrides(results, "gramacy1", "sal_hr", f"mcmc={mcmc}", *more)


def run(*arguments):
    return main(["run", "--quiet", "--config-dir", "configs", *arguments])


def records_in(results):
    (path,) = results.rglob("records.jsonl")
    return path.parent, [without_timings(record) for record in read_records(path).records]


def test_its_diagnostics_are_recorded_and_collected(own):
    assert run(*overrides(own / "out")) == 0
    _, records = records_in(own / "out")
    told = [record["mcmc"] for record in records[2:]]
    assert {mcmc["sampler"] for mcmc in told} == {"own_sampler.Metropolis"}
    assert [mcmc["fits"] for mcmc in told] == [1, 2, 3, 4, 5]
    for mcmc in told:
        assert 0.0 < mcmc["acceptance"] <= 1.0
        assert mcmc["draws"] == 3
        assert mcmc["ess_bulk"] is None  # three draws are too few for the halves
    assert main(["collect", "out", "--out", "table.parquet"]) == 0
    table = pd.read_parquet("table.parquet")
    assert table["mcmc_fits"].dropna().tolist() == [1, 2, 3, 4, 5]
    assert table["mcmc_acceptance"].notna().sum() == 5


def test_an_interrupted_run_ends_bit_equal_and_every_iteration_is_replayed(own):
    assert run(*overrides(own / "whole")) == 0
    config = as_dict(compose(overrides(own / "pieces"), own / "configs"))

    def interrupt(*_):
        raise KeyboardInterrupt

    for _ in range(7):
        with pytest.raises(KeyboardInterrupt):
            execute(config, interrupt)
    assert run(*overrides(own / "pieces")) == 0
    (folder, whole), (_, pieces) = records_in(own / "whole"), records_in(own / "pieces")
    assert pieces == whole
    for iteration in (3, 5, 7):
        assert main(["replay", str(folder), "--iteration", str(iteration)]) == 0
    checkpoint = json.loads((folder / "checkpoint.json").read_text())
    assert checkpoint["state"]["fits"] == 5
    (folder / "checkpoint.json").unlink()
    assert replay(folder, 7).differences == []


def test_a_run_without_a_state_is_replayed_without_repeating_its_fits(own, monkeypatch):
    assert run(*overrides(own / "out", "afresh", "benchmark.total=4")) == 0
    folder, records = records_in(own / "out")
    assert [record["mcmc"]["retries"] for record in records[2:]] == [0, 0, 0]
    import own_sampler

    calls, real = [], own_sampler.Afresh.chain
    monkeypatch.setattr(own_sampler.Afresh, "chain", lambda *a, **k: calls.append(1) or real(*a, **k))
    assert replay(folder, 5).differences == []
    assert len(calls) == 1


def test_it_samples_the_posterior_that_nuts_samples():
    import own_sampler

    settings = {**FIT, "num_mcmc_samples": 400, "model": "al_lognormal", "warmup": 1000}
    ours = scorebo.fit_gp(sampler=own_sampler.Metropolis, thinning=50, step_size=0.8, **settings)
    nuts = scorebo.fit_gp(sampler="nuts", thinning=4, **settings)
    assert ours.diagnostics.ess_bulk > 200
    assert ours.diagnostics.own == {"fits": 1}
    for name in ("lengthscale", "noise", "outputscale"):
        a, b = (np.log(getattr(gp, name).numpy().ravel()) for gp in (ours, nuts))
        assert abs(a.mean() - b.mean()) < 0.3 * b.std(), name
        assert a.std() == pytest.approx(b.std(), rel=0.25), name


def test_its_state_is_what_a_checkpoint_gives_back():
    carry = Carry()
    scorebo.fit_gp(**FIT, sampler="own_sampler.Returns", what="tuple", carry=carry)
    assert carry.state == {"theta": [1, 2]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampler": "own_sampler.Metropolis", "step": 1}, "Unknown setting of model 'bo_lognormal' 'step'"),
        ({"sampler": "own_sampler.Nothing"}, "The sampler 'own_sampler.Nothing' cannot be loaded. AttributeError"),
        ({"sampler": "no_such.Sampler"}, "The sampler 'no_such.Sampler' cannot be loaded. ModuleNotFoundError"),
        ({"sampler": "own_sampler.walk"}, "is not a subclass of scorebo.inference.base.Sampler"),
        ({"sampler": "metropolis"}, "Allowed: map, nuts, pyro, sequential, your_package.YourClass"),
        ({"sampler": "own_sampler.Unfinished"}, "'own_sampler.Unfinished' lacks the method sample"),
        ({"sampler": "own_sampler.Returns"}, "'own_sampler.Returns' cannot be made: .* 'what'"),
        ({"sampler": "own_sampler.Returns", "what": "infinite"}, "must return finite samples M x 4, got shape"),
        ({"sampler": "own_sampler.Returns", "what": "wide"}, r"finite samples M x 4, got shape \(8, 5\)"),
        ({"sampler": "own_sampler.Returns", "what": "array"}, "are not JSON. A ndarray cannot be stored"),
    ],
)
def test_mistakes_are_explained(settings, message):
    with pytest.raises(InputError, match=message):
        scorebo.fit_gp(**FIT, **settings)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["+mcmc.stepsize=1"],
            "of sampler 'own_sampler.Metropolis' 'stepsize'. Did you mean step_size",
        ),
        (["mcmc.stepsize=1"], "Unknown setting in 'mcmc' 'stepsize'. Did you mean step_size"),
        (["+mcmc.max_tree_depth=4"], "Allowed: num_mcmc_samples, step_size, thinning, warmup"),
        (["mcmc.sampler=own_sampler.Metropoli"], "The sampler 'own_sampler.Metropoli' cannot be loaded"),
    ],
)
def test_mistakes_on_the_command_line_are_explained_before_anything_is_stored(own, capsys, more, message):
    assert run(*overrides(own / "out", "metropolis", *more)) == 2
    assert message in capsys.readouterr().err
    assert not (own / "out").exists()


def test_the_optimizer_of_an_own_function_takes_it():
    settings = ["mcmc.sampler=own_sampler.Nothing"]
    with pytest.raises(InputError, match="cannot be loaded"):
        scorebo.Optimizer([(0.0, 1.0)], settings=settings)


def test_the_identity_of_a_run_is_that_of_its_settings(own):
    ids = {
        RunStore(own, as_dict(compose(overrides(own, "metropolis", *more), own / "configs"))).run_id
        for more in ([], ["mcmc.step_size=0.5"], ["mcmc.sampler=own_sampler.Other"])
    }
    assert len(ids) == 3

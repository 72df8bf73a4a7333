"""A statistical distance from outside the tree: one class with the closed form and the estimator, one file."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from scorebo.acquisition import SAL, SCoreBO
from scorebo.acquisition.distances import sobol_levels
from scorebo.acquisition.mixture import Mixture, Normals
from scorebo.cli import main
from scorebo.errors import InputError
from scorebo.optima import sample_optima
from scorebo.run.replay import replay
from scorebo.search.box import unit_box
from scorebo.store import read_records
from tests.conftest import random_ensemble
from tests.runs import tiny_overrides

MODULE = """
from scorebo.acquisition import Distance
from scorebo.acquisition.exact import affinity_deficit


class Bhattacharyya(Distance):
    '''−log ∫ √(q p).'''

    of_components = True

    def closed_form(self, mean1, variance1, mean2, variance2):
        total = variance1 + variance2
        return 0.25 * (mean1 - mean2) ** 2 / total + 0.5 * (0.5 * total / (variance1 * variance2).sqrt()).log()

    def estimate(self, conditionals, mixture, u):
        y = mixture.components.quantile(u).flatten(start_dim=-2)
        log_ratio = conditionals.log_prob(y.unsqueeze(-2)) - mixture.log_prob(y).unsqueeze(-2)
        return -(0.5 * log_ratio).exp().mean(dim=-1).log()

    def exact(self, conditionals, mixture):
        return -(-affinity_deficit(conditionals, mixture)).log1p()


class Sampled(Bhattacharyya):
    '''Without an exact form.'''

    exact = Distance.exact


class Jeffreys(Distance):
    '''KL in both directions; without an estimator.'''

    def closed_form(self, mean1, variance1, mean2, variance2):
        return mean1
"""
PATH = "own_distance.Bhattacharyya"
NORMALS = [(0.0, 1.0, 0.5, 2.0), (-0.4, 0.3, 0.4, 0.4), (0.1, 1.0, 0.1, 1.0), (2.0, 4.0, 0.0, 0.5)]


@pytest.fixture(autouse=True)
def distance(tmp_path, monkeypatch):
    (tmp_path / "own_distance.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import own_distance

    return own_distance.Bhattacharyya


def integral(mean1, variance1, mean2, variance2):
    root = lambda y: np.sqrt(norm.pdf(y, mean1, variance1**0.5) * norm.pdf(y, mean2, variance2**0.5))  # noqa: E731
    return -np.log(quad(root, -30.0, 30.0, points=[mean1, mean2], limit=200)[0])


@pytest.mark.parametrize("pair", NORMALS)
def test_closed_form_and_estimator_are_the_integral(distance, pair):
    tensors = [torch.tensor([[number]], dtype=torch.float64) for number in pair]
    exact = integral(*pair)
    assert distance().closed_form(*tensors).item() == pytest.approx(exact, abs=1e-9)
    u = sobol_levels(2**14, 1, seed=0)
    estimate = distance().estimate(Normals(*tensors[:2]), Mixture(Normals(*tensors[2:])), u).item()
    assert estimate == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("estimator", ["moment_matching", "monte_carlo", "exact"])
def test_sal_and_scorebo_are_its_means(distance, estimator):
    """H² = 1 − exp(−B) of the same estimates: checks the acquisitions against those with the built-in distance."""
    model = random_ensemble(2)
    points = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    optima = sample_optima(model, unit_box(2), 3, 256, seed=1)
    moments = model.marginals(points, observation_noise=True)

    def distances(name):
        options = {"distance": name, "estimator": estimator}
        options |= {"num_samples": 4096} if estimator == "monte_carlo" else {}
        sal, scorebo = SAL(model, **options), SCoreBO(model, *optima, **options)
        return sal.per_set(*moments, sal.levels), scorebo.per_optimum(points, scorebo.levels)

    for ours, theirs in zip(distances(PATH), distances("hellinger"), strict=True):
        torch.testing.assert_close(-(-ours).expm1(), theirs.square(), rtol=1e-6, atol=1e-9)
    assert torch.equal(SAL(model, distance)(points.unsqueeze(1)), SAL(model, PATH)(points.unsqueeze(1)))


@pytest.mark.parametrize(("benchmark", "acquisition"), [("gramacy1", "sal_hr"), ("branin", "scorebo_hr")])
@pytest.mark.parametrize("estimator", ["moment_matching", "monte_carlo", "exact"])
def test_runs_with_it(tmp_path, benchmark, acquisition, estimator):
    settings = [f"acquisition.distance={PATH}", f"acquisition.estimator={estimator}", "benchmark.total=5"]
    settings += ["mcmc.num_optima=2", "mcmc.num_features=64"]
    assert main(["run", "--quiet", *tiny_overrides(tmp_path / "out", benchmark, acquisition, *settings)]) == 0
    (path,) = (tmp_path / "out").rglob("records.jsonl")
    records = read_records(path).records
    assert [record["kind"] for record in records[-2:]] == ["query", "final"]
    assert records[-2]["acquisition_value"] > 0
    assert replay(path.parent, 5).differences == []


@pytest.mark.parametrize("acquisition", [SAL, SCoreBO])
def test_without_an_exact_form_the_exact_estimator_is_refused(acquisition):
    acquisition.check_options(distance="own_distance.Sampled", estimator="monte_carlo")
    with pytest.raises(InputError, match=r"own_distance\.Sampled has no method exact"):
        acquisition.check_options(distance="own_distance.Sampled", estimator="exact")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bhatta", "Unknown distance 'bhatta'. Allowed: hellinger, kl, reverse_kl, wasserstein, your_package"),
        ("own_distance.Bhatta", "The distance 'own_distance.Bhatta' cannot be loaded. AttributeError"),
        ("own_distance.Jeffreys", "The distance 'own_distance.Jeffreys' lacks the method estimate"),
        ("scorebo.acquisition.SAL", "is not a subclass of scorebo.acquisition.distances.Distance"),
    ],
)
@pytest.mark.parametrize("acquisition", [SAL, SCoreBO])
def test_mistakes_are_explained(acquisition, name, message):
    with pytest.raises(InputError, match=message):
        acquisition.check_options(distance=name)

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp.priors import GAUSSIAN, Gamma, LogNormal, Normal, Prior

PRIORS = [
    LogNormal(0.0, 3.0),
    LogNormal(-1.0, 0.1),
    Gamma(3.0, 6.0),
    Gamma(1.1, 0.05),
    Normal(0.0, 1.0),
    Normal(2.0, 4.0),
]


def scipy_of(prior: Prior):
    if isinstance(prior, LogNormal):
        return stats.lognorm(s=math.sqrt(prior.variance), scale=math.exp(prior.mean))
    if isinstance(prior, Gamma):
        return stats.gamma(prior.shape, scale=1.0 / prior.rate)
    assert isinstance(prior, Normal)
    return stats.norm(prior.mean, math.sqrt(prior.variance))


@pytest.mark.parametrize("prior", PRIORS, ids=str)
class TestEveryPrior:
    def test_density_formula(self, prior):
        values = scipy_of(prior).ppf([1e-4, 0.1, 0.5, 0.9, 1 - 1e-4])
        ours = prior.log_prob(torch.tensor(values, dtype=torch.float64))
        np.testing.assert_allclose(ours, scipy_of(prior).logpdf(values), rtol=1e-10, atol=1e-10)

    def test_draws_have_the_moments(self, prior):
        draws = prior.sample(np.random.default_rng(1), 200_000)
        if prior.positive:
            draws = np.log(draws)
        log_moments = {
            LogNormal: lambda p: (p.mean, p.variance),
            Normal: lambda p: (p.mean, p.variance),
            # of log Γ: digamma(shape) − log(rate), trigamma(shape)
            Gamma: lambda p: (float(stats.loggamma(p.shape).mean()) - math.log(p.rate), stats.loggamma(p.shape).var()),
        }
        mean, variance = log_moments[type(prior)](prior)
        assert draws.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / len(draws)))
        assert draws.var() == pytest.approx(variance, rel=0.03)

    def test_unconstrained_form_is_the_density_with_its_jacobian(self, prior):
        form, a, b = prior.unconstrained
        for u in (-2.0, -0.3, 0.0, 1.4):
            value = math.exp(u) if prior.positive else u
            expected = scipy_of(prior).logpdf(value) + (u if prior.positive else 0.0)
            if form == GAUSSIAN:
                ours = -0.5 * (u - a) ** 2 / b - 0.5 * math.log(2 * math.pi * b)
            else:
                ours = a * u - b * math.exp(u) + a * math.log(b) - math.lgamma(a)
            assert ours == pytest.approx(expected, rel=1e-12)


def test_lognormal_takes_a_variance():
    """LN(0, 3) has log-standard-deviation √3, so its mean is e^1.5; a standard deviation of 3 would give e^4.5."""
    prior = LogNormal(0.0, 3.0)

    def integrand(u: float) -> float:
        return math.exp(2 * u + float(prior.log_prob(torch.tensor(math.exp(u), dtype=torch.float64))))

    mean, _ = quad(integrand, -20, 25)
    assert mean == pytest.approx(math.exp(1.5), rel=1e-8)


EXPECTED = {
    "al_lognormal": (LogNormal(0.0, 3.0), LogNormal(0.0, 3.0), LogNormal(0.0, 3.0), 0.0),
    "al_lognormal_no_outputscale": (LogNormal(0.0, 3.0), 1.0, LogNormal(0.0, 3.0), 0.0),
    "bo_lognormal": (LogNormal(0.0, 3.0), LogNormal(0.0, 3.0), LogNormal(0.0, 3.0), Normal(0.0, 1.0)),
    "botorch": (Gamma(3.0, 6.0), Gamma(2.0, 0.15), Gamma(1.1, 0.05), Normal(0.0, 1.0)),
    "map": (LogNormal(0.0, 3.0), LogNormal(0.0, 3.0), LogNormal(0.0, 3.0), Normal(0.0, 1.0)),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_models_have_the_specified_priors(name):
    model = load_model(name)
    assert (model.lengthscale, model.outputscale, model.noise, model.mean) == EXPECTED[name]
    assert model.kernel.name == "matern52"
    assert model.standardize
    assert model.estimate == ("map" if name == "map" else "posterior")


def test_true_model_takes_its_values():
    model = load_model("true", lengthscale=[0.1, 2.0])
    assert model.is_known
    assert not model.standardize
    assert model.beliefs(2) == [0.1, 2.0, 1.0, 0.1, 0.0]
    with pytest.raises(InputError, match="2 lengthscales for 3 input dimensions"):
        model.beliefs(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogNormal(0.0, 0.0), "variance of a LogNormal prior must be a finite number above 0"),
        (lambda: Gamma(-1.0, 2.0), "shape of a Gamma prior"),
        (lambda: Normal(float("nan"), 1.0), "mean of a Normal prior"),
        (lambda: load_model("bo_lognormal", noise=-0.1), "noise of model 'bo_lognormal'"),
        (lambda: load_model("bo_lognormal", lengthscale=Normal(0.0, 1.0)), "must be LogNormal or Gamma"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()

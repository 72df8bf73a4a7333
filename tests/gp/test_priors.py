import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp import LogDensity, SparseLengthscales
from scorebo.gp._compiled import log_prior
from scorebo.gp.priors import GAUSSIAN, LOG_GAMMA, Gamma, HalfCauchy, LogNormal, Normal, Prior

PRIORS = [
    LogNormal(0.0, 3.0),
    LogNormal(-1.0, 0.1),
    Gamma(3.0, 6.0),
    Gamma(1.1, 0.05),
    HalfCauchy(0.1),
    HalfCauchy(1.0),
    Normal(0.0, 1.0),
    Normal(2.0, 4.0),
]


SPARSE = SparseLengthscales(HalfCauchy(0.1), HalfCauchy(1.0))


def scipy_of(prior: Prior):
    if isinstance(prior, LogNormal):
        return stats.lognorm(s=math.sqrt(prior.variance), scale=math.exp(prior.mean))
    if isinstance(prior, Gamma):
        return stats.gamma(prior.shape, scale=1.0 / prior.rate)
    if isinstance(prior, HalfCauchy):
        return stats.halfcauchy(scale=prior.scale)
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
            # of a hyperbolic secant around log(scale): 0 and (π/2)²
            HalfCauchy: lambda p: (math.log(p.scale), math.pi**2 / 4),
            Gamma: lambda p: (float(stats.loggamma(p.shape).mean()) - math.log(p.rate), stats.loggamma(p.shape).var()),
        }
        mean, variance = log_moments[type(prior)](prior)
        assert draws.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / len(draws)))
        assert draws.var() == pytest.approx(variance, rel=0.03)

    def test_unconstrained_form_is_the_density_with_its_jacobian(self, prior):
        form, a, b, constant = prior.unconstrained
        for u in (-2.0, -0.3, 0.0, 1.4):
            value = math.exp(u) if prior.positive else u
            expected = scipy_of(prior).logpdf(value) + (u if prior.positive else 0.0)
            if form == GAUSSIAN:
                ours = -0.5 * (u - a) ** 2 / b - 0.5 * math.log(2 * math.pi * b)
            elif form == LOG_GAMMA:
                ours = a * u - b * math.exp(u) + a * math.log(b) - math.lgamma(a)
            else:
                ours = -math.log(math.cosh(u - a)) - math.log(math.pi)
            assert ours == pytest.approx(expected, rel=1e-12)
            compiled, slope = log_prior(form, a, b, u)
            assert compiled + constant == pytest.approx(expected, rel=1e-12)
            difference = log_prior(form, a, b, u + 1e-6)[0] - log_prior(form, a, b, u - 1e-6)[0]
            assert slope == pytest.approx(difference / 2e-6, rel=1e-7, abs=1e-8)

    def test_compiled_form_is_finite_far_out(self, prior):
        form, a, b, _ = prior.unconstrained
        for u in (-300.0, 300.0):
            assert np.isfinite(log_prior(form, a, b, u)).all()


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
    "saas": (
        SparseLengthscales(HalfCauchy(0.1), HalfCauchy(1.0)),
        Gamma(2.0, 0.15),
        Gamma(0.9, 10.0),
        Normal(0.0, 1.0),
    ),
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
    np.testing.assert_allclose(model.known_parameters(2), [*np.log([0.1, 2.0, 1.0, 0.1]), 0.0])
    with pytest.raises(InputError, match="2 lengthscales for 3 input dimensions"):
        model.known_parameters(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogNormal(0.0, 0.0), "variance of a LogNormal prior must be a finite number above 0"),
        (lambda: Gamma(-1.0, 2.0), "shape of a Gamma prior"),
        (lambda: Normal(float("nan"), 1.0), "mean of a Normal prior"),
        (lambda: HalfCauchy(0.0), "scale of a HalfCauchy prior"),
        (
            lambda: SparseLengthscales(Normal(0.0, 1.0), HalfCauchy(1.0)),
            "global_shrinkage of SparseLengthscales must be",
        ),
        (lambda: SparseLengthscales(HalfCauchy(1.0), 0.3), "local_shrinkage of SparseLengthscales must be"),
        (lambda: load_model("bo_lognormal", noise=HalfCauchy(1.0), outputscale=SPARSE), "outputscale of model"),
        (lambda: load_model("bo_lognormal", noise=-0.1), "noise of model 'bo_lognormal'"),
        (lambda: load_model("bo_lognormal", lengthscale=Normal(0.0, 1.0)), "must be too, as LogNormal, Gamma and Half"),
        (lambda: load_model("bo_lognormal", mean=LogNormal(0.0, 1.0)), "mean of model 'bo_lognormal' may be negative"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_sparse_lengthscales_follow_from_their_coordinates():
    """ℓ_d = 1/(κ_d τ), from draws of the prior."""
    model = load_model("saas")
    density = LogDensity(np.zeros((2, 3)), np.zeros(2), model)
    assert density.names == [
        *("log local precision 1", "log local precision 2", "log local precision 3", "log global precision"),
        *("log outputscale", "log noise", "mean"),
    ]
    theta = density.sample_prior(np.random.default_rng(0), 4)
    kappa, tau = np.exp(0.5 * theta[:, :3]), np.exp(0.5 * theta[:, 3:4])
    sets = density.constrain(theta)
    np.testing.assert_allclose(sets["lengthscale"], 1.0 / (kappa * tau), rtol=1e-12)
    np.testing.assert_allclose(sets["outputscale"], np.exp(theta[:, 4]), rtol=1e-12)
    np.testing.assert_allclose(sets["noise"], np.exp(theta[:, 5]), rtol=1e-12)
    assert np.array_equal(sets["mean"], theta[:, 6])

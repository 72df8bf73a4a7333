from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from acquisition_contract import points
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch_community.acquisition.scorebo import qSelfCorrectingBayesianOptimization
from optima_contract import OptimaContract, one_set, some_optima
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from scorebo.acquisition import SAL, SCoreBO
from scorebo.acquisition.conditioning import JITTER
from scorebo.acquisition.distances import DISTANCES, moment_match
from scorebo.acquisition.skew_normal import SkewNormals
from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from tests.conftest import random_ensemble


class TestHellinger(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs)


class TestWasserstein(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="wasserstein")


class TestKL(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="kl")


class TestValue(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, None, outputs, condition_on="value")


class TestLocation(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, None, condition_on="location")


class TestWithoutTruncation(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, truncate=False)


class TestHellingerMonteCarlo(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, estimator="monte_carlo", num_samples=64)


class TestWassersteinMonteCarlo(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="wasserstein", estimator="monte_carlo", num_samples=32)


class TestKLMonteCarlo(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="kl", estimator="monte_carlo", num_samples=64)


class TestReverseKL(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="reverse_kl")


class TestReverseKLMonteCarlo(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="reverse_kl", estimator="monte_carlo", num_samples=64)


class TestLocationMonteCarlo(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, None, condition_on="location", estimator="monte_carlo", num_samples=32)


class TestGaussianMonteCarlo(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, estimator="monte_carlo", num_samples=64, conditional="gaussian")


class TestHellingerExact(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, estimator="exact")


class TestWassersteinExact(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="wasserstein", estimator="exact")


class TestKLExact(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="kl", estimator="exact")


class TestReverseKLExact(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, distance="reverse_kl", estimator="exact")


class TestLocationExact(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, None, condition_on="location", estimator="exact")


class TestGaussianExact(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return SCoreBO(model, inputs, outputs, estimator="exact", conditional="gaussian")


class _Example:
    """Two sets with one optimum each at one point, and everything about them by quadrature."""

    def __init__(self, condition_on: str) -> None:
        plain = random_ensemble(3, n=4, num_mcmc_samples=2)
        sets = {name: getattr(plain, name) for name in ("lengthscale", "outputscale", "mean")}
        self.model = FullyBayesianGP(plain.train_X, plain.train_Y, noise=0.1 * plain.noise, **sets)
        self.inputs, self.outputs = some_optima(self.model, count=1)
        # Near enough to the optimum, and of so little noise, that the truncation shapes the density.
        self.x = self.inputs[0, :1] + 0.15
        self.noise = self.model.noise_variance.tolist()
        mean, variance = self.model.marginals(self.x)
        self.marginal = list(
            zip(mean[0].tolist(), (variance[0] + self.model.noise_variance).sqrt().tolist(), strict=True)
        )
        self.truncated = [(mean[0, m].item(), variance[0, m].item() ** 0.5) for m in range(2)]
        if condition_on == "joint":
            for m in range(2):
                located, covariance = one_set(self.model, m).joint(torch.cat([self.x, self.inputs[0, m][None]]))
                gain = covariance[0, 0, 1] / (covariance[0, 1, 1] + JITTER)
                center = located[0, 0] + gain * (self.outputs[0, m, 0] - located[0, 1])
                spread = (covariance[0, 0, 0] - gain * covariance[0, 0, 1]).sqrt()
                self.truncated[m] = (center.item(), spread.item())

    def mixture(self, y):
        return np.mean([np.exp(-0.5 * ((y - a) / b) ** 2) / b for a, b in self.marginal]) / np.sqrt(2 * np.pi)

    def mixture_cdf(self, y):
        return np.mean([ndtr((y - a) / b) for a, b in self.marginal])

    def f_density(self, m, f):
        """Of f truncated at its maximum."""
        mean, std = self.truncated[m]
        top = self.outputs[0, m, 0].item()
        return np.exp(-0.5 * ((f - mean) / std) ** 2 - log_ndtr((top - mean) / std)) / (std * np.sqrt(2 * np.pi))

    def over_f(self, m, function):
        mean, std = self.truncated[m]
        top = self.outputs[0, m, 0].item()
        low = min(mean, top) - 9 * std
        return quad(lambda f: function(f) * self.f_density(m, f), low, top, limit=200, epsabs=1e-12)[0]

    def table(self, m):
        """Density and CDF of y on a fine grid, by convolution with the noise."""
        std = self.noise[m] ** 0.5
        y = np.linspace(-9, 9, 6001)
        f, weights = np.polynomial.legendre.leggauss(400)
        mean, spread = self.truncated[m]
        top = self.outputs[0, m, 0].item()
        low = min(mean, top) - 9 * spread
        f, weights = low + 0.5 * (top - low) * (f + 1), 0.5 * (top - low) * weights
        weights = weights * np.array([self.f_density(m, value) for value in f])
        z = (y[:, None] - f) / std
        return y, (np.exp(-0.5 * z**2) / (std * np.sqrt(2 * np.pi))) @ weights, ndtr(z) @ weights

    def log_density(self, m, y):
        """The density of the table by Bayes' rule, also where it underflows: p(y) P(f ≤ f* | y)/P(f ≤ f*)."""
        (mean, spread), top = self.truncated[m], self.outputs[0, m, 0].item()
        variance = spread**2 + self.noise[m]
        center = mean + spread**2 / variance * (y - mean)
        std = spread * (self.noise[m] / variance) ** 0.5
        ratio = log_ndtr((top - center) / std) - log_ndtr((top - mean) / spread)
        return norm.logpdf(y, mean, variance**0.5) + ratio


@pytest.mark.parametrize("condition_on", ["joint", "value"])
def test_moments_are_those_of_the_integral(condition_on):
    example = _Example(condition_on)
    acqf = SCoreBO(example.model, example.inputs, example.outputs, condition_on=condition_on)
    mean, variance = acqf._conditional(acqf._predict(example.x)).moments()
    for m in range(2):
        first = example.over_f(m, lambda f: f)
        second = example.over_f(m, lambda f, first=first: (f - first) ** 2)
        assert mean[0, m, 0].item() == pytest.approx(first, abs=1e-8)
        assert variance[0, m, 0].item() == pytest.approx(second + example.noise[m], abs=1e-8)


@pytest.mark.parametrize("condition_on", ["joint", "value"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_distances_are_those_of_the_integrals(distance, condition_on):
    example = _Example(condition_on)
    expected_exact, expected_matched = [], []
    mean, variance = (moment[0] for moment in example.model.marginals(example.x, observation_noise=True))
    marginal = [moment.item() for moment in moment_match(mean, variance)]
    for m in range(2):
        y, density, cdf = example.table(m)
        step = y[1] - y[0]
        mixture = np.array([example.mixture(value) for value in y])
        first = (y * density).sum() * step
        moments = torch.tensor([first, ((y - first) ** 2 * density).sum() * step, *marginal], dtype=torch.float64)
        expected_matched.append(DISTANCES[distance]().closed_form(*moments).item())
        if distance == "hellinger":
            expected_exact.append(np.sqrt(1 - (np.sqrt(density * mixture)).sum() * step))
        elif distance == "kl":
            inside = density > 1e-30
            expected_exact.append((density[inside] * np.log(density[inside] / mixture[inside])).sum() * step)
        elif distance == "reverse_kl":
            log_density = example.log_density(m, y)
            np.testing.assert_allclose(np.exp(log_density), density, atol=1e-9)
            inside = mixture > 1e-30
            log_ratio = np.log(mixture[inside]) - log_density[inside]
            expected_exact.append((mixture[inside] * log_ratio).sum() * step)
        else:
            levels = (np.arange(2000) + 0.5) / 2000
            other = [brentq(lambda v, u=u: example.mixture_cdf(v) - u, -30, 30) for u in levels]
            expected_exact.append(np.sqrt(np.mean((np.interp(levels, cdf, y) - other) ** 2)))
    options = {"distance": distance, "condition_on": condition_on}
    acqf = SCoreBO(example.model, example.inputs, example.outputs, **options)
    matched = acqf.per_optimum(example.x, acqf.levels)
    np.testing.assert_allclose(matched.flatten().numpy(), expected_matched, rtol=1e-6)
    # The log ratio of the reverse KL grows with the square of y beyond the optimum: for the same error it takes more.
    options |= {"estimator": "monte_carlo", "num_samples": 2**18 if distance == "reverse_kl" else 2**14}
    acqf = SCoreBO(example.model, example.inputs, example.outputs, **options)
    sampled = acqf.per_optimum(example.x, acqf.levels)
    # Quasi-Monte Carlo with 16384 points; the quadrature's own error is an order below. Without the exact density the
    # difference would be larger by far.
    np.testing.assert_allclose(sampled.flatten().numpy(), expected_exact, atol=2e-4)
    assert max(abs(np.array(expected_exact) - expected_matched)) > 1e-3
    options = {"distance": distance, "condition_on": condition_on, "estimator": "exact"}
    acqf = SCoreBO(example.model, example.inputs, example.outputs, **options)
    found = acqf.per_optimum(example.x, acqf.levels).flatten().numpy()
    # What is left is the error of the table above.
    np.testing.assert_allclose(found, expected_exact, atol=5e-6 if distance != "wasserstein" else 1e-4)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("estimator", ["moment_matching", "monte_carlo", "exact"])
def test_is_sal_where_the_optimum_tells_nothing(distance, estimator):
    model = random_ensemble(0)
    sets = {name: getattr(model, name) for name in ("outputscale", "noise", "mean")}
    # Lengthscales so short that nothing is known beyond a few hundredths, and an optimum outside the box.
    model = FullyBayesianGP(model.train_X, model.train_Y, lengthscale=0.02 * model.lengthscale, **sets)
    inputs, outputs = torch.full((2, 4, 2), 3.0), torch.full((2, 4, 1), 4.0)
    X = points(50, 2).unsqueeze(1)
    options = {"distance": distance, "estimator": estimator}
    expected = SAL(model, **options)(X)
    torch.testing.assert_close(SCoreBO(model, inputs, outputs, truncate=False, **options)(X), expected)
    torch.testing.assert_close(
        SCoreBO(model, inputs, outputs + 1000, condition_on="value", **options)(X), expected, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize(("distance", "peer_name"), [("hellinger", "hellinger"), ("reverse_kl", "kl_divergence")])
def test_agrees_with_botorch_community(distance, peer_name, monkeypatch):
    """Where its known differences are taken out, which are:

    - with learned noise it conditions the mean as if the optimum were as noisy as the data: given noise is used;
    - the conditional's noise is then the average of all given noises, the optimum's (almost 0) among them: so is ours;
    - its optimum has a variance of 1e-4, ours 1e-6: its constant is set to ours;
    - it clamps Φ at 1e-6: only points where the clamp does nothing are compared;
    - its KL is the reverse, KL(marginal ‖ conditional).

    It has neither the Wasserstein distance nor a Monte Carlo estimator.
    """
    monkeypatch.setattr("botorch_community.acquisition.scorebo.MIN_INFERRED_NOISE_LEVEL", JITTER)
    plain = random_ensemble(2, n=20, num_mcmc_samples=5)
    sets = {name: getattr(plain, name) for name in ("lengthscale", "outputscale", "mean")}
    noise = torch.full((5,), 0.05, dtype=torch.float64)
    model = FullyBayesianGP(plain.train_X, plain.train_Y, noise=noise, **sets)
    inputs, outputs = some_optima(model)
    X = points(100, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = SaasFullyBayesianSingleTaskGP(
            model.train_X, model.train_Y, train_Yvar=noise[0].expand_as(model.train_Y).contiguous()
        )
        peer.load_mcmc_samples({**sets, "lengthscale": model.lengthscale.unsqueeze(1)})
        reference = qSelfCorrectingBayesianOptimization(
            peer, optimal_outputs=outputs, optimal_inputs=inputs, distance_metric=peer_name
        )(X.unsqueeze(1)).detach()

    acqf = SCoreBO(model, inputs, outputs)
    conditional = acqf._conditional(acqf._predict(X))
    averaged = (20 * noise[0] + JITTER) / 21
    moments = SkewNormals(conditional.mean, conditional.shift, averaged, conditional.threshold).moments()
    marginal = [moment.squeeze(-1) for moment in moment_match(*model.marginals(X, observation_noise=True))]
    ours = DISTANCES[distance]().closed_form(*moments, *marginal)
    unclamped = (conditional.threshold > -4.7).all(dim=0).all(dim=0)
    assert unclamped.sum() > 50
    torch.testing.assert_close(ours.mean(dim=(0, 1))[unclamped], reference[unclamped], rtol=1e-6, atol=1e-8)


def test_slices_do_not_change_the_estimate(monkeypatch):
    model, X = random_ensemble(3), points(40, 2).unsqueeze(1)
    for distance in DISTANCES:
        acqf = SCoreBO(model, *some_optima(model), distance=distance, estimator="monte_carlo", num_samples=16)
        whole = acqf(X)
        monkeypatch.setattr("scorebo.acquisition.sal.MAX_ELEMENTS", 3000)
        torch.testing.assert_close(acqf(X), whole, rtol=1e-12, atol=1e-13)


def test_is_the_mean_over_optima_and_sets():
    model, X = random_ensemble(2), points(30, 2)
    acqf = SCoreBO(model, *some_optima(model))
    assert acqf.per_optimum(X, acqf.levels).shape == (3, 4, 30)
    torch.testing.assert_close(acqf.per_optimum(X, acqf.levels).mean(dim=(0, 1)), acqf(X.unsqueeze(1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": "helinger"}, "hellinger, kl, reverse_kl, wasserstein"),
        ({"estimator": "mc"}, "exact, moment_matching, monte_carlo"),
        ({"estimator": "exact", "num_samples": 64}, "num_samples is that of Monte Carlo"),
        ({"condition_on": "both"}, "joint, location, value"),
        ({"conditional": "normal"}, "exact, gaussian"),
        ({"truncate": "no"}, "truncate"),
        ({"num_samples": 0}, "num_samples"),
        ({"seed": -1}, "seed"),
        ({"condition_on": "value", "truncate": False}, "nothing is left but SAL"),
        ({"condition_on": "location", "truncate": False}, "nothing is left but SAL"),
    ],
)
def test_unusable_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        SCoreBO.check_options(**options)
    with pytest.raises(InputError, match=message):
        SCoreBO(random_ensemble(0), torch.rand(3, 4, 2), torch.rand(3, 4, 1), **options)


@pytest.mark.parametrize(
    ("inputs", "outputs", "condition_on", "message"),
    [
        (None, torch.rand(3, 4, 1), "joint", "optimal_inputs is needed"),
        (torch.rand(3, 4, 2), None, "joint", "optimal_outputs is needed"),
        (torch.rand(3, 4, 2), None, "value", "optimal_outputs is needed"),
        (None, torch.rand(3, 4, 1), "location", "optimal_inputs is needed"),
        (torch.rand(3, 4, 2), torch.rand(3, 5, 1), "joint", "optimal_outputs must be N x 4 x 1"),
        (torch.rand(3, 4, 2), torch.rand(2, 4, 1), "joint", "3 optima"),
        (torch.rand(4, 2), torch.rand(4, 1), "joint", "optimal_inputs must be N x 4 x 2"),
    ],
)
def test_unusable_optima_are_refused(inputs, outputs, condition_on, message):
    with pytest.raises(InputError, match=message):
        SCoreBO(random_ensemble(0), inputs, outputs, condition_on=condition_on)

"""The ensemble of M exact GPs that share their data: the belief every acquisition looks at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from botorch.models.model import Model
from botorch.posteriors.fully_bayesian import MCMC_DIM, GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from linear_operator import to_linear_operator
from scipy.linalg import blas
from torch import Tensor

from scorebo.errors import InputError
from scorebo.gp.kernels import RBF, Array, Kernel, Matern52, as_kernel
from scorebo.gp.warping import Warped

if TYPE_CHECKING:
    from botorch.models.fully_bayesian import AbstractFullyBayesianSingleTaskGP

    from scorebo.gp.diagnostics import Diagnostics


class FullyBayesianGP(Model):
    """M exact GPs on the same data, one per hyperparameter set; a BoTorch fully Bayesian `Model`.

    K_m = k_m(X, X) + (noise_m + noise_floor)·I is factorized once, here. The inverse Cholesky factors W_m and
    α_m = K_m⁻¹(y − mean_m) are kept, so that b points cost O(M(bnD + bn²)) and nothing is factorized again.

    Args:
        train_X: `n x D`, already scaled; nothing is scaled inside.
        train_Y: `n x 1` or `n`, already standardized.
        lengthscale: `M x D`.
        outputscale: `M`, a variance.
        noise: `M`, a variance.
        mean: `M`, the constant prior mean.
        kernel: a kernel object, or "matern52" or "rbf"; it brings what it has of its own for each set.
        noise_floor: added to every noise variance, in K and in noisy predictions.
        diagnostics: how the sets were drawn, where they were.
    """

    _is_fully_bayesian = True
    _is_ensemble = True

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        *,
        lengthscale: Tensor,
        outputscale: Tensor,
        noise: Tensor,
        mean: Tensor,
        kernel: Kernel | str = "matern52",
        noise_floor: float = 0.0,
        diagnostics: Diagnostics | None = None,
    ) -> None:
        super().__init__()
        self.train_X = _as_float64("train_X", train_X)
        self.train_Y = _as_float64("train_Y", train_Y)
        if self.train_Y.ndim == 1:
            self.train_Y = self.train_Y.unsqueeze(-1)
        self.lengthscale = _as_float64("lengthscale", lengthscale)
        self.outputscale = _as_float64("outputscale", outputscale)
        self.noise = _as_float64("noise", noise)
        self.mean = _as_float64("mean", mean)
        self.kernel = as_kernel(kernel)
        self.noise_floor = noise_floor
        self.diagnostics = diagnostics
        self._check_shapes()
        self._factorize()

    def _check_shapes(self) -> None:
        if self.train_X.ndim != 2 or self.train_Y.shape != (len(self.train_X), 1) or len(self.train_X) == 0:
            raise InputError(
                f"train_X must be n x D and train_Y n x 1 with n > 0, got {tuple(self.train_X.shape)} and "
                f"{tuple(self.train_Y.shape)}."
            )
        if self.lengthscale.ndim != 2 or len(self.lengthscale) == 0 or self.lengthscale.shape[1] != self.dim:
            raise InputError(
                f"lengthscale must be M x {self.dim} with M > 0 for {self.dim}-dimensional inputs, "
                f"got {tuple(self.lengthscale.shape)}."
            )
        self.kernel.check_samples(self.num_mcmc_samples, self.dim)
        for name in ("outputscale", "noise", "mean"):
            if getattr(self, name).shape != (self.num_mcmc_samples,):
                raise InputError(
                    f"{name} must hold one value for each of the {self.num_mcmc_samples} sets, "
                    f"got shape {tuple(getattr(self, name).shape)}."
                )
        for name in ("lengthscale", "outputscale"):
            if not bool((getattr(self, name) > 0).all()):
                raise InputError(f"{name} must be positive.")
        if not bool((self.noise + self.noise_floor >= 0).all()):
            raise InputError("noise is a variance and must not be negative.")

    def _factorize(self) -> None:
        n = len(self.train_X)
        covariance = self.kernel(self.train_X, self.train_X, self.lengthscale, self.outputscale)
        covariance.diagonal(dim1=-2, dim2=-1).add_(self.noise_variance[:, None])
        factor, info = torch.linalg.cholesky_ex(covariance)
        if bool(info.any()):
            bad = info.nonzero().flatten().tolist()
            raise InputError(
                f"The covariance of hyperparameter sets {bad} is not positive definite: the points are duplicates "
                "or too close for a noise variance this small. Raise noise or noise_floor."
            )
        identity = torch.eye(n, dtype=torch.float64).expand(self.num_mcmc_samples, n, n)
        inverse_factor = torch.linalg.solve_triangular(factor, identity, upper=False)
        residual = self.train_Y[:, 0] - self.mean[:, None]
        self.cholesky = factor
        self._inverse_factor = inverse_factor
        self._alpha = (inverse_factor.mT @ (inverse_factor @ residual.unsqueeze(-1))).squeeze(-1)

    @property
    def dim(self) -> int:
        """Number of input dimensions D."""
        return self.train_X.shape[-1]

    @property
    def num_mcmc_samples(self) -> int:
        """Number of hyperparameter sets M."""
        return self.lengthscale.shape[0]

    @property
    def noise_variance(self) -> Tensor:
        """The noise variance each set adds to a prediction of y, floor included. `M`."""
        return self.noise + self.noise_floor

    @property
    def prior_variance(self) -> Tensor:
        """The variance of f under each set before any data. `M`."""
        return self.kernel.prior_variance(self.outputscale)

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        return torch.Size([self.num_mcmc_samples])

    @property
    def train_inputs(self) -> tuple[Tensor]:
        """The training inputs as BoTorch's acquisitions expect them: `M x n x D` in a tuple."""
        return (self.train_X.expand(self.num_mcmc_samples, *self.train_X.shape),)

    @property
    def train_targets(self) -> Tensor:
        """The training targets as BoTorch's acquisitions expect them: `M x n`."""
        return self.train_Y[:, 0].expand(self.num_mcmc_samples, len(self.train_Y))

    def whiten(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean `batch x M x q` and whitened cross-covariance `batch x M x n x q` at X `batch x q x D`.

        With w the whitened cross-covariances at two points, their posterior covariance is the prior one less w₁ᵀw₂.
        """
        return _Whiten.apply(X, self)

    def _whiten(self, X: Tensor) -> tuple[Tensor, Tensor]:
        cross = self.kernel(X, self.train_X, self.lengthscale, self.outputscale)
        mean = self.mean[:, None] + (cross @ self._alpha.unsqueeze(-1)).squeeze(-1)
        return mean, self._inverse_factor @ cross.mT

    def mixture_mean(self, X: Tensor) -> Tensor:
        """Posterior mean, averaged over the sets, `b` at X `b x D`; in O(Mn) a point, the variances cost O(Mn²)."""
        return self.mean.mean() + self.kernel.combine(X, *self._terms_of_mixture_mean())

    def mixture_mean_with_gradient(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """The same and its derivatives by X, `b x D`."""
        value, gradient = self.kernel.combine_with_gradient(X, *self._terms_of_mixture_mean(), wanted=True)
        return self.mean.mean() + value, gradient

    def _terms_of_mixture_mean(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.train_X, self.lengthscale, self.outputscale, self._alpha / self.num_mcmc_samples

    def paired_covariance(self, X: Tensor, Z: Tensor) -> Tensor:
        """Prior covariance under set m of f(x) with f at points of its own, z_nm.

        Args:
            X: `b x D`.
            Z: `N x M x D`.

        Returns:
            `N x M x b`.
        """
        return self.kernel.paired(X, Z, self.lengthscale, self.outputscale)

    def marginals(self, X: Tensor, *, observation_noise: bool = False) -> tuple[Tensor, Tensor]:
        """Mean and variance of f (or y, with `observation_noise`) at single points under each set.

        Args:
            X: `batch x D`.
            observation_noise: whether the moments are those of y instead of f.

        Returns:
            Two tensors `batch x M`, differentiable in X.
        """
        points = X.reshape(-1, self.dim)
        mean, whitened = self.whiten(points)
        prior = self.prior_variance[:, None]
        # Next to an observation without noise rounding can push the variance below 0 by about 1e-16 prior variances.
        variance = torch.maximum(prior - whitened.square().sum(dim=-2), 1e-14 * prior)
        if observation_noise:
            variance = variance + self.noise_variance[:, None]
        shape = (*X.shape[:-1], self.num_mcmc_samples)
        return mean.mT.reshape(shape), variance.mT.reshape(shape)

    def joint(self, X: Tensor, *, observation_noise: bool = False) -> tuple[Tensor, Tensor]:
        """Mean `batch x M x q` and covariance `batch x M x q x q` of f (or y) at X `batch x q x D` under each set."""
        mean, whitened = self.whiten(X)
        # In place: at q = 200 each copy is M x 40,000 numbers, and making it costs more than filling it.
        covariance = self.kernel(X, X, self.lengthscale, self.outputscale).sub_(whitened.mT @ whitened)
        if observation_noise:
            covariance.diagonal(dim1=-2, dim2=-1).add_(self.noise_variance[:, None])
        return mean, covariance

    @torch.no_grad()
    def joint_by_sample(self, X: Tensor) -> Iterator[tuple[Array, Array]]:
        """Mean `q` and covariance `q x q` of f at X `q x D`, one set after the other; for hundreds of points.

        Of the covariance only the lower triangle is filled. It is in columns, as LAPACK wants it, and in one place for
        all sets, which stays in the cache: what is wanted of one must be taken before the next.
        """
        # The points come second, in the inner loops of the kernel: with few observations short loops would cost more.
        crosses = self.kernel(self.train_X, X, self.lengthscale, self.outputscale).numpy()
        prior_means, alphas, factors = self.mean.tolist(), self._alpha.numpy(), self._inverse_factor.numpy()
        points, lengthscale, outputscale = X.contiguous().numpy(), self.lengthscale.numpy(), self.outputscale.tolist()
        triangle = np.empty((len(X), len(X)))
        for m in range(self.num_mcmc_samples):
            kernel = self.kernel.of_set(m)
            kernel.fill_upper_triangle(points, lengthscale[m : m + 1], outputscale[m], triangle)
            # n x q in rows is q x n in columns, and a lower triangle in rows an upper one in columns.
            cross = crosses[m].T
            mean = prior_means[m] + blas.dgemv(1.0, cross, alphas[m])
            whitened = blas.dtrmm(1.0, factors[m].T, cross, side=1, overwrite_b=1)
            yield mean, blas.dsyrk(-1.0, whitened, beta=1.0, c=triangle.T, lower=1, overwrite_c=1)

    def unwarped(self, m: int) -> FullyBayesianGP:
        """Set m of a model with warped inputs as an ordinary GP of the inputs as the set sees them."""
        if not isinstance(self.kernel, Warped):
            raise InputError("Only a model with warped inputs can be unwarped.")
        own = slice(m, m + 1)
        return FullyBayesianGP(
            self.kernel.of_set(m).warp(self.train_X)[0],
            self.train_Y,
            lengthscale=self.lengthscale[own],
            outputscale=self.outputscale[own],
            noise=self.noise[own],
            mean=self.mean[own],
            kernel=self.kernel.base,
            noise_floor=self.noise_floor,
        )

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Any = None,
    ) -> GaussianMixturePosterior:
        """BoTorch's posterior at X `batch x q x D`; the sets are at dimension `MCMC_DIM` of mean and covariance."""
        if isinstance(observation_noise, Tensor):
            raise InputError("observation_noise must be True or False: the noise is each set's own.")
        if X.shape[-2] == 1:
            mean, variance = self.marginals(X.squeeze(-2), observation_noise=observation_noise)
            mean, covariance = mean.unsqueeze(-1), variance[..., None, None]
        else:
            mean, covariance = self.joint(X, observation_noise=observation_noise)
        # As an operator, so that sampling adds GPyTorch's jitter: next to an observation f has next to no variance.
        posterior = GaussianMixturePosterior(MultivariateNormal(mean, to_linear_operator(covariance)))
        return posterior if posterior_transform is None else posterior_transform(posterior)

    @classmethod
    def from_botorch(cls, model: AbstractFullyBayesianSingleTaskGP) -> FullyBayesianGP:
        """Lift a fitted BoTorch fully Bayesian single-task GP; both have the same posterior.

        A model with input or outcome transforms, or with given noise per observation, is refused: the ensemble holds
        the data as they are and one noise variance for each set.
        """
        model._check_if_fitted()
        for transform in ("input_transform", "outcome_transform"):
            if hasattr(model, transform):
                raise InputError(f"A BoTorch model with an {transform} cannot be lifted: transform the data first.")
        covariance, likelihood = model.covar_module, model.likelihood
        num_mcmc_samples = model.num_mcmc_samples
        scaled = isinstance(covariance, ScaleKernel)
        base = covariance.base_kernel if scaled else covariance
        outputscale = covariance.outputscale.detach() if scaled else torch.ones(num_mcmc_samples, dtype=torch.float64)
        kernel: Kernel
        if isinstance(base, MaternKernel) and base.nu == 2.5:
            kernel = Matern52()
        elif isinstance(base, RBFKernel):
            kernel = RBF()
        else:
            raise InputError(f"Only Matérn-5/2 and RBF kernels can be lifted, got {type(base).__name__}.")
        noise = likelihood.noise.detach()
        if noise.numel() != num_mcmc_samples:
            raise InputError("A BoTorch model with given noise per observation (train_Yvar) cannot be lifted.")
        return cls(
            model.train_inputs[0][0] if model.train_inputs[0].ndim == 3 else model.train_inputs[0],
            model.train_targets[0] if model.train_targets.ndim == 2 else model.train_targets,
            lengthscale=base.lengthscale.detach().reshape(num_mcmc_samples, -1),
            outputscale=outputscale.reshape(num_mcmc_samples),
            noise=noise.reshape(num_mcmc_samples),
            mean=model.mean_module.constant.detach().reshape(num_mcmc_samples),
            kernel=kernel,
        )


class _Whiten(torch.autograd.Function):
    """`FullyBayesianGP.whiten`; one step of differentiation instead of autograd's dozen."""

    @staticmethod
    def forward(context: Any, X: Tensor, model: FullyBayesianGP) -> tuple[Tensor, Tensor]:
        context.save_for_backward(X)
        context.model = model
        return model._whiten(X)

    @staticmethod
    def backward(context: Any, by_mean: Tensor, by_whitened: Tensor) -> tuple[Tensor, None]:
        model, (X,) = context.model, context.saved_tensors
        if torch.is_grad_enabled():  # a derivative of the derivative is wanted
            weights = (by_mean, by_whitened)
            return torch.autograd.grad(model._whiten(X), X, weights, create_graph=True)[0], None
        weight = by_whitened.mT @ model._inverse_factor
        weight += by_mean.unsqueeze(-1) * model._alpha.unsqueeze(-2)
        return model.kernel.pull(X, model.train_X, model.lengthscale, model.outputscale, weight), None


def _as_float64(name: str, value: Tensor) -> Tensor:
    tensor = torch.as_tensor(value, dtype=torch.float64).detach().clone()
    if not bool(tensor.isfinite().all()):
        raise InputError(f"{name} holds values that are not finite.")
    return tensor


__all__ = ["MCMC_DIM", "FullyBayesianGP"]

"""Functions drawn from the posterior of every hyperparameter set, cheap to evaluate anywhere.

A draw from the prior is a sum of waves, random Fourier features (Rahimi and Recht 2007); pathwise conditioning
(Wilson et al. 2020) turns it into a draw from the posterior by an exact update on the data:

    f(x) + k(x, X)(K + σ²I)⁻¹(y − f(X) − ε),    ε ~ N(0, σ²I).

Only the prior is approximate, with an error that falls as features are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.errors import InputError, check_integer
from scorebo.gp import FullyBayesianGP, Kernel, Warped
from scorebo.gp.kernels import strictly_inside
from scorebo.optima import _search
from scorebo.optima._screen import waves_at
from scorebo.optima.structured import Arrays, Structure, draw_structure
from scorebo.seeds import derive, generator

# Points evaluated at once: M x points x F waves, held in 64 MB.
MAX_WAVES = 8_000_000


@dataclass(frozen=True)
class PosteriorPaths:
    """N functions from each of M posteriors: mean + Σ_f (a_f cos ω_f·x + b_f sin ω_f·x) + Σ_i β_i corr(x, x_i).

    Args:
        kernel: of the model.
        frequencies: ω, `M x F x D`, shared by the paths of a set.
        cosine_weights: a, `N x M x F`.
        sine_weights: b, `N x M x F`.
        inputs: the observed x_i, `n x D`.
        lengthscale: `M x D`.
        update_weights: β, `N x M x n`, outputscale included.
        mean: `M`.
        structure: what the frequencies are products of; None where there is no such structure.
    """

    kernel: Kernel
    frequencies: Tensor
    cosine_weights: Tensor
    sine_weights: Tensor
    inputs: Tensor
    lengthscale: Tensor
    update_weights: Tensor
    mean: Tensor
    structure: Structure | None = None

    @property
    def num_paths(self) -> int:
        """Paths of each set, N."""
        return self.cosine_weights.shape[0]

    @property
    def num_mcmc_samples(self) -> int:
        """Hyperparameter sets, M."""
        return self.lengthscale.shape[0]

    @property
    def dim(self) -> int:
        """Input dimensions, D."""
        return self.lengthscale.shape[1]

    def __call__(self, X: Tensor) -> Tensor:
        """Every path at every point, differentiable in X. `b x D` -> `N x M x b`."""
        rows = max(1, MAX_WAVES // self.frequencies.shape[:2].numel())
        return torch.cat([self._evaluate(part) for part in X.split(rows)], dim=-1)

    def _evaluate(self, X: Tensor) -> Tensor:
        phase = self.frequencies @ X.mT  # M x F x b
        a, b = self.cosine_weights.transpose(0, 1), self.sine_weights.transpose(0, 1)
        waves = (a @ phase.cos() + b @ phase.sin()).transpose(0, 1)
        correlation = self.kernel(X, self.inputs, self.lengthscale, torch.ones_like(self.mean))  # M x b x n
        update = (self.update_weights.transpose(0, 1) @ correlation.mT).transpose(0, 1)
        return self.mean[:, None] + waves + update

    def own(self, X: Tensor, *, gradient: bool = False) -> tuple[Tensor, Tensor]:
        """Every path at points of its own.

        Args:
            X: `N x M x q x D`.
            gradient: whether the gradient is wanted.

        Returns:
            Values `N x M x q` and gradients `N x M x q x D` (empty unless wanted).
        """
        values = torch.empty(X.shape[:-1], dtype=torch.float64)
        gradients = torch.empty((*X.shape[:2], X.shape[2] if gradient else 1, self.dim), dtype=torch.float64)
        kernel, omega, *rest = self.compiled
        points = X.detach().contiguous().numpy()
        _search.evaluate_own(int(gradient), kernel, points, omega, *rest, values.numpy(), gradients.numpy())
        if self.kernel.outside is not None:
            self.kernel.outside.raise_error()  # also what was raised in the search for optima, which ends here
        return values, gradients if gradient else gradients[:, :, :0]

    def of_set(self, m: int, *, single: bool = False) -> tuple:
        """All paths of set m as the compiled search wants them, their waves in double or single precision.

        As `compiled`, with ω `D x F`, a and b `N x F`, precision `G x D` and β `N x n`.
        """
        kernel, omega, a, b, inputs, precision, beta, mean = self.compiled
        if single:
            omega, a, b = self.single
        a, b, beta = (np.ascontiguousarray(part[:, m]) for part in (a, b, beta))
        return kernel, omega[m], a, b, inputs, precision[m], beta, mean[m]

    def structure_of_set(self, m: int, *, single: bool = False) -> Arrays | None:
        """The structure of the frequencies of set m and the weights of its waves, for `add_structured_waves`."""
        if self.structure is None:
            return None
        dtype = np.float32 if single else np.float64
        return self.structure.of_sample(m, self.lengthscale, self.cosine_weights, self.sine_weights, dtype)

    @cached_property
    def single(self) -> tuple:
        """ω `M x D x F`, a and b in single precision."""
        return tuple(part.astype(np.float32) for part in self.compiled[1:4])

    @cached_property
    def compiled(self) -> tuple:
        """What the compiled search wants: kernel, ω `M x D x F`, a, b, inputs `D x n`, precision `M x G x D`, β, mean.

        The precisions are those of each group of inputs, see `Kernel.precisions`.
        """
        return (
            self.kernel.code,
            self.frequencies.mT.contiguous().numpy(),
            self.cosine_weights.numpy(),
            self.sine_weights.numpy(),
            self.inputs.mT.contiguous().numpy(),
            self.kernel.precisions(self.lengthscale).numpy(),
            self.update_weights.numpy(),
            self.mean.numpy(),
        )


def sample_paths(model: FullyBayesianGP, num_paths: int = 8, num_features: int = 2048, seed: int = 0) -> PosteriorPaths:
    """Draw functions from the posterior under every hyperparameter set.

    Args:
        model: the ensemble; its factorization is used as it is.
        num_paths: draws from each set, N.
        num_features: Fourier features, an even number: a cosine and a sine for each frequency.
        seed: the result is a function of it; the global random state is neither used nor changed.
    """
    check_integer("num_paths", num_paths, 1)
    if check_integer("num_features", num_features, 2) % 2:
        raise InputError(f"num_features must be even, a cosine and a sine for each frequency, got {num_features}.")
    check_integer("seed", seed, 0)
    if isinstance(model.kernel, Warped):
        raise InputError("Paths under warped inputs are drawn set by set: take those of model.unwarped(m).")
    num_mcmc_samples, dim, count = model.num_mcmc_samples, model.dim, num_features // 2

    structure = draw_structure(model.kernel, num_mcmc_samples, dim, count, seed)
    # Kept as the compiled search wants them: at D = 388 and 8192 features a second copy is 200 MB.
    if structure is None:
        frequencies = _quasi_random_frequencies(model, count, seed).mT.contiguous().mT
    else:
        frequencies = structure.frequencies(model.lengthscale, count)

    normal = generator("paths", seed, "weights").standard_normal
    weights = torch.from_numpy(normal((2, num_paths, num_mcmc_samples, count)))
    weights *= (model.outputscale.unsqueeze(-1) * model.kernel.wave_shares(count)).sqrt()
    noise = torch.from_numpy(normal((num_paths, num_mcmc_samples, len(model.train_X))))
    noise *= model.noise_variance.sqrt().unsqueeze(-1)

    omega = frequencies.mT.numpy()
    waves = waves_at(model.train_X.contiguous().numpy(), omega, weights[0].numpy(), weights[1].numpy())
    prior = model.mean[:, None] + torch.from_numpy(waves)
    residual = (model.train_Y[:, 0] - prior - noise).permute(1, 2, 0)  # M x n x N
    update = torch.cholesky_solve(residual, model.cholesky).permute(2, 0, 1) * model.outputscale[:, None]
    return PosteriorPaths(
        model.kernel, frequencies, weights[0], weights[1], model.train_X, model.lengthscale, update.contiguous(),
        model.mean, structure,
    )  # fmt: skip


def _quasi_random_frequencies(model: FullyBayesianGP, count: int, seed: int) -> Tensor:
    """`M x F x D` from one sequence cut into M pieces: each covers the spectrum evenly by itself, no two are alike."""
    engine = SobolEngine(model.dim + 1, scramble=True, seed=derive("paths", seed, "frequencies") % 2**31)
    uniform = engine.draw(model.num_mcmc_samples * count, dtype=torch.float64)
    uniform = uniform.reshape(model.num_mcmc_samples, count, model.dim + 1)
    return model.kernel.frequencies(strictly_inside(uniform)) / model.lengthscale.unsqueeze(-2)

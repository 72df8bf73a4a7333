"""NUTS by Pyro, the paper's sampler: slow, and kept as the reference the fast one is checked against."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorebo.gp.density import LogDensity
from scorebo.inference.diagnostics import Chain

MAX_TREE_DEPTH = 6  # ᶜ
TARGET_ACCEPTANCE = 0.8  # Pyro's own


class _Potential(torch.autograd.Function):
    """Minus the log density as a torch function, with the closed-form gradient."""

    @staticmethod
    def forward(context: Any, theta: Tensor, density: LogDensity) -> Tensor:
        value, gradient = density(theta.detach().numpy())
        context.save_for_backward(torch.from_numpy(gradient))
        return theta.new_tensor(-value)

    @staticmethod
    def backward(context: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (gradient,) = context.saved_tensors
        return -grad_outputs[0] * gradient, None


def sample(
    density: LogDensity,
    start: np.ndarray,
    *,
    warmup: int,
    draws: int,
    seed: int,
    max_tree_depth: int | None = None,
    target_acceptance: float | None = None,
) -> Chain:
    """Draw one chain from `start` with a dense mass matrix; the global random state is left as it was."""
    from pyro.infer.mcmc import MCMC

    kernel = _recording_nuts()(
        potential_fn=lambda parameters: _Potential.apply(parameters["theta"], density),
        full_mass=True,
        max_tree_depth=max_tree_depth or MAX_TREE_DEPTH,
        target_accept_prob=target_acceptance or TARGET_ACCEPTANCE,
    )
    chain = MCMC(
        kernel,
        num_samples=draws,
        warmup_steps=warmup,
        initial_params={"theta": torch.from_numpy(start.copy())},
        disable_progbar=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        chain.run()
    theta = chain.get_samples()["theta"].numpy()
    report = chain.diagnostics()
    return Chain(
        theta=theta,
        divergences=len(report["divergences"]["chain 0"]),
        acceptance=float(report["acceptance rate"]["chain 0"]),
        step_size=float(kernel.step_size),
        tree_depth=np.array(kernel.depths[-draws:]),
        energy=np.array(kernel.energies[-draws:]),
    )


def _recording_nuts() -> type:
    """Pyro's NUTS, which keeps the depth of every trajectory and the energy it starts with, as Pyro itself does not."""
    from pyro.infer.mcmc import NUTS

    class RecordingNUTS(NUTS):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.depths: list[int] = []
            self.energies: list[float] = []

        def sample(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
            self.depths.append(0)
            return super().sample(params)

        def _sample_r(self, name: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
            momentum, unscaled = super()._sample_r(name)
            # Also called while the step size is sought, before there is a trajectory.
            if len(self.energies) < len(self.depths):
                self.energies.append(float(self._kinetic_energy(unscaled) + self._potential_energy_last))
            return momentum, unscaled

        def _build_tree(self, *arguments: Any) -> Any:
            tree_depth = arguments[5]
            self.depths[-1] = max(self.depths[-1], tree_depth + 1)
            return super()._build_tree(*arguments)

    return RecordingNUTS

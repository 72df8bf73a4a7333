"""Many runs: on this machine."""

from scorebo.launch.local import Progress, run_all

__all__ = ["Progress", "run_all"]

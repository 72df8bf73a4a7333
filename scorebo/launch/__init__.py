"""Many runs: a sweep is frozen, submitted to a launcher (local, SLURM or another), and shown until it ends."""

from scorebo.launch.base import Ended, Launcher, Poll, SubmittedRun
from scorebo.launch.local.launcher import Local
from scorebo.launch.slurm.launcher import Slurm
from scorebo.launch.sweep import Sweep, SweepRun

__all__ = ["Ended", "Launcher", "Local", "Poll", "Slurm", "SubmittedRun", "Sweep", "SweepRun"]

"""Solvers that misbehave in a child process, each in one way, and tasks made of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from scorebo.errors import InputError


def make(fault="none", file=None):
    """The sum of squares; where the first coordinate is above ½ (and while `file` is there) it goes wrong."""
    if fault == "data":
        raise InputError("The data are of another planet.")
    if fault == "load":
        raise RuntimeError("no library")

    def solve(X):
        if fault == "process":
            return np.full(len(X), float(os.getpid()))
        if X[0, 0] > 0.5 and (file is None or Path(file).exists()):
            misbehave(fault)
        print("a solver that talks")
        return (X**2).sum(-1)

    return solve


def misbehave(fault):
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "hang":
        time.sleep(600)
    elif fault == "burn":
        until = time.process_time() + 0.5
        while time.process_time() < until:
            pass
    elif fault == "nap":
        time.sleep(0.5)
    elif fault == "memory":
        np.ones(2**30)
    elif fault == "raise":
        raise ArithmeticError("no convergence")
    elif fault == "no words":
        raise ArithmeticError
    elif fault == "stop":
        print("Fortran runtime error: end of file", file=sys.stderr)
        os._exit(3)
    elif fault == "refuse":
        raise InputError("Not this point.")


def torch_is_loaded():
    """A solver that says whether the child has loaded torch."""
    return lambda X: np.full(len(X), float("torch" in sys.modules))

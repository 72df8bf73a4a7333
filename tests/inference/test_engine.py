import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from scorebo.errors import InputError
from scorebo.inference import engine

ENGINE = "from scorebo.inference.engine import library; mine = library()"
# It announces the reorganization of arviz on import, here as in any script.
NUTPIE = "import warnings; warnings.simplefilter('ignore', FutureWarning); import nutpie"


@pytest.mark.parametrize("order", [(ENGINE, NUTPIE), (NUTPIE, ENGINE)])
def test_nutpie_and_the_engine_share_one_extension(order):
    """A Rust extension is refused when it is loaded a second time in a process."""
    code = "; ".join([*order, "assert nutpie._lib is mine"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def module(**changes):
    """nutpie's extension with some of its names changed."""
    real = engine.library()
    names = {path.split(".")[0] for path in engine._INTERFACE}
    return SimpleNamespace(**{name: getattr(real, name) for name in names} | changes)


def old(settings, cores, model, progress_type, store):
    return {"settings": settings, "cores": cores, "model": model, "progress_type": progress_type, "store": store}


def new(settings, cores, model, progress_type, extra_callback, extra_callback_rate, store):
    assert extra_callback is None
    assert isinstance(extra_callback_rate, int)  # nutpie 0.16.11 refuses None
    return old(settings, cores, model, progress_type, store)


@pytest.mark.parametrize("from_pymc", [old, new])
def test_both_signatures_of_the_sampler_get_the_same_arguments(monkeypatch, from_pymc):
    changed = module(PySampler=SimpleNamespace(from_pymc=from_pymc))
    monkeypatch.setattr(engine, "library", lambda: engine._check(changed))
    function = SimpleNamespace(address=0)
    got = engine.start(function, function, np.zeros(1), np.zeros(2), low_rank=True, seed=1, num_draws=7)
    assert got["cores"] == 1
    assert type(got["settings"]).__name__ == "PyNutsSettings"
    assert type(got["model"]).__name__ == "PyMcModel"
    assert type(got["progress_type"]).__name__.startswith("ProgressType")
    assert type(got["store"]).__name__.startswith("PyStorage")


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        ({"PySampler": SimpleNamespace(from_pymc=lambda settings, cores, model, store: None)}, "PySampler.from_pymc"),
        ({"PySampler": SimpleNamespace()}, "PySampler.from_pymc"),
        ({"PyMcModel": lambda density, expand: None}, "PyMcModel"),
        ({"PyStorage": SimpleNamespace(zarr=None)}, "PyStorage.arrow"),
    ],
)
def test_another_interface_is_refused_with_the_versions_that_work(changes, lacks):
    with pytest.raises(InputError, match=rf"^nutpie 0\.16\.\d+ lacks .*{lacks}.* Install nutpie>=0\.16\.8,<0\.17\.$"):
        engine._check(module(**changes))

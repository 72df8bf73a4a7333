import importlib
import os
import pkgutil
import shutil
import subprocess
import sys

import pytest
from numba.core.caching import IndexDataCacheFile
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher

import scorebo
from scorebo._numba import cache as _cached
from scorebo._numba.cache import CacheFile
from scorebo.errors import InputError


def compiled_functions():
    for module in pkgutil.walk_packages(scorebo.__path__, "scorebo."):
        if module.name.rpartition(".")[2].startswith("_") and not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, (Dispatcher, CFunc)) and hasattr(value._cache, "_cache_file"):
                    yield f"{module.name}.{name}", value


def test_every_cache_is_valid_for_all_files_together():
    functions = dict(compiled_functions())
    assert len(functions) > 20
    stamps = {name: function._cache._cache_file._source_stamp for name, function in functions.items()}
    assert stamps == dict.fromkeys(functions, _cached.fingerprint())
    assert {type(function._cache._cache_file) for function in functions.values()} == {CacheFile}


def test_a_change_in_any_compiled_file_is_another_fingerprint(tmp_path):
    shutil.copytree(_cached.PACKAGE, tmp_path / "one", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(tmp_path / "one", tmp_path / "two", symlinks=True)
    assert _cached.fingerprint(tmp_path / "one") == _cached.fingerprint()
    with (tmp_path / "two" / "gp" / "_inverse.py").open("a") as file:
        file.write("# changed\n")
    assert _cached.fingerprint(tmp_path / "two") != _cached.fingerprint()


def meanwhile(file, method, action):
    """Let something happen just before a method of this cache file is called."""
    original = getattr(file, method)

    def delayed(*arguments):
        action()
        original(*arguments)

    setattr(file, method, delayed)


@pytest.mark.parametrize("method", ["_save_index", "_save_data"])
def test_two_processes_that_add_entries_at_once_never_load_each_other_s(tmp_path, method):
    one, other, reader = (CacheFile(str(tmp_path), "function", "stamp") for _ in range(3))
    other._load_index = dict  # it has looked into the index before the first wrote to it
    meanwhile(one, method, lambda: other.save(("float32",), "code for float32"))
    one.save(("float64",), "code for float64")
    # One entry may be lost, and is compiled again.
    assert reader.load(("float64",)) in ("code for float64", None)
    assert reader.load(("float32",)) in ("code for float32", None)


@pytest.mark.parametrize("method", ["_save_index", "_save_data"])
def test_code_of_before_an_update_is_never_loaded(tmp_path, method):
    CacheFile(str(tmp_path), "function", "before").save(("float64",), "old code")
    writer, reader = (CacheFile(str(tmp_path), "function", "after") for _ in range(2))
    seen = []
    meanwhile(writer, method, lambda: seen.append(reader.load(("float64",))))
    writer.save(("float64",), "new code")
    assert seen == [None]
    assert reader.load(("float64",)) == "new code"
    assert len(list(tmp_path.glob("*.nbc"))) == 1


def test_an_index_that_cannot_be_read_is_taken_for_empty(tmp_path):
    file = CacheFile(str(tmp_path), "function", "stamp")
    (tmp_path / "function.nbi").mkdir()
    assert file.load(("float64",)) is None


def without(name):
    """Numba's cache file, but for one method."""
    methods = {key: value for key, value in vars(IndexDataCacheFile).items() if key != name}
    return type("IndexDataCacheFile", (), methods)


@pytest.mark.parametrize("name", ["load", "save", "_save_data", "_load_index", "_save_index"])
def test_a_numba_with_another_cache_is_refused_with_the_versions_that_work(name):
    _cached.check_numba()
    with pytest.raises(InputError, match=rf"IndexDataCacheFile\.{name}.*Install numba>=0.60"):
        _cached.check_numba(without(name))


# The gradients of two functions that call the same one, `pull`, of which each has a copy.
TWO_CALLERS = """
import sys
import numpy as np
from scorebo.acquisition import _mixture
rng = np.random.default_rng(0)
mean, precision, y = rng.normal(size=(4, 8)), rng.gamma(2.0, size=(4, 8)), rng.normal(size=(4, 203))
weight = {"log_prob": rng.normal(size=(4, 203)), "affinity_deficits": rng.normal(size=(4, 8))}
density = np.log(rng.gamma(1.0, size=(4, 203)))
found = {
    name: getattr(_mixture, f"{name}_gradient")(mean, precision, y, density, weight[name]) for name in sys.argv[1:]
}
for name in sorted(found):
    print(name, *(array.tobytes().hex() for array in found[name]))
"""


def test_results_do_not_depend_on_what_was_compiled_or_loaded_before(tmp_path):
    names = ["log_prob", "affinity_deficits"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(*order):
        command = [sys.executable, "-c", TWO_CALLERS, *order]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    compiled = run(*names)
    assert len(compiled) > 10_000
    assert run(*names) == compiled  # loaded from the cache
    assert run(*reversed(names)) == compiled

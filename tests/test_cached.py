import importlib
import pkgutil
import shutil

from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher

import scorebo
from scorebo import _cached


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


def test_a_change_in_any_compiled_file_is_another_fingerprint(tmp_path):
    shutil.copytree(_cached.PACKAGE, tmp_path / "one", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert _cached.fingerprint(tmp_path / "one") == _cached.fingerprint()
    with (tmp_path / "two" / "gp" / "_sweep.py").open("a") as file:
        file.write("# changed\n")
    assert _cached.fingerprint(tmp_path / "two") != _cached.fingerprint()

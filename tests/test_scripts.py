import ast
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.mark.parametrize("script", sorted(SCRIPTS.rglob("*.py")), ids=lambda path: path.stem)
def test_a_script_finds_what_it_imports(script):
    tree = ast.parse(script.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        name.partition(".")[0]
        for node in imports
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    folders = [script.parent, *(SCRIPTS / name for name in _appended(tree))]
    missing = {name for name in names if not any((folder / f"{name}.py").is_file() for folder in folders)}
    elsewhere = missing - sys.stdlib_module_names
    assert [name for name in elsewhere if importlib.util.find_spec(name) is None] == []


def _appended(tree):
    """The folders of scripts that a script appends to the module path."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "sys.path.append"]
    constants = [node for call in calls for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return [node.value for node in constants if isinstance(node.value, str)]

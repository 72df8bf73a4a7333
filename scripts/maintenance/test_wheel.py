"""Try the wheel as others get it: built from this checkout, installed into an empty environment, used elsewhere.

    test_wheel.py                       the newest versions that pyproject.toml allows, torch as locked
    test_wheel.py --torch newest        the newest torch as well
    test_wheel.py --versions lowest     the lowest versions of the direct requirements
    test_wheel.py --python python3.13   another interpreter

Runs tests/test_smoke.py and the commands of the README, as far as they need no checkout, in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("README.md", "tests/test_smoke.py", "tests/test_readme.py")
SHOWN = "torch botorch gpytorch nutpie numba numpy scipy pandas pyarrow hydra-core submitit matplotlib scikit-learn"
_LOWEST = re.compile(r"^Requires-Dist: ([\w.-]+)[^;\n]*?>=([^,;\s]+)[^;\n]*$", re.MULTILINE)


def main() -> int:
    """Build, install, test; the exit code of the tests."""
    parser = argparse.ArgumentParser(description="Test the wheel in an empty environment.")
    parser.add_argument("--python", default=sys.executable, metavar="PROGRAM")
    parser.add_argument("--versions", choices=("newest", "lowest"), default="newest")
    parser.add_argument("--torch", choices=("locked", "newest", "lowest"), default="locked")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return test_wheel(Path(folder), options.python, options.versions, options.torch)


def test_wheel(folder: Path, python: str, versions: str, torch: str) -> int:
    """As `main`, in a folder that is empty."""
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    run(python, "-m", "venv", str(folder / "venv"))
    inside = str(folder / "venv" / "bin" / "python")
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(constraints_of(wheel, versions, torch)) + "\n", encoding="utf-8")
    if torch == "locked":  # first and alone: with other requirements beside it pip may choose another build
        run(inside, "-m", "pip", "install", "--quiet", "-c", str(constraints), "torch")
    run(inside, "-m", "pip", "install", "--quiet", "-c", str(constraints), str(wheel), "pytest")
    run(inside, "-m", "pip", "check")
    listed = run(inside, "-m", "pip", "list", "--format=freeze", quiet=True).splitlines()
    print(", ".join(line for line in listed if line.partition("==")[0] in SHOWN.split()), flush=True)
    for name in FILES:
        (folder / "outside" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "outside" / name)
    tests = [inside, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--durations=5", "tests"]
    return subprocess.run(tests, cwd=folder / "outside", env=environment(), check=False).returncode


def constraints_of(wheel: Path, versions: str, torch: str) -> list[str]:
    """What pip may choose, beyond the wheel's own ranges."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lowest = dict(_LOWEST.findall(archive.read(name).decode()))
    torch_lowest = lowest.pop("torch")
    chosen = [f"{package}=={version}" for package, version in lowest.items()] if versions == "lowest" else []
    if torch == "locked":
        chosen += [
            line
            for line in (ROOT / "requirements-torch.lock").read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")
        ]
    return [*chosen, f"torch=={torch_lowest}"] if torch == "lowest" else chosen


def run(*command: str, quiet: bool = False) -> str:
    """Run a command, which must succeed; returns what it printed."""
    if not quiet:
        print("$", " ".join(command), flush=True)
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def environment() -> dict[str, str]:
    """The present one, without what would lead an import back into the checkout."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {"OMP_NUM_THREADS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


if __name__ == "__main__":
    sys.exit(main())

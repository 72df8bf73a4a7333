"""Write the lock files anew: `python scripts/maintenance/lock.py [--upgrade] [--python 3.11]`; uv has to be installed.

`requirements.lock` has every package that `scorebo[dev]` needs, with the hashes of all its files. torch has a file of
its own, without hashes, because its builds (CPU, CUDA) differ by machine; what only torch needs is left out with it.
Without --upgrade the versions that are locked stay, and new packages are added.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK, TORCH = ROOT / "requirements.lock", ROOT / "requirements-torch.lock"
HEAD = """\
# Exact versions for Python {python}, with the hashes of their files; written by scripts/maintenance/lock.py.
# Install with `pip install --require-hashes --no-deps -r requirements.lock`, then requirements-torch.lock (Makefile).
"""
TORCH_HEAD = (
    "# By scripts/maintenance/lock.py. Without hashes: the CPU and CUDA builds of a version are different files.\n"
)
# A package with the lines of its hashes.
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: \\\n(?: +--hash=\S+(?: \\)?\n)+|\n)", re.MULTILINE)
_ONLY_TORCH = re.compile(r"torch|triton|nvidia-.*|cuda-.*")


def compile_lock(python: str, *, upgrade: bool) -> str:
    """What uv resolves for all extras."""
    known = "" if upgrade else "".join(f"{name}=={version}\n" for name, version in locked().items())
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write(known)
        constraints.flush()
        command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--extra", "dev", "--quiet"]
        options = ["--python-version", python, "--generate-hashes", "--no-header", "--no-annotate"]
        done = subprocess.run(
            [*command, *options, "--constraint", constraints.name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def locked() -> dict[str, str]:
    """The versions in the lock files, by package."""
    texts = (path.read_text(encoding="utf-8") for path in (LOCK, TORCH) if path.exists())
    return {name: version for text in texts for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.M)}


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Write the lock files anew.")
    parser.add_argument("--python", default="3.11", metavar="VERSION")
    parser.add_argument("--upgrade", action="store_true", help="to the newest versions that pyproject.toml allows")
    options = parser.parse_args()
    entries = {match[1]: match for match in _ENTRY.finditer(compile_lock(options.python, upgrade=options.upgrade))}
    kept = [match[0] for name, match in entries.items() if not _ONLY_TORCH.fullmatch(name)]
    LOCK.write_text(HEAD.format(python=options.python) + "".join(kept), encoding="utf-8")
    TORCH.write_text(f"{TORCH_HEAD}torch=={entries['torch'][2]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

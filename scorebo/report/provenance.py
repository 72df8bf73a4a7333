"""Where a figure comes from, kept inside its file: runs, commit, versions and command, and a digest of the data.

The same text is in the description of a PNG and of an SVG and in the subject of a PDF, where other tools show it too;
in a report it is an element of the page.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, UnidentifiedImageError

from scorebo.errors import InputError
from scorebo.files import storage_errors
from scorebo.store.environment import git_state, package_versions

FIELDS = {".pdf": "Subject", ".png": "Description", ".svg": "Description"}
DIGITS = 12  # of a run's identity, as in the name of its folder
KIND = "scorebo figure"
# Not part of what is drawn: how long it took, and what the audit alone reads.
_LEFT_OUT = ("wall_seconds_", "cpu_seconds_", "mcmc_wall_seconds", "acquisition_fallbacks", "jittered_blocks")
_DESCRIPTION = "{http://purl.org/dc/elements/1.1/}description"


def describe(
    figure: str, table: pd.DataFrame | None, command: Sequence[str], selection: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What is kept in the file of a figure.

    Args:
        figure: its id.
        table: the rows it was drawn from; None if it has no runs.
        command: as on the command line.
        selection: how the runs were chosen, so that they can be chosen again.
    """
    return {
        "kind": KIND,
        "figure": figure,
        "command": list(command),
        "git": git_state(Path(__file__).resolve().parents[1]),
        "packages": dict(package_versions()) | {"pandas": pd.__version__},
        "selection": dict(selection or {}),
        "runs": {} if table is None or "run_id" not in table else digests(table),
        "summaries": [] if table is None else list(table.attrs.get("summaries", ())),
    }


def digests(table: pd.DataFrame) -> dict[str, str]:
    """Run (the first digits of its id) -> a digest of the numbers in its rows."""
    names = [str(name) for name in sorted(table.columns) if not str(name).startswith(_LEFT_OUT) and name != "sample"]
    numbers = [name for name in names if pd.api.types.is_numeric_dtype(table[name]) and table[name].dtype != bool]
    values = table[numbers].to_numpy(dtype=np.float64, na_value=np.nan)
    result = {}
    for run, positions in table.reset_index(drop=True).groupby("run_id", sort=True).indices.items():
        own = values[positions]
        # A column that the run does not have must not count: another run may bring it into the table.
        there = ~np.isnan(own).all(axis=0)
        digest = hashlib.sha256("\n".join(compress(numbers, there)).encode())
        digest.update(np.ascontiguousarray(own[:, there]).tobytes())
        result[str(run)[:DIGITS]] = digest.hexdigest()[:DIGITS]
    return result


def commit_words(git: Mapping[str, Any] | None, digits: int | None = None) -> str:
    """A commit, in words or by its first digits."""
    return f"{git['commit'][:digits]}{' (with changes)' if git.get('dirty') else ''}" if git else "unknown"


def package_words(packages: Mapping[str, str | None]) -> str:
    """The packages that are there, with their versions."""
    return ", ".join(f"{name} {version}" for name, version in packages.items() if version)


def metadata(provenance: Mapping[str, Any] | None, suffix: str) -> dict[str, str]:
    """The field of the file's metadata that holds it."""
    return {} if provenance is None else {FIELDS[suffix]: json.dumps(provenance, separators=(",", ":"))}


def read(path: Path | str) -> dict[str, Any]:
    """The provenance of the file of a figure or a report."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InputError(f"The file of a figure or a report ends in {', '.join(_READERS)}, got '{path}'.")
    with storage_errors(path, "read"):
        content = path.read_bytes()
    text = _READERS[suffix](content)
    try:
        found = json.loads(text or "")
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise InputError(f"{path} does not say where it comes from: scorebo did not make it.")
    return found


def _from_png(content: bytes) -> str | None:
    """Of the text chunks, which matplotlib writes as tEXt or, with other letters than Latin ones, as iTXt."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.load()
            return getattr(image, "text", {}).get(FIELDS[".png"])
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return None


def _from_svg(content: bytes) -> str | None:
    try:
        found = ElementTree.fromstring(content).find(f".//{_DESCRIPTION}")
    except ElementTree.ParseError:
        return None
    return None if found is None else found.text


def _from_pdf(content: bytes) -> str | None:
    """Of the information dictionary, which matplotlib writes uncompressed; parentheses and backslashes are escaped."""
    found = re.search(rb"/Subject \(((?:\\.|[^\\()])*)\)", content, re.DOTALL)
    if found is None:
        return None
    return re.sub(rb"\\(.)", rb"\1", found[1], flags=re.DOTALL).decode("latin-1")


def _from_html(content: bytes) -> str | None:
    """Of an element that the page's script does not read."""
    found = re.search(rb'<script type="application/json" id="origin">(.*?)</script>', content, re.DOTALL)
    return None if found is None else found[1].decode()


_READERS = {".pdf": _from_pdf, ".png": _from_png, ".svg": _from_svg, ".html": _from_html, ".htm": _from_html}

"""Write docs/licenses.md: the licenses of all locked packages, from the metadata of the environment this runs in."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "licenses.md"
HEAD = """\
# Licenses of the dependencies

scorebo is under the [MIT license](../LICENSE). Its wheel contains D3 and Observable Plot under the ISC license; the
texts are in `scorebo/report/html/vendor/`. It installs the packages below, each under its own license as stated in its
metadata; written by `scripts/maintenance/licenses.py` from the locked versions.
"""


def license_of(name: str) -> str:
    """The license that a package states: its SPDX expression, else its classifiers, else the first line of the text."""
    about = metadata.metadata(name)
    if "License-Expression" in about:
        return about["License-Expression"]
    classifiers = [
        text.rpartition(" :: ")[2] for text in about.get_all("Classifier", []) if text.startswith("License ::")
    ]
    classifiers = [text for text in classifiers if text != "OSI Approved"]
    if classifiers:
        return ", ".join(classifiers)
    return (about.get_all("License") or ["not stated"])[0].strip().splitlines()[0]


def locked() -> list[str]:
    """The canonical names in the lock files."""
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-torch.lock"))
    return sorted(canonicalize_name(name) for text in texts for name in re.findall(r"^([\w.-]+)==", text, re.M))


def needed() -> set[str]:
    """The packages that `pip install scorebo` brings, without those of extras."""
    found: set[str] = set()
    waiting = [canonicalize_name("scorebo")]
    while waiting:
        for text in metadata.requires(waiting.pop()) or []:
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                found.add(name)
                waiting += [name] if name in locked() else []
    return found


def main() -> None:
    """Write the page."""
    own, names = needed(), locked()
    parts = [HEAD]
    for title, chosen in (
        ("Installed with scorebo", [name for name in names if name in own]),
        ("Extras and development", [name for name in names if name not in own]),
    ):
        rows = [f"| {name} | {metadata.version(name).partition('+')[0]} | {license_of(name)} |" for name in chosen]
        parts += [f"\n## {title}\n\n| package | version | license |\n|---|---|---|\n", "\n".join(rows), "\n"]
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The page's templates, in which all text is escaped, and its style, script and plotting libraries."""

from __future__ import annotations

import functools
import math
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from scorebo.report.claims.text import statement_words, verdict_words
from scorebo.report.provenance import commit_words, package_words
from scorebo.report.style import label, title

# In the order in which they load; what one declares, those after it use.
LIBRARIES = ("d3.min.js", "plot.umd.min.js")
SCRIPTS = ("core.js", "tables.js", "panels.js", "figures.js", "runs.js", "start.js")


@functools.cache
def templates() -> Environment:
    """The templates in `page/`."""
    loader = PackageLoader("scorebo.report.html", "page")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters |= {"task": title, "method": label, "commit": commit_words, "packages": package_words}
    found.filters |= {"statement_words": statement_words, "verdict_words": verdict_words}
    found.tests["finite"] = lambda value: value is not None and math.isfinite(value)
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}
    return found


def part(name: str, *values: Any, file: str = "parts.html") -> str:
    """A macro of `parts.html`, or of another file, filled in."""
    return getattr(templates().get_template(file).module, name)(*values)


def page(**content: Any) -> str:
    """The whole page."""
    scripts = [_asset("vendor", name) for name in LIBRARIES] + [_asset("page", name) for name in SCRIPTS]
    return templates().get_template("page.html").render(style=_asset("page", "page.css"), scripts=scripts, **content)


@functools.cache
def _asset(folder: str, name: str) -> str:
    return resources.files("scorebo.report.html").joinpath(folder, name).read_text(encoding="utf-8")

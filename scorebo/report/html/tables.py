"""Tables as HTML that reads without a script and sorts with one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

ROLES = {
    **{"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"},
    **{'th scope="col"': "columnheader", 'th scope="row"': "rowheader"},
}


@dataclass(frozen=True)
class Cell:
    """What is shown, what it is sorted by, and, where it is more than text, its HTML."""

    text: str
    value: float | None = None
    html: str | None = None


def number(value: float, form: str = "", missing: str = "–") -> Cell:
    """A number; one that is not there is sorted after all others."""
    if value is None or not math.isfinite(value):
        return Cell(missing)
    return Cell(f"{value:{form}}", float(value))


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Iterable[object]], *, classes: str = "", roles: bool = False
) -> str:
    """A table with a caption, in a region that can be scrolled by keyboard where it is too wide.

    What is no `Cell` is text. A column whose cells carry numbers is set to the right. The first cell of a row is its
    heading. With `roles` it stays a table for screen readers where a narrow window shows its cells one below the other.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row] for row in rows]
    numeric = [any(row[k].value is not None and row[k].html is None for row in cells) for k in range(len(heads))]
    head = "".join(
        f'<th scope="col"{_class(right)}>{escape(words)}</th>' for words, right in zip(heads, numeric, strict=True)
    )
    body = "".join(f"<tr>{_row(row, numeric)}</tr>" for row in cells)
    shown = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption, quote=True)}">'
        f'<table class="sortable {classes}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    for tag, role in ROLES.items() if roles else ():
        shown = shown.replace(f"<{tag}", f'<{tag} role="{role}"')
    return shown


def command(text: str) -> str:
    """A command with a button that copies it."""
    return f'<span class="command"><code>{escape(text)}</code><button type="button" class="copy">Copy</button></span>'


def _row(row: Sequence[Cell], numeric: Sequence[bool]) -> str:
    pairs = zip(row, numeric, strict=True)
    return "".join(_cell(cell, right, first=place == 0) for place, (cell, right) in enumerate(pairs))


def _cell(cell: Cell, right: bool, first: bool) -> str:
    sort = "" if cell.value is None else f' data-value="{cell.value:.6g}"'
    content = escape(cell.text) if cell.html is None else cell.html
    tag = 'th scope="row"' if first else "td"
    return f"<{tag}{_class(right)}{sort}>{content}</{tag[:2]}>"


def _class(right: bool) -> str:
    return ' class="number"' if right else ""

"""`display` of a benchmark, a model or an acquisition: how its name is shown; stored, but not in the identity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scorebo.errors import InputError, check_choice

# `unit` is that of a task's values, e.g. accuracy; the others are those of a method's line.
KEYS = ("label", "unit", "color", "marker", "linestyle")
LINESTYLES = ("-", "--", "-.", ":")


def check_display(node: str, display: Any) -> None:
    """Refuse a display that figures could not be drawn with."""
    if not isinstance(display, Mapping):
        raise InputError(f"{node}.display must be a node of settings ({', '.join(KEYS)}), got {display!r}.")
    for key, value in display.items():
        check_choice(f"setting in '{node}.display'", str(key), KEYS)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{node}.display.{key} must be a text, got {value!r}.")
    if not re.fullmatch("#[0-9a-fA-F]{6}", display.get("color", "#000000")):
        raise InputError(f"{node}.display.color must be a color such as '#0072B2', got {display['color']!r}.")
    check_choice(f"{node}.display.linestyle", display.get("linestyle", "-"), LINESTYLES)

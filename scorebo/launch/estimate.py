"""What a sweep would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scorebo.launch.submit import unfinished


def plan(configs: Sequence[Mapping[str, Any]]) -> str:
    """How many runs there are, and how many of them are left."""
    left = len(unfinished(configs))
    return f"{len(configs)} runs, {len(configs) - left} of them finished already"

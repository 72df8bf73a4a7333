"""The methods' colors on a dark page: the same hues, lightened until they stand out from it."""

from __future__ import annotations

DARK_PAGE = "#15181d"
# Black has no hue to keep; lightened wine red would be the mauve of another method.
OWN = {"#000000": "#ededed", "#882255": "#ff5c95"}
CONTRAST = 4.5  # as asked of text: W3C, Web content accessibility guidelines 2.2, 1.4.3


def on_dark(color: str) -> str:
    """The color (`#rrggbb`) mixed with as little white as gives it enough contrast with the dark page."""
    if color.lower() in OWN:
        return OWN[color.lower()]
    parts = _parts(color)
    for share in range(0, 101, 5):
        mixed = [part + (255 - part) * share / 100 for part in parts]
        if contrast(mixed, _parts(DARK_PAGE)) >= CONTRAST:
            break
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def contrast(first: list[float], second: list[float]) -> float:
    """The ratio of two colors' luminances, from 1 to 21."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _parts(color: str) -> list[float]:
    return [float(int(color[k : k + 2], 16)) for k in (1, 3, 5)]


def _luminance(parts: list[float]) -> float:
    linear = [p / 255 / 12.92 if p / 255 <= 0.04045 else ((p / 255 + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""How figures look: readable in print without colours, by the colour-blind, and in small.

Lines differ by colour, dash and marker at once. Colours are those of Okabe and Ito (2008); colour
maps rise evenly in lightness (`cividis`) or, around a centre, come with signs in their cells.
"""

from collections.abc import Sequence
from typing import Any

__all__ = [
    "COLOURS",
    "DIVERGING",
    "GREY",
    "HATCHES",
    "RC",
    "SEQUENTIAL",
    "line_style",
    "text_on",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
"""Okabe and Ito, without yellow, which vanishes on white."""

GREY = "#666666"

HATCHES = ("", "///", "...", "\\\\\\", "xxx", "ooo", "---")
"""Of bars, in the order of `COLOURS`."""

SEQUENTIAL = "cividis"
DIVERGING = "PuOr"

_DASHES: Sequence[Any] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (7, 2)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "text.parse_math": False,  # Names of pages may hold dollar signs.
    "svg.fonttype": "none",  # Text stays text.
    "svg.hashsalt": "loadpath",  # Ids that do not vary.
    "pdf.fonttype": 42,
    "path.simplify": True,
}
"""Matplotlib's settings for our figures; nothing is taken from the user's own."""


def line_style(index: int, *, markers: bool) -> dict[str, Any]:
    """Colour, dash and, if wanted, marker of the line of that number."""
    style = {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": _DASHES[(index + index // len(_DASHES)) % len(_DASHES)],
    }
    if markers:
        style["marker"] = _MARKERS[index % len(_MARKERS)]
    return style


def text_on(rgba: Sequence[float]) -> str:
    """Black or white, whichever is read on that colour (relative luminance, WCAG 2)."""

    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    luminance = sum(w * linear(p) for w, p in zip((0.2126, 0.7152, 0.0722), rgba, strict=False))
    return "black" if luminance > 0.18 else "white"

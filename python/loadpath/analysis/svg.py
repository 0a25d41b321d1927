"""The little of SVG that the figures need: elements, a time axis, a legend.

Figures are standalone files with real text (searchable, scalable) and a tooltip on every mark.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.etree import ElementTree

__all__ = ["AXIS_GREY", "Canvas", "Scale", "count", "nice_step", "staircase"]

AXIS_GREY = "#666666"
_GRID_GREY = "#e4e4e4"


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear, from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        span = self.high - self.low
        part = (value - self.low) / span if span else 0.0
        return self.start + part * (self.end - self.start)


def nice_step(span: float, most: int) -> float:
    """The smallest 1, 2 or 5 times a power of ten that divides `span` into at most `most` steps."""
    rough = span / most if span > 0 else 1.0
    power = 10.0 ** floor(log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def staircase(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of a value that holds until the next."""
    steps: list[tuple[float, float]] = []
    for x, y in points:
        if steps:
            steps.append((x, steps[-1][1]))
        steps.append((x, y))
    return steps


def count(number: int, noun: str) -> str:
    """A number of things, in English."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Canvas:
    """An SVG document under construction."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        self._root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {_number(width)} {_number(height)}",
                "width": _number(width),
                "height": _number(height),
                "role": "img",
                "font-family": "system-ui, 'DejaVu Sans', sans-serif",
                "font-size": "11",
            },
        )
        ElementTree.SubElement(self._root, "title").text = _printable(title)
        self.rect(0, 0, width, height, "#ffffff")

    def _add(self, tag: str, tooltip: str | None, **attributes: str | float) -> None:
        element = ElementTree.SubElement(
            self._root,
            tag,
            {
                name.replace("_", "-"): value if isinstance(value, str) else _number(value)
                for name, value in attributes.items()
            },
        )
        if tooltip is not None:
            ElementTree.SubElement(element, "title").text = _printable(tooltip)

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, tooltip: str | None = None
    ) -> None:
        """A filled rectangle."""
        self._add("rect", tooltip, x=x, y=y, width=max(width, 0.0), height=height, fill=fill)

    def line(
        self,
        points: Sequence[tuple[float, float]],
        stroke: str,
        *,
        width: float = 1,
        dash: str = "",
    ) -> None:
        """A polyline."""
        dashes = {"stroke_dasharray": dash} if dash else {}
        coordinates = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._add(
            "polyline",
            None,
            points=coordinates,
            fill="none",
            stroke=stroke,
            stroke_width=width,
            **dashes,
        )

    def path(self, d: str, stroke: str, *, width: float = 1.5, tooltip: str | None = None) -> None:
        """A stroked path; many marks in one element keep figures of large loads small."""
        # Square ends keep marks visible that are shorter than a pixel.
        self._add(
            "path",
            tooltip,
            d=d,
            fill="none",
            stroke=stroke,
            stroke_width=width,
            stroke_linecap="square",
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        size: float = 11,
        fill: str = "#222222",
        tooltip: str | None = None,
    ) -> None:
        """A line of text."""
        self._add("text", tooltip, x=x, y=y, text_anchor=anchor, font_size=size, fill=fill)
        element = self._root[-1]
        # The tooltip, if any, follows the text as a child.
        element.text = _printable(text)

    def legend(self, x: float, y: float, entries: Sequence[tuple[str, str]]) -> None:
        """Coloured squares with labels, in one row."""
        for label, colour in entries:
            self.rect(x, y - 9, 10, 10, colour)
            self.text(x + 14, y, label, size=10.5)
            x += 14 + 6.1 * len(label) + 16

    def time_axis(self, scale: Scale, top: float, bottom: float) -> None:
        """Vertical grid lines and labels below; milliseconds, or seconds from two on."""
        step = nice_step(scale.high - scale.low, 10)
        seconds = scale.high >= 2000
        for index in range(ceil(scale.low / step), floor(scale.high / step) + 1):
            value = index * step
            x = scale(value)
            self.line([(x, top), (x, bottom)], _GRID_GREY)
            label = f"{value / 1000:g}" if seconds else f"{value:g}"
            self.text(x, bottom + 14, label, anchor="middle", fill=AXIS_GREY)
        unit = "s" if seconds else "ms"
        self.text(scale.start - 10, bottom + 14, f"time ({unit})", anchor="end", fill=AXIS_GREY)

    def value_axis(self, scale: Scale, left: float, right: float) -> None:
        """Horizontal grid lines and labels on the left."""
        step = nice_step(scale.high - scale.low, 4)
        for index in range(ceil(scale.low / step), floor(scale.high / step) + 1):
            y = scale(index * step)
            self.line([(left, y), (right, y)], _GRID_GREY)
            self.text(left - 5, y + 4, f"{index * step:g}", anchor="end", size=10, fill=AXIS_GREY)

    def to_string(self) -> str:
        """The document."""
        ElementTree.indent(self._root, space=" ")
        return ElementTree.tostring(self._root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """XML has no way to write control characters, and URLs come from anywhere."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)

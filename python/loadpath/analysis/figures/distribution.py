"""Distributions: cumulative shares of values or of differences, and histograms."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING, Any

from loadpath.analysis.figures.figure import Figure, Value
from loadpath.analysis.figures.style import COLOURS, GREY, line_style
from loadpath.analysis.figures.units import axis_label, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cdf", "difference_cdf", "histogram", "quantiles"]

MOST_POINTS = 200
"""Of a line: what a reader can see, and files stay small."""

_TAIL = 0.5
"""Per cent at each end of differences that are not on the axis, only in the CSV."""


def quantiles(values: Sequence[float], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """Points (value, share of values up to it): all, or so many at even shares.

    >>> quantiles([3.0, 1.0, 2.0, 2.0])
    [(1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (3.0, 1.0)]
    >>> quantiles(range(1000), 3)
    [(0.0, 0.001), (500.0, 0.501), (999.0, 1.0)]
    """
    import numpy as np

    ordered = np.sort(np.asarray(values, dtype=float))
    places = np.unique(
        np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int)
    )
    return [(float(ordered[at]), (int(at) + 1) / len(ordered)) for at in places]


def cdf(
    *,
    name: str,
    title: str,
    caption: str,
    samples: Mapping[str, Sequence[float]],
    column: str,
    by: str = "series",
    log_x: bool = False,
) -> Figure:
    """A line for each series: the share of its values up to x.

    Parameters
    ----------
    name, title, caption
        As `Figure` has them.
    samples
        Values of each series, in any order.
    column
        Name of the values, with unit.
    by
        Name of what the series are.
    log_x
        Logarithmic x axis.
    """
    return _cdf(name, title, caption, samples, column, by, log_x=log_x, difference=False)


def difference_cdf(
    *,
    name: str,
    title: str,
    caption: str,
    samples: Mapping[str, Sequence[float]],
    column: str,
    by: str = "series",
) -> Figure:
    """As `cdf`, of differences: a line marks zero, and the legend says how many are up to it."""
    return _cdf(name, title, caption, samples, column, by, log_x=False, difference=True)


def _cdf(
    name: str,
    title: str,
    caption: str,
    samples: Mapping[str, Sequence[float]],
    column: str,
    by: str,
    *,
    log_x: bool,
    difference: bool,
) -> Figure:
    series = {label: quantiles(values) for label, values in samples.items() if len(values)}
    rows = [(label, *point) for label, points in series.items() for point in points]
    below = {
        label: 100 * sum(1 for v in values if v <= 0) / len(values)
        for label, values in samples.items()
        if len(values)
    }

    def draw(axes: "Axes") -> None:
        import numpy as np

        for number, (label, points) in enumerate(series.items()):
            text = printable(label)
            axes.step(
                [points[0][0], *(point[0] for point in points)],
                [0.0, *(100 * point[1] for point in points)],
                where="post",
                label=f"{text} ({below[label]:.0f} % ≤ 0)" if difference else text,
                **line_style(number, markers=False),
            )
        if log_x:
            axes.set_xscale("log")
        if difference and rows:
            axes.axvline(0.0, color=GREY, linewidth=0.8)
            values = np.concatenate(
                [np.asarray([p[0] for p in points]) for points in series.values()]
            )
            low, high = np.percentile(values, (_TAIL, 100 - _TAIL))
            margin = 0.03 * (high - low) or 1.0
            axes.set_xlim(min(low, 0.0) - margin, max(high, 0.0) + margin)
        axes.set_ylim(0, 100)
        axes.grid(visible=True)
        axes.set_xlabel(axis_label(column))
        axes.set_ylabel("share (%)")
        if len(series) > 1 or difference:
            axes.legend(loc="best" if len(series) < 5 else "lower right")

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=(by, column, "share"),
        rows=rows,
        draw=draw,
    )


def histogram(
    *,
    name: str,
    title: str,
    caption: str,
    values: Sequence[float],
    column: str,
    of: str,
    width: float = 1.0,
) -> Figure:
    """How many values lie in each bin.

    Parameters
    ----------
    name, title, caption
        As `Figure` has them.
    values
        What is counted.
    column
        Name of the values, with unit.
    of
        What is counted, in the plural: "sites".
    width
        Of a bin; with 1 and whole numbers each number has its own.
    """
    counts: dict[int, int] = {}
    for value in values:
        counts[floor(value / width)] = counts.get(floor(value / width), 0) + 1
    bins = range(min(counts), max(counts) + 1) if counts else range(0)
    rows: list[tuple[Value, ...]] = [
        (bin * width, (bin + 1) * width, counts.get(bin, 0)) for bin in bins
    ]
    single = width == 1 and all(float(value).is_integer() for value in values)

    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        lefts: list[Any] = [row[0] for row in rows]
        heights: list[Any] = [row[2] for row in rows]
        axes.bar(
            lefts,
            heights,
            width=0.8 * width if single else width,
            align="center" if single else "edge",
            color=COLOURS[0],
            edgecolor="white",
            linewidth=0.5,
        )
        if single:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=True, axis="y")
        axes.set_xlabel(axis_label(column))
        axes.set_ylabel(printable(of))

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=(f"{column}_from", f"{column}_below", of),
        rows=rows,
        draw=draw,
        size_mm=(120.0, 80.0),
    )

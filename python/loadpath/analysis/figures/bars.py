"""Bars: means of groups with their least and greatest values, as the gain tables of papers."""

from typing import TYPE_CHECKING

from loadpath.analysis.figures.figure import Figure, Rows
from loadpath.analysis.figures.heat_map import ordered
from loadpath.analysis.figures.style import COLOURS, GREY, HATCHES
from loadpath.analysis.figures.units import axis_label, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bars"]


def bars(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    value: str,
    by: str | None = None,
    low: str | None = None,
    high: str | None = None,
    neutral: float = 0.0,
) -> Figure:
    """Groups of bars, one for each value of `by`, with whiskers.

    Parameters
    ----------
    name, title, caption, columns, rows
        As `Figure` has them; one row a bar.
    x, value, by
        Columns: the groups, the heights, the bars within a group.
    low, high
        Columns of the ends of the whiskers.
    neutral
        Where bars start and a line is drawn: 0 for differences, 1 for ratios.
    """
    x_at, value_at = columns.index(x), columns.index(value)
    by_at, low_at, high_at = (None if c is None else columns.index(c) for c in (by, low, high))

    def draw(axes: "Axes") -> None:
        groups = ordered(row[x_at] for row in rows)
        kinds = [None] if by_at is None else ordered(row[by_at] for row in rows)
        width = 0.8 / len(kinds)
        for number, kind in enumerate(kinds):
            for row in rows:
                height = row[value_at]
                if (by_at is not None and row[by_at] != kind) or not isinstance(
                    height, int | float
                ):
                    continue
                place = groups.index(row[x_at]) - 0.4 + (number + 0.5) * width
                axes.bar(
                    place,
                    height - neutral,
                    0.92 * width,
                    bottom=neutral,
                    color=COLOURS[number % len(COLOURS)],
                    hatch=HATCHES[number % len(HATCHES)],
                    edgecolor="white",
                    linewidth=0.5,
                )
                if low_at is not None and high_at is not None:
                    ends = [v for v in (row[low_at], row[high_at]) if isinstance(v, int | float)]
                    if len(ends) == 2:
                        axes.plot([place, place], ends, color="black", linewidth=0.9, marker="_")
        axes.axhline(neutral, color=GREY, linewidth=0.8)
        labels = [value_label(x, group) for group in groups]
        long = sum(map(len, labels)) > 70
        axes.set_xticks(
            range(len(groups)), labels, rotation=30 if long else 0, ha="right" if long else "center"
        )
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(axis_label(x, unit=False))
        axes.grid(visible=True, axis="y")
        axes.set_ylabel(axis_label(value))
        if by is not None:
            from matplotlib.patches import Patch

            handles = [
                Patch(
                    facecolor=COLOURS[number % len(COLOURS)],
                    hatch=HATCHES[number % len(HATCHES)],
                    edgecolor="white",
                    label=value_label(by, kind),
                )
                for number, kind in enumerate(kinds)
            ]
            axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5))

    return Figure(name=name, title=title, caption=caption, columns=columns, rows=rows, draw=draw)

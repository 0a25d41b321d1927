"""Points of two numbers each, with lines through the origin to read them by."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadpath.analysis.figures.figure import Figure, Rows
from loadpath.analysis.figures.heat_map import ordered
from loadpath.analysis.figures.style import GREY, line_style
from loadpath.analysis.figures.units import axis_label, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scatter"]


def scatter(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    y: str,
    by: str,
    slopes: Sequence[float] = (),
) -> Figure:
    """A marker for each row; both axes start at zero.

    Parameters
    ----------
    name, title, caption, columns, rows
        As `Figure` has them.
    x, y, by
        Columns: the axes, and what decides colour and marker.
    slopes
        Lines y = slope * x; the first is solid, the others are dotted.
    """
    x_at, y_at, by_at = (columns.index(column) for column in (x, y, by))

    def draw(axes: "Axes") -> None:
        highest = 0.0
        for number, group in enumerate(ordered(row[by_at] for row in rows)):
            points = [
                (float(x_value), float(y_value))
                for row in rows
                if row[by_at] == group
                and isinstance(x_value := row[x_at], int | float)
                and isinstance(y_value := row[y_at], int | float)
            ]
            style = line_style(number, markers=True) | {"linestyle": "none"}
            axes.plot(
                [point[0] for point in points],
                [point[1] for point in points],
                label=value_label(by, group),
                markerfacecolor="none",
                **style,
            )
            highest = max([highest, *(point[0] for point in points)])
        top = axes.get_ylim()[1]
        for number, slope in enumerate(slopes):
            axes.axline(
                (0.0, 0.0),
                slope=slope,
                color=GREY,
                linewidth=0.8,
                linestyle=":" if number else "-",
            )
        axes.set_xlim(0.0, 1.03 * highest or 1.0)
        axes.set_ylim(0.0, top)
        axes.grid(visible=True)
        axes.set_xlabel(axis_label(x))
        axes.set_ylabel(axis_label(y))
        axes.legend(title=axis_label(by, unit=False))

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=columns,
        rows=rows,
        draw=draw,
        size_mm=(120.0, 110.0),
    )

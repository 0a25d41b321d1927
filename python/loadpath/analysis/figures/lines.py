"""Lines: a value over a parameter, a line for each value of another."""

from typing import TYPE_CHECKING

from loadpath.analysis.figures.figure import Figure, Rows, Value
from loadpath.analysis.figures.heat_map import ordered
from loadpath.analysis.figures.style import line_style
from loadpath.analysis.figures.units import axis_label, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["lines"]

_MOST_TICKS = 12
_LOG_SPAN = 50.0
"""Positive values that span more than this get a logarithmic axis unless told otherwise."""


def lines(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    y: str,
    by: str | None = None,
    log_x: bool | None = None,
    log_y: bool = False,
    from_zero: bool = True,
) -> Figure:
    """Lines with markers at the values, which are on the x axis with their units.

    Parameters
    ----------
    name, title, caption, columns, rows
        As `Figure` has them; one row a point.
    x, y, by
        Columns: the axes, and what makes a line of its own.
    log_x, log_y
        Logarithmic axes; by default x is if its values span much.
    from_zero
        Whether a linear y axis starts at zero (or below).
    """
    x_at, y_at = columns.index(x), columns.index(y)
    by_at = None if by is None else columns.index(by)

    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import NullLocator

        xs = ordered(row[x_at] for row in rows)
        places: dict[Value, float]
        if all(isinstance(v, int | float) for v in xs):
            places = {v: float(v) for v in xs if isinstance(v, int | float)}
            if _is_log(list(places.values()), log_x):
                axes.set_xscale("log")
        else:
            places = {v: float(place) for place, v in enumerate(xs)}
        groups = [None] if by_at is None else ordered(row[by_at] for row in rows)
        for number, group in enumerate(groups):
            points = sorted(
                (places[row[x_at]], height)
                for row in rows
                if (by_at is None or row[by_at] == group)
                and isinstance(height := row[y_at], int | float)
            )
            axes.plot(
                [point[0] for point in points],
                [point[1] for point in points],
                label="" if by is None else value_label(by, group),
                **line_style(number, markers=True),
            )
        axes.xaxis.set_minor_locator(NullLocator())
        if len(xs) <= _MOST_TICKS:
            labels = [value_label(x, v) for v in xs]
            long = sum(map(len, labels)) > 60
            axes.set_xticks(
                [places[v] for v in xs],
                labels,
                rotation=30 if long else 0,
                ha="right" if long else "center",
            )
            axes.set_xlabel(axis_label(x, unit=False))
        else:
            axes.set_xlabel(axis_label(x))
        if log_y:
            axes.set_yscale("log")
        elif from_zero:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.grid(visible=True)
        axes.set_ylabel(axis_label(y))
        if by is not None:
            axes.legend(
                title=axis_label(by, unit=False), loc="center left", bbox_to_anchor=(1, 0.5)
            )

    return Figure(name=name, title=title, caption=caption, columns=columns, rows=rows, draw=draw)


def _is_log(values: list[float], wanted: bool | None) -> bool:
    if wanted is not None or not values or min(values) <= 0:
        return bool(wanted)
    return max(values) / min(values) > _LOG_SPAN

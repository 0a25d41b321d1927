"""The best of several choices, as a number of connections, and what a fixed one costs instead."""

from collections.abc import Sequence

from loadpath.analysis.figures.figure import Figure, Rows, Value
from loadpath.analysis.figures.lines import lines

__all__ = ["Best", "best_choice", "best_choices", "cost_of_choice"]

Best = tuple[Value, Value, int, float, float]
"""x, by, best choice, its time, cost of the fixed choice in per cent."""


def best_choices(
    rows: Sequence[tuple[Value, Value, int, float]], *, margin: float, fixed: int
) -> list[Best]:
    """For each x and group the smallest choice whose time is within a margin of the lowest.

    Parameters
    ----------
    rows
        x, group, choice, time.
    margin
        In the unit of the times; 20 ms in the PCP thesis, section 4.4.1.
    fixed
        The choice whose cost is wanted: 100 x (its time / lowest time - 1).

    Examples
    --------
    >>> best_choices([(1, "a", 1, 2.0), (1, "a", 2, 1.01), (1, "a", 4, 1.0)], margin=0.02, fixed=1)
    [(1, 'a', 2, 1.01, 100.0)]
    """
    cells: dict[tuple[Value, Value], dict[int, float]] = {}
    for x, by, choice, time in rows:
        cells.setdefault((x, by), {})[choice] = time
    found = []
    for (x, by), times in cells.items():
        lowest = min(times.values())
        best = min(choice for choice, time in times.items() if time <= lowest + margin)
        found.append((x, by, best, times[best], 100 * (times[fixed] / lowest - 1)))
    return found


def best_choice(
    *, name: str, title: str, caption: str, rows: Rows, x: str, by: str, choice: str
) -> Figure:
    """Lines of the best choice over x (rows: x, by, choice)."""
    return lines(
        name=name,
        title=title,
        caption=caption,
        columns=(x, by, choice),
        rows=rows,
        x=x,
        y=choice,
        by=by,
    )


def cost_of_choice(*, name: str, title: str, caption: str, rows: Rows, x: str, by: str) -> Figure:
    """Lines of what the fixed choice costs over x (rows: x, by, per cent)."""
    return lines(
        name=name,
        title=title,
        caption=caption,
        columns=(x, by, "increase_percent"),
        rows=rows,
        x=x,
        y="increase_percent",
        by=by,
    )

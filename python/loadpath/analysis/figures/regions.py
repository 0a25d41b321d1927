"""Regions: where something helps, where it does no difference, where it hurts."""

from typing import TYPE_CHECKING

from loadpath.analysis.figures.figure import Figure, Rows
from loadpath.analysis.figures.heat_map import ordered
from loadpath.analysis.figures.style import COLOURS
from loadpath.analysis.figures.units import axis_label, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["regions"]

_VERDICTS = (
    ("helps", COLOURS[0], "+"),
    ("no difference", "#dddddd", "="),
    ("hurts", COLOURS[5], "−"),
)


def regions(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    y: str,
    value: str,
    neutral: float = 0.0,
    margin: float = 0.0,
) -> Figure:
    """A cell for each pair: whether the value is above, within or below `neutral` ± `margin`.

    Parameters
    ----------
    name, title, caption, columns, rows
        As `Figure` has them; one row a cell.
    x, y, value
        Columns of what is drawn.
    neutral, margin
        What makes no difference.
    """
    x_at, y_at, value_at = (columns.index(column) for column in (x, y, value))

    def verdict(number: float) -> int:
        if abs(number - neutral) <= margin:
            return 1
        return 0 if number > neutral else 2

    def draw(axes: "Axes") -> None:
        from matplotlib.patches import Patch, Rectangle

        xs, ys = ordered(row[x_at] for row in rows), ordered(row[y_at] for row in rows)
        for row in rows:
            number = row[value_at]
            if not isinstance(number, int | float):
                continue
            left, top = xs.index(row[x_at]), ys.index(row[y_at])
            _, colour, sign = _VERDICTS[verdict(number)]
            axes.add_patch(Rectangle((left, top), 1, 1, facecolor=colour, edgecolor="white"))
            white = colour == COLOURS[0]
            axes.text(
                left + 0.5,
                top + 0.5,
                sign,
                ha="center",
                va="center",
                fontsize=9,
                color="white" if white else "black",
            )
        axes.set_xlim(0, len(xs))
        axes.set_ylim(len(ys), 0)
        axes.set_xticks([at + 0.5 for at in range(len(xs))], [value_label(x, v) for v in xs])
        axes.set_yticks([at + 0.5 for at in range(len(ys))], [value_label(y, v) for v in ys])
        axes.tick_params(length=0)
        axes.set_xlabel(axis_label(x, unit=False))
        axes.set_ylabel(axis_label(y, unit=False))
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.legend(
            handles=[
                Patch(color=colour, label=f"{sign} {word}") for word, colour, sign in _VERDICTS
            ],
            loc="center left",
            bbox_to_anchor=(1, 0.5),
        )

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=columns,
        rows=rows,
        draw=draw,
        size_mm=(130.0, 32.0 + 7.0 * max(len({row[y_at] for row in rows}), 3)),
    )

"""Heat maps: a value for each pair of two parameters, as bandwidth and round-trip time."""

from typing import TYPE_CHECKING, Any

from loadpath.analysis.figures.figure import Figure, Rows, Value
from loadpath.analysis.figures.style import DIVERGING, SEQUENTIAL, text_on
from loadpath.analysis.figures.units import axis_label, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["heat_map", "ordered"]

_SHADES = 41
"""Odd, for one in the middle; Matplotlib draws colour bars of 50 and more as pixels."""


def heat_map(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    y: str,
    value: str,
    centre: float | None = None,
    divide: str | None = None,
    digits: int = 1,
    limits: tuple[float, float] | None = None,
    log: bool = False,
) -> Figure:
    """A cell for each pair, with its value in it; x from left, y from above, both ascending.

    Parameters
    ----------
    name, title, caption, columns, rows
        As `Figure` has them; one row a cell.
    x, y, value
        Columns of what is drawn.
    centre
        Where colours part: values above and below get different ones, and a line runs between
        them, so that they are told apart without colours. `None` for one scale.
    divide
        A column: a line runs between neighbours that differ in it, instead of at `centre`.
    digits
        After the decimal point.
    limits
        Of the colours; those of the values by default.
    log
        Colours by the logarithm of the values.
    """
    x_at, y_at, value_at = (columns.index(column) for column in (x, y, value))
    divide_at = None if divide is None else columns.index(divide)

    def draw(axes: "Axes") -> None:
        import matplotlib as mpl
        import numpy as np
        from matplotlib.colors import LogNorm, Normalize

        xs, ys = ordered(row[x_at] for row in rows), ordered(row[y_at] for row in rows)
        grid = np.full((len(ys), len(xs)), np.nan)
        side: dict[tuple[int, int], object] = {}
        for row in rows:
            at = ys.index(row[y_at]), xs.index(row[x_at])
            number = row[value_at]
            if isinstance(number, int | float):
                grid[at] = number
                if divide_at is not None:
                    side[at] = row[divide_at]
                elif centre is not None:
                    side[at] = number >= centre
        finite = grid[np.isfinite(grid)]
        low, high = limits or ((finite.min(), finite.max()) if len(finite) else (0.0, 1.0))
        if centre is not None:
            reach = max(high - centre, centre - low) or 1.0
            low, high = centre - reach, centre + reach
        high = high if high > low else low + 1.0
        norm = LogNorm(low, high) if log and low > 0 else Normalize(low, high)
        colours = mpl.colormaps[SEQUENTIAL if centre is None else DIVERGING].resampled(_SHADES)
        mesh = axes.pcolormesh(
            np.ma.masked_invalid(grid), cmap=colours, norm=norm, edgecolors="white", linewidth=0.4
        )
        for (line, column), number in np.ndenumerate(grid):
            shown = np.isfinite(number)
            axes.text(
                column + 0.5,
                line + 0.5,
                _signed(number, digits, signed=centre == 0) if shown else "–",
                ha="center",
                va="center",
                fontsize=7.5,
                color=text_on(colours(norm(number))) if shown else "black",
            )
        _dividing_line(axes, side)
        axes.set_xticks(np.arange(len(xs)) + 0.5, [value_label(x, v) for v in xs])
        axes.set_yticks(np.arange(len(ys)) + 0.5, [value_label(y, v) for v in ys])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.set_xlabel(axis_label(x, unit=False))
        axes.set_ylabel(axis_label(y, unit=False))
        for spine in axes.spines.values():
            spine.set_visible(False)
        assert axes.figure is not None
        bar = axes.figure.colorbar(mesh, ax=axes, fraction=0.05, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(axis_label(value))

    lines = len({row[y_at] for row in rows})
    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=columns,
        rows=rows,
        draw=draw,
        size_mm=(130.0, 32.0 + 7.0 * max(lines, 3)),
    )


def ordered(values: Any) -> list[Value]:
    """Distinct values, numbers ascending before texts in the order in which they come."""
    distinct = list(dict.fromkeys(values))
    numbers = sorted(v for v in distinct if isinstance(v, int | float))
    return [*numbers, *(v for v in distinct if not isinstance(v, int | float))]


def _signed(value: float, digits: int, *, signed: bool) -> str:
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    text = text.lstrip("+-") if float(text) == 0 else text
    return text.replace("-", "\N{MINUS SIGN}")


def _dividing_line(axes: "Axes", side: dict[tuple[int, int], object]) -> None:
    """Along the edges between cells that are on different sides."""
    for (line, column), here in side.items():
        for other, xs, ys in (
            ((line, column + 1), (column + 1, column + 1), (line, line + 1)),
            ((line + 1, column), (column, column + 1), (line + 1, line + 1)),
        ):
            if other in side and side[other] != here:
                axes.plot(xs, ys, color="white", linewidth=3.2, solid_capstyle="projecting")
                axes.plot(xs, ys, color="black", linewidth=1.6, solid_capstyle="projecting")

"""A value over two numeric parameters as a surface or by its contour lines."""

from typing import TYPE_CHECKING, Any, cast

from loadpath.analysis.figures.figure import Figure, Rows
from loadpath.analysis.figures.style import GREY, SEQUENTIAL
from loadpath.analysis.figures.units import axis_label, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["contour", "surface"]


def _grid(columns: tuple[str, ...], rows: Rows, x: str, y: str, value: str) -> Any:
    """Ascending x and y, and values of shape (y, x), NaN where there is none."""
    import numpy as np

    at = [columns.index(column) for column in (x, y, value)]
    points = np.array([[row[place] for place in at] for row in rows], dtype=float)
    xs, x_place = np.unique(points[:, 0], return_inverse=True)
    ys, y_place = np.unique(points[:, 1], return_inverse=True)
    values = np.full((len(ys), len(xs)), np.nan)
    values[y_place, x_place] = points[:, 2]
    return xs, ys, values


def surface(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    y: str,
    value: str,
    inverse_x: bool = False,
    log_x: bool = True,
) -> Figure:
    """The value as a height over x and y; `inverse_x` draws it over 1/x, linearly."""

    def draw(plain: "Axes") -> None:
        import numpy as np

        axes = cast(Any, plain)
        xs, ys, values = _grid(columns, rows, x, y, value)
        # Axes in three dimensions have no logarithmic scale of their own.
        places = 1 / xs if inverse_x else np.log10(xs) if log_x else xs
        across, along = np.meshgrid(places, ys)
        axes.plot_surface(
            across,
            along,
            values,
            cmap=SEQUENTIAL,
            edgecolor="black",
            linewidth=0.3,
            rstride=1,
            cstride=1,
            alpha=0.95,
        )
        shown = _spread(places)
        axes.set_xticks(places[shown], [value_label(x, float(xs[at])) for at in shown])
        shown = _spread(ys)
        axes.set_yticks(ys[shown], [value_label(y, float(ys[at])) for at in shown])
        axes.tick_params(labelsize=6)
        label = axis_label(x, unit=False)
        axes.set_xlabel(f"1 / {label}" if inverse_x else label, labelpad=6)
        axes.set_ylabel(axis_label(y, unit=False), labelpad=4)
        axes.set_zlabel(axis_label(value))
        axes.view_init(elev=24, azim=-125 if inverse_x else 40)

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=columns,
        rows=rows,
        draw=draw,
        size_mm=(150.0, 115.0),
        projection="3d",
    )


def _spread(places: Any, least: float = 0.1) -> list[int]:
    """Of places in order, those that leave room for each other's labels; both ends are kept."""
    room = least * abs(places[-1] - places[0])
    last = len(places) - 1
    shown = [last]
    for at in range(last - 1, -1, -1):
        if abs(places[at] - places[shown[-1]]) >= room:
            shown.append(at)
    if shown[-1] != 0:
        shown[-1 if len(shown) > 1 else len(shown) :] = [0]
    return sorted(shown)


def contour(
    *,
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    rows: Rows,
    x: str,
    y: str,
    value: str,
    levels: tuple[float, ...] | None = None,
    log_x: bool = True,
) -> Figure:
    """Lines of equal value over x and y, labelled; dots mark what was measured."""

    def draw(axes: "Axes") -> None:
        import numpy as np
        from matplotlib.ticker import NullLocator

        xs, ys, values = _grid(columns, rows, x, y, value)
        finite = values[np.isfinite(values)]
        chosen = levels or tuple(
            float(f"{level:.2g}") for level in np.geomspace(finite.min(), finite.max(), 14)[1:-1]
        )
        heights = sorted({level for level in chosen if finite.min() < level < finite.max()})
        axes.set_xscale("log" if log_x else "linear")
        if heights:
            drawn = axes.contour(xs, ys, values, levels=heights, cmap=SEQUENTIAL, linewidths=1.2)
            texts = {level: value_label(value, level) for level in heights}
            axes.clabel(drawn, fmt=texts, fontsize=6.5, colors="black")
        across, along = np.meshgrid(xs, ys)
        axes.plot(across.ravel(), along.ravel(), ".", color=GREY, markersize=2)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(xs, [value_label(x, float(v)) for v in xs], rotation=30, ha="right")
        axes.set_yticks(ys, [value_label(y, float(v)) for v in ys])
        axes.set_xlabel(axis_label(x, unit=False))
        axes.set_ylabel(axis_label(y, unit=False))

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=columns,
        rows=rows,
        draw=draw,
        size_mm=(150.0, 90.0),
    )

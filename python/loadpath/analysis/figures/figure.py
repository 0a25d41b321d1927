"""What a figure is: numbers, and a way to draw them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Figure", "Row", "Rows", "Value"]

Value: TypeAlias = str | int | float | None
Row: TypeAlias = Sequence[Value]
Rows: TypeAlias = Sequence[Row]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure and the numbers behind it; nothing is drawn before it is saved."""

    name: str
    """Stem of its files: lower case, digits, hyphens."""
    title: str
    caption: str
    """What is seen, how it was obtained (label: simulated, emulated, observed), and its source."""
    columns: Sequence[str]
    """Names of the columns of `rows`, with units."""
    rows: Rows
    """The numbers that are drawn: its CSV."""
    draw: Callable[["Axes"], None]
    """Draws the numbers on axes of a Matplotlib figure."""
    size_mm: tuple[float, float] = (160.0, 100.0)
    """Width and height in print."""
    projection: str | None = None
    """Of the axes: "3d" for surfaces."""

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        place = list(self.columns).index(name)
        return [row[place] for row in self.rows]

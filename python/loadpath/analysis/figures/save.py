"""Figures as files: SVG, PDF or PNG, and the numbers beside them as CSV.

The same figure gives the same bytes: no dates, no random ids, nothing of the user's own settings.
"""

import csv
import io
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadpath.analysis.figures.figure import Figure
from loadpath.analysis.figures.style import RC
from loadpath.analysis.figures.units import printable
from loadpath.errors import LoadpathError, hinted
from loadpath.output import refuse_existing, write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["FORMATS", "render", "save", "to_csv"]

FORMATS = ("svg", "pdf", "png")

_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
_MM_PER_INCH = 25.4
_PNG_DPI = 200


def to_csv(figure: Figure) -> str:
    """The numbers behind a figure, in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(figure.columns)
    writer.writerows(figure.rows)
    return text.getvalue()


def render(figure: Figure, format: str) -> bytes:
    """The figure as a file of that format (`FORMATS`)."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    settings: Any = {
        key: value for key, value in matplotlib.rcParamsDefault.items() if "backend" not in key
    }
    with matplotlib.rc_context(settings | RC), warnings.catch_warnings():
        # Text is measured with the fonts that are there; names may need others.
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        width, height = (mm / _MM_PER_INCH for mm in figure.size_mm)
        canvas = Canvas(figsize=(width, height), layout="constrained")
        return _print(figure, canvas, format)


def _print(figure: Figure, canvas: "Canvas", format: str) -> bytes:
    axes = (
        canvas.add_subplot()
        if figure.projection is None
        else canvas.add_subplot(projection=figure.projection)
    )
    axes.set_title(printable(figure.title))
    figure.draw(axes)
    data = io.BytesIO()
    canvas.savefig(data, format=format, dpi=_PNG_DPI, metadata=_METADATA[format])
    return data.getvalue()


def save(
    figure: Figure, to: Path, formats: Sequence[str] = FORMATS, *, force: bool = False
) -> list[Path]:
    """Write a figure and its numbers.

    Parameters
    ----------
    figure
        What to write.
    to
        A file, whose ending is its format and beside which its CSV appears, or a folder (made if
        need be) for files named after the figure.
    formats
        For a folder: which.
    force
        Replace files that exist.

    Returns
    -------
    The files, the CSV last.

    Raises
    ------
    LoadpathError
        The ending is of no known format.
    OutputExistsError
        There is a file already; none was written.
    """
    suffix = to.suffix.lower().removeprefix(".")
    if suffix and not to.is_dir():
        if suffix not in FORMATS:
            raise hinted(
                LoadpathError(f"{to}: no format for figures ends with .{suffix}"),
                f"the formats are {', '.join(FORMATS)}",
            )
        files = {to: suffix}
        numbers = to.with_suffix(".csv")
    else:
        files = {to / f"{figure.name}.{format}": format for format in formats}
        numbers = to / f"{figure.name}.csv"
    for file in (*files, numbers):
        refuse_existing(file, force=force)
    contents = {file: render(figure, format) for file, format in files.items()}
    numbers.parent.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        write_atomic(file, content, force=force)
    write_atomic(numbers, to_csv(figure), force=force)
    return [*files, numbers]

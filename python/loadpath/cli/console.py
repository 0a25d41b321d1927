"""What the verbs print: errors, notes, progress, tables."""

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from csv import writer as csv_writer
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from loadpath.errors import LoadpathError, hinted
from loadpath.output import write_atomic

__all__ = [
    "extra",
    "print_error",
    "print_json",
    "print_note",
    "print_records",
    "print_summary",
    "print_table",
    "progress_bar",
    "step_bar",
    "sweep_bar",
    "write_output",
]

_stderr = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: BaseException, message: str | None = None) -> None:
    """`error:`, then `caused by:` for each cause, then `hint:` for each note."""
    lines = [("error", message or str(error))]
    # The causes of other errors are in their messages already.
    cause = error.__cause__ if isinstance(error, LoadpathError) else None
    while cause is not None:
        if not isinstance(cause, OSError | UnicodeDecodeError):
            lines.append(("caused by", str(cause)))
        cause = cause.__cause__
    for note in getattr(error, "__notes__", ()):
        word, _, text = note.partition(": ")
        lines.append((word, text))
    for word, text in lines:
        style = "bold red" if word == "error" else "bold"
        _stderr.print(f"[{style}]{word}:[/] ", end="")
        _stderr.print(text, markup=False)


def print_note(text: str) -> None:
    """A line for people, on standard error."""
    _stderr.print(text, markup=False, style="dim")


def print_json(value: object) -> None:
    """JSON on standard output, one line."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")


def print_table(title: str, columns: list[str], rows: list[list[str]], *, text: int = 1) -> None:
    """A table on standard output; all but the first `text` columns are numbers."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(
            column, justify="left" if index < text else "right", no_wrap=True, overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    # Into a file or pipe a table is as wide as its content.
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


class _Report:
    """Tells the bar how many are done."""

    def __init__(self, bar: Progress, total: int | None, before: int) -> None:
        self._bar = bar
        self._before = before
        self._task = bar.add_task("", total=total, completed=before, rate="")

    def __call__(self, done: int) -> None:
        elapsed = self._bar.tasks[0].elapsed or 0.0
        rate = f"{(done - self._before) / elapsed:,.0f}/s" if elapsed > 0 else ""
        self._bar.update(self._task, completed=done, rate=rate)


@contextmanager
def progress_bar(total: int | None, before: int = 0) -> Iterator[_Report]:
    """A progress bar, if standard error is a terminal; call it with the number that are done.

    `before` were done before the bar appeared, and do not count for the rate.
    """
    bar = Progress(
        TextColumn("loading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=_stderr,
        transient=True,
        disable=not _stderr.is_terminal,
    )
    with bar:
        yield _Report(bar, total, before)


@contextmanager
def sweep_bar(total: int, before: int) -> Iterator[_Report]:
    """A progress bar that says after Ctrl-C how to go on."""
    try:
        with progress_bar(total, before) as report:
            yield report
    except KeyboardInterrupt:
        print_note("what is finished is kept: the same command with --resume computes the rest")
        raise


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Imports of packages that only some verbs need."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "loadpath":
            raise
        raise hinted(
            LoadpathError(f"this verb needs the Python package {error.name}"),
            f"pip install 'loadpath[{name}]'",
        ) from None


def print_records(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    csv: Path | None,
    markdown: bool,
    json: bool,
) -> None:
    """A table of data: as CSV or JSON in full, or for people, rounded."""
    if csv is not None:
        text = io.StringIO()
        writer = csv_writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        write_output(csv, csv.name, text.getvalue().encode(), force=False)
    elif json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif markdown:
        for cells in (columns, ["---"] * len(columns), *([_cell(v) for v in r] for r in rows)):
            print("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    else:
        words = next(
            (i for i in range(len(columns)) if any(not isinstance(r[i], str) for r in rows)),
            len(columns),
        )
        print_table("", list(columns), [[_cell(v) for v in row] for row in rows], text=words)


def _cell(value: object) -> str:
    """Three decimals; three significant digits of what is very small or large."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}" if 0.001 <= abs(value) < 1e9 or value == 0 else f"{value:.3g}"
    return str(value)


@contextmanager
def step_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Progress of a few long steps; call it with the step's name, its index, how many there are."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=_stderr,
        transient=True,
        disable=not _stderr.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=None)

        def report(name: str, index: int, total: int) -> None:
            bar.update(task, description=name, completed=index, total=total)

        yield report


def print_summary(lines: list[tuple[str, str]]) -> None:
    """Labels and texts for people, on standard error."""
    width = max(len(label) for label, _ in lines)
    for label, text in lines:
        style = "bold yellow" if label == "warning" else "bold"
        _stderr.print(f"[{style}]{label:{width}}[/]  ", end="")
        _stderr.print(text, markup=False)


def write_output(path: Path | None, default_name: str, data: bytes, *, force: bool) -> None:
    """Write a verb's file: to `path`, to standard output if that is "-", else by its own name."""
    if path == Path("-"):
        sys.stdout.buffer.write(data)
        return
    path = path or Path(default_name)
    write_atomic(path, data, force=force)
    # The path is what a script wants to know.
    print(path)

"""What the verbs print: errors, notes, progress, tables."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from loadpath.errors import LoadpathError
from loadpath.output import write_atomic

__all__ = [
    "print_error",
    "print_json",
    "print_note",
    "print_table",
    "progress_bar",
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

    def __init__(self, bar: Progress, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=total, rate="")

    def __call__(self, done: int) -> None:
        elapsed = self._bar.tasks[0].elapsed or 0.0
        rate = f"{done / elapsed:,.0f}/s" if elapsed > 0 else ""
        self._bar.update(self._task, completed=done, rate=rate)


@contextmanager
def progress_bar(total: int | None) -> Iterator[_Report]:
    """A progress bar, if standard error is a terminal; call it with the number that are done."""
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
        yield _Report(bar, total)


def write_output(path: Path | None, default_name: str, data: bytes, *, force: bool) -> None:
    """Write a verb's file: to `path`, to standard output if that is "-", else by its own name."""
    if path == Path("-"):
        sys.stdout.buffer.write(data)
        return
    path = path or Path(default_name)
    write_atomic(path, data, force=force)
    # The path is what a script wants to know.
    print(path)

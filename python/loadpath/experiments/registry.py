"""Presets by name. To add one, write its module and add it to `PRESETS`."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from loadpath.errors import NotFoundError, hinted

__all__ = ["PRESETS", "Preset", "PresetOptions", "Result", "run_preset"]

Value = str | int | float | None

ProgressBar = Callable[[int], AbstractContextManager[Callable[[int], object]]]
"""Makes a progress bar for so many loads, to be called with the number done."""


@dataclass(frozen=True, kw_only=True)
class PresetOptions:
    """What a user can say about a preset."""

    runs: int | None = None
    corpus: Path | None = None
    published: Path | None = None
    cache: Path | None = None
    threads: int = 0
    progress: ProgressBar | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """A table, and what is to be said about it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = field(default=())

    def to_csv(self) -> str:
        """CSV with a header row; numbers in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def to_records(self) -> list[dict[str, Value]]:
        """A dictionary for each row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_text(self) -> list[list[str]]:
        """Cells for people."""
        return [[_cell(value) for value in row] for row in self.rows]


@dataclass(frozen=True)
class Preset:
    """A published experiment."""

    name: str
    title: str
    run: Callable[[PresetOptions], Result]


PRESETS: Mapping[str, Preset] = {}
"""Every preset by name."""


def run_preset(name: str, options: PresetOptions) -> Result:
    """Run a preset.

    Raises
    ------
    NotFoundError
        There is no preset of that name.
    """
    preset = PRESETS.get(name)
    if preset is None:
        raise hinted(
            NotFoundError(f"there is no preset named {name!r}"),
            "`loadpath reproduce` lists them",
        )
    return preset.run(options)


def _cell(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)

"""What a preset is: a published experiment that can be run again."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from loadpath.analysis.figures import Figure

__all__ = ["Preset", "PresetOptions", "Result", "Table"]

Value = str | int | float | None

ProgressBar = Callable[[int, int], AbstractContextManager[Callable[[int], object]]]
"""Makes a progress bar for so many loads, so many done; to be called with the number done."""


@dataclass(frozen=True, kw_only=True)
class PresetOptions:
    """What a user can say about a preset."""

    runs: int | None = None
    quick: bool = False
    """Fewer pages, networks or runs: an answer within five minutes on two cores."""
    corpus: Path | None = None
    overrides: Sequence[tuple[str, str]] = ()
    """Scenario keys and values that replace the preset's."""
    published: Path | None = None
    filters: Sequence[Path] = ()
    """Ad-block filter lists, of presets that count advertisements."""
    cache: Path | None = None
    """A store of sweeps that keeps the loads; what it has is not computed again."""
    name: str = "preset"
    """Of the sweep in that store."""
    threads: int = 0
    progress: ProgressBar | None = None

    def settings(self, scenario: Mapping[str, Value], *, pages: int, runs: int) -> dict[str, Value]:
        """What is run, for `Result.settings`: scenario keys, then what the user has replaced."""
        return {**scenario, "pages": pages, "runs": runs, **dict(self.overrides)}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under column names with units."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]


@dataclass(frozen=True, kw_only=True)
class Result(Table):
    """The main table of an experiment, and what is to be said about it."""

    csv_columns: Sequence[str] | None = None
    """Columns of the CSV; `None` for all."""
    notes: Sequence[str] = field(default=())
    """One finding a line: numbers computed from the rows, beside what is published."""
    tables: Sequence[Table] = field(default=())
    """Further tables for the report."""
    figures: Sequence[Figure] = field(default=())
    settings: Mapping[str, Value] = field(default_factory=dict)
    """What was run: scenario keys that differ from the profile, pages, runs, seeds."""

    def to_csv(self) -> str:
        """CSV with a header row; numbers in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        chosen = self.columns if self.csv_columns is None else self.csv_columns
        writer.writerow(chosen)
        writer.writerows([record[column] for column in chosen] for record in self.to_records())
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


def _cell(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)

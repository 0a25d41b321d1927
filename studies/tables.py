"""Tables as CSV and Markdown."""

import csv
import io
from collections.abc import Sequence

__all__ = ["csv_text", "markdown_table"]


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line of column names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([columns, *rows])
    return text.getvalue()


def markdown_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[str] = ()
) -> str:
    """A table whose columns are numbers, but for those with the headings `words`."""
    rule = ["---" if heading in words else "---:" for heading in headings]
    lines = [headings, rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

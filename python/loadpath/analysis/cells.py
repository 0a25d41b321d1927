"""Tables over the loads of a sweep: a row for each cell, or for each comparison of a variant.

Loads come from the store in order of cells, and one cell is in memory at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt

from loadpath.analysis import statistics
from loadpath.analysis.query import columns_of, open_tables, quoted
from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.experiments.sweep.specification import (
    Comparison,
    Metric,
    Specification,
    parse_specification,
)
from loadpath.experiments.sweep.store import PlanFolder

__all__ = [
    "Record",
    "cell_table",
    "comparison_table",
    "find_comparison",
    "stored_specification",
]

Record: TypeAlias = dict[str, Any]
"""Columns and values of a row."""

_ROWS_AT_ONCE = 100_000
_MEMORY = "1GiB"
"""Of DuckDB: what does not fit while loads are put in order goes to the disk meanwhile."""

_CORRECTIONS: dict[str, statistics.Correction] = {
    "holm": "holm",
    "bh": "benjamini-hochberg",
}
_TESTS = ("anova", "site_anova", "site_t", "site_wilcoxon", "site_mann_whitney")


def stored_specification(folder: PlanFolder) -> Specification:
    """The specification of a plan, as it was resolved."""
    file = folder.path / "plan.resolved.toml"
    return parse_specification(
        file.read_text(), origin=str(file), folder=folder.path, name=folder.manifest.name
    )


def find_comparison(folder: PlanFolder, name: str) -> Comparison:
    """A comparison of the specification.

    Raises
    ------
    NotFoundError
        There is none of that name.
    """
    found = {c.name: c for c in stored_specification(folder).comparisons}
    if name not in found:
        raise hinted(
            NotFoundError(f"--compare {name}: there is no such comparison"),
            f"the specification has {', '.join(found) or 'none'}",
        )
    return found[name]


def cell_table(
    folder: PlanFolder, by: Sequence[str], metric: Metric, confidence: float = statistics.CONFIDENCE
) -> list[Record]:
    """Load times by some columns.

    Parameters
    ----------
    folder
        The plan.
    by
        Columns of `loads`: what varies, or "page".
    metric
        Which time.
    confidence
        Of the intervals.

    Returns
    -------
    A row for each cell, in order of `by`: its values, `loads`, `failed`, mean, median, sample
    standard deviation and confidence interval over all loads (ms), `pages`, and standard deviation
    and interval over the means of the pages.
    """
    with open_tables([folder], memory=_MEMORY) as connection:
        _check(connection, by)
        _number_cells(connection, "loads", by)
        connection.execute(
            f"CREATE VIEW observations AS SELECT cell, row, page_number AS site, {metric} AS a, "
            f"0.0 AS b FROM loads JOIN cells ON {_same(by)} "
            "JOIN page_numbers ON loads.page = page_numbers.page"
        )
        table = []
        for labels, (sites, values, _) in _cells(connection, by):
            complete = ~np.isnan(values)
            over_loads = statistics.describe(values[complete], confidence)
            means = statistics.site_means(values[complete], sites[complete])
            over_pages = statistics.describe(means, confidence)
            table.append(
                labels
                | {
                    "loads": len(values),
                    "failed": int(np.count_nonzero(~complete)),
                    "mean_ms": over_loads.mean,
                    "median_ms": over_loads.median,
                    "sd_ms": over_loads.sd,
                    "low_ms": over_loads.low,
                    "high_ms": over_loads.high,
                    "pages": over_pages.n,
                    "page_sd_ms": over_pages.sd,
                    "page_low_ms": over_pages.low,
                    "page_high_ms": over_pages.high,
                }
            )
        return table


def comparison_table(
    folder: PlanFolder, comparison: Comparison, confidence: float = statistics.CONFIDENCE
) -> list[Record]:
    """Every variant of a comparison against its baseline, under every condition.

    Loads are paired by page, run and everything else that varies; pairs of which one failed are
    counted in `failed` and left out. `p` of every test is there as it is, and corrected for the
    number of rows by Holm's and by Benjamini and Hochberg's method.

    Returns
    -------
    A row for each condition and variant: the condition, the variant's values, then the fields of
    `loadpath.analysis.statistics.Comparison`, nested ones joined by "_"; times in ms.
    """
    varying = [name for name, _ in comparison.baseline]
    with open_tables([folder], memory=_MEMORY) as connection:
        by = [axis for axis in folder.manifest.axes if axis not in varying]
        # Seeds repeat a condition, they are none.
        conditions = [axis for axis in by if axis != "random.seed"]
        table = []
        for variant in comparison.variants:
            with _pairs(connection, comparison, variant, by, conditions):
                for labels, (sites, baseline, other) in _cells(connection, conditions):
                    complete = ~(np.isnan(baseline) | np.isnan(other))
                    row = labels | dict(variant) | {"failed": int(np.count_nonzero(~complete))}
                    if complete.any():
                        row |= _flat(
                            statistics.compare(
                                baseline[complete],
                                other[complete],
                                sites[complete],
                                margin=comparison.margin_ms,
                                confidence=confidence,
                            )
                        )
                    table.append(row)
    columns = max(table, key=len, default={})
    table = [{column: row.get(column) for column in columns} for row in table]
    for test in _TESTS:
        probabilities = [row.get(f"{test}_p") for row in table]
        for name, correction in _CORRECTIONS.items():
            adjusted = statistics.adjust(probabilities, correction)
            for row, p in zip(table, adjusted, strict=True):
                row[f"{test}_p_{name}"] = p
    return table


@contextmanager
def _pairs(
    connection: duckdb.DuckDBPyConnection,
    comparison: Comparison,
    variant: tuple[tuple[str, Any], ...],
    by: Sequence[str],
    conditions: Sequence[str],
) -> Iterator[None]:
    def side(name: str, labels: tuple[tuple[str, Any], ...]) -> None:
        where = " AND ".join(f"{quoted(axis)} = {_literal(label)}" for axis, label in labels)
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM loads WHERE {where}")

    side("baseline", comparison.baseline)
    side("variant", variant)
    _number_cells(connection, "baseline", conditions)
    same = " AND ".join(f"b.{quoted(axis)} = v.{quoted(axis)}" for axis in ["page", "run", *by])
    condition = " AND ".join(f"b.{quoted(c)} = cells.{quoted(c)}" for c in conditions) or "true"
    connection.execute(
        "CREATE OR REPLACE VIEW observations AS SELECT cell, b.row AS row, page_number AS site, "
        f"b.{comparison.metric} AS a, v.{comparison.metric} AS b "
        f"FROM baseline b JOIN variant v ON {same} JOIN cells ON {condition} "
        "JOIN page_numbers ON b.page = page_numbers.page"
    )
    yield


def _check(connection: duckdb.DuckDBPyConnection, by: Sequence[str]) -> None:
    known = [c for c in columns_of(connection, "loads") if c not in ("plt_ms", "dcl_ms", "row")]
    for column in by:
        if column not in known:
            raise hinted(
                LoadpathError(f"--by {column}: there is no such column"),
                "columns are " + ", ".join(known),
            )


def _number_cells(connection: duckdb.DuckDBPyConnection, table: str, by: Sequence[str]) -> None:
    """Tables `cells` and `page_numbers`: numbers in the order of values and names."""
    columns = "".join(f"{quoted(column)}, " for column in by)
    order = columns.rstrip(", ") or "1"
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {columns}"
        f"CAST(row_number() OVER (ORDER BY {order}) - 1 AS INTEGER) AS cell "
        f"FROM (SELECT DISTINCT {columns}1 AS one FROM {quoted(table)})"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE page_numbers AS "
        "SELECT page, CAST(row_number() OVER (ORDER BY page) - 1 AS INTEGER) AS page_number "
        "FROM (SELECT DISTINCT page FROM pages)"
    )


def _same(by: Sequence[str]) -> str:
    return " AND ".join(
        f"loads.{quoted(c)} IS NOT DISTINCT FROM cells.{quoted(c)}" for c in by
    ) or ("true")


Columns: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]


def _cells(
    connection: duckdb.DuckDBPyConnection, by: Sequence[str]
) -> Iterator[tuple[Record, Columns]]:
    """Each cell with its sites and two columns of values, in a fixed order: sums do not vary."""
    columns = ", ".join(map(quoted, by)) or "1"
    labels = connection.execute(f"SELECT {columns} FROM cells ORDER BY cell").fetchall()
    reader = connection.sql(
        "SELECT cell, site, a, b FROM observations ORDER BY cell, row"
    ).to_arrow_reader(_ROWS_AT_ONCE)
    pending: list[tuple[npt.NDArray[Any], ...]] = []
    current = -1

    def finished() -> tuple[Record, Columns]:
        sites, a, b = (np.concatenate(column) for column in zip(*pending, strict=True))
        return dict(zip(by, labels[current], strict=False)), (sites, a, b)

    for batch in reader:
        cell, *columns_of_batch = (
            batch.column(i).to_numpy(zero_copy_only=False) for i in range(batch.num_columns)
        )
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(cell)], strict=True):
            if cell[start] != current and pending:
                yield finished()
                pending.clear()
            current = int(cell[start])
            pending.append(tuple(column[start:end] for column in columns_of_batch))
    if pending:
        yield finished()


def _flat(result: Any, prefix: str = "") -> Record:
    record: Record = {}
    for field in result.__struct_fields__:
        value = getattr(result, field)
        if hasattr(value, "__struct_fields__"):
            record |= _flat(value, f"{prefix}{field}_")
        else:
            record[f"{prefix}{field}"] = value
    return record


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)

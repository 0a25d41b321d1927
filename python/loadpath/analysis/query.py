"""Stored loads as SQL tables, with DuckDB.

`loads` has a row for each finished load, `scenarios` all keys of every scenario, `pages` the pages,
`planned` a row for each load of the plans, finished or not. Scenario keys are columns under their
dotted names and fields of the sections as well, so that `network.rtt_ms` needs no quotes.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from loadpath._core import scenario_keys
from loadpath.errors import LoadpathError, hinted
from loadpath.experiments.sweep.specification import TRANSFORM
from loadpath.experiments.sweep.store import PlanFolder

__all__ = ["TABLES", "columns_of", "open_tables", "quoted", "run_query"]

TABLES = ("loads", "scenarios", "pages", "planned")

_KEYS = tuple(key["name"] for key in scenario_keys())


@contextmanager
def open_tables(
    plans: Sequence[PlanFolder], *, memory: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the tables over the given plans; nothing is read before it is asked for.

    `memory` limits what DuckDB takes, as "1GiB"; its own default is a part of the machine's.
    """
    with (
        tempfile.TemporaryDirectory(prefix="loadpath-query-") as scratch,
        duckdb.connect() as connection,
    ):
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"SET temp_directory = {_text(scratch)}")
        if memory is not None:
            connection.execute(f"SET memory_limit = {_text(memory)}")
        axes = {axis for folder in plans for axis in folder.manifest.axes}
        varying = [key for key in _KEYS if key in axes]
        _view(connection, "pages", [_table(f, f"{f.path}/pages.parquet") for f in plans], [])
        _view(
            connection,
            "scenarios",
            [_table(f, f"{f.path}/scenarios.parquet") for f in plans],
            _KEYS,
        )
        _view(connection, "loads", [_table(f, f"{f.runs}/rows-*.parquet") for f in plans], varying)
        _view(connection, "planned", [_planned(folder, axes) for folder in plans], varying)
        yield connection


def run_query(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Run a statement; its rows are fetched from what is returned.

    Raises
    ------
    LoadpathError
        DuckDB does not like it.
    """
    try:
        return connection.execute(sql)
    except duckdb.Error as error:
        raise hinted(
            LoadpathError(f"SQL: {str(error).strip()}"),
            f"the tables are {', '.join(TABLES)}; `loadpath query 'DESCRIBE loads'` lists columns",
        ) from None


def columns_of(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """Names of the columns of a table."""
    return [row[0] for row in connection.execute(f"DESCRIBE {quoted(table)}").fetchall()]


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _view(
    connection: duckdb.DuckDBPyConnection, name: str, tables: Sequence[str], keys: Sequence[str]
) -> None:
    sections: dict[str, list[str]] = {}
    for key in keys:
        section, _, field = key.partition(".")
        sections.setdefault(section, []).append(f"{quoted(field)} := {quoted(key)}")
    structs = [f"struct_pack({', '.join(f)}) AS {quoted(s)}" for s, f in sections.items()]
    union = " UNION ALL BY NAME ".join(tables)
    connection.execute(
        f"CREATE VIEW {quoted(name)} AS SELECT {', '.join(['*', *structs])} FROM ({union})"
    )


def _table(folder: PlanFolder, files: str) -> str:
    return f"SELECT {_names(folder)}, * FROM read_parquet({_text(files)})"


def _planned(folder: PlanFolder, axes: set[str]) -> str:
    """The product of pages, scenarios and runs, made row by row as it is read."""
    own = "".join(
        f", {'p' if axis == TRANSFORM else 's'}.{quoted(axis)}"
        for axis in folder.manifest.axes
        if axis in axes
    )
    m = folder.manifest
    return (
        f"SELECT {_names(folder)}, (p.file_row_number * {m.scenarios} + s.number) * {m.runs} "
        f"+ r.range AS row, p.page, r.range AS run{own}, s.scenario "
        f"FROM read_parquet({_text(f'{folder.path}/pages.parquet')}, file_row_number=true) p, "
        f"read_parquet({_text(f'{folder.path}/scenarios.parquet')}) s, range({m.runs}) r"
    )


def _names(folder: PlanFolder) -> str:
    return f"{_text(folder.manifest.name)} AS sweep, {_text(folder.manifest.plan)} AS plan"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

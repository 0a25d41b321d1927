"""What tests of sweeps share: small specifications, and the rows that they must give."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadpath.experiments.sweep.execution import LocalExecutor, SweepResult, sweep
from loadpath.experiments.sweep.specification import (
    Specification,
    parse_specification,
)
from loadpath.experiments.sweep.store import PlanFolder

SMALL = """
name = "small"
runs = 3
pages = ["example:figure-3-1", "example:spdy-page-a"]
rows_per_part = 10

[matrix]
network.rtt_ms = [10, "40ms"]
http.version = ["h1", "h2"]

[compare.versions]
baseline = { http.version = "h1" }
"""


def specification(text: str = SMALL) -> Specification:
    return parse_specification(text, origin="spec.toml", folder=Path(), name="spec")


def run(text: str, store: Path, *, jobs: int = 0, **options: Any) -> SweepResult:
    return sweep(specification(text), store=store, executor=LocalExecutor(jobs), **options)


def rows(folder: PlanFolder) -> pa.Table:
    """All finished rows in order of their numbers."""
    tables = [pq.read_table(file) for _, file in sorted(folder.named().items())]
    return pa.concat_tables([t.replace_schema_metadata(None) for t in tables]).unify_dictionaries()

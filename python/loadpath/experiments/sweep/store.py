"""Where the loads of a plan are kept.

    results/NAME/PLAN/plan.resolved.toml   the specification, every value resolved
                      manifest.json        version, commit, seeds, machine, the specification
                      pages.parquet        the pages and the digests of their contents
                      scenarios.parquet    every scenario with all its keys
                      runs/rows-FIRST-END-DIGEST.parquet    one row a load

A part appears under its name when it is complete and synced to the disk, so that names say which
loads are finished, and what their files must contain: one that was cut short or damaged is found,
whatever bit it is, and computed again.
"""

import fcntl
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

import loadpath
from loadpath._core import ENGINE, __version__
from loadpath.errors import SpecificationError, StoreError, hinted
from loadpath.experiments.sweep.plan import Part, Plan, PlannedScenario, flat_values
from loadpath.experiments.sweep.specification import TRANSFORM, Value
from loadpath.outcome import CriticalPhases
from loadpath.output import atomic_file
from loadpath.parameters import scenario_values

__all__ = [
    "DEFAULT_STORE",
    "FIGURES",
    "Manifest",
    "PlanFolder",
    "find_plan",
    "find_plans",
    "row_schema",
]

DEFAULT_STORE = Path("results")
FORMAT = 1
"""Of the folder's layout; another number is not read."""

FIGURES: tuple[tuple[str, pa.DataType], ...] = (
    ("plt_ms", pa.float64()),
    ("dcl_ms", pa.float64()),
    ("connections", pa.int64()),
    ("requests", pa.int64()),
    ("bytes", pa.int64()),
    ("data_packets", pa.int64()),
    ("packets", pa.int64()),
    ("drops", pa.int64()),
    ("retransmissions", pa.int64()),
    ("timeouts", pa.int64()),
    ("tail_losses", pa.int64()),
    ("tail_probes", pa.int64()),
    ("events", pa.int64()),
    ("critical_bytes", pa.int64()),
    *((f"critical_{phase}", pa.float64()) for phase in CriticalPhases.__struct_fields__),
    ("failure", pa.string()),
)
"""What a load gives: columns of the engine, and why it failed if it did."""

_PART = re.compile(r"rows-(\d{12})-(\d{12})-([0-9a-f]{16})\.parquet")
_EMPTY = "rows-000000000000-000000000000.parquet"
"""A part without rows: columns for queries before the first part is finished."""
_OWNER = b"loadpath.part"
_SCENARIOS_AT_ONCE = 4096

_TYPES: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
}


class Machine(msgspec.Struct, frozen=True):
    """Where a plan was made."""

    system: str
    machine: str
    processors: int
    python: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan's folder holds."""

    format: int
    name: str
    plan: str
    """Digest of the plan."""
    engine: str
    version: str
    commit: str | None
    """Of the source tree that Loadpath ran from, if it did from one."""
    created: str
    machine: Machine
    rows: int
    pages: int
    scenarios: int
    runs: int
    seeds: list[int]
    rows_per_part: int
    axes: list[str]
    specification: str
    """The text that the plan was made from."""


class PlanFolder:
    """The folder of one plan."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def runs(self) -> Path:
        """The folder of the parts."""
        return self.path / "runs"

    @classmethod
    def open(cls, path: Path) -> Self:
        """The folder of a plan that was made before.

        Raises
        ------
        StoreError
            It is not one, or one of another version's layout.
        """
        file = path / "manifest.json"
        try:
            manifest = msgspec.json.decode(file.read_bytes(), type=Manifest)
        except OSError as error:
            raise StoreError(f"cannot read {file}: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise StoreError(f"{file}: not a manifest of a sweep: {error}") from error
        if manifest.format != FORMAT:
            raise StoreError(f"{file}: layout {manifest.format}; this version has {FORMAT}")
        return cls(path, manifest)

    @classmethod
    def create(cls, plan: Plan, store: Path) -> Self:
        """The folder of a plan with everything but loads, made whole or not at all."""
        folder = store / plan.specification.name / plan.digest
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=f".{plan.digest}.", dir=folder.parent))
            try:
                manifest = cls._fill(plan, scratch)
                scratch.chmod(0o755)
                scratch.rename(folder)
                for parent in (folder.parent, store):
                    _sync_folder(parent)
            except BaseException:
                shutil.rmtree(scratch, ignore_errors=True)
                raise
        return cls(folder, manifest)

    @classmethod
    def _fill(cls, plan: Plan, folder: Path) -> Manifest:
        (folder / "runs").mkdir()
        constants = _write_scenarios(plan, folder / "scenarios.parquet")
        _refuse_equal_scenarios(plan, folder / "scenarios.parquet")
        pages = pa.table(
            {
                "page": [page.name for page in plan.pages],
                "digest": [page.identity for page in plan.pages],
                "source": [page.source for page in plan.pages],
            }
        )
        if plan.specification.pages.transforms:
            transforms = pa.array([page.transform for page in plan.pages])
            pages = pages.add_column(1, TRANSFORM, transforms)
        manifest = _manifest(plan)
        for name, data in (
            ("plan.resolved.toml", tomli_w.dumps(plan.to_document(constants)).encode()),
            ("pages.parquet", _parquet(pages)),
            ("manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"),
            (f"runs/{_EMPTY}", _parquet(row_schema(plan).empty_table())),
        ):
            _write(folder / name, data)
        _sync_folder(folder / "runs")
        _sync_folder(folder)
        return manifest

    def update(self, plan: Plan) -> None:
        """Write the resolved specification again: comparisons and sources may have changed."""
        constants = self._constants()
        data = tomli_w.dumps(plan.to_document(constants)).encode()
        file = self.path / "plan.resolved.toml"
        if file.read_bytes() != data:
            _write(file, data)

    def _constants(self) -> dict[str, Value]:
        constants = _Constants()
        file = pq.ParquetFile(self.path / "scenarios.parquet")
        keys = [name for name in file.schema_arrow.names if "." in name]
        for batch in file.iter_batches(_SCENARIOS_AT_ONCE, columns=keys):
            for values in batch.to_pylist():
                constants.add(values)
        return constants.values

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from computing the same plan; ends with the process at the latest.

        Raises
        ------
        StoreError
            Another process has it.
        """
        with writing(self.path):
            lock = (self.path / ".lock").open("wb")
        with lock as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise hinted(
                    StoreError(f"another process computes {self.path}"),
                    "wait for it, or end it: what it has finished is kept",
                ) from None
            yield

    def named(self) -> dict[Part, Path]:
        """The parts that have a file."""
        return dict(self._files())

    def _files(self) -> Iterator[tuple[Part, Path]]:
        for entry in os.scandir(self.runs):
            if match := _PART.fullmatch(entry.name):
                yield Part(int(match[1]), int(match[2])), Path(entry.path)

    @property
    def finished_rows(self) -> int:
        """Loads in parts that have a file."""
        return sum(part.rows for part in self.named())

    def check(self, plan: Plan) -> tuple[set[Part], list[Path]]:
        """Read every part, remove what an interruption left or the disk spoilt.

        Returns
        -------
        The parts that are finished, and the damaged files that were removed.
        """
        for entry in os.scandir(self.runs):
            if entry.name.startswith(".rows-"):
                Path(entry.path).unlink()
        expected = set(plan.parts())
        finished: set[Part] = set()
        damaged = []
        for part, file in sorted(self._files()):
            if part in expected and part not in finished and self._is_whole(part, file):
                finished.add(part)
            else:
                damaged.append(file)
                file.unlink()
        return finished, damaged

    def _is_whole(self, part: Part, file: Path) -> bool:
        try:
            return self.read(part, file).num_rows == part.rows
        except StoreError:
            return False

    def read(self, part: Part, file: Path) -> pa.Table:
        """The rows of a finished part.

        Raises
        ------
        StoreError
            The file is damaged, or not of this plan.
        """
        try:
            data = file.read_bytes()
        except OSError as error:
            raise StoreError(f"cannot read {file}: {error.strerror}") from error
        if not file.stem.endswith(_digest(data)):
            raise StoreError(f"{file} is damaged")
        table = pq.read_table(pa.BufferReader(data))
        if (table.schema.metadata or {}).get(_OWNER) != self._owner(part):
            raise StoreError(f"{file} is of another plan or part")
        return table

    def write(self, part: Part, table: pa.Table) -> None:
        """Keep a part: when this returns, it is on the disk under its name.

        Raises
        ------
        StoreError
            The disk is full, or cannot be written; nothing that was finished is lost.
        """
        assert table.num_rows == part.rows
        metadata = {**(table.schema.metadata or {}), _OWNER: self._owner(part)}
        with writing(self.path):
            data = _parquet(table.replace_schema_metadata(metadata))
            name = f"rows-{part.first:012}-{part.end:012}-{_digest(data)}.parquet"
            _write(self.runs / name, data)
            _sync_folder(self.runs)

    def _owner(self, part: Part) -> bytes:
        return f"{self.manifest.plan} {part.first} {part.end}".encode()


def find_plans(path: Path) -> list[PlanFolder]:
    """The plans in a store, a sweep's folder in it, or a plan's folder, oldest first.

    Raises
    ------
    StoreError
        There are none.
    """
    for pattern in ("manifest.json", "*/manifest.json", "*/*/manifest.json"):
        found = [PlanFolder.open(file.parent) for file in path.glob(pattern)]
        if found:
            return sorted(found, key=lambda folder: (folder.manifest.created, folder.path))
    raise hinted(
        StoreError(f"there are no results of sweeps in {path}"),
        "`loadpath sweep SPEC.toml` makes some; --store names another folder",
    )


def find_plan(path: Path) -> PlanFolder:
    """The one plan of a folder.

    Raises
    ------
    StoreError
        There is none, or more than one.
    """
    plans = find_plans(path)
    if len(plans) > 1:
        raise hinted(
            StoreError(f"{path} has {len(plans)} plans"),
            "name one of " + ", ".join(str(folder.path) for folder in plans[-5:]),
        )
    return plans[0]


def row_schema(plan: Plan) -> pa.Schema:
    """Columns of a row: number, page, run, what varies, the scenario's digest, the figures."""
    words = pa.dictionary(pa.int32(), pa.string())
    columns: list[tuple[str, pa.DataType]] = [
        ("row", pa.int64()),
        ("page", words),
        ("run", pa.int32()),
    ]
    for axis in plan.specification.varying:
        kind = _TYPES[type(axis.choices[0].label)]
        columns.append((axis.name, words if kind == pa.string() else kind))
    columns.append(("scenario", words))
    return pa.schema([*columns, *FIGURES])


@contextmanager
def writing(what: Path) -> Iterator[None]:
    """Errors of the file system as errors of the store."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise hinted(
            StoreError(f"cannot write {what}: {reason}"),
            "what is finished is kept: make room, then continue with --resume",
        ) from error


def _write(file: Path, data: bytes) -> None:
    with atomic_file(file, force=True) as out:
        out.write(data)


def _sync_folder(folder: Path) -> None:
    """Names of files are as durable as their folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


class _Constants:
    """Keys whose values have been the same in all scenarios so far."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self._first = True

    def add(self, values: Mapping[str, Value]) -> None:
        if self._first:
            self.values, self._first = dict(values), False
            return
        for key in [key for key, value in self.values.items() if values[key] != value]:
            del self.values[key]


def _write_scenarios(plan: Plan, file: Path) -> dict[str, Value]:
    """All scenarios with all their keys; returns the keys that are the same in all."""
    constants = _Constants()
    schema: pa.Schema | None = None
    writer: pq.ParquetWriter | None = None
    batch: list[dict[str, Value]] = []

    def flush() -> None:
        nonlocal schema, writer
        if schema is None or writer is None:
            schema = pa.schema([(name, _TYPES[type(value)]) for name, value in batch[0].items()])
            writer = pq.ParquetWriter(file, schema, compression="zstd")
        writer.write_table(pa.Table.from_pylist(batch, schema))
        batch.clear()

    try:
        for planned in plan.scenarios():
            values = flat_values(planned.scenario)
            constants.add(values)
            batch.append(_scenario_row(plan, planned, values))
            if len(batch) == _SCENARIOS_AT_ONCE:
                flush()
        if batch:
            flush()
    finally:
        if writer is not None:
            writer.close()
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return constants.values


def _refuse_equal_scenarios(plan: Plan, file: Path) -> None:
    """The same cell is never computed twice, nor counted twice."""
    with duckdb.connect() as connection:
        twice = connection.execute(
            "SELECT list(number)[:2] FROM read_parquet(?) GROUP BY scenario HAVING count(*) > 1 "
            "ORDER BY min(number) LIMIT 1",
            [str(file)],
        ).fetchone()
    if twice is not None:
        names = [", ".join(f"{n} = {v}" for n, v in plan.labels(i).items()) for i in twice[0]]
        raise hinted(
            SpecificationError(f"matrix: {names[0]} and {names[1]} are the same scenario"),
            "leave one of them out",
        )


def _scenario_row(
    plan: Plan, planned: PlannedScenario, values: Mapping[str, Value]
) -> dict[str, Any]:
    return {
        "number": planned.index,
        "scenario": planned.digest,
        "profile": scenario_values(planned.scenario)["profile"],
        **plan.labels(planned.index),
        **values,
    }


def _manifest(plan: Plan) -> Manifest:
    return Manifest(
        format=FORMAT,
        name=plan.specification.name,
        plan=plan.digest,
        engine=ENGINE,
        version=__version__,
        commit=_commit(),
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        machine=Machine(
            system=f"{platform.system()} {platform.release()}",
            machine=platform.machine(),
            processors=len(os.sched_getaffinity(0)),
            python=platform.python_version(),
        ),
        rows=plan.rows,
        pages=len(plan.pages),
        scenarios=plan.scenario_count,
        runs=plan.specification.runs,
        seeds=plan.seeds(),
        rows_per_part=plan.specification.rows_per_part,
        axes=[axis.name for axis in plan.specification.varying],
        specification=plan.specification.text,
    )


def _commit() -> str | None:
    """The commit of the source tree, with "+" if changed; `None` for an installed package."""
    root = Path(loadpath.__file__).parents[2]
    if not (root / "crates").is_dir():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with suppress(OSError, subprocess.CalledProcessError):
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    return None

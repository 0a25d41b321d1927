"""Sweeps: rows are those of single loads, whatever happens while they are computed."""

import hashlib
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import loadpath
from loadpath import _core
from loadpath.errors import StoreError
from loadpath.experiments.sweep import execution
from loadpath.experiments.sweep.execution import Pages, compute_part
from loadpath.experiments.sweep.pages import open_pages
from loadpath.experiments.sweep.plan import Part, Plan, flat_values
from loadpath.experiments.sweep.store import FIGURES, PlanFolder, find_plan, find_plans, row_schema
from sweeps import SMALL, rows, run, specification


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """The rows of the small sweep, computed without interruption."""
    return rows(run(SMALL, tmp_path_factory.mktemp("reference")).folder)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many loads each call of the engine computes."""
    calls: list[int] = []
    engine = _core.summarise_columns

    def counting(pages: Any, scenarios: Any, jobs: Any, **options: Any) -> Any:
        calls.append(len(jobs[2]) // 8)
        return engine(pages, scenarios, jobs, **options)

    monkeypatch.setattr(_core, "summarise_columns", counting)
    return calls


class TestRows:
    def test_they_are_those_of_single_loads(self, reference: pa.Table) -> None:
        records = reference.to_pylist()
        assert [record["row"] for record in records] == list(range(24))
        for record in records:
            [*_, outcome] = loadpath.simulate(
                f"example:{record['page']}",
                runs=record["run"] + 1,
                rtt_ms=record["network.rtt_ms"],
                http=record["http.version"],
            )
            summary = outcome.summary()
            assert record["plt_ms"] == summary.plt_ms
            assert record["dcl_ms"] == summary.dcl_ms
            assert record["connections"] == summary.connections
            assert record["requests"] == summary.requests
            totals = summary.totals
            for figure in totals.__struct_fields__:
                assert record[figure] == getattr(totals, figure)
            path = summary.critical_path
            assert path is not None and path.steps == ()
            assert record["critical_bytes"] == path.bytes
            for phase in path.phases.__struct_fields__:
                assert record[f"critical_{phase}"] == getattr(path.phases, phase)
            assert record["failure"] is None

    def test_figures_are_all_that_the_engine_gives(self) -> None:
        columns, failures = _core.summarise_columns([], [], (b"", b"", b""))
        assert [name for name, _, _ in columns] == [name for name, _ in FIGURES[:-1]]
        assert failures == []

    def test_a_load_that_fails_has_a_reason_and_no_time(self, tmp_path: Path) -> None:
        text = 'pages = ["example:figure-3-1"]\n[matrix]\nlimits.time_ms = [1, 100_000]'
        result = run(text, tmp_path)
        failed, complete = rows(result.folder).to_pylist()
        assert result.failed == 1
        assert failed["plt_ms"] is failed["critical_transfer_ms"] is None
        assert "not loaded by" in failed["failure"]
        assert complete["plt_ms"] > 0
        assert complete["failure"] is None

    @pytest.mark.parametrize("jobs", [1, 2, 3])
    def test_they_do_not_depend_on_threads_or_parts(
        self, tmp_path: Path, reference: pa.Table, jobs: int
    ) -> None:
        text = SMALL.replace("rows_per_part = 10", f"rows_per_part = {jobs * 7 - 6}")
        assert rows(run(text, tmp_path, jobs=jobs).folder) == reference

    def test_pages_that_do_not_fit_in_memory_are_loaded_in_turn(
        self, monkeypatch: pytest.MonkeyPatch, reference: pa.Table, computed: list[int]
    ) -> None:
        monkeypatch.setattr(execution, "PAGES_IN_MEMORY", 1)
        spec = specification()
        with open_pages(spec.pages, spec.folder, None) as planned:
            plan = Plan(spec, planned)
            table = compute_part(plan, Part(0, plan.rows), Pages(planned))
        assert computed == [12, 12]
        assert table.replace_schema_metadata(None) == reference.cast(table.schema)

    def test_a_copy_of_the_plan_computes_the_same(self, reference: pa.Table) -> None:
        spec = specification()
        with open_pages(spec.pages, spec.folder, None) as planned:
            plan = Plan(spec, planned)
            assert plan.scenario(0).index == 0
            copy: Plan = pickle.loads(pickle.dumps(plan))
            table = compute_part(copy, Part(7, 9), Pages(copy.pages))
        assert copy.digest == plan.digest
        assert table.to_pylist() == reference.slice(7, 2).to_pylist()

    def test_jobs_out_of_range_are_refused_by_the_engine(self) -> None:
        number = (1).to_bytes(8, "little")
        with pytest.raises(IndexError):
            _core.summarise_columns([], [], (number, number, number))
        with pytest.raises(ValueError, match="differ in length"):
            _core.summarise_columns([], [], (number, b"", number))


class TestStore:
    def test_the_folder_says_what_it_holds(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path).folder
        assert folder.path == tmp_path / "small" / folder.manifest.plan
        manifest = PlanFolder.open(folder.path).manifest
        assert manifest.specification == SMALL
        assert manifest.version == loadpath.__version__
        assert manifest.engine.startswith(f"{loadpath.__version__}+")
        assert manifest.seeds == [1]
        assert (manifest.rows, manifest.pages, manifest.scenarios, manifest.runs) == (24, 2, 4, 3)
        assert sorted(path.name[:25] for path in folder.runs.iterdir()) == [
            "rows-000000000000-0000000",
            "rows-000000000000-0000000",
            "rows-000000000010-0000000",
            "rows-000000000020-0000000",
        ]
        assert sorted(folder.named()) == [Part(0, 10), Part(10, 20), Part(20, 24)]

    def test_every_scenario_is_kept_with_all_keys(self, tmp_path: Path) -> None:
        result = run(SMALL, tmp_path)
        stored = pq.read_table(result.folder.path / "scenarios.parquet").to_pylist()
        for planned, row in zip(result.plan.scenarios(), stored, strict=True):
            values = flat_values(planned.scenario)
            assert {key: row[key] for key in values} == values
            assert row["scenario"] == planned.digest
            assert row["profile"] == "pcp"

    def test_the_resolved_specification_finds_the_same_plan(
        self, tmp_path: Path, computed: list[int]
    ) -> None:
        folder = run(SMALL, tmp_path).folder
        computed.clear()
        again = run((folder.path / "plan.resolved.toml").read_text(), tmp_path)
        assert again.folder.path == folder.path
        assert again.computed == 0
        assert computed == []

    def test_another_comparison_is_written_to_the_same_plan(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path).folder
        again = run(SMALL.replace("[compare.versions]", "[compare.renamed]"), tmp_path).folder
        assert again.path == folder.path
        assert "[compare.renamed]" in (folder.path / "plan.resolved.toml").read_text()

    def test_equal_scenarios_are_refused(self, tmp_path: Path) -> None:
        text = (
            'pages = ["example:figure-3-1"]\n[matrix.protocol]\n'
            "a = { http.version = 'h1' }\nb = { http.version = 'http/1.1' }\n"
        )
        with pytest.raises(
            loadpath.LoadpathError, match="protocol = a and protocol = b are the same scenario"
        ):
            run(text, tmp_path)
        assert list(tmp_path.rglob("*.parquet")) == []

    def test_a_folder_without_results_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="there are no results of sweeps in"):
            find_plans(tmp_path)
        (tmp_path / "manifest.json").write_text("{}")
        with pytest.raises(StoreError, match="not a manifest of a sweep"):
            find_plans(tmp_path)

    def test_of_several_plans_one_must_be_named(self, tmp_path: Path) -> None:
        first = run(SMALL, tmp_path).folder
        second = run(SMALL.replace("runs = 3", "runs = 1"), tmp_path).folder
        assert [plan.path for plan in find_plans(tmp_path)] == [first.path, second.path]
        with pytest.raises(StoreError, match="has 2 plans"):
            find_plan(tmp_path)
        assert find_plan(second.path).manifest == second.manifest


class TestPlanOnly:
    def test_nothing_is_computed_until_asked_for(self, tmp_path: Path, computed: list[int]) -> None:
        result = run(SMALL, tmp_path, plan_only=True)
        assert computed == []
        assert result.folder.finished_rows == 0
        assert run(SMALL, tmp_path).computed == 24
        assert result.folder.finished_rows == 24


class TestReuse:
    """The same cell is never computed twice, in whichever plan it is."""

    def test_a_finished_plan_is_not_computed_again(
        self, tmp_path: Path, computed: list[int]
    ) -> None:
        run(SMALL, tmp_path)
        computed.clear()
        assert run(SMALL, tmp_path).computed == 0
        assert computed == []

    @pytest.mark.parametrize(
        ("change", "new"),
        [
            (("runs = 3", "runs = 5"), 2 * 4 * 2),
            (("runs = 3", "runs = 2"), 0),
            (('[10, "40ms"]', "[40, 50]"), 2 * 2 * 3),
            (('"example:spdy-page-a"', '"example:spdy-page-b"'), 4 * 3),
            (('name = "small"', 'name = "renamed"'), 0),
            (('["h1", "h2"]', '["quic"]'), 2 * 2 * 3),
            (("rows_per_part = 10", "rows_per_part = 3\nseeds = [1, 2]"), 24),
        ],
    )
    def test_only_what_is_new_is_computed(
        self, tmp_path: Path, computed: list[int], change: tuple[str, str], new: int
    ) -> None:
        text = SMALL.replace(*change)
        if "quic" in text:
            text = text.replace('baseline = { http.version = "h1" }', "")
            text = text.replace("[compare.versions]", "")
        alone = rows(run(text, tmp_path / "alone").folder)
        run(SMALL, tmp_path / "shared")
        computed.clear()
        assert rows(run(text, tmp_path / "shared").folder) == alone
        assert sum(computed) == new

    def test_another_engine_shares_nothing(
        self, tmp_path: Path, computed: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = run(SMALL, tmp_path).folder
        manifest = folder.path / "manifest.json"
        manifest.write_text(manifest.read_text().replace(folder.manifest.engine, "another"))
        computed.clear()
        run(SMALL.replace("runs = 3", "runs = 4"), tmp_path)
        assert sum(computed) == 2 * 4 * 4

    def test_a_damaged_part_of_another_plan_is_not_used(
        self, tmp_path: Path, computed: list[int]
    ) -> None:
        folder = run(SMALL, tmp_path).folder
        folder.named()[Part(0, 10)].write_bytes(b"PAR1")
        computed.clear()
        text = SMALL.replace("runs = 3", "runs = 2")
        alone = rows(run(text, tmp_path / "alone").folder)
        computed.clear()
        assert rows(run(text, tmp_path).folder) == alone
        assert 0 < sum(computed) < 16


class TestResume:
    def test_a_plan_that_was_begun_needs_the_word(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path).folder
        folder.named()[Part(10, 20)].unlink()
        with pytest.raises(StoreError, match="has 14 of 24 loads already") as caught:
            run(SMALL, tmp_path)
        assert caught.value.__notes__ == ["hint: --resume computes the others"]

    def test_missing_parts_are_computed(
        self, tmp_path: Path, reference: pa.Table, computed: list[int]
    ) -> None:
        folder = run(SMALL, tmp_path).folder
        folder.named()[Part(10, 20)].unlink()
        computed.clear()
        # The size of parts is that of the plan that was begun.
        run(SMALL.replace("rows_per_part = 10", "rows_per_part = 4"), tmp_path, resume=True)
        assert computed == [10]
        assert rows(folder) == reference

    @pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "renamed", "doubled"])
    def test_damaged_parts_are_found_and_computed_again(
        self, tmp_path: Path, reference: pa.Table, computed: list[int], damage: str
    ) -> None:
        folder = run(SMALL, tmp_path).folder
        damaged = file = folder.named()[Part(10, 20)]
        whole = file.read_bytes()
        if damage == "cut":
            file.write_bytes(whole[:-100])
        elif damage == "flipped":
            # In the description of the columns, for which Parquet has no checksum.
            spoilt = bytearray(whole)
            spoilt[len(whole) // 2] ^= 0x10
            file.write_bytes(spoilt)
        elif damage == "empty":
            file.write_bytes(b"")
        elif damage == "foreign":
            other = run(SMALL.replace("[10,", "[11,"), tmp_path / "other").folder
            foreign = other.named()[Part(10, 20)]
            damaged = foreign.rename(folder.runs / foreign.name)
            file.unlink()
        elif damage == "renamed":
            first = folder.named()[Part(0, 10)]
            damaged = first.rename(folder.runs / f"rows-{10:012}-{20:012}{first.name[30:]}")
            file.unlink()
        else:
            (tmp_path / "again").mkdir()
            again = tmp_path / "again" / "part.parquet"
            pq.write_table(folder.read(Part(10, 20), file), again, compression="none")
            digest = hashlib.sha256(again.read_bytes()).hexdigest()[:16]
            doubled = again.rename(folder.runs / f"rows-{10:012}-{20:012}-{digest}.parquet")
            damaged = max(file, doubled)
        (folder.runs / ".rows-000000000020-000000000024.parquet.abc").write_bytes(whole)
        computed.clear()
        result = run(SMALL, tmp_path, resume=True)
        assert result.damaged == (damaged,)
        assert sum(computed) == {"renamed": 20, "doubled": 0}.get(damage, 10)
        assert rows(folder) == reference
        assert not [path for path in folder.runs.iterdir() if path.name.startswith(".")]

    def test_no_flipped_bit_goes_unnoticed(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path).folder
        part, file = min(folder.named().items())
        whole, chance = file.read_bytes(), random.Random(1)
        for _ in range(300):
            spoilt = bytearray(whole)
            spoilt[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            file.write_bytes(spoilt)
            with pytest.raises(StoreError, match="is damaged"):
                folder.read(part, file)

    def test_two_processes_do_not_compute_the_same_plan(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path, plan_only=True).folder
        with folder.locked(), pytest.raises(StoreError, match="another process computes"):
            run(SMALL, tmp_path)
        assert run(SMALL, tmp_path).computed == 24


LONG = """
name = "long"
runs = 300
pages = ["example:figure-3-1", "example:spdy-page-c", "example:shape-baidu"]
rows_per_part = 4
[matrix]
network.rtt_ms = [10, 40]
"""
"""Takes some seconds, nearly all of them for 450 parts that are synced to the disk."""


def _start(store: Path, spec: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "loadpath", "sweep", spec, "--store", store, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONFAULTHANDLER": "0"},
    )


@pytest.fixture
def long(tmp_path: Path) -> Path:
    file = tmp_path / "long.toml"
    file.write_text(LONG)
    return file


class TestInterruption:
    def test_twenty_kills_lose_and_double_nothing(self, tmp_path: Path, long: Path) -> None:
        store, chance = tmp_path / "store", random.Random(4)
        kept: set[Path] = set()

        def named() -> set[Path]:
            return set(store.glob("*/*/runs/rows-*-*-*.parquet"))

        for kill in range(20):
            process = _start(store, long, "--resume")
            # Every fourth kill comes while the process starts, the others after some parts.
            wanted = len(kept) + (chance.randrange(1, 24) if kill % 4 else 0)
            time.sleep(chance.uniform(0, 0.01) if kill % 4 else chance.uniform(0, 1.5))
            while len(named()) < wanted and process.poll() is None:
                time.sleep(chance.uniform(0, 0.01))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            assert named() >= kept
            kept = named()
        folder = run(LONG, tmp_path / "store", resume=True).folder
        whole = run(LONG.replace("rows_per_part = 4", ""), tmp_path / "whole").folder
        assert rows(folder) == rows(whole)
        assert 15 <= len(kept) < len(folder.named())

    def test_ctrl_c_keeps_what_is_finished(self, tmp_path: Path, long: Path) -> None:
        process = _start(tmp_path / "store", long)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if any(tmp_path.glob("store/*/*/runs/rows-*-*-*.parquet")):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
        assert process.returncode == 130
        assert stdout == ""
        assert "--resume computes the rest" in stderr
        folder = find_plan(tmp_path / "store")
        assert 0 < folder.finished_rows < folder.manifest.rows
        assert run(LONG, tmp_path / "store", resume=True).failed == 0
        assert rows(folder).num_rows == folder.manifest.rows


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(mount)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        yield mount
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_full_disk_is_an_error_and_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot write .*: No space left on device") as caught:
        run(LONG, small_disk)
    assert "--resume" in caught.value.__notes__[0]
    folder = find_plan(small_disk)
    finished = {file: file.read_bytes() for file in folder.named().values()}
    assert 0 < len(finished) < 450
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    run(LONG, small_disk, resume=True)
    assert all(file.read_bytes() == data for file, data in finished.items())
    assert rows(folder) == rows(run(LONG, tmp_path / "whole").folder)


def test_a_plan_that_does_not_fit_leaves_nothing(small_disk: Path) -> None:
    (small_disk / "filling").write_bytes(b"x" * 110_000)
    with pytest.raises(StoreError, match="No space left on device"):
        run(SMALL, small_disk)
    assert [path for path in (small_disk / "small").iterdir() if path.is_file()] == []
    assert list(small_disk.rglob("*.parquet")) == []


def test_the_columns_of_an_empty_plan_are_those_of_its_rows(tmp_path: Path) -> None:
    result = run(SMALL, tmp_path, plan_only=True)
    [file] = result.folder.runs.glob("*.parquet")
    assert pq.read_schema(file).remove_metadata() == row_schema(result.plan).remove_metadata()

"""What is asked of stored loads: SQL, tables, comparisons; by API and command line."""

import csv
import io
import json
import statistics as plain
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Loadpath
from loadpath import LoadpathError
from loadpath.analysis.cells import cell_table, comparison_table, stored_specification
from loadpath.analysis.query import open_tables, run_query
from loadpath.experiments.sweep.plan import Part
from loadpath.experiments.sweep.store import PlanFolder
from sweeps import SMALL, rows, run

LOSSY = """
name = "lossy"
runs = 4
seeds = [1, 2]
pages = ["example:figure-3-1", "example:spdy-page-a", "example:shape-baidu"]

[scenario]
network.rate_bps = "1mbit"

[matrix]
network.rtt_ms = [10, 40]
http.version = ["h1", "h2", "quic"]

[compare.versions]
baseline = { http.version = "h1" }
"""


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> PlanFolder:
    return run(LOSSY, tmp_path_factory.mktemp("store")).folder


@pytest.fixture(scope="module")
def records(lossy: PlanFolder) -> list[dict[str, Any]]:
    return list(rows(lossy).to_pylist())


def times(records: list[dict[str, Any]], **wanted: Any) -> list[float]:
    return [
        record["plt_ms"]
        for record in records
        if all(record[key.replace("__", ".")] == value for key, value in wanted.items())
    ]


class TestQuery:
    def ask(self, sql: str, *plans: PlanFolder) -> list[Any]:
        with open_tables(plans) as connection:
            return run_query(connection, sql).fetchall()

    def test_keys_need_no_quotes(self, lossy: PlanFolder, records: list[dict[str, Any]]) -> None:
        found = self.ask(
            "SELECT network.rtt_ms, http.version, random.seed, median(plt_ms), count(*) "
            "FROM loads WHERE http.version <> 'quic-lite' GROUP BY ALL ORDER BY ALL",
            lossy,
        )
        expected = [
            (
                *labels,
                plain.median(
                    times(
                        records,
                        network__rtt_ms=labels[0],
                        http__version=labels[1],
                        random__seed=labels[2],
                    )
                ),
                12,
            )
            for labels in product([10.0, 40.0], ["http/1.1", "http/2"], [1, 2])
        ]
        assert found == expected

    def test_every_key_of_a_scenario_can_be_joined(self, lossy: PlanFolder) -> None:
        sql = (
            "SELECT DISTINCT s.network.rate_bps, s.transport.congestion, s.profile "
            "FROM loads JOIN scenarios s USING (plan, scenario)"
        )
        assert self.ask(sql, lossy) == [(1_000_000, "newreno", "pcp")]

    def test_the_plan_is_a_table_before_it_is_computed(self, tmp_path: Path) -> None:
        result = run(SMALL, tmp_path, plan_only=True)
        before = self.ask(
            "SELECT row, page, run, network.rtt_ms, http.version FROM planned ORDER BY row",
            result.folder,
        )
        assert self.ask("SELECT count(*) FROM loads", result.folder) == [(0,)]
        run(SMALL, tmp_path)
        after = self.ask(
            "SELECT row, page, run, network.rtt_ms, http.version FROM loads ORDER BY row",
            result.folder,
        )
        assert before == after
        assert len(after) == 24

    def test_plans_are_kept_apart(self, tmp_path: Path) -> None:
        one = run(SMALL, tmp_path).folder
        two = run(SMALL.replace("runs = 3", "runs = 1"), tmp_path).folder
        found = self.ask("SELECT plan, count(*) FROM loads GROUP BY ALL", one, two)
        assert dict(found) == {one.manifest.plan: 24, two.manifest.plan: 8}

    def test_wrong_sql_is_an_error_with_the_tables(self, lossy: PlanFolder) -> None:
        with pytest.raises(LoadpathError, match=r'^SQL: .*"plt" not found') as caught:
            self.ask("SELECT plt FROM loads", lossy)
        assert "loads, scenarios, pages, planned" in caught.value.__notes__[0]

    def test_a_folder_may_have_any_name(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path / "it's").folder
        assert self.ask("SELECT count(*) FROM loads", folder) == [(24,)]


class TestCells:
    def test_each_cell_is_described(self, lossy: PlanFolder, records: list[dict[str, Any]]) -> None:
        table = cell_table(lossy, ["http.version", "network.rtt_ms"], "plt_ms")
        labels = [(row["http.version"], row["network.rtt_ms"]) for row in table]
        assert labels == list(product(["http/1.1", "http/2", "quic-lite"], [10.0, 40.0]))
        for row in table:
            values = times(
                records,
                http__version=row["http.version"],
                network__rtt_ms=row["network.rtt_ms"],
            )
            assert (row["loads"], row["failed"], row["pages"]) == (24, 0, 3)
            assert row["mean_ms"] == pytest.approx(plain.fmean(values))
            assert row["median_ms"] == plain.median(values)
            assert row["sd_ms"] == pytest.approx(plain.stdev(values))
            # 2.068658 is Student's t with 23 degrees of freedom at 97.5 %.
            half = 2.068658 * plain.stdev(values) / 24**0.5
            assert row["high_ms"] - row["mean_ms"] == pytest.approx(half, rel=1e-6)

    def test_without_columns_there_is_one_cell(
        self, lossy: PlanFolder, records: list[dict[str, Any]]
    ) -> None:
        [row] = cell_table(lossy, [], "dcl_ms")
        assert row["loads"] == len(records)
        assert row["mean_ms"] == pytest.approx(plain.fmean(r["dcl_ms"] for r in records))

    def test_pages_are_cells_if_asked_for(self, lossy: PlanFolder) -> None:
        table = cell_table(lossy, ["page"], "plt_ms")
        assert [row["page"] for row in table] == ["figure-3-1", "shape-baidu", "spdy-page-a"]
        assert [row["pages"] for row in table] == [1, 1, 1]

    def test_failed_loads_are_counted_not_averaged(self, tmp_path: Path) -> None:
        text = 'pages = ["example:figure-3-1"]\n[matrix]\nlimits.time_ms = [1, 100_000]'
        folder = run(text, tmp_path).folder
        failed, complete = cell_table(folder, ["limits.time_ms"], "plt_ms")
        assert (failed["loads"], failed["failed"], failed["mean_ms"]) == (1, 1, None)
        assert (complete["loads"], complete["failed"]) == (1, 0)

    def test_an_unknown_column_is_an_error(self, lossy: PlanFolder) -> None:
        with pytest.raises(LoadpathError, match=r"--by http\.tls: there is no such column"):
            cell_table(lossy, ["http.tls"], "plt_ms")

    def test_nothing_finished_is_an_empty_table(self, tmp_path: Path) -> None:
        folder = run(SMALL, tmp_path, plan_only=True).folder
        assert cell_table(folder, ["page"], "plt_ms") == []
        assert comparison_table(folder, stored_specification(folder).comparisons[0]) == []


class TestComparisons:
    def test_loads_are_paired_by_page_run_and_seed(
        self, lossy: PlanFolder, records: list[dict[str, Any]]
    ) -> None:
        [comparison] = stored_specification(lossy).comparisons
        table = comparison_table(lossy, comparison)
        labels = [(row["http.version"], row["network.rtt_ms"]) for row in table]
        assert labels == list(product(["http/2", "quic-lite"], [10.0, 40.0]))
        for row in table:
            pairs = []
            for page, run_, seed in product(
                ["figure-3-1", "shape-baidu", "spdy-page-a"], range(4), [1, 2]
            ):
                same = {
                    "page": page,
                    "run": run_,
                    "random__seed": seed,
                    "network__rtt_ms": row["network.rtt_ms"],
                }
                [base] = times(records, http__version="http/1.1", **same)
                [variant] = times(records, http__version=row["http.version"], **same)
                pairs.append((base, variant))
            differences = [base - variant for base, variant in pairs]
            assert (row["pairs"], row["sites"], row["failed"]) == (24, 3, 0)
            assert row["difference_mean"] == pytest.approx(plain.fmean(differences))
            assert row["difference_sd"] == pytest.approx(plain.stdev(differences))
            assert row["improvement_percent"] == pytest.approx(
                100 * sum(differences) / sum(base for base, _ in pairs)
            )
            assert row["site_t_p"] <= row["site_t_p_bh"] <= row["site_t_p_holm"] <= 1

    def test_pairs_with_a_failed_load_are_left_out(self, tmp_path: Path) -> None:
        text = (
            'pages = ["example:figure-3-1", "example:spdy-page-a"]\n'
            "[matrix]\nlimits.time_ms = [300, 100_000]\nnetwork.rtt_ms = [1, 5000]\n"
            "[compare.rtt]\nbaseline = { network.rtt_ms = 1 }\n"
        )
        folder = run(text, tmp_path).folder
        hasty, patient = comparison_table(folder, stored_specification(folder).comparisons[0])
        assert (hasty["failed"], hasty["pairs"], hasty["site_t_p"]) == (2, None, None)
        assert (patient["failed"], patient["pairs"]) == (0, 2)

    def test_missing_parts_leave_whole_pairs(self, lossy: PlanFolder, tmp_path: Path) -> None:
        folder = run(LOSSY.replace("runs = 4", "runs = 4\nrows_per_part = 7"), tmp_path).folder
        # The baseline of the first condition: four runs with one seed, three with the other.
        folder.named()[Part(0, 7)].unlink()
        [comparison] = stored_specification(folder).comparisons
        pairs = [
            (row["network.rtt_ms"], row["pairs"]) for row in comparison_table(folder, comparison)
        ]
        assert pairs == [(10, 17), (40, 24)] * 2


def test_values_of_every_type_can_be_compared(tmp_path: Path) -> None:
    text = (
        'pages = ["example:figure-3-1"]\n[scenario]\nhttp.tls = "1.2"\n'
        "[matrix]\nbrowser.preloader = [true, false]\nhttp.connections_per_host = [1, 2]\n"
        'http.tls = ["1.2", "1.3"]\n'
        '[matrix.group]\n"it\'s" = { network.rtt_ms = 10 }\nother = { network.rtt_ms = 20.5 }\n'
        "[compare.all]\nbaseline = { browser.preloader = true, http.connections_per_host = 1, "
        'http.tls = "1.2", group = "it\'s" }\n'
        "variants = [{ browser.preloader = false, http.connections_per_host = 2, "
        'http.tls = "1.3", group = "other" }]\n'
    )
    folder = run(text, tmp_path).folder
    [row] = comparison_table(folder, stored_specification(folder).comparisons[0])
    assert (row["browser.preloader"], row["http.connections_per_host"]) == (False, 2)
    assert (row["http.tls"], row["group"], row["pairs"]) == ("1.3", "other", 1)


def test_the_extra_and_the_group_for_developers_are_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["experiments"]
    assert extra == project["dependency-groups"]["experiments"]


class TestCommands:
    @pytest.fixture
    def store(self, loadpath: Loadpath, tmp_path: Path) -> Path:
        (tmp_path / "spec.toml").write_text(SMALL)
        result = loadpath("sweep", "spec.toml")
        assert result.returncode == 0, result.stderr
        folder = Path(result.stdout.strip())
        assert (tmp_path / folder / "manifest.json").is_file()
        assert "2 pages x 4 scenarios x 3 runs = 24 loads (simulated)" in result.stderr
        return folder

    def test_sweep_query_table(self, loadpath: Loadpath, store: Path, tmp_path: Path) -> None:
        asked = loadpath(
            "query", "SELECT http.version, count(*) AS n FROM loads GROUP BY 1", "--json"
        )
        assert sorted(json.loads(asked.stdout), key=str) == [
            {"version": "http/1.1", "n": 12},
            {"version": "http/2", "n": 12},
        ]
        table = loadpath("table", store, "--by", "network.rtt_ms, page", "--csv", "-")
        found = list(csv.DictReader(io.StringIO(table.stdout)))
        assert [row["page"] for row in found] == ["figure-3-1", "spdy-page-a"] * 2
        assert float(found[0]["mean_ms"]) > 0
        compared = loadpath("table", store, "--compare", "versions")
        assert compared.stdout.split()[:2] == ["http.version", "network.rtt_ms"]
        assert "24 of 24 loads finished (simulated)" in compared.stderr
        markdown = loadpath("table", store, "--markdown", "--metric", "dcl_ms").stdout.splitlines()
        assert markdown[0].startswith("| http.version | network.rtt_ms | loads |")
        assert set(markdown[1]) == set("| -")
        assert len(markdown) == 2 + 4
        written = loadpath("table", store, "--compare", "versions", "--csv", "out.csv")
        assert written.stdout == "out.csv\n"
        assert "site_mann_whitney_p_bh" in (tmp_path / "out.csv").read_text()

    def test_a_finished_sweep_is_done_at_once(self, loadpath: Loadpath, store: Path) -> None:
        again = loadpath("sweep", "spec.toml", "--json")
        document = json.loads(again.stdout)
        assert document["folder"] == str(store)
        assert document["finished"] == document["plan"]["rows"] == 24
        assert "0 of them now" in again.stderr

    def test_what_is_not_finished_is_said(self, loadpath: Loadpath, tmp_path: Path) -> None:
        (tmp_path / "spec.toml").write_text(SMALL)
        assert loadpath("sweep", "spec.toml", "--plan-only").returncode == 0
        asked = loadpath("query", "SELECT count(*) AS n FROM planned", "--csv", "-")
        assert asked.stdout == "n\n24\n"
        assert "0 of 24 loads finished" in asked.stderr

    def test_long_tables_are_cut_for_people_only(self, loadpath: Loadpath, store: Path) -> None:
        sql = "SELECT * FROM range(1002)"
        cut = loadpath("query", sql)
        assert len(cut.stdout.splitlines()) == 1001
        assert "only the first 1000 rows" in cut.stderr
        assert len(loadpath("query", sql, "--csv", "-").stdout.splitlines()) == 1003

    @pytest.mark.parametrize(
        ("arguments", "error", "hint"),
        [
            (["sweep", "nothing.toml"], "there is no specification nothing.toml", "sweeps.md"),
            (["table", "nowhere"], "there are no results of sweeps in nowhere", "loadpath sweep"),
            (["query", "SELECT 1", "--store", "nowhere"], "there are no results", "--store"),
        ],
    )
    def test_mistakes_are_one_clear_error(
        self, loadpath: Loadpath, arguments: list[str], error: str, hint: str
    ) -> None:
        result = loadpath(*arguments)
        assert (result.returncode, result.stdout) == (1, "")
        first, second = result.stderr.splitlines()
        assert first.startswith(f"error: {error}")
        assert hint in second

    @pytest.mark.parametrize(
        ("option", "error"),
        [
            (["--compare", "nothing"], "--compare nothing: there is no such comparison"),
            (["--metric", "fcp"], "--metric fcp: expected one of plt_ms, dcl_ms"),
            (["--by", "nothing"], "--by nothing: there is no such column"),
        ],
    )
    def test_a_table_of_what_is_not_there_is_an_error(
        self, loadpath: Loadpath, store: Path, option: list[str], error: str
    ) -> None:
        result = loadpath("table", store, *option)
        assert result.returncode == 1
        assert f"error: {error}" in result.stderr

    @pytest.mark.parametrize("verb", [["sweep", "x"], ["query", "x"], ["table", "x"]])
    def test_without_the_extra_the_error_says_what_to_install(self, verb: list[str]) -> None:
        program = (
            "import sys; sys.modules['pyarrow'] = None\n"
            f"from loadpath.cli import run; sys.exit(run({verb!r}))"
        )
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert result.returncode == 1
        assert "error: this verb needs the Python package pyarrow" in result.stderr
        assert "hint: pip install 'loadpath[experiments]'" in result.stderr

    def test_importing_loadpath_and_its_commands_stays_light(self) -> None:
        program = (
            "import loadpath, loadpath.cli, sys\n"
            "heavy = {'numpy', 'pyarrow', 'duckdb', 'scipy', 'statsmodels', 'pandas', 'tomli_w'}\n"
            "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
        )
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr

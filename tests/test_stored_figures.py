"""Figures and reports of sweeps: every kind by name, and what a report chooses itself."""

import statistics as plain
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loadpath import LoadpathError, NotFoundError, cli
from loadpath.analysis.cells import cell_table, comparison_table, find_comparison
from loadpath.analysis.figures import Figure
from loadpath.analysis.overview import sweep_result
from loadpath.analysis.stored_figures import KINDS, Wanted, draw_stored
from loadpath.experiments.sweep.store import PlanFolder
from loadpath.reports.html import result_html
from sweeps import rows, run

TEXT = """
name = "drawn"
runs = 2
pages = ["example:figure-3-1", "example:spdy-page-a", "example:shape-baidu"]

[matrix]
network.rate_bps = ["1mbit", "10mbit"]
network.rtt_ms = [10, 40]
http.version = ["h1", "h2"]
http.connections_per_host = [1, 6]

[compare.versions]
baseline = { http.version = "h1" }
"""

ONE = [("http.version", "http/2"), ("http.connections_per_host", "1")]
SIX = [("http.connections_per_host", "6")]

WANTED: dict[str, Wanted] = {
    "heat-map": Wanted(where=ONE),
    "lines": Wanted(by="network.rtt_ms", where=ONE, value="mean_ms"),
    "cdf": Wanted(by="http.version"),
    "difference-cdf": Wanted(compare="versions", where=SIX),
    "bars": Wanted(x="network.rtt_ms", by="http.version"),
    "regions": Wanted(compare="versions", where=SIX),
    "best": Wanted(where=ONE[:1]),
    "cost": Wanted(where=ONE[:1], fixed=6),
    "surface": Wanted(where=ONE),
    "contour": Wanted(where=ONE),
    "histogram": Wanted(where=ONE),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> PlanFolder:
    return run(TEXT, tmp_path_factory.mktemp("store")).folder


def numbers(figure: Figure) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in figure.rows]


def medians(folder: PlanFolder, columns: Sequence[str], **where: Any) -> list[tuple[Any, ...]]:
    cells: dict[tuple[Any, ...], list[float]] = {}
    for row in rows(folder).to_pylist():
        if all(row[key.replace("__", ".")] == value for key, value in where.items()):
            cells.setdefault(tuple(row[c] for c in columns), []).append(row["plt_ms"])
    return [(*labels, plain.median(times)) for labels, times in sorted(cells.items())]


def test_every_kind_has_a_test() -> None:
    assert set(WANTED) == set(KINDS)


@pytest.mark.parametrize("kind", WANTED)
def test_every_kind_is_drawn(kind: str, folder: PlanFolder, tmp_path: Path) -> None:
    options = WANTED[kind]
    arguments = ["figure", kind, str(folder.path), "-o", str(tmp_path / "x.svg")]
    for name in ("x", "by", "value", "compare", "fixed"):
        if getattr(options, name) is not None:
            arguments += [f"--{name}", str(getattr(options, name))]
    for key, value in options.where:
        arguments += ["--where", f"{key}={value}"]
    assert cli.run(arguments) == 0
    drawn = draw_stored(kind, folder, options)
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0] == ",".join(drawn.columns)
    assert len(lines) == len(drawn.rows) + 1 > 1
    assert "(simulated)" in drawn.caption


def test_numbers_are_those_of_the_loads(folder: PlanFolder) -> None:
    columns = ("network.rtt_ms", "network.rate_bps")
    where = {"http__version": "http/2", "http__connections_per_host": 1}
    drawn = draw_stored("heat-map", folder, WANTED["heat-map"])
    assert numbers(drawn) == medians(folder, columns, **where)


def test_comparisons_are_those_of_the_table(folder: PlanFolder) -> None:
    drawn = draw_stored("heat-map", folder, Wanted(compare="versions", where=SIX))
    table = comparison_table(folder, find_comparison(folder, "versions"))
    expected = {
        (row["network.rtt_ms"], row["network.rate_bps"], row["improvement_percent"])
        for row in table
        if row["http.connections_per_host"] == 6
    }
    assert set(numbers(drawn)) == expected


def test_differences_are_of_means_of_pages(folder: PlanFolder) -> None:
    where = [*SIX, ("network.rtt_ms", "40 ms"), ("network.rate_bps", "1 Mbit/s")]
    drawn = draw_stored("difference-cdf", folder, Wanted(compare="versions", where=where))
    means: dict[tuple[str, str], list[float]] = {}
    for row in rows(folder).to_pylist():
        network = (row["network.rtt_ms"], row["network.rate_bps"])
        if network == (40.0, 1_000_000) and row["http.connections_per_host"] == 6:
            means.setdefault((row["page"], row["http.version"]), []).append(row["plt_ms"])
    pages = {page for page, _ in means}
    expected = sorted(
        plain.fmean(means[page, "http/2"]) - plain.fmean(means[page, "http/1.1"]) for page in pages
    )
    assert [row[1] for row in drawn.rows] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "wanted", "message"),
    [
        ("pie", Wanted(), "no kind of figure named 'pie'"),
        ("heat-map", Wanted(where=ONE, value="nonsense"), "no column nonsense"),
        ("heat-map", Wanted(x="http.tls"), r"--by http\.tls: there is no such column"),
        ("heat-map", Wanted(compare="versions"), "several rows for 10.0, 1000000"),
        ("heat-map", Wanted(where=[("network.rtt_ms", "7")]), "--where network.rtt_ms=7: no load"),
        ("difference-cdf", Wanted(), "--compare is missing"),
        ("difference-cdf", Wanted(compare="x"), "--compare x: there is no such comparison"),
        ("cost", Wanted(), "--fixed is missing"),
        ("cost", Wanted(fixed=3), "has no such value"),
        ("contour", Wanted(x="http.version"), "http.version needs two numbers"),
        ("best", Wanted(choice="http.version"), "no whole numbers"),
        ("cdf", Wanted(by="nonsense"), "no column nonsense"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(
    kind: str, wanted: Wanted, message: str, folder: PlanFolder
) -> None:
    with pytest.raises((LoadpathError, NotFoundError), match=message):
        draw_stored(kind, folder, wanted)


def test_a_report_has_cells_comparisons_and_fitting_figures(folder: PlanFolder) -> None:
    result = sweep_result(folder)
    assert len(result.rows) == 16
    assert (
        result.rows[0][:4]
        == list(cell_table(folder, folder.manifest.axes, "plt_ms")[0].values())[:4]
    )
    [comparison] = result.tables
    assert len(comparison.rows) == 8
    names = [figure.name for figure in result.figures]
    assert {"median-1", "lines", "cdf", "versions-1", "versions-differences"} <= set(names)
    assert result.settings["plan"] == folder.manifest.plan
    assert result.notes[0].endswith("48 of 96 loads finished (simulated)") is False
    assert "96 of 96 loads finished" in result.notes[0]
    assert result_html(result).count("<figure ") == len(names)


def test_reports_of_other_shapes(tmp_path: Path) -> None:
    text = 'name = "one"\npages = ["example:figure-3-1"]\n[matrix]\nnetwork.rtt_ms = [10, 40]'
    result = sweep_result(run(text, tmp_path).folder)
    assert [figure.name for figure in result.figures] == ["lines", "cdf"]
    nothing = run('name = "none"\npages = ["example:figure-3-1"]', tmp_path)
    assert [figure.name for figure in sweep_result(nothing.folder).figures] == ["cdf"]
    planned = run(TEXT, tmp_path, plan_only=True)
    with pytest.raises(LoadpathError, match="no load is finished"):
        sweep_result(planned.folder)


def test_report_writes_a_page(
    folder: PlanFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["report", str(folder.path)]) == 0
    assert (tmp_path / "drawn.html").read_text().startswith("<!doctype html>")
    assert cli.run(["report", str(folder.path)]) == 1

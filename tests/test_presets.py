"""Presets from end to end on a corpus of a few small pages."""

import csv
import json
from pathlib import Path

import pytest

from conftest import ROOT
from loadpath import cli
from loadpath.experiments.grid import NETWORKS
from loadpath.experiments.preset import PresetOptions, Result
from loadpath.experiments.presets import run_preset

PAGES = ("figure-3-1", "spdy-page-a")
FIGURES = {
    "pcp-bandwidth-rtt": {"figure-4-12", "figure-4-13", "figure-4-14", "median-load-time"},
    "pcp-connections": {f"figure-4-{n}{letter}" for n in (9, 10, 11) for letter in "abcde"},
    "pcp-protocols": {
        *(f"figure-4-{n}" for n in ("15a", "15b", "16", "17a", "17b", "21")),
        *(f"figure-4-{n}{letter}" for n in (22, 23) for letter in "abcde"),
    },
    "pcp-unsharding": {f"figure-5-{n}" for n in ("1", "2a", "2b", "3", "4a", "4b", "5", "6", "7")},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus as `loadpath import` leaves it, of two examples."""
    folder = tmp_path_factory.mktemp("corpus")
    for name in PAGES:
        page = (ROOT / "examples" / "pages" / f"{name}.json").read_text()
        (folder / f"{name}.json").write_text(page)
    index = [{"file": f"{name}.json", "no_sharding": False} for name in PAGES]
    (folder / "index.json").write_text(json.dumps(index))
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


def run(name: str, corpus: Path, store: Path) -> Result:
    return run_preset(name, PresetOptions(runs=1, quick=True, corpus=corpus, cache=store))


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_says_what_the_text_says_and_has_its_figures(
    name: str, corpus: Path, store: Path
) -> None:
    result = run(name, corpus, store)
    assert {figure.name for figure in result.figures} >= FIGURES[name]
    for figure in result.figures:
        assert figure.rows
        assert all(len(row) == len(figure.columns) for row in figure.rows)
        assert "simulated" in figure.caption or "counted" in figure.caption
    expected = result.tables[0]
    assert tuple(expected.columns) == ("statement", "thesis", "simulated")
    assert len(result.notes) >= len(expected.rows) >= 8
    assert result.settings["pages"] == 2
    assert len(result.rows) % len(NETWORKS) == 0


def test_medians_are_those_of_the_loads(corpus: Path, store: Path) -> None:
    """The fixed count of 4.4.1 is the scenario of 4.4.2: the same loads by another way."""
    connections = run("pcp-connections", corpus, store)
    networks = run("pcp-bandwidth-rtt", corpus, store)
    medians = connections.tables[2]
    six = list(medians.columns).index("with_6_s")
    of_version = [row for row in medians.rows if row[0] == "http/1.1"]
    assert [row[six] for row in of_version] == [row[2] for row in networks.rows]


def test_elasticities_follow_from_medians(corpus: Path, store: Path) -> None:
    result = run("pcp-bandwidth-rtt", corpus, store)
    by_network = {(row[0], row[1]): row for row in result.rows}
    slow, fast = by_network[500_000, 40], by_network[1_000_000_000, 40]
    assert (slow[6], fast[6]) == ("bandwidth", "latency")


def test_reproduce_writes_report_figures_and_table(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["reproduce", "pcp-bandwidth-rtt", "--quick", "-n", "1", "--corpus", str(corpus)]
    arguments += ["--csv", "table.csv", "--report", "report.html", "--figures", "figures"]
    assert cli.run(arguments) == 0
    html = (tmp_path / "report.html").read_text()
    assert html.startswith("<!doctype html>")
    assert html.count("<figure ") == 5
    assert {file.suffix for file in (tmp_path / "figures").iterdir()} == {
        *(".svg", ".pdf", ".png", ".csv")
    }
    with (tmp_path / "table.csv").open() as file:
        assert len(list(csv.reader(file))) == 1 + len(NETWORKS)
    capsys.readouterr()
    again = ["reproduce", "pcp-bandwidth-rtt", "--corpus", str(corpus), "--figures", "figures"]
    assert cli.run(again) == 1
    assert "figures exists already" in capsys.readouterr().err

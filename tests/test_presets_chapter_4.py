"""Presets of sections 4.2, 4.4.4 and 4.4.5 from end to end, on a corpus of two small pages."""

import json
from pathlib import Path

import pytest

from conftest import ROOT
from loadpath.experiments import pcp_priorities, pcp_server_design
from loadpath.experiments.preset import PresetOptions, Result
from loadpath.experiments.presets import run_preset
from loadpath.pages import examples

FILTERS = Path(__file__).parent / "data" / "filters.txt"
SITE = "steamcommunity.com_52"
"""Name of the site that both sections look at; here it is another page under its name."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    pages = {"figure-3-1": "figure-3-1", "spdy-page-a": SITE}
    for example, name in pages.items():
        graph = json.loads((ROOT / "examples" / "pages" / f"{example}.json").read_bytes())
        (folder / f"{name}.json").write_text(json.dumps(graph | {"name": name}))
    index = [{"file": f"{name}.json", "no_sharding": False} for name in pages.values()]
    (folder / "index.json").write_text(json.dumps(index))
    return folder


@pytest.fixture(scope="module")
def results(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    options = PresetOptions(
        runs=1, quick=True, corpus=corpus, cache=tmp_path_factory.mktemp("store")
    )
    return {name: run_preset(name, options) for name in ("pcp-priorities", "pcp-server-design")}


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        (
            "pcp-priorities",
            {"figure-4-24a", "figure-4-24b", "figure-4-28a", "figure-4-28b"}
            | {f"figure-4-25{panel}" for panel in "abcd"}
            | {f"figure-4-27{panel}" for panel in "abcd"},
        ),
        (
            "pcp-server-design",
            {"figure-4-29a", "figure-4-29b", "figure-4-29c"}
            | {"server-design-differences", "server-design-improvement"},
        ),
    ],
)
def test_a_preset_has_its_figures_and_says_what_the_text_says(
    results: dict[str, Result], name: str, figures: set[str]
) -> None:
    result = results[name]
    assert {figure.name for figure in result.figures} == figures
    for figure in result.figures:
        assert figure.rows
        assert all(len(row) == len(figure.columns) for row in figure.rows)
        assert "simulated" in figure.caption
    assert tuple(result.tables[0].columns) == ("statement", "thesis", "simulated")
    assert len(result.notes) == len(result.tables[0].rows) >= 3
    assert result.settings["pages"] == 2


def test_improvements_are_those_of_the_mean_times(results: dict[str, Result]) -> None:
    for row in results["pcp-priorities"].to_records():
        baseline, mime = row["http/2_none_s"], row["http/2_mime-type_s"]
        assert isinstance(baseline, float)
        assert isinstance(mime, float)
        assert row["http/2_mime-type_improvement_percent"] == pytest.approx(
            100 * (1 - mime / baseline)
        )


def test_a_serial_server_is_the_slowest_and_alone_queues_requests(
    results: dict[str, Result],
) -> None:
    for row in results["pcp-server-design"].to_records():
        assert isinstance(row["serial_s"], float)
        assert isinstance(row["parallel_s"], float)
        assert row["serial_s"] >= row["parallel_s"]
    waits = {row[0]: row for row in results["pcp-server-design"].tables[2].rows}
    queued = {design: row[1] for design, row in waits.items()}
    assert queued["parallel"] == queued["out-of-order"] == 0.0
    assert waits["serial"][3] == waits["out-of-order"][3] == 0.0


def test_quick_networks_hold_what_the_figures_and_statements_need() -> None:
    assert set(pcp_priorities.REGIMES) <= set(pcp_priorities.QUICK_NETWORKS)
    assert pcp_server_design.NETWORK in pcp_server_design.QUICK_NETWORKS
    assert set(pcp_server_design.QUICK_NETWORKS) <= set(pcp_server_design.NETWORKS)


def test_the_corpus_is_counted_beside_the_statements(corpus: Path) -> None:
    result = run_preset("pcp-corpus", PresetOptions(corpus=corpus, filters=[FILTERS]))
    ours = {str(row[1]): row[3] for row in result.rows}
    counts = {example.name: example.resources for example in examples()}
    assert ours["most resources of a site"] == max(counts["figure-3-1"], counts["spdy-page-a"])
    assert ours["sites without advertisements (%)"] == 100.0
    without = run_preset("pcp-corpus", PresetOptions(corpus=corpus))
    assert {str(row[1]): row[3] for row in without.rows}["sites without advertisements (%)"] is None
    assert any("--filters" in note for note in without.notes)

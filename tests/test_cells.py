"""Grids of loads: finished cells are not computed again, changed ones are."""

from pathlib import Path

import pytest

import loadpath
from loadpath import LoadpathError
from loadpath.experiments import cells
from loadpath.experiments.cells import PageSet, run_cell

PAGES = Path(__file__).parent.parent / "examples" / "pages"


@pytest.fixture
def pages() -> PageSet:
    return PageSet.load(
        [PAGES / "figure-3-1.json", PAGES / "spdy-page-a.json"], loadpath.load_graph
    )


def test_loads_are_in_order_of_pages_then_runs(pages: PageSet) -> None:
    loads = run_cell(pages, loadpath.resolve_scenario(), runs=2)
    assert [(load.page, load.run) for load in loads] == [
        ("figure-3-1", 0),
        ("figure-3-1", 1),
        ("spdy-page-a", 0),
        ("spdy-page-a", 1),
    ]
    assert all(load.plt_ms and load.reason is None for load in loads)


def test_a_finished_cell_is_read_again(
    pages: PageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = loadpath.resolve_scenario(rtt_ms=10)
    finished: list[int] = []
    loads = run_cell(pages, scenario, runs=2, cache=tmp_path / "cache")
    monkeypatch.setattr(cells, "summarise_many", None)
    again = run_cell(pages, scenario, runs=2, cache=tmp_path / "cache", progress=finished.append)
    assert again == loads
    assert finished == [4]


def test_another_scenario_page_or_number_of_runs_is_another_cell(
    pages: PageSet, tmp_path: Path
) -> None:
    one = PageSet.load([PAGES / "figure-3-1.json"], loadpath.load_graph)
    for page_set, rtt_ms, runs in ((pages, 10, 1), (pages, 11, 1), (pages, 10, 2), (one, 10, 1)):
        run_cell(page_set, loadpath.resolve_scenario(rtt_ms=rtt_ms), runs=runs, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_spoilt_cell_is_an_error_that_names_it(pages: PageSet, tmp_path: Path) -> None:
    scenario = loadpath.resolve_scenario()
    run_cell(pages, scenario, runs=1, cache=tmp_path)
    [file] = tmp_path.iterdir()
    file.write_text("[{}")
    with pytest.raises(LoadpathError, match=file.name):
        run_cell(pages, scenario, runs=1, cache=tmp_path)

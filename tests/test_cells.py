"""Cells of experiments: loads in the store of sweeps, looked at by columns or one at a time."""

import tomllib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loadpath
from loadpath import LoadpathError
from loadpath.experiments.cells import PageSet
from loadpath.experiments.grid import mean_by_page_s, run_cells
from loadpath.experiments.preset import PresetOptions
from loadpath.experiments.sweep.store import find_plans

PAGES = PageSet.load(["example:figure-3-1", "example:spdy-page-a"])
NETWORKS = [
    {"network.rate_bps": rate, "network.rtt_ms": rtt, "http.version": version}
    for rate, rtt, version in product((1_000_000, 10_000_000), (8, 40), ("http/1.1", "http/2"))
]


def matrix(store: Path) -> dict[str, Any]:
    [plan] = find_plans(store)
    return dict(tomllib.loads((plan.path / "plan.resolved.toml").read_text())["matrix"])


def expected(cell: Mapping[str, Any], page: str, run: int) -> float | None:
    settings = {"profile": "pcp", "set": cell}
    return loadpath.simulate(page, runs=run + 1, **settings)[run].plt_ms  # type: ignore[arg-type]


def test_loads_are_those_of_each_cell_in_order_of_pages_then_runs(tmp_path: Path) -> None:
    results = run_cells(PAGES, NETWORKS, PresetOptions(cache=tmp_path), runs=2)
    assert len(results) == len(NETWORKS)
    for cell, loads in zip(NETWORKS, results, strict=True):
        assert loads.plt_ms.shape == (2, 2)
        assert [(load.page, load.run) for load in loads] == [
            *(("figure-3-1", run) for run in (0, 1)),
            *(("spdy-page-a", run) for run in (0, 1)),
        ]
        assert loads[2].plt_ms == loads.plt_ms[1, 0] == expected(cell, "example:spdy-page-a", 0)
        assert loads[-1] == list(loads)[3] == loads[3:][0]
        assert mean_by_page_s(loads, 2) == pytest.approx(loads.plt_ms.mean(axis=1) / 1000)
    assert matrix(tmp_path) == {
        "http.version": ["http/1.1", "http/2"],
        "network.rate_bps": [1_000_000, 10_000_000],
        "network.rtt_ms": [8.0, 40.0],
    }


def test_what_is_no_product_is_an_axis_of_variants(tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [
        {"http.version": "http/1.1", "http.connections_per_host": 6},
        {"http.version": "http/2"},
    ]
    cells = [{"network.rtt_ms": rtt, **variant} for rtt in (8, 40) for variant in variants]
    results = run_cells(PAGES, cells, PresetOptions(cache=tmp_path), runs=1)
    for cell, loads in zip(cells, results, strict=True):
        assert loads[0].plt_ms == expected(cell, "example:figure-3-1", 0)
    assert set(matrix(tmp_path)) == {"network.rtt_ms", "variant"}


def test_what_a_user_sets_replaces_what_varies(tmp_path: Path) -> None:
    options = PresetOptions(cache=tmp_path, overrides=[("network.rtt_ms", "99ms")])
    results = run_cells(PAGES, NETWORKS, options, runs=1)
    assert np.array_equal(results[0].plt_ms, results[2].plt_ms)
    assert results[0][0].plt_ms == expected(
        {"network.rate_bps": 1_000_000, "http.version": "http/1.1", "network.rtt_ms": 99},
        "example:figure-3-1",
        0,
    )
    assert find_plans(tmp_path)[0].manifest.scenarios == 4, "equal cells are computed once"


def test_finished_loads_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = PresetOptions(cache=tmp_path)
    before = run_cells(PAGES, NETWORKS, options, runs=2)
    monkeypatch.setattr("loadpath._core.summarise_columns", None)
    again = run_cells(PAGES, NETWORKS, options, runs=2)
    assert [list(loads) for loads in again] == [list(loads) for loads in before]
    # Fewer runs, fewer cells: another plan, the same loads.
    fewer = run_cells(PAGES, NETWORKS[:3], options, runs=1)
    assert np.array_equal(fewer[2].plt_ms, before[2].plt_ms[:, :1])


def test_without_a_cache_loads_go_with_their_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    results = run_cells(PAGES, NETWORKS[:1], PresetOptions(), runs=1)
    assert list(tmp_path.iterdir())
    assert results[0][0].drops >= 0
    del results
    assert not list(tmp_path.iterdir())


def test_a_load_that_fails_is_an_error_that_names_it(tmp_path: Path) -> None:
    options = PresetOptions(cache=tmp_path, overrides=[("limits.time_ms", "1")])
    with pytest.raises(LoadpathError, match=r"figure-3-1, run 0, http\.version = http/1\.1"):
        run_cells(PAGES, NETWORKS, options, runs=1)


def test_pages_are_chosen_evenly_or_by_name() -> None:
    pages = PageSet.load([f"example:page-{n}" for n in range(10)])
    assert [source for source, _ in pages.first(3).files] == [
        "example:page-0",
        "example:page-3",
        "example:page-6",
    ]
    assert len(pages.first(99)) == 10
    assert pages.named("page-4").files == (("example:page-4", "example:page-4"),)
    dotted = PageSet((("corpus:www.a.com_1", "x"), ("corpus:www.b.com_2", "y")))
    assert dotted.named("www.b.com_*").files == (("corpus:www.b.com_2", "y"),)

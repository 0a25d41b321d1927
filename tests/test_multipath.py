"""Studies over two paths: each on two small pages and one network, and their parts by hand."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import loadpath
from loadpath._core import Scenario
from loadpath.analysis.figures import render, scatter
from loadpath.analysis.timesequence import timesequence_svg
from loadpath.analysis.waterfall import waterfall_svg
from loadpath.experiments.multipath import (
    attribution,
    bandwidth_mismatch,
    combination,
    equal,
    estimator,
    rtt_mismatch,
    rtt_ratios,
    schedulers,
    tail_loss,
    unsharded,
    variants,
    worst_first,
)
from loadpath.experiments.multipath.comparison import Loads, against, difference_p, time_p
from loadpath.experiments.multipath.mismatch import CSV_COLUMNS, Study
from loadpath.experiments.multipath.networks import Path as NetworkPath
from loadpath.experiments.multipath.networks import TwoPaths
from loadpath.experiments.preset import PresetOptions, Result
from loadpath.experiments.presets import PRESETS
from loadpath.outcome import Outcome
from loadpath.parameters import override, scenario_values

PAGES = Path(__file__).parent.parent / "examples" / "pages"
NETWORK = (10_000_000, 40)


@pytest.fixture(scope="module")
def two_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two pages, as `loadpath import` writes one."""
    folder = tmp_path_factory.mktemp("corpus")
    names = ("shape-wikipedia", "spdy-page-b")
    for name in names:
        shutil.copy(PAGES / f"{name}.json", folder)
    index = [{"file": f"{name}.json", "no_sharding": False} for name in names]
    (folder / "index.json").write_text(json.dumps(index))
    return folder


def study_on(study: Study) -> Study:
    return Study(
        study.name,
        study.title,
        [NETWORK],
        study.second_rate,
        study.second_rtt,
        study.baseline_figure,
        study.modified_figure,
    )


STUDIES: dict[str, Callable[[PresetOptions], Result]] = {
    "pcp-multipath-equal": lambda o: equal.run(o, [NETWORK]),
    "pcp-multipath-rtt-mismatch": lambda o: rtt_mismatch.run(o, study_on(rtt_mismatch.STUDY)),
    "pcp-multipath-bandwidth-mismatch": lambda o: bandwidth_mismatch.run(
        o, study_on(bandwidth_mismatch.STUDY)
    ),
    "pcp-multipath-worst-first": lambda o: worst_first.run(o, [NETWORK]),
    "pcp-multipath-combination": lambda o: combination.run(o, [NETWORK]),
    "pcp-multipath-rtt-ratios": lambda o: rtt_ratios.run(o, [NETWORK], [1, 5]),
    "pcp-multipath-attribution": lambda o: attribution.run(o, attribution.REGIMES[1:2]),
    "pcp-multipath-tail-loss": lambda o: tail_loss.run(o, [10_000_000], [40]),
    "pcp-multipath-estimator": lambda o: estimator.run(o, [NETWORK], "spdy-page-b"),
    "pcp-multipath-unsharded": lambda o: unsharded.run(o, [NETWORK]),
    "multipath-schedulers": lambda o: schedulers.run(
        o, {"equal": TwoPaths.scaled(NETWORK)}, ("lowest-rtt", "stream")
    ),
}


def test_every_study_is_a_preset_and_tested_here() -> None:
    assert {name for name in PRESETS if "multipath" in name} == set(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_gives_a_table_with_notes_and_figures(name: str, two_pages: Path) -> None:
    done: list[int] = []
    total: list[int] = []

    class Bar:
        def __enter__(self) -> Callable[[int], object]:
            return done.append

        def __exit__(self, *_: object) -> None: ...

    def bar(loads: int, _: int) -> Bar:
        total.append(loads)
        return Bar()

    options = PresetOptions(quick=True, corpus=two_pages, progress=bar)
    result = STUDIES[name](options)
    assert result.rows and all(len(row) == len(result.columns) for row in result.rows)
    assert result.notes
    assert max(done) >= total[-1], "the bar ends at the number of loads"
    assert result.figures
    assert len({figure.name for figure in result.figures}) == len(result.figures)
    for figure in result.figures:
        assert all(len(row) == len(figure.columns) for row in figure.rows)
        assert render(figure, "svg").startswith(b"<?xml")


def test_the_csv_has_the_columns_of_the_thesis_table(two_pages: Path) -> None:
    options = PresetOptions(runs=2, corpus=two_pages)
    result = rtt_mismatch.run(options, study_on(rtt_mismatch.STUDY))
    header, row = result.to_csv().splitlines()
    assert header.split(",") == list(CSV_COLUMNS)
    values = dict(zip(CSV_COLUMNS, map(float, row.split(",")), strict=True))
    assert (values["rate_bps"], values["rtt_ms"]) == NETWORK
    tcp_s = values["plt_tcp_s"]
    for side in ("mod", "base"):
        expected = 100 * values[f"{side}_mean_diff_s"] / tcp_s
        assert values[f"{side}_improvement_pct"] == pytest.approx(expected)
    assert 0 <= values["p_value"] <= 1


def loads_of(times_s: list[list[float]]) -> Loads:
    table = np.array(times_s)
    names = tuple(f"page {n}" for n in range(len(times_s)))
    return Loads(names, table, np.zeros_like(table), np.zeros_like(table), np.zeros_like(table))


def test_differences_are_positive_where_several_paths_are_faster() -> None:
    tcp, mptcp = loads_of([[2.0, 4.0], [10.0, 10.0]]), loads_of([[1.0, 3.0], [10.0, 11.0]])
    result = against(tcp, mptcp)
    differences = [1.0, 1.0, 0.0, -1.0]
    assert result.difference.mean == pytest.approx(np.mean(differences))
    assert result.difference.sd == pytest.approx(np.std(differences, ddof=1))
    assert result.improvement_percent == pytest.approx(100 * 1 / 26)
    assert result.same_or_better_percent == 50.0, "the second page is slower in the mean"


def test_pages_hide_in_load_times_what_shows_in_differences() -> None:
    random = np.random.default_rng(1)
    pages = random.uniform(1, 20, (50, 1))
    tcp = loads_of((pages + random.normal(0, 0.01, (50, 4))).tolist())
    one = loads_of((pages + random.normal(0, 0.01, (50, 4))).tolist())
    other = loads_of((pages + 0.05 + random.normal(0, 0.01, (50, 4))).tolist())
    times, differences = time_p(one, other), difference_p(tcp, one, other)
    assert times is not None and times > 0.5
    assert differences is not None and differences < 1e-6


def test_paths_become_scenario_values() -> None:
    both = TwoPaths.scaled(NETWORK, rate=0.2, rtt=5.0, first=2)
    assert both.other == NetworkPath(2_000_000, 200)
    values = {**variants.BASELINE, **both.values}
    scenario = Scenario.resolve("pcp", None, [(k, override(v)) for k, v in values.items()])
    resolved = scenario_values(scenario)
    assert resolved["path2"]["rate_bps"] == 2_000_000
    assert resolved["path2"]["rtt_ms"] == 200.0
    assert resolved["multipath"]["first_path"] == 2


def test_each_step_of_the_ladder_changes_what_it_says() -> None:
    def changes(before: str, after: str) -> set[str]:
        one, other = variants.RTT_LADDER[before], variants.RTT_LADDER[after]
        return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}

    assert changes("MPTCP HTTP/2 RTT", "MP QUIC RTT") == {"http.version"}
    assert changes("MP QUIC RTT", "MP QUIC RTT Preempt") == {"http.send_order"}
    assert changes("MP QUIC RTT Preempt", "MP QUIC Stream") == {"multipath.scheduler"}
    assert changes("MPTCP HTTP/2 Stream", "MP QUIC Stream") == {"http.version"}
    stream = "MP QUIC Stream"
    assert changes(stream, f"{stream} Retrans") == {"multipath.retransmit_on_other"}
    assert changes(stream, f"{stream} No LIA") == {"multipath.congestion"}
    tlp = {"transport.tail_loss_probe"}
    assert changes(f"{stream} No LIA", f"{stream} No LIA TLP") == tlp
    for label, values in variants.LEFT_OUT.items():
        changed = {
            key
            for key in values.keys() | variants.MODIFIED.keys()
            if values.get(key) != variants.MODIFIED.get(key)
        }
        assert len(changed) == 1, label


@pytest.fixture(scope="module")
def over_two_paths() -> Outcome:
    [outcome] = loadpath.simulate(
        PAGES / "spdy-page-b.json",
        trace=True,
        rate="10mbit",
        rtt_ms=40,
        set={**variants.MODIFIED, "path2.rtt_ms": "80"},
    )
    return outcome


def test_estimates_meet_what_happened(over_two_paths: Outcome) -> None:
    found = list(estimator.estimates(over_two_paths))
    assert found
    assert all(e.actual_ms > 0 and e.estimated_ms > 0 for e in found)
    last = [e for e in found if e.remaining_bytes <= 1448]
    assert last, "the end of a response has an estimate, too"


def test_a_waterfall_has_a_lane_for_each_subflow_of_a_resource(over_two_paths: Outcome) -> None:
    svg = ElementTree.fromstring(waterfall_svg(over_two_paths))
    titles = [e.text or "" for e in svg.iter("{http://www.w3.org/2000/svg}title")]
    for path in (1, 2):
        assert any(f"subflow {path}, path {path}: " in title for title in titles)
    assert over_two_paths.trace is not None
    carried = sum(
        int(title.split(": ")[1].split(" bytes")[0])
        for title in titles
        if title.startswith("subflow")
    )
    delivered = sum(
        packet.len
        for packet in over_two_paths.trace.packets
        if packet.event == "delivered" and not packet.up and packet.resource is not None
    )
    assert carried == delivered


def test_a_time_sequence_plot_has_a_panel_for_each_subflow(over_two_paths: Outcome) -> None:
    svg = timesequence_svg(over_two_paths, connection=0)
    assert "subflow 1 on path 1" in svg
    assert "subflow 2 on path 2" in svg
    assert svg.count("0: ") == 2


def test_scatter_plots_show_every_group() -> None:
    figure = scatter(
        name="points",
        title="Points",
        caption="Two (simulated).",
        columns=("x_ms", "y_ms", "state"),
        rows=[[1.0, 2.0, "slow start"], [2.0, 2.0, "recovery"]],
        x="x_ms",
        y="y_ms",
        by="state",
        slopes=(1.0, 2.0),
    )
    svg = render(figure, "svg").decode()
    assert "slow start" in svg and "recovery" in svg

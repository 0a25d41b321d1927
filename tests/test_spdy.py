"""The bed of the SPDY study: header sizes, pages, conditions, and the preset over them."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from loadpath import resolve_scenario
from loadpath.experiments import spdy_initcwnd
from loadpath.experiments.preset import PresetOptions
from loadpath.experiments.presets import run_preset
from loadpath.experiments.spdy_headers import measure
from loadpath.experiments.spdy_initcwnd import CASES, CHANNELS, LABORATORY, conditions
from loadpath.experiments.spdy_pages import PAGES, SERVERS, divided, spdy_pages
from loadpath.parameters import override, scenario_values

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_header_sizes_are_those_that_the_engine_has() -> None:
    requests, responses = measure()
    http = scenario_values(resolve_scenario(http="spdy"))["http"]
    # zlib's versions differ by a byte or two.
    assert requests.fractions == pytest.approx(
        (http["request_first_fraction"], http["request_later_fraction"]), abs=0.01
    )
    assert responses.fractions == pytest.approx(
        (http["response_first_fraction"], http["response_later_fraction"]), abs=0.01
    )
    assert LABORATORY["http.request_bytes"] == round(requests.text_later)
    assert LABORATORY["http.response_header_bytes"] == round(responses.text_later)


def test_other_versions_compress_nothing() -> None:
    http = scenario_values(resolve_scenario(http="h2"))["http"]
    assert [value for key, value in http.items() if key.endswith("_fraction")] == [1.0] * 4


@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_divided_as_the_generator_divides_them(
    page: str, servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from generator import page as pages  # type: ignore[import-not-found]
    from generator import spdy

    [made] = [p for p in spdy.pages(servers) if p.title.split(":")[0].endswith(f"page {page}")]
    graph = json.loads(divided(page, servers))
    assert graph["activities"] == json.loads(pages.to_json(made.graph()))["activities"]


def test_there_are_288_conditions_on_nine_websites() -> None:
    counts = Counter((page, servers) for page, servers, _, _ in conditions())
    assert sum(counts.values()) == 288
    assert set(counts.values()) == {32}
    with spdy_pages() as websites:
        assert len({page.name for page in websites.pages}) == 9


def test_the_channels_are_those_of_section_5_3_2_2() -> None:
    assert len(CHANNELS) == len(set(CHANNELS)) == 8
    assert {(c.down_mbit_s, c.up_mbit_s) for c in CHANNELS} == {(10, 1), (20, 2)}
    assert {c.rtt_ms for c in CHANNELS} == {20, 100}
    assert {c.loss_percent for c in CHANNELS} == {0, 1}


def test_the_preset_predicts_every_case_and_compares_the_first() -> None:
    result = run_preset("spdy-initcwnd", PresetOptions(runs=1))
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert list(rows[0]) == [
        "page",
        "servers",
        "down_mbit_s",
        "up_mbit_s",
        "rtt_ms",
        "loss_percent",
        "case",
        "gain",
    ]
    assert Counter(row["case"] for row in rows) == dict.fromkeys(CASES, 72)
    for record in result.to_records():
        base, median, gain = (record[k] for k in ("base_median_s", "case_median_s", "gain"))
        assert isinstance(base, float) and isinstance(median, float)
        assert gain == pytest.approx(base / median)
    websites, channels, *predicted = result.tables
    assert len(predicted) == 4
    # The draft, and three cases of ours.
    assert [len(figure.rows) for figure in result.figures] == [4 * 9, 4 * 8]
    # Nine websites and eight channels have published numbers beside ours.
    for table, count in ((websites, 9), (channels, 8)):
        assert sum(row[-1] is not None for row in table.rows) == count
    one_server = next(row for row in websites.rows if row[:2] == ["A", 1])
    gains = [float(r["gain"]) for r in rows if (r["page"], r["servers"]) == ("A", "1")][:8]
    assert one_server[2:5] == [max(gains), pytest.approx(sum(gains) / 8), min(gains)]
    assert one_server[5:8] == [4.1, 2.4, 1.6]


def test_a_user_can_vary_what_the_preset_fixes() -> None:
    plain = run_preset("spdy-initcwnd", PresetOptions(runs=1))
    without = [("transport.slow_start_exit", "loss")]
    varied = run_preset("spdy-initcwnd", PresetOptions(runs=1, overrides=without))
    assert varied.rows != plain.rows
    assert varied.settings["transport.slow_start_exit"] == "loss"
    assert plain.settings["transport.slow_start_exit"] == "hystart"


def test_what_the_laboratory_had_is_a_scenario() -> None:
    values = scenario_values(resolve_scenario(profile="linux", set=LABORATORY))
    for key, value in LABORATORY.items():
        section, name = key.split(".")
        assert override(values[section][name]) in (override(value), f"{value}.0")


def test_gains_are_of_the_base_case_under_the_same_channel() -> None:
    assert set(spdy_initcwnd.OPTIONS) == {"base", *CASES}

"""What `advise` says holds: predictions are loads, ranks are gains, losses are told."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from conftest import Loadpath
from loadpath import resolve_scenario
from loadpath.api import simulate
from loadpath.errors import CorpusError, LoadpathError, NotFoundError, TransformError
from loadpath.experiments.advice import Advice, AdviceOptions, advise, markdown, write_advice
from loadpath.experiments.advice.networks import conditions
from loadpath.pages import load_graph
from loadpath.parameters import Parameters
from loadpath.sources import PageSource, open_page
from page_builder import events, page, resource

NETWORK: Parameters = {"profile": "pcp", "rate": "2mbit", "rtt_ms": 120}
"""RED and jitter: the runs differ."""


def _document(end: int, *children: str, name: str, parent: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"bytes_{name}",
            "type": "download_chunk",
            "resource": "root",
            "offset_bytes": 0 if name == "head" else 2000,
            "size_bytes": 2000,
            "children": [f"parse_{name}"],
        },
        {
            "id": f"parse_{name}",
            "type": "parse_chunk",
            "frame": 0,
            "duration_ms": 1.0,
            "children": list(children),
        },
    ]


def late_page() -> bytes:
    """A blocking script in the head asks for a large font; a photo follows."""
    script = {
        "id": "run",
        "type": "evaluation",
        "frame": 0,
        "kind": "script",
        "duration_ms": 30.0,
        "children": ["font", "parse_rest"],
    }
    head = _document(2000, "code", "parse_rest", name="head", parent="root")
    rest = _document(4000, "photo", "dcl", name="rest", parent="bytes_head")
    head[0]["children"].append("bytes_rest")
    return json.dumps(
        page(
            resource("root", "bytes_head", mime_type="text/html", size_bytes=4000),
            *head,
            resource("code", "run", mime_type="text/javascript", size_bytes=60_000),
            script,
            *rest,
            resource("font", "load", mime_type="font/woff2", size_bytes=80_000),
            resource("photo", "load", mime_type="image/png", size_bytes=20_000),
            *events(),
        )
    ).encode()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> PageSource:
    path = tmp_path_factory.mktemp("advice") / "late.json"
    path.write_bytes(late_page())
    return open_page(path)


@pytest.fixture(scope="module")
def advice(source: PageSource) -> Advice:
    return advise(source, resolve_scenario(**NETWORK), AdviceOptions(runs=4))


def test_a_late_font_is_to_be_preloaded_and_async_is_of_no_use(advice: Advice) -> None:
    gains = {item.change.name: item for item in advice.items}
    assert gains["preload"].change.transforms == ("preload:font",)
    assert gains["preload"].recommended
    assert "same in every load" in gains["preload"].change.caveat
    # The preload scanner finds the photo, and the font waits for the script either way.
    assert ("async", "it changes no load time of this page") in [
        (left.name, left.reason) for left in advice.left_out
    ]
    assert advice.label == "simulated"


def test_gains_are_differences_of_loads_paired_by_run(source: PageSource, advice: Advice) -> None:
    [item] = [item for item in advice.items if item.change.name == "preload"]
    before = simulate(source.page, runs=4, **NETWORK)
    after = simulate(source.page.transformed("preload:font"), runs=4, **NETWORK)
    saved = [
        b.plt_ms - a.plt_ms for b, a in zip(before, after, strict=True) if b.plt_ms and a.plt_ms
    ]
    assert item.gain.gain_ms == pytest.approx(fmean(saved))
    assert item.gain.low_ms is not None and item.gain.high_ms is not None
    assert item.gain.low_ms <= fmean(saved) <= item.gain.high_ms
    assert advice.before_ms == pytest.approx(fmean(b.plt_ms for b in before if b.plt_ms))


def test_items_are_ranked_and_losses_are_told(advice: Advice) -> None:
    gains = [item.gain.gain_ms for item in advice.items]
    assert gains == sorted(gains, key=lambda gain: -(gain or 0.0))
    for item in advice.items:
        everywhere = (item.gain, *item.neighbours)
        assert [gain.network for gain in everywhere] == [name for name, _ in advice.networks]
        assert item.recommended == item.gain.wins
        slower = [g.network for g in everywhere if g.high_ms is None or g.high_ms < 0]
        assert item.loses_on == slower
    text = markdown(advice)
    for item in advice.items:
        if item.recommended:
            assert all(name in text for name in item.loses_on)


def test_a_combination_is_simulated_not_summed(advice: Advice) -> None:
    together = advice.combination
    assert together is not None and len(together.names) > 1
    gain = together.item.gain.gain_ms
    assert gain is not None
    assert sum(together.added_ms) == pytest.approx(gain)
    alone = {item.change.name: item.gain.gain_ms for item in advice.items}
    single = [alone[name] or 0.0 for name in together.names]
    assert together.added_ms[0] == pytest.approx(max(single))
    assert together.sum_of_single_gains_ms == pytest.approx(sum(single))
    assert gain >= max(single)


def test_the_critical_path_adds_up_before_and_after(advice: Advice) -> None:
    assert sum(advice.phases_ms.values()) == pytest.approx(advice.before_ms)
    for item in advice.items:
        assert sum(item.phases_ms.values()) == pytest.approx(item.gain.after_ms)


def test_what_is_written_loads_as_predicted_to_the_bit(
    loadpath: Loadpath, tmp_path: Path, source: PageSource, advice: Advice
) -> None:
    folder = write_advice(tmp_path / "kept", advice, source, resolve_scenario(**NETWORK))
    arguments = ("kept/page.json", "--scenario", "kept/scenario.toml", "-n", "4", "--json")
    fresh = json.loads(loadpath("simulate", *arguments).stdout)
    assert advice.combination is not None
    assert [load["plt_ms"] for load in fresh["outcomes"]] == advice.combination.plts_ms
    assert json.loads((folder / "advice.json").read_text())["label"] == "simulated"
    with pytest.raises(LoadpathError, match="exists already"):
        write_advice(folder, advice, source, resolve_scenario(**NETWORK))


def test_advice_does_not_depend_on_threads(source: PageSource, advice: Advice) -> None:
    again = advise(source, resolve_scenario(**NETWORK), AdviceOptions(runs=4, threads=1))
    assert again == advice


def test_what_does_not_apply_is_left_out_with_a_reason() -> None:
    advice = advise(
        open_page("example:mobile-10-large"),
        resolve_scenario(profile="linux", connectivity="lte"),
        AdviceOptions(runs=1),
    )
    reasons = {left.name: left.reason for left in advice.left_out}
    assert reasons["async"] == "no external script holds up the main document's parser"
    assert reasons["h2"] == "the scenario has http.version = http/2 already"
    assert "no script bytes" in reasons["script-bytes"]
    assert "preload" in reasons and "tls-1.3" in reasons and "icwnd-10" in reasons


def test_neighbours_of_a_lossy_network_differ_in_loss() -> None:
    scenario = resolve_scenario(connectivity="browserstack:3g-umts-lossy")
    found = {condition.name: condition for condition in conditions(scenario)}
    assert "2 % loss" in found["twice the loss"].description
    assert "loss" not in found["no loss"].description
    assert "100 kbit/s down, 25 kbit/s up" in found["half the rate"].description
    assert "RTT 400 ms" in found["twice the RTT"].description
    assert any(name.startswith("wpt:") for name in found)


def test_transforms_from_python() -> None:
    page = load_graph("example:shape-google")
    smaller = page.transformed("cut-bytes:image:50")
    assert smaller.name == page.name and smaller.source.endswith("cut-bytes:image:50")
    assert simulate(smaller)[0].totals.bytes < simulate(page)[0].totals.bytes
    with pytest.raises(TransformError, match="no such transform") as error:
        page.transformed("smaller")
    assert "cut-bytes:TYPE:PERCENT" in error.value.__notes__[0]


def test_pages_come_from_graphs_recordings_and_profiles(tmp_path: Path) -> None:
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "time": 50,
        "request": {"method": "GET", "url": "https://site.example/", "headers": []},
        "response": {
            "status": 200,
            "headers": [],
            "content": {"size": 900, "mimeType": "text/html"},
            "bodySize": 900,
        },
        "timings": {"send": 0, "wait": 40, "receive": 10},
    }
    log = {"version": "1.2", "creator": {"name": "a tool", "version": "1"}, "entries": [entry]}
    (tmp_path / "page.har").write_text(json.dumps({"log": log}))
    imported = open_page(tmp_path / "page.har")
    assert (imported.page.resources, "(har)" in imported.came_from) == (1, True)
    with pytest.raises(NotFoundError, match="no page graph"):
        open_page(tmp_path / "nothing.json")
    with pytest.raises(LoadpathError, match="not a recorded profile"):
        open_page(tmp_path)
    with pytest.raises(CorpusError):
        open_page("corpus:somewhere", corpus=tmp_path)


class TestCommand:
    def test_it_ranks_on_stdout_and_explains_on_stderr(self, loadpath: Loadpath) -> None:
        result = loadpath("advise", "example:shape-google", "-c", "3g", "-n", "2")
        assert result.returncode == 0, result.stderr
        header, first, *_ = result.stdout.splitlines()
        assert "change" in header and "loses on" in header
        assert first.startswith("together: ")
        assert "simulated" in result.stderr and "RTT 300 ms" in result.stderr

    def test_markdown_and_json(self, loadpath: Loadpath) -> None:
        arguments = ("advise", "example:shape-google", "-c", "3g", "-n", "1")
        assert "| change | gain ms |" in loadpath(*arguments, "--markdown").stdout
        found = json.loads(loadpath(*arguments, "--json").stdout)
        assert found["label"] == "simulated" and found["left_out"]

    def test_a_page_that_is_not_there_is_an_error(self, loadpath: Loadpath) -> None:
        result = loadpath("advise", "nothing.json")
        assert result.returncode == 1 and result.stderr.startswith("error:")

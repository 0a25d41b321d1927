"""Importing traces that DevTools saved.

`data/devtools-trace.json.gz` is a trace of the test site's page `iframe-content`, recorded with the
categories of DevTools' Performance panel and cut down to what page graphs are made of.
"""

import gzip
import json
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loadpath as lp
from conftest import ROOT, Loadpath
from loadpath import _core
from loadpath.errors import LoadpathError, NotFoundError
from loadpath.graphs.canonical import canonical
from loadpath.graphs.import_report import ImportReport
from loadpath.graphs.recordings import import_recording

RECORDED = ROOT / "tests" / "data" / "devtools-trace.json.gz"
PAGE = "https://iframe-content.page.test/"

Trace = dict[str, Any]


def recorded() -> Trace:
    trace: Trace = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return trace


def imported(
    tmp_path: Path, trace: object, *, page: str | None = None
) -> tuple[dict[str, Any], ImportReport]:
    """The graph, which the engine accepts and loads to its end."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    data, report = import_recording(path, page=page)
    outcome = lp.simulate(_core.Page.from_json(data, "graph"), rate="20mbit", rtt_ms=20)[0]
    assert outcome.plt_ms is not None
    return json.loads(data), report


def resources(graph: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {a["url"].removeprefix(PAGE): a for a in graph["activities"] if a["type"] == "resource"}


def test_a_saved_profile_gives_the_page_graph(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, recorded())
    nodes = canonical(graph)
    for node, parents in {
        "resource /page.css": {"parse / 4:40"},
        "resource /frame.css": {"parse /frame.html 4:41"},
        "resource /a.png": {"parse /frame.html 7:18"},
        "resource /a.js": {"parse /frame.html 8:20"},
        "resource /b.png": {"script /a.js"},
        "script /a.js": {"resource /a.js"},
        "parse /frame.html end": {"script /a.js"},
        "style /page.css": {"resource /page.css"},
    }.items():
        assert nodes[node] == parents
    # The inline script stands behind a style sheet.
    assert "style /page.css" in nodes["script / 7:9"]
    assert [frame.get("parent") for frame in graph["frames"]] == [None, 0]
    assert report.frames == 2 and report.load_ms == pytest.approx(402.8, abs=0.1)
    assert report.dom_content_loaded_ms == pytest.approx(224.7, abs=0.1)


def test_positions_without_bodies_stay_unverified(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, recorded())
    said = {url: found.get("evidence") for url, found in resources(graph).items()}
    assert said == {
        "": None,
        "page.css": "unverified",
        "frame.html": "fallback",
        "frame.css": "unverified",
        "a.png": "unverified",
        "a.js": "unverified",
        "b.png": "trace",
    }
    assert report.evidence == {"unverified": 4, "fallback": 1, "trace": 1}
    assert report.missing_bodies == 5 and report.guessed == [f"{PAGE}frame.html"]


def test_bodies_in_the_metadata_verify_positions(tmp_path: Path) -> None:
    folder = ROOT / "tests" / "pagesite" / "pages" / "iframe-content"
    trace = recorded()
    trace["metadata"]["resources"] = [
        {"url": url, "content": (folder / file).read_text(), "mimeType": "text/html"}
        for url, file in ((PAGE, "index.html"), (f"{PAGE}frame.html", "frame.html"))
    ]
    graph, report = imported(tmp_path, trace)
    assert report.evidence == {"source": 5, "trace": 1}
    assert canonical(graph)["resource /frame.html"] == {"parse / 6:26"}


def test_durations_and_priorities_come_from_the_trace(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, recorded())
    scripts = [a for a in graph["activities"] if a.get("kind") == "script"]
    assert sum(a["duration_ms"] for a in scripts) > 3
    assert resources(graph)["a.png"]["browser_priority"] == "Medium"
    assert report.unknown_durations == 0
    # 2.5 ms of the document's wait are the server's: connecting, without TLS, was the round trip.
    root = resources(graph)[""]
    assert root["server_delay_ms"] == pytest.approx(2.478) and report.unknown_server_delays == 0


def test_gzip_plain_and_bare_lists_give_the_same_graph(tmp_path: Path) -> None:
    graph, _ = imported(tmp_path, recorded())
    assert json.loads(import_recording(RECORDED)[0]) == graph
    assert imported(tmp_path, recorded()["traceEvents"])[0] == graph


def test_redirects_of_the_document_are_hops(tmp_path: Path) -> None:
    trace = recorded()
    events = trace["traceEvents"]
    sent = next(e for e in events if e["name"] == "ResourceSendRequest")
    hop = json.loads(json.dumps(sent))
    hop["args"]["data"]["url"] = "http://page.test/"
    hop["ts"] -= 1
    will_send = next(e for e in events if e["name"] == "ResourceWillSendRequest")
    events += [hop, will_send | {"ts": will_send["ts"] + 20_000}]
    graph, report = imported(tmp_path, trace)
    assert graph["url"] == "http://page.test/"
    assert resources(graph)[""]["evidence"] == "redirect"
    assert report.evidence["redirect"] == 1


def test_a_trace_of_several_navigations_is_cut(tmp_path: Path) -> None:
    trace = recorded()
    later = []
    for event in trace["traceEvents"]:
        text = json.dumps(event).replace("iframe-content", "second")
        copy = json.loads(text)
        if event["ph"] != "M":
            copy["ts"] += 10_000_000
        data = copy["args"].get("data")
        if isinstance(data, dict) and "requestId" in data:
            data["requestId"] += "-2"
            timing = data.get("timing") or {}
            if timing:
                timing["requestTime"] += 10
            if "finishTime" in data:
                data["finishTime"] += 10
        if isinstance(data, dict) and "navigationId" in data:
            data["navigationId"] += "-2"
        later.append(copy)
    trace["traceEvents"] += later
    first, report = imported(tmp_path, trace)
    assert (first["url"], report.page, report.pages) == (PAGE, 1, 2)
    assert canonical(first) == canonical(imported(tmp_path, recorded())[0])
    second, report = imported(tmp_path, trace, page="2")
    assert (second["url"], report.page) == ("https://second.page.test/", 2)
    assert report.requests == 7
    with pytest.raises(NotFoundError, match="no page '3'"):
        imported(tmp_path, trace, page="3")


def test_a_trace_without_frame_events_says_so(tmp_path: Path) -> None:
    trace = recorded()
    names = ("FrameCommittedInBrowser", "CommitLoad")
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e["name"] not in names]
    _, report = imported(tmp_path, trace)
    assert any("no frames in the trace" in warning for warning in report.warnings)


def test_the_verb_prints_what_the_trace_could_not_tell(loadpath: Loadpath, tmp_path: Path) -> None:
    result = loadpath("import", RECORDED, "-o", "graph.json")
    assert result.returncode == 0, result.stderr
    for words in ("trace by DevTools", "parents by unverified", "missing bodies"):
        assert words in result.stdout
    report = json.loads(loadpath("import", RECORDED, "-o", "again.json", "--json").stdout)
    assert report["evidence"] == {"unverified": 4, "fallback": 1, "trace": 1}
    assert loadpath("simulate", "graph.json").returncode == 0
    piped = loadpath("import", RECORDED, "-o", "-")
    assert json.loads(piped.stdout) == json.loads((tmp_path / "graph.json").read_text())


def without(name: str) -> Callable[[Trace], object]:
    return lambda trace: {"traceEvents": [e for e in trace["traceEvents"] if e["name"] != name]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda trace: [], "no trace events"),
        (without("navigationStart"), "no navigation of a page"),
        (without("ResourceSendRequest"), "no request for the page's document"),
        (lambda trace: {"traceEvents": 5}, "no trace events"),
        (lambda trace: {"traceEvents": [{"ts": "soon"}]}, "not a Chrome trace"),
    ],
)
def test_traces_without_a_page_load_give_one_clear_error(
    tmp_path: Path, change: Callable[[Trace], object], message: str
) -> None:
    with pytest.raises(LoadpathError, match=message):
        imported(tmp_path, change(recorded()))


@pytest.mark.parametrize("cut", [10, 100, 1000, -10])
def test_a_file_that_is_cut_off_gives_one_clear_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.json.gz"
    path.write_bytes(RECORDED.read_bytes()[:cut])
    with pytest.raises(LoadpathError, match=str(path)):
        import_recording(path)


def test_deep_nesting_gives_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    for head in (b'{"traceEvents":[\n', b"[\n", b'{"metadata": 1, "traceEvents": ['):
        deep = b'{"name": "x", "args": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"
        path.write_bytes(head + deep + b"\n]}")
        with pytest.raises(LoadpathError):
            import_recording(path)


def _mutate(value: Any, chance: random.Random) -> Any:
    nonsense: list[Any] = [None, -1, 0, 1e300, "", "x" * 50, [], {}, True, [[]]]
    if chance.random() < 0.0005:
        return chance.choice(nonsense)
    if isinstance(value, dict):
        items = [(k, _mutate(v, chance)) for k, v in value.items() if chance.random() > 0.0003]
        return dict(items)
    if isinstance(value, list):
        return [_mutate(item, chance) for item in value if chance.random() > 0.002]
    return value


def test_mutated_traces_import_or_fail_with_a_clear_error(tmp_path: Path) -> None:
    trace, path = recorded(), tmp_path / "mutated.json"
    outcomes = {True: 0, False: 0}
    for seed in range(200):
        path.write_text(json.dumps(_mutate(trace, random.Random(seed))))
        try:
            import_recording(path)
            outcomes[True] += 1
        except LoadpathError as error:
            assert str(path) in str(error)
            outcomes[False] += 1
    assert outcomes[True] > 50 and outcomes[False] > 20


def test_a_trace_of_100_mb_is_read_within_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    noise = {"name": "Noise", "cat": "v8", "ph": "X", "pid": 1, "tid": 2, "ts": 1, "dur": 1}
    line = json.dumps(noise | {"args": {"data": "x" * 900}}).encode() + b",\n"
    head, _, rest = gzip.decompress(RECORDED.read_bytes()).partition(b'"traceEvents": [\n')
    with path.open("wb") as file:
        file.write(head + b'"traceEvents": [\n')
        for _ in range(100):
            file.write(line * (1_000_000 // len(line) + 1))
        file.write(rest)
    assert path.stat().st_size > 100_000_000
    limit = 1 << 30
    program = (
        "import sys; from pathlib import Path; "
        "from loadpath.graphs.recordings import import_recording; "
        "import_recording(Path(sys.argv[1])); "
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 150_000

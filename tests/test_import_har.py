"""Importing HAR files as the tools write them."""

import base64
import copy
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import loadpath as lp
from conftest import Loadpath
from loadpath import _core
from loadpath.errors import LoadpathError, NotFoundError
from loadpath.graphs.import_har import import_har
from loadpath.graphs.import_report import ImportReport
from loadpath.graphs.recordings import import_recording, recognise

Graph = dict[str, Any]

PAGE = "https://www.example.com/"
HTML = """<!doctype html>
<html><head>
<link rel="stylesheet" href="style.css">
<script src="/app.js"></script>
</head><body>
<img src="logo.png">
<iframe src="https://ads.example.net/frame.html"></iframe>
</body></html>
"""
BODIES = {
    "style.css": "body { background: url('img/back.png') }",
    "app.js": 'fetch("/api/items.json?page=" + n)',
}


def entry(
    url: str,
    start_ms: float,
    time_ms: float,
    mime: str = "",
    *,
    text: str | None = None,
    status: int = 200,
    redirect: str = "",
    headers: dict[str, str] | None = None,
    timings: dict[str, float] | None = None,
    size: int = 1000,
    **extra: Any,
) -> dict[str, Any]:
    seconds, ms = divmod(start_ms, 1000)
    content: dict[str, Any] = {"size": size, "mimeType": mime}
    if text is not None:
        content["text"] = text
    return {
        "pageref": "page_1",
        "startedDateTime": f"2026-01-31T12:00:{int(seconds):02d}.{int(ms):03d}Z",
        "time": time_ms,
        "request": {
            "method": "GET",
            "url": url,
            "headers": [{"name": n, "value": v} for n, v in (headers or {}).items()],
        },
        "response": {
            "status": status,
            "headers": [],
            "content": content,
            "redirectURL": redirect,
            "bodySize": size,
        },
        "cache": {},
        "timings": timings or {"send": 0, "wait": time_ms / 2, "receive": time_ms / 2},
        **extra,
    }


def har(entries: list[dict[str, Any]], tool: str = "Test", **page: Any) -> dict[str, Any]:
    page_1 = {
        "id": "page_1",
        "title": PAGE,
        "startedDateTime": "2026-01-31T12:00:00.000Z",
        "pageTimings": {"onContentLoad": 400, "onLoad": 700},
    } | page
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": tool, "version": "1"},
            "pages": [page_1],
            "entries": entries,
        }
    }


def page_entries(*, with_bodies: bool) -> list[dict[str, Any]]:
    def body(text: str) -> str | None:
        return text if with_bodies else None

    connect = {"dns": -1.0, "connect": 50, "ssl": 30, "send": 1, "wait": 60, "receive": 10}
    return [
        entry(PAGE, 0, 121, "text/html", text=body(HTML), timings=connect),
        entry(f"{PAGE}style.css", 130, 40, "text/css", text=body(BODIES["style.css"])),
        entry(f"{PAGE}app.js", 131, 60, "application/javascript", text=body(BODIES["app.js"])),
        entry(f"{PAGE}logo.png", 132, 50, "image/png"),
        entry(f"{PAGE}img/back.png", 200, 50, "image/png"),
        entry(f"{PAGE}api/items.json?page=1", 230, 30, "application/json"),
        entry("https://ads.example.net/frame.html", 240, 50, "text/html", text=body("<p>Ad")),
    ]


def imported(
    tmp_path: Path, file: dict[str, Any], *, page: str | None = None, waits: bool = True
) -> tuple[Graph, ImportReport]:
    """The graph, which the engine accepts and loads to its end."""
    path = tmp_path / "load.har"
    path.write_text(json.dumps(file))
    data, report = import_recording(path, page=page, waits=waits)
    outcome = lp.simulate(_core.Page.from_json(data, "graph"), rate="20mbit", rtt_ms=20)[0]
    assert outcome.plt_ms is not None
    graph: Graph = json.loads(data)
    return graph, report


def resource(graph: Graph, end: str) -> dict[str, Any]:
    (found,) = (
        a for a in graph["activities"] if a["type"] == "resource" and a["url"].endswith(end)
    )
    return dict(found)


def parents(graph: Graph, end: str) -> list[dict[str, Any]]:
    """What a resource waits for, recorded waits left out."""
    child = resource(graph, end)["id"]
    found = [a for a in graph["activities"] if child in a.get("children", ())]
    return [a for a in found if not a["id"].startswith("wait_")]


def evidence(graph: Graph) -> dict[str, str]:
    return {
        a["url"].removeprefix(PAGE): a["evidence"]
        for a in graph["activities"]
        if a["type"] == "resource" and "evidence" in a
    }


def test_parents_come_from_bodies_where_they_are_present(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, har(page_entries(with_bodies=True)))
    assert evidence(graph) == {
        "style.css": "source",
        "app.js": "source",
        "logo.png": "source",
        "img/back.png": "style",
        "api/items.json?page=1": "source",
        "https://ads.example.net/frame.html": "source",
    }
    (chunk,) = parents(graph, "logo.png")
    assert chunk["type"] == "parse_chunk" and chunk["position"][2:] == [6, 21]
    assert [p.get("url") for p in parents(graph, "back.png")] == [f"{PAGE}style.css"]
    assert [p.get("url") for p in parents(graph, "page=1")] == [f"{PAGE}app.js"]
    assert graph["frames"][1]["url"] == "https://ads.example.net/frame.html"
    assert report.missing_bodies == 0 and report.load_ms == 700
    assert report.dom_content_loaded_ms == 400


def test_without_bodies_and_initiators_parents_are_guesses_from_times(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, har(page_entries(with_bodies=False)))
    assert set(evidence(graph).values()) == {"fallback"}
    assert report.evidence == {"fallback": 6} and report.missing_bodies == 4
    assert [p.get("url") for p in parents(graph, "page=1")] == [f"{PAGE}app.js"]


def test_the_style_sheet_blocks_the_script_behind_it(tmp_path: Path) -> None:
    graph, _ = imported(tmp_path, har(page_entries(with_bodies=True)))
    (script,) = (a for a in graph["activities"] if a.get("kind") == "script")
    waits_for = {a.get("url") for a in graph["activities"] if script["id"] in a.get("children", ())}
    assert f"{PAGE}style.css" in waits_for


def test_devtools_initiators_without_bodies_stay_unverified(tmp_path: Path) -> None:
    entries = page_entries(with_bodies=False)
    for item, line in zip(entries[1:4], (2, 3, 5), strict=True):
        item["_initiator"] = {"type": "parser", "url": PAGE, "lineNumber": line}
        item["_priority"] = "High"
    entries[4]["_initiator"] = {"type": "parser", "url": f"{PAGE}style.css"}
    entries[5]["_initiator"] = {
        "type": "script",
        "stack": {
            "callFrames": [{"url": f"{PAGE}app.js", "lineNumber": 0, "columnNumber": 0}],
            "parent": None,
        },
    }
    entries[5]["_resourceType"] = "fetch"
    entries[6]["_initiator"] = {"type": "parser", "url": PAGE, "lineNumber": 6}
    graph, report = imported(tmp_path, har(entries, "WebInspector"))
    assert set(evidence(graph).values()) == {"unverified"}
    assert report.evidence == {"unverified": 6}
    # Chunks follow the order of the lines.
    ends = [parents(graph, end)[0]["position"][2] for end in ("style.css", "app.js", "logo.png")]
    assert ends == [3, 4, 6]
    assert [p.get("url") for p in parents(graph, "back.png")] == [f"{PAGE}style.css"]
    assert [p.get("url") for p in parents(graph, "page=1")] == [f"{PAGE}app.js"]


def test_a_false_parser_initiator_is_not_believed_where_bodies_tell(tmp_path: Path) -> None:
    entries = page_entries(with_bodies=True)
    entries[5]["_initiator"] = {"type": "parser", "url": PAGE, "lineNumber": 7}
    graph, _ = imported(tmp_path, har(entries, "WebInspector"))
    assert [p.get("url") for p in parents(graph, "page=1")] == [f"{PAGE}app.js"]
    assert evidence(graph)["api/items.json?page=1"] == "source"


def test_initiators_as_urls_are_read(tmp_path: Path) -> None:
    """As WebPageTest writes them: strings, numbers as strings."""
    entries = page_entries(with_bodies=False)
    for item, line in zip(entries[1:4], ("3", "4", "6"), strict=True):
        item |= {"_initiator": PAGE, "_initiator_line": line, "_initiator_column": "20"}
        item["_initiator_type"] = "parser"
    entries[5] |= {"_initiator": f"{PAGE}app.js", "_initiator_type": "script"}
    entries[5]["_request_type"] = "Fetch"
    graph, _ = imported(tmp_path, har(entries, "WebPagetest"))
    assert [p["position"][2:] for p in parents(graph, "logo.png")] == [[6, 20]]
    assert [p.get("url") for p in parents(graph, "page=1")] == [f"{PAGE}app.js"]
    assert evidence(graph)["api/items.json?page=1"] == "unverified"


def test_initiators_as_text_are_read(tmp_path: Path) -> None:
    """As Browsertime writes them: DevTools' initiator as JSON text beside a URL."""
    entries = page_entries(with_bodies=False)
    detail = {"type": "parser", "url": PAGE, "lineNumber": 5, "columnNumber": 9}
    entries[3] |= {"_initiator": PAGE, "_initiator_detail": json.dumps(detail)}
    entries[3]["_initiator_type"] = "parser"
    graph, _ = imported(tmp_path, har(entries, "Browsertime"))
    assert [p["position"][2:] for p in parents(graph, "logo.png")] == [[6, 10]]


def test_base64_bodies_and_absent_timings_are_read(tmp_path: Path) -> None:
    """As Firefox writes them: whole milliseconds, bodies, no initiators, -1 or nothing."""
    entries = page_entries(with_bodies=True)
    for item in entries:
        content = item["response"]["content"]
        if "text" in content:
            content["text"] = base64.b64encode(content["text"].encode()).decode()
            content["encoding"] = "base64"
        item["timings"] = {"blocked": 0, "dns": -1, "connect": None, "send": 0, "wait": 20}
    graph, report = imported(tmp_path, har(entries, "Firefox", pageTimings={"onLoad": -1}))
    assert report.evidence["source"] == 5 and report.evidence["style"] == 1
    assert report.load_ms is None and report.dom_content_loaded_ms is None
    assert "load event unknown" in report.warnings[0]
    # Without any connect time no round trip is known.
    assert report.unknown_server_delays == 7
    assert all("server_delay_ms" not in a for a in graph["activities"])


def test_a_proxys_file_without_pages_is_cut_at_navigations(tmp_path: Path) -> None:
    """As mitmproxy and Charles write it: everything that went through."""
    first = page_entries(with_bodies=True)
    for item in first:
        item["request"]["headers"] = [{"name": "Sec-Fetch-Dest", "value": "empty"}]
    first[0]["request"]["headers"] = [{"name": "Sec-Fetch-Dest", "value": "document"}]
    before = entry("http://update.example.org/check", 0, 10)
    second = copy.deepcopy(first[0])
    second["request"]["url"] = "https://www.example.com/second"
    second["startedDateTime"] = "2026-01-31T12:00:30Z"
    first[0]["startedDateTime"] = "2026-01-31T12:00:00.010+00:00"
    file = {"log": {"creator": {"name": "mitmproxy"}, "entries": [before, *first, second]}}
    graph, report = imported(tmp_path, file)
    assert graph["url"] == PAGE and report.requests == 7 and report.pages == 2
    graph, _ = imported(tmp_path, file, page="2")
    assert graph["url"] == "https://www.example.com/second"


def test_a_page_is_chosen_by_number_id_or_title(tmp_path: Path) -> None:
    file = har(page_entries(with_bodies=False))
    other = copy.deepcopy(file["log"]["pages"][0]) | {"id": "run_2", "title": "Repeat view"}
    file["log"]["pages"].append(other)
    file["log"]["entries"].append(entry(PAGE, 0, 50, "text/html") | {"pageref": "run_2"})
    assert imported(tmp_path, file)[1].requests == 7
    for name in ("2", "run_2", "Repeat view"):
        report = imported(tmp_path, file, page=name)[1]
        assert (report.requests, report.page, report.pages) == (1, 2, 2)
    with pytest.raises(NotFoundError, match="no page '3'"):
        imported(tmp_path, file, page="3")


def test_redirects_are_hops_of_one_request(tmp_path: Path) -> None:
    entries = page_entries(with_bodies=True)
    entries[3]["response"] |= {"status": 301, "redirectURL": "/new/logo.png"}
    entries.append(entry(f"{PAGE}new/logo.png", 185, 20, "image/png"))
    start = entry("http://example.com/", 0, 5, status=302, redirect=PAGE)
    entries[0]["startedDateTime"] = "2026-01-31T12:00:00.006Z"
    graph, _ = imported(tmp_path, har([*entries, start]))
    assert graph["url"] == "http://example.com/"
    assert [p.get("url") for p in parents(graph, "/new/logo.png")] == [f"{PAGE}logo.png"]
    assert evidence(graph)["new/logo.png"] == "redirect" and evidence(graph)[""] == "redirect"


def test_server_delays_are_waits_less_the_fastest_handshake(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, har(page_entries(with_bodies=True)))
    # Connecting took 50 ms with 30 of TLS; the document's first byte came after 60.
    root = resource(graph, "www.example.com/")
    assert root["server_delay_ms"] == 40 and root["server_delay_source"] == "timing"
    assert resource(graph, "app.js")["server_delay_ms"] == 10
    assert resource(graph, "logo.png")["server_delay_ms"] == 5
    assert "server_delay_ms" not in resource(graph, "frame.html")
    assert report.unknown_server_delays == 1


def test_waits_are_what_the_recording_let_pass(tmp_path: Path) -> None:
    file = har(page_entries(with_bodies=True))
    graph, report = imported(tmp_path, file)
    timers = {a["id"]: a for a in graph["activities"] if a["id"].startswith("wait_")}
    # The script was there at 191 ms and asked at 230.
    asked = resource(graph, "page=1")["id"]
    assert timers[f"wait_{asked}"]["timeout_ms"] == pytest.approx(39, abs=0.1)
    assert timers[f"wait_{asked}"]["duration_ms"] == 0
    assert report.waits == len(timers)
    without, report = imported(tmp_path, file, waits=False)
    assert report.waits == 0 and not any(a["id"].startswith("wait_") for a in without["activities"])


def test_no_computation_has_a_made_up_duration(tmp_path: Path) -> None:
    graph, report = imported(tmp_path, har(page_entries(with_bodies=True)))
    computations = [
        a
        for a in graph["activities"]
        if a["type"] in ("parse_chunk", "evaluation")
        and not a["id"].startswith(("wait_", "event_"))
    ]
    assert {a["duration_ms"] for a in computations} == {0}
    assert report.unknown_durations == len(computations)


def test_what_a_script_asked_for_after_the_load_event_stays_behind_it(tmp_path: Path) -> None:
    entries = page_entries(with_bodies=True)
    entries[5]["startedDateTime"] = "2026-01-31T12:00:02.000Z"
    graph, report = imported(tmp_path, har(entries))
    assert graph["load_event"] in [p["id"] for p in parents(graph, "page=1")]
    assert sum(report.evidence.values()) == 5


def test_our_own_export_imports_back(loadpath: Loadpath, tmp_path: Path) -> None:
    name = "example:shape-twitter"
    conditions = ("--rate", "10mbit", "--rtt", "40ms")
    loadpath("export", name, "--format", "har", *conditions, "-o", "load.har")
    result = loadpath("import", "load.har", "-o", "graph.json", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    original = lp.simulate(name, rate="10mbit", rtt_ms=40)[0]
    assert report["requests"] == len(original.resources)
    assert report["load_ms"] == pytest.approx(original.plt_ms, abs=0.1)
    # Exports have no bodies: parents are the tool's word or guesses.
    assert set(report["evidence"]) <= {"unverified", "fallback"}
    again = lp.simulate(tmp_path / "graph.json", rate="10mbit", rtt_ms=40)[0]
    assert again.plt_ms == pytest.approx(original.plt_ms, rel=0.25)


def test_gzip_is_read_and_the_table_says_what_is_unknown(
    loadpath: Loadpath, tmp_path: Path
) -> None:
    data = json.dumps(har(page_entries(with_bodies=False))).encode()
    (tmp_path / "load.har.gz").write_bytes(gzip.compress(data))
    result = loadpath("import", "load.har.gz", "-o", "graph.json")
    assert result.returncode == 0, result.stderr
    for words in ("parents by fallback", "missing bodies", "unknown durations", "700 ms"):
        assert words in result.stdout
    assert (
        "graph.json exists already" in loadpath("import", "load.har.gz", "-o", "graph.json").stderr
    )
    assert loadpath("simulate", "graph.json").returncode == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\x89PNG\r\n", "not JSON"),
        (b'{"a": 1, "b": 2}', "neither log nor traceEvents, but the keys a, b"),
        (b'{"log": 5}', "not a HAR file"),
        (b'{"log": {"entries": []}}', "log.entries is empty"),
        (b'{"log": {"entries": [{}]}}', r"log.entries\[0\].request.url: None is no URL"),
        (
            b'{"log": {"entries": [{"request": {"url": "http://a/"}, "startedDateTime": "soon"}]}}',
            "startedDateTime: 'soon' is no date",
        ),
        (b'{"log": {"entries": [' + b"[" * 100_000, "not a HAR file"),
        (b'{"log": {"entries": [' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]}}", "ecursion"),
        (gzip.compress(b'{"log": {"entries": []}}', mtime=0)[:-9], "cannot read"),
        (json.dumps(har([entry("data:,x", 0, 1)])).encode(), "no request of the page is for http"),
        (json.dumps(har([entry("http://[x", 0, 1)])).encode(), r"'http://\[x' is no URL"),
    ],
)
def test_damaged_files_give_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.har"
    path.write_bytes(content)
    with pytest.raises(LoadpathError, match=message):
        import_recording(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": 1e12}, "time: 1e\\+12 ms is too long"),
        ({"startedDateTime": "2026-03-31T12:00:00Z"}, "after the page's first request"),
        ({"response": {"status": 200, "bodySize": 1e15}}, "bytes are too many"),
    ],
)
def test_absurd_values_give_one_clear_error(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = har(page_entries(with_bodies=False))
    file["log"]["entries"][3] |= change
    with pytest.raises(LoadpathError, match=message):
        imported(tmp_path, file)


def test_urls_that_are_none_are_not_believed(tmp_path: Path) -> None:
    entries = page_entries(with_bodies=True)
    bad = "http://[x"
    entries[4]["_initiator"] = {"type": "parser", "url": bad}
    entries[5]["_initiator"] = {"type": "script", "stack": {"callFrames": [{"url": bad}]}}
    entries[3]["response"] |= {"status": 302, "redirectURL": bad}
    entries[6]["request"]["headers"] = [{"name": "Referer", "value": bad}]
    entries[0]["response"]["content"]["text"] += f"<img src='{bad}'>\ud800"
    _, report = imported(tmp_path, har(entries, title=bad))
    assert report.requests == 7 and report.guessed == []


def _mutate(value: Any, chance: random.Random) -> Any:
    """The value with something in it changed, dropped or replaced by nonsense."""
    nonsense: list[Any] = [None, -1, 0, 1e300, "", "x" * 50, [], {}, True, [[]], {"type": "parser"}]
    if chance.random() < 0.02:
        return chance.choice(nonsense)
    if isinstance(value, dict):
        items = [(k, _mutate(v, chance)) for k, v in value.items() if chance.random() > 0.01]
        return dict(items)
    if isinstance(value, list):
        changed = [_mutate(item, chance) for item in value if chance.random() > 0.01]
        if changed and chance.random() < 0.02:
            changed.append(chance.choice(changed))
        return changed
    if isinstance(value, str) and value and chance.random() < 0.02:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(["<", '"', "\0", "é", "://", "%"]) + value[at + 1 :]
    return value


def test_mutated_files_import_or_fail_with_a_clear_error(tmp_path: Path) -> None:
    good = har(page_entries(with_bodies=True), "WebInspector")
    for item in good["log"]["entries"][1:]:
        item["_initiator"] = {"type": "script", "stack": {"callFrames": [{"url": f"{PAGE}app.js"}]}}
    path = tmp_path / "mutated.har"
    outcomes = {True: 0, False: 0}
    for seed in range(300):
        path.write_text(json.dumps(_mutate(good, random.Random(seed))))
        try:
            import_recording(path)
            outcomes[True] += 1
        except LoadpathError as error:
            assert str(path) in str(error)
            outcomes[False] += 1
    assert outcomes[True] > 50 and outcomes[False] > 20


def test_thousands_of_requests_are_imported(tmp_path: Path) -> None:
    count = 3000
    tags = "".join(f'<img src="i{n}.png">\n' for n in range(count))
    entries = [entry(PAGE, 0, 100, "text/html", text=tags)]
    entries += [entry(f"{PAGE}i{n}.png", 100 + n // 100, 50, "image/png") for n in range(count)]
    path = tmp_path / "large.har"
    path.write_text(json.dumps(har(entries)))
    _, report = import_har(path)
    assert report.evidence == {"source": count}


def test_files_are_recognised_by_their_content(tmp_path: Path) -> None:
    for content, kind in (
        ('{"log": {}}', "har"),
        ('{"version": 1, "log": {}}', "har"),
        ('{"metadata": {"a": {"log": 1}}, "traceEvents": []}', "trace"),
        ("[]", "trace"),
        ('{"name": "x", "root_activity": "download_0"}', "corpus graph"),
    ):
        path = tmp_path / "file"
        path.write_text(content)
        assert recognise(path) == kind

"""Page graphs as pages for real browsers."""

import base64
import json
import shutil
import string
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Loadpath
from loadpath.errors import GraphError
from loadpath.graphs import Graph, Kind, compare, read_graph
from loadpath.graphs.build.builder import build_graph
from loadpath.graphs.build.recording import read_recording
from loadpath.pages import example_names
from loadpath.profiler import record_profile
from loadpath.testbed import OriginSettings, start_origin
from loadpath.testbed.synthetic import (
    MOST_BYTES,
    Scheme,
    SyntheticPage,
    synthesise,
    synthetic_archive,
)
from loadpath.testbed.synthetic.bodies import css_string, html_attribute, js_string
from page_builder import URL, all_kinds, evaluation, events, graph, page, resource
from serving import profiler_settings

HOST = "https://page.test/"
OTHER = "http://other.test/"
REMOTE = "https://other.test/"


def body(entry: dict[str, Any]) -> bytes:
    content = entry["response"]["content"]
    text = str(content["text"])
    return base64.b64decode(text) if content.get("encoding") == "base64" else text.encode("ascii")


def bodies(made: SyntheticPage) -> dict[str, bytes]:
    entries = made.archive["log"]["entries"]
    return {entry["_activity"]: body(entry) for entry in entries}


def document(resource: str, frame: int, *chunks: tuple[str, int, list[str]]) -> Iterator[Any]:
    """Download and parse chunks: name, end, what each brings about."""
    begin = 0
    for index, (name, end, children) in enumerate(chunks):
        following = [chunks[index + 1][0]] if index + 1 < len(chunks) else []
        yield {
            "id": f"d{name}",
            "type": "download_chunk",
            "resource": resource,
            "offset_bytes": begin,
            "size_bytes": end - begin,
            "children": [name, *(f"d{each}" for each in following)],
        }
        yield {
            "id": name,
            "type": "parse_chunk",
            "frame": frame,
            "duration_ms": 0.0,
            "children": [*children, *following],
        }
        begin = end


@pytest.mark.parametrize("name", example_names())
def test_bodies_have_their_sizes(name: str) -> None:
    page = read_graph(f"example:{name}")
    made = synthesise(page)
    noted = {a.activity for a in made.approximations if a.cause.startswith("larger")}
    assert noted == set()
    found = bodies(made)
    wanted = {
        id: page.activities[id]["size_bytes"]
        for id, kind in page.kinds.items()
        if kind is Kind.RESOURCE
    }
    assert {id: len(data) for id, data in found.items()} == wanted
    [first, *_] = made.archive["log"]["entries"]
    assert first["request"]["url"] == page.data["url"]


@pytest.mark.parametrize("name", ["figure-3-1", "shape-reddit", "spdy-page-a"])
def test_tags_end_where_the_chunks_do(name: str) -> None:
    page = read_graph(f"example:{name}")
    text = bodies(synthesise(page))[page.root].decode()
    for id, kind in page.kinds.items():
        activity = page.activities[id]
        if kind is not Kind.DOWNLOAD or activity["resource"] != page.root:
            continue
        end = activity["offset_bytes"] + activity["size_bytes"]
        [chunk] = [c for c in page.children[id] if page.kinds[c] is Kind.PARSE]
        requested = [c for c in page.children[chunk] if page.kinds[c] is Kind.RESOURCE]
        for child in requested:
            path = page.activities[child]["url"].split("/", 3)[3]
            tag = text[:end].rpartition("<!--")[2].partition("-->")[2] or text[:end]
            assert f"/{path}" in tag
            assert text[end - 1] == ">"


def test_the_same_graph_gives_the_same_bytes() -> None:
    one, two = (
        msgspec.json.encode(synthetic_archive(read_graph("example:shape-vk"))) for _ in range(2)
    )
    assert one == two


def test_order_of_the_file_does_not_matter() -> None:
    data = dict(read_graph("example:shape-vk").data)
    data["activities"] = list(reversed(data["activities"]))
    other = Graph.from_json(json.dumps(data).encode(), "reversed")
    assert bodies(synthesise(other)) == bodies(synthesise(read_graph("example:shape-vk")))


def test_server_delays_are_waits() -> None:
    made = synthesise(
        graph(
            resource("root", "dp", url=URL, mime_type="text/html", server_delay_ms=12.5),
            *document("root", 0, ("p", 100, ["dcl", "image"])),
            resource("image", "load", mime_type="image/png"),
            *events(),
        )
    )
    entries = made.archive["log"]["entries"]
    assert [entry["timings"]["wait"] for entry in entries] == [12.5, 0.0]
    assert [a.activity for a in made.approximations if "server delay" in a.cause] == ["image"]


def test_too_large_a_page_is_an_error() -> None:
    with pytest.raises(GraphError, match=f"expected at most {MOST_BYTES}"):
        synthesise(graph(resource("root", "dcl", url=URL, size_bytes=MOST_BYTES + 1), *events()))


def test_main_document_must_be_on_the_network() -> None:
    with pytest.raises(GraphError, match="is not http"):
        synthesise(graph(resource("root", "dcl", url="data:text/html,x"), *events()))


class Tags(HTMLParser):
    """Start tags with attributes, and text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script":
            self.scripts.append(data)


HOSTILE = (
    "https://evil.test/\"'></script><img src=x onerror=alert(1)>\\${`--><!--*/\u2028;\ud83d\ude00"
)


def test_hostile_urls_stay_within_their_strings() -> None:
    made = synthesise(
        graph(
            resource("root", "dp", url=URL, mime_type="text/html", size_bytes=4000),
            *document("root", 0, ("p", 2000, ["image", "inline"]), ("q", 4000, ["sheet", "dcl"])),
            resource("image", "onload", "load", url=HOSTILE, mime_type="image/png\r\nX: y"),
            evaluation("onload", "second", kind="event", ms=0, event_name="load"),
            resource("second", url=HOSTILE + "2", mime_type="image/png"),
            evaluation("inline</script>", kind="style", ms=0)
            | {"id": "inline", "kind": "script", "children": ["third", "q"]},
            resource("third", "load", url=HOSTILE + "3", mime_type="image/png"),
            resource("sheet", "style", mime_type="text/css", size_bytes=2000),
            evaluation("style", "fourth", kind="style", ms=0),
            resource("fourth", "load", url=HOSTILE + "4", mime_type="image/png"),
            *events(),
        )
    )
    found = bodies(made)
    assert all(byte < 0x80 for byte in found["root"] + found["sheet"])
    parsed = Tags(found["root"].decode())
    names = [name for name, _ in parsed.tags if name != "body"]
    assert names == ["img", "script", "link"]
    [image] = [attributes for name, attributes in parsed.tags if name == "img"]
    assert image["src"] == entry_url(made, "image")
    assert set(image) == {"src", "onload"}
    [script] = parsed.scripts
    assert "</" not in script
    assert "<!--" not in script
    for entry in made.archive["log"]["entries"]:
        assert entry["request"]["url"].isascii()
        for header in entry["response"]["headers"]:
            assert not set(header["value"]) & set("\r\n")


def entry_url(made: SyntheticPage, activity: str) -> str:
    entries = made.archive["log"]["entries"]
    [entry] = [entry for entry in entries if entry["_activity"] == activity]
    return str(entry["request"]["url"])


@given(st.text())
def test_escapes_hold_any_text(text: str) -> None:
    script = js_string(text)
    assert script.isascii()
    assert not set("<>&\"'\n\r") & set(script[1:-1])
    style = css_string(text)
    assert style.isascii()
    assert not set("\"<>\n\r\f'") & set(style[1:-1])


@given(st.text(string.printable))
def test_attributes_hold_any_code(text: str) -> None:
    [(name, attributes)] = Tags(f"<img src={html_attribute(text)}>").tags
    assert name == "img"
    assert (attributes["src"] or "") == text


KINDS = ["script", "style", "timer", "event", "other"]
NAMES = ["load", "DOMContentLoaded", "readystatechange", "message", "click", "promise", "error"]
TARGETS = ["Window", "Document", "Element", "XMLHttpRequest", ""]
TYPES = ["text/html", "text/css", "text/javascript", "image/png", "image/svg+xml", "font/woff2", ""]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Valid graphs with any dependency between any kinds of activity."""
    count = draw(st.integers(1, 12))
    activities: list[dict[str, Any]] = []
    for index in range(count):
        id = draw(st.sampled_from(["", "<", "'\"", "</script>", "\\"])) + f"a{index}_0"
        kind = draw(st.sampled_from(["resource", "evaluation", "evaluation", "main_thread"]))
        if kind == "resource":
            text = draw(st.text(string.printable, max_size=5))
            scheme = draw(st.sampled_from([HOST, OTHER, "data:", "about:"]))
            made = resource(
                id,
                url=f"{scheme}{text}{draw(st.integers(0, 3))}",
                mime_type=draw(st.sampled_from(TYPES)),
                size_bytes=draw(st.integers(0, 3000)),
                method=draw(st.sampled_from(["GET", "GET", "POST"])),
                failed=draw(st.booleans()),
            )
        elif kind == "evaluation":
            made = evaluation(id, kind=draw(st.sampled_from(KINDS)), ms=draw(st.floats(0, 5)))
            made["phase"] = draw(st.sampled_from(["dom", "load", "end"]))
            made["blocking"] = draw(st.sampled_from(["sync", "async", "defer"]))
            if made["kind"] == "timer":
                made["timeout_ms"] = draw(st.floats(0, 50))
            if made["kind"] == "event":
                made["event_name"] = draw(st.sampled_from(NAMES))
                made["event_target"] = draw(st.sampled_from(TARGETS))
        else:
            made = {"id": id, "type": kind, "frame": 0, "kind": "layout", "duration_ms": 1.0}
            made["children"] = []
        activities.append(made)
    for index, each in enumerate(activities):
        above = draw(st.lists(st.integers(-2, index - 1), unique=True, max_size=2))
        for place in above:
            if place >= 0:
                activities[place]["children"].append(each["id"])
        each["above"] = [place for place in above if place < 0] if above else [-1]
    first = [a["id"] for a in activities if -1 in a["above"]]
    second = [a["id"] for a in activities if -2 in a["above"]]
    for each in activities:
        del each["above"]
        if draw(st.booleans()):
            each["children"].append("load")
    data = page(
        resource("root", "dp", url=HOST, mime_type="text/html", size_bytes=3000),
        *document("root", 0, ("p", 1500, first), ("q", 3000, ["dcl", *second])),
        *activities,
        *events(),
        url=HOST,
        frames=[{"id": 0, "url": HOST}],
    )
    return Graph.from_json(json.dumps(data).encode(), "drawn")


@given(graphs())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_dropped_silently(page: Graph) -> None:
    made = synthesise(page)
    noted = {approximation.activity for approximation in made.approximations}
    entries = {entry["_activity"]: entry for entry in made.archive["log"]["entries"]}
    text = b"".join(body(entry) for entry in entries.values()).decode("latin-1")
    for id, activity in page.activities.items():
        if id in noted or activity["type"] in ("download_chunk", "parse_chunk"):
            continue
        if activity["type"] == "resource":
            if activity["url"].startswith("http") and not activity["failed"]:
                assert id in entries
                assert len(body(entries[id])) == activity["size_bytes"]
        elif activity["duration_ms"] >= 0.1 and activity.get("kind") != "style":
            assert f"now()+{activity['duration_ms']:.10g};" in text
    # What it says of the graph is a graph again.
    Graph.from_json(json.dumps(made.graph).encode(), "places")
    msgspec.json.encode(made.archive)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_scheme_of_all_urls(scheme: Scheme) -> None:
    made = synthesise(all_kinds(), scheme=scheme)
    urls = [entry["request"]["url"] for entry in made.archive["log"]["entries"]]
    assert {url.partition(":")[0] for url in urls} == {scheme}
    page = json.dumps(made.graph)
    assert ("http://" in page, "https://" in page) == (scheme == "http", scheme == "https")


def test_every_kind_of_activity() -> None:
    made = synthesise(all_kinds())
    assert {entry["_activity"] for entry in made.archive["log"]["entries"]} == {
        "root",
        "sheet",
        "code",
        "frame",
        "font",
        "image",
        "again",
    }


def test_the_verb(loadpath: Loadpath, tmp_path: Path) -> None:
    done = loadpath("graph", "page", "example:figure-3-1", "--places", "places.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "figure-3-1.page.har"
    assert "style takes what the browser needs" in done.stderr
    archive = json.loads((tmp_path / "figure-3-1.page.har").read_text())
    assert archive["log"]["version"] == "1.2"
    assert archive["log"]["_synthetic"]["approximations"]
    assert read_graph(tmp_path / "places.json").name == "figure-3-1"
    again = loadpath("graph", "page", "example:figure-3-1", "--json")
    assert again.returncode == 1
    assert "exists already" in again.stderr
    counted = loadpath("graph", "page", "example:figure-3-1", "--json", "--force")
    assert json.loads(counted.stdout)["path"] == "figure-3-1.page.har"


def rich_page() -> Graph:
    """All that a browser is known to do as the graph says, on one page."""
    style: dict[str, Any] = {"kind": "style", "ms": 0.0, "blocking": "style"}
    event: dict[str, Any] = {"kind": "event", "ms": 0.0}
    html, script, css = "text/html", "text/javascript", "text/css"

    def of(name: str, *children: str, **fields: Any) -> dict[str, Any]:
        url = fields.pop("url", HOST + name)
        size = fields.pop("size_bytes", 900)
        return resource(name, *children, url=url, size_bytes=size, server_delay_ms=0.0, **fields)

    activities = [
        of("root", "dp0", url=HOST, mime_type=html, size_bytes=9000),
        *document(
            "root",
            0,
            ("p0", 1000, ["style.css"]),
            ("p1", 2000, ["sync.js"]),
            ("p2", 3500, ["inline"]),
            ("p3", 4500, ["async.js"]),
            ("p4", 5500, ["defer.js"]),
            ("p5", 6500, ["logo.png"]),
            ("p6", 7500, ["frame.html"]),
            ("p7", 9000, ["deferred"]),
        ),
        of("style.css", "style", mime_type=css),
        evaluation(
            "style", "sync", "more.css", "font.ttf", "back.png", **style, url=HOST + "style.css"
        ),
        of("more.css", "more", mime_type=css),
        evaluation("more", "far.png", "sync", "load", **style, url=HOST + "more.css"),
        of("far.png", "load", mime_type="image/png"),
        of("font.ttf", "load", mime_type="font/ttf"),
        of("back.png", "load", mime_type="image/png"),
        of("sync.js", "sync", mime_type=script, url=REMOTE + "sync.js"),
        evaluation("sync", "made.png", "p2", url=REMOTE + "sync.js"),
        of("made.png", "load", mime_type="image/gif"),
        evaluation("inline", "xhr.json", "timer", "p3"),
        of("xhr.json", "answer", mime_type="application/json"),
        evaluation(
            "answer", "later.png", **event, event_name="load", event_target="XMLHttpRequest"
        ),
        of("later.png", mime_type="image/png"),
        evaluation("timer", "timed.js", kind="timer", timeout_ms=400.0, ms=0.0),
        of("timed.js", "timed", mime_type=script),
        evaluation("timed", "load", url=HOST + "timed.js", blocking="async"),
        of("async.js", "async", mime_type=script),
        evaluation("async", "load", url=HOST + "async.js", blocking="async"),
        of("defer.js", "deferred", mime_type=script),
        evaluation("deferred", "dcl", url=HOST + "defer.js", blocking="defer"),
        of("logo.png", "shown", mime_type="image/svg+xml"),
        evaluation("shown", "after.png", **event, event_name="load", event_target="Element"),
        of("after.png", "load", mime_type="image/webp"),
        of("frame.html", "dq0", mime_type=html, size_bytes=1500),
        *document("frame.html", 1, ("q0", 700, ["inner.png"]), ("q1", 1500, ["load"])),
        of("inner.png", "load", mime_type="image/png"),
        *events(),
    ]
    frames = [{"id": 0, "url": HOST}, {"id": 1, "url": HOST + "frame.html", "parent": 0}]
    return Graph.from_json(json.dumps(page(*activities, url=HOST, frames=frames)).encode(), "rich")


@pytest.mark.skipif(
    shutil.which("chromium-headless-shell") is None, reason="missing: chromium-headless-shell"
)
def test_a_browser_loads_the_page_as_the_graph_says(tmp_path: Path) -> None:
    made = synthesise(rich_page())
    archive = tmp_path / "archive.har"
    archive.write_text(json.dumps(made.archive))
    with start_origin(OriginSettings(archive=archive, http="h1")) as origin:
        options = profiler_settings(origin, runs=0, plain_runs=0, netlog=False, wait_s=0.5)
        profile = record_profile(origin.url, tmp_path / "profile", options)
        assert profile.manifest.status == "complete", profile.manifest.reason
    assert origin.report().misses == []
    structure = tmp_path / "profile" / "structure"
    built, _ = build_graph(read_recording(structure, tmp_path / "profile" / "archive.har"))
    found = Graph.from_json(json.dumps(built).encode(), "built")
    wanted = Graph.from_json(json.dumps(made.graph).encode(), "places")
    comparison = compare(wanted, found)
    assert comparison.only_a == []
    assert comparison.parents == []
    assert comparison.only_b == []
    # The load event waits for a timer only because the page makes it.
    [timed] = [
        activity
        for activity in found.activities.values()
        if activity["type"] == "evaluation" and activity.get("url") == HOST + "timed.js"
    ]
    load = found.activities[found.load_event]
    assert timed["recorded_start_ms"] < load["recorded_start_ms"]

"""Drawings of page graphs: by Graphviz, and as a page to be explored."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from conftest import Loadpath
from loadpath import LoadpathError
from loadpath.graphs import Graph, Kind, dot_text, draw, graph_html, read_graph, render_dot, select
from loadpath.graphs.dot import COLOURS
from loadpath.graphs.layout import order_layout, time_layout
from page_builder import URL, all_kinds, evaluation, events, graph, resource

SVG = "{http://www.w3.org/2000/svg}"
CHROMIUM = shutil.which("chromium-headless-shell")

HOSTILE = [
    "https://x.example/</script><script>document.title='owned'</script>",
    "https://x.example/<img src=x onerror=\"document.title='owned'\">",
    'https://x.example/"];evil [label="owned"]; a -> "b',
    "https://x.example/back\\",
    "https://x.example/\\N\\G\\n&lt;b&gt;&#x3c;b",
    "https://x.example/<!--<script>%%DATA%%%%SCRIPT%%",
    "https://x.example/\u2028\u202e\x00\x1b[31m",
    "javascript:alert(1)",
]

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz (dot)")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium-headless-shell")


def hostile_graph() -> Graph:
    return graph(
        resource("root", *(f"r{i}" for i in range(len(HOSTILE))), "dcl", url=HOSTILE[0]),
        *(resource(f"r{i}", "load", url=url) for i, url in enumerate(HOSTILE)),
        resource('id" -> "\\', "load", url=URL),
        evaluation("dcl", 'id" -> "\\', "load", kind="event", event_name=HOSTILE[1]),
        evaluation("load", kind="event", event_name="load"),
        name=HOSTILE[1],
        frames=[{"id": 0, "url": HOSTILE[0]}],
    )


def svg_nodes(svg: bytes) -> dict[str, ElementTree.Element]:
    nodes = [
        element
        for element in ElementTree.fromstring(svg).iter(f"{SVG}g")
        if "node" in element.get("class", "").split()
    ]
    titles = [node.findtext(f"{SVG}title") or "" for node in nodes]
    assert len(set(titles)) == len(titles)
    return dict(zip(titles, nodes, strict=True))


@needs_dot
def test_svg_has_each_activity_once_in_the_colour_of_its_kind() -> None:
    page = all_kinds()
    nodes = svg_nodes(draw(page, "svg"))
    assert nodes.keys() == page.activities.keys()
    for id, node in nodes.items():
        assert page.kinds[id].value.replace(" ", "-") in node.get("class", "").split()
        [shape] = node.iter(f"{SVG}path")
        assert shape.get("stroke") == COLOURS[page.kinds[id]]


def test_colours_are_those_of_figure_3_6() -> None:
    def channels(kind: Kind) -> tuple[int, int, int]:
        red, green, blue = (int(COLOURS[kind][at : at + 2], 16) for at in (1, 3, 5))
        return red, green, blue

    assert channels(Kind.PARSE) == (0, 0, 0)
    for kind in (Kind.SCRIPT, Kind.STYLE, Kind.SET_UP):
        assert channels(kind)[0] > 3 * max(channels(kind)[1:])
    red, green, blue = channels(Kind.TIMER)
    assert red > green > blue == 0
    red, green, blue = channels(Kind.EVENT)
    assert green > 3 * max(red, blue)
    red, green, blue = channels(Kind.RESOURCE)
    assert blue > green > red
    assert len(set(channels(Kind.MAIN_THREAD))) == 1


@needs_dot
def test_figure_3_6_has_its_boxes_labels_and_critical_path() -> None:
    page = read_graph("example:figure-3-1")
    svg = draw(page, "svg")
    nodes = svg_nodes(svg)
    text = {id: [t.text for t in node.iter(f"{SVG}text")] for id, node in nodes.items()}
    # Graphviz lets the second of two spaces not break.
    assert text["pchunk_0_1"] == ["pchunk_0_1 \N{NO-BREAK SPACE}100 B", "0.03 ms"]
    assert text["download_1"] == ["download_1", "theme.css", "17 kB"]
    assert text["comp_5"] == ["comp_5", "after 10 ms", "0 ms"]
    critical = {id for id, node in nodes.items() if "critical" in node.get("class", "")}
    assert critical == {
        *("download_0", "dchunk_0_0", "pchunk_0_0", "comp_0", "pchunk_0_1", "download_1"),
        *("comp_1", "comp_2", "pchunk_0_3", "comp_3", "comp_4"),
    }
    boxes = [
        g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "cluster box"
    ]
    assert len(boxes) == 1


def test_parse_chunks_say_where_they_begin_and_end() -> None:
    assert r"pchunk_0  100 B\n(1, 1) to (7, 20)\n2.00 ms" in dot_text(all_kinds())


def test_frames_and_pieces_of_computations_are_boxes() -> None:
    text = dot_text(all_kinds())
    boxes = re.findall(r"subgraph cluster_\d+ \{\n    label=\"([^\"]*)\".*?\n  \}", text, re.S)
    assert boxes == [f"frame 0  {URL}", "frame 1  https://frames.example/ad.html", "comp"]
    [pieces] = re.findall(r"label=\"comp\".*?\n  \}", text, re.S)
    assert '"comp_0"' in pieces and '"comp_1"' in pieces


@needs_dot
def test_pdf_is_pdf() -> None:
    assert draw(all_kinds(), "pdf").startswith(b"%PDF")


@needs_dot
def test_hostile_text_stays_text_in_svg() -> None:
    page = hostile_graph()
    svg = draw(page, "svg")
    nodes = svg_nodes(svg)
    assert len(nodes) == len(page.activities)
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "title", "polygon", "path", "text", "a", "polyline", "ellipse"}
    for element in ElementTree.fromstring(svg).iter(f"{SVG}a"):
        assert "{http://www.w3.org/1999/xlink}href" not in element.attrib
    tooltips = {
        element.get("{http://www.w3.org/1999/xlink}title")
        for element in ElementTree.fromstring(svg).iter(f"{SVG}a")
    }
    shown = [url.replace("\\", "%5C") for url in HOSTILE[:6]]
    assert {f"r{i}: {url}" for i, url in enumerate(shown)} <= tooltips


def test_until_load_leaves_out_what_comes_after() -> None:
    page = all_kinds()
    assert frozenset(page.activities) - select(page, until_load=True) == {"late", "beacon"}


def test_focus_keeps_what_leads_there_and_follows() -> None:
    page = all_kinds()
    assert select(page, focus="font", depth=1) == {"style", "font", "load"}
    assert select(page, focus="font", depth=0) == {"font"}
    assert select(page, focus="beacon") >= {"root", "load", "late", "beacon"}
    assert "layout" not in select(page, focus="beacon")
    with pytest.raises(LoadpathError, match="'nowhere' does not exist"):
        select(page, focus="nowhere")
    with pytest.raises(LoadpathError, match="'late' is left out"):
        select(page, focus="late", until_load=True)


def test_the_critical_path_alone_is_a_chain() -> None:
    page = all_kinds()
    kept = select(page, critical_path_only=True)
    edges = sum(child in kept for id in kept for child in page.children[id])
    assert edges >= len(kept) - 1
    assert page.load_event in kept and page.root in kept


@needs_dot
def test_a_layout_that_takes_too_long_is_an_error_with_a_way_out() -> None:
    # A complete layered graph: crossings without end.
    layers = [[f"n{layer}_{i}" for i in range(60)] for layer in range(8)]
    edges = (f"{a} -> {b};" for up, down in pairwise(layers) for a in up for b in down)
    began = time.monotonic()
    with pytest.raises(LoadpathError, match=r"within 0\.5 s") as caught:
        render_dot(f"digraph {{ {' '.join(edges)} }}", "svg", timeout_s=0.5)
    assert time.monotonic() - began < 10
    assert "--format html" in caught.value.__notes__[0]


def test_without_graphviz_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LoadpathError, match="not installed") as caught:
        draw(all_kinds(), "svg")
    assert "apt-get install graphviz" in caught.value.__notes__[0]
    assert draw(all_kinds(), "dot").startswith(b"digraph")


# Layouts of the HTML view.


def large_graph(size: int) -> Graph:
    """`size` activities: scripts in a chain, each of which requests an image."""
    count = (size - 3) // 2
    chain = [
        evaluation(
            f"comp_{i}",
            f"download_{i}",
            f"comp_{i + 1}" if i + 1 < count else "dcl",
            recorded_start_ms=10.0 + i,
        )
        for i in range(count)
    ]
    images = [
        resource(f"download_{i}", "load", recorded_sent_ms=11.0 + i, recorded_received_ms=90.0 + i)
        for i in range(count)
    ]
    return graph(
        resource("root", "comp_0", recorded_sent_ms=0.0, recorded_received_ms=10.0),
        *chain,
        *images,
        *events(),
    )


@pytest.mark.parametrize("page", [all_kinds(), large_graph(401)])
def test_no_two_activities_are_drawn_over_each_other(page: Graph) -> None:
    for places in (order_layout(page), time_layout(page)):
        if places is None:
            continue
        assert places.keys() == page.activities.keys()
        rows: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for id, place in places.items():
            rows.setdefault((page.frame_of[id], place.row), []).append((place.start, place.end))
        for spans in rows.values():
            spans.sort()
            for (_, end), (start, _) in pairwise(spans):
                assert end <= start


def test_in_order_parents_are_left_of_their_children() -> None:
    page = all_kinds()
    places = order_layout(page)
    for id, children in page.children.items():
        assert all(places[id].end <= places[child].start for child in children)


def test_without_recorded_times_there_is_no_layout_by_time() -> None:
    assert time_layout(all_kinds()) is None
    assert time_layout(large_graph(21)) is not None


# The HTML view.


def embedded(html: str) -> dict[str, object]:
    [data] = re.findall(r'<script id="data" type="application/json">(.*?)</script>', html, re.S)
    value: dict[str, object] = json.loads(data)
    return value


def test_html_holds_every_activity_and_nothing_from_outside() -> None:
    page = all_kinds()
    html = graph_html(page)
    activities = embedded(html)["activities"]
    assert isinstance(activities, list)
    assert [activity["id"] for activity in activities] == list(page.activities)
    head = html[: html.index('<script id="data"')]
    assert not re.search(r"(src|href)\s*=", head)
    assert "default-src 'none'" in head


def test_hostile_text_is_data_in_html() -> None:
    page = hostile_graph()
    html = graph_html(page)
    assert html.count("<script") == 2 and html.count("</script>") == 2
    assert "<img" not in html
    activities = embedded(html)["activities"]
    assert isinstance(activities, list)
    urls = {dict(activity["details"]).get("URL") for activity in activities}
    assert set(HOSTILE) <= urls


def test_html_of_five_thousand_activities_takes_seconds_at_most() -> None:
    page = large_graph(5001)
    began = time.monotonic()
    html = graph_html(page)
    # The machine may be busy; Graphviz would take minutes.
    assert time.monotonic() - began < 30
    assert len(html) < 5_000_000
    assert page.load_event in page.activities


def dump_dom(path: Path, address: str = "", screenshot: Path | None = None) -> str:
    """The document after the viewer has run, as Chromium has it."""
    assert CHROMIUM is not None
    what = ["--dump-dom"] if screenshot is None else [f"--screenshot={screenshot}"]
    command = [
        *(CHROMIUM, "--no-sandbox", "--disable-gpu", "--window-size=1200,700"),
        f"--user-data-dir={path.parent / 'profile'}",
        *what,
        f"{path.as_uri()}{address}",
    ]
    # The command is a script around the browser: the whole group has to go, whatever happens.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=90)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == 0
    return output.decode()


def said(dom: str, id: str) -> str:
    found = re.search(rf'<output id="{id}">(.*?)</output>', dom, re.S)
    assert found
    return found[1]


@needs_chromium
def test_the_browser_runs_no_script_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "view.html"
    path.write_text(graph_html(hostile_graph()))
    dom = dump_dom(path, "#select=r1")
    [title] = re.findall(r"<title>(.*?)</title>", dom)
    assert "owned'" in title and title.startswith("https://x.example/&lt;img")
    details = dom[dom.index("<aside") : dom.index("</aside>")]
    assert "&lt;img src=x onerror" in details
    assert "<img" not in dom


@needs_chromium
def test_search_finds_by_url_and_shows_details(tmp_path: Path) -> None:
    path = tmp_path / "view.html"
    path.write_text(graph_html(all_kinds()))
    dom = dump_dom(path, f"#search={quote('FRAMES.example/ad')}")
    assert said(dom, "matches") == "1 of 1"
    details = dom[dom.index("<aside") : dom.index("</aside>")]
    assert "resource frame" in details
    assert "https://frames.example/ad.html" in details
    assert "Waits for (1)" in details and "parse chunk pchunk_0" in details


@needs_chromium
def test_frames_collapse_and_kinds_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / "view.html"
    page = all_kinds()
    path.write_text(graph_html(page))
    every = len(page.activities)
    assert said(dump_dom(path), "status").startswith(
        f"{every} of {every} activities, 2 of 2 frames (0 collapsed)"
    )
    assert "(1 collapsed)" in said(dump_dom(path, "#collapse=1"), "status")
    # A frame takes those inside it along.
    assert "1 of 2 frames (1 collapsed)" in said(dump_dom(path, "#collapse=0"), "status")
    hidden = dump_dom(path, "#hide=resource,timer&after=off")
    left = sum(
        kind not in (Kind.RESOURCE, Kind.TIMER) and id in page.until_load
        for id, kind in page.kinds.items()
    )
    assert said(hidden, "status").startswith(f"{left} of {every} activities")


@needs_chromium
def test_the_browser_draws_five_thousand_activities(tmp_path: Path) -> None:
    path = tmp_path / "view.html"
    path.write_text(graph_html(large_graph(5001)))
    sizes = []
    for address in ("", f"#hide={quote(','.join(Kind))}"):
        picture = tmp_path / "view.png"
        dump_dom(path, address, screenshot=picture)
        sizes.append(picture.stat().st_size)
    drawn, empty = sizes
    assert drawn > 1.5 * empty


# The command.


@needs_dot
def test_the_command_takes_the_format_from_the_file(loadpath: Loadpath, tmp_path: Path) -> None:
    for name, begins in (
        ("a.svg", b"<?xml"),
        ("a.pdf", b"%PDF"),
        ("a.dot", b"digraph"),
        ("a.html", b"<!doctype"),
    ):
        result = loadpath("graph", "view", "example:figure-3-1", "-o", name)
        assert result.returncode == 0, result.stderr
        assert result.stdout == f"{name}\n"
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert loadpath("graph", "view", "example:figure-3-1", "-o", "a.svg").returncode == 1
    result = loadpath("graph", "view", "example:figure-3-1", "--format", "dot", "-o", "-")
    assert result.stdout.startswith("digraph")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@needs_dot
def test_graphviz_is_gone_after_the_time_limit() -> None:
    with pytest.raises(LoadpathError):
        render_dot(
            "digraph { " + " ".join(f"a{i} -> b{j};" for i in range(150) for j in range(150)) + "}",
            "svg",
            timeout_s=0.3,
        )
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
    assert "dot" not in names

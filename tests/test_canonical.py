"""The canonical form of page graphs: what is kept, merged and dropped, and how graphs compare."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadpath.errors import GraphError
from loadpath.graphs.canonical import (
    canonical,
    difference,
    format_text,
    parse_text,
    transitive_reduction,
)

EXAMPLES = Path(__file__).parent.parent / "python/loadpath/examples/pages"
PAGE = "https://page.test/"

Activity = dict[str, Any]


def resource(id_: str, *children: str, url: str = "", **fields: Any) -> Activity:
    url = PAGE + (url or id_) if ":" not in url else url
    return {"id": id_, "type": "resource", "url": url, "children": children, **fields}


def chunk(id_: str, *children: str, end: tuple[int, int] | None, frame: int = 0) -> Activity:
    return {
        "id": id_,
        "type": "parse_chunk",
        "frame": frame,
        "end_tag": "img" if end else "",
        "position": [1, 1, *(end or (99, 1))],
        "children": children,
    }


def evaluation(id_: str, kind: str, *children: str, url: str = PAGE, **fields: Any) -> Activity:
    return {
        "id": id_,
        "type": "evaluation",
        "kind": kind,
        "frame": 0,
        "url": url,
        "children": children,
        **fields,
    }


def script(id_: str, *children: str, line: int = 1, **fields: Any) -> Activity:
    return evaluation(id_, "script", *children, position=[line, 1], **fields)


def event(id_: str, *children: str, name: str = "custom", line: int = 1, **fields: Any) -> Activity:
    return evaluation(id_, "event", *children, event_name=name, position=[line, 1], **fields)


def page(*activities: Activity, frames: tuple[str, ...] = (PAGE,)) -> Mapping[str, Any]:
    """A page whose document is `root`, parsed up to `end`; other activities as given."""
    given = {activity["id"]: activity for activity in activities}
    own = [
        resource("root", "end", url=PAGE),
        chunk("end", "dcl", end=None),
        evaluation("dcl", "event", "load", url="", event_name="DOMContentLoaded"),
        evaluation("load", "event", url="", event_name="load"),
    ]
    return {
        "url": PAGE,
        "load_event": "load",
        "dom_content_loaded_event": "dcl",
        "frames": [{"id": id_, "url": url} for id_, url in enumerate(frames)],
        "activities": [activity for activity in own if activity["id"] not in given] + [*activities],
    }


def text(*activities: Activity, frames: tuple[str, ...] = (PAGE,)) -> list[str]:
    """Lines of the canonical form that are not those of every page."""
    common = {
        "event DOMContentLoaded <- parse / end",
        "event load <- event DOMContentLoaded",
        "resource /",
        "parse / end <- resource /",
    }
    graph = canonical(page(*activities, frames=frames))
    return [line for line in format_text(graph).splitlines() if line not in common]


def test_a_page_of_text_is_a_chain() -> None:
    assert format_text(canonical(page())) == (
        "event DOMContentLoaded <- parse / end\n"
        "event load <- event DOMContentLoaded\n"
        "parse / end <- resource /\n"
        "resource /\n"
    )


def test_urls_lose_scheme_own_host_and_fragment_only() -> None:
    urls = {
        "https://page.test/a?b=c&d#e": "/a?b=c&d",
        "http://page.test": "/",
        "https://page.test:8443/a": "//page.test:8443/a",
        "https://other.test/a": "//other.test/a",
        "data:text/plain,a b": "data:text/plain,a%20b",
        "blob:https://page.test/0f3e": "blob:",
    }
    for url, name in urls.items():
        lines = text(
            resource("root", "end", "r", url=PAGE),
            resource("r", url=url),
        )
        expected = f"resource {name} #2" if name == "/" else f"resource {name}"
        assert lines == [f"{expected} <- resource /"]


def test_download_chunks_give_way_to_their_resource() -> None:
    assert text(
        resource("root", "d0", url=PAGE),
        {"id": "d0", "type": "download_chunk", "resource": "root", "children": ["p0", "d1"]},
        {"id": "d1", "type": "download_chunk", "resource": "root", "children": ["end"]},
        chunk("p0", "end", "r", end=(3, 9)),
        chunk("end", "dcl", end=None),
        resource("r", "load", url="a.png"),
    ) == [
        "event load <- event DOMContentLoaded, resource /a.png",
        "parse / 3:9 <- resource /",
        "parse / end <- parse / 3:9",
        "resource /a.png <- parse / 3:9",
    ]


def test_chunk_boundaries_on_which_nothing_hangs_are_merged_away() -> None:
    assert text(
        resource("root", "p0", url=PAGE),
        chunk("p0", "p1", end=(1, 9)),
        chunk("p1", "p2", "r", end=(2, 9)),
        chunk("p2", "end", "paint", end=(3, 9)),
        {"id": "paint", "type": "main_thread", "frame": 0, "kind": "paint", "duration_ms": 1},
        resource("r", url="a.png"),
    ) == [
        "parse / 2:9 <- resource /",
        "parse / end <- parse / 2:9",
        "resource /a.png <- parse / 2:9",
    ]


def test_main_thread_work_hands_its_children_to_its_trigger() -> None:
    assert text(
        resource("root", "end", "layout", url=PAGE),
        {"id": "layout", "type": "main_thread", "frame": 0, "kind": "layout", "children": ["r"]},
        resource("r", url="a.png"),
    ) == ["resource /a.png <- resource /"]


def test_documents_of_about_urls_are_not_downloads() -> None:
    assert text(
        resource("root", "srcdoc", "end", url=PAGE),
        resource("srcdoc", "inside", url="about:srcdoc"),
        chunk("inside", "load", end=None, frame=1),
        frames=(PAGE, "about:srcdoc"),
    ) == [
        "event load <- event DOMContentLoaded, parse about:srcdoc end",
        "parse about:srcdoc end <- resource /",
    ]


def test_what_an_inline_style_sheet_finds_hangs_on_parsing() -> None:
    assert text(
        resource("root", "p0", url=PAGE),
        chunk("p0", "end", "inline", end=(2, 9)),
        chunk("end", "dcl", "r", end=None),
        evaluation("inline", "style", "r", "imported", position=[1, 8]),
        resource("r", url="a.png"),
        resource("imported", url="a.css"),
    ) == [
        "parse / 2:9 <- resource /",
        "parse / end <- parse / 2:9",
        "resource /a.css <- parse / 2:9",
        "resource /a.png <- parse / end",
    ]


def test_a_resource_found_by_an_external_sheet_hangs_on_it_alone() -> None:
    lines = text(
        resource("root", "end", "css", url=PAGE),
        chunk("end", "dcl", "r", end=None),
        resource("css", "style", url="a.css"),
        evaluation("style", "style", "r", url=PAGE + "a.css"),
        resource("r", url="a.png"),
    )
    assert "resource /a.png <- style /a.css" in lines


def test_timers_and_events_that_lead_nowhere_are_dropped_with_what_led_to_them() -> None:
    assert text(
        resource("root", "s", url=PAGE),
        script("s", "end", "t", "used"),
        evaluation("t", "timer", "e", position=[2, 3]),
        event("e"),
        evaluation("used", "timer", "r", position=[3, 3]),
        resource("r", url="a.json"),
    ) == [
        "parse / end <- script / 1:1",
        "resource /a.json <- timer / 3:3",
        "script / 1:1 <- resource /",
        "timer / 3:3 <- script / 1:1",
    ]


def test_scripts_and_styles_are_kept_though_they_lead_nowhere() -> None:
    assert text(
        resource("root", "end", "s", "c", url=PAGE),
        script("s"),
        evaluation("c", "style", url=PAGE + "a.css"),
    ) == ["script / 1:1 <- resource /", "style /a.css <- resource /"]


def test_an_event_on_which_the_load_event_waits_is_kept() -> None:
    lines = text(resource("root", "end", "e", url=PAGE), event("e", "load", name="error"))
    assert "event error / 1:1 <- resource /" in lines


def test_pieces_of_a_computation_are_one_node() -> None:
    assert text(
        resource("root", "s_0", url=PAGE),
        script("s_0", "s_1", "a"),
        script("s_1", "s_2", "b", continues="s"),
        script("s_2", "end", "c", continues="s"),
        *(resource(name, url=f"{name}.json") for name in "abc"),
    ) == [
        "parse / end <- script / 1:1",
        "resource /a.json <- script / 1:1",
        "resource /b.json <- script / 1:1",
        "resource /c.json <- script / 1:1",
        "script / 1:1 <- resource /",
    ]


@pytest.mark.parametrize("first", ["s", "s_0"])
def test_the_piece_behind_an_interruption_is_a_node_of_its_own(first: str) -> None:
    assert text(
        resource("root", first, url=PAGE),
        script(first, "e", "s_1"),
        event("e", "s_1", "inside", line=2),
        script("s_1", "end", "after", continues="s"),
        resource("inside", url="inside.json"),
        resource("after", url="after.json"),
    ) == [
        "event custom / 2:1 <- script / 1:1",
        "parse / end <- script / 1:1 +1",
        "resource /after.json <- script / 1:1 +1",
        "resource /inside.json <- event custom / 2:1",
        "script / 1:1 <- resource /",
        "script / 1:1 +1 <- event custom / 2:1",
    ]


def test_interruptions_that_do_nothing_leave_the_computation_whole() -> None:
    assert text(
        resource("root", "s", url=PAGE),
        script("s", "e", "s_1"),
        event("e", "f", "s_1", line=2),
        event("f", "s_1", line=3),
        script("s_1", "end", "after", continues="s"),
        resource("after", url="after.json"),
    ) == [
        "parse / end <- script / 1:1",
        "resource /after.json <- script / 1:1",
        "script / 1:1 <- resource /",
    ]


def test_a_last_piece_that_does_nothing_is_left_out() -> None:
    lines = text(
        resource("root", "s", url=PAGE),
        script("s", "e", "s_1"),
        event("e", "s_1", "inside", line=2),
        script("s_1", "end", continues="s"),
        resource("inside", url="inside.json"),
    )
    assert "parse / end <- event custom / 2:1" in lines


def test_a_piece_behind_a_synchronous_request_waits_for_it() -> None:
    lines = text(
        resource("root", "s", url=PAGE),
        script("s", "sync", "s_1"),
        resource("sync", "s_1", url="sync.json"),
        script("s_1", "end", "after", continues="s"),
        resource("after", url="after.json"),
    )
    assert "script / 1:1 +1 <- resource /sync.json" in lines


def test_completion_markers_of_subframes_are_dissolved_but_listeners_are_not() -> None:
    assert text(
        resource("root", "end", "f", url=PAGE),
        resource("f", "fp", url="f.html"),
        chunk("fp", "marker", end=None, frame=1),
        evaluation("marker", "event", "listener", url="", event_name="load", event_target="Window"),
        event("listener", "load", name="load", url=PAGE + "f.html", line=4),
        frames=(PAGE, PAGE + "f.html"),
    ) == [
        "event load <- event DOMContentLoaded, event load /f.html 4:1",
        "event load /f.html 4:1 <- parse /f.html end",
        "parse /f.html end <- resource /f.html",
        "resource /f.html <- resource /",
    ]


def test_equal_names_are_numbered_in_order_of_start() -> None:
    lines = text(
        resource("root", "end", "late", "early", "unknown", url=PAGE),
        resource("late", url="a.png", recorded_sent_ms=9.0),
        resource("early", "b", url="a.png", recorded_sent_ms=2.0),
        resource("unknown", url="a.png"),
        resource("b", url="b.png"),
    )
    assert "resource /b.png <- resource /a.png" in lines
    assert sum(line.startswith("resource /a.png #") for line in lines) == 2


def test_an_interval_is_numbered_along_its_chain() -> None:
    timer = [2, 5]
    lines = text(
        resource("root", "t1", "end", url=PAGE),
        evaluation("t1", "timer", "t2", position=timer, recorded_start_ms=1.0),
        evaluation("t2", "timer", "t3", "r", position=timer, recorded_start_ms=2.0),
        evaluation("t3", "timer", position=timer, recorded_start_ms=3.0),
        resource("r", url="a.json"),
    )
    assert lines == [
        "resource /a.json <- timer / 2:5 #2",
        "timer / 2:5 <- resource /",
        "timer / 2:5 #2 <- timer / 2:5",
    ]


def test_a_circle_is_an_error() -> None:
    with pytest.raises(GraphError, match="wait for each other"):
        canonical(page(resource("a", "b"), resource("b", "a")))


def test_a_child_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(GraphError, match="no activity 'nobody'"):
        canonical(page(resource("a", "nobody")))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("[!i]*.json")), ids=lambda path: path.stem)
def test_example_pages_have_a_form_that_reads_back(path: Path) -> None:
    graph = canonical(json.loads(path.read_text()))
    assert parse_text(format_text(graph)) == graph
    assert transitive_reduction(graph) == {node: set(parents) for node, parents in graph.items()}


def test_the_published_example_has_the_form_of_its_figure() -> None:
    graph = canonical(json.loads((EXAMPLES / "figure-3-1.json").read_text()))
    assert graph["script /image_create_sea_append.js"] == {
        "resource /image_create_sea_append.js",
        "style /theme.css",
    }
    assert graph["resource /rainbow.jpg"] == {"timer ?"}


def test_text_is_read_with_comments_and_blank_lines() -> None:
    graph = parse_text("# Two nodes\n\nresource /a.js?b,c <- resource /\nresource / <-\n")
    assert graph == {"resource /a.js?b,c": frozenset({"resource /"}), "resource /": frozenset()}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("resource /\nresource /", "graph.txt:2: 'resource /' stands in line 1 already"),
        ("resource / <- script /", "graph.txt:1: the parent 'script /' is not a node"),
        ("image /a.png", "graph.txt:1: 'image /a.png' does not begin with one of resource, parse"),
        ("resource", "graph.txt:1: 'resource' does not begin"),
        ("resource / <- ,script /", "graph.txt:1: ',script /' does not begin"),
    ],
)
def test_text_that_is_no_graph_is_refused_by_line(text: str, problem: str) -> None:
    with pytest.raises(GraphError) as error:
        parse_text(text, "graph.txt")
    assert problem in str(error.value)


def test_a_difference_names_nodes_and_parents() -> None:
    expected = parse_text("resource /\nparse / end <- resource /\nscript /a.js <- resource /")
    actual = parse_text("resource /\nparse / end <- resource /, timer / 1:2\ntimer / 1:2")
    assert str(difference(expected, actual)) == (
        "- script /a.js\n+ timer / 1:2\n  parse / end\n    + <- timer / 1:2"
    )
    assert not difference(expected, expected)


@st.composite
def dags(draw: st.DrawFn) -> dict[str, set[str]]:
    """Graphs whose nodes depend on earlier ones."""
    size = draw(st.integers(1, 12))
    return {
        f"resource /{node}": {
            f"resource /{parent}" for parent in range(node) if draw(st.booleans())
        }
        for node in range(size)
    }


def ancestors(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node, parents in graph.items():  # parents come first
        found[node] = parents.union(*(found[parent] for parent in parents))
    return found


@given(dags())
def test_reduction_keeps_every_order_and_no_edge_that_follows(graph: dict[str, set[str]]) -> None:
    reduced = transitive_reduction(graph)
    assert ancestors(reduced) == ancestors(graph)
    for node, parents in reduced.items():
        for parent in parents:
            others = {**reduced, node: parents - {parent}}
            assert parent not in ancestors(others)[node]


@given(dags())
def test_text_and_graph_are_equivalent(graph: dict[str, set[str]]) -> None:
    frozen = {node: frozenset(parents) for node, parents in graph.items()}
    assert parse_text(format_text(frozen)) == frozen


@given(dags(), st.randoms(use_true_random=False))
def test_the_form_does_not_depend_on_the_order_of_activities(
    graph: dict[str, set[str]], random: Any
) -> None:
    activities = [
        resource(
            node, *(child for child, parents in graph.items() if node in parents), url=node[10:]
        )
        for node in graph
    ]
    forward = canonical(page(*activities))
    random.shuffle(activities)
    assert canonical(page(*activities)) == forward


@given(dags())
def test_the_form_has_the_nodes_of_a_graph_of_resources_and_its_order(
    graph: dict[str, set[str]],
) -> None:
    activities = [
        resource(
            node, *(child for child, parents in graph.items() if node in parents), url=node[10:]
        )
        for node in graph
    ]
    form = canonical(page(*activities))
    reduced = transitive_reduction(graph)
    assert {node: form[node] for node in graph} == reduced

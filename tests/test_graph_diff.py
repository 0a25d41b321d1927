"""Differences between page graphs, and what is said of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Loadpath
from loadpath.graphs import Graph, compare, read_graph
from loadpath.graphs.comparison import Comparison
from page_builder import URL, all_kinds, evaluation, events, graph, resource

SCRIPT = f"{URL}app.js"


def script_page(*images: str, query: str = "", **fields: Any) -> Graph:
    """A script that requests images."""
    ids = [f"image{i}" for i in range(len(images))]
    return graph(
        resource("root", "code", "dcl", url=URL),
        resource("code", "run", url=f"{SCRIPT}{query}"),
        evaluation("run", *ids, "load", url=f"{SCRIPT}{query}"),
        *(
            resource(id, "load", url=f"{URL}{name}", **fields)
            for id, name in zip(ids, images, strict=True)
        ),
        *events(),
    )


def test_a_graph_is_like_itself_whatever_its_ids() -> None:
    page = all_kinds()
    data = json.loads(json.dumps(page.data))
    # "continues" names the pieces of a computation.
    names = {id: id if id.startswith("comp_") else f"other-{id}" for id in page.activities}
    for field in ("root", "load_event", "dom_content_loaded_event"):
        data[field] = names[data[field]]
    for activity in data["activities"]:
        activity["id"] = names[activity["id"]]
        activity["children"] = [names[child] for child in activity.get("children", ())]
        for field in ("resource", "original"):
            if field in activity:
                activity[field] = names[activity[field]]
    data["activities"].reverse()
    found = compare(page, Graph.from_json(json.dumps(data).encode(), "renamed"))
    assert found.same_structure and found.summary == ["same structure"]
    assert not (found.changes or found.pairs)


def test_what_only_one_graph_has_is_explained_by_where_it_begins() -> None:
    found = compare(script_page("a.png"), script_page("a.png", "b.png", "c.png", "d.png"))
    assert not found.same_structure
    assert found.only_b == [f"resource /{name}.png" for name in "bcd"]
    assert found.summary[0] == "3 resources below script /app.js appear only in B"


def test_a_branch_is_counted_as_a_whole() -> None:
    branch = graph(
        resource("root", "code", "dcl", url=URL),
        resource("code", "run", url=SCRIPT),
        evaluation("run", "more", "load", url=SCRIPT),
        resource("more", "run_more", url=f"{URL}more.js"),
        evaluation("run_more", "image", "load", url=f"{URL}more.js"),
        resource("image", "load", url=f"{URL}x.png"),
        *events(),
    )
    found = compare(branch, script_page())
    assert found.summary[0] == "2 resources and 1 script below script /app.js appear only in A"
    assert found.parents[0].node == "event load"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("app.js?t=1700000000", "app.js?t=1700000777"),
        ("app.js?1700000000", "app.js?1700000777"),
        ("app.3f2a9c41d0.js", "app.09bbce7712.js"),
        ("r/1700000000/x.gif?a=1&b=2", "r/1700000001/x.gif?a=3&b=4"),
    ],
)
def test_urls_that_differ_by_a_cache_buster_are_the_same_up_to_query(a: str, b: str) -> None:
    found = compare(script_page(a), script_page(b))
    assert found.same_structure
    assert [(pair.a, pair.b, pair.up_to) for pair in found.pairs] == [
        (f"resource /{a}", f"resource /{b}", "query")
    ]
    assert found.summary == ["same structure", "1 node the same up to query"]


@pytest.mark.parametrize(
    ("a", "b"), [("a.js", "b.js"), ("x?a=1", "x?b=1"), ("facade.js", "decade.js")]
)
def test_other_urls_are_not(a: str, b: str) -> None:
    found = compare(script_page(a), script_page(b))
    assert found.only_a == [f"resource /{a}"] and found.only_b == [f"resource /{b}"]


def test_what_hangs_on_a_paired_node_has_the_same_parent() -> None:
    found = compare(script_page("a.png", query="?v=1"), script_page("a.png", query="?v=2"))
    assert found.same_structure and not found.parents
    assert {pair.a for pair in found.pairs} == {"resource /app.js?v=1", "script /app.js?v=1"}


def test_inline_scripts_that_moved_are_the_same_up_to_position() -> None:
    def page(column: int) -> Graph:
        return graph(
            resource("root", "inline", "dcl", url=URL),
            evaluation("inline", "image", "load", url=URL, position=[3, column]),
            resource("image", "load"),
            *events(),
        )

    found = compare(page(10), page(14))
    assert found.same_structure
    [pair] = found.pairs
    assert (pair.a, pair.b, pair.up_to) == ("script / 3:10", "script / 3:14", "position")


def test_another_parent_is_reported_once() -> None:
    other = graph(
        resource("root", "code", "image0", "dcl", url=URL),
        resource("code", "run", url=SCRIPT),
        evaluation("run", "load", url=SCRIPT),
        resource("image0", "load", url=f"{URL}a.png"),
        *events(),
    )
    found = compare(script_page("a.png"), other)
    changed = {change.node: (change.only_a, change.only_b) for change in found.parents}
    assert changed["resource /a.png"] == (["script /app.js"], ["resource /"])
    assert not found.only_a and not found.only_b


def test_numbers_that_differ_are_listed_with_the_largest_first() -> None:
    a = script_page("a.png", "b.png", size_bytes=100, server_delay_ms=5.0)
    b = script_page("a.png", "b.png", size_bytes=300, server_delay_ms=5.0)
    found = compare(a, b)
    assert found.same_structure
    assert [(c.node, c.field, c.a, c.b) for c in found.changes] == [
        ("resource /a.png", "size_bytes", 100, 300),
        ("resource /b.png", "size_bytes", 100, 300),
    ]


def test_durations_of_all_pieces_are_added_up() -> None:
    def page(*pieces_ms: float) -> Graph:
        first, second = pieces_ms
        return graph(
            resource("root", "comp_0", "dcl", url=URL),
            evaluation("comp_0", "image", "comp_1", url=SCRIPT, ms=first),
            evaluation("comp_1", "load", url=SCRIPT, ms=second, continues="comp"),
            resource("image", "load"),
            *events(),
        )

    assert not compare(page(1.0, 3.0), page(2.0, 2.0)).changes
    [change] = compare(page(1.0, 3.0), page(2.0, 3.0)).changes
    assert (change.field, change.a, change.b) == ("duration_ms", 4.0, 5.0)


def mirrored(found: Comparison) -> dict[str, object]:
    return {
        "same": found.same_structure,
        "nodes": (found.nodes_b, found.nodes_a),
        "only": (found.only_b, found.only_a),
        "pairs": sorted((pair.b, pair.a, pair.up_to) for pair in found.pairs),
        "changes": sorted((c.field, c.b, c.a) for c in found.changes if c.a and c.b),
        "parents": len(found.parents),
    }


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (script_page("a.png", "b.png?1"), script_page("a.png", "b.png?2", "c.png", size_bytes=7)),
        (all_kinds(), script_page("a.png")),
        (read_graph("example:shape-reddit"), read_graph("example:shape-twitter")),
    ],
)
def test_differences_are_symmetric(a: Graph, b: Graph) -> None:
    there, back = compare(a, b), compare(b, a)
    swapped = mirrored(back)
    assert swapped == {
        "same": there.same_structure,
        "nodes": (there.nodes_a, there.nodes_b),
        "only": (there.only_a, there.only_b),
        "pairs": sorted((pair.a, pair.b, pair.up_to) for pair in there.pairs),
        "changes": sorted((c.field, c.a, c.b) for c in there.changes if c.a and c.b),
        "parents": len(there.parents),
    }


def test_every_node_is_accounted_for() -> None:
    a, b = read_graph("example:shape-reddit"), read_graph("example:shape-twitter")
    found = compare(a, b)
    assert found.nodes_a - len(found.only_a) == found.nodes_b - len(found.only_b)


def test_the_command_explains_and_succeeds(loadpath: Loadpath, tmp_path: Path) -> None:
    for name, page in (("a", script_page("a.png")), ("b", script_page("a.png", "b.png"))):
        (tmp_path / f"{name}.json").write_text(json.dumps(page.data))
    same = loadpath("graph", "diff", "a.json", "a.json")
    assert same.returncode == 0 and "same structure" in same.stdout
    result = loadpath("graph", "diff", "a.json", "b.json")
    assert result.returncode == 0
    assert "1 resource below script /app.js appears only in B" in result.stdout
    found = json.loads(loadpath("graph", "diff", "a.json", "b.json", "--json").stdout)
    assert found["only_b"] == ["resource /b.png"]

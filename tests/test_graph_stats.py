"""Statistics of page graphs."""

import json

import pytest

from conftest import Loadpath
from loadpath.graphs import Kind, read_graph, statistics
from loadpath.pages import example_names
from page_builder import all_kinds, evaluation, events, graph, resource


@pytest.mark.parametrize("name", [None, *example_names()])
def test_every_table_adds_up(name: str | None) -> None:
    page = all_kinds() if name is None else read_graph(f"example:{name}")
    found = statistics(page)
    assert sum(found.activities_by_kind.values()) == found.activities == len(page.activities)
    tables = (
        found.resources_by_type,
        found.served_by,
        found.requested_by,
        found.evidence,
        found.discovered_by,
        found.server_delay_sources,
        found.browser_priorities,
    )
    for table in tables:
        assert sum(table.values()) == found.resources == found.activities_by_kind["resource"]
    assert sum(found.bytes_by_type.values()) == found.bytes
    downloads = sum(found.activities_by_kind.get(k, 0) for k in (Kind.RESOURCE, Kind.DOWNLOAD))
    assert sum(work.activities for work in found.computation.values()) + downloads == (
        found.activities
    )


def test_statistics_of_a_page_by_hand() -> None:
    found = statistics(all_kinds())
    assert found.frames == found.processes == 2
    # The root and the frame's document, style sheet, script, font, image; not the repeated image.
    assert (found.resources, found.bytes, found.hosts) == (8, 600, 2)
    assert found.served_by == {"another response": 1, "network": 6, "no network": 1}
    assert found.requested_by == {
        "nothing": 1,
        "parse chunk": 3,
        "script": 1,
        "style": 1,
        "timer": 2,
    }
    assert found.evidence == {
        "fallback": 1,
        "not recorded": 2,
        "source": 2,
        "stack": 1,
        "style": 1,
        "trace": 1,
    }
    assert found.fallback_share == pytest.approx(1 / 6)
    assert found.discovered_by == {"not recorded": 7, "preload": 1}
    assert found.pruned == {"timer": 1}
    assert found.after_load == 2
    assert found.explained_share is None
    assert found.computation["main thread"].duration_ms == 2.0


def test_activities_before_load_explain_a_share_of_the_recorded_busy_time() -> None:
    page = graph(
        resource("root", "a", "dcl"),
        evaluation("a", "late", "load", ms=3.0),
        evaluation("late", ms=50.0, phase="end"),
        *events(),
        recorded_busy_ms=4.0,
    )
    assert statistics(page).explained_share == pytest.approx(3 / 4)


def test_the_longest_chain_is_counted_in_activities() -> None:
    page = graph(
        resource("root", "a", "dcl"), evaluation("a", "b"), evaluation("b", "load"), *events()
    )
    assert statistics(page).depth == 4


def test_server_delays_are_counted_by_source() -> None:
    page = graph(
        resource("root", "dcl", server_delay_ms=1.0, server_delay_source="timing"),
        resource("a", server_delay_ms=1.0, server_delay_source="censored"),
        resource("b", server_delay_ms=1.0),
        resource("c"),
        *events("a", "b", "c"),
    )
    assert statistics(page).server_delay_sources == {
        "censored": 1,
        "no delay": 1,
        "not recorded": 1,
        "timing": 1,
    }


def test_json_and_table_say_the_same(loadpath: Loadpath) -> None:
    found = json.loads(loadpath("graph", "stats", "example:shape-reddit", "--json").stdout)
    table = loadpath("graph", "stats", "example:shape-reddit").stdout
    assert found["resources"] == statistics(read_graph("example:shape-reddit")).resources
    [line] = [line for line in table.splitlines() if line.startswith("resources")]
    assert line.split() == ["resources", str(found["resources"])]


def test_what_is_no_page_graph_is_an_error(loadpath: Loadpath) -> None:
    for verb in ("view", "stats", "critical-path"):
        result = loadpath("graph", verb, "nowhere.json")
        assert result.returncode == 1
        assert "there is no page graph nowhere.json" in result.stderr

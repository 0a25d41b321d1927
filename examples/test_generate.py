"""The example pages against the figures of the papers, written here as printed there."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

EXAMPLES = Path(__file__).parent
sys.path.insert(0, str(EXAMPLES))

import generate  # noqa: E402
import measure  # noqa: E402
from generator import measured, sizes, spdy  # noqa: E402

Graph = dict[str, Any]

COMMITTED = {
    path.stem: json.loads(path.read_text())
    for path in sorted((EXAMPLES / "pages").glob("*.json"))
    if path.name != "index.json"
}
DIVIDED = {page.name: page.graph() for servers in (2, 4) for page in spdy.pages(servers)}
ALL = COMMITTED | DIVIDED

# Field names of each type of activity in the page graph format, the required ones first.
FIELDS = {
    "resource": ({"url", "size_bytes"}, {"mime_type", "server_delay_ms"}),
    "download_chunk": ({"resource", "offset_bytes", "size_bytes"}, set()),
    "parse_chunk": ({"frame", "duration_ms"}, set()),
    "evaluation": (
        {"frame", "kind", "duration_ms"},
        {"blocking", "phase", "url", "timeout_ms", "event_name", "event_target"},
    ),
}


def of_type(graph: Graph, kind: str) -> list[Graph]:
    return [activity for activity in graph["activities"] if activity["type"] == kind]


def by_id(graph: Graph) -> dict[str, Graph]:
    return {activity["id"]: activity for activity in graph["activities"]}


def parents_of(graph: Graph, child: str) -> list[str]:
    return [a["id"] for a in graph["activities"] if child in a.get("children", [])]


def class_of(resource: Graph) -> str:
    mime_type = resource["mime_type"]
    names = {"text/html": "html", "text/css": "css", "application/javascript": "js"}
    return "image" if mime_type.startswith("image/") else names.get(mime_type, "other")


def bytes_of(graph: Graph, kind: str) -> list[int]:
    return [r["size_bytes"] for r in of_type(graph, "resource") if class_of(r) == kind]


def total_bytes(graph: Graph) -> int:
    return sum(resource["size_bytes"] for resource in of_type(graph, "resource"))


def reachable(graph: Graph, executed: set[str]) -> set[str]:
    activities = by_id(graph)
    reached: set[str] = set()
    pending = [graph["root"]]
    while pending:
        activity = pending.pop()
        if activity in executed and activity not in reached:
            reached.add(activity)
            pending += activities[activity].get("children", [])
    return reached


# The published figures


# Table I: HTML, CSS, JS, image, other, total objects, size in kB.
TABLE_1 = {
    "baidu": (1, 1, 1, 6, 1, 10, 50),
    "google": (2, 1, 3, 5, 1, 12, 56),
    "live": (2, 2, 2, 2, 0, 8, 262),
    "twitter": (6, 1, 4, 2, 3, 16, 421),
    "wikipedia": (1, 1, 2, 20, 1, 25, 441),
    "reddit": (4, 2, 5, 26, 2, 39, 470),
    "yahoo": (16, 13, 5, 48, 4, 86, 839),
    "vk": (4, 1, 14, 3, 1, 23, 920),
    "taobao": (2, 2, 7, 38, 4, 53, 1320),
    "instagram": (3, 1, 7, 25, 1, 37, 1409),
    "qq": (15, 6, 19, 115, 6, 161, 1728),
    "sohu": (13, 11, 33, 167, 4, 228, 2056),
    "youtube": (8, 3, 5, 113, 20, 149, 2911),
    "facebook": (1, 1, 8, 123, 1, 134, 3560),
    "amazon": (5, 2, 14, 41, 2, 64, 3723),
}


@pytest.mark.parametrize("site", TABLE_1)
def test_shapes_have_the_objects_and_size_of_table_1(site: str) -> None:
    graph = COMMITTED[f"shape-{site}"]
    *by_class, total, size_kb = TABLE_1[site]
    counts = Counter(class_of(resource) for resource in of_type(graph, "resource"))
    assert [counts[kind] for kind in ("html", "css", "js", "image", "other")] == by_class
    assert sum(counts.values()) == total
    assert total_bytes(graph) == size_kb * 1000


def test_there_are_fifteen_shapes() -> None:
    assert {name for name in COMMITTED if name.startswith("shape-")} == {
        f"shape-{site}" for site in TABLE_1
    }


def published(value: float, digits: int) -> float:
    """A size in bytes as kilobytes with the digits that the paper prints."""
    return round(value / 1000, digits)


def image_statistics(graph: Graph, digits: int) -> tuple[float, ...]:
    images = bytes_of(graph, "image")
    mean, deviation = statistics.mean(images), statistics.stdev(images)
    return tuple(published(value, digits) for value in (min(images), mean, max(images), deviation))


@pytest.mark.parametrize("suffix", ["", "-2-servers", "-4-servers"])
class TestSpdyPages:
    def test_page_a(self, suffix: str) -> None:
        graph = ALL[f"spdy-page-a{suffix}"]
        assert len(of_type(graph, "resource")) == 102
        assert published(total_bytes(graph), 0) == 369
        assert bytes_of(graph, "html") == [12_800]
        assert bytes_of(graph, "js") == [94_500]
        assert len(bytes_of(graph, "image")) == 100
        assert image_statistics(graph, 1) == (1.3, 2.6, 5.5, 1.2)

    def test_page_b(self, suffix: str) -> None:
        graph = ALL[f"spdy-page-b{suffix}"]
        images = bytes_of(graph, "image")
        assert len(of_type(graph, "resource")) == 101
        assert published(total_bytes(graph), -2) == 1_400
        assert bytes_of(graph, "html") == [8_200]
        assert len(images) == 100
        assert min(images) == 46
        assert image_statistics(graph, 0)[1:] == (14, 103, 24)

    def test_page_b_is_roughly_log_uniform(self, suffix: str) -> None:
        images = bytes_of(ALL[f"spdy-page-b{suffix}"], "image")
        # Quartiles of a log-uniform distribution from 46 B to 103 kB lie at its equal ratios.
        ratio = (103_000 / 46) ** 0.25
        for quarter, quartile in enumerate(statistics.quantiles(images, n=4), start=1):
            assert quartile == pytest.approx(46 * ratio**quarter, rel=0.1)

    def test_page_c(self, suffix: str) -> None:
        graph = ALL[f"spdy-page-c{suffix}"]
        assert len(of_type(graph, "resource")) == 11
        assert published(total_bytes(graph), -2) == 3_000
        assert bytes_of(graph, "html") == [800]
        assert len(bytes_of(graph, "image")) == 10
        assert image_statistics(graph, 0) == (298, 302, 310, 4)


@pytest.mark.parametrize("page", ["a", "b", "c"])
@pytest.mark.parametrize("servers", [1, 2, 4])
def test_spdy_pages_are_divided_equally(page: str, servers: int) -> None:
    name = f"spdy-page-{page}" + (f"-{servers}-servers" if servers > 1 else "")
    urls = [resource["url"] for resource in of_type(ALL[name], "resource")]
    load = Counter(urlsplit(url).hostname for url in urls)
    assert len(load) == servers
    assert max(load.values()) - min(load.values()) <= 1


def test_first_mobile_page_has_365_objects_of_1_kb() -> None:
    graph = COMMITTED["mobile-365-small"]
    assert bytes_of(graph, "html") == [38_000]
    assert bytes_of(graph, "image") == [1_000] * 365
    assert published(total_bytes(graph), -2) == 400


def test_second_mobile_page_has_10_objects_of_435_kb() -> None:
    graph = COMMITTED["mobile-10-large"]
    assert bytes_of(graph, "html") == [10_000]
    assert bytes_of(graph, "image") == [435_000] * 10
    assert published(total_bytes(graph), -3) == 4_000


@pytest.mark.parametrize(
    ("name", "total_mb", "large", "small"),
    [("mobile-2mb", 2, 3, 133), ("mobile-8mb", 8, 12, 124), ("mobile-12mb", 12, 18, 118)],
)
def test_mobile_pages_of_136_objects(name: str, total_mb: int, large: int, small: int) -> None:
    graph = COMMITTED[name]
    objects = bytes_of(graph, "image")
    assert len(objects) == 136
    assert total_bytes(graph) == total_mb * 1_000_000
    assert sum(30_000 <= size <= 620_000 for size in objects) == large
    assert sum(size < 30_000 for size in objects) == small


def test_small_objects_of_the_2_mb_page_range_from_20_bytes_to_5_kb() -> None:
    small = [size for size in bytes_of(COMMITTED["mobile-2mb"], "image") if size < 30_000]
    assert (min(small), max(small)) == (20, 5_000)


@pytest.mark.parametrize("name", ["mobile-8mb", "mobile-12mb"])
def test_objects_of_the_larger_pages_range_from_1_to_620_kb(name: str) -> None:
    objects = bytes_of(COMMITTED[name], "image")
    assert (min(objects), max(objects)) == (1_000, 620_000)


def test_figure_3_1_has_the_dependencies_of_section_3_5_1() -> None:
    graph = COMMITTED["figure-3-1"]
    activities = by_id(graph)

    def evaluation(kind: str, url: str = "") -> str:
        found = [a for a in of_type(graph, "evaluation") if a["kind"] == kind]
        found = [a for a in found if a.get("url", "").rpartition("/")[2] == url]
        assert len(found) == 1
        return str(found[0]["id"])

    def resource(file: str) -> str:
        found = [a for a in of_type(graph, "resource") if a["url"].endswith(f"/{file}")]
        assert len(found) == 1
        return str(found[0]["id"])

    css, script = resource("theme.css"), resource("image_create_sea_append.js")
    image, inline = resource("rainbow.jpg"), evaluation("script")
    css_eval = evaluation("style", "theme.css")
    script_eval = evaluation("script", "image_create_sea_append.js")
    timer = evaluation("timer")
    load, ready = graph["load_event"], graph["dom_content_loaded_event"]

    assert len(of_type(graph, "parse_chunk")) == 4
    # "the inline JavaScript depends on the parse chunk containing its script, and blocks the next
    # parse chunk till it completes"
    assert parents_of(graph, inline) == ["pchunk_0_0"]
    assert set(parents_of(graph, "pchunk_0_1")) == {"pchunk_0_0", "dchunk_0_1", inline}
    # "The .js and .css resources depend on their respective parse chunks, and they trigger the
    # evaluation of their content"; rule 11 adds the style sheet to the parents of the script.
    assert parents_of(graph, css) == ["pchunk_0_1"]
    assert parents_of(graph, script) == ["pchunk_0_2"]
    assert parents_of(graph, css_eval) == [css]
    assert set(parents_of(graph, script_eval)) == {script, css_eval}
    assert set(parents_of(graph, "pchunk_0_3")) == {"pchunk_0_2", "dchunk_0_3", script_eval}
    # "The DOMContentLoaded event depends on the completion of parsing, and, in addition to the
    # resources downloaded by the page, is a parent of the Window load event."
    assert parents_of(graph, ready) == ["pchunk_0_3"]
    assert activities[ready]["duration_ms"] == 0
    assert set(parents_of(graph, load)) == {ready, css, script}
    # "Finally, the timer declared in the load event handler depends on its execution, and downloads
    # an image resource."
    assert parents_of(graph, timer) == [load]
    assert activities[timer]["timeout_ms"] == 10
    assert activities[timer]["phase"] == "end"
    assert parents_of(graph, image) == [timer]


# Graph invariants


@pytest.fixture(params=ALL)
def graph(request: pytest.FixtureRequest) -> Graph:
    return dict(ALL[request.param])


def test_fields_are_those_of_the_format(graph: Graph) -> None:
    assert (graph["format"], graph["version"]) == ("loadpath-page-graph", 1)
    for activity in graph["activities"]:
        required, optional = FIELDS[activity["type"]]
        fields = activity.keys() - {"id", "type", "children"}
        assert required <= fields <= required | optional, activity["id"]


def test_ids_are_unique_and_children_exist_once(graph: Graph) -> None:
    activities = by_id(graph)
    assert len(activities) == len(graph["activities"])
    for activity in graph["activities"]:
        children = activity.get("children", [])
        assert len(set(children)) == len(children)
        assert set(children) <= activities.keys()
    for field in ("root", "load_event", "dom_content_loaded_event"):
        assert graph[field] in activities
    frames = {frame["id"] for frame in graph["frames"]}
    assert len(frames) == len(graph["frames"])
    assert {a["frame"] for a in graph["activities"] if "frame" in a} <= frames
    assert [frame["id"] for frame in graph["frames"] if "parent" not in frame] == [0]


def test_graph_has_no_cycle_and_one_beginning(graph: Graph) -> None:
    activities = by_id(graph)
    waiting = Counter(c for a in graph["activities"] for c in a.get("children", []))
    ready = [activity for activity in activities if waiting[activity] == 0]
    assert ready == [graph["root"]]
    done = 0
    while ready:
        done += 1
        for child in activities[ready.pop()].get("children", []):
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    assert done == len(activities)


def test_chunks_cover_each_document_in_order(graph: Graph) -> None:
    activities = by_id(graph)
    documents = [r for r in of_type(graph, "resource") if r["mime_type"] == "text/html"]
    assert len(documents) == len(graph["frames"])
    chunks_seen = 0
    for frame, document in enumerate(documents):
        chunks = [c for c in of_type(graph, "download_chunk") if c["resource"] == document["id"]]
        chunks_seen += len(chunks)
        offset = 0
        for n, chunk in enumerate(chunks):
            assert chunk["id"] == f"dchunk_{frame}_{n}"
            assert chunk["offset_bytes"] == offset
            offset += chunk["size_bytes"]
            last = n == len(chunks) - 1
            following = [] if last else [f"dchunk_{frame}_{n + 1}"]
            assert chunk["children"] == [f"pchunk_{frame}_{n}", *following]
            if not last:
                assert f"pchunk_{frame}_{n + 1}" in activities[f"pchunk_{frame}_{n}"]["children"]
        assert offset == document["size_bytes"]
        assert parents_of(graph, f"dchunk_{frame}_0") == [document["id"]]
    assert chunks_seen == len(of_type(graph, "download_chunk"))
    assert chunks_seen == len(of_type(graph, "parse_chunk"))


def test_load_event_waits_for_all_that_is_not_after_load(graph: Graph) -> None:
    load = graph["load_event"]
    before = {a["id"] for a in graph["activities"] if a.get("phase") != "end"} - {load}
    needed, pending = set[str](), [load]
    while pending:
        for parent in parents_of(graph, pending.pop()):
            if parent not in needed:
                needed.add(parent)
                pending.append(parent)
    assert needed == reachable(graph, before)


def test_external_scripts_block_the_parser_and_wait_for_style_sheets(graph: Graph) -> None:
    activities = by_id(graph)
    styles: set[str] = set()
    for activity in of_type(graph, "evaluation"):
        if activity["kind"] == "style":
            styles.add(activity["id"])
        if activity["kind"] == "script" and activity.get("url"):
            (next_chunk,) = activity["children"]
            parents = set(parents_of(graph, activity["id"]))
            (resource,) = [p for p in parents if activities[p]["type"] == "resource"]
            (chunk,) = parents_of(graph, resource)
            assert next_chunk in activities[chunk]["children"]
            assert parents - {resource} == styles
            styles.clear()


def test_resources_are_requested_once_over_the_network_without_server_delay(graph: Graph) -> None:
    resources = of_type(graph, "resource")
    assert len({resource["url"] for resource in resources}) == len(resources)
    for resource in resources:
        assert resource["url"].startswith("https://")
        assert resource["size_bytes"] > 0
        assert resource["server_delay_ms"] == 0
        expected = 0 if resource["id"] == graph["root"] else 1
        assert len(parents_of(graph, resource["id"])) == expected


# Index and generator


def test_index_agrees_with_the_graphs() -> None:
    index = json.loads((EXAMPLES / "pages" / "index.json").read_text())
    assert {entry["name"] for entry in index} == COMMITTED.keys()
    for entry in index:
        graph = json.loads((EXAMPLES / "pages" / entry["file"]).read_text())
        resources = of_type(graph, "resource")
        assert graph["name"] == entry["name"]
        assert graph["source"] == entry["source"]
        assert entry["resources"] == len(resources)
        assert entry["bytes"] == total_bytes(graph)
        assert entry["hosts"] == len({urlsplit(r["url"]).hostname for r in resources})


def test_readme_table_agrees_with_the_index() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for entry in json.loads((EXAMPLES / "pages" / "index.json").read_text()):
        row = f"| `{entry['name']}` | {entry['resources']} | {entry['bytes']:,} |"
        assert row in readme, row


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_committed_files_are_what_the_generator_makes() -> None:
    result = run("--check")
    assert (result.returncode, result.stderr) == (0, "")


def test_generating_again_in_the_same_process_gives_the_same_text() -> None:
    assert generate.files(generate.all_pages()) == generate.files(generate.all_pages())


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        assert run("--servers", "4", str(folder)).returncode == 0
        texts.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert texts[0] == texts[1]
    assert len(texts[0]) == 4


def test_check_names_every_file_that_differs(tmp_path: Path) -> None:
    arguments = ("--servers", "2", str(tmp_path))
    run(*arguments)
    assert run(*arguments, "--check").returncode == 0
    (tmp_path / "spdy-page-a-2-servers.json").write_text("{}")
    (tmp_path / "spdy-page-b-2-servers.json").unlink()
    (tmp_path / "stray.json").write_text("{}")
    result = run(*arguments, "--check")
    assert result.returncode == 1
    assert "spdy-page-a-2-servers.json: differs" in result.stderr
    assert "spdy-page-b-2-servers.json: missing" in result.stderr
    assert "stray.json: not made by the generator" in result.stderr


@pytest.mark.parametrize("servers", ["0", "12", "two"])
def test_impossible_number_of_servers_is_refused(servers: str, tmp_path: Path) -> None:
    result = run("--servers", servers, str(tmp_path / "none"))
    assert result.returncode != 0
    assert "--servers" in result.stderr
    assert not (tmp_path / "none").exists()


# Measured quantities


def corpus() -> Path:
    named = os.environ.get("LOADPATH_CORPUS")
    beside = [EXAMPLES.parent / up / "shared/corpus" for up in ("..", "../..")]
    for folder in [Path(named)] if named else beside:
        if (folder / "graphs").is_dir():
            return folder
    pytest.skip("the corpus is absent: set LOADPATH_CORPUS to its folder")


def test_measured_quantities_are_those_of_the_corpus() -> None:
    found = measure.measure(corpus())

    def rounded(name: str, digits: int = 2) -> dict[str, float]:
        return {kind: float(f"{value:.{digits}g}") for kind, value in found[name].items()}

    assert rounded("ms_per_kb") == {
        "html": measured.PARSE_MS_PER_KB,
        "script": measured.SCRIPT_MS_PER_KB,
        "css": measured.STYLE_MS_PER_KB,
    }
    assert rounded("mean_kb") == measured.MEAN_KB
    assert measured.MEDIAN_BYTES.items() <= rounded("median_bytes").items()


# Sizes


def test_apportion_keeps_the_sum_and_gives_the_remainder_to_the_first() -> None:
    assert sizes.apportion(11, [1, 1, 1]) == [4, 4, 3]
    assert sizes.apportion(100, [1, 3]) == [25, 75]


def test_even_rises_in_equal_steps_to_the_sum() -> None:
    assert sizes.even(5, 10, 150) == [10, 20, 30, 40, 50]


def test_logarithmic_with_the_sum_of_equal_ratios_has_equal_ratios() -> None:
    assert sizes.logarithmic(4, 10, 80, 150) == [10, 20, 40, 80]


def test_sum_outside_the_range_is_refused() -> None:
    with pytest.raises(ValueError, match="sum"):
        sizes.logarithmic(5, 10, 50, 251)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100, 133])
def test_mixed_keeps_every_item(count: int) -> None:
    assert sorted(sizes.mixed(list(range(count)))) == list(range(count))


def test_interleaved_spreads_the_few_evenly() -> None:
    assert sizes.interleaved([7, 8], [1, 2, 3, 4]) == [1, 7, 2, 3, 8, 4]

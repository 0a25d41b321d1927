"""Specifications of sweeps: what they say is checked, resolved, and written back."""

import tracemalloc
from pathlib import Path

import pytest
import tomli_w

from loadpath import LoadpathError
from loadpath._core import scenario_keys
from loadpath.errors import SpecificationError
from loadpath.experiments.sweep.pages import open_pages
from loadpath.experiments.sweep.plan import Part, Plan, flat_values
from loadpath.experiments.sweep.specification import (
    RESERVED,
    Specification,
    parse_specification,
    read_specification,
)
from loadpath.experiments.sweep.store import row_schema
from sweeps import SMALL, specification

PAGES = 'pages = ["example:figure-3-1"]\n'


def plan(spec: Specification) -> Plan:
    with open_pages(spec.pages, spec.folder, None) as pages:
        return Plan(spec, pages)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("pages = [", "not TOML", None),
        ("", "pages: which pages?", "example:*"),
        (PAGES + "rnus = 3", "rnus: unknown key", "did you mean 'runs'?"),
        (PAGES + "network.rtt_ms = 3", "network: unknown key", "[scenario] or [matrix]"),
        (PAGES + "runs = 0", "runs = 0: expected a whole number from 1", None),
        (PAGES + "runs = true", "runs = True: expected a whole number", None),
        (PAGES + 'metric = "fcp"', "metric = 'fcp': expected one of plt_ms, dcl_ms", None),
        (PAGES + 'profile = "bsd"', 'profile: there is no "bsd"', None),
        (PAGES + 'name = "a/b"', "name = 'a/b': expected letters", None),
        (PAGES + "[scenario]\nnetwork.rtt = 3", 'unknown key "network.rtt"', "network.rtt_ms"),
        (PAGES + "[matrix]\nnetwork.rtt_ms = 3", "matrix.network.rtt_ms: expected a list", "[sce"),
        (PAGES + "[matrix]\nnetwork.rtt_ms = []", "matrix.network.rtt_ms: no values", None),
        (
            PAGES + "[matrix]\nnetwork.rtt_ms = [-1]",
            "network.rtt_ms = -1: expected milliseconds from 0",
            None,
        ),
        (PAGES + '[matrix]\nnetwork.rtt_ms = [40, "0.04s"]', "40.0 is there twice", None),
        (PAGES + "[matrix]\nnetwork.rtt_ms = [[1]]", "network.rtt_ms = [1]: expected one", None),
        (PAGES + '[matrix]\nserver.model = ["auto"]', '"auto" is not one value', "leave the key"),
        (PAGES + '[matrix]\nconnectivity = ["5g"]', "there is no network named '5g'", "profiles"),
        (PAGES + "[matrix]\nrtt_ms = [1]", "matrix.rtt_ms: not a scenario key", "network.rtt_ms"),
        (PAGES + "[matrix.bytes]\na = {}", "matrix.bytes: a column of the results", None),
        (
            PAGES + '[matrix]\nnetwork.rtt_ms = [1]\nconnectivity = ["3g"]',
            "network.rtt_ms is set by network.rtt_ms and by connectivity",
            None,
        ),
        (
            PAGES + "[scenario]\nnetwork.red_max_fraction = 0.5",
            "scenario: network.red_min_fraction = 0.66: expected less than",
            None,
        ),
        (SMALL + 'variants = [{ http.version = "h1" }]', "not comparable with baseline", "other"),
        (
            SMALL.replace('baseline = { http.version = "h1" }', 'baseline = { http.tls = "none" }'),
            "compare.versions.baseline: http.tls does not vary",
            "what varies is http.version, network.rtt_ms",
        ),
        (
            SMALL.replace(
                'baseline = { http.version = "h1" }', 'baseline = { http.version = "quic" }'
            ),
            "http.version has no value 'quic'",
            "http/1.1, http/2",
        ),
        (SMALL + "margin_ms = -1", "compare.versions.margin_ms = -1: expected a number", None),
    ],
)
def test_a_mistake_is_one_clear_error(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(SpecificationError) as caught:
        specification(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("spec.toml: ")
    assert "\n" not in str(caught.value)
    notes = getattr(caught.value, "__notes__", [])
    if hint is not None:
        assert any(hint in note for note in notes), notes


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        ('["example:nothing-*"]', LoadpathError, "nothing matches 'example:nothing-*'"),
        ('["graphs/*.json"]', LoadpathError, "nothing matches 'graphs/*.json'"),
        ('{ include = ["example:*"], exclude = ["*"] }', SpecificationError, "nothing is left"),
        ('{ include = ["example:*"], sharded = true }', SpecificationError, "pages.sharded"),
        ('["corpus:*"]', LoadpathError, "needs the page corpus"),
    ],
)
def test_pages_that_are_not_there_are_an_error(
    selection: str, error: type[LoadpathError], message: str
) -> None:
    with pytest.raises(error, match="^.*" + message.replace("*", r"\*")):
        plan(specification(f"pages = {selection}"))


def test_pages_are_chosen_by_globs_and_filters(tmp_path: Path) -> None:
    def names(selection: str) -> list[str]:
        return [page.name for page in plan(specification(f"pages = {selection}")).pages]

    assert names('["example:spdy-*"]') == ["spdy-page-a", "spdy-page-b", "spdy-page-c"]
    assert names('{ include = ["example:spdy-*"], exclude = ["*-b"] }') == [
        "spdy-page-a",
        "spdy-page-c",
    ]
    assert names('{ include = ["example:spdy-*"], first = 1 }') == ["spdy-page-a"]
    few = names('{ include = ["example:*"], max_resources = 20 }')
    many = names('{ include = ["example:*"], min_resources = 21 }')
    assert sorted(few + many) == sorted(names('["example:*"]'))
    assert few
    assert many


def test_corpus_pages_are_chosen_by_name_and_sharding(corpus: Path) -> None:
    spec = specification('pages = { include = ["corpus:*"], sharded = false }')
    with open_pages(spec.pages, spec.folder, corpus) as pages:
        # 284 of the 301 pages are sharded (thesis section 5.2, FORMAT.md of the corpus).
        assert len(pages) == 301 - 284
        assert pages[0].load().name == pages[0].name


def test_the_same_matrix_in_another_order_is_the_same_plan() -> None:
    swapped = SMALL.replace(
        'network.rtt_ms = [10, "40ms"]\nhttp.version = ["h1", "h2"]',
        'http.version = ["http/1.1", "http/2"]\nnetwork.rtt_ms = ["0.01s", 40.0]',
    )
    assert swapped != SMALL
    assert plan(specification(swapped)).digest == plan(specification()).digest


@pytest.mark.parametrize(
    "change",
    [
        ("runs = 3", "runs = 4"),
        ("[10,", "[11,"),
        ("[matrix]", "[scenario]\nnetwork.queue_limit = 7\n[matrix]"),
        ('"example:spdy-page-a"', '"example:spdy-page-b"'),
        ('name = "small"', 'profile = "linux"'),
    ],
)
def test_whatever_changes_rows_changes_the_plan(change: tuple[str, str]) -> None:
    assert plan(specification(SMALL.replace(*change))).digest != plan(specification()).digest


@pytest.mark.parametrize(
    "change",
    [
        ("rows_per_part = 10", "rows_per_part = 7"),
        ("small", "large"),
        ("[compare.versions]", '[compare.other]\nmetric = "dcl_ms"'),
        ("runs = 3", "runs = 3\nseeds = [1]"),
    ],
)
def test_what_does_not_change_rows_does_not_change_the_plan(change: tuple[str, str]) -> None:
    changed = plan(specification(SMALL.replace(*change)))
    if "seeds" not in change[1]:
        assert changed.digest == plan(specification()).digest
    else:
        # A seed that is named is a column.
        assert [axis.name for axis in changed.specification.axes][-1] == "random.seed"


def test_every_load_has_a_number_of_its_own() -> None:
    p = plan(specification())
    loads = [p.load(row) for row in range(p.rows)]
    assert len(set(loads)) == p.rows == 2 * 4 * 3
    assert loads == sorted(loads)
    labels = [tuple(p.labels(index).values()) for index in range(p.scenario_count)]
    assert labels == [("http/1.1", 10.0), ("http/1.1", 40.0), ("http/2", 10.0), ("http/2", 40.0)]
    for index in range(p.scenario_count):
        values = flat_values(p.scenario(index).scenario)
        assert (values["http.version"], values["network.rtt_ms"]) == labels[index]
    assert list(p.parts()) == [Part(0, 10), Part(10, 20), Part(20, 24)]


def test_named_groups_networks_profiles_and_seeds_are_axes() -> None:
    spec = specification(
        PAGES
        + 'seeds = [1, 2]\n[matrix]\nprofile = ["pcp", "linux"]\nconnectivity = ["3g", "wpt:lte"]\n'
        + "[matrix.protocol]\nfew = { http.version = 'h1', http.connections_per_host = 2 }\n"
        + "many = { http.version = 'h1' }\n"
    )
    p = plan(spec)
    assert [axis.name for axis in spec.axes] == [
        *("connectivity", "profile", "protocol", "random.seed"),
    ]
    last = p.scenario_count - 1
    assert p.labels(last) == {
        "connectivity": "wpt:lte",
        "profile": "linux",
        "protocol": "many",
        "random.seed": 2,
    }
    values = flat_values(p.scenario(last).scenario)
    assert values["network.rate_bps"] == 12_000_000
    assert values["http.connections_per_host"] == 6
    assert values["transport.congestion"] == "cubic"
    assert p.seeds() == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        SMALL,
        PAGES
        + 'profile = "linux"\nseeds = [3, 1]\n[scenario]\nnetwork.rate_bps = "5mbit"\n'
        + 'server.model = "auto"\n[matrix]\nnetwork.rtt_ms = [199, 200]\n'
        + "[matrix.limit]\nsix = { http.connections_per_host = 6 }\nown = {}\n"
        + "[matrix.protocol]\nh1 = { http.version = 'h1' }\nh2 = { http.version = 'h2' }\n"
        + '[compare.a]\nbaseline = { protocol = "h1", limit = "six" }\n'
        + 'variants = [{ protocol = "h2", limit = "own" }]\n',
        PAGES
        + '[matrix]\nprofile = ["linux", "pcp"]\nconnectivity = ["cable", "browsertime:3g"]\n',
        PAGES,
    ],
)
def test_the_resolved_specification_makes_the_same_plan(text: str, tmp_path: Path) -> None:
    original = plan(specification(text))
    constants = flat_values(original.scenario(0).scenario)
    for scenario in original.scenarios():
        values = flat_values(scenario.scenario)
        constants = {k: v for k, v in constants.items() if values[k] == v}
    written = tomli_w.dumps(original.to_document(constants))
    again = parse_specification(written, origin="x", folder=tmp_path, name="other")
    assert plan(again).digest == original.digest
    assert again.comparisons == original.specification.comparisons
    assert again.name == original.specification.name


def test_a_page_that_changed_is_not_taken_for_the_planned_one() -> None:
    text = tomli_w.dumps(plan(specification()).to_document({}))
    digest = plan(specification()).pages[0].digest
    with pytest.raises(SpecificationError, match="figure-3-1 has changed since the plan was made"):
        plan(specification(text.replace(digest, digest[::-1])))


def test_axes_cannot_hide_a_column() -> None:
    columns = row_schema(plan(specification(PAGES))).names
    assert set(columns) <= RESERVED
    assert not RESERVED & {key["name"] for key in scenario_keys()}


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match=r"there is no specification .*nothing\.toml"):
        read_specification(tmp_path / "nothing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff")
    with pytest.raises(SpecificationError, match="not UTF-8 at byte 0"):
        read_specification(tmp_path / "binary.toml")


def test_a_plan_of_21_million_loads_takes_no_memory_for_them() -> None:
    text = """
    pages = ["example:*"]
    runs = 35_000
    [matrix]
    network.rate_bps = ["0.5mbit", "1mbit", "5mbit", "10mbit", "25mbit"]
    network.rtt_ms = [8, 40, 100, 200, 400]
    """
    spec = specification(text)
    with open_pages(spec.pages, spec.folder, None) as pages:
        tracemalloc.start()
        p = Plan(spec, pages)
        assert p.rows == 24 * 25 * 35_000 == 21_000_000
        assert p.load(p.rows - 1) == (23, 24, 34_999)
        assert len(p.digest) == 16
        assert sum(part.rows for part in p.parts()) == p.rows
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 2_000_000

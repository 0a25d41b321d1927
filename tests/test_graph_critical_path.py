"""Critical paths of recordings and of simulated loads."""

import json
import random

import msgspec
import pytest

import loadpath
from conftest import Loadpath
from loadpath import LoadpathError, NotFoundError
from loadpath.graphs import Graph, critical_path, read_graph, simulated_critical_path
from loadpath.outcome import Phases
from loadpath.pages import example_names
from page_builder import all_kinds, evaluation, events, graph, resource


def random_graph(seed: int) -> Graph:
    """A dozen scripts with random edges from earlier to later ones, some not before load."""
    draw = random.Random(seed)
    count = 12
    scripts = []
    for i in range(count):
        later = [f"s{j}" for j in range(i + 1, count) if draw.random() < 0.3]
        last = [end for end in ("dcl", "load") if draw.random() < 0.3]
        phase = "end" if draw.random() < 0.15 else "dom"
        # Whole numbers, often equal: ties are common in recordings.
        scripts.append(
            evaluation(f"s{i}", *later, *last, ms=float(draw.randint(0, 4)), phase=phase)
        )
    first = [f"s{i}" for i in range(count) if draw.random() < 0.3]
    return graph(resource("root", "dcl", *first), *scripts, *events())


def all_paths_ms(page: Graph, id: str) -> list[float]:
    """Sums of durations on all paths from an activity to the load event."""
    if id == page.load_event:
        return [0.0]
    onward = [
        rest
        for child in page.children[id]
        if child in page.until_load
        for rest in all_paths_ms(page, child)
    ]
    return [page.durations_ms[id] + rest for rest in onward]


@pytest.mark.parametrize("seed", range(50))
def test_no_path_is_longer(seed: int) -> None:
    page = random_graph(seed)
    path = critical_path(page)
    assert path.total_ms == max(all_paths_ms(page, page.root))
    assert path.ids[0] == page.root and path.ids[-1] == page.load_event
    for parent, child in zip(path.ids, path.ids[1:], strict=False):
        assert child in page.children[parent]
    assert path.total_ms == sum(step.duration_ms for step in path.steps)
    assert path.total_ms == sum(path.by_kind_ms.values())


def test_durations_of_downloads_are_those_of_the_recording() -> None:
    page = graph(
        resource("root", "image", "dcl", recorded_sent_ms=0.0, recorded_received_ms=40.0),
        resource("image", "load", recorded_sent_ms=50.0, recorded_received_ms=125.0),
        *events(),
    )
    path = critical_path(page)
    assert path.ids == ["root", "image", "load"]
    assert path.by_kind_ms == {"resource": 115.0}


def test_waits_of_timers_count_on_demand() -> None:
    page = graph(
        resource("root", "script", "timer", "dcl"),
        evaluation("script", "load", ms=5.0),
        evaluation("timer", "load", kind="timer", ms=1.0, timeout_ms=100.0),
        *events(),
    )
    assert critical_path(page).ids == ["root", "script", "load"]
    path = critical_path(page, timer_waits=True)
    assert path.ids == ["root", "timer", "load"]
    assert path.by_kind_ms == {"timer wait": 100.0, "timer": 1.0}
    assert path.total_ms == 101.0


def test_the_path_to_another_activity() -> None:
    path = critical_path(all_kinds(), target="font")
    assert path.ids[-2:] == ["style", "font"]
    late = critical_path(all_kinds(), target="beacon")
    assert late.ids[-3:] == ["load", "late", "beacon"]
    with pytest.raises(NotFoundError, match="no activity 'nowhere'"):
        critical_path(all_kinds(), target="nowhere")


@pytest.mark.parametrize("name", example_names())
@pytest.mark.parametrize("http", ["h1", "h2"])
@pytest.mark.parametrize("profile", ["pcp", "linux"])
def test_a_simulated_path_adds_up_to_the_load_time(name: str, http: str, profile: str) -> None:
    source = f"example:{name}"
    page = read_graph(source)
    [outcome] = loadpath.simulate(source, profile=profile, connectivity="3g", http=http)
    path = simulated_critical_path(page, outcome)
    assert path.total_ms == pytest.approx(outcome.plt_ms, abs=1e-3)
    assert path.ids[0] == page.root and path.ids[-1] == page.load_event
    assert all(
        min(step.duration_ms, step.timer_wait_ms, step.busy_wait_ms) >= 0 for step in path.steps
    )
    resources = {resource.id: resource for resource in outcome.resources}
    for step in path.steps:
        assert (step.phases_ms is not None) == (step.kind == "resource" and step.duration_ms > 0)
        if step.phases_ms is not None:
            assert sum(step.phases_ms.values()) == pytest.approx(step.duration_ms, abs=1e-3)
    assert outcome.critical_path is not None
    phases = msgspec.structs.asdict(outcome.critical_path.phases)
    assert sum(phases.values()) == pytest.approx(outcome.plt_ms, abs=1e-6)
    network_ms = sum(phases[name] for name in Phases.__struct_fields__)
    assert network_ms == pytest.approx(path.by_kind_ms["resource"], abs=1e-6)
    assert phases["main_thread_wait_ms"] == pytest.approx(
        path.by_kind_ms.get("busy main thread", 0.0), abs=1e-6
    )
    awaited = [step for step in outcome.critical_path.steps if step.bytes is not None]
    assert outcome.critical_path.bytes == sum(step.bytes or 0 for step in awaited)
    for step in awaited:
        assert step.bytes <= resources[step.id].size_bytes
        assert step.start_ms == resources[step.id].start_ms


def test_the_main_thread_is_busy_where_a_simulated_path_says_so() -> None:
    source = "example:shape-yahoo"
    [outcome] = loadpath.simulate(source, trace=True, connectivity="fios")
    path = simulated_critical_path(read_graph(source), outcome)
    assert outcome.trace is not None
    busy = [(span.start_ms, span.end_ms) for span in outcome.trace.main_thread]
    at_ms = 0.0
    for step in path.steps:
        begins, ends = at_ms + step.timer_wait_ms, at_ms + step.timer_wait_ms + step.busy_wait_ms
        at_ms = ends + step.duration_ms
        covered = sum(max(0.0, min(end, ends) - max(start, begins)) for start, end in busy)
        assert covered == pytest.approx(ends - begins, abs=1e-3)


def test_the_simulated_path_follows_the_network() -> None:
    # A large image in parallel with a long script: which of them matters depends on the rate.
    page = json.dumps(
        graph(
            resource("root", "image", "script", "dcl"),
            resource("image", "load", size_bytes=200_000),
            evaluation("script", "load", ms=500.0),
            *events(),
        ).data
    ).encode()
    for rate, expected in (("100mbit", "script"), ("1mbit", "image")):
        [outcome] = loadpath.simulate(
            loadpath.Page.from_json(page, "by hand"), rate=rate, rtt_ms=20
        )
        path = simulated_critical_path(Graph.from_json(page, "by hand"), outcome)
        assert path.ids == ["root", expected, "load"]


def test_a_load_that_tells_nothing_of_its_path_is_an_error() -> None:
    page = read_graph("example:figure-3-1")
    [outcome] = loadpath.simulate("example:figure-3-1")
    mute = msgspec.structs.replace(outcome, label="emulated", critical_path=None)
    with pytest.raises(LoadpathError, match="this emulated load has no critical path"):
        simulated_critical_path(page, mute)
    [failed] = loadpath.simulate("example:figure-3-1", set={"limits.time_ms": 1})
    with pytest.raises(LoadpathError, match="the load failed: not loaded by"):
        simulated_critical_path(page, failed)


def test_scenario_options_imply_a_simulated_load(loadpath: Loadpath) -> None:
    def basis(*options: str) -> str:
        result = loadpath("graph", "critical-path", "example:figure-3-1", "--json", *options)
        assert result.returncode == 0, result.stderr
        return str(json.loads(result.stdout)["basis"])

    assert basis() == basis("--timer-waits") == "recorded"
    for options in (
        ["--simulate"],
        ["-c", "3g"],
        ["--run", "1"],
        ["--set", "http.version=http/1.1"],
    ):
        assert basis(*options) == "simulated"
    table = loadpath("graph", "critical-path", "example:figure-3-1").stdout
    assert "recorded: 7.04 ms" in table and "comp_2" in table

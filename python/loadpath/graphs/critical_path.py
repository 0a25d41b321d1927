"""The critical path: what the load event waited for.

That of a recording is the longest path by recorded durations, an estimate (`critical_path`); that of
a simulated load is what its browser really waited for, which the engine tells
(`simulated_critical_path`).
"""

import msgspec

from loadpath.errors import LoadpathError, NotFoundError
from loadpath.graphs.graph import Graph
from loadpath.outcome import Outcome

__all__ = ["CriticalPath", "Step", "critical_path", "simulated_critical_path"]


TIMER_WAIT = "timer wait"
BUSY_WAIT = "busy main thread"


class Step(msgspec.Struct, frozen=True):
    """An activity of the critical path.

    Attributes
    ----------
    id, kind, subject
        The activity, its kind, and the URL or name that it is about.
    timer_wait_ms
        A timer's wait between the end of the step before and its start.
    busy_wait_ms
        In a simulated load: time between the end of the step before and its start in which the main
        thread did something else.
    duration_ms
        Time that it adds to the path.
    phases_ms
        In a simulated load: where the time of a resource went, as far as it was awaited.
    """

    id: str
    kind: str
    subject: str
    timer_wait_ms: float
    busy_wait_ms: float
    duration_ms: float
    phases_ms: dict[str, float] | None = None


class CriticalPath(msgspec.Struct, frozen=True):
    """The longest path from the main document's request to an activity, the load event by default.

    Attributes
    ----------
    page, target
        Name of the page, id of the activity.
    basis
        "recorded": durations of the recording; "simulated": times of a simulated load.
    total_ms
        Sum of all waits and durations; of a simulated load its page load time.
    by_kind_ms
        The same sum by kind of activity, waits as "timer wait" and "busy main thread"; the largest
        first.
    steps
        From the main document on.
    """

    page: str
    target: str
    basis: str
    total_ms: float
    by_kind_ms: dict[str, float]
    steps: list[Step]

    @property
    def ids(self) -> list[str]:
        """Ids of the activities on the path, from the main document on."""
        return [step.id for step in self.steps]


def critical_path(
    graph: Graph, *, target: str | None = None, timer_waits: bool = False
) -> CriticalPath:
    """The longest path by recorded durations (Algorithm 1 of the PCP thesis, section 3.5.3.2).

    Parameters
    ----------
    graph
        The page graph.
    target
        Id of the activity at whose start the path ends; the load event by default.
    timer_waits
        Count the wait of timers, which the thesis's algorithm leaves out.

    Raises
    ------
    NotFoundError
        There is no such activity, or no path leads to it.

    >>> from loadpath.graphs import read_graph
    >>> critical_path(read_graph("example:figure-3-1")).ids[-3:]
    ['pchunk_0_3', 'comp_3', 'comp_4']
    """
    target = target or graph.load_event
    if target not in graph.activities:
        raise NotFoundError(f"{graph.name}: there is no activity {target!r}")
    # Nothing that the recording ran after the load event can have delayed it.
    within = graph.until_load if target in graph.until_load else graph.activities.keys()
    length_ms: dict[str, float] = {graph.root: 0.0}
    before: dict[str, str] = {}
    own_ms = graph.durations_ms
    waits_ms = {id: _timer_wait_ms(graph, id) if timer_waits else 0.0 for id in within}
    for id in graph.topological_order:
        if id not in within:
            continue
        # `length_ms` is the time to the start of an activity.
        for parent in graph.parents[id]:
            if parent in length_ms:
                through = length_ms[parent] + waits_ms[parent] + own_ms[parent]
                if id not in length_ms or through > length_ms[id]:
                    length_ms[id] = through
                    before[id] = parent
    if target not in length_ms:
        raise NotFoundError(f"{graph.name}: no path leads from the main document to {target}")
    path = [target]
    while path[-1] in before:
        path.append(before[path[-1]])
    path.reverse()
    steps = [
        Step(
            id=id,
            kind=graph.kinds[id].value,
            subject=graph.subject(id),
            # The path ends when its target starts.
            timer_wait_ms=0.0 if id == target else waits_ms[id],
            busy_wait_ms=0.0,
            duration_ms=0.0 if id == target else own_ms[id],
        )
        for id in path
    ]
    return _path(graph, target, "recorded", steps)


def _timer_wait_ms(graph: Graph, id: str) -> float:
    activity = graph.activities[id]
    # A later piece of a computation does not wait again.
    if "continues" in activity:
        return 0.0
    return float(activity.get("timeout_ms") or 0.0)


def simulated_critical_path(graph: Graph, outcome: Outcome) -> CriticalPath:
    """What the load event of a simulated load waited for, in the words of the graph.

    The simulated browser itself notes at whose completion each activity was executed and each
    request made (`crates/web/src/browser/critical_path.rs`); this adds kinds and subjects. The
    steps' waits and durations sum up to the page load time.

    Parameters
    ----------
    graph
        The page graph that was loaded.
    outcome
        A complete simulated load.

    Raises
    ------
    LoadpathError
        The load failed, or its outcome has no critical path.
    """
    if outcome.plt_ms is None:
        raise LoadpathError(f"{outcome.page}: the load failed: {outcome.status.reason}")
    if outcome.critical_path is None:
        raise LoadpathError(f"{outcome.page}: this {outcome.label} load has no critical path")
    steps = [
        Step(
            id=step.id,
            kind=graph.kinds[step.id].value,
            subject=graph.subject(step.id),
            timer_wait_ms=step.timer_wait_ms,
            busy_wait_ms=step.main_thread_wait_ms,
            duration_ms=step.end_ms - step.start_ms,
            phases_ms=step.phases and msgspec.structs.asdict(step.phases),
        )
        for step in outcome.critical_path.steps
    ]
    return _path(graph, graph.load_event, "simulated", steps)


def _path(graph: Graph, target: str, basis: str, steps: list[Step]) -> CriticalPath:
    by_kind_ms: dict[str, float] = {}

    def add(kind: str, ms: float) -> None:
        if ms > 0:
            by_kind_ms[kind] = by_kind_ms.get(kind, 0.0) + ms

    for step in steps:
        add(TIMER_WAIT, step.timer_wait_ms)
        add(BUSY_WAIT, step.busy_wait_ms)
        add(step.kind, step.duration_ms)
    by_kind_ms = dict(sorted(by_kind_ms.items(), key=lambda item: -item[1]))
    return CriticalPath(graph.name, target, basis, sum(by_kind_ms.values()), by_kind_ms, steps)

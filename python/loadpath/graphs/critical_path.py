"""The critical path: what the load event waited for."""

import msgspec

from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.graphs.graph import Graph, Kind
from loadpath.outcome import MainThreadRecord, Outcome

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
        In a simulated load: where the time of a resource went that was awaited as a whole.
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
    """What the load event of a simulated load waited for, from its trace.

    Goes back from the load event, always on to the parent that completed last. What a parse chunk
    waited for without a parent ending at its start are bytes of its document; what the preload
    scanner found was found in the bytes of its document. The steps' waits and durations sum up to
    the page load time.

    Parameters
    ----------
    graph
        The page graph that was loaded.
    outcome
        A complete load with its trace.

    Raises
    ------
    LoadpathError
        The load failed, or has no trace.
    """
    if outcome.plt_ms is None:
        raise LoadpathError(f"{outcome.page}: the load failed: {outcome.status.reason}")
    if outcome.trace is None:
        raise hinted(
            LoadpathError(f"{outcome.page}: the outcome has no trace"), "simulate with trace=True"
        )
    steps = _Walk(graph, outcome, outcome.trace.main_thread).steps()
    return _path(graph, graph.load_event, "simulated", steps)


EPSILON_MS = 1e-6
"""The engine counts nanoseconds; times closer than one are equal."""


class _Walk:
    """Goes back through a simulated load."""

    def __init__(
        self, graph: Graph, outcome: Outcome, main_thread: tuple[MainThreadRecord, ...]
    ) -> None:
        self._graph = graph
        self._resources = {resource.id: resource for resource in outcome.resources}
        self._spans = {span.id: span for span in main_thread}
        self._idle_from = {round(span.end_ms / EPSILON_MS) for span in main_thread}
        self._references: dict[str, list[str]] = {}
        self._documents: dict[int, str] = {}
        for id, activity in graph.activities.items():
            if "original" in activity:
                self._references.setdefault(activity["original"], []).append(id)
            if graph.kinds[id] is Kind.DOWNLOAD:
                self._documents.setdefault(graph.frame_of[id], activity["resource"])
        self._times: dict[str, tuple[float, float]] = {}
        for id in graph.topological_order:
            if id in graph.until_load:
                self._times[id] = self._start_and_end(id)

    def _start_and_end(self, id: str) -> tuple[float, float]:
        """When an activity started and completed; what never did completed infinitely late."""
        if id in self._spans:
            return self._spans[id].start_ms, self._spans[id].end_ms
        asked_ms = self._latest(self._parents(id))
        response = self._response(id)
        if response is None or response[1] <= asked_ms:
            # The preload scanner had it before the activity's turn came.
            return asked_ms, asked_ms
        # A repeated request waits for the one that serves it.
        return response if id in self._resources else (asked_ms, response[1])

    def _response(self, id: str) -> tuple[float, float] | None:
        """When the response that serves a resource was requested and complete."""
        resource = self._resources.get(self._graph.activities[id].get("original", id))
        if resource is None:
            return None
        return resource.start_ms, float("inf") if resource.end_ms is None else resource.end_ms

    def _parents(self, id: str) -> list[str]:
        return [parent for parent in self._graph.parents[id] if parent in self._graph.until_load]

    def _latest(self, ids: list[str]) -> float:
        return max((self._times[id][1] for id in ids), default=0.0)

    def steps(self) -> list[Step]:
        """The path, from the main document on."""
        id = self._graph.load_event
        start_ms = until_ms = self._times[id][0]
        steps = []
        while True:
            parent, parent_start_ms, parent_end_ms = self._awaited(id, start_ms)
            steps.append(self._step(id, start_ms, until_ms, start_ms - parent_end_ms))
            if parent is None:
                return steps[::-1]
            id, start_ms, until_ms = parent, min(parent_start_ms, parent_end_ms), parent_end_ms

    def _awaited(self, id: str, start_ms: float) -> tuple[str | None, float, float]:
        """What an activity that started at `start_ms` waited for last; from when and until when."""
        if id == self._graph.root:
            return None, start_ms, start_ms
        parents = self._parents(id)
        document = self._documents.get(self._graph.frame_of[id])
        if self._graph.kinds[id] is Kind.PARSE and document is not None:
            others = [p for p in parents if self._graph.kinds[p] is not Kind.DOWNLOAD]
            late = start_ms - self._latest(others) > EPSILON_MS
            if not others or (late and round(start_ms / EPSILON_MS) not in self._idle_from):
                return self._bytes_of(document, start_ms)
            parents = others
        if self._latest(parents) - start_ms > EPSILON_MS:
            # Requested before its parents had completed: for a reference to it, or by the scanner.
            causes = [self._parents(reference) for reference in self._references.get(id, ())]
            causes = [c for c in causes if c and self._latest(c) - start_ms <= EPSILON_MS]
            if causes:
                parents = max(causes, key=self._latest)
            elif document is not None and document != id:
                return self._bytes_of(document, start_ms)
        if not parents:
            return None, start_ms, start_ms
        parent = max(parents, key=lambda parent: self._times[parent][1])
        parent_start_ms, parent_end_ms = self._times[parent]
        original = self._graph.activities[parent].get("original")
        response = self._response(parent)
        if original is not None and response is not None and response[1] == parent_end_ms:
            return original, response[0], min(parent_end_ms, start_ms)
        return parent, parent_start_ms, min(parent_end_ms, start_ms)

    def _bytes_of(self, document: str, until_ms: float) -> tuple[str, float, float]:
        return document, (self._response(document) or self._times[document])[0], until_ms

    def _step(self, id: str, start_ms: float, until_ms: float, wait_ms: float) -> Step:
        timer_wait_ms = min(wait_ms, _timer_wait_ms(self._graph, id))
        phases_ms = None
        resource = self._resources.get(id)
        if resource is not None and resource.phases is not None and resource.end_ms == until_ms:
            phases_ms = msgspec.structs.asdict(resource.phases)
        return Step(
            id=id,
            kind=self._graph.kinds[id].value,
            subject=self._graph.subject(id),
            timer_wait_ms=timer_wait_ms,
            busy_wait_ms=wait_ms - timer_wait_ms,
            duration_ms=until_ms - start_ms,
            phases_ms=phases_ms,
        )


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

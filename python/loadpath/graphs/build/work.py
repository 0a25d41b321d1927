"""Main-thread work outside the 25 rules, and how much of the busy time a graph explains.

Every task of a main thread before the load event is divided: what parsing and computations took,
what rendering and garbage collection took, and the rest, which belongs to whatever the task was
about. What hangs on no activity stays unexplained. Executors that follow the thesis give all this
no duration.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadpath.graphs.build.computations import Computation, ThreadWork, Work
from loadpath.graphs.build.nodes import Node
from loadpath.graphs.build.recording import Recording
from loadpath.graphs.build.trace import Slice

if TYPE_CHECKING:
    from loadpath.graphs.build.builder import Builder

__all__ = ["BusyTime", "add_other_work", "busy_time", "other_totals"]

LEAST_MS = 0.05
"""Less work than this on one trigger is left out: thousands of activities would hold nothing."""

UNEXPLAINED = "unexplained"
RULES = "rules"

RESPONSE = "response"
"""Kind of the work that begins a response; a document's is the navigation's commit."""

_ARRIVALS = frozenset({"ResourceReceiveResponse", "ResourceReceivedData", "ResourceFinish"})


@dataclass
class _Share:
    """Part of a task's time, in microseconds, and what it hangs on."""

    kind: str
    amount: float
    thread: ThreadWork
    time: float
    frame: str = ""
    request: str = ""
    computation: Computation | None = None


def _shares(recording: Recording) -> Iterator[_Share]:
    """The time of all main threads before the load event, divided."""
    for thread in recording.threads:
        if not thread.thread.is_main:
            continue
        computations: dict[int, list[Computation]] = defaultdict(list)
        work: dict[int, list[Work]] = defaultdict(list)
        for computation in thread.computations:
            if computation.outer is None:
                computations[id(_task_of(computation.slice))].append(computation)
        for other in thread.work:
            work[id(_task_of(other.slice))].append(other)
        for task in thread.thread.roots:
            if recording.start <= task.start < recording.load:
                yield from _divide(thread, task, computations[id(task)], work[id(task)])


def _divide(
    thread: ThreadWork, task: Slice, computations: list[Computation], work: list[Work]
) -> Iterator[_Share]:
    ran = sum(c.end - c.start for c in computations)
    parsed = sum(w.duration for w in work if w.kind == "parse")
    rendering = [w for w in work if w.kind != "parse"]
    yield _Share(RULES, ran + parsed, thread, task.start)
    for other in rendering:
        yield _Share(other.kind, other.duration, thread, other.start, other.frame)
    rest = max(0.0, task.duration - ran - parsed - sum(w.duration for w in rendering))
    arrived, kind, sent = _requests(task)
    if computations:
        yield _Share("task", rest, thread, task.end, computation=computations[-1])
    elif parsed:
        frame = next(w.frame for w in work if w.kind == "parse")
        yield _Share("task", rest, thread, task.end, frame)
    elif arrived:
        yield _Share(kind, rest, thread, task.start, request=arrived)
    elif rendering:
        yield _Share(rendering[0].kind, rest, thread, task.start, rendering[0].frame)
    elif sent:
        yield _Share("requesting", rest, thread, task.start, sent)
    else:
        yield _Share(UNEXPLAINED, rest, thread, task.start)


def _task_of(found: Slice) -> Slice:
    while found.parent is not None:
        found = found.parent
    return found


def _requests(task: Slice) -> tuple[str, str, str]:
    """The request whose response a task handles, and how; the frame for which it sends some."""
    arrived = sent = ""
    kind = "loading"
    for found in task.walk():
        if found.name in _ARRIVALS:
            arrived = str(found.data.get("requestId", ""))
            if found.name == "ResourceReceiveResponse":
                kind = RESPONSE
        elif found.name == "ResourceSendRequest":
            sent = str(found.data.get("frame", ""))
    return arrived, kind, sent


@dataclass
class BusyTime:
    """Microseconds of main threads between navigation and load event."""

    by_rules: float = 0.0
    other: float = 0.0
    unexplained: float = 0.0

    @property
    def busy(self) -> float:
        """All of it."""
        return self.by_rules + self.other + self.unexplained


def busy_time(recording: Recording) -> BusyTime:
    """How busy the main threads were, and with what."""
    result = BusyTime()
    for share in _shares(recording):
        if share.kind == RULES:
            result.by_rules += share.amount
        elif share.kind == UNEXPLAINED:
            result.unexplained += share.amount
        else:
            result.other += share.amount
    return result


def other_totals(recording: Recording) -> dict[str, float]:
    """Microseconds of other main-thread work by kind."""
    totals: dict[str, float] = defaultdict(float)
    for share in _shares(recording):
        totals[share.kind] += share.amount
    return totals


def add_other_work(builder: "Builder") -> None:
    """An activity for each trigger and kind of work before the load event.

    What a main thread does with a response comes before whatever waits for the resource, and a
    navigation's commit before the document is parsed.
    """
    totals = other_totals(builder.recording)
    timings = [other_totals(recording) for recording in builder.timings]
    amounts: dict[tuple[str, str], float] = defaultdict(float)
    triggers: dict[str, Node] = {}
    frames: dict[str, int] = {}
    first_chunks = _first_chunks(builder)
    by_id = {r.id: r for r in builder.requests if r.redirected_to is None and not r.refers_to}
    for share in _shares(builder.recording):
        if share.kind in (RULES, UNEXPLAINED):
            continue
        request = by_id.get(share.request)
        frame = request.frame if request is not None else share.frame
        trigger = builder.resource_of.get(request.key) if request is not None else None
        trigger = trigger or _trigger(builder, share)
        if trigger is None:
            continue
        kind = share.kind
        if kind == RESPONSE:
            kind = "commit" if trigger.id in first_chunks else "loading"
        amounts[trigger.id, kind] += share.amount * _scale(share.kind, totals, timings)
        triggers[trigger.id] = trigger
        frames.setdefault(trigger.id, builder.frame(frame))
    for number, ((trigger_id, kind), amount) in enumerate(amounts.items()):
        if amount < LEAST_MS * 1000.0:
            continue
        trigger = triggers[trigger_id]
        node = builder.nodes.add(
            f"work_{number}",
            trigger.time,
            type="main_thread",
            frame=frames[trigger_id],
            kind=kind,
            duration_ms=round(amount / 1000.0, 4),
        )
        if kind == "commit":
            chunk = first_chunks[trigger_id]
            node.after(*(each for each in chunk.parents.values() if each.type == "download_chunk"))
            chunk.after(node)
            continue
        if kind == "loading" and trigger_id not in first_chunks:
            builder.nodes.insert_after(trigger, node)
        node.after(trigger)


def _first_chunks(builder: "Builder") -> dict[str, Node]:
    """The first parse chunk of each document, by the id of its resource."""
    found = {}
    for shown in builder.documents.values():
        for document in shown:
            if document.request is not None and document.chunks:
                resource = builder.resource_of.get(document.request.key)
                if resource is not None:
                    found[resource.id] = document.chunks[0]
    return found


def _scale(kind: str, totals: dict[str, float], timings: list[dict[str, float]]) -> float:
    """What passes that record little say of a kind, over what the structure pass says."""
    if not timings or not totals[kind]:
        return 1.0
    found = sorted(timing.get(kind, 0.0) for timing in timings)
    return found[len(found) // 2] / totals[kind]


def _trigger(builder: "Builder", share: _Share) -> Node | None:
    """What the work hangs on: its own computation, or what ran last on the thread."""
    if share.computation is not None and share.computation in builder.pieces:
        return builder.last_piece(share.computation)
    if share.kind in ("task", "requesting"):
        chunk = builder.chunk_parsed_at(share.frame, share.time)
        if chunk is not None:
            return chunk
    latest = None
    for computation in share.thread.computations:
        if computation.start > share.time:
            break
        if computation in builder.pieces and computation.outer is None:
            latest = computation
    parsed = None
    for work in share.thread.work:
        if work.start > share.time:
            break
        if work.kind == "parse" and work.start >= builder.recording.start:
            parsed = work
    if parsed is not None and (latest is None or parsed.start > latest.start):
        return builder.chunk_parsed_at(parsed.frame, share.time)
    if latest is not None:
        return builder.piece_at(latest, share.time)
    return next(iter(builder.resource_of.values()), None)

"""Chrome traces: what ran on each thread, as trees of nested slices.

Times are microseconds of the trace's clock, which is the monotonic clock of DevTools events, too.
"""

import gzip
import io
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import ijson  # type: ignore[import-untyped]
import msgspec

from loadpath.errors import LoadpathError, hinted

__all__ = ["Slice", "Thread", "Trace", "TraceEvent", "open_trace", "read_trace", "stream_events"]

# Everything else is skipped while reading, so that memory follows the page, not the trace.
SLICES = frozenset(
    {
        # Tasks of a thread's message loop: what is busy, and which events belong together.
        "RunTask",
        "ThreadControllerImpl::RunTask",
        # Parser and preload scanner.
        "ParseHTML",
        "HTMLDocumentParser::ScanAndPreload",
        "HTMLParserScriptRunner::execute",
        "ParseAuthorStyleSheet",
        # Scripts and callbacks.
        "EvaluateScript",
        "v8.evaluateModule",
        "FunctionCall",
        "TimerFire",
        "FireAnimationFrame",
        "FireIdleCallback",
        "EventDispatch",
        "XHRReadyStateChange",
        "XHRLoad",
        "RunMicrotasks",
        "LocalFrameView::NotifyResizeObservers",
        "MessagePort::Accept",
        # Who asked for what.
        "AsyncTask Scheduled",
        "AsyncTask Run",
        "ResourceFetcher::requestResource",
        # Rendering and memory.
        "UpdateLayoutTree",
        "Layout",
        "PrePaint",
        "Paint",
        "Layerize",
        "Commit",
        "MinorGC",
        "MajorGC",
        "BlinkGC.AtomicPhase",
        "V8.GCScavenger",
        "V8.GCFinalizeMC",
        "Decode Image",
        "ImageDecodeTask",
    }
)
INSTANTS = frozenset(
    {
        "ResourceSendRequest",
        "ResourceReceiveResponse",
        "ResourceReceivedData",
        "ResourceFinish",
        "ResourceMarkAsCached",
        "TimerInstall",
        "TimerRemove",
        "RequestAnimationFrame",
        "RequestIdleCallback",
        "SchedulePostMessage",
        "HandlePostMessage",
        "TimeStamp",
        "MarkDOMContent",
        "MarkLoad",
    }
)
MAX_DEPTH = 500
"""Deepest nesting of a trace; those of Chromium have some ten levels."""
MAX_HEAD_LINE = 1 << 20
"""Longest piece of a line before the events that is looked at."""
_FLOW_STARTS = frozenset({"s", "t"})
_FLOW_ENDS = frozenset({"f", "t"})


class FlowEnd(NamedTuple):
    """One end of a flow arrow; they sort by time, then as recorded."""

    ts: float
    order: int
    is_tail: bool
    thread: tuple[int, int]
    flow: str
    # A thread stamps that it posted a message after it did so. If the receiver began before that,
    # the arrow starts there.
    backwards: bool


class TraceEvent(msgspec.Struct):
    """An event as the file has it."""

    name: str = ""
    ph: str = ""
    pid: int = 0
    tid: int = 0
    ts: float = 0.0
    dur: float = 0.0
    cat: str = ""
    id: str | int | None = None
    args: dict[str, Any] | None = None


class Slice:
    """A stretch of a thread's time, or a moment (`end` equal to `start`, no children)."""

    __slots__ = ("args", "caused_by", "children", "end", "name", "parent", "start")

    def __init__(self, name: str, start: float, end: float, args: dict[str, Any]) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.args = args
        self.parent: Slice | None = None
        self.children: list[Slice] = []
        # The slice from which a flow arrow leads here: where this asynchronous task was scheduled.
        self.caused_by: Slice | None = None

    def __repr__(self) -> str:
        return f"<{self.name} {self.start:.0f}-{self.end:.0f}>"

    @property
    def data(self) -> dict[str, Any]:
        """The event's own fields, which Chromium keeps below `data` or `beginData`."""
        data = self.args.get("data") or self.args.get("beginData") or self.args
        return data if isinstance(data, dict) else self.args

    @property
    def duration(self) -> float:
        """In microseconds."""
        return self.end - self.start

    def ancestors(self) -> "Iterator[Slice]":
        """From the slice itself outwards."""
        at: Slice | None = self
        while at is not None:
            yield at
            at = at.parent

    def walk(self) -> "Iterator[Slice]":
        """The slice and everything in it, in order of starts."""
        stack = [self]
        while stack:
            at = stack.pop()
            yield at
            stack.extend(reversed(at.children))


class Thread:
    """What one thread did, as outermost slices in order of starts."""

    def __init__(self, process: int, thread: int, name: str) -> None:
        self.process = process
        self.id = thread
        self.name = name
        self.roots: list[Slice] = []

    @property
    def is_main(self) -> bool:
        """Whether it is a renderer's main thread."""
        return self.name == "CrRendererMain"

    @property
    def is_worker(self) -> bool:
        """Whether it runs a dedicated worker."""
        return self.name.startswith("DedicatedWorker")

    def walk(self) -> Iterator[Slice]:
        """All slices in order of starts."""
        for root in self.roots:
            yield from root.walk()

    def at(self, time: float) -> Slice | None:
        """The innermost slice that covers a time."""
        found = None
        slices = self.roots
        while slices:
            index = bisect_right(slices, time, key=lambda s: s.start) - 1
            while index >= 0 and not slices[index].children and slices[index].end < time:
                index -= 1
            if index < 0 or slices[index].end < time:
                break
            found = slices[index]
            slices = found.children
        return found


class Trace:
    """A read trace.

    Attributes
    ----------
    threads
        The renderers' main threads and dedicated workers, by (process, thread) id.
    processes
        Names of processes by id.
    """

    def __init__(self) -> None:
        self.threads: dict[tuple[int, int], Thread] = {}
        self.processes: dict[int, str] = {}
        self.metadata: dict[str, Any] = {}

    def main_threads(self) -> list[Thread]:
        """The renderers' main threads that did something, busiest first."""
        threads = [t for t in self.threads.values() if t.is_main and t.roots]
        return sorted(threads, key=lambda t: -sum(s.duration for s in t.roots))


def read_trace(path: Path, also: Callable[[TraceEvent], None] | None = None) -> Trace:
    """Read a Chrome trace in JSON, plain or gzip; `also` is shown every event.

    Only the slices and moments that page graphs are made of are kept.

    Raises
    ------
    LoadpathError
        The file is no Chrome trace, or cut off.
    """
    trace = Trace()
    slices: dict[tuple[int, int], list[Slice]] = {}
    flows: list[FlowEnd] = []
    open_slices: dict[tuple[int, int], list[Slice]] = {}
    names: dict[tuple[int, int], str] = {}
    count = 0
    for event in stream_events(path):
        count += 1
        if also is not None:
            also(event)
        key = (event.pid, event.tid)
        if event.ph in _FLOW_STARTS or event.ph in _FLOW_ENDS:
            if event.id is not None:
                flow = f"{event.cat}:{event.id}"
                backwards = event.name == "HandlePostMessage"
                flows.append(FlowEnd(event.ts, count, event.ph == "s", key, flow, backwards))
            continue
        if event.ph == "M":
            name = str((event.args or {}).get("name", ""))
            if event.name == "thread_name":
                names[key] = name
            elif event.name == "process_name":
                trace.processes[event.pid] = name
            continue
        if event.ph == "E":
            stack = open_slices.get(key)
            if stack:
                found = stack.pop()
                found.end = event.ts
                found.args.update(event.args or {})
            continue
        kept = SLICES if event.ph in "XB" else INSTANTS
        if event.name not in kept:
            if event.ph == "B":
                open_slices.setdefault(key, []).append(Slice("", event.ts, event.ts, {}))
            continue
        end = event.ts + event.dur if event.ph == "X" else event.ts
        found = Slice(event.name, event.ts, end, event.args or {})
        if event.ph == "B":
            open_slices.setdefault(key, []).append(found)
        slices.setdefault(key, []).append(found)
    if not count:
        raise hinted(
            LoadpathError(f"{path}: no trace events"),
            "a Chrome trace is JSON with a list traceEvents",
        )
    for key, found_there in slices.items():
        thread = Thread(*key, names.get(key, ""))
        if not (thread.is_main or thread.is_worker):
            continue
        trace.threads[key] = thread
        # Of slices that start at the same time the longer is around the shorter.
        _nest(thread, sorted(found_there, key=lambda s: (s.start, -s.end)))
    _connect(trace, flows)
    return trace


def _nest(thread: Thread, slices: Iterable[Slice]) -> None:
    stack: list[Slice] = []
    for found in slices:
        # Ends are rounded to microseconds: a child may seem to outlast its parent by one.
        while stack and found.start >= stack[-1].end:
            stack.pop()
        if stack:
            found.parent = stack[-1]
            stack[-1].children.append(found)
        else:
            thread.roots.append(found)
        if found.name in SLICES:
            stack.append(found)


def _connect(trace: Trace, flows: list[FlowEnd]) -> None:
    """Lead each flow arrow from the slice that holds its tail to the one that holds its head."""
    tails: dict[str, tuple[Slice, bool]] = {}
    for time, _, is_tail, key, flow, backwards in sorted(flows):
        thread = trace.threads.get(key)
        found = thread.at(time) if thread else None
        if is_tail:
            if found:
                tails[flow] = found, backwards
        elif found and (tail := tails.pop(flow, None)):
            earlier, backwards = tail
            cause, effect = (found, earlier) if backwards else (earlier, found)
            effect.caused_by = cause


def stream_events(path: Path) -> Iterator[TraceEvent]:
    """The events of a file; one a line as Chromium and DevTools write them, else any JSON."""
    try:
        with open_trace(path) as file:
            if _skip_head(file):
                yield from _event_lines(file)
                return
        with open_trace(path) as file:
            _check_depth(file)
        with open_trace(path) as file:
            yield from _event_items(file)
    except (OSError, EOFError, zlib.error) as error:
        raise hinted(
            LoadpathError(f"{path}: {error}"), "the file is damaged or cut off: record it again"
        ) from None
    except (msgspec.MsgspecError, ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
        raise hinted(
            LoadpathError(f"{path}: not a Chrome trace: {error}"),
            "a Chrome trace is JSON with a list traceEvents, plain or gzip",
        ) from None


def open_trace(path: Path) -> IO[bytes]:
    """A trace file, unpacked."""
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    if is_gzip:
        return io.BufferedReader(gzip.open(path, "rb"), 1 << 20)
    return path.open("rb", buffering=1 << 20)


def _skip_head(file: IO[bytes]) -> bool:
    """Go to the list of events, if it begins a line; DevTools writes metadata before it."""
    while line := file.readline(MAX_HEAD_LINE):
        line = line.strip()
        if line == b"[" or line.replace(b" ", b"").endswith(b'"traceEvents":['):
            return True
        if line.startswith((b'{"traceEvents"', b"[{")):
            return False
    return False


def _check_depth(file: IO[bytes]) -> None:
    """Refuse deep nesting: ijson keeps the path of each level, so memory grows with its square."""
    depth = 0
    for event, _ in ijson.basic_parse(file):
        if event in ("start_map", "start_array"):
            depth += 1
            if depth > MAX_DEPTH:
                raise ijson.JSONError(f"nested deeper than {MAX_DEPTH} levels")
        elif event in ("end_map", "end_array"):
            depth -= 1


def _event_lines(file: IO[bytes]) -> Iterator[TraceEvent]:
    decoder = msgspec.json.Decoder(TraceEvent)
    for line in file:
        line = line.strip().rstrip(b",")
        if not line.startswith(b"{"):
            # The list's end; behind it stands metadata.
            if line.startswith(b"]"):
                return
            continue
        try:
            event = decoder.decode(line)
        except msgspec.DecodeError:
            # The last event shares its line with the list's end and the metadata.
            try:
                item, _ = json.JSONDecoder().raw_decode(line.decode())
            except ValueError:
                raise msgspec.DecodeError("the last line is cut off") from None
            yield msgspec.convert(item, TraceEvent)
            return
        yield event


def _event_items(file: IO[bytes]) -> Iterator[TraceEvent]:
    first = file.read(1)
    while first.isspace():
        first = file.read(1)
    file.seek(0)
    prefix = "item" if first == b"[" else "traceEvents.item"
    for item in ijson.items(file, prefix, use_float=True):
        yield msgspec.convert(item, TraceEvent)

"""Computations of a recording: scripts, style sheets, timers, event handlers and other callbacks.

A trace shows nested slices; a page graph has computations, cut where they issue requests or start
other computations. This module finds the computations and what happens in each; what they depend on
is decided elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loadpath.graphs.build.trace import Slice, Thread

__all__ = ["WRAPPER", "Computation", "Work", "computations_of"]

# URL of the script that the structure pass adds to each document.
WRAPPER = "loadpath:wrapper.js"
_TOLD = "loadpath:event "
_DISPATCH = "loadpath:dispatch "
_DISPATCHED = "loadpath:dispatched"

_RENDERING = {
    "UpdateLayoutTree": "style",
    "Layout": "layout",
    "PrePaint": "paint",
    "Paint": "paint",
    "Layerize": "paint",
    "Commit": "paint",
    "Decode Image": "image decode",
    "ImageDecodeTask": "image decode",
    "MinorGC": "gc",
    "MajorGC": "gc",
    "BlinkGC.AtomicPhase": "gc",
    "V8.GCScavenger": "gc",
    "V8.GCFinalizeMC": "gc",
}
_CONTAINERS = frozenset({"EventDispatch", "XHRReadyStateChange", "XHRLoad"})


@dataclass
class Computation:
    """One run of a script, style sheet, timer, listener or callback on one thread.

    Attributes
    ----------
    kind
        script, style, timer or event.
    name
        Of events and callbacks: load, readystatechange, requestAnimationFrame, promise, ...
    url, line, column
        Where its code stands, from 1; line 0 if unknown or the whole resource.
    inner
        Computations that ran within it (dispatched events, scripts that it inserted).
    traced_url, traced_position
        The place as the trace has it, which is the same in every pass.
    told
        What the added script said of an event: (type, kind of target, URL of the target).
    """

    kind: str
    slice: Slice
    thread: Thread
    start: float
    end: float
    name: str = ""
    url: str = ""
    line: int = 0
    column: int = 0
    frame: str = ""
    outer: "Computation | None" = None
    inner: "list[Computation]" = field(default_factory=list)
    told: tuple[str, str, str] | None = None
    dispatch: Slice | None = None
    is_module: bool = False
    id: str = ""
    traced_url: str = ""
    traced_position: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self.traced_url, self.traced_position = self.url, (self.line, self.column)

    @property
    def duration(self) -> float:
        """Microseconds from start to end, without what ran within."""
        return self.end - self.start - sum(c.end - c.start for c in self.inner)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass
class Work:
    """Main-thread work that is no computation: parsing, rendering, garbage collection."""

    kind: str
    slice: Slice
    thread: Thread
    start: float
    duration: float
    frame: str = ""
    url: str = ""


@dataclass
class ThreadWork:
    """What ran on one thread, in order of starts."""

    thread: Thread
    computations: list[Computation] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    by_slice: dict[int, Computation] = field(default_factory=dict)

    def enclosing(self, found: Slice | None, time: float | None = None) -> Computation | None:
        """The innermost computation that a slice is part of."""
        at = found
        when = time if time is not None else (found.start if found else 0.0)
        while at is not None:
            owner = self.by_slice.get(id(at))
            if owner is not None:
                return self._at(owner, when)
            at = at.parent
        return None

    def _at(self, owner: Computation, time: float) -> Computation:
        # A dispatch holds its listeners one after the other; find the one that covers the time.
        if owner.dispatch is not None:
            for listener in self.computations:
                if listener.dispatch is owner.dispatch and listener.start <= time <= listener.end:
                    return listener
        return owner


def computations_of(thread: Thread) -> ThreadWork:
    """The computations and other work of a thread."""
    result = ThreadWork(thread)
    finder = _Finder(result)
    for root in thread.roots:
        finder.visit(root, None)
    result.computations.sort(key=lambda c: (c.start, -c.end))
    return result


class _Finder:
    def __init__(self, result: ThreadWork) -> None:
        self.result = result

    def visit(self, found: Slice, outer: Computation | None) -> None:
        """Look at a slice within a computation, or within none."""
        name = found.name
        data = found.data
        if name == "EvaluateScript" and not data.get("url") and outer is None:
            return  # What the profiler itself asks of the page.
        if name in ("EvaluateScript", "v8.evaluateModule"):
            self._compute(
                found,
                outer,
                kind="script",
                url=data.get("url") or "",
                line=int(data.get("lineNumber") or 0),
                column=int(data.get("columnNumber") or 0),
                is_module=name == "v8.evaluateModule",
            )
        elif name == "ParseAuthorStyleSheet" and found.data.get("styleSheetUrl"):
            self._compute(found, outer, kind="style", url=found.data["styleSheetUrl"])
        elif name in _CONTAINERS:
            self._dispatch(found, outer)
        elif outer is None and name in ("TimerFire", "FireAnimationFrame", "FireIdleCallback"):
            self._callback(found)
        elif outer is None and name == "RunMicrotasks":
            self._microtasks(found)
        elif outer is None and name == "ParseHTML":
            self._parse(found)
        elif outer is None and name in _RENDERING:
            self._render(found)
        elif outer is None:
            self._task(found.children)
        else:
            for child in _fold_dispatches(found.children):
                self.visit(child, outer)

    def _task(self, slices: list[Slice]) -> None:
        """What a task runs outside computations: callbacks, each with the microtasks behind it."""
        told = None
        callback: Computation | None = None
        for found in slices:
            if found.name == "FunctionCall":
                if _is_ours(found):
                    told = _told(found)
                    continue
                fields = _function(found) | {"name": told[0] if told else _callback_name(found)}
                callback = self._compute(found, None, kind="event", told=told, **fields)
            elif found.name == "RunMicrotasks" and callback is not None:
                callback.end = found.end
                self.result.by_slice[id(found)] = callback
                for child in found.children:
                    self.visit(child, callback)
            else:
                if found.children:
                    callback = told = None
                self.visit(found, None)

    def _compute(
        self,
        found: Slice,
        outer: Computation | None,
        *,
        kind: str,
        start: float | None = None,
        end: float | None = None,
        children: list[Slice] | None = None,
        **fields: Any,
    ) -> Computation:
        fields.setdefault("frame", str(found.data.get("frame") or ""))
        computation = Computation(
            kind=kind,
            slice=found,
            thread=self.result.thread,
            start=found.start if start is None else start,
            end=found.end if end is None else end,
            outer=outer,
            **fields,
        )
        if not computation.frame:
            computation.frame = next(
                (str(a.data["frame"]) for a in found.ancestors() if a.data.get("frame")), ""
            )
        self.result.computations.append(computation)
        self.result.by_slice[id(found)] = computation
        if outer is not None:
            outer.inner.append(computation)
        for child in _fold_dispatches(found.children if children is None else children):
            self.visit(child, computation)
        return computation

    def _dispatch(self, found: Slice, outer: Computation | None) -> None:
        """One computation a listener; microtasks that follow one belong to it."""
        called = list(_callbacks(found))
        told = next((t for call in called if (t := _told(call))), None)
        listeners = [call for call in called if not _is_ours(call)]
        if outer is not None and not listeners and _does_something(found):
            # V8 traces no calls within calls: that listeners ran shows in what they did.
            self._compute(
                found,
                outer,
                kind="event",
                told=told,
                dispatch=found,
                name=_event_name(found),
                frame=outer.frame,
            )
            return
        if not listeners:
            # The browser's own work around a dispatch without listeners is no computation, but
            # microtasks may run at its end.
            for child in found.children:
                self.visit(child, outer)
            return
        for index, listener in enumerate(listeners):
            last = index + 1 == len(listeners)
            end = found.end if last else listeners[index + 1].start
            within = [
                c
                for c in found.children
                if listener.start <= c.start < end and not any(s in listeners for s in c.walk())
            ]
            computation = self._compute(
                listener,
                outer,
                kind="event",
                end=end,
                children=listener.children + within,
                told=told,
                dispatch=found,
                **_function(listener) | {"name": _listener_name(found, listener)},
            )
            for child in within:
                self.result.by_slice.setdefault(id(child), computation)
        self.result.by_slice.setdefault(id(found), self.result.by_slice[id(listeners[0])])

    def _callback(self, found: Slice) -> None:
        function = next(_callbacks(found), None)
        fields = _function(function) if function is not None else {}
        if found.name == "TimerFire":
            self._compute(found, None, kind="timer", **fields | {"name": ""})
        elif found.name == "FireAnimationFrame":
            self._compute(found, None, kind="event", **fields | {"name": "requestAnimationFrame"})
        else:
            self._compute(found, None, kind="event", **fields | {"name": "requestIdleCallback"})

    def _microtasks(self, found: Slice) -> None:
        function = next(_callbacks(found), None)
        fields = _function(function) if function is not None else {}
        self._compute(found, None, kind="event", **fields | {"name": "promise"})

    def _parse(self, found: Slice) -> None:
        data = found.data
        work = Work(
            "parse",
            found,
            self.result.thread,
            found.start,
            found.duration,
            str(data.get("frame") or ""),
            str(data.get("url") or ""),
        )
        self.result.work.append(work)
        before = len(self.result.computations)
        for child in found.children:
            self.visit(child, None)
        ran = self.result.computations[before:]
        work.duration -= sum(c.end - c.start for c in ran if c.outer is None)

    def _render(self, found: Slice) -> None:
        kind = _RENDERING[found.name]
        frame = str(found.data.get("frame") or "")
        work = Work(kind, found, self.result.thread, found.start, found.duration, frame)
        self.result.work.append(work)
        before = len(self.result.computations)
        inner = len(self.result.work)
        for child in found.children:
            self.visit(child, None)
        ran = self.result.computations[before:]
        work.duration -= sum(c.end - c.start for c in ran if c.outer is None)
        work.duration -= sum(w.duration for w in self.result.work[inner:])


def _fold_dispatches(slices: list[Slice]) -> list[Slice]:
    """Dispatches that the added script told of and the trace has not, as slices of their own."""
    result: list[Slice] = []
    opened: list[tuple[int, str]] = []
    for found in slices:
        message = str(found.data.get("message") or "") if found.name == "TimeStamp" else ""
        if message.startswith(_DISPATCH):
            opened.append((len(result), message.removeprefix(_DISPATCH)))
        elif message == _DISPATCHED and opened:
            place, type_ = opened.pop()
            within = result[place:]
            if within and not any(child.name == "EventDispatch" for child in within):
                fold = Slice("EventDispatch", within[0].start, found.start, {"type": type_})
                fold.parent = found.parent
                fold.children = within
                for child in within:
                    child.parent = fold
                result[place:] = [fold]
        result.append(found)
    return result


def _event_name(dispatch: Slice) -> str:
    if dispatch.name == "XHRReadyStateChange":
        return "readystatechange"
    return "load" if dispatch.name == "XHRLoad" else str(dispatch.data.get("type") or "")


def _listener_name(dispatch: Slice, listener: Slice) -> str:
    """XHRLoad covers the events load and loadend, each within a task of its own."""
    tasks = [child for child in dispatch.children if child.name == "AsyncTask Run"]
    if dispatch.name == "XHRLoad" and tasks and listener.start >= tasks[-1].start:
        return "load" if len(tasks) == 1 else "loadend"
    return _event_name(dispatch)


def _does_something(found: Slice) -> bool:
    deeds = ("ResourceFetcher::requestResource", "TimerInstall", "RequestAnimationFrame")
    return any(at.name in deeds for at in found.walk())


def _callbacks(found: Slice) -> Iterator[Slice]:
    """The outermost function calls within a slice."""
    for child in found.children:
        if child.name == "FunctionCall":
            yield child
        elif child.name not in ("EvaluateScript", "EventDispatch", "v8.evaluateModule"):
            yield from _callbacks(child)


def _function(found: Slice) -> dict[str, Any]:
    data = found.data
    return {
        "url": str(data.get("url") or ""),
        "line": int(data.get("lineNumber") or 0),
        "column": int(data.get("columnNumber") or 0),
        "name": str(data.get("functionName") or ""),
        "frame": str(data.get("frame") or ""),
    }


# The file of Chromium that posted a task tells what its callback is.
_POSTED = {
    "intersection_observer": "IntersectionObserver",
    "core/workers/": "message",
    "core/messaging/": "message",
    "platform/bindings/": "promise",
}


def _callback_name(found: Slice) -> str:
    """What a function was called for, outside dispatches; "callback" if nothing tells."""
    for ancestor in found.ancestors():
        if ancestor.name == "LocalFrameView::NotifyResizeObservers":
            return "ResizeObserver"
        if ancestor.name == "MessagePort::Accept":
            return "message"
        posted = str(ancestor.data.get("src_file") or "")
        for part, name in _POSTED.items():
            if part in posted:
                return name
        told = any(
            c.name in ("SchedulePostMessage", "HandlePostMessage") for c in ancestor.children
        )
        if told and ancestor.caused_by is None:
            return "message"
        origin = ancestor.caused_by
        if origin is not None and origin.name == "SchedulePostMessage":
            return "message"
    return "callback"


def _is_ours(found: Slice) -> bool:
    return found.data.get("url") == WRAPPER


def _told(found: Slice) -> tuple[str, str, str] | None:
    """What the added script said, if this is its listener."""
    if found.name != "FunctionCall" or not _is_ours(found):
        return None
    for child in found.walk():
        message = str(child.data.get("message") or "") if child.name == "TimeStamp" else ""
        if message.startswith(_TOLD):
            type_, _, rest = message.removeprefix(_TOLD).partition(" ")
            words = rest.split(" ")
            if words[0] == "Element" and len(words) > 1:
                return type_, f"Element {words[1]}", " ".join(words[2:])
            return type_, words[0], " ".join(words[1:])
    return None

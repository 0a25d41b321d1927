"""HTML, CSS and JavaScript that make a browser do what a plan says.

Generated text is ASCII on one line. Where a computation's code begins, or a parse chunk ends,
stands a mark that `placed` takes out and turns into the place.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from loadpath.graphs.graph import Kind
from loadpath.testbed.synthetic.bodies import css_string, html_attribute, js_string
from loadpath.testbed.synthetic.plan import Element, Plan, network_url

__all__ = ["LEAST_BUSY_MS", "Writer", "unmarked"]

_MARK = re.compile("\0([0-9]+)\0")

LEAST_BUSY_MS = 0.1
"""Resolution of performance.now() (Chromium: third_party/blink/renderer/core/timing/performance.cc,
100 microseconds without cross-origin isolation)."""

MOST_NESTED = 20
"""Functions within each other; more stand beside each other: V8's parser recurses."""

_OWN_WORK = frozenset({"task", "loading", "requesting"})
"""Kinds of other work that any page makes: the browser's tasks around requests and computations."""

_CALLBACKS = {
    "requestAnimationFrame": "requestAnimationFrame({})",
    "requestIdleCallback": "requestIdleCallback({})",
    "promise": "Promise.resolve().then({})",
}
_MESSAGE = "{{let c=new MessageChannel;c.port1.onmessage={};c.port2.postMessage(0)}}"

# A document that is open keeps the load event of the page around it waiting (HTML, "completely
# finish loading" and open()). close() would dispatch that event within the code that calls it; a
# navigation ends by itself, and open() cancels one that has begun.
_HOLD = (
    "if(!(window.lp|=0)){if(!window.lpf){lpf=document.createElement('iframe');"
    "lpf.style.display='none';document.documentElement.append(lpf)}"
    "lpf.contentDocument.open()}lp++;"
)
_RELEASE = "if(!--lp)lpf.contentWindow.location.replace('about:blank');"


def unmarked(text: str) -> str:
    """Text without marks."""
    return _MARK.sub("", text)


class Writer:
    """Writes the code of a plan's activities."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.graph = plan.graph
        self.number = {id: index for index, id in enumerate(plan.activities)}
        self.ids = list(plan.activities)
        self.places: dict[str, tuple[str, int]] = {}
        """URL and column, from 1, of what has a place; the line is always the first."""
        self.written: set[str] = set()
        """What the code and tags so far bring about."""
        self._depth = 0
        self._put_off: list[tuple[str, bool]] = []

    def mark(self, id: str) -> str:
        """A mark at the place of an activity."""
        return f"\0{self.number[id]}\0"

    def placed(self, text: str, url: str, offset: int = 0) -> bytes:
        """The text without marks, whose places are kept; `offset` bytes stand before it."""
        taken = 0
        for found in _MARK.finditer(text):
            id = self.ids[int(found[1])]
            self.places[id] = (url, offset + found.start() - taken + 1)
            taken += len(found[0])
        return unmarked(text).encode("ascii")

    # JavaScript.

    def computation(self, first: str) -> str:
        """The code of a computation, all pieces."""
        plan = self.plan
        self.written.update(plan.pieces[first])
        self._depth += 1
        parts = []
        for piece in plan.pieces[first]:
            parts.append(self._busy(piece, plan.activities[piece]["duration_ms"]))
            parts += [self.action(child) for child in plan.hosted.get(piece, [])]
        self._depth -= 1
        if self._depth == 0:
            parts += self._late_functions()
        return "".join(parts)

    def _late_functions(self) -> Iterator[str]:
        """Functions that would have been nested too deeply, beside the code that uses them."""
        while self._put_off:
            first, held = self._put_off.pop()
            self._depth += 1
            yield f"function {self._name(first)}{self._body(first, held)}"
            self._depth -= 1

    def _name(self, first: str) -> str:
        return f"lp{self.number[first]}"

    def _body(self, first: str, held: bool) -> str:
        mark = "" if self.graph.kinds[first] is Kind.TIMER else self.mark(first)
        return f"{mark}(){{{self.computation(first)}{_RELEASE if held else ''}}}"

    def _busy(self, id: str, duration_ms: float) -> str:
        if duration_ms < LEAST_BUSY_MS:
            if duration_ms:
                self.plan.note(id, f"computes for less than {LEAST_BUSY_MS} ms")
            return ""
        return f"for(let t=performance.now()+{duration_ms:.10g};performance.now()<t;);"

    def function(self, first: str, *, held: bool = False) -> str:
        """A function that is a computation."""
        if self._depth >= MOST_NESTED:
            self._put_off.append((first, held))
            return self._name(first)
        return f"function{self._body(first, held)}"

    def action(self, id: str) -> str:
        """A statement within a computation that brings about another activity."""
        plan, graph = self.plan, self.graph
        activity = plan.activities[id]
        if plan.is_resource(id):
            return self._insertion(id)
        if activity["type"] == "main_thread":
            return self._other_work(id)
        match graph.kinds[id]:
            case Kind.TIMER:
                return self._held(id, self._timer)
            case Kind.EVENT:
                return self._event(id)
            case Kind.STYLE:
                css, hook = js_string(self.style(id, self.hook(id))), js_string(self.hook(id))
                return (
                    f"{self._hooks(id)}document.documentElement.append(Object.assign("
                    f"document.createElement('style'),{{id:{hook},textContent:{css}}}));"
                )
        # A script without a source runs when it is inserted (HTML, "prepare the script element").
        # Its text comes from a function: strings in strings in strings would grow by their escapes.
        code = unmarked(self.computation(id))
        return (
            f"{{let s=document.createElement('script');s.text='('+function(){{{code}}}+')()';"
            "document.documentElement.append(s)}"
        )

    def _other_work(self, id: str) -> str:
        """Main-thread work that follows a computation becomes part of it."""
        self.written.add(id)
        activity = self.plan.activities[id]
        if activity["kind"] in _OWN_WORK:
            detail = f"{activity['kind']}, not {activity['duration_ms']:.4g} ms"
            self.plan.note(id, "other work takes what the browser needs", detail)
            return ""
        self.plan.note(id, "other work is done by the computation before it", activity["kind"])
        return self._busy(id, activity["duration_ms"])

    def _held(self, id: str, write: Callable[[str, bool], str]) -> str:
        """An asynchronous callback; the load event waits for it if the graph's does."""
        held = id in self.plan.awaited
        return (_HOLD if held else "") + write(id, held)

    def _timer(self, id: str, held: bool) -> str:
        timeout_ms = self.plan.activities[id].get("timeout_ms", 0.0)
        function = self.function(id, held=held)
        return f"{self.mark(id)}setTimeout({function},{timeout_ms:.10g});"

    def _event(self, id: str) -> str:
        plan = self.plan
        name = plan.activities[id].get("event_name") or "message"
        if plan.is_nested(id):
            function = unmarked(self.function(id))
            event = js_string(name)
            return (
                f"{{let e=new EventTarget;e.addEventListener({event},{function});"
                f"e.dispatchEvent(new Event({event}))}}"
            )
        if name not in _CALLBACKS and name != "message":
            plan.note(id, "a message instead of an event without a known cause", name)
        return self._held(id, lambda id, held: self._callback(id, name, held))

    def _callback(self, id: str, name: str, held: bool) -> str:
        function = self.function(id, held=held)
        return (
            _CALLBACKS[name].format(function) + ";"
            if name in _CALLBACKS
            else _MESSAGE.format(function)
        )

    def _insertion(self, id: str) -> str:
        """Code that requests a resource."""
        plan = self.plan
        self._request_written(id)
        activity = plan.activities[id]
        # Relative to the document, which a script's code belongs to.
        url = js_string(_short(network_url(activity), plan.frame_origin(plan.host[id])))
        method = activity.get("method", "GET")
        element = plan.element(id)
        callbacks = plan.callbacks(plan.target(id))
        if method != "GET" and element is not Element.REQUEST:
            plan.note(id, "requested by GET", method)
        match element:
            case Element.REQUEST:
                return self._request(id, method, url, callbacks)
            case Element.SCRIPT if plan.is_written(id):
                tag = unmarked(self.tag(id, "", listens=False))
                return f"document.write({js_string(tag)});"
            case Element.SCRIPT:
                ordered = "e.async=false;" if self._is_ordered(id) else ""
                made = f"let e=document.createElement('script');{ordered}e.src={url}"
            case Element.STYLE:
                made = (
                    f"let e=document.createElement('link');{self._hooks(id)}e.rel='stylesheet';"
                    f"e.id={js_string(self.hook(id))};e.href={url}"
                )
            case Element.DOCUMENT:
                made = f"let e=document.createElement('iframe');e.src={url}"
            case _:
                if "font" in activity.get("mime_type", "") and id in plan.awaited:
                    plan.note(id, "requested as an image, for which the load event waits", "font")
                listeners = self._listeners(id, callbacks)
                return f"{{let e=new Image;{listeners}e.src={url}}}"
        listeners = self._listeners(id, callbacks)
        return f"{{{made};{listeners}document.documentElement.append(e)}}"

    def _request_written(self, id: str) -> None:
        """A request, and those that its redirects lead to."""
        while id not in self.written:
            self.written.add(id)
            id = self.plan.redirect.get(id, id)

    def _is_ordered(self, id: str) -> bool:
        """Whether an inserted script waits for more than its own response."""
        plan = self.plan
        target = plan.target(id)
        [first, *_] = plan.evaluations(target, Kind.SCRIPT)
        others = [p for p in self.graph.parents[first] if p != target and plan.is_evaluation(p)]
        return bool(others)

    def _listeners(self, id: str, callbacks: Sequence[str]) -> str:
        parts = []
        for callback in callbacks:
            event = js_string(self.event_of(id, callback))
            parts.append(f"e.addEventListener({event},{self._callable(callback)});")
        return "".join(parts)

    def _callable(self, callback: str) -> str:
        if self.is_event(callback):
            return self.function(callback)
        return f"()=>{{{self.action(callback)}}}"

    def event_of(self, id: str, callback: str) -> str:
        """The event of a resource's element that a callback listens to."""
        plan = self.plan
        wanted = plan.activities[callback].get("event_name", "")
        actual = "load" if wanted not in ("load", "error") else wanted
        if plan.activities[plan.target(id)].get("failed"):
            actual = "error"
        if wanted != actual:
            plan.note(callback, "listens to another event", f"{actual} instead of {wanted!r}")
        return actual

    def _request(self, id: str, method: str, url: str, callbacks: Sequence[str]) -> str:
        parts = []
        for callback in callbacks:
            name = self.plan.activities[callback].get("event_name", "")
            known = ("readystatechange", "progress", "load", "loadend", "error")
            event = name if name in known else "load"
            if name == "readystatechange":
                # Registered behind send(), and for the last state only.
                inner = f"if(e.readyState<4)return;{self.computation(callback)}"
                function = f"function{self.mark(callback)}(){{{inner}}}"
            else:
                function = self._callable(callback)
            parts.append(f"e.addEventListener({js_string(event)},{function});")
        hold = ""
        if id in self.plan.awaited:
            # The last event of a request, whatever became of it.
            hold = _HOLD
            parts.append(f"e.addEventListener('loadend',()=>{{{_RELEASE}}});")
        return (
            f"{{{hold}let e=new XMLHttpRequest;e.open({js_string(method)},{url});"
            f"e.withCredentials=true;e.send();{''.join(parts)}}}"
        )

    def registration(self, id: str) -> str:
        """Code that registers a listener of its document's completion."""
        activity = self.plan.activities[id]
        name = activity.get("event_name")
        if name == "readystatechange":
            wanted = "complete" if self._is_late(id) else "interactive"
            body = f"if(document.readyState=={js_string(wanted)}){{{self.computation(id)}}}"
            function = f"function{self.mark(id)}(){{{body}}}"
            return f"document.addEventListener('readystatechange',{function});"
        target = "document" if name == "DOMContentLoaded" else "window"
        return f"{target}.addEventListener({js_string(str(name))},{self.function(id)});"

    def _is_late(self, id: str) -> bool:
        """Whether a listener runs behind DOMContentLoaded."""
        dom = self.graph.data["dom_content_loaded_event"]
        pending, seen = [id], {id}
        while pending:
            for parent in self.graph.parents[pending.pop()]:
                if parent == dom:
                    return True
                if parent not in seen and self.is_event(parent):
                    seen.add(parent)
                    pending.append(parent)
        return bool(self.plan.activities[id].get("phase", "dom") != "dom")

    def is_event(self, id: str) -> bool:
        """Whether it is an event's listener."""
        return self.graph.kinds[id] is Kind.EVENT

    # HTML.

    def hook(self, id: str) -> str:
        """Id of the element to which a style sheet's rules apply."""
        return f"s{self.number[id]}"

    def tag(self, id: str, chunk: str, *, listens: bool = True) -> str:
        """The tag that makes the parser request a resource."""
        plan = self.plan
        self._request_written(id)
        activity = plan.activities[id]
        # What document.write writes is read by the same document, but its code knows no chunk.
        url = network_url(activity)
        url = html_attribute(_short(url, plan.frame_origin(chunk)) if chunk else url)
        callbacks = plan.callbacks(plan.target(id)) if listens else []
        handlers = self._handlers(id, callbacks)
        if activity.get("method", "GET") != "GET":
            plan.note(id, "requested by GET", activity["method"])
        match plan.element(id):
            case Element.DOCUMENT:
                return f"<iframe src={url}{handlers}></iframe>"
            case Element.STYLE:
                metas = "".join(f"<meta id={hook}>" for hook in self._further_hooks(id))
                hook = f" id={self.hook(id)}" if self._needs_hook(id) else ""
                return f"{metas}<link rel=stylesheet{hook} href={url}{handlers}>"
            case Element.SCRIPT:
                [first, *_] = plan.evaluations(plan.target(id), Kind.SCRIPT)
                mode = plan.activities[first].get("blocking", "sync")
                if mode == "sync" and chunk in plan.document_of:
                    mode = "" if plan.blocks_parser(first, chunk) else "async"
                words = f" {mode}" if mode in ("async", "defer") else ""
                return f"<script{words} src={url}{handlers}></script>"
            case Element.REQUEST:
                kind = "image" if activity.get("mime_type", "").startswith("image/") else "fetch"
                cors = "" if kind == "image" else " crossorigin=use-credentials"
                return f"<link rel=preload as={kind}{cors} href={url}{handlers}>"
        return f"<img src={url}{handlers}>"

    def _handlers(self, id: str, callbacks: Sequence[str]) -> str:
        """Attributes with the code of an element's listeners."""
        by_event: dict[str, list[str]] = {}
        for callback in callbacks:
            by_event.setdefault(self.event_of(id, callback), []).append(callback)
        parts = []
        for event, found in by_event.items():
            for other in found[1:]:
                self.plan.note(other, "one handler with another listener of the same element")
            code = "".join(
                self.mark(c) + self.computation(c) if self.is_event(c) else self.action(c)
                for c in found
            )
            parts.append(f" on{event}={html_attribute(code)}")
        return "".join(parts)

    def parsed(self, chunk: str) -> str:
        """The tags with which a parse chunk ends."""
        plan = self.plan
        parts = []
        end = self.mark(chunk)
        if len(plan.hosted.get(chunk, [])) > 1:
            plan.note(chunk, "several tags, where the browser sees as many chunks")
        for id in plan.hosted.get(chunk, []):
            if plan.is_resource(id):
                tag = self.tag(id, chunk)
                if id == plan.hosted[chunk][-1]:
                    # The parser has found it behind the start tag.
                    start, close, rest = tag.rpartition("</")
                    tag, end = (start + end + close + rest, "") if close else (tag, end)
                parts.append(tag)
            elif self.graph.kinds[id] is Kind.STYLE:
                metas = "".join(f"<meta id={hook}>" for hook in self._further_hooks(id))
                css = self.style(id, self.hook(id))
                parts.append(f"{metas}<style id={self.hook(id)}>{css}</style>")
            elif self.graph.kinds[id] in (Kind.SCRIPT, Kind.SET_UP):
                # An empty script is not run (HTML, "prepare the script element").
                code = self.computation(id) or "0"
                parts.append(f"<script>{self.mark(id)}{code}</script>")
            else:
                plan.note(id, "registered by an inline script that the graph does not have")
                parts.append(f"<script>{self.action(id)}</script>")
        return "".join(parts) + end

    # CSS.

    def style(self, sheet: str, hook: str) -> str:
        """Text of a style sheet that applies to the element `hook`."""
        plan = self.plan
        self.written.update(plan.pieces[sheet])
        imports, images, fonts = [], [], []
        for id in self._started(sheet):
            if not plan.is_resource(id):
                plan.note(id, "a style sheet starts no computation")
                continue
            self._request_written(id)
            url = css_string(network_url(plan.activities[id]))
            if plan.element(id) is Element.STYLE:
                imports.append(f"@import {url};")
            elif plan.element(id) is Element.FONT:
                fonts.append(url)
            else:
                images.append(url)
        return "".join(imports) + _hooked(hook, images, fonts)

    def _started(self, first: str) -> list[str]:
        plan = self.plan
        return [id for piece in plan.pieces[first] for id in plan.hosted.get(piece, [])]

    def _needs_hook(self, id: str) -> bool:
        sheets = self.plan.evaluations(self.plan.target(id), Kind.STYLE)
        return any(self._started(sheet) for sheet in sheets)

    def _further_hooks(self, id: str) -> list[str]:
        """Elements that the sheets need which a sheet, or its resource, imports."""
        plan = self.plan
        target = plan.target(id) if plan.is_resource(id) else id
        sheets = plan.evaluations(target, Kind.STYLE) if plan.is_resource(id) else [id]
        found = []
        while sheets:
            for child in self._started(sheets.pop()):
                if plan.is_resource(child) and plan.element(child) is Element.STYLE:
                    found.append(self.hook(child))
                    sheets += plan.evaluations(plan.target(child), Kind.STYLE)
        return found

    def _hooks(self, id: str) -> str:
        """Code that makes those elements."""
        return "".join(
            "document.documentElement.append(Object.assign(document.createElement('meta'),"
            f"{{id:{js_string(hook)}}}));"
            for hook in self._further_hooks(id)
        )


def _short(url: str, origin: str) -> str:
    """A URL without its origin, if that is the document's and the rest is plain."""
    path = url.removeprefix(origin)
    plain = re.fullmatch(r"/[!#-;=?-\[\]_a-z{-~]*", path) and not path.startswith("//")
    return path if path != url and plain else url


def _hooked(hook: str, images: Iterable[str], fonts: Sequence[str]) -> str:
    """Rules that need images and fonts, on an element that is shown for this."""
    backgrounds = ",".join(f"url({url})" for url in images)
    faces = "".join(
        # Each has one letter of its own, all of which the text has.
        f"@font-face{{font-family:{hook};src:url({url});unicode-range:U+{0x61 + index:x}}}"
        for index, url in enumerate(fonts)
    )
    if not backgrounds and not faces:
        return ""
    shown = f"head,#{hook}{{display:block}}"
    if backgrounds:
        shown += f"#{hook}{{background-image:{backgrounds}}}"
    if faces:
        letters = "".join(chr(0x61 + index) for index in range(len(fonts)))
        shown += f"#{hook}:before{{font-family:{hook};content:{css_string(letters)}}}"
    return faces + shown

"""Chrome traces into trees of slices."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from loadpath import LoadpathError
from loadpath.graphs.build.computations import computations_of
from loadpath.graphs.build.trace import Trace, read_trace

MAIN = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "CrRendererMain"}}


def event(name: str, ts: float, dur: float | None = None, **fields: Any) -> dict[str, Any]:
    kind = {"ph": "X", "dur": dur} if dur is not None else {"ph": "I"}
    return {"name": name, "pid": 1, "tid": 2, "ts": ts, "cat": "x", "args": {}} | kind | fields


def call(ts: float, dur: float, line: int, url: str = "https://a.test/a.js") -> dict[str, Any]:
    data = {"url": url, "lineNumber": line, "columnNumber": 1, "frame": "F"}
    return event("FunctionCall", ts, dur, args={"data": data})


def read(tmp_path: Path, *events: dict[str, Any]) -> Trace:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [MAIN, *events]}))
    return read_trace(path)


def test_slices_nest_by_time_whatever_their_order_in_the_file(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        call(20, 5, 1),
        event("EvaluateScript", 10, 50),
        event("RunTask", 0, 100),
        event("ResourceSendRequest", 22, args={"data": {"requestId": "7"}}),
    )
    [thread] = trace.main_threads()
    [task] = thread.roots
    assert [s.name for s in task.walk()] == [
        "RunTask",
        "EvaluateScript",
        "FunctionCall",
        "ResourceSendRequest",
    ]
    assert [s.name for s in list(task.walk())[-1].ancestors()][1] == "FunctionCall"


def test_begin_and_end_events_make_slices(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("ParseHTML", 5, ph="B", args={"beginData": {"url": "u"}}),
        event("Unknown", 6, ph="B"),
        event("Unknown", 7, ph="E"),
        event("ParseHTML", 9, ph="E"),
    )
    [found] = trace.main_threads()[0].roots
    assert (found.name, found.start, found.end, found.data["url"]) == ("ParseHTML", 5, 9, "u")


def test_flow_arrows_lead_from_where_a_task_was_scheduled(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("AsyncTask Scheduled", 10, 2),
        event("AsyncTask Scheduled", 11, ph="s", id=5),
        event("AsyncTask Run", 50, 8),
        event("AsyncTask Scheduled", 50, ph="f", id=5),
    )
    scheduled, ran = trace.main_threads()[0].roots
    assert ran.caused_by is scheduled
    assert scheduled.caused_by is None


def test_a_message_may_be_handled_before_its_sender_says_that_it_posted_it(tmp_path: Path) -> None:
    worker = {"pid": 1, "tid": 3}
    name = {"ph": "M", "name": "thread_name", "args": {"name": "DedicatedWorker thread"}} | worker
    trace = read(
        tmp_path,
        name,
        event("RunMicrotasks", 10, 20, **worker),
        event("SchedulePostMessage", 25, **worker),
        event("HandlePostMessage", 20, ph="s", id=5),
        event("HandlePostMessage", 25, ph="f", id=5, **worker),
        call(20, 9, 1),
    )
    [handled] = trace.main_threads()[0].roots
    assert handled.caused_by is not None
    assert handled.caused_by.name == "SchedulePostMessage"
    assert handled.caused_by.caused_by is None


@pytest.mark.parametrize("layout", ["lines", "one line", "list", "gzip", "metadata behind"])
def test_every_layout_of_a_trace_is_read_alike(tmp_path: Path, layout: str) -> None:
    events = [MAIN, event("Layout", 1, 2), event("Paint", 4, 1)]
    lines = ",\n".join(json.dumps(e) for e in events)
    text = {
        "lines": f'{{"traceEvents":[\n{lines}\n]}}',
        "one line": json.dumps({"traceEvents": events}),
        "list": json.dumps(events),
        "gzip": f'{{"traceEvents":[\n{lines}\n]}}',
        "metadata behind": f'{{"traceEvents":[\n{lines}],"metadata":{{"x":[1]}}}}',
    }[layout]
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(text.encode()) if layout == "gzip" else text.encode())
    assert [s.name for s in read_trace(path).main_threads()[0].roots] == ["Layout", "Paint"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"not json",
        b'{"traceEvents":[\n{"name":"a","ph":"X"',
        b'{"traceEvents": 5}',
        b"\x1f\x8b\x08\x00cut",
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_trace_is_one_clear_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    with pytest.raises(LoadpathError, match=r"trace\.json"):
        read_trace(path)


def test_a_dispatch_is_one_computation_a_listener_with_its_microtasks(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("EventDispatch", 0, 100, args={"data": {"type": "load"}}),
        call(10, 10, 1),
        event("RunMicrotasks", 25, 15),
        call(50, 20, 9),
    )
    first, second = computations_of(trace.main_threads()[0]).computations
    assert [(c.name, c.line, c.start, c.end) for c in (first, second)] == [
        ("load", 1, 10, 50),
        ("load", 9, 50, 100),
    ]


def test_a_computation_does_not_count_what_runs_within_it(tmp_path: Path) -> None:
    script = {"data": {"url": "https://a.test/s.js", "lineNumber": 1, "columnNumber": 1}}
    inline = {"data": {"url": "https://a.test/", "lineNumber": 5, "columnNumber": 1}}
    trace = read(
        tmp_path,
        event("EvaluateScript", 0, 100, args=script),
        event("EvaluateScript", 30, 40, args=inline),
    )
    outer, inner = computations_of(trace.main_threads()[0]).computations
    assert (outer.duration, inner.duration) == (60, 40)
    assert inner.outer is outer


def test_the_added_script_is_no_computation_of_the_page(tmp_path: Path) -> None:
    message = "loadpath:event load Element img https://a.test/a.png"
    trace = read(
        tmp_path,
        event("EventDispatch", 0, 100, args={"data": {"type": "load"}}),
        call(10, 10, 20, url="loadpath:wrapper.js"),
        event("TimeStamp", 12, args={"data": {"message": message}}),
        call(30, 10, 3),
    )
    [listener] = computations_of(trace.main_threads()[0]).computations
    assert listener.line == 3
    assert listener.told == ("load", "Element img", "https://a.test/a.png")

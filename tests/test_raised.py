"""Which activity raises a request's priority, of recordings whose times are known."""

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from loadpath.graphs.build.builder import Builder
from loadpath.graphs.build.devtools import read_events
from loadpath.graphs.build.raised import add_raises
from profiles import Load, write_profile


def computation(node: str, start: float) -> Any:
    return SimpleNamespace(node=SimpleNamespace(id=node), start=start, outer=None)


def work(kind: str, start: float) -> Any:
    return SimpleNamespace(kind=kind, frame="F", start=start, duration=1.0)


def raised_by(
    *,
    raised: float | None = None,
    finished: float = 100.0,
    type: str = "Image",
    priority: str = "Low",
    pruned: frozenset[str] = frozenset(),
    fields: dict[str, Any] | None = None,
    parsed: float = 1.0,
) -> str | None:
    """Of one request, where `early` ran at 10, layout came at 15, and `late` ran at 20."""
    computations = [computation("early", 10.0), computation("late", 20.0)]
    thread = SimpleNamespace(
        computations=computations, work=[work("parse", parsed), work("layout", 15.0)]
    )
    request = SimpleNamespace(
        key="k", frame="F", sent=5.0, raised=raised, finished=finished, type=type, priority=priority
    )
    node = SimpleNamespace(fields=dict(fields or {}))
    builder = SimpleNamespace(
        requests=[request],
        resource_of={"k": node},
        recording=SimpleNamespace(sending=lambda request: (thread, None)),
        nodes=SimpleNamespace(by_id={"early", "late"} - pruned),
        piece_at=lambda computation, time: computation.node,
        script_requests={},
        document=lambda frame, time: None,
    )
    add_raises(cast(Builder, builder))
    found = node.fields.get("raised_by")
    return None if found is None else str(found)


def test_what_ran_last_before_the_change_raises() -> None:
    assert raised_by(raised=16.0) == "early"
    assert raised_by(raised=21.0) == "late"
    assert raised_by(raised=21.0, pruned=frozenset({"late"})) == "early", "no activity any more"
    assert raised_by(raised=21.0, parsed=20.5) == "late", "no script held the text up"


def test_images_that_were_there_before_the_first_layout_are_taken_to_be_seen() -> None:
    assert raised_by(finished=14.0) == "early"
    assert raised_by(finished=16.0) is None, "layout saw it and left it"
    assert raised_by(finished=14.0, type="Script") is None
    assert raised_by(finished=14.0, priority="High") is None


def test_references_are_not_raised() -> None:
    assert raised_by(raised=16.0, fields={"original": "x"}) is None


@pytest.mark.parametrize(("to", "known"), [("High", True), ("Low", False)])
def test_devtools_tells_of_priorities_that_change(tmp_path: Path, to: str, known: bool) -> None:
    root = "https://a.test/"
    load = Load(root, protocol="h2", priority="Low")
    events = write_profile(tmp_path / "profile", [[load], [load]]) / "timing-1" / "events.jsonl.gz"
    lines = gzip.decompress(events.read_bytes()).splitlines()
    [sent] = [line for line in lines if b'requestWillBeSent"' in line]
    change = msgspec.json.decode(sent)
    change["method"] = "Network.resourceChangedPriority"
    params = {"requestId": change["params"]["requestId"], "newPriority": to, "timestamp": 7.5}
    change["params"] = params
    lines.insert(lines.index(sent) + 1, msgspec.json.encode(change))
    events.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    [request] = read_events(events).requests
    assert request.raised == (7.5e6 if known else None)

"""What requests wait for in the browser, of profiles whose times are known."""

from pathlib import Path
from typing import Any

import pytest

from loadpath.profiler.stalls import apply_stalls, request_stalls
from profiles import Load, write_profile

ROOT = "https://a.test/"
CONNECTED = {"dnsStart": 6.0, "dnsEnd": 7.0, "connectStart": 7.0, "connectEnd": 27.0}


def root(handed_over_ms: float = 1.0) -> Load:
    return Load(ROOT, connect=CONNECTED, protocol="h2", handed_over_ms=handed_over_ms)


def later(name: str, handed_over_ms: float, send_start_ms: float = 2.0, **options: str) -> Load:
    return Load(
        ROOT + name,
        handed_over_ms=handed_over_ms,
        send_start_ms=send_start_ms,
        protocol=options.get("protocol", "h2"),
        priority=options.get("priority", "High"),
    )


def stalls(tmp_path: Path, *timings: list[Load]) -> dict[str, float]:
    found = request_stalls(write_profile(tmp_path / "profile", [timings[0], *timings]))
    return {url.removeprefix(ROOT): stalled for (url, _, _), stalled in found.items()}


def test_a_stall_ends_with_the_look_up_of_the_name_or_with_sending(tmp_path: Path) -> None:
    found = stalls(tmp_path, [root(), later("a", 5.0)])
    assert found == pytest.approx({"": 7.0, "a": 7.0})


def test_waits_for_connections_are_no_stalls(tmp_path: Path) -> None:
    # On HTTP/1.1 sending begins when a connection of the pool is free.
    found = stalls(tmp_path, [root(), later("a", 5.0, 80.0, protocol="http/1.1")])
    assert found["a"] == pytest.approx(5.0)


def test_stalls_are_medians_over_the_timing_passes(tmp_path: Path) -> None:
    passes = [[root(), later("a", ms)] for ms in (5.0, 50.0, 6.0)]
    assert stalls(tmp_path, *passes)["a"] == pytest.approx(8.0)


def test_what_can_be_delayed_stalls_no_longer_than_the_others(tmp_path: Path) -> None:
    loads = [
        root(60.0),
        later("quick", 0.5, priority="VeryLow"),
        later("a", 5.0),
        later("b", 7.0),
        later("image", 43.0, priority="Medium"),
    ]
    found = stalls(tmp_path, loads)
    assert found["image"] == pytest.approx(8.0), "the median of 7 and 9 ms"
    assert found["quick"] == pytest.approx(2.5)


def test_a_request_is_acted_on_no_later_than_those_after_it(tmp_path: Path) -> None:
    loads = [root(), later("a", 5.0), later("late", 30.0), later("b", 7.0), later("c", 8.0)]
    found = stalls(tmp_path, loads)
    assert found == pytest.approx({"": 7.0, "a": 7.0, "late": 9.0, "b": 9.0, "c": 10.0})


def test_resources_get_their_stalls_but_those_that_nothing_is_sent_for(tmp_path: Path) -> None:
    resource = {"type": "resource", "method": "GET"}
    activities: list[dict[str, Any]] = [
        resource | {"url": ROOT},
        resource | {"url": ROOT + "a", "recorded_sent_ms": 3.0},
        resource | {"url": ROOT + "a", "recorded_sent_ms": 4.0, "original": "x"},
        resource | {"url": ROOT + "b", "recorded_sent_ms": 5.0, "cached": True},
        {"type": "evaluation"},
    ]
    known = {(ROOT, "GET", 0): 7.0, (ROOT + "a", "GET", 0): 2.0, (ROOT + "a", "GET", 1): 3.0}
    apply_stalls({"activities": activities}, known | {(ROOT + "b", "GET", 0): 4.0})
    assert [each.get("stalled_ms") for each in activities] == [7.0, 2.0, None, None, None]

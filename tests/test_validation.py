"""Validation: cells, the store, blocks between controls, errors, reports, kept predictions."""

import csv
import errno
import io
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import ROOT, Loadpath
from loadpath.api import load_graph, simulate
from loadpath.errors import LinkError, LoadpathError, ScenarioError, StoreError
from loadpath.output import write_atomic
from loadpath.parameters import Parameters
from loadpath.testbed import Link, LinkSettings
from loadpath.testbed.load import Http, Load, Request
from loadpath.testbed.loader import BusyMachineError, LoadSettings, Served, WebServer
from loadpath.testbed.pages import Serve
from loadpath.validation import NETWORKS, QUICK_NETWORKS, Plan, Validation, parse_network
from loadpath.validation.accuracy import (
    CellResult,
    accuracy,
    bootstrap_interval,
    halves,
    resource_times,
)
from loadpath.validation.baseline import Kept, keep, keep_graph, moved, read_kept
from loadpath.validation.cells import ValidationNetwork, held_out
from loadpath.validation.measure import (
    ATTEMPTS,
    BLOCK_S,
    CONTROL_LOADS,
    Job,
    Measurement,
    interleaved,
)
from loadpath.validation.pages import ValidationPage, tls_keys
from loadpath.validation.predict import LOSSY_RUNS, Prediction, predict, round_trips, scenario_of
from loadpath.validation.report import markdown, methods, write_report
from loadpath.validation.run import ValidationOptions, plan_of
from loadpath.validation.store import Block, LoadStore
from loadpath.validation.study import Environment, Result
from packages import read_sites

PAGE = "example:figure-3-1"


def test_a_network_is_the_same_in_both_worlds() -> None:
    network = parse_network("7mbit/50ms/45kB")
    assert (network.rate, network.rtt_ms, network.buffer_bytes) == ("7mbit", 50.0, 45_000)
    assert network.lossy
    toml = scenario_of(network, "h2", {"http.tls": "none"}).to_toml()
    for line in ('queue_unit = "bytes"', "queue_limit = 45000", 'tls = "none"', "rtt_ms = 50.0"):
        assert line in toml
    settings = parse_network("10mbit/40ms/1%").link_settings(5)
    assert (settings["run"], settings["loss"], settings["queue"]) == (5, 0.01, "unlimited")
    assert not parse_network("1.6mbit/150ms").lossy
    assert set(QUICK_NETWORKS) <= set(NETWORKS)


@pytest.mark.parametrize("text", ["10mbit", "10/40", "10mbit/40ms/1", "10mbit/40", "fast"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="RATE/RTT"):
        parse_network(text)


def test_half_of_the_packages_are_held_out_by_their_names_alone() -> None:
    pages = [name for site in read_sites() for name in site.pages]
    assert Counter(map(held_out, pages)) == {False: 9, True: 8}


@contextmanager
def nowhere(link: Link) -> Iterator[WebServer]:
    yield Served(url="http://nowhere.test/")


def page(name: str = "page", digest: str = "d") -> ValidationPage:
    def serve(http: Http) -> Serve:
        return nowhere

    return ValidationPage(name, digest, "fake", lambda http: load_graph(PAGE), serve)


FAST, LOSSY = parse_network("10mbit/40ms"), parse_network("10mbit/40ms/2%")


def complete(load_ms: float, **values: Any) -> Load:
    return Load(status="complete", load_ms=load_ms, **values)


class FakeLoads:
    """Stands for real loads: what it is told to answer, and what it was asked for."""

    def __init__(self, answer: Callable[[int], Load] = lambda number: complete(500.0)) -> None:
        self.answer = answer
        self.made: list[tuple[str | float, Http | None, int]] = []
        self.control_ms: Callable[[int], float] = lambda number: 200.0
        self.controls = 0
        self.refusals = 0
        """Loads that find the machine busy before one does not."""

    def __call__(self, link: LinkSettings, serve: Serve, settings: LoadSettings) -> Load:
        if settings.refuse_busy and self.refusals:
            self.refusals -= 1
            raise BusyMachineError("this machine is busy")
        if link.get("rate") == "1gbit" and not settings.handshakes:
            self.controls += 1
            return complete(self.control_ms(self.controls - 1))
        if settings.handshakes:
            return complete(1.0)
        self.made.append((link.get("rtt_ms") or 0, settings.http, link["run"]))
        return self.answer(len(self.made) - 1)


def measurement(folder: Path, loads: FakeLoads, *, step_s: float = 0.0) -> Measurement:
    ticks = count()
    return Measurement(
        store=LoadStore(folder),
        browser="Chromium 1",
        settings=LoadSettings(),
        control=page(),
        loader=loads,
        idle=lambda seconds, note: None,
        clock=lambda: step_s * next(ticks),
    )


def jobs(runs: int = 2, pages: tuple[ValidationPage, ...] = (page(),)) -> list[Job]:
    return list(interleaved(pages, [FAST], ["h1", "h2"], runs, runs))


def test_cells_are_interleaved_and_lossy_ones_go_on() -> None:
    made = [
        (job.run, job.network.name, job.http)
        for job in interleaved([page()], [FAST, LOSSY], ["h1", "h2"], 1, 2)
    ]
    assert made == [
        (0, FAST.name, "h1"),
        (0, FAST.name, "h2"),
        (0, LOSSY.name, "h1"),
        (0, LOSSY.name, "h2"),
        (1, LOSSY.name, "h1"),
        (1, LOSSY.name, "h2"),
    ]


def test_loads_are_made_once(tmp_path: Path) -> None:
    loads = FakeLoads()
    measurement(tmp_path, loads).measure(jobs())
    assert loads.made == [(40.0, "h1", 0), (40.0, "h2", 0), (40.0, "h1", 1), (40.0, "h2", 1)]
    assert loads.controls == 2 * CONTROL_LOADS
    again = FakeLoads()
    measurement(tmp_path, again).measure(jobs())
    assert (again.made, again.controls) == ([], 0)
    more = FakeLoads()
    measurement(tmp_path, more).measure(jobs(runs=3))
    assert more.made == [(40.0, "h1", 2), (40.0, "h2", 2)]


def test_another_page_behind_the_name_is_loaded_anew(tmp_path: Path) -> None:
    measurement(tmp_path, FakeLoads()).measure(jobs(1))
    loads = FakeLoads()
    measurement(tmp_path, loads).measure(jobs(1, (page(digest="other"),)))
    assert len(loads.made) == 2
    browser = replace(measurement(tmp_path, loads), browser="Chromium 2")
    assert len(browser.missing(jobs(1))) == 2


def test_loads_in_doubt_are_repeated_and_given_up(tmp_path: Path) -> None:
    late = complete(900.0, doubts=["late link: by 3 ms"])
    loads = FakeLoads(lambda number: late if number == 0 else complete(500.0))
    notes: list[str] = []
    found = replace(measurement(tmp_path, loads), note=notes.append)
    found.measure(jobs(1))
    assert [http for _, http, _ in loads.made] == ["h1", "h2", "h1"]
    counted = found.counted(jobs(1)[0])
    assert counted is not None
    assert counted.load_ms == 500.0
    assert [len(found.loads(job)) for job in jobs(1)] == [2, 1]
    assert notes == [f"page h1 {FAST.name} run 0: late link: by 3 ms"]

    never = FakeLoads(lambda number: late)
    found = measurement(tmp_path / "never", never)
    found.measure(jobs(1))
    assert len(never.made) == 2 * ATTEMPTS
    assert found.counted(jobs(1)[0]) is None


def test_loads_are_rejected_whose_machine_changed_by_a_good_part_of_them(tmp_path: Path) -> None:
    loads = FakeLoads(lambda number: complete(500.0 if number == 0 else 700.0))
    # Faster by 30 ms once the first block is over, and so it stays.
    loads.control_ms = lambda number: 200.0 if number < CONTROL_LOADS else 170.0
    found = measurement(tmp_path, loads)
    found.measure(jobs(1))
    assert [http for _, http, _ in loads.made] == ["h1", "h2", "h1"]
    assert loads.controls == 3 * CONTROL_LOADS
    assert all(found.counted(job) is not None for job in jobs(1))
    blocks = sorted((tmp_path / "blocks").iterdir())
    kept = [msgspec.json.decode(path.read_bytes(), type=Block) for path in blocks]
    assert [block.moved_ms for block in kept] == [-30.0, 0.0]


def test_long_stretches_have_controls_in_between(tmp_path: Path) -> None:
    loads = FakeLoads()
    measurement(tmp_path, loads, step_s=BLOCK_S / 2).measure(jobs(4))
    assert len(loads.made) == 8
    # One before, one after each block: the end of a block is the beginning of the next.
    blocks = len(list((tmp_path / "blocks").iterdir()))
    assert blocks > 1
    assert loads.controls == (blocks + 1) * CONTROL_LOADS


def test_what_is_begun_ends_with_control_loads_when_time_is_over(tmp_path: Path) -> None:
    loads, notes = FakeLoads(), list[str]()
    found = replace(measurement(tmp_path, loads, step_s=10.0), note=notes.append)
    found.measure(jobs(8), minutes=1)
    assert 0 < len(loads.made) < 16
    assert loads.controls == 2 * CONTROL_LOADS
    assert all(found.counted(job) is not None for job in jobs(8)[: len(loads.made)])
    assert notes == ["1 minutes are over: the same command goes on"]
    found.measure(jobs(8))
    assert len(loads.made) == 16


def test_an_interruption_costs_the_block_under_way(tmp_path: Path) -> None:
    def interrupted(number: int) -> Load:
        if number == 1:
            raise KeyboardInterrupt
        return complete(500.0)

    with pytest.raises(KeyboardInterrupt):
        measurement(tmp_path, FakeLoads(interrupted)).measure(jobs(1))
    loads = FakeLoads()
    found = measurement(tmp_path, loads)
    # What was made is there, but nobody knows how the machine was.
    assert len(found.loads(jobs(1)[0])) == 1
    assert found.counted(jobs(1)[0]) is None
    found.measure(jobs(1))
    assert len(loads.made) == 2


def test_a_page_that_fails_is_kept_and_what_stops_all_is_raised(tmp_path: Path) -> None:
    def refused(number: int) -> Load:
        raise LoadpathError("net::ERR_CONNECTION_REFUSED")

    found = measurement(tmp_path, FakeLoads(refused))
    found.measure(jobs(1))
    assert found.loads(jobs(1)[0])[0].load.reason == "net::ERR_CONNECTION_REFUSED"

    def no_links(number: int) -> Load:
        raise LinkError("links need Linux")

    with pytest.raises(LinkError):
        measurement(tmp_path / "links", FakeLoads(no_links)).measure(jobs(1))


def test_a_machine_that_is_never_idle_ends_it(tmp_path: Path) -> None:
    def busy(seconds: float, note: object) -> None:
        raise BusyMachineError("this machine is busy")

    loads = FakeLoads()
    loads.refusals = 1
    with pytest.raises(BusyMachineError):
        replace(measurement(tmp_path, loads), idle=busy).measure(jobs(1))
    assert loads.made == []


def test_a_load_waits_for_a_machine_that_is_busy_for_a_while(tmp_path: Path) -> None:
    waited = []
    loads = FakeLoads()
    loads.refusals = 3
    patient = replace(measurement(tmp_path, loads), idle=lambda seconds, note: waited.append(1))
    patient.measure(jobs(1))
    assert (len(waited), len(loads.made)) == (3, len(jobs(1)))


def test_a_store_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    found = measurement(tmp_path, FakeLoads())
    found.measure(jobs(1))
    [first, *_] = (tmp_path / "loads").glob("*/*.json")
    first.write_bytes(first.read_bytes()[:40])
    with pytest.raises(StoreError, match="damaged"):
        found.missing(jobs(1))
    (tmp_path / "file").touch()
    with pytest.raises(LoadpathError, match="cannot"):
        measurement(tmp_path / "file", FakeLoads()).measure(jobs(1))


def test_a_full_disk_ends_it_and_loses_no_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0

    def full(path: Path, content: bytes, *, force: bool) -> None:
        nonlocal written
        written += 1
        if written == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_atomic(path, content, force=force)

    monkeypatch.setattr("loadpath.validation.store.write_atomic", full)
    found = measurement(tmp_path, FakeLoads())
    with pytest.raises(StoreError, match="No space left on device"):
        found.measure(jobs(1))
    assert [len(found.loads(job)) for job in jobs(1)] == [1, 0]
    found.measure(jobs(1))
    assert all(found.counted(job) is not None for job in jobs(1))


def test_errors_are_those_of_arithmetic() -> None:
    found = accuracy([(90.0, 100.0), (220.0, 200.0), (300.0, 300.0), (None, 5.0), (4.0, None)])
    assert found is not None
    assert found.cells == 3
    assert found.median_absolute == pytest.approx(0.1)
    assert found.mean_absolute == pytest.approx(0.2 / 3)
    assert found.bias == pytest.approx(0.0)
    assert found.spearman == 1.0
    assert accuracy([]) is None
    reverse = accuracy([(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)])
    assert reverse is not None
    assert reverse.spearman == -1.0
    assert halves([1.0, 10.0, 3.0, 20.0]) == (2.0, 15.0)
    assert halves([1.0]) is None
    assert round_trips([500.0, 900.0], [100.0, 100.0], [100.0, 200.0]) == 4.0


def test_the_interval_of_a_median_narrows_with_loads_and_never_moves() -> None:
    few, many = [100.0, 110.0, 120.0], [100.0, 110.0, 120.0] * 20
    wide, narrow = bootstrap_interval(few), bootstrap_interval(many)
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] == 20
    assert narrow == (110.0, 110.0)
    assert bootstrap_interval(few) == wide
    assert bootstrap_interval([1.0, 2.0]) is None


def request(url: str, end_ms: float | None, **values: Any) -> Request:
    return Request(url=url, start_ms=0.0, end_ms=end_ms, **values)


def test_responses_are_compared_by_url_up_to_the_load_event() -> None:
    loads = [
        complete(
            100.0,
            requests=[
                request("a", 40.0 + run),
                request("a", 90.0),
                request("after", 150.0),
                request("broken", None, error="net::ERR_FAILED"),
                request("unknown", 50.0),
                request("seldom", 60.0 if run == 0 else None),
            ],
        )
        for run in range(3)
    ]
    ends = {"a": 44.0, "after": 120.0, "broken": 1.0, "seldom": 60.0}
    prediction = Prediction(loads_ms=[90.0], pcp_ms=None, bytes_ms=10.0, resources_ms=ends)
    [found] = resource_times(loads, prediction)
    assert (found.url, found.measured_ms, found.predicted_ms) == ("a", 41.0, 44.0)


def test_handshakes_are_those_of_the_probe() -> None:
    clear = complete(1.0, requests=[request("http://a.test/", 1.0, connection=1)])
    assert tls_keys(clear) == {"http.tls": "none"}
    assert tls_keys(None) == {}
    hello = {"address": "", "client_hello_bytes": 1765, "server_flight_bytes": 597}
    tls = [
        {**hello, "client_hello_bytes": 1, "server_flight_bytes": 97, "resumed": True},
        {**hello, "resumed": False},
    ]
    secure = msgspec.convert(
        {
            "status": "complete",
            "requests": [{"url": "https://a.test/", "start_ms": 0.0, "connection": 1}],
            "tls": tls,
        },
        Load,
    )
    assert tls_keys(secure) == {
        "http.tls": "1.3",
        "http.tls_client_hello_bytes": 1765,
        "http.tls_server_hello_bytes": 97,
        "http.tls_certificate_bytes": 500,
    }


def test_a_prediction_is_the_simulation_of_the_cell() -> None:
    graph = load_graph(PAGE)
    found, lossy = predict([(graph, FAST, "h2", {}), (graph, LOSSY, "h1", {"http.tls": "none"})])
    wanted = FAST.parameters() | Parameters(http="h2", connections=1)
    [expected] = simulate(PAGE, **wanted)
    assert found.load_ms == expected.plt_ms
    assert found.resources_ms[expected.resources[0].url] == expected.resources[0].end_ms
    total = sum(resource.size_bytes for resource in expected.resources)
    assert found.bytes_ms == pytest.approx(8e3 * total / 10e6)
    wanted = LOSSY.parameters()
    keys = {**(wanted.get("set") or {}), "http.tls": "none", "browser.jitter_fraction": 0.2}
    wanted |= Parameters(http="h1", connections=6, set=keys)
    many = simulate(PAGE, runs=LOSSY_RUNS, **wanted)
    times = sorted(each.plt_ms or float("inf") for each in many)
    assert lossy.load_ms == times[LOSSY_RUNS // 2]
    assert lossy.pcp_ms is not None


def cell(name: str, predicted_ms: float, measured_ms: list[float], **values: Any) -> CellResult:
    return CellResult(
        **{
            "page": name,
            "held_out": held_out(name),
            "network": FAST,
            "http": "h2",
            "measured": dict(enumerate(measured_ms)),
            "rejected": 1,
            "prediction": Prediction(
                loads_ms=[predicted_ms] * 3,
                pcp_ms=2 * predicted_ms,
                bytes_ms=100.0,
                resources_ms={},
            ),
            **values,
        }
    )


def test_what_loads_say_of_themselves_takes_six() -> None:
    assert cell("a", 1.0, [1.0, 2.0, 3.0, 4.0, 5.0]).half_inside is None
    assert cell("a", 1.0, [300.0, 290.0, 300.0, 310.0, 305.0, 300.0]).half_inside is True
    assert cell("a", 1.0, [200.0, 290.0, 210.0, 310.0, 205.0, 300.0]).half_inside is False


def test_loads_are_compared_with_the_simulated_ones_of_the_same_losses() -> None:
    loads_ms = [100.0, 200.0, None, 300.0, 120.0]
    prediction = Prediction(loads_ms=loads_ms, pcp_ms=None, bytes_ms=1.0, resources_ms={})
    assert prediction.load_ms == 200.0
    one = cell("a", 0.0, [], measured={1: 205.0, 3: 290.0}, prediction=prediction)
    assert one.same_runs_ms == 250.0
    assert one.pairs_ms == [(200.0, 205.0), (300.0, 290.0)]
    # A load that does not end is longer than any other.
    most = msgspec.structs.replace(one, measured={0: 1.0, 2: 1.0, 3: 1.0})
    assert most.same_runs_ms == 300.0
    assert msgspec.structs.replace(one, measured={2: 1.0}).same_runs_ms is None
    later = msgspec.structs.replace(one, measured={1: 205.0, 5: 290.0})
    assert (later.same_runs_ms, later.pairs_ms) == (None, [(200.0, 205.0)])
    lossy = [cell("a", 0.0, [210.0, 200.0, 190.0], network=LOSSY, prediction=prediction)]
    text = markdown(replace(RESULT, cells=lossy), "accuracy", "Title", "make validate")
    single = text.partition("### Load by load")[2]
    # 100 of 210 and 200 of 200; the third does not end.
    assert "| h2 | 10mbit/40ms/2% | all | 2 | 26.2% | 26.2% | -26.2% |" in single
    assert "| the same, of the same losses | all | 1 | 0.0% |" in single


CELLS = [
    cell("swagger-ui", 180.0, [200.0, 190.0, 210.0]),
    cell("reveal-js", 450.0, [300.0, 290.0, 310.0]),
    cell("ckeditor", 402.0, [400.0, 390.0, 410.0], problem="3 URLs are not in the archive"),
    cell("ckeditor", 405.0, [400.0, 390.0, 410.0], network=LOSSY),
    cell("reveal-js", 505.0, [400.0, 390.0, 410.0], network=LOSSY),
    cell("ckeditor", 412.0, [400.0, 399.0, 401.0], network=LOSSY, http="h1"),
    cell("reveal-js", 250.0, [400.0, 390.0, 410.0], http="h3"),
]
RESULT = Result(
    CELLS,
    Environment(date="2000-01-01", system="Linux 1", processors=2, browser="Chromium 1"),
    Plan(),
)


def test_a_report_has_the_worst_cells_first_and_what_is_held_out_apart(tmp_path: Path) -> None:
    files = write_report(RESULT, tmp_path, "accuracy", "Title", "make validate")
    assert {file.name for file in files} == {
        "accuracy.csv",
        "accuracy.md",
        "accuracy-resources.csv",
    }
    text = (tmp_path / "accuracy.md").read_text()
    plain, _, rest = text.partition("### HTTP/3")
    assert "| profile `linux` | held out | 1 | 50.0% | 50.0% | +50.0% | 50.0% | - | 0% |" in plain
    assert "| profile `linux` | tuning | 2 | 5.2% |" in plain
    assert "| half the loads | all | 3 |" in plain
    quic, _, rest = rest.partition("## Cells with loss")
    assert "| profile `linux` | all | 1 | 37.5% |" in quic
    # One of three predicted medians lies in its interval, another is close.
    assert "| all | all | all | 3 | 33% | 67% | 33% | - |" in rest
    worst = [line for line in rest.splitlines() if line.startswith(("| reveal", "| swagger"))]
    assert [line.split("|")[-2].strip() for line in worst] == [
        "+50.0%",
        "-37.5%",
        "+26.2%",
        "-10.0%",
    ]
    assert "- ckeditor: 3 URLs are not in the archive" in rest
    rows = list(csv.DictReader(io.StringIO((tmp_path / "accuracy.csv").read_text())))
    assert len(rows) == len(CELLS)
    first = rows[0]
    assert (first["page"], first["set"], first["measured_ms"]) == ("swagger-ui", "tuning", "200.0")
    assert (first["predicted_ms"], first["predicted_error"]) == ("180.0", "-0.1000")
    assert (first["pcp_error"], first["inside"]) == ("+0.8000", "0")


def test_the_plain_method_is_fitted_to_pages_for_tuning_alone() -> None:
    found = methods(CELLS)
    # (200 - 100) / 40 and (400 - 100) / 40 round trips.
    assert found["bytes and round trips"](CELLS[1]) == 100.0 + 40 * (2.5 + 7.5) / 2
    assert "Lantern" not in found
    known = [msgspec.structs.replace(each, lantern_ms=1.0) for each in CELLS]
    assert methods(known)["Lantern"](known[0]) == 1.0


def test_a_report_of_nothing_measured_is_a_report() -> None:
    nothing = [msgspec.structs.replace(each, measured={}, rejected=0) for each in CELLS]
    text = markdown(replace(RESULT, cells=nothing), "accuracy", "Title", "make validate")
    assert "0 loads counted" in text
    assert "bytes and round trips" not in text


def test_a_validation_goes_from_pages_to_cells(tmp_path: Path) -> None:
    loads = FakeLoads(lambda number: complete(300.0 + number, misses=["http://x.test/"]))
    plan = Plan([FAST, LOSSY], ["h2"], runs=2, lossy_runs=3)
    steps: list[str] = []
    validation = Validation([page()], plan, measurement(tmp_path, loads))
    validation.measure(lambda what, done, total: steps.append(f"{what} {done}/{total}"))
    assert steps[-1] == "measuring 5/5"
    result = validation.examine(lambda what, done, total: None)
    plain, lossy = result.cells
    assert (plain.network, len(plain.measured_ms), plain.rejected) == (FAST, 2, 0)
    assert (lossy.network, len(lossy.measured_ms)) == (LOSSY, 3)
    assert plain.problem == "1 URLs are not in the archive"
    folder = tmp_path / "kept"
    validation.keep_predictions(result, folder)
    kept = read_kept(folder)
    assert [each.network for each in kept] == [FAST.name, LOSSY.name]
    assert moved(folder, kept) == []


def test_a_prediction_that_moves_is_seen(tmp_path: Path) -> None:
    graph = keep_graph(tmp_path, "page", "h2", load_graph(PAGE))
    [found] = predict([(load_graph(PAGE), FAST, "h2", {})])
    assert found.load_ms is not None
    same = Kept(page="page", graph=graph, http="h2", network=FAST.name, load_ms=found.load_ms)
    keep(tmp_path, [same, msgspec.structs.replace(same, load_ms=2 * found.load_ms)])
    [change] = moved(tmp_path, read_kept(tmp_path))
    assert change.change == pytest.approx(-0.5, abs=1e-4)
    assert "(-50.00%)" in change.describe()


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in (ROOT / "tests/data").glob("**/predictions.json"))
)
def test_predictions_do_not_move_silently(folder: Path) -> None:
    changes = moved(folder, read_kept(folder))
    assert not changes, (
        "predictions moved; if they are meant to, write them anew "
        "(scripts/validation_baseline.py, `make validate`) and say so in CHANGELOG.md:\n"
        + "\n".join(change.describe() for change in changes)
    )


def test_options_become_a_plan(tmp_path: Path) -> None:
    options = ValidationOptions(store=tmp_path, output=tmp_path)
    assert plan_of(options).networks == NETWORKS
    quick = plan_of(replace(options, quick=True))
    assert (quick.networks, len(quick.protocols)) == (QUICK_NETWORKS, 3)
    # 40 minutes: six pages, loads of 4 s with all that belongs to them.
    assert 6 * 4 * len(list(quick.jobs([page()]))) < 40 * 60
    own = plan_of(replace(options, networks="5mbit/30ms, 5mbit/30ms/1%", runs=4))
    assert [network.name for network in own.networks] == ["5mbit/30ms", "5mbit/30ms/1%"]
    assert (own.runs, own.lossy_runs) == (4, 12)


def test_the_command_refuses_what_it_cannot_do(loadpath: Loadpath) -> None:
    result = loadpath("validate", PAGE, "--protocols", "h4")
    assert (result.returncode, "--protocols h4: no such protocol" in result.stderr) == (1, True)


def test_a_network_is_hashable() -> None:
    assert {parse_network("1mbit/1ms"), parse_network("1mbit/1ms")} == {
        ValidationNetwork(name="1mbit/1ms", rate="1mbit", rtt_ms=1.0)
    }

"""Links in real time. They need root or user namespaces: skipped loudly elsewhere."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from conftest import Loadpath
from loadpath.errors import LinkError, NotFoundError, ScenarioError
from loadpath.testbed import End, Link, LinkReport, LinkSettings, open_link
from loadpath.testbed.probe import flood, ping

pytestmark = pytest.mark.usefixtures("links")

ATTEMPTS = 5
"""A machine that is busy makes a link late, and the link says so: what it shows then is no test."""


def on_time(measure: Callable[[Link], float], settings: LinkSettings) -> tuple[float, LinkReport]:
    """What is measured over a link that was on time."""
    for _ in range(ATTEMPTS):
        with open_link(**settings) as link:
            value = measure(link)
        report = link.close()
        if report.verdict.ok:
            return value, report
    pytest.skip(f"too busy: {ATTEMPTS} links were late: {report.verdict.reasons}")


def outside() -> list[str]:
    """What a link must not change."""
    state = [
        subprocess.run(["ip", *what], capture_output=True, text=True, check=True).stdout
        for what in (["-o", "link"], ["route", "show", "table", "all"], ["netns"])
    ]
    network = Path("/proc/sys/net/ipv4")
    names = ("tcp_no_metrics_save", "tcp_congestion_control", "tcp_available_congestion_control")
    return [*state, *((network / name).read_text() for name in names)]


def processes(marker: str) -> list[int]:
    """Processes with a text in their command line, this one excepted."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode(errors="replace")
            if marker in words and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def gone(marker: str) -> bool:
    """Whether such processes disappear."""
    deadline = time.monotonic() + 10
    while processes(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_ping_takes_the_round_trip_and_twice_its_serialisation() -> None:
    def fastest(link: Link) -> float:
        return min(ping(link, count=15))

    rtt, report = on_time(fastest, LinkSettings(rate="1mbit", rtt_ms=30, delay_down_ms=22.0))
    # What processes take to wake up comes on top, on any machine: less than one serialisation on
    # each way (`make bench-link` measures it).
    expected = 30 + 2 * 84 * 8 / 1000
    assert expected - 0.02 <= rtt <= expected + 0.6
    assert report.up.delivered_packets == report.down.delivered_packets == 15
    assert report.up.offered_bytes == report.down.offered_bytes == 15 * 84


@pytest.mark.parametrize(("to", "rate_bps"), [("client", 20e6), ("server", 3e6)])
def test_a_flood_comes_through_at_the_rate_of_its_direction(to: End, rate_bps: float) -> None:
    seconds = 0.0

    def rate(link: Link) -> float:
        nonlocal seconds
        packets = int(0.7 * rate_bps / 12_000)
        came = flood(link, to, rate_bps=2 * rate_bps, packets=packets)
        seconds = came.seconds
        return came.rate_bps

    unlimited = {"network.queue": "unlimited", "network.up_queue": "unlimited"}
    settings = LinkSettings(rate="20mbit", up_rate="3mbit", rtt_ms=10, set=unlimited)
    for _ in range(ATTEMPTS):
        measured, report = on_time(rate, settings)
        way = report.down if to == "client" else report.up
        # A sender that gets no processor leaves the link idle.
        if 1e3 * seconds < 1.005 * way.busy_ms:
            break
    else:
        pytest.skip(f"too busy: {ATTEMPTS} senders were late")
    assert measured == pytest.approx(rate_bps, rel=0.01)


SENDER = """
import socket, sys
server = socket.create_server((sys.argv[1], 5001))
connection, _ = server.accept()
connection.sendall(bytes(int(sys.argv[2])))
"""
RECEIVER = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], 5001))
print(connection.getsockopt(socket.IPPROTO_TCP, 13, 16).rstrip(b"\\0").decode())
total, readings = 0, []
while data := connection.recv(1 << 16):
    total += len(data)
    readings.append((time.monotonic(), total))
# Beyond slow start.
(t0, n0), (t1, n1) = readings[len(readings) // 3], readings[-1]
print(8 * (n1 - n0) / (t1 - t0), total)
"""


def test_a_tcp_transfer_fills_the_link() -> None:
    size = 2_000_000

    def goodput(link: Link) -> float:
        arguments = [sys.executable, "-c", SENDER, link.server_address, str(size)]
        link.start_server(arguments, wait_port=5001)
        result = link.run(
            "client",
            [sys.executable, "-c", RECEIVER, link.server_address],
            capture_output=True,
            text=True,
            check=True,
        )
        congestion, rate, total = result.stdout.split()
        assert congestion == "reno"
        assert int(total) == size
        return float(rate)

    settings = LinkSettings(rate="10mbit", rtt_ms=10, kernel_congestion="reno")
    rate, report = on_time(goodput, settings)
    assert rate == pytest.approx(10e6 * 1448 / 1500, rel=0.02)
    assert report.down.delivered_packets > size / 1448


def test_exactly_the_packets_named_are_dropped() -> None:
    with open_link(rate="50mbit", rtt_ms=2, drop_down=[7, 3, 4], drop_up=[]) as link:
        down = flood(link, "client", rate_bps=10e6, packets=20)
        up = flood(link, "server", rate_bps=10e6, packets=20)
    assert down.numbers == [n for n in range(20) if n not in (3, 4, 7)]
    assert up.numbers == list(range(20))
    report = link.close()
    assert (report.down.offered_packets, report.down.lost_packets) == (20, 3)
    assert (report.up.offered_packets, report.up.lost_packets) == (20, 0)
    assert report.down.delivered_packets == 17


@pytest.mark.parametrize(
    ("unit", "limit", "waiting"), [("packets", 5, 5), ("bytes", 4600, 3)], ids=["packets", "bytes"]
)
def test_a_queue_holds_exactly_its_limit(unit: str, limit: int, waiting: int) -> None:
    queue = {"network.queue_unit": unit, "network.queue_limit": limit}
    # A packet takes 120 ms, all are sent within a few: one is in service, the limit waits.
    with open_link(rate="100kbit", rtt_ms=0, set=queue) as link:
        came = flood(link, "client", rate_bps=100e6, packets=12)
    report = link.close()
    assert came.numbers == list(range(1 + waiting))
    assert report.down.queue_drops == 12 - (1 + waiting)
    assert report.down.max_waiting_packets == waiting


def test_random_losses_are_those_of_the_repetition() -> None:
    def fates(run: int) -> list[int]:
        with open_link(rate="100mbit", rtt_ms=0, loss=0.3, seed=5, run=run) as link:
            return flood(link, "client", rate_bps=20e6, packets=60).numbers

    first = fates(0)
    assert first == fates(0)
    assert first != fates(1)
    assert 25 <= len(first) <= 55


def test_both_kernels_have_the_window_and_the_congestion_controller() -> None:
    with open_link(congestion="newreno", icwnd=3) as link:
        for end in get_args(End):
            show = ["ip", "route", "show", "default"]
            route = link.run(end, show, capture_output=True, text=True, check=True)
            assert "initcwnd 3" in route.stdout
            assert "congctl reno" in route.stdout
            setting = Path("/proc/sys/net/ipv4/tcp_no_metrics_save")
            saved = link.run(end, ["cat", str(setting)], capture_output=True, check=True)
            assert saved.stdout == b"1\n"


def test_nothing_outside_is_changed() -> None:
    before = outside()
    with open_link() as link:
        assert outside() == before
        inside = link.run("client", ["ip", "-o", "link"], capture_output=True, text=True)
        assert "link0" in inside.stdout
    assert outside() == before


def test_the_command_runs_in_its_folder_with_its_status_and_output(
    loadpath: Loadpath, tmp_path: Path
) -> None:
    addresses = "$LOADPATH_CLIENT_ADDRESS $LOADPATH_SERVER_ADDRESS"
    script = f"pwd; echo {addresses}; cat got; echo told >&2; exit 7"
    (tmp_path / "got").write_text("from a file\n")
    result = loadpath("link", "-c", "cable", "--json", "link.json", "--", "sh", "-c", script)
    assert result.returncode == 7
    assert result.stdout == f"{tmp_path}\n100.64.0.1 100.64.0.2\nfrom a file\n"
    assert "emulated, 5 Mbit/s down, 1 Mbit/s up, RTT 28 ms" in result.stderr
    assert "told" in result.stderr
    record = json.loads((tmp_path / "link.json").read_text())
    assert record["scenario"]["network"]["rate_bps"] == 5_000_000
    report = msgspec.convert(record["report"], LinkReport)
    assert report.label == "emulated"
    assert report.down.offered_packets == report.up.offered_packets == 0


def test_options_behind_the_command_are_the_command_s(loadpath: Loadpath) -> None:
    result = loadpath("link", "--rtt", "5ms", "echo", "--rtt", "-c")
    assert (result.returncode, result.stdout) == (0, "--rtt -c\n")


def test_servers_run_at_the_other_end(loadpath: Loadpath) -> None:
    result = loadpath(
        "link",
        *("--server", f"{sys.executable} -m http.server --bind $LOADPATH_SERVER_ADDRESS 8080"),
        *("--wait-port", "8080"),
        *(sys.executable, "-c"),
        "import os, urllib.request\n"
        "url = f'http://{os.environ[\"LOADPATH_SERVER_ADDRESS\"]}:8080/'\n"
        "print(urllib.request.urlopen(url).status)",
    )
    assert (result.returncode, result.stdout) == (0, "200\n"), result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--congestion", "nosuch"], "the kernel has no congestion controller"),
        (["--drop-down", "3,x"], "--drop-down 3,x: expected numbers from 0"),
        (["--tap", "no/such/folder/x"], "cannot write the capture"),
        (["--set", "multipath.paths=same"], "links have single or independent paths"),
        (["--delay-down", "50", "--rtt", "40"], "delay_down_ms = 50: expected a number from 0 to"),
        (["--server", "exit 3", "--wait-port", "80"], "a server failed with status 3"),
        (["--wait-port", "80/sctp"], "port 80/sctp: expected PORT or ADDRESS:PORT"),
        (["--wait-port", "here:80"], "port here:80: 'here' is no IP address"),
        (["-c", "nosuch"], "no network named 'nosuch'"),
        (["--queue", "codel"], "network.queue"),
    ],
)
def test_mistakes_are_one_clear_error(
    loadpath: Loadpath, arguments: list[str], message: str
) -> None:
    result = loadpath("link", *arguments, "--", "echo", "ran")
    assert result.returncode == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("error:") == 1
    assert "Traceback" not in result.stderr


def test_a_command_that_does_not_exist_has_the_shell_s_status(loadpath: Loadpath) -> None:
    result = loadpath("link", "no-such-command")
    assert result.returncode == 127
    assert "no-such-command" in result.stderr


def test_mistakes_in_settings_are_errors_of_their_kind() -> None:
    for error, settings in (
        (NotFoundError, LinkSettings(connectivity="nosuch")),
        (ScenarioError, LinkSettings(rate="fast")),
        (LinkError, LinkSettings(kernel_congestion="nosuch")),
    ):
        with pytest.raises(error), open_link(**settings):
            pass


def test_a_server_that_never_listens_is_an_error() -> None:
    with open_link() as link, pytest.raises(LinkError, match="nothing listens on 81"):
        link.start_server(["sleep", "60"], wait_port=81, timeout_s=0.2)


def test_no_user_but_root_s_is_needed(loadpath: Loadpath) -> None:
    if os.geteuid() != 0:
        pytest.skip("all other tests run without root here")
    # What remains is what a user namespace needs who would map root, Linux 5.12.
    result = subprocess.run(
        [
            *("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"),
            *(sys.executable, "-m", "loadpath", "link", "--", "id", "-u"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr
    assert "without real-time priority" in result.stderr


def test_a_udp_server_is_waited_for_at_its_address() -> None:
    program = """
import socket, sys, time
time.sleep(0.3)
channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
channel.bind((sys.argv[1], 443))
time.sleep(60)
"""
    with open_link() as link:
        arguments = [sys.executable, "-c", program, link.server_address]
        server = link.start_server(arguments, wait_port=f"{link.server_address}:443/udp")
        assert server.poll() is None
        for other in ("127.0.0.1:443/udp", "443", "444/udp"):
            with pytest.raises(LinkError, match="nothing listens"):
                link.wait_for_port(other, timeout_s=0)


def test_a_link_whose_device_is_taken_away_fails(loadpath: Loadpath) -> None:
    result = loadpath("link", "sh", "-c", "ip link delete link0; sleep 30")
    assert result.returncode == 1
    assert "cannot forward packets" in result.stderr
    assert "Traceback" not in result.stderr


STUDY = """
import subprocess, sys, time
from loadpath.testbed import open_link
with open_link() as link:
    # A grandchild in a session of its own, which ignores what can be ignored.
    stubborn = "trap '' TERM INT HUP; setsid sleep MARKER & sleep MARKER"
    link.popen("client", ["bash", "-c", stubborn])
    link.start_server("trap '' TERM INT HUP; sleep MARKER & wait; sleep MARKER")
    print(link._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def study(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """A program with a link, the link's process, and a text in the command lines of what runs."""
    marker = f"{3000 + os.getpid()}.{abs(hash(request.node.name)) % 10**6}"
    program = subprocess.Popen(
        [sys.executable, "-c", STUDY.replace("MARKER", marker)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with program:
        assert program.stdout is not None
        host = int(program.stdout.readline())
        deadline = time.monotonic() + 10
        while len(processes(f"sleep\0{marker}")) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield program, host, marker
        program.kill()


def children(process: int) -> list[int]:
    words = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(word) for word in words]


def network_namespaces() -> set[Path]:
    found = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            found.add(link.readlink())
    return found


@pytest.mark.parametrize("victim", ["program", "host", "init", "command"])
def test_nothing_survives_a_kill(
    study: tuple[subprocess.Popen[str], int, str], victim: str
) -> None:
    program, host, marker = study
    [init] = children(host)
    namespace = Path(f"/proc/{init}/ns/net").readlink()
    helpers = [p for p in processes("loadpath.testbed.enter") if marker in command_line(p)]
    target = {"program": program.pid, "host": host, "init": init, "command": helpers[0]}[victim]
    os.kill(target, signal.SIGKILL)
    if victim == "command":
        # Only the link's end takes what a command has left behind with it.
        os.kill(host, signal.SIGKILL)
    assert gone(f"sleep\0{marker}")
    deadline = time.monotonic() + 10
    while namespace in network_namespaces():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def command_line(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    return ""


def test_ctrl_c_ends_the_command_and_leaves_nothing(tmp_path: Path) -> None:
    marker = f"{4000 + os.getpid()}.5"
    with subprocess.Popen(
        [sys.executable, "-m", "loadpath", "link", "--", "sleep", marker],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=tmp_path,
    ) as program:
        deadline = time.monotonic() + 20
        while not any(command_line(p).startswith("sleep") for p in processes(marker)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        # As a terminal does it: to all of its foreground.
        os.killpg(program.pid, signal.SIGINT)
        _, said = program.communicate(timeout=20)
    assert program.returncode == 130
    assert "delivered" in said
    assert "Traceback" not in said
    assert gone(marker)

"""Links in a row, and kill -9 of every part of a link at random points: nothing may be left.

Each link has two paths, a tap, a server, traffic and a grandchild in a session of its own. Without
a kill it must end with a report; with one, no process, network namespace, device or route of it may
remain, and the program that opened it must end by itself: `make study-link-kills`. Writes a table
to standard output.

usage: studies/link_kills.py; --help lists the options
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tables import markdown_table

__all__ = ["Victim", "end_link", "kill_link"]

WAIT_S = 60.0
"""On a busy machine a link takes seconds to start and to end; none takes that."""
MARK = "LOADPATH_LINK_KILLS"
"""Every process of a link has it in its environment."""

PROGRAM = """
import sys
from pathlib import Path
from loadpath.errors import LoadpathError
from loadpath.testbed import open_link
from loadpath.testbed.transfer import fetch, serve_transfers
try:
    with open_link(
        rate="20mbit", rtt_ms=10, tap=sys.argv[1], set={"multipath.paths": "independent"}
    ) as link:
        link.popen("client", ["bash", "-c", "trap '' TERM INT HUP; setsid sleep 600 & sleep 600"])
        with serve_transfers(link, multipath=Path("/proc/sys/net/mptcp").is_dir()):
            while True:
                fetch(link, 200_000)
                print("fetched", flush=True)
                if sys.argv[2] == "once":
                    break
except (LoadpathError, BrokenPipeError) as error:
    sys.exit(f"error: {error}")
print(link.report.down.delivered_packets)
"""


class Victim(StrEnum):
    """What is killed."""

    PROGRAM = "program"
    HOST = "host"
    INIT = "init"
    ENTER = "enter"
    COMMAND = "command"


def _start(folder: Path, mark: str, how_often: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder / "tap"), how_often],
        env=os.environ | {MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _marked(mark: str) -> dict[int, list[str]]:
    """Processes of a link, with their command lines."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                found[int(folder.name)] = words[:-1]
    return found


def _networks(processes: Iterable[int]) -> set[str]:
    """Network namespaces that processes are in or hold open, other than this one."""
    found = set()
    for process in processes:
        with suppress(OSError):
            links = [Path(f"/proc/{process}/ns/net"), *Path(f"/proc/{process}/fd").iterdir()]
            for link in links:
                with suppress(OSError):
                    found.add(str(link.readlink()))
    own = str(Path("/proc/self/ns/net").readlink())
    return {each for each in found if each.startswith("net:") and each != own}


def _candidates(victim: Victim, mark: str, program: int) -> list[int]:
    """The processes that are one."""
    found = _marked(mark)
    hosts = sorted(p for p, words in found.items() if "loadpath.testbed.host" in words)
    enters = [p for p, words in found.items() if "loadpath.testbed.enter" in words]
    match victim:
        case Victim.PROGRAM:
            return [program] if program in found else []
        case Victim.HOST:
            return hosts[:1]
        case Victim.INIT:
            return hosts[1:]
        case Victim.ENTER:
            return enters
        case Victim.COMMAND:
            return sorted(set(found) - {program, *hosts, *enters})


def _outside() -> list[str]:
    """What no link may change."""
    return [
        subprocess.run(["ip", *what], capture_output=True, text=True, check=True).stdout
        for what in (["-o", "link"], ["rule"], ["route", "show", "table", "all"], ["netns"])
    ]


def _assert_gone(mark: str, networks: set[str], before: list[str]) -> None:
    deadline = time.monotonic() + WAIT_S
    while left := _marked(mark):
        assert time.monotonic() < deadline, f"left: {left}"
        time.sleep(0.02)
    while True:
        everybody = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
        kept = networks & _networks(everybody)
        if not kept:
            break
        assert time.monotonic() < deadline, f"network namespaces left: {kept}"
        time.sleep(0.02)
    assert _outside() == before


def kill_link(victim: Victim, after_s: float, folder: Path, chance: random.Random) -> str:
    """Start a link, kill a part of it so many seconds later; what its program said.

    Raises
    ------
    AssertionError
        Something is left, or the program did not end.
    """
    mark, before = str(uuid.uuid4()), _outside()
    with _start(folder, mark, "on") as program:
        deadline = time.monotonic() + WAIT_S
        time.sleep(after_s)
        while not (found := _candidates(victim, mark, program.pid)):
            assert time.monotonic() < deadline, f"no {victim}"
            assert program.poll() is None, program.communicate()
            time.sleep(0.01)
        networks = _networks(_marked(mark))
        with suppress(ProcessLookupError):
            os.kill(chance.choice(found), signal.SIGKILL)
        if victim in (Victim.ENTER, Victim.COMMAND):
            # The link goes on without a command: only its program's end ends it.
            time.sleep(chance.uniform(0, 0.2))
            networks |= _networks(_marked(mark))
            program.kill()
        try:
            _, said = program.communicate(timeout=WAIT_S)
        finally:
            program.kill()
    assert "Traceback" not in said, said
    _assert_gone(mark, networks, before)
    (folder / "tap.part").unlink(missing_ok=True)
    return said.strip()


def end_link(folder: Path) -> None:
    """Start a link and let it end.

    Raises
    ------
    AssertionError
        It did not end well, or something is left.
    """
    mark, before = str(uuid.uuid4()), _outside()
    with _start(folder, mark, "once") as program:
        assert program.stdout is not None
        program.stdout.readline()
        networks = _networks(_marked(mark))
        told, said = program.communicate(timeout=WAIT_S)
    assert program.returncode == 0, said
    assert int(told) > 0
    _assert_gone(mark, networks, before)
    (folder / "tap").unlink()


def main(
    links: Annotated[int, typer.Option(min=1, help="In a row.")] = 50,
    kills: Annotated[int, typer.Option(min=1, help="Of each kind.")] = 20,
    seed: int = 1,
) -> None:
    """Run the study."""
    chance = random.Random(seed)
    rows = []
    with tempfile.TemporaryDirectory(prefix="loadpath-link-kills-") as name:
        folder = Path(name)
        start = time.monotonic()
        for number in range(links):
            end_link(folder)
            print(f"link {number + 1}", file=sys.stderr, flush=True)
        rows.append(["nothing", str(links), f"{time.monotonic() - start:.0f}", "nothing"])
        for victim in Victim:
            start = time.monotonic()
            for number in range(kills):
                # Some come while the link starts.
                said = kill_link(victim, chance.uniform(0, 2), folder, chance)
                print(f"{victim} {number + 1}: {said}", file=sys.stderr, flush=True)
            rows.append([str(victim), str(kills), f"{time.monotonic() - start:.0f}", "nothing"])
    headings = ["killed", "links", "s", "left"]
    print(markdown_table(headings, rows, words=["killed", "left"]), end="")


if __name__ == "__main__":
    typer.run(main)

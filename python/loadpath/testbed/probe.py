"""Measures a link from its ends: its round-trip time by echo requests, its rate by a flood of
datagrams. As a module it is the program that runs there.
"""

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from loadpath.errors import LinkError
from loadpath.testbed.link import End, Link

__all__ = ["Flood", "flood", "ping"]

IP_UDP_HEADER_BYTES = 28
DATAGRAM_BYTES = 1500 - IP_UDP_HEADER_BYTES
ECHO_BYTES = 56
"""Of data in an echo request, as ping(8) has it; 28 of headers come on top."""
PORT = 9
"""RFC 863: nobody answers."""
SILENCE_S = 0.4
"""A flood is over when nothing has come for this long, and what a packet may take."""
_BURST_S = 0.002
"""A sender sleeps for so long at a time, and sends what was due meanwhile at once."""
RECEIVE_BUFFER_BYTES = 8 << 20
"""Half a second at 100 Mbit/s: a receiver that is kept waiting loses nothing."""
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
"""include/uapi/asm-generic/socket.h, the latter as SO_TIMESTAMPNS_OLD; Python has no names."""


class Flood(msgspec.Struct, frozen=True):
    """What came through."""

    numbers: list[int]
    """Of the datagrams that came, in their order."""
    seconds: float
    """From the first to the last."""

    @property
    def rate_bps(self) -> float:
        """Of IP packets; NaN if fewer than two came."""
        packets = len(self.numbers) - 1
        return packets * 8 * 1500 / self.seconds if packets > 0 else float("nan")


def ping(link: Link, *, count: int, interval_s: float = 0.0) -> list[float]:
    """Round-trip times of echo requests in ms, each sent after the answer to the one before.

    The kernel answers and stamps the answers, so that no program's slowness is measured. Two times
    the serialisation of 84 bytes is in them.

    Raises
    ------
    LinkError
        There was no answer.
    """
    times: list[float] = _run(link, "client", "ping", link.server_address, count, interval_s)
    return times


def flood(link: Link, to: End, *, rate_bps: float, packets: int, delay_s: float = 0.1) -> Flood:
    """Send packets of 1500 bytes to one end at about `rate_bps`; `delay_s` is what one may take.

    Raises
    ------
    LinkError
        A program at an end failed.
    """
    address, other = (
        (link.client_address, "server") if to == "client" else (link.server_address, "client")
    )
    receiver = link.popen(
        to, _command("receive", address, SILENCE_S + delay_s), stdout=subprocess.PIPE
    )
    with receiver:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        # mypy does not see that it is an End.
        _run(link, other, "send", address, rate_bps, packets)  # type: ignore[arg-type]
        line = receiver.stdout.readline()
    if receiver.returncode:
        raise LinkError(f"the receiver at the {to}'s end failed")
    return msgspec.json.decode(line, type=Flood)


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-P", "-m", "loadpath.testbed.probe", *map(str, arguments)]


def _run(link: Link, end: End, *arguments: object) -> Any:
    result = link.run(end, _command(*arguments), capture_output=True, text=True, check=False)
    if result.returncode:
        reason = result.stderr.strip().rpartition("\n")[2]
        raise LinkError(f"{arguments[0]} at the {end}'s end failed: {reason}")
    return json.loads(result.stdout)


def _ping(address: str, count: str, interval_s: str) -> list[float]:
    times = []
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as echo:
        echo.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        echo.connect((address, 0))
        for number in range(int(count)):
            data = struct.pack("!HH", os.getpid() & 0xFFFF, number & 0xFFFF) + bytes(ECHO_BYTES)
            request = struct.pack("!BBH", 8, 0, _checksum(b"\x08\x00\x00\x00" + data)) + data
            sent = time.time()
            echo.send(request)
            while True:
                if not select.select([echo], [], [], 60.0)[0]:
                    raise SystemExit(f"no answer from {address}")
                packet, arrived = _receive(echo)
                # RFC 792: echo reply, same identifier and number.
                if packet[20] == 0 and packet[24:28] == data[:4]:
                    break
            times.append(1e3 * (arrived - sent))
            time.sleep(float(interval_s))
    return times


def _send(address: str, rate_bps: str, packets: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((address, PORT))
        per_second, total = float(rate_bps) / (8 * 1500), int(packets)
        start, sent = time.monotonic(), 0
        while sent < total:
            due = min(total, 1 + int((time.monotonic() - start) * per_second))
            for number in range(sent, due):
                sender.send(struct.pack("!I", number) + bytes(DATAGRAM_BYTES - 4))
            sent = due
            time.sleep(_BURST_S)
    return sent


def _receive_all(address: str, silence_s: str) -> dict[str, object]:
    numbers: list[int] = []
    first = last = 0.0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        # Only root may exceed the machine's limit, not root of a user namespace.
        with suppress(PermissionError):
            receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        receiver.bind((address, PORT))
        print("ready", flush=True)
        while not numbers or select.select([receiver], [], [], float(silence_s))[0]:
            datagram, arrived = _receive(receiver)
            first, last = first or arrived, arrived
            numbers.append(struct.unpack_from("!I", datagram)[0])
    return {"numbers": numbers, "seconds": last - first}


def _receive(channel: socket.socket) -> tuple[bytes, float]:
    """A packet, and the kernel's time of its arrival."""
    packet, ancillary, _, _ = channel.recvmsg(2048, 64)
    seconds, nanoseconds = struct.unpack("ll", ancillary[0][2])
    return packet, seconds + nanoseconds / 1e9


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


_PROGRAMS: dict[str, Callable[..., object]] = {
    "ping": _ping,
    "send": _send,
    "receive": _receive_all,
}


def main(arguments: Sequence[str]) -> None:
    """Run a program and print its result as JSON."""
    print(json.dumps(_PROGRAMS[arguments[0]](*arguments[1:])))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Transfers over plain TCP or MPTCP between the ends of a link: a request of some bytes, then a
response of some bytes. As a module it is the program that runs at each end.
"""

import json
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from loadpath.errors import LinkError
from loadpath.testbed.link import Link
from loadpath.testbed.sockets import own_sockets

__all__ = ["REQUEST_BYTES", "Fetched", "fetch", "serve_transfers"]

REQUEST_BYTES = 400
"""As the scenario key http.request_bytes has it."""
PORT = 5001
IPPROTO_MPTCP = 262
"""include/uapi/linux/in.h; Python has a name from 3.12 on."""
_SUMMARY_BYTES = 200


class Fetched(msgspec.Struct, frozen=True):
    """A transfer, as the client saw it."""

    bytes: int
    port: int
    """The client's."""
    connect_ms: float
    """From the call of connect() to its return."""
    total_ms: float
    """From the call of connect() to the last byte."""
    congestion: str
    """Congestion controller of the server's socket; all of them if its subflows differ."""
    retransmissions: int
    """Of the server's socket, or of all its subflows."""
    waited_ms: float
    """How long both programs were ready to run and got no processor."""
    subflows: int
    """Of MPTCP at the end of the transfer; none if it was TCP."""

    @property
    def multipath(self) -> bool:
        """MPTCP was used, and not TCP in its place."""
        return self.subflows > 0


@contextmanager
def serve_transfers(link: Link, *, multipath: bool = False, congestion: str = "") -> Iterator[None]:
    """Have a server for transfers at the server's end.

    `congestion` is the kernel's name of the congestion controller of each connection; without it
    that of the link is used, which reaches all subflows of MPTCP only if it is one that every
    process may choose (net.ipv4.tcp_allowed_congestion_control).
    """
    arguments = _command("serve", link.server_address, int(multipath), congestion)
    server = link.start_server(arguments, wait_port=PORT)
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def fetch(link: Link, size_bytes: int, *, multipath: bool = False) -> Fetched:
    """Transfer so many bytes to the client.

    Raises
    ------
    LinkError
        It failed.
    """
    arguments = _command("fetch", link.server_address, size_bytes, int(multipath))
    result = link.run("client", arguments, capture_output=True, text=True)
    if result.returncode:
        reason = result.stderr.strip().rpartition("\n")[2] or "its program was killed"
        raise LinkError(f"a transfer failed: {reason}")
    return msgspec.json.decode(result.stdout, type=Fetched)


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-P", "-m", "loadpath.testbed.transfer", *map(str, arguments)]


def _socket(multipath: str) -> socket.socket:
    protocol = IPPROTO_MPTCP if int(multipath) else socket.IPPROTO_TCP
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)


def _serve(address: str, multipath: str, congestion: str) -> None:
    with _socket(multipath) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if congestion:
                    # MPTCP passes it on to its subflows, those to come too.
                    name = congestion.encode()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
                waited = _waited_ms()
                (size,) = struct.unpack("!Q", _receive(connection, REQUEST_BYTES)[:8])
                connection.sendall(bytes(size))
                waited = _waited_ms() - waited
                # The client tells when it has all; what the socket did is then asked for by it.
                if _receive(connection, 1):
                    connection.sendall(_summary(connection, waited))


def _waited_ms() -> float:
    """How long this process was ready to run and did not, so far; 0 if the kernel does not tell."""
    # Documentation/scheduler/sched-stats.rst: time running, time waiting (both ns), time slices.
    with suppress(OSError, IndexError):
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e6
    return 0.0


def _summary(connection: socket.socket, waited_ms: float) -> bytes:
    """What the kernel used for a connection; it is the only one that is open."""
    port = connection.getpeername()[1]
    sockets = [each for each in own_sockets() if each.subflow or each.peer[1] == port]
    summary = {
        "congestion": ", ".join(sorted({each.congestion for each in sockets})),
        "retransmissions": sum(each.retransmissions for each in sockets),
        "subflows": sum(each.subflow for each in sockets),
        "server_waited_ms": waited_ms,
    }
    return json.dumps(summary).encode().ljust(_SUMMARY_BYTES)


def _fetch(address: str, size: str, multipath: str) -> None:
    wanted = int(size)
    buffer = memoryview(bytearray(1 << 18))
    with _socket(multipath) as connection:
        waited, start = _waited_ms(), time.monotonic()
        connection.connect((address, PORT))
        connected = time.monotonic()
        connection.sendall(struct.pack("!Q", wanted).ljust(REQUEST_BYTES, b"\0"))
        received = 0
        while received < wanted:
            count = connection.recv_into(buffer[: min(len(buffer), wanted - received)])
            if not count:
                raise SystemExit(f"the server closed after {received} bytes")
            received += count
        end, waited = time.monotonic(), _waited_ms() - waited
        port = connection.getsockname()[1]
        connection.sendall(b"\0")
        summary = json.loads(_receive(connection, _SUMMARY_BYTES))
    result = {
        "bytes": received,
        "port": port,
        "connect_ms": 1e3 * (connected - start),
        "total_ms": 1e3 * (end - start),
        "waited_ms": waited + summary.pop("server_waited_ms"),
    }
    print(json.dumps(result | summary))


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


_PROGRAMS: dict[str, Callable[..., None]] = {"serve": _serve, "fetch": _fetch}


def main(arguments: Sequence[str]) -> None:
    """Run an end."""
    name, *rest = arguments
    try:
        _PROGRAMS[name](*rest)
    except OSError as error:
        raise SystemExit(f"{name}: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])

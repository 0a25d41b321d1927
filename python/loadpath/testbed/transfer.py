"""Transfers over plain TCP or MPTCP between the ends of a link: a request of some bytes, then a
response of some bytes. As a module it is the program that runs at each end.
"""

import json
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from loadpath.errors import LinkError
from loadpath.testbed.link import Link

__all__ = ["REQUEST_BYTES", "Fetched", "fetch", "serve_transfers"]

REQUEST_BYTES = 400
"""As the scenario key http.request_bytes has it."""
PORT = 5001
IPPROTO_MPTCP = 262
"""include/uapi/linux/in.h; Python has a name from 3.12 on."""
_INFO_BYTES = 104
_TOTAL_RETRANSMISSIONS = 100
"""Place of tcpi_total_retrans in struct tcp_info, include/uapi/linux/tcp.h."""


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
    """Congestion controller that the server's socket had."""
    retransmissions: int
    """Of the server's socket; of MPTCP's first subflow."""
    multipath: bool
    """MPTCP was used, and not TCP in its place."""


@contextmanager
def serve_transfers(link: Link, *, multipath: bool = False) -> Iterator[None]:
    """Have a server for transfers at the server's end."""
    arguments = _command("serve", link.server_address, int(multipath))
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
        raise LinkError(f"a transfer failed: {result.stderr.strip().rpartition(chr(10))[2]}")
    return msgspec.json.decode(result.stdout, type=Fetched)


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-P", "-m", "loadpath.testbed.transfer", *map(str, arguments)]


def _socket(multipath: str) -> socket.socket:
    protocol = IPPROTO_MPTCP if int(multipath) else socket.IPPROTO_TCP
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)


def _serve(address: str, multipath: str) -> None:
    with _socket(multipath) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                (size,) = struct.unpack("!Q", _receive(connection, REQUEST_BYTES)[:8])
                connection.sendall(bytes(size))
                # The client tells when it has all; what the socket did is then asked for by it.
                if _receive(connection, 1):
                    connection.sendall(_socket_summary(connection))


def _socket_summary(connection: socket.socket) -> bytes:
    congestion = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    (retransmissions,) = struct.unpack_from("=I", info, _TOTAL_RETRANSMISSIONS)
    summary = {
        "congestion": congestion.rstrip(b"\0").decode(),
        "retransmissions": retransmissions,
        "multipath": connection.proto == IPPROTO_MPTCP,
    }
    return json.dumps(summary).encode().ljust(200)


def _fetch(address: str, size: str, multipath: str) -> None:
    wanted = int(size)
    buffer = memoryview(bytearray(1 << 18))
    with _socket(multipath) as connection:
        start = time.monotonic()
        connection.connect((address, PORT))
        connected = time.monotonic()
        connection.sendall(struct.pack("!Q", wanted).ljust(REQUEST_BYTES, b"\0"))
        received = 0
        while received < wanted:
            count = connection.recv_into(buffer[: min(len(buffer), wanted - received)])
            if not count:
                raise SystemExit(f"the server closed after {received} bytes")
            received += count
        end = time.monotonic()
        port = connection.getsockname()[1]
        connection.sendall(b"\0")
        summary = json.loads(_receive(connection, 200))
    result = {
        "bytes": received,
        "port": port,
        "connect_ms": 1e3 * (connected - start),
        "total_ms": 1e3 * (end - start),
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
    _PROGRAMS[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])

"""HTTP/1 exchanges in a packet capture, as thesis Figure 3.2 measures them.

TShark follows connections, puts messages together and decrypts TLS where the keys were recorded.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urldefrag

from loadpath.errors import LoadpathError, hinted

__all__ = ["CapturedExchange", "Packet", "PacketTimes", "follow", "read_capture", "read_packets"]


@dataclass(frozen=True)
class CapturedExchange:
    """A request in the capture and the first packet of its response; times at the client.

    Attributes
    ----------
    sent_ms
        When the request's last packet was sent, since 1970.
    ack_ms
        From the request's last packet to the packet that acknowledged it.
    response_ms
        From the request's last packet to the first with data of the response.
    ack_alone
        False if the acknowledgement came with the response.
    """

    url: str
    method: str
    sent_ms: float
    ack_ms: float
    response_ms: float
    ack_alone: bool


@dataclass
class PacketTimes:
    """What a capture tells.

    Attributes
    ----------
    exchanges
        In order of responses.
    rtts_ms
        From SYN to SYN+ACK, by the server's address.
    """

    exchanges: list[CapturedExchange] = field(default_factory=list)
    rtts_ms: dict[str, list[float]] = field(default_factory=dict)


_FIELDS = [
    "frame.time_epoch",
    "tcp.stream",
    "ip.src",
    "ipv6.src",
    "tcp.srcport",
    "tcp.flags.syn",
    "tcp.len",
    "tcp.nxtseq",
    "tcp.ack",
    "tls.handshake.type",
    "http.request.method",
    "http.request.full_uri",
]


def read_capture(path: Path, keys: Path | None = None) -> PacketTimes:
    """Read a capture with TShark; `keys` are TLS secrets (SSLKEYLOGFILE).

    Raises
    ------
    LoadpathError
        There is no TShark, or it does not understand the file.
    """
    program = shutil.which("tshark")
    if program is None:
        raise hinted(
            LoadpathError(f"{path}: there is no tshark to read it with"),
            "apt-get install tshark; the delays by DevTools need none",
        )
    command = [program, "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", "-E", "occurrence=f"]
    command += [part for name in _FIELDS for part in ("-e", name)]
    if keys is not None:
        command += ["-o", f"tls.keylog_file:{keys}"]
    with (
        tempfile.TemporaryFile("w+", errors="replace") as stderr,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, errors="replace"
        ) as process,
    ):
        assert process.stdout is not None
        result = follow(read_packets(process.stdout))
        process.wait()
        stderr.seek(0)
        complaints = stderr.read().strip().splitlines()
    # A capture that ends in the middle of a packet is read up to there, with exit status 2.
    if process.returncode and not result.rtts_ms:
        raise LoadpathError(f"{path}: {complaints[-1] if complaints else 'tshark failed'}")
    return result


@dataclass(frozen=True)
class Packet:
    """What `follow` needs of a TCP segment; numbers are relative to the connection's start."""

    time_ms: float
    stream: int
    source: tuple[str, str]
    is_syn: bool
    length: int
    next_seq: int
    ack: int
    is_handshake: bool
    method: str
    url: str


def read_packets(lines: Iterable[str]) -> Iterator[Packet]:
    """Packets from lines of tab-separated fields, as TShark prints them."""
    for line in lines:
        time, stream, ip, ipv6, port, syn, length, next_seq, ack, handshake, method, url = (
            line.rstrip("\n").split("\t")
        )
        yield Packet(
            time_ms=float(time) * 1000,
            stream=int(stream),
            source=(ip or ipv6, port),
            is_syn=syn in ("1", "True"),
            length=int(length or 0),
            next_seq=int(next_seq or 0),
            ack=int(ack or 0),
            is_handshake=bool(handshake),
            method=method,
            url=urldefrag(url).url,
        )


@dataclass
class _Stream:
    client: tuple[str, str] | None = None
    syn_ms: float | None = None
    asked: Packet | None = None
    ack_ms: float | None = None


def follow(packets: Iterable[Packet]) -> PacketTimes:
    """Pair requests with acknowledgements and responses."""
    result = PacketTimes()
    streams: dict[int, _Stream] = {}
    for packet in packets:
        stream = streams.setdefault(packet.stream, _Stream())
        if packet.is_syn:
            _handshake(result, stream, packet)
        elif packet.method:
            stream.client, stream.asked, stream.ack_ms = packet.source, packet, None
        elif stream.asked is not None and packet.source != stream.client:
            _answer(result, stream, stream.asked, packet)
    return result


def _handshake(result: PacketTimes, stream: _Stream, packet: Packet) -> None:
    if packet.ack == 0:
        # After a second SYN nobody knows which one was answered (RFC 6298 section 3).
        stream.syn_ms = packet.time_ms if stream.client is None else None
        stream.client = packet.source
    elif stream.syn_ms is not None and packet.source != stream.client:
        rtt_ms = packet.time_ms - stream.syn_ms
        result.rtts_ms.setdefault(packet.source[0], []).append(rtt_ms)
        stream.syn_ms = None


def _answer(result: PacketTimes, stream: _Stream, asked: Packet, packet: Packet) -> None:
    if packet.ack < asked.next_seq:
        return
    since_ms = packet.time_ms - asked.time_ms
    alone = stream.ack_ms is not None
    if stream.ack_ms is None:
        stream.ack_ms = since_ms
    # TLS 1.3 servers send session tickets when the handshake is over, whatever they are asked.
    if packet.length and not packet.is_handshake:
        result.exchanges.append(
            CapturedExchange(asked.url, asked.method, asked.time_ms, stream.ack_ms, since_ms, alone)
        )
        stream.asked = None

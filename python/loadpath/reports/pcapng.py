"""pcapng (draft-ietf-opsawg-pcapng) of the simulated packets, for Wireshark and tshark.

Link type RAW (IPv4 without a link layer), nanosecond time stamps. Payload bytes are zero. Sequence
numbers are those of the trace (SYN is 0), so a packet here is easily found there. Time-stamp
options (RFC 7323) are reconstructed: TSval is the sender's virtual time in milliseconds, TSecr the
TSval of the segment that RFC 7323 section 4.3 says to echo.
"""

import struct
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from loadpath import _core
from loadpath.outcome import Outcome, PacketRecord
from loadpath.reports.context import CapturePoint, ExportContext, host_addresses, port

__all__ = ["CapturePoint", "write_pcapng"]

_CLIENT_ADDRESS = "198.19.0.1"
# Registered link-layer header types.
_LINKTYPE_RAW = 101
_FIRST_EPHEMERAL_PORT = 49152  # RFC 6335, section 6
_EPHEMERAL_PORTS = 65536 - _FIRST_EPHEMERAL_PORT
_TIMESTAMP_OPTION_BYTES = 12  # RFC 7323, appendix A: NOP NOP kind length TSval TSecr

_FLAG_BITS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, "A": 0x10}


def write_pcapng(outcome: Outcome, context: ExportContext) -> bytes:
    """The load as a capture at the client, at the servers, or both on two interfaces."""
    assert outcome.trace is not None
    points = {
        CapturePoint.CLIENT: [CapturePoint.CLIENT],
        CapturePoint.SERVER: [CapturePoint.SERVER],
        CapturePoint.BOTH: [CapturePoint.CLIENT, CapturePoint.SERVER],
    }[context.capture]
    blocks = [_section_header(outcome)]
    blocks += [_interface(point) for point in points]
    endpoints = _Endpoints(outcome, context)
    for stamped in _with_timestamps(outcome.trace.packets):
        packet = stamped.packet
        # A sent packet is seen where it leaves, a delivered one where it arrives.
        at_client = packet.up == (packet.event == "sent")
        point = CapturePoint.CLIENT if at_client else CapturePoint.SERVER
        if packet.event != "dropped" and point in points:
            blocks.append(
                _enhanced_packet(points.index(point), packet.t_ms, endpoints.ip_packet(stamped))
            )
    return b"".join(blocks)


@dataclass(frozen=True, slots=True)
class _Stamped:
    packet: PacketRecord
    ts_value: int
    ts_echo: int


@dataclass(slots=True)
class _Clock:
    """One endpoint's state of the time-stamp option."""

    recent: int = 0
    last_ack_sent: int = 0
    under_way: defaultdict[tuple[object, ...], deque[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """Stamps of packets that this endpoint has sent and that have not arrived or been dropped."""


def _with_timestamps(packets: tuple[PacketRecord, ...]) -> Iterator[_Stamped]:
    clocks: defaultdict[tuple[int, bool], _Clock] = defaultdict(_Clock)
    for packet in packets:
        sender, receiver = (
            clocks[packet.connection, packet.up],
            clocks[packet.connection, not packet.up],
        )
        key = (packet.flags, packet.seq, packet.len, packet.ack, packet.sack)
        if packet.event == "sent":
            # Never 0 with ACK: Wireshark and Linux read that as "no stamp".
            stamps = int(packet.t_ms) + 1, sender.recent if "A" in packet.flags else 0
            sender.last_ack_sent = packet.ack
            sender.under_way[key].append(stamps)
        else:
            waiting = sender.under_way[key]
            stamps = waiting.popleft() if waiting else (int(packet.t_ms) + 1, sender.recent)
        if packet.event == "delivered" and packet.seq <= receiver.last_ack_sent:
            receiver.recent = max(receiver.recent, stamps[0])
        yield _Stamped(packet, *stamps)


class _Endpoints:
    """Addresses, ports and TCP parameters of the connections."""

    def __init__(self, outcome: Outcome, context: ExportContext) -> None:
        addresses = host_addresses(outcome)
        ports = {
            resource.connection: port(resource.url)
            for resource in outcome.resources
            if resource.connection is not None
        }
        self._client = IPv4Address(_CLIENT_ADDRESS).packed
        self._servers = [
            IPv4Address(addresses[connection.host]).packed for connection in outcome.connections
        ]
        self._ports = [
            (_FIRST_EPHEMERAL_PORT + number % _EPHEMERAL_PORTS, ports.get(number, 80))
            for number in range(len(outcome.connections))
        ]
        payload = int(context.value("transport", "mss_bytes", 1448))
        # The scenario's MSS is the payload; the option's includes the time stamps' room (RFC 6691).
        self._mss = payload + _TIMESTAMP_OPTION_BYTES
        self._shift = int(context.value("transport", "window_scale", 7))
        self._sack = context.value("transport", "recovery", "sack") != "newreno"
        self._identification = 0

    def ip_packet(self, stamped: _Stamped) -> bytes:
        """IPv4 and TCP headers with valid checksums, and the zero payload."""
        packet = stamped.packet
        client_port, server_port = self._ports[packet.connection]
        ends = (self._client, self._servers[packet.connection])
        ports = (client_port, server_port)
        source, destination = ends if packet.up else ends[::-1]
        source_port, destination_port = ports if packet.up else ports[::-1]
        options = self._options(stamped)
        flags = sum(_FLAG_BITS[letter] for letter in packet.flags)
        # The window of a SYN is never scaled (RFC 7323, section 2.2).
        window = packet.window if "S" in packet.flags else packet.window >> self._shift
        header = struct.pack(
            "!HHIIBBHHH",
            source_port,
            destination_port,
            packet.seq & 0xFFFFFFFF,
            packet.ack & 0xFFFFFFFF if "A" in packet.flags else 0,
            (20 + len(options)) // 4 << 4,
            flags,
            min(window, 0xFFFF),
            0,
            0,
        )
        tcp_bytes = len(header) + len(options) + packet.len
        pseudo = source + destination + struct.pack("!BBH", 0, 6, tcp_bytes)
        # Zero payload adds nothing to the sum.
        checksum = struct.pack("!H", _checksum(pseudo + header + options))
        tcp = header[:16] + checksum + header[18:] + options + bytes(packet.len)
        self._identification = (self._identification + 1) & 0xFFFF
        ip = struct.pack(
            "!BBHHHBBH4s4s",
            0x45,
            0,
            20 + tcp_bytes,
            self._identification,
            0x4000,
            64,
            6,
            0,
            source,
            destination,
        )
        return ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:] + tcp

    def _options(self, stamped: _Stamped) -> bytes:
        """TCP options: in a SYN also MSS, window scale, SACK permitted; padded with NOPs."""
        packet = stamped.packet
        timestamps = struct.pack("!BBII", 8, 10, stamped.ts_value, stamped.ts_echo)
        if "S" in packet.flags:
            sack = b"\x04\x02" if self._sack else b"\x01\x01"
            return (
                struct.pack("!BBH", 2, 4, self._mss)
                + sack
                + timestamps
                + struct.pack("!BBBB", 1, 3, 3, self._shift)
            )
        options = b"\x01\x01" + timestamps
        if packet.sack:
            options += b"\x01\x01" + struct.pack("!BB", 5, 2 + 8 * len(packet.sack))
            for start, end in packet.sack:
                options += struct.pack("!II", start & 0xFFFFFFFF, end & 0xFFFFFFFF)
        return options


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _section_header(outcome: Outcome) -> bytes:
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    comment = f"{outcome.label} load of {outcome.page}, seed {outcome.seed}, run {outcome.run}"
    application = f"Loadpath {_core.__version__}"
    return _block(
        0x0A0D0D0A,
        body + _option(1, comment.encode()) + _option(4, application.encode()) + _option(0, b""),
    )


def _interface(point: CapturePoint) -> bytes:
    body = struct.pack("<HHI", _LINKTYPE_RAW, 0, 0)
    nanoseconds = _option(9, b"\x09")
    return _block(1, body + _option(2, point.value.encode()) + nanoseconds + _option(0, b""))


def _enhanced_packet(interface: int, t_ms: float, data: bytes) -> bytes:
    ns = round(t_ms * 1_000_000)
    body = struct.pack("<IIIII", interface, ns >> 32, ns & 0xFFFFFFFF, len(data), len(data))
    return _block(6, body + _padded(data))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)

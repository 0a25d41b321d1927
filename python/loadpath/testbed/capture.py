"""Reads what a link's tap has captured: every packet at both ends, with the link's stamps.

A packet that enters the link has the moment of its arrival; one that leaves it has the moment at
which it was due, not that at which a late emulator handed it over. From the first kind follows the
second exactly: the link's rules can be checked to the nanosecond on any machine.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from loadpath.errors import LinkError
from loadpath.testbed.link import End

__all__ = ["Segment", "TapPacket", "read_tap"]

Fate = Literal["admitted", "lost", "dropped", "delivered", "refused"]
"""Of a packet that enters: admitted, lost, or dropped by the queue; of one that leaves: delivered,
or refused by the device."""

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_COMMENT, _FLAGS = 1, 2
_OUTBOUND = 2
_START = "link time starts at ns "
_END_OF_OPTIONS, _NO_OPERATION, _MPTCP = 0, 1, 30
_DSS = 2
_HAS_ACK, _LONG_ACK, _HAS_MAPPING, _LONG_MAPPING = 1, 2, 4, 8
_FATES: dict[str, Fate] = {
    "lost": "lost",
    "dropped by the queue": "dropped",
    "refused by the device": "refused",
}


class TapPacket(msgspec.Struct, frozen=True):
    """An IP packet at one end of a link."""

    ns: int
    """The link's stamp, since its start."""
    path: int
    """From 1."""
    end: End
    entered: bool
    """It entered the link here; else it left it."""
    fate: Fate
    data: bytes

    @property
    def segment(self) -> "Segment | None":
        """What TCP is in it."""
        return Segment.of(self.data)


class Segment(msgspec.Struct, frozen=True):
    """A TCP segment; RFC 9293."""

    source: tuple[str, int]
    destination: tuple[str, int]
    seq: int
    ack: int
    syn: bool
    fin: bool
    size: int
    """Bytes of data."""
    mapping: tuple[int, int] | None
    """MPTCP: the place in the subflow's data of what is mapped, and its data sequence number."""

    @staticmethod
    def of(packet: bytes) -> "Segment | None":
        """The segment in an IPv4 packet; None if there is none."""
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != 6:
            return None
        start = 4 * (packet[0] & 0xF)
        total = struct.unpack_from("!H", packet, 2)[0]
        source, destination, seq, ack = struct.unpack_from("!HHII", packet, start)
        header, flags = 4 * (packet[start + 12] >> 4), packet[start + 13]
        return Segment(
            (".".join(map(str, packet[12:16])), source),
            (".".join(map(str, packet[16:20])), destination),
            seq,
            ack,
            bool(flags & 2),
            bool(flags & 1),
            total - start - header,
            _mapping(packet[start + 20 : start + header]),
        )


def _mapping(options: bytes) -> tuple[int, int] | None:
    """RFC 8684 section 3.3: the Data Sequence Signal; numbers of 8 bytes are cut to 4."""
    while options and options[0] != _END_OF_OPTIONS:
        if options[0] == _NO_OPERATION:
            options = options[1:]
            continue
        kind, length = options[:2]
        if kind == _MPTCP and options[2] >> 4 == _DSS and options[3] & _HAS_MAPPING:
            flags = options[3]
            at = 4 + (0 if not flags & _HAS_ACK else 8 if flags & _LONG_ACK else 4)
            at += 4 if flags & _LONG_MAPPING else 0
            number, place = struct.unpack_from("!II", options, at)
            return place, number
        options = options[max(length, 1) :]
    return None


def read_tap(path: Path) -> list[TapPacket]:
    """All packets of a capture, in the order in which they were seen.

    Raises
    ------
    LinkError
        It is none of a link's.
    """
    data = path.read_bytes()
    try:
        return list(_packets(data))
    except (struct.error, LookupError, ValueError) as error:
        raise LinkError(f"{path}: not the capture of a link") from error


def _packets(data: bytes) -> Iterator[TapPacket]:
    if struct.unpack_from("=I", data)[0] != _SECTION:
        raise IndexError
    ends: tuple[End, End] = ("client", "server")
    section = dict(_options(data, 24, struct.unpack_from("=I", data, 4)[0] - 4))
    start_ns = int(section[_COMMENT].decode().removeprefix(_START))
    position = 0
    while position < len(data):
        kind, length = struct.unpack_from("=II", data, position)
        if kind == _PACKET:
            interface, high, low, captured, _ = struct.unpack_from("=5I", data, position + 8)
            start = position + 28
            options = dict(_options(data, start + (captured + 3) // 4 * 4, position + length - 4))
            entered = struct.unpack("=I", options[_FLAGS])[0] == _OUTBOUND
            comment = options.get(_COMMENT, b"").decode()
            yield TapPacket(
                (high << 32 | low) - start_ns,
                interface // 2 + 1,
                ends[interface % 2],
                entered,
                _FATES.get(comment, "admitted" if entered else "delivered"),
                data[start : start + captured],
            )
        position += length


def _options(data: bytes, position: int, end: int) -> Iterator[tuple[int, bytes]]:
    while position < end:
        code, length = struct.unpack_from("=HH", data, position)
        if code == 0:
            return
        yield code, data[position + 4 : position + 4 + length]
        position += 4 + (length + 3) // 4 * 4

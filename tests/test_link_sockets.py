"""What `ss` prints, read back."""

from loadpath.testbed.capture import Segment
from loadpath.testbed.sockets import parse_sockets

PRINTED = (
    "ESTAB 0 60852 100.64.0.2:5001 100.64.0.1:60942 reno wscale:10,10 rto:260 rtt:56.996/0.544 "
    "mss:1448 cwnd:49 ssthresh:44 bytes_sent:1100272 bytes_received:412 segs_out:841 "
    "unacked:43 retrans:0/44 "
    "tcp-ulp-mptcp flags:Mec token:0000(id:0)/b515a8b4(id:0)\n"
    "ESTAB 0 0 100.64.0.2%link0:80 100.64.0.1:6 timer:(keepalive,119min,0) cubic wscale:7,7 "
    "rto:204 rtt:0.5/0.1 cwnd:10\n"
    "TIME-WAIT 0 0 100.64.0.2:80 100.64.0.1:7\n"
)


def test_sockets_are_read_from_what_ss_prints() -> None:
    first, second = parse_sockets(PRINTED)
    assert (first.local, first.peer) == (("100.64.0.2", 5001), ("100.64.0.1", 60942))
    assert (first.congestion, first.cwnd_segments, first.rtt_ms) == ("reno", 49, 56.996)
    assert (first.retransmissions, first.subflow) == (44, True)
    assert (first.mss, first.segments_out) == (1448, 841)
    assert (first.bytes_sent, first.bytes_received) == (1100272, 412)
    assert (second.local, second.congestion) == (("100.64.0.2", 80), "cubic")
    assert (second.retransmissions, second.subflow) == (0, False)


def test_a_data_sequence_signal_is_read_whatever_its_form() -> None:
    def packet(option: bytes) -> bytes:
        options = (b"\x01\x01" + option).ljust(40, b"\x00")
        ip = bytes.fromhex("45000000 00000000 40060000 64400002 64400001")
        total = 20 + 60 + 3
        header = bytes.fromhex("1389 ee0e 00000007 00000000 f010 0000 0000 0000")
        return ip[:2] + total.to_bytes(2, "big") + ip[4:] + header + options + b"abc"

    def mapping(option: bytes) -> tuple[int, int] | None:
        segment = Segment.of(packet(option))
        assert segment is not None
        assert (segment.size, segment.seq, segment.destination) == (3, 7, ("100.64.0.1", 60942))
        return segment.mapping

    place, ack4, ack8 = b"\0\0\0\x05", b"\0\0\0\x09", b"\0\0\0\0\0\0\0\x09"
    length = b"\0\x03"
    assert mapping(b"\x1e\x0e\x20\x04" + b"\0\0\x01\0" + place + length) == (5, 256)
    assert mapping(b"\x1e\x12\x20\x05" + ack4 + b"\0\0\x01\0" + place + length) == (5, 256)
    long = b"\x1e\x1a\x20\x0f" + ack8 + b"\0\0\0\x01\0\0\x01\0" + place + length
    assert mapping(long) == (5, 256)
    assert mapping(b"\x1e\x08\x20\x01" + ack4) is None
    assert mapping(b"\x08\x0a" + bytes(8)) is None

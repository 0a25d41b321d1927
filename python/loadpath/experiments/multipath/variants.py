"""The transports of chapter 6 of the PCP thesis, each as scenario values over the `pcp` profile.

Section 6.2 fixes what all have in common: HTTP/2 or QUIC-lite with one connection a host,
priorities by critical path, servers that answer out of order.
"""

from collections.abc import Mapping
from typing import TypeAlias

__all__ = [
    "BASELINE",
    "COMMON",
    "LEFT_OUT",
    "MODIFIED",
    "MODIFIED_LIA",
    "RTT_LADDER",
    "SEGMENTS",
    "SINGLE_PATH",
    "SINGLE_PATH_TLP",
    "TLP",
    "Values",
]

Values: TypeAlias = Mapping[str, object]
"""Scenario keys and values."""

COMMON: Values = {"http.priorities": "critical-path"}

SEGMENTS: Values = {"multipath.options_on_the_wire": False}
"""Segments over several paths are as long as over one: 1448 bytes.

The thesis names one segment size for all its transfers (Table 3.3), worked out from the MTU without
a word of MPTCP's options, and says twice that modified MPTCP becomes equivalent to single-path TCP
when it ignores the second path (sections 6.5.1.3 and 6.5.1.4). With options in the segments it
could not: the first window alone would carry 80 bytes less. `--set
multipath.options_on_the_wire=true` runs the other reading, and
docs/validation/multipath-rtt-mismatch.md has both.
"""

TLP: Values = {"transport.tail_loss_probe": "signalled"}
"""Section 6.4.5, with the signal that makes the delayed-ACK timeout superfluous."""

SINGLE_PATH: Values = {**COMMON, "http.version": "http/2", "multipath.paths": "single"}
SINGLE_PATH_TLP: Values = {**SINGLE_PATH, **TLP}
"""What modified MPTCP is compared with (section 6.5.1)."""

_TWO_PATHS: Values = {**COMMON, **SEGMENTS, "multipath.paths": "independent"}
_LIA: Values = {"multipath.congestion": "lia"}
_NO_LIA: Values = {"multipath.congestion": "none"}
_LOWEST_RTT: Values = {"multipath.scheduler": "lowest-rtt"}
_STREAM: Values = {"multipath.scheduler": "stream"}
_HTTP2: Values = {"http.version": "http/2", "http.send_order": "priority"}
_HTTP2_PREEMPTIVE: Values = {"http.version": "http/2", "http.send_order": "preemptive"}
_QUIC: Values = {"http.version": "quic-lite", "http.send_order": "priority"}
_QUIC_PREEMPTIVE: Values = {"http.version": "quic-lite", "http.send_order": "preemptive"}

BASELINE: Values = {**_TWO_PATHS, **_HTTP2, **_LOWEST_RTT, **_LIA}
"""Section 6.3: HTTP/2, lowest RTT first, linked increases."""

MODIFIED: Values = {**_TWO_PATHS, **_QUIC_PREEMPTIVE, **_STREAM, **_NO_LIA, **TLP}
"""Section 6.5: QUIC-lite, Stream Scheduler, preemption, no linked increases, tail loss probes."""

MODIFIED_LIA: Values = {**MODIFIED, **_LIA}
"""What the caption of Figure 6.29 says, against its text."""

_MP_QUIC_STREAM: Values = {**_TWO_PATHS, **_QUIC_PREEMPTIVE, **_STREAM, **_LIA}

RTT_LADDER: Mapping[str, Values] = {
    "MPTCP HTTP/2 RTT": BASELINE,
    "MP QUIC RTT": {**_TWO_PATHS, **_QUIC, **_LOWEST_RTT, **_LIA},
    "MP QUIC RTT Preempt": {**_TWO_PATHS, **_QUIC_PREEMPTIVE, **_LOWEST_RTT, **_LIA},
    "MPTCP HTTP/2 Stream": {**_TWO_PATHS, **_HTTP2_PREEMPTIVE, **_STREAM, **_LIA},
    "MP QUIC Stream": _MP_QUIC_STREAM,
    "MP QUIC Stream Retrans": {**_MP_QUIC_STREAM, "multipath.retransmit_on_other": True},
    "MP QUIC Stream No LIA": {**_MP_QUIC_STREAM, **_NO_LIA},
    "MP QUIC Stream No LIA TLP": MODIFIED,
}
"""Figures 6.24 and 6.28: labels in the order of section 6.5.1.1, and tail loss probes last.

Under the Stream Scheduler there is always preemption (section 6.5.1.1).
"""

LEFT_OUT: Mapping[str, Values] = {
    "without out-of-order delivery": {**MODIFIED, **_HTTP2_PREEMPTIVE},
    "without preemption": {**MODIFIED, **_QUIC},
    "without the Stream Scheduler": {**MODIFIED, **_LOWEST_RTT},
    "without look-ahead": {**MODIFIED, "multipath.scheduler": "stream-simple"},
    "with LIA": MODIFIED_LIA,
    "without tail loss probes": {**_MP_QUIC_STREAM, **_NO_LIA},
    "with retransmission on the other path": {
        **MODIFIED,
        "multipath.retransmit_on_other": True,
    },
}
"""Modified MPTCP less one of its parts: what adding them one by one leaves to their order."""

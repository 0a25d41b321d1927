"""The emulated world: real kernels and programs over links in real time.

>>> from loadpath.testbed import LinkSettings
>>> LinkSettings(rate="10mbit", rtt_ms=40, drop_down=[3])["rtt_ms"]
40
"""

from loadpath.testbed.link import End, Link, LinkSettings, open_link
from loadpath.testbed.origin import Origin, OriginReport, OriginSettings, start_origin
from loadpath.testbed.report import (
    DirectionReport,
    LinkReport,
    PathReport,
    Percentiles,
    TapReport,
    Verdict,
)

__all__ = [
    "DirectionReport",
    "End",
    "Link",
    "LinkReport",
    "LinkSettings",
    "Origin",
    "OriginReport",
    "OriginSettings",
    "PathReport",
    "Percentiles",
    "TapReport",
    "Verdict",
    "open_link",
    "start_origin",
]

"""The networks of a validation, and which pages are held out.

>>> parse_network("10mbit/40ms/1%").parameters()["loss"]
0.01
"""

import hashlib
import re

import msgspec

from loadpath.errors import ScenarioError, hinted
from loadpath.parameters import Parameters
from loadpath.testbed.link import LinkSettings, link_settings
from loadpath.testbed.load import Http

__all__ = [
    "CONNECTIONS",
    "NETWORKS",
    "PROTOCOLS",
    "QUICK_NETWORKS",
    "SIMULATED_HTTP",
    "Cell",
    "ValidationNetwork",
    "held_out",
    "parse_network",
]

PROTOCOLS: tuple[Http, ...] = ("h1", "h2", "h3")

CONNECTIONS: dict[Http, int] = {"h1": 6, "h2": 1, "h3": 1}
"""Chromium's net/socket/client_socket_pool_manager.cc: six a host, one for HTTP/2 and HTTP/3."""

SIMULATED_HTTP: dict[Http, str] = {"h1": "h1", "h2": "h2", "h3": "quic"}
"""HTTP/3 is predicted by what stands for QUIC in the engine."""

_SYNTAX = re.compile(
    r"(?P<rate>[\d.]+(?:k|m|g)bit)/(?P<rtt>[\d.]+)ms(?:/(?P<loss>[\d.]+)%)?(?:/(?P<buffer>\d+)kB)?"
)


class ValidationNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """A link, the same in both worlds: both directions alike, each with half of the RTT."""

    name: str
    """As `parse_network` reads it."""
    rate: str
    rtt_ms: float
    loss: float = 0.0
    """Part of the packets lost at random, in each direction."""
    buffer_bytes: int | None = None
    """Of the queue in each direction, which drops what does not fit; None: without a limit."""

    @property
    def rate_bps(self) -> float:
        """The rate as a number."""
        factors = {"k": 1e3, "m": 1e6, "g": 1e9}
        return float(self.rate[:-4]) * factors[self.rate[-4]]

    @property
    def lossy(self) -> bool:
        """Whether packets may be lost, so that single loads tell little."""
        return bool(self.loss) or self.buffer_bytes is not None

    def parameters(self, profile: str = "linux") -> Parameters:
        """What stands for the network in a scenario."""
        parameters = Parameters(profile=profile, rate=self.rate, rtt_ms=self.rtt_ms, loss=self.loss)
        if self.buffer_bytes is None:
            return parameters | Parameters(queue="unlimited", set={"network.up_queue": "unlimited"})
        limits = {
            "network.up_queue": "drop-tail",
            "network.queue_unit": "bytes",
            "network.queue_limit": self.buffer_bytes,
            "network.queue_floor_packets": 1,
        }
        return parameters | Parameters(queue="drop-tail", set=limits)

    def link_settings(self, run: int) -> LinkSettings:
        """The link of a load; its random losses are those of the repetition."""
        return link_settings(self.parameters(), run)


class Cell(msgspec.Struct, frozen=True, order=True):
    """A page over a network by a protocol."""

    page: str
    network: str
    http: Http


def parse_network(text: str) -> ValidationNetwork:
    """A network of its text, RATE/RTT[/LOSS%][/BUFFERkB], "10mbit/40ms/1%" or "7mbit/50ms/45kB".

    Raises
    ------
    ScenarioError
        The text is something else.
    """
    match = _SYNTAX.fullmatch(text.strip())
    if match is None:
        raise hinted(
            ScenarioError(f"network {text!r}: expected RATE/RTT[/LOSS%][/BUFFERkB]"),
            "10mbit/40ms, 10mbit/40ms/1% and 7mbit/50ms/45kB are networks",
        )
    return ValidationNetwork(
        name=match[0],
        rate=match["rate"],
        rtt_ms=float(match["rtt"]),
        loss=float(match["loss"] or 0) / 100,
        # kB as in the literature on buffers: 1000 bytes.
        buffer_bytes=int(match["buffer"]) * 1000 if match["buffer"] else None,
    )


NETWORKS = tuple(
    map(
        parse_network,
        (
            "1.6mbit/150ms",
            "10mbit/40ms",
            "100mbit/40ms",
            "10mbit/40ms/1%",
            "10mbit/40ms/2%",
            "7mbit/50ms/45kB",
        ),
    )
)
"""Slow 4G as Lighthouse has it, a good and a fast one, two with random loss, and one whose buffer
is about one bandwidth-delay product."""

QUICK_NETWORKS = tuple(
    map(parse_network, ("1.6mbit/150ms", "10mbit/40ms", "10mbit/40ms/1%", "7mbit/50ms/45kB"))
)


def held_out(page: str) -> bool:
    """Whether a page is for judging only, never for finding out what to change.

    The name alone decides, before anything is measured: SHA-512, which of the usual hashes comes
    closest to halving the list of packages that the studies load.

    >>> held_out("swagger-ui"), held_out("reveal-js")
    (False, True)
    """
    return bool(hashlib.sha512(page.encode()).digest()[0] & 1)

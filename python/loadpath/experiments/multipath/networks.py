"""The networks of chapter 6 of the PCP thesis: two paths, each with a bottleneck of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadpath.experiments.multipath.variants import Values

__all__ = [
    "BANDWIDTH_RATES_BPS",
    "GRID_RTTS_MS",
    "RTT_RATES_BPS",
    "Network",
    "Path",
    "TwoPaths",
    "grid",
]

RTT_RATES_BPS = (
    500_000,
    1_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
)
"""Section 6.3: seven rates from 500 kbit/s to 1 Gbit/s."""

BANDWIDTH_RATES_BPS = (
    1_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
)
"""Rates of the faster path where the other has a fifth of it (Figures 6.8 and 6.26)."""

GRID_RTTS_MS = (8, 40, 100, 200)

Network = tuple[int, float]
"""Rate in bit/s and round-trip time in ms: B and R of section 6.3.5."""


@dataclass(frozen=True)
class Path:
    """A path with its own bottleneck."""

    rate_bps: int
    rtt_ms: float

    @property
    def alone(self) -> Values:
        """Scenario values of a load over this path only."""
        return {"network.rate_bps": self.rate_bps, "network.rtt_ms": self.rtt_ms}


@dataclass(frozen=True)
class TwoPaths:
    """Two paths; connections are opened on one of them."""

    one: Path
    other: Path
    first: Literal[1, 2] = 1
    """Which of them connections are opened on."""

    @classmethod
    def scaled(
        cls,
        network: Network,
        *,
        rate: float = 1.0,
        rtt: float = 1.0,
        first: Literal[1, 2] = 1,
    ) -> "TwoPaths":
        """(B, R), and a second path of `rate` times B and `rtt` times R."""
        rate_bps, rtt_ms = network
        return cls(Path(rate_bps, rtt_ms), Path(round(rate_bps * rate), rtt_ms * rtt), first)

    @property
    def values(self) -> Values:
        """Scenario values."""
        return {
            **self.one.alone,
            "path2.rate_bps": self.other.rate_bps,
            "path2.rtt_ms": self.other.rtt_ms,
            "multipath.first_path": self.first,
        }


def grid(rates_bps: Sequence[int]) -> list[Network]:
    """All rates with all round-trip times of the heat maps, in the order of a table."""
    return [(rate_bps, rtt_ms) for rate_bps in rates_bps for rtt_ms in GRID_RTTS_MS]

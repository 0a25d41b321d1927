"""Named networks, as WebPageTest, Browsertime, Lighthouse, DevTools and BrowserStack define them.

The same word means different things in different tools (Browsertime's `rtt` is the delay of one
direction, WebPageTest's is the round trip), so names carry the tool they come from, `wpt:3g`; a
bare name means WebPageTest's.
"""

from dataclasses import dataclass

from loadpath.errors import NotFoundError, hinted

__all__ = ["NETWORKS", "Network", "find_network"]


@dataclass(frozen=True, slots=True)
class Network:
    """A named network, in numbers that mean the same for every tool."""

    name: str
    down_kbps: float
    up_kbps: float
    rtt_ms: float
    """Full round trip."""
    loss_percent: float = 0.0

    def describe(self) -> str:
        """The numbers in one line."""
        loss = f", {self.loss_percent:g} % loss" if self.loss_percent else ""
        return (
            f"{self.name}: {self.down_kbps:g} kbit/s down, {self.up_kbps:g} kbit/s up, "
            f"RTT {self.rtt_ms:g} ms{loss}"
        )


# WebPageTest connectivity profiles: down, up (kbit/s), RTT (ms).
_WEBPAGETEST = {
    "cable": (5000, 1000, 28),
    "dsl": (1500, 384, 50),
    "fios": (20000, 5000, 4),
    "dial": (49, 30, 120),
    "3g": (1600, 768, 300),
    "3gfast": (1600, 768, 150),
    "3gslow": (400, 400, 400),
    "3gem": (400, 400, 400),
    "4g": (9000, 9000, 170),
    "lte": (12000, 12000, 70),
    "edge": (240, 200, 840),
    "2g": (280, 256, 800),
}

# Browsertime uses the rates of WebPageTest and writes the delay of one direction under "rtt".
_BROWSERTIME_ONE_WAY_MS = {
    "cable": 14,
    "dsl": 25,
    "fios": 2,
    "dial": 60,
    "3g": 150,
    "3gfast": 75,
    "3gslow": 200,
    "3gem": 200,
    "4g": 85,
    "lte": 35,
    "edge": 420,
    "2g": 400,
}

# Lighthouse simulates its 3G and desktop networks with the same rate up as down where its
# constants give none.
_OTHERS = (
    Network("lighthouse:slow4g", 1638.4, 750, 150),
    Network("lighthouse:3g", 700, 700, 300),
    Network("lighthouse:desktop", 10240, 10240, 40),
    Network("devtools:3g", 500, 500, 400),
    Network("devtools:slow4g", 1600, 750, 150),
    Network("devtools:fast4g", 9000, 1500, 60),
    Network("browserstack:3g-umts-lossy", 200, 50, 200, loss_percent=1.0),
)

NETWORKS: dict[str, Network] = {
    network.name: network
    for network in (
        *(Network(f"wpt:{name}", *numbers) for name, numbers in _WEBPAGETEST.items()),
        *(
            Network(f"browsertime:{name}", *_WEBPAGETEST[name][:2], 2 * one_way)
            for name, one_way in _BROWSERTIME_ONE_WAY_MS.items()
        ),
        *_OTHERS,
    )
}


def find_network(name: str) -> Network:
    """The network of that name; a bare name means WebPageTest's.

    Raises
    ------
    NotFoundError
        There is no such network.
    """
    qualified = name.lower() if ":" in name else f"wpt:{name.lower()}"
    try:
        return NETWORKS[qualified]
    except KeyError:
        raise hinted(
            NotFoundError(f"there is no network named {name!r}"),
            "`loadpath profiles` lists them; --rate and --rtt give numbers of your own",
        ) from None

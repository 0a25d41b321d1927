"""A network and its neighbours: advice that holds on one network only is no advice."""

from dataclasses import dataclass
from math import hypot, log

from loadpath._core import Scenario
from loadpath.networks import NETWORKS, Network
from loadpath.parameters import describe_network, network_keys, scenario_values

__all__ = ["GIVEN", "Condition", "conditions", "with_settings"]

GIVEN = "given"
_NAMED = "wpt:"
_RATES = ("network.rate_bps", "network.up_rate_bps", "path2.rate_bps", "path2.up_rate_bps")
_RTTS = ("network.rtt_ms", "path2.rtt_ms")
_LOSSES = (
    "network.loss_down_fraction",
    "network.loss_up_fraction",
    "path2.loss_down_fraction",
    "path2.loss_up_fraction",
)
_RATE_RANGE = (1_000, 1_000_000_000_000)
_RTT_RANGE = (0.0, 60_000.0)


@dataclass(frozen=True)
class Condition:
    """A network: its name in tables, and what it changes in the given scenario."""

    name: str
    description: str
    settings: tuple[tuple[str, str], ...]


def with_settings(scenario: Scenario, settings: tuple[tuple[str, str], ...]) -> Scenario:
    """The scenario with some keys changed."""
    return Scenario.resolve(None, (scenario.to_toml(), "scenario"), list(settings))


def conditions(scenario: Scenario) -> list[Condition]:
    """The given network; half and double its rate and RTT; with loss, none and twice as much; and
    the named network of WebPageTest that is next to it.

    Each is described by what it resolves to.
    """
    values = scenario_values(scenario)

    def scaled(keys: tuple[str, ...], factor: float) -> tuple[tuple[str, str], ...]:
        found = []
        for key in keys:
            section, name = key.split(".")
            value = values[section][name]
            if isinstance(value, str):
                continue  # "auto" follows another key.
            if key in _RATES:
                low, high = _RATE_RANGE
                found.append((key, str(round(min(max(value * factor, low), high)))))
            elif key in _RTTS:
                found.append((key, repr(min(value * factor, _RTT_RANGE[1]))))
            else:
                found.append((key, repr(min(value * factor, 1.0))))
        return tuple(found)

    around = [
        (GIVEN, ()),
        ("half the rate", scaled(_RATES, 0.5)),
        ("twice the rate", scaled(_RATES, 2.0)),
        ("half the RTT", scaled(_RTTS, 0.5)),
        ("twice the RTT", scaled(_RTTS, 2.0)),
    ]
    if any(values[section][name] for section, name in (key.split(".") for key in _LOSSES)):
        around += [("no loss", scaled(_LOSSES, 0.0)), ("twice the loss", scaled(_LOSSES, 2.0))]
    network = values["network"]
    around += [
        (named.name, tuple(network_keys(named)))
        for named in _by_distance(network["rate_bps"], network["rtt_ms"])
    ]
    found: list[Condition] = []
    for name, settings in around:
        description = describe_network(with_settings(scenario, settings))
        # A named network may be one of the others: the next one, then.
        if all(description != known.description for known in found):
            found.append(Condition(name, description, settings))
        if name.startswith(_NAMED) and found[-1].name == name:
            break
    return found


def _by_distance(rate_bps: float, rtt_ms: float) -> list[Network]:
    """WebPageTest's networks, the nearest by the ratios of rate and RTT first."""

    def distance(network: Network) -> float:
        return hypot(
            log(network.down_kbps * 1000 / rate_bps), log(network.rtt_ms / max(rtt_ms, 1.0))
        )

    return sorted((n for name, n in NETWORKS.items() if name.startswith(_NAMED)), key=distance)

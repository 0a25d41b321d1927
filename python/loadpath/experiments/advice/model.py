"""What advice consists of, as data."""

from typing import Literal

import msgspec

__all__ = ["Advice", "Change", "Combination", "Gain", "Item", "LeftOut", "Phases"]

Phases = dict[str, float]
"""Milliseconds of the critical path by what was waited for, mean over runs."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a site could do.

    Attributes
    ----------
    name, title
        Short name, and what is done in words.
    group
        Of the changes of a group a combination has one at most.
    transforms
        Transforms of the page graph, in order.
    settings
        Scenario keys and values.
    caveat
        What the simulation cannot know about it.
    """

    name: str
    title: str
    group: str
    transforms: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    caveat: str = ""


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What a change does to the load time on one network, paired by run.

    `low_ms` and `high_ms` bound the mean gain (Student's t, 95 %); of a single run, and of runs
    without random draws, they are the gain itself. `None` if a load failed.
    """

    network: str
    runs: int
    before_ms: float
    after_ms: float | None
    gain_ms: float | None
    low_ms: float | None
    high_ms: float | None
    gain_percent: float | None

    @property
    def wins(self) -> bool:
        """Faster, beyond the interval."""
        return self.low_ms is not None and self.low_ms > 0

    @property
    def loses(self) -> bool:
        """Slower, beyond the interval, or the load failed."""
        return self.high_ms is None or self.high_ms < 0


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A change and what it does.

    Attributes
    ----------
    change
        What is done.
    gain
        On the given network.
    neighbours
        On the networks around it.
    recommended
        It gains on the given network beyond the interval.
    loses_on
        Names of the networks on which it loses.
    phases_ms
        Critical path after the change; `Advice.phases_ms` has it before.
    why
        The phases that change most.
    """

    change: Change
    gain: Gain
    neighbours: list[Gain]
    recommended: bool
    loses_on: list[str]
    phases_ms: Phases
    why: str


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """The best changes together.

    Attributes
    ----------
    names
        Of the changes, in the order in which they were chosen.
    added_ms
        What each added to the gain of those before it.
    sum_of_single_gains_ms
        What their gains would add up to if gains added up.
    plts_ms
        Load times of the runs on the given network, for a comparison with a fresh simulation.
    """

    names: list[str]
    added_ms: list[float]
    sum_of_single_gains_ms: float
    item: Item
    plts_ms: list[float]


class LeftOut(msgspec.Struct, frozen=True):
    """A change that was not tried, or does nothing, and why."""

    name: str
    reason: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What would make a page load faster, by simulation.

    Times are milliseconds of page load time. `networks` are name and description of the given
    network, then of its neighbours.
    """

    page: str
    url: str
    came_from: str
    label: Literal["simulated"] = "simulated"
    profile: str
    networks: list[tuple[str, str]]
    runs: int
    seed: int
    before_ms: float
    median_before_ms: float
    phases_ms: Phases
    items: list[Item]
    combination: Combination | None
    left_out: list[LeftOut]
    warnings: list[str]
    loads: int

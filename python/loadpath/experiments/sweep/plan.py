"""A plan: every load of a sweep by its number, without a list of them.

Loads are numbered page by page, scenario by scenario, run by run, so that neighbours share a page.
A plan takes memory for its pages and the values of its axes, whatever their product is.

A plan goes by a digest of everything that decides its rows: engine, contents of the pages, every
resolved scenario, number of runs. The same digest means the same rows.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from loadpath._core import ENGINE, Scenario, scenario_keys
from loadpath.errors import LoadpathError, SpecificationError
from loadpath.experiments.sweep.pages import DIGEST_LENGTH, PlannedPage
from loadpath.experiments.sweep.specification import (
    TRANSFORM,
    Axis,
    Choice,
    Specification,
    Value,
)
from loadpath.parameters import scenario_values

__all__ = ["Part", "Plan", "PlannedScenario", "flat_values"]

SCENARIOS_IN_MEMORY = 16_384
"""Resolved scenarios that are kept; each takes a kilobyte or two."""

PLAN_DIGEST_LENGTH = 16
"""Hexadecimal digits of the digest that names a plan's folder."""


@dataclass(frozen=True, slots=True)
class PlannedScenario:
    """One scenario of a plan."""

    index: int
    scenario: Scenario
    digest: str


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """Loads that are computed and stored together: numbers from `first` to before `end`."""

    first: int
    end: int

    @property
    def rows(self) -> int:
        """Number of loads."""
        return self.end - self.first


@dataclass(frozen=True, eq=False)
class Plan:
    """A specification with its pages."""

    specification: Specification
    pages: tuple[PlannedPage, ...]

    def __getstate__(self) -> dict[str, object]:
        """Only what the plan is made from: whoever gets a copy resolves scenarios again."""
        return {"specification": self.specification, "pages": self.pages}

    @cached_property
    def scenario_count(self) -> int:
        """Scenarios: the product of the axes."""
        count = 1
        for axis in self.specification.axes:
            count *= len(axis.choices)
        return count

    @property
    def rows(self) -> int:
        """Loads: pages x scenarios x runs."""
        return len(self.pages) * self.scenario_count * self.specification.runs

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """For each axis, how many scenarios its value stays the same; the last varies fastest."""
        strides, stride = [], 1
        for axis in reversed(self.specification.axes):
            strides.append(stride)
            stride *= len(axis.choices)
        return tuple(reversed(strides))

    def load(self, row: int) -> tuple[int, int, int]:
        """Indices of page and scenario, and run, of a load."""
        cell, run = divmod(row, self.specification.runs)
        page, scenario = divmod(cell, self.scenario_count)
        return page, scenario, run

    def scenario(self, index: int) -> PlannedScenario:
        """Resolve a scenario.

        Raises
        ------
        SpecificationError
            This combination of values cannot be.
        """
        return self._scenario(index)

    @cached_property
    def _scenario(self) -> Callable[[int], PlannedScenario]:
        return lru_cache(maxsize=SCENARIOS_IN_MEMORY)(self._resolve)

    def _choices(self, index: int) -> list[Choice]:
        axes = self.specification.axes
        return [
            axis.choices[index // stride % len(axis.choices)]
            for axis, stride in zip(axes, self.strides, strict=True)
        ]

    def labels(self, index: int) -> dict[str, Value]:
        """What a scenario has on each axis, by the name of the axis."""
        names = (axis.name for axis in self.specification.axes)
        labels = (choice.label for choice in self._choices(index))
        return dict(zip(names, labels, strict=True))

    def _resolve(self, index: int) -> PlannedScenario:
        try:
            scenario = self.specification.resolve(self._choices(index))
        except LoadpathError as error:
            values = ", ".join(f"{name} = {label}" for name, label in self.labels(index).items())
            clear = SpecificationError(f"matrix: {values}: {error}")
            for note in getattr(error, "__notes__", ()):
                clear.add_note(note)
            raise clear from None
        digest = hashlib.sha256(scenario.to_toml().encode()).hexdigest()[:DIGEST_LENGTH]
        return PlannedScenario(index, scenario, digest)

    def scenarios(self) -> Iterator[PlannedScenario]:
        """All scenarios in order, one at a time."""
        return map(self.scenario, range(self.scenario_count))

    def parts(self) -> Iterator[Part]:
        """All parts in order."""
        size = self.specification.rows_per_part
        return (Part(first, min(first + size, self.rows)) for first in range(0, self.rows, size))

    @property
    def part_count(self) -> int:
        """Number of parts."""
        return -(-self.rows // self.specification.rows_per_part)

    @cached_property
    def digest(self) -> str:
        """What the plan goes by. Resolves every scenario once, which checks it, too."""
        specification = self.specification
        head = {
            "engine": ENGINE,
            "pages": [[page.name, page.identity] for page in self.pages],
            "runs": specification.runs,
            "axes": [[a.name, [c.label for c in a.choices]] for a in specification.varying],
        }
        digest = hashlib.sha256(json.dumps(head).encode())
        for scenario in self.scenarios():
            digest.update(bytes.fromhex(scenario.digest))
        return digest.hexdigest()[:PLAN_DIGEST_LENGTH]

    def seeds(self) -> list[int]:
        """All master seeds."""
        axis = next((a for a in self.specification.axes if "random.seed" in a.keys), None)
        choices = (Choice("", ()),) if axis is None else axis.choices
        seeds = {
            flat_values(self.specification.resolve([choice]))["random.seed"] for choice in choices
        }
        return sorted(int(seed) for seed in seeds)

    def with_rows_per_part(self, rows: int) -> "Plan":
        """The same plan in parts of another size."""
        return replace(self, specification=replace(self.specification, rows_per_part=rows))

    def to_document(self, constants: Mapping[str, Value]) -> dict[str, Any]:
        """The specification with every value resolved, as nested tables of TOML.

        It is a specification itself, of a plan with the same digest. What follows from values that
        vary (as a timeout from the RTT) is left to the engine again.

        Parameters
        ----------
        constants
            Scenario keys that are the same in all scenarios, with their values.
        """
        s = self.specification
        varying = frozenset(key for axis in s.axes for key in axis.keys)
        scenario = {key: value for key, value in constants.items() if key not in varying}
        scenario |= {key: value for key, value in s.settings if key not in scenario}
        document: dict[str, Any] = {
            "name": s.name,
            "profile": s.profile,
            "runs": s.runs,
            "metric": s.metric,
            "rows_per_part": s.rows_per_part,
            "pages": {
                "include": list(dict.fromkeys(page.source for page in self.pages)),
                "digests": {page.name: page.digest for page in self.pages},
            },
            "scenario": scenario,
            "matrix": {axis.name: _axis_document(axis) for axis in s.axes},
            "compare": {
                c.name: {
                    "baseline": dict(c.baseline),
                    "variants": [dict(variant) for variant in c.variants],
                    "margin_ms": c.margin_ms,
                    "metric": c.metric,
                }
                for c in s.comparisons
            },
        }
        if s.pages.transforms:
            document["pages"][TRANSFORM] = list(s.pages.transforms)
        if s.pages.corpus is not None:
            document["pages"]["corpus"] = str(s.pages.corpus.resolve())
        return document


def _axis_document(axis: Axis) -> Any:
    if all(c.profile is not None or c.settings == ((axis.name, c.label),) for c in axis.choices):
        return [choice.label for choice in axis.choices]
    if axis.name == "connectivity":
        return [choice.label for choice in axis.choices]
    return {str(choice.label): dict(choice.settings) for choice in axis.choices}


def flat_values(scenario: Scenario) -> dict[str, Value]:
    """Every key of a scenario with its value."""
    values = scenario_values(scenario)
    flat: dict[str, Value] = {}
    for key in _key_names():
        section, _, field = key.partition(".")
        flat[key] = values[section][field]
    return flat


@lru_cache(maxsize=1)
def _key_names() -> tuple[str, ...]:
    return tuple(key["name"] for key in scenario_keys())

"""Trying the changes: alone, then the best ones together, over a network and its neighbours.

Gains do not add up: two changes may save the same time, or one may be of use only after another. So
combinations are simulated, never summed: from the given page on, the change that gains most beyond
what is there already is added, until none gains beyond the interval (greedy forward selection).

Every load of a change is paired with the unchanged page's load of the same run, network and seed:
what is not changed draws the same random numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

import numpy as np

from loadpath import _core
from loadpath._core import Page, Scenario
from loadpath.analysis.statistics import describe
from loadpath.api import Job, summarise_many
from loadpath.errors import LoadpathError
from loadpath.experiments.advice.changes import (
    Shares,
    late_on_path,
    page_changes,
    setting_changes,
)
from loadpath.experiments.advice.model import (
    Advice,
    Change,
    Combination,
    Gain,
    Item,
    LeftOut,
    Phases,
)
from loadpath.experiments.advice.networks import GIVEN, Condition, conditions, with_settings
from loadpath.graphs.graph import Graph
from loadpath.outcome import Outcome, Summary
from loadpath.parameters import scenario_values
from loadpath.sources import PageSource

__all__ = ["AdviceOptions", "Trials", "advise"]

_HINT_ROUNDS = 3
"""How often the critical path is looked at again after its late resources have got hints."""

Progress = Callable[[int], object]


@dataclass(frozen=True, kw_only=True)
class AdviceOptions:
    """What a user can say.

    Attributes
    ----------
    runs
        Repetitions, paired.
    shares
        How much is cut.
    most
        Changes in the combination, at most.
    least_percent
        What a change must add to a combination, of the load time before.
    threads
        Threads; 0 means one for each core. Advice does not depend on it.
    progress
        Called with the number of finished loads.
    """

    runs: int = 10
    shares: Shares = field(default_factory=Shares)
    most: int = 5
    least_percent: float = 0.5
    threads: int = 0
    progress: Progress | None = None


def advise(source: PageSource, scenario: Scenario, options: AdviceOptions | None = None) -> Advice:
    """What would make the page load faster, by simulation.

    Raises
    ------
    LoadpathError
        The page does not load as it is.
    """
    options = options or AdviceOptions()
    trials = Trials(source.page, scenario, options)
    changes, left_out = _changes(trials, source.page, options)
    trials.run([()], trials.conditions)
    trials.run([(change,) for change in changes], trials.conditions)
    items = []
    for change in changes:
        item = trials.item(change, (change,))
        failed = any(gain.gain_ms is None for gain in (item.gain, *item.neighbours))
        if failed and item.gain.gain_ms is None:
            left_out.append(LeftOut(change.name, "the page does not load with it"))
        elif not failed and all(g.gain_ms == 0.0 for g in (item.gain, *item.neighbours)):
            left_out.append(LeftOut(change.name, "it changes no load time of this page"))
        else:
            items.append(item)
    items.sort(key=lambda item: -(item.gain.gain_ms or 0.0))
    combination = _combine(trials, [i.change for i in items if i.recommended], items, options)
    given = trials.plts((), trials.conditions[0])
    return Advice(
        page=source.page.name,
        url=source.page.url,
        came_from=source.came_from,
        profile=str(trials.values["profile"]),
        networks=[(condition.name, condition.description) for condition in trials.conditions],
        runs=options.runs,
        seed=int(trials.values["random"]["seed"]),
        before_ms=fmean(given),
        median_before_ms=median(given),
        phases_ms=trials.phases(()),
        items=items,
        combination=combination,
        left_out=left_out,
        warnings=[*source.warnings, *_notes(trials, given)],
        loads=trials.loads,
    )


def _changes(
    trials: "Trials", page: Page, options: AdviceOptions
) -> tuple[list[Change], list[LeftOut]]:
    graph = Graph.from_json(page.to_json(), page.name)
    before = trials.outcome(page)
    if before.plt_ms is None:
        raise LoadpathError(f"{page.name}: the page does not load: {before.status.reason}")
    late: list[str] = []
    hinted, outcome = page, before
    for _ in range(_HINT_ROUNDS):
        found = late_on_path(hinted, graph, outcome, late)
        if not found:
            break
        late += found
        for id in found:
            hinted = hinted.transformed(f"preload:{id}")
        outcome = trials.outcome(hinted)
    settings, known = setting_changes(trials.values)
    of_page, unfit = page_changes(page, graph, before, late, options.shares)
    return settings + of_page, known + unfit


Combined = tuple[Change, ...]


class Trials:
    """Loads of a page with some changes, each made once."""

    def __init__(self, page: Page, scenario: Scenario, options: AdviceOptions) -> None:
        self._options = options
        self._scenario = scenario
        self.values = scenario_values(scenario)
        self.conditions = conditions(scenario)
        self.loads = 0
        self._pages: dict[tuple[str, ...], Page] = {(): page}
        self._scenarios: dict[tuple[tuple[str, str], ...], Scenario] = {}
        self._results: dict[tuple[Combined, str], list[Summary]] = {}

    def page(self, changes: Combined) -> Page:
        """The page with all transforms of some changes."""
        transforms = tuple(text for change in changes for text in change.transforms)
        for end in range(1, len(transforms) + 1):
            if transforms[:end] not in self._pages:
                before = self._pages[transforms[: end - 1]]
                self._pages[transforms[:end]] = before.transformed(transforms[end - 1])
        return self._pages[transforms]

    def scenario(self, changes: Combined, condition: Condition) -> Scenario:
        """The scenario with the settings of some changes, on a network."""
        settings = (
            *condition.settings,
            *(setting for change in changes for setting in change.settings),
        )
        if settings not in self._scenarios:
            self._scenarios[settings] = with_settings(self._scenario, settings)
        return self._scenarios[settings]

    def outcome(self, page: Page) -> Outcome:
        """The first run of a page on the given network, with its critical path."""
        scenario = self.scenario((), self.conditions[0])
        return Outcome.from_json(_core.simulate(page, scenario))

    def run(self, wanted: Sequence[Combined], networks: Sequence[Condition]) -> None:
        """Make what loads are missing, all at once over all cores."""
        runs = self._options.runs
        missing = [
            (changes, condition)
            for changes in wanted
            for condition in networks
            if (changes, condition.name) not in self._results
        ]
        jobs: list[Job] = []
        for changes, condition in missing:
            page, scenario = self.page(changes), self.scenario(changes, condition)
            jobs += [(page, scenario, run) for run in range(runs)]
        report, before = self._options.progress, self.loads
        summaries = summarise_many(
            jobs,
            threads=self._options.threads,
            progress=None if report is None else lambda done: report(before + done),
        )
        self.loads += len(jobs)
        for number, (changes, condition) in enumerate(missing):
            loads = summaries[number * runs : (number + 1) * runs]
            self._results[changes, condition.name] = loads

    def plts(self, changes: Combined, condition: Condition) -> list[float]:
        """Load times by run; empty if one failed."""
        loads = self._results[changes, condition.name]
        times = [load.plt_ms for load in loads if load.plt_ms is not None]
        return times if len(times) == len(loads) else []

    def phases(self, changes: Combined) -> Phases:
        """Critical path on the given network by what was waited for, mean over runs."""
        loads = self._results[changes, self.conditions[0].name]
        paths = [load.critical_path.phases for load in loads if load.critical_path is not None]
        if not paths:
            return {}
        names = paths[0].__struct_fields__
        means = {name: fmean(getattr(path, name) for path in paths) for name in names}
        return {name.removesuffix("_ms"): ms for name, ms in means.items() if ms > 0}

    def gain(self, changes: Combined, condition: Condition, base: Combined = ()) -> Gain:
        """Paired by run, against the page with the changes `base`."""
        before, after = self.plts(base, condition), self.plts(changes, condition)
        if not before or not after:
            return Gain(
                network=condition.name,
                runs=self._options.runs,
                before_ms=fmean(before) if before else float("nan"),
                after_ms=None,
                gain_ms=None,
                low_ms=None,
                high_ms=None,
                gain_percent=None,
            )
        saved = describe(np.array(before) - np.array(after))
        mean = fmean(before) - fmean(after) if saved.mean is None else saved.mean
        return Gain(
            network=condition.name,
            runs=self._options.runs,
            before_ms=fmean(before),
            after_ms=fmean(after),
            gain_ms=mean,
            low_ms=mean if saved.low is None else saved.low,
            high_ms=mean if saved.high is None else saved.high,
            gain_percent=100 * mean / fmean(before),
        )

    def item(self, change: Change, changes: Combined) -> Item:
        """What some changes do, on all networks."""
        gain, *neighbours = (self.gain(changes, condition) for condition in self.conditions)
        phases = self.phases(changes)
        return Item(
            change=change,
            gain=gain,
            neighbours=neighbours,
            recommended=gain.wins,
            loses_on=[g.network for g in (gain, *neighbours) if g.loses],
            phases_ms=phases,
            why=_why(self.phases(()), phases),
        )


def _combine(
    trials: Trials, candidates: list[Change], items: list[Item], options: AdviceOptions
) -> Combination | None:
    given = trials.conditions[0]
    chosen: Combined = ()
    added: list[float] = []
    least_ms = options.least_percent / 100 * fmean(trials.plts((), given))
    while len(chosen) < options.most:
        groups = {change.group for change in chosen}
        tries = [
            (*chosen, change)
            for change in candidates
            if change.group not in groups and _fits(trials, (*chosen, change))
        ]
        trials.run(tries, [given])
        gains = [(trials.gain(changes, given, chosen), changes) for changes in tries]
        useful = [
            (gain.gain_ms, changes)
            for gain, changes in gains
            if gain.gain_ms is not None and gain.wins and gain.gain_ms >= least_ms
        ]
        if not useful:
            break
        best_ms, chosen = max(useful, key=lambda pair: pair[0])
        added.append(best_ms)
    if not chosen:
        return None
    trials.run([chosen], trials.conditions)
    together = Change(
        name="together",
        title=" + ".join(change.name for change in chosen),
        group="together",
        transforms=tuple(text for change in chosen for text in change.transforms),
        settings=tuple(setting for change in chosen for setting in change.settings),
        caveat="; ".join(dict.fromkeys(change.caveat for change in chosen if change.caveat)),
    )
    alone = {item.change.name: item.gain.gain_ms or 0.0 for item in items}
    return Combination(
        names=[change.name for change in chosen],
        added_ms=added,
        sum_of_single_gains_ms=sum(alone[change.name] for change in chosen),
        item=trials.item(together, chosen),
        plts_ms=trials.plts(chosen, given),
    )


def _fits(trials: Trials, changes: Combined) -> bool:
    """Whether the transforms can follow each other: one may leave another nothing to change."""
    try:
        trials.page(changes)
    except _core.TransformError:
        return False
    return True


_PHASE_NAMES = {
    "connection_setup": "connection set-up",
    "client_queue": "waiting for a connection",
    "request_flight": "requests on their way",
    "server_queue": "waiting at the server",
    "server_processing": "server processing",
    "response_wait": "responses waiting for others",
    "first_byte_flight": "first bytes on their way",
    "transfer": "transfer",
    "timer_wait": "timers",
    "main_thread_wait": "waiting for the main thread",
    "parse": "parsing",
    "script": "scripts",
    "style": "style sheets",
    "timer": "timer callbacks",
    "event": "event handlers",
    "other": "other main-thread work",
}
_SHOWN_PHASES = 2


def _why(before: Phases, after: Phases) -> str:
    """The phases of the critical path that change most, before and after."""
    changed = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in {**before, **after}}
    largest = sorted(changed, key=lambda name: (-abs(changed[name]), name))[:_SHOWN_PHASES]
    return ", ".join(
        f"{_PHASE_NAMES.get(name, name)} {before.get(name, 0.0):.0f} to "
        f"{after.get(name, 0.0):.0f} ms"
        for name in largest
        if abs(changed[name]) >= 0.5
    )


def _notes(trials: Trials, given: list[float]) -> list[str]:
    notes = []
    if len(given) > 1 and min(given) == max(given):
        notes.append(
            f"the {len(given)} runs on the {GIVEN} network are equal (nothing in it is random): "
            "intervals have no width; --set network.jitter_fraction=0.1 varies RTTs by run"
        )
    if not trials.values["server"]["delays"]:
        notes.append("the scenario leaves server delays out")
    return notes

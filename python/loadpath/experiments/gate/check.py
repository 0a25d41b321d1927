"""A measurement against its budget and against an earlier one."""

from enum import StrEnum
from statistics import median

import msgspec
import numpy as np

from loadpath.analysis.statistics import describe
from loadpath.errors import LoadpathError, hinted
from loadpath.experiments.gate.budget import TIMINGS, Budget, Limit, matching_budget
from loadpath.experiments.gate.measurement import Measurement

__all__ = ["Check", "Verdict", "check_page"]


class Verdict(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    BROKEN = "broken"
    SKIPPED = "skipped"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked; `unit` is "ms", "KiB" or "" for counts."""

    what: str
    verdict: Verdict
    unit: str
    value: float | None
    allowed: float | None
    message: str


def check_page(
    measured: Measurement,
    *,
    budgets: list[Budget] | None = None,
    baseline: Measurement | None = None,
    tolerance_percent: float = 1.0,
) -> list[Check]:
    """Everything that a budget and a baseline say about a page.

    Times of budgets are medians over the runs. Against a baseline, runs are paired (same network,
    same random draws): slower means that the 95 % interval of the mean difference lies above
    `tolerance_percent` of the baseline's mean.

    Raises
    ------
    LoadpathError
        No budget is for the page's path, or the baseline is of another page or network.
    """
    checks: list[Check] = []
    if budgets is not None:
        budget = matching_budget(budgets, measured.url)
        if budget is None:
            paths = ", ".join(budget.path for budget in budgets)
            raise hinted(
                LoadpathError(f"no budget is for {measured.url} (paths: {paths})"),
                'a budget with the path "/" is for all pages',
            )
        checks += _of_budget(measured, budget)
    if baseline is not None:
        _check_comparable(measured, baseline)
        checks += [
            _against(name, measured, baseline, tolerance_percent) for name in measured.timings_ms
        ]
    return checks


def _of_budget(measured: Measurement, budget: Budget) -> list[Check]:
    checks = []
    for limit in budget.timings:
        name = TIMINGS.get(limit.of)
        if name is None:
            checks.append(
                Check(
                    what=limit.of,
                    verdict=Verdict.SKIPPED,
                    unit="ms",
                    value=None,
                    allowed=limit.most,
                    message="not simulated: the model ends with the load event and paints nothing",
                )
            )
        else:
            checks.append(_limit(name, median(measured.timings_ms[name]), limit, "ms"))
    sizes, counts = measured.sizes_kib(budget.first_party), measured.counts(budget.first_party)
    checks += [
        _limit(f"{limit.of} size", sizes.get(limit.of, 0.0), limit, "KiB") for limit in budget.sizes
    ]
    checks += [
        _limit(f"{limit.of} count", counts.get(limit.of, 0), limit, "") for limit in budget.counts
    ]
    return checks


def _limit(what: str, value: float, limit: Limit, unit: str) -> Check:
    allowed = limit.most + limit.tolerance
    over = value - allowed
    unit_text = f" {unit}" if unit else ""
    return Check(
        what=what,
        verdict=Verdict.BROKEN if over > 0 else Verdict.PASSED,
        unit=unit,
        value=value,
        allowed=allowed,
        message=f"{abs(over):.4g}{unit_text} {'over' if over > 0 else 'below'} the budget",
    )


def _against(name: str, measured: Measurement, baseline: Measurement, percent: float) -> Check:
    now, before = np.array(measured.timings_ms[name]), np.array(baseline.timings_ms[name])
    difference = describe(now - before)
    mean = float(np.mean(now - before))
    low = mean if difference.low is None else difference.low
    high = mean if difference.high is None else difference.high
    old = float(np.mean(before))
    slower = low > percent / 100 * old
    return Check(
        what=f"{name} against the baseline",
        verdict=Verdict.BROKEN if slower else Verdict.PASSED,
        unit="ms",
        value=float(np.mean(now)),
        allowed=old * (1 + percent / 100),
        message=f"{mean:+.1f} ms (95 % interval {low:+.1f} to {high:+.1f}), "
        f"{100 * mean / old:+.1f} % of {old:.1f} ms",
    )


def _check_comparable(measured: Measurement, baseline: Measurement) -> None:
    def refuse(problem: str) -> LoadpathError:
        return hinted(
            LoadpathError(f"the baseline {problem}"),
            "measure it again: `loadpath check PAGE --save FILE` with the same options",
        )

    if baseline.url != measured.url:
        raise refuse(f"is of {baseline.url}, not of {measured.url}")
    if baseline.runs != measured.runs:
        raise refuse(f"has {baseline.runs} runs, not {measured.runs}")
    for section, values in measured.scenario.items():
        if baseline.scenario.get(section) == values:
            continue
        if not isinstance(values, dict):
            raise refuse(f"has {section} = {baseline.scenario.get(section)!r}, not {values!r}")
        old = baseline.scenario.get(section, {})
        for key, value in values.items():
            # A key of a later version counts as equal.
            if key in old and old[key] != value:
                raise refuse(f"has {section}.{key} = {old[key]!r}, not {value!r}")

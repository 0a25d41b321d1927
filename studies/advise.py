"""Advice on real pages, and whether it keeps its word: `make study-advice`.

Pages are every Nth of the corpus, in the order of its index, so that there are 20; and profiles of
real packages, if their folders are named. For each page and network:

* the combined changes are written out and loaded by `loadpath simulate` in a process of its own;
  its load times must be the predicted ones, to the bit;
* the combination's gain is computed anew on every neighbouring network, and whatever is recommended
  and slower there must be named in the table that a reader sees;
* the seconds that the command took are kept.

Writes advice.csv (a row for each page, network and change) and advice.md.

usage: studies/advise.py OUTPUT; --help lists the options
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import msgspec
import numpy as np
import typer

from loadpath._core import Scenario
from loadpath.analysis.statistics import describe
from loadpath.api import resolve_scenario, summarise_many
from loadpath.cli.console import print_note
from loadpath.experiments.advice import (
    Advice,
    AdviceOptions,
    Combination,
    Item,
    advise,
    markdown,
    write_advice,
)
from loadpath.experiments.advice.networks import conditions, with_settings
from loadpath.output import write_atomic
from loadpath.sources import CORPUS_PREFIX, PageSource, open_page
from tables import csv_text, markdown_table

SITES = 20
JITTER = 0.1
"""Thesis section 3.7.7.1: RTTs within a tenth of their mean."""
CSV_COLUMNS = [
    "page",
    "network",
    "change",
    "before_ms",
    "gain_ms",
    "low_ms",
    "high_ms",
    "gain_percent",
    "recommended",
    "loses_on",
]


class Case(msgspec.Struct, kw_only=True):
    """One page on one network, and what was checked."""

    advice: Advice
    network: str
    seconds: float
    cpu_seconds: float
    equal: bool
    untold: list[str]


def corpus_pages(corpus: Path, count: int) -> list[str]:
    """Evenly spaced over the index."""
    index = json.loads((corpus / "index.json").read_bytes())
    return [f"{CORPUS_PREFIX}{index[i * len(index) // count]['name']}" for i in range(count)]


def _scenario(profile: str, network: str) -> Scenario:
    """With the thesis's jitter: without anything random an interval over runs says nothing."""
    jitter = {"network.jitter_fraction": JITTER}
    return resolve_scenario(profile=profile, connectivity=network, set=jitter)


def examine(source: PageSource, profile: str, network: str, runs: int) -> Case:
    """Advice on a page, and the three checks."""
    scenario = _scenario(profile, network)
    began, cpu = time.monotonic(), time.process_time()
    found = advise(source, scenario, AdviceOptions(runs=runs))
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_advice(Path(scratch) / "kept", found, source, scenario)
        fresh = subprocess.run(
            [
                *(sys.executable, "-m", "loadpath", "simulate", folder / "page.json"),
                *("--scenario", folder / "scenario.toml", "-n", str(runs), "--json"),
            ],
            capture_output=True,
            check=True,
        )
    plts = [load["plt_ms"] for load in json.loads(fresh.stdout)["outcomes"]]
    together = found.combination
    return Case(
        advice=found,
        network=network,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        equal=together is None or plts == together.plts_ms,
        untold=_untold(found, source, profile, network, runs),
    )


def _untold(found: Advice, source: PageSource, profile: str, network: str, runs: int) -> list[str]:
    """What is recommended and slower on a neighbour, by loads made anew, and not said to be so."""
    scenario = _scenario(profile, network)
    text = markdown(found)
    untold = []
    recommended: list[Item] = [item for item in found.items if item.recommended]
    if found.combination is not None:
        recommended.append(found.combination.item)
    for item in recommended:
        page = source.page
        for transform in item.change.transforms:
            page = page.transformed(transform)
        [row] = [
            line for line in text.splitlines() if line.startswith(f"| {_title(found, item)} |")
        ]
        for condition in conditions(scenario):
            before = with_settings(scenario, condition.settings)
            after = with_settings(before, item.change.settings)
            loads = summarise_many(
                [(source.page, before, run) for run in range(runs)]
                + [(page, after, run) for run in range(runs)]
            )
            times = [load.plt_ms for load in loads if load.plt_ms is not None]
            if len(times) < 2 * runs:
                slower = True
            else:
                saved = [old - new for old, new in zip(times[:runs], times[runs:], strict=True)]
                interval = describe(np.array(saved))
                high = fmean(saved) if interval.high is None else interval.high
                slower = high < 0
            if slower and condition.name not in row:
                untold.append(f"{item.change.name} on {condition.name}")
    return untold


def _title(found: Advice, item: Item) -> str:
    combination: Combination | None = found.combination
    if combination is not None and item is combination.item:
        return f"together: {' + '.join(combination.names)}"
    return item.change.title


def csv_rows(cases: list[Case]) -> list[list[str]]:
    """A row for each page, network and change."""
    rows = []
    for case in cases:
        items = list(case.advice.items)
        if case.advice.combination is not None:
            items.append(case.advice.combination.item)
        for item in items:
            name = item.change.name
            if name == "together" and case.advice.combination is not None:
                name = f"together: {' + '.join(case.advice.combination.names)}"
            gain = item.gain
            numbers = [gain.before_ms, gain.gain_ms, gain.low_ms, gain.high_ms, gain.gain_percent]
            rows.append(
                [
                    *(case.advice.page, case.network, name),
                    *("" if number is None else f"{number:.3f}" for number in numbers),
                    *(str(item.recommended).lower(), "; ".join(item.loses_on)),
                ]
            )
    return rows


def _family(name: str) -> str:
    return "async (one script)" if name.startswith("async:") else name


def change_rows(cases: list[Case]) -> list[list[str]]:
    """By network and change: on how many pages it was tried, gains, loses on a neighbour."""
    found: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for case in cases:
        best: dict[str, Item] = {}
        for item in case.advice.items:
            family = _family(item.change.name)
            if family not in best or (item.gain.gain_ms or 0) > (best[family].gain.gain_ms or 0):
                best[family] = item
        for family, item in best.items():
            found[case.network, family].append(item)
    rows = []
    for (network, family), items in found.items():
        percents = [item.gain.gain_percent or 0.0 for item in items]
        rows.append(
            [
                *(network, family, str(len(items))),
                str(sum(item.recommended for item in items)),
                str(sum(item.gain.loses for item in items)),
                str(sum(item.recommended and bool(item.loses_on) for item in items)),
                *(f"{median(percents):+.1f}", f"{max(percents):+.1f}", f"{min(percents):+.1f}"),
            ]
        )
    return sorted(rows, key=lambda row: (row[0], -float(row[6])))


def page_rows(cases: list[Case]) -> list[list[str]]:
    """By page: the combination, and what single gains would add up to."""
    rows = []
    for case in cases:
        together = case.advice.combination
        gain = None if together is None else together.item.gain
        rows.append(
            [
                *(case.advice.page, case.network, f"{case.advice.before_ms:.0f}"),
                "-" if gain is None else f"{gain.after_ms:.0f}",
                "-" if gain is None else f"{gain.gain_percent:.1f}",
                "-" if together is None else f"{_sum_percent(case, together):.1f}",
                "nothing" if together is None else " + ".join(together.names),
                "-" if together is None else "; ".join(together.item.loses_on) or "none",
                str(case.advice.loads),
                f"{case.seconds:.1f}",
                f"{case.cpu_seconds:.1f}",
            ]
        )
    return rows


def _sum_percent(case: Case, together: Combination) -> float:
    return 100 * together.sum_of_single_gains_ms / case.advice.before_ms


def report(cases: list[Case], command: str, runs: int, profile: str) -> str:
    """The tables; what they mean is written by hand into docs/validation/advice.md."""
    equal = sum(case.equal for case in cases)
    untold = [f"{case.advice.page}: {what}" for case in cases for what in case.untold]
    seconds = [case.seconds for case in cases]
    cpu = [case.cpu_seconds for case in cases]
    words = ["page", "network", "change", "together", "loses on"]
    return "\n".join(
        [
            f"{datetime.now(UTC):%Y-%m-%d}, {platform.system()}, {os.cpu_count()} cores, shared; "
            f"profile {profile}, {runs} runs; `{command}`.",
            "",
            f"* Predictions of combinations equal to a fresh simulation: {equal} of {len(cases)}.",
            f"* Recommended, slower on a neighbour and not said to be: {len(untold)}"
            + (f" ({'; '.join(untold)})." if untold else "."),
            f"* Seconds a page: median {median(seconds):.1f}, most {max(seconds):.1f}; of "
            f"processor time: median {median(cpu):.1f}, most {max(cpu):.1f}.",
            "",
            markdown_table(
                [
                    *(
                        "page",
                        "network",
                        "before ms",
                        "after ms",
                        "gain %",
                        "sum of single gains %",
                    ),
                    *("together", "loses on", "loads", "s", "CPU s"),
                ],
                page_rows(cases),
                words=words,
            ),
            markdown_table(
                [
                    *("network", "change", "pages", "gains", "loses", "gains, loses nearby"),
                    *("median %", "most %", "least %"),
                ],
                change_rows(cases),
                words=words,
            ),
        ]
    )


def main(
    output: Annotated[Path, typer.Argument(help="Folder for advice.csv and advice-tables.md.")],
    corpus: Annotated[Path | None, typer.Option(envvar="LOADPATH_CORPUS")] = None,
    sites: Annotated[int, typer.Option(help="Pages of the corpus.")] = SITES,
    profile: Annotated[list[Path] | None, typer.Option(help="Profiles of real pages.")] = None,
    network: Annotated[list[str] | None, typer.Option("-c")] = None,
    runs: Annotated[int, typer.Option("-n")] = 5,
    defaults: Annotated[str, typer.Option(help="Set of defaults: linux or pcp.")] = "linux",
) -> None:
    """Run the study."""
    pages = [str(path) for path in profile or []]
    if corpus is not None:
        os.environ["LOADPATH_CORPUS"] = str(corpus)
        pages += corpus_pages(corpus, sites)
    cases = []
    for name in pages:
        source = open_page(name)
        for chosen in network or ["3gfast"]:
            case = examine(source, defaults, chosen, runs)
            cases.append(case)
            words = "equal" if case.equal else "DIFFERENT"
            print_note(f"{name}, {chosen}: {case.seconds:.1f} s, {words}, untold {case.untold}")
            _write(output, cases, runs, defaults)
    print(output)


def _write(output: Path, cases: list[Case], runs: int, profile: str) -> None:
    """After each page, so that an interrupted study has something to show."""
    write_atomic(output / "advice.csv", csv_text(CSV_COLUMNS, csv_rows(cases)), force=True)
    text = report(cases, "make study-advice", runs, profile)
    write_atomic(output / "advice-tables.md", text, force=True)


if __name__ == "__main__":
    typer.run(main)

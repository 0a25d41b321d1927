"""What `loadpath validate` does: options to a plan, a plan to a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadpath.errors import LoadpathError
from loadpath.testbed.load import Http
from loadpath.testbed.loader import LoadSettings
from loadpath.validation.cells import PROTOCOLS, parse_network
from loadpath.validation.lantern import Lantern
from loadpath.validation.measure import Measurement, browser_version
from loadpath.validation.pages import ValidationPage, validation_pages
from loadpath.validation.report import write_report
from loadpath.validation.store import LoadStore
from loadpath.validation.study import QUICK, QUICK_PAGES, Plan, Progress, Validation

__all__ = ["ValidationOptions", "plan_of", "run", "validate_pages"]

TIMEOUT_S = 180.0
"""The largest page of the studies takes a good half minute at 1.6 Mbit/s."""


@dataclass(frozen=True, kw_only=True)
class ValidationOptions:
    """The options of the verb."""

    networks: str | None = None
    protocols: Sequence[Http] = PROTOCOLS
    runs: int | None = None
    lossy_runs: int | None = None
    quick: bool = False
    store: Path
    output: Path
    name: str = "accuracy"
    title: str = "Simulated against real loads"
    command: str = "loadpath validate"
    measure: bool = True
    minutes: float | None = None
    """Of measuring; None: until all is measured."""
    browser: Path | None = None
    baseline: Path | None = None
    """Folder for graphs and predictions, of which a test sees that they do not move."""


def plan_of(options: ValidationOptions) -> Plan:
    """What is measured."""
    base = QUICK if options.quick else Plan()
    networks = base.networks
    if options.networks is not None:
        networks = [parse_network(text) for text in options.networks.split(",")]
    runs = options.runs or base.runs
    lossy_runs = options.lossy_runs
    if lossy_runs is None:
        lossy_runs = base.lossy_runs if options.runs is None else 3 * runs
    return Plan(networks, options.protocols, runs, lossy_runs)


def run(
    sources: Sequence[str],
    options: ValidationOptions,
    *,
    progress: Progress,
    note: Callable[[str], object],
) -> list[Path]:
    """Validate pages that the origin server replays; the files of the report.

    Raises
    ------
    LoadpathError
        A page cannot be served, there can be no links, or the machine is busy.
    """
    with validation_pages(sources[:QUICK_PAGES] if options.quick else sources) as pages:
        return validate_pages(pages, options, progress=progress, note=note)


def validate_pages(
    pages: Sequence[ValidationPage],
    options: ValidationOptions,
    *,
    progress: Progress,
    note: Callable[[str], object],
) -> list[Path]:
    """Validate pages, whoever serves them; see `run`."""
    if not pages:
        raise LoadpathError("there are no pages to validate")
    names = [page.name for page in pages]
    if len(set(names)) < len(names):
        raise LoadpathError(f"two pages have the same name: {', '.join(sorted(names))}")
    measurement = Measurement(
        store=LoadStore(options.store),
        browser=browser_version(options.browser),
        settings=LoadSettings(browser=options.browser, timeout_s=TIMEOUT_S),
        control=pages[0],
        note=note,
    )
    validation = Validation(pages, plan_of(options), measurement, Lantern.find())
    if options.measure:
        validation.measure(progress, minutes=options.minutes)
    result = validation.examine(progress)
    if options.baseline is not None:
        validation.keep_predictions(result, options.baseline)
    return write_report(result, options.output, options.name, options.title, options.command)

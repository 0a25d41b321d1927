"""What each mechanism of the `linux` profile is worth: `make study-mechanisms`.

The cells without loss that `make validate` measured are predicted again, each time without one of
the mechanisms. Nothing is measured.

usage: studies/mechanisms.py WORK OUTPUT; WORK is that of `validate_packages.py`
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import step_bar
from loadpath.testbed.loader import LoadSettings
from loadpath.validation.accuracy import CellResult, accuracy
from loadpath.validation.cells import NETWORKS
from loadpath.validation.measure import Measurement, browser_version
from loadpath.validation.store import LoadStore
from loadpath.validation.study import Plan, Validation
from tables import markdown_table
from validate_packages import profiled_pages

WITHOUT: dict[str, dict[str, object]] = {
    "nothing": {},
    "stalls": {"browser.stalls": False},
    "preload scanner on arrival": {"browser.preload_on_arrival": False},
    "tight mode": {"browser.tight_mode": False},
    "the browser's priorities": {"http.priorities": "mime-class"},
    "preemption": {"http.preemption": False},
    "TLS records": {"http.tls_record_bytes": 0},
    "session tickets and SETTINGS": {"http.tls_tickets_bytes": 0, "http.preface": False},
    "TLS sessions": {"http.tls_sessions": 0},
    "HEADERS apart": {"server.headers_apart": False},
    "order of pools": {"http.pool_order": "arrival"},
    "HPACK": {"http.hpack": False},
    "recorded headers": {"http.recorded_headers": False},
    "segments that count": {"transport.window_room": "full-segment"},
    "other main-thread work": {"browser.other_main_thread_work": False},
    "a main thread for each process": {"browser.main_threads": "page"},
    "HyStart": {"transport.slow_start_exit": "loss"},
    "ACKs of Linux": {"transport.acks": "counted"},
}
"""Scenario values that switch one mechanism off."""

SETS = {"tuning": [False], "held out": [True], "all": [False, True]}


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles and loads.")],
    output: Annotated[Path, typer.Argument(help="Folder for the report.")],
    runs: Annotated[int, typer.Option("-n", min=1, help="Loads of a cell that count.")] = 10,
) -> None:
    """Predict without each mechanism; write the report."""
    rows: list[list[str]] = []
    with profiled_pages(work) as pages, step_bar() as progress:
        measurement = Measurement(
            store=LoadStore(work / "loads"),
            browser=browser_version(),
            settings=LoadSettings(),
            control=pages[0],
        )
        plan = Plan([each for each in NETWORKS if not each.lossy], ("h1", "h2"), runs)
        for name, keys in WITHOUT.items():
            validation = Validation(pages, plan, measurement, keys=keys)
            rows.append([name, *_errors(validation.examine(progress).cells)])
    file = output / "mechanisms.md"
    file.write_text(_markdown(rows))
    print(file)


def _errors(cells: Iterable[CellResult]) -> list[str]:
    """Median, mean and bias of each set of pages."""
    found: list[str] = []
    known = [cell for cell in cells if cell.median_ms is not None]
    for held_out in SETS.values():
        result = accuracy(
            (cell.predicted_ms, cell.median_ms) for cell in known if cell.held_out in held_out
        )
        if result is None:
            found += ["", "", ""]
        else:
            errors = (result.median_absolute, result.mean_absolute)
            found += [*(f"{error:.1%}" for error in errors), f"{result.bias:+.1%}"]
    return found


def _markdown(rows: list[list[str]]) -> str:
    headings = ["without"]
    for name in SETS:
        headings += [f"{name}: median", "MAPE", "bias"]
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"""# What each mechanism is worth

Written by `make study-mechanisms`, {date}: the cells without loss of [accuracy](accuracy.md),
HTTP/1.1 and HTTP/2, **emulated**, against the `linux` profile without one of its mechanisms at a
time, **simulated**. What only graphs have (commits, the order of stalls, what style sheets show
late) cannot be switched off by a scenario.

{markdown_table(headings, rows, words=["without"])}"""


if __name__ == "__main__":
    typer.run(study)

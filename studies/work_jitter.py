"""By how much main-thread work differs from load to load: `make study-jitter`.

Durations of scripts, timers, events and parsing in the timing passes of the profiles that
`make validate` made, against the median of their passes. The range between the quartiles is the
`browser.jitter_fraction` with which validation simulates networks that lose packets: a uniform
deviation by a fraction has just that range.

usage: studies/work_jitter.py WORK OUTPUT; WORK is that of `validate_packages.py`
"""

from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Annotated

import typer

from loadpath.errors import LoadpathError
from loadpath.graphs.build.durations import Durations
from loadpath.graphs.build.recording import Recording, read_recording
from loadpath.validation.cells import held_out
from tables import markdown_table

CLASSES = {"0.1 to 2": (0.1, 2.0), "from 2": (2.0, 1e9), "all from 0.1": (0.1, 1e9)}
"""Medians of durations, ms."""


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles and loads.")],
    output: Annotated[Path, typer.Argument(help="Folder for the report.")],
) -> None:
    """Measure all profiles of tuning pages; write the report."""
    folders = [
        folder
        for folder in sorted((work / "profiles").glob("*-h2"))
        if not held_out(folder.name.removesuffix("-h2"))
    ]
    passes = [Durations(_timings(folder)) for folder in folders]
    rows = []
    for name, (least_ms, most_ms) in CLASSES.items():
        found = [each for one in passes for each in one.deviations(least_ms, most_ms)]
        cuts = quantiles(found, n=20)
        shown = [f"{cuts[place]:+.0%}" for place in (0, 4, 9, 14, 18)]
        rows.append([name, str(len(found)), *shown, f"{cuts[14] - cuts[4]:.2f}"])
    file = output / "work-jitter.md"
    file.write_text(_markdown(len(folders), rows))
    print(file)


def _timings(folder: Path) -> list[Recording]:
    found = []
    for path in sorted(folder.glob("timing-*")):
        try:
            found.append(read_recording(path, None))
        except LoadpathError as error:
            print(f"{path} left out: {error}")
    return found


def _markdown(pages: int, rows: list[list[str]]) -> str:
    columns = ["median, ms", "durations", "5 %", "25 %", "50 %", "75 %", "95 %", "25 to 75 %"]
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"""# By how much main-thread work differs from load to load

Written by `make study-jitter`, {date}: timing passes of the profiles of {pages} tuning pages,
**observed**. Deviations of durations from the median of their passes, as parts of it.

{markdown_table(columns, rows, words=["median, ms"])}"""


if __name__ == "__main__":
    typer.run(study)

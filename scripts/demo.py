"""`make demo`: example pages over several networks and HTTP versions, as a table and waterfalls.

usage: scripts/demo.py FOLDER
"""

import sys
import time
from html import escape
from pathlib import Path
from statistics import median

import loadpath
from loadpath.analysis.waterfall import waterfall_svg
from loadpath.cli.console import print_table
from loadpath.output import write_atomic
from loadpath.parameters import describe

RUNS = 11
PAGES = ["example:spdy-page-a", "example:shape-amazon", "example:mobile-2mb"]
NETWORKS = ["wpt:fios", "wpt:cable", "wpt:lte", "wpt:3g"]
HTTP = ["h1.0", "h1", "h1-pipelined", "h2", "quic"]
PROFILE = "linux"

INTRODUCTION = f"""Median page load times in milliseconds over {RUNS} simulated loads a cell, with
the defaults of the profile {PROFILE}. Every number is simulated, and the same on any machine."""


def main() -> None:
    """Print the table; write it with a waterfall for each HTTP version to an HTML file."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    pages = [loadpath.load_graph(name) for name in PAGES]
    cells = [
        (
            page,
            network,
            [
                loadpath.resolve_scenario(profile=PROFILE, connectivity=network, http=h)
                for h in HTTP
            ],
        )
        for page in pages
        for network in NETWORKS
    ]
    jobs = [
        (page, scenario, run)
        for page, _, scenarios in cells
        for scenario in scenarios
        for run in range(RUNS)
    ]
    started = time.perf_counter()
    loads = iter(loadpath.summarise_many(jobs))
    seconds = time.perf_counter() - started
    rows = []
    for page, network, _ in cells:
        row = [page.name, network]
        for _ in HTTP:
            plt = [next(loads).plt_ms for _ in range(RUNS)]
            complete = [t for t in plt if t is not None]
            row.append(f"{median(complete):.0f}" if complete else "failed")
        rows.append(row)

    figures = []
    for http in HTTP:
        scenario = loadpath.resolve_scenario(profile=PROFILE, connectivity="wpt:cable", http=http)
        [outcome] = loadpath.simulate_many([(pages[0], scenario, 0)], trace=True)
        figures.append(waterfall_svg(outcome, subtitle=describe(scenario)))
    write_atomic(folder / "waterfall.svg", figures[HTTP.index("h2")], force=True)
    write_atomic(folder / "index.html", _html(rows, figures), force=True)

    print_table("median page load time, ms (simulated)", ["page", "network", *HTTP], rows, text=2)
    print(f"\n{len(jobs)} loads in {seconds:.1f} s. Open {folder / 'index.html'} for waterfalls.")


def _html(rows: list[list[str]], figures: list[str]) -> str:
    def cells(tag: str, row: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Loadpath demo</title>
<style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; }}
td, th {{ padding: 2px 12px; text-align: right; }}
td:nth-child(-n+2), th:nth-child(-n+2) {{ text-align: left; }}
tr:nth-child(even) {{ background: #f4f4f4; }}
svg {{ max-width: 100%; height: auto; border: 1px solid #ddd; margin: 1em 0; }}
</style>
<h1>Loadpath demo</h1>
<p>{INTRODUCTION}</p>
<table>
{cells("th", ["page", "network", *HTTP])}
{chr(10).join(cells("td", row) for row in rows)}
</table>
<h2>Waterfalls of one page over wpt:cable</h2>
{chr(10).join(figures)}
</html>
"""


if __name__ == "__main__":
    main()

"""Real loads for people."""

from collections.abc import Sequence
from statistics import median

from loadpath.testbed.emulation import Emulated
from loadpath.testbed.load import Load

__all__ = ["LOAD_COLUMNS", "load_row", "median_load", "one_line"]

LOAD_COLUMNS = [
    "page",
    "loads",
    "doubtful",
    "load ms",
    "min",
    "max",
    "DOMContentLoaded ms",
    "FCP ms",
    "LCP ms",
    "speed index ms",
]


def one_line(each: Emulated) -> str:
    """One load, with what is in doubt about it."""
    load = each.load
    text = f"run {each.run}: "
    text += f"{load.load_ms:.1f} ms" if load.load_ms is not None else f"failed: {load.reason}"
    missed = f"{len(load.misses)} requests for what is not in the archive" if load.misses else None
    return "; ".join([text, *load.doubts, *load.warnings, *([missed] if missed else [])])


def load_row(page: str, loads: Sequence[Load]) -> list[str]:
    """Medians over all loads that came to an end, and how many are in doubt."""
    times = [load.load_ms for load in loads if load.load_ms is not None]

    def middle(name: str) -> str:
        values = [getattr(load, name) for load in loads if getattr(load, name) is not None]
        return f"{median(values):.1f}" if values else "-"

    return [
        page,
        str(len(loads)),
        str(sum(not load.believed for load in loads)),
        middle("load_ms"),
        f"{min(times):.1f}" if times else "-",
        f"{max(times):.1f}" if times else "-",
        middle("dom_content_loaded_ms"),
        middle("first_contentful_paint_ms"),
        middle("largest_contentful_paint_ms"),
        middle("rum_speed_index_ms"),
    ]


def median_load(loads: Sequence[Emulated]) -> Emulated:
    """The load whose time is the (lower) median; one that ended, if there is any."""
    ended = [each for each in loads if each.load.load_ms is not None]
    if not ended:
        return loads[0]
    ordered = sorted(ended, key=lambda each: each.load.load_ms or 0.0)
    return ordered[(len(ordered) - 1) // 2]

"""Rows of tables on load times."""

from collections.abc import Sequence
from statistics import median

from loadpath.outcome import Summary

__all__ = ["PLT_COLUMNS", "plt_row"]

PLT_COLUMNS = [
    "page",
    "runs",
    "PLT ms",
    "min",
    "max",
    "DCL ms",
    "requests",
    "kB",
    "connections",
    "drops",
    "retransmissions",
    "failed",
]


def plt_row(page: str, loads: Sequence[Summary]) -> list[str]:
    """Medians over the runs of one page; failed loads are counted, not averaged."""
    complete = [load for load in loads if load.status.result == "complete"]
    plt = [load.plt_ms for load in complete if load.plt_ms is not None]
    dcl = [load.dcl_ms for load in complete if load.dcl_ms is not None]

    def middle(values: Sequence[float], digits: int = 0) -> str:
        return f"{median(values):.{digits}f}" if values else "-"

    return [
        page,
        str(len(loads)),
        middle(plt, 1),
        f"{min(plt):.1f}" if plt else "-",
        f"{max(plt):.1f}" if plt else "-",
        middle(dcl, 1),
        middle([load.requests for load in complete]),
        middle([load.totals.bytes / 1000 for load in complete]),
        middle([load.connections for load in complete]),
        middle([load.totals.drops for load in complete]),
        middle([load.totals.retransmissions for load in complete]),
        str(len(loads) - len(complete)),
    ]

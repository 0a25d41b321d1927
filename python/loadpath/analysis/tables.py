"""Rows of tables on load times."""

from collections.abc import Sequence
from statistics import median

from loadpath.outcome import Outcome

__all__ = ["PLT_COLUMNS", "plt_row"]

PLT_COLUMNS = [
    "page",
    "runs",
    "PLT ms",
    "min",
    "max",
    "DCL ms",
    "resources",
    "kB",
    "connections",
    "drops",
    "retransmissions",
    "failed",
]


def plt_row(outcomes: Sequence[Outcome]) -> list[str]:
    """Medians over the runs of one page; failed loads are counted, not averaged."""
    complete = [outcome for outcome in outcomes if outcome.plt_ms is not None]
    plt = [outcome.plt_ms for outcome in complete if outcome.plt_ms is not None]
    dcl = [outcome.dcl_ms for outcome in complete if outcome.dcl_ms is not None]

    def middle(values: Sequence[float], digits: int = 0) -> str:
        return f"{median(values):.{digits}f}" if values else "-"

    return [
        outcomes[0].page,
        str(len(outcomes)),
        middle(plt, 1),
        f"{min(plt):.1f}" if plt else "-",
        f"{max(plt):.1f}" if plt else "-",
        middle(dcl, 1),
        middle([len(outcome.resources) for outcome in complete]),
        middle([outcome.totals.bytes / 1000 for outcome in complete]),
        middle([len(outcome.connections) for outcome in complete]),
        middle([outcome.totals.drops for outcome in complete]),
        middle([outcome.totals.retransmissions for outcome in complete]),
        str(len(outcomes) - len(complete)),
    ]

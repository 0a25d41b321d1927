"""How far simulated loads of real pages are from real ones, cell by cell."""

from loadpath.validation.cells import (
    NETWORKS,
    QUICK_NETWORKS,
    ValidationNetwork,
    held_out,
    parse_network,
)
from loadpath.validation.study import Plan, Validation

__all__ = [
    "NETWORKS",
    "QUICK_NETWORKS",
    "Plan",
    "Validation",
    "ValidationNetwork",
    "held_out",
    "parse_network",
]

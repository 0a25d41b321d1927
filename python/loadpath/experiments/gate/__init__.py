"""The gate for CI: a page against a budget, and against how it was before."""

from loadpath.experiments.gate.budget import Budget, read_budgets
from loadpath.experiments.gate.check import Check, Verdict, check_page
from loadpath.experiments.gate.measurement import Measurement, measure, read_measurement
from loadpath.experiments.gate.output import check_rows, junit, markdown

__all__ = [
    "Budget",
    "Check",
    "Measurement",
    "Verdict",
    "check_page",
    "check_rows",
    "junit",
    "markdown",
    "measure",
    "read_budgets",
    "read_measurement",
]

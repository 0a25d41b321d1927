"""Figures of papers from the numbers behind them, one file a kind.

Every kind is a function from plain rows to a `Figure`; `save` writes it. Columns carry units in
their names (`rate_bps`, `rtt_ms`, `plt_s`, `improvement_percent`), and axes show them.
"""

from loadpath.analysis.figures.bars import bars
from loadpath.analysis.figures.best import best_choice, best_choices, cost_of_choice
from loadpath.analysis.figures.distribution import cdf, difference_cdf, histogram
from loadpath.analysis.figures.figure import Figure
from loadpath.analysis.figures.heat_map import heat_map
from loadpath.analysis.figures.lines import lines
from loadpath.analysis.figures.regions import regions
from loadpath.analysis.figures.save import FORMATS, render, save, to_csv
from loadpath.analysis.figures.scatter import scatter
from loadpath.analysis.figures.surface import contour, surface

__all__ = [
    "FORMATS",
    "Figure",
    "bars",
    "best_choice",
    "best_choices",
    "cdf",
    "contour",
    "cost_of_choice",
    "difference_cdf",
    "heat_map",
    "histogram",
    "lines",
    "regions",
    "render",
    "save",
    "scatter",
    "surface",
    "to_csv",
]

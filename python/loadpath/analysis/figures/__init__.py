"""Figures of papers from the numbers behind them, one file a kind."""

from loadpath.analysis.figures.figure import Figure

__all__ = ["Figure"]

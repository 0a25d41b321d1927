"""Experiments: grids of loads, published results again."""

from loadpath.experiments.preset import Preset, PresetOptions, Result
from loadpath.experiments.presets import PRESETS, run_preset

__all__ = ["PRESETS", "Preset", "PresetOptions", "Result", "run_preset"]

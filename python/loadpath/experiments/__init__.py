"""Experiments: grids of loads, published results again."""

from loadpath.experiments.registry import PRESETS, Preset, PresetOptions, Result, run_preset

__all__ = ["PRESETS", "Preset", "PresetOptions", "Result", "run_preset"]

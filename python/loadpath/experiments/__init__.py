"""Experiments: sweeps of loads, published results again."""

"""Sweeps: a matrix of scenarios over pages, planned, computed in parts, stored, resumable.

`specification` reads what a person writes, `pages` finds the page graphs, `plan` numbers the loads,
`store` keeps them, `execution` computes them, `reuse` finds what another plan has computed already.
Nothing here holds a plan's loads in memory.

The modules that store and compute need the packages of `loadpath[experiments]`.
"""

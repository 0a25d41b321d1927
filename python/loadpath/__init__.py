"""Load real web pages in a packet-level simulation and see what makes them faster.

>>> import loadpath
>>> page = loadpath.load_graph("example:figure-3-1")
>>> [outcome] = loadpath.simulate(page, rate="10mbit", rtt_ms=40, http="h2")
>>> outcome.label
'simulated'
"""

from loadpath._core import (
    CorpusError,
    GraphError,
    LoadpathError,
    Page,
    Scenario,
    ScenarioError,
    __version__,
)
from loadpath.api import load_graph, resolve_scenario, simulate, simulate_many, summarise_many
from loadpath.errors import NotFoundError, OutputExistsError
from loadpath.networks import Network, find_network
from loadpath.outcome import Outcome, Summary

__all__ = [
    "CorpusError",
    "GraphError",
    "LoadpathError",
    "Network",
    "NotFoundError",
    "Outcome",
    "OutputExistsError",
    "Page",
    "Scenario",
    "ScenarioError",
    "Summary",
    "__version__",
    "find_network",
    "load_graph",
    "resolve_scenario",
    "simulate",
    "simulate_many",
    "summarise_many",
]

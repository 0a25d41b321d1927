"""One load with its trace, for figures and exports."""

import json
from pathlib import Path

from loadpath import _core
from loadpath._core import Scenario
from loadpath.outcome import Outcome
from loadpath.pages import load_graph, read_page
from loadpath.parameters import Parameters, resolve_scenario, scenario_values
from loadpath.reports import FORMATS, CapturePoint, ExportContext

__all__ = ["export", "load_traced"]


def load_traced(page: str | Path, parameters: Parameters, run: int) -> tuple[Outcome, Scenario]:
    """Simulate one repetition with its trace."""
    scenario = resolve_scenario(parameters)
    outcome = Outcome.from_json(_core.simulate(load_graph(page), scenario, run, trace=True))
    return outcome, scenario


def export(
    outcome: Outcome,
    format: str,
    *,
    scenario: Scenario,
    page: str | Path,
    capture: CapturePoint = CapturePoint.CLIENT,
) -> bytes:
    """A traced load in one of the formats of `loadpath.reports.FORMATS`."""
    data, _, _ = read_page(page)
    context = ExportContext(scenario_values(scenario), json.loads(data), capture)
    return FORMATS[format].write(outcome, context)

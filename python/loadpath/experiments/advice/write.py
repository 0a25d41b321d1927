"""Keeping what was advised: the changed page and scenario as files, to be simulated again."""

import json
from pathlib import Path

import msgspec

from loadpath._core import Scenario
from loadpath.experiments.advice.model import Advice
from loadpath.experiments.advice.networks import with_settings
from loadpath.output import refuse_existing, write_atomic
from loadpath.sources import PageSource

__all__ = ["write_advice"]


def write_advice(
    folder: Path, advice: Advice, source: PageSource, scenario: Scenario, *, force: bool = False
) -> Path:
    """Write the page and the scenario with the advised combination into a new folder.

    `loadpath simulate FOLDER/page.json --scenario FOLDER/scenario.toml` then gives the advice's
    load times again, to the bit. Without a combination they are as they were. `advice.json` holds
    the advice.
    """
    refuse_existing(folder / "page.json", force=force)
    folder.mkdir(parents=True, exist_ok=True)
    page = source.page
    settings: tuple[tuple[str, str], ...] = ()
    if advice.combination is not None:
        change = advice.combination.item.change
        settings = change.settings
        for text in change.transforms:
            page = page.transformed(text)
    if page.server_delay_file is not None and source.delays is not None:
        write_atomic(folder / page.server_delay_file, source.delays, force=force)
    changed = with_settings(scenario, settings)
    write_atomic(folder / "scenario.toml", changed.to_toml(), force=force)
    write_atomic(folder / "advice.json", _pretty(advice), force=force)
    write_atomic(folder / "page.json", page.to_json(), force=force)
    return folder


def _pretty(advice: Advice) -> str:
    return json.dumps(msgspec.to_builtins(advice), indent=1) + "\n"

"""Presets by name. To add one, write its module and add it here."""

from collections.abc import Mapping
from dataclasses import replace

from loadpath.errors import NotFoundError, hinted
from loadpath.experiments import (
    multipath,
    pcp_bandwidth_rtt,
    pcp_connections,
    pcp_corpus,
    pcp_priorities,
    pcp_protocols,
    pcp_server_design,
    pcp_table_5_1,
    pcp_unsharding,
    spdy_initcwnd,
)
from loadpath.experiments.preset import Preset, PresetOptions, Result

__all__ = ["PRESETS", "run_preset"]

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        pcp_connections.PRESET,
        pcp_bandwidth_rtt.PRESET,
        pcp_protocols.PRESET,
        pcp_table_5_1.PRESET,
        pcp_unsharding.PRESET,
        pcp_priorities.PRESET,
        pcp_server_design.PRESET,
        pcp_corpus.PRESET,
        *multipath.PRESETS,
        spdy_initcwnd.PRESET,
    )
}
"""Every preset by name."""


def run_preset(name: str, options: PresetOptions) -> Result:
    """Run a preset.

    Raises
    ------
    NotFoundError
        There is no preset of that name.
    """
    preset = PRESETS.get(name)
    if preset is None:
        raise hinted(
            NotFoundError(f"there is no preset named {name!r}"),
            "`loadpath reproduce` lists them",
        )
    return preset.run(replace(options, name=name))

"""Writes the reference of keys, networks and verbs, and the README's picture, from the program.

usage: scripts/reference.py FOLDER
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from loadpath._core import scenario_keys
from loadpath.analysis.waterfall import waterfall_svg
from loadpath.cli.app import app
from loadpath.loading import load_traced
from loadpath.networks import NETWORKS
from loadpath.parameters import Parameters, describe

NOTE = "<!-- Written by `make docs` from the program; a test compares. -->\n"


def scenario_reference() -> str:
    """Every scenario key."""
    lines = [
        "# Scenario keys\n",
        NOTE,
        "A scenario is a profile, changed by a TOML file (`--scenario FILE.toml`), a named network",
        "(`-c`), the flags of the command line and `--set KEY=VALUE`; the later wins.",
        "`loadpath scenario` prints the result, which is a scenario file itself. Rates, times and",
        'sizes may be written with a unit: `"10mbit"`, `"40ms"`, `"64kB"`. Keys whose default is',
        'worked out from others accept `"auto"`.\n',
        "Values below are those of the profiles at their own network and HTTP version.\n",
    ]
    section = None
    for key in scenario_keys():
        if key["name"].split(".")[0] != section:
            section = key["name"].split(".")[0]
            lines.append(f"## [{section}]\n")
        lines += [
            f"### `{key['name']}`\n",
            f"{key['doc']} Allowed: {key['allowed']}.\n",
            "| profile | value | source |",
            "| --- | --- | --- |",
            f"| `pcp` | `{key['pcp']}` | {key['pcp_source']} |",
            f"| `linux` | `{key['linux']}` | {key['linux_source']} |\n",
        ]
    return "\n".join(lines)


def networks_reference() -> str:
    """Every named network."""
    lines = [
        "# Named networks\n",
        NOTE,
        "Names carry the tool whose definition they are; a bare name means WebPageTest's. The RTT",
        "is the full round trip. (Browsertime's own files give the delay of one direction.)\n",
        "| name | down, kbit/s | up, kbit/s | RTT, ms | loss, % |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| `{n.name}` | {n.down_kbps:g} | {n.up_kbps:g} | {n.rtt_ms:g} | {n.loss_percent:g} |"
        for n in NETWORKS.values()
    ]
    return "\n".join(lines) + "\n"


def cli_reference() -> str:
    """Every verb with its options."""
    return "\n".join(["# Command line\n", NOTE, *_verbs("loadpath", get_command(app))])


def _verbs(prefix: str, group: Any) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _verbs(f"{prefix} {name}", command)
            continue
        yield f"## `{prefix} {name}`\n"
        yield f"{' '.join((command.help or '').split())}\n"
        yield "| | |"
        yield "| --- | --- |"
        for parameter in command.params:
            if parameter.name == "help":
                continue
            names = [*parameter.opts, *parameter.secondary_opts]
            label = parameter.metavar or parameter.name.upper()
            if parameter.param_type_name == "argument":
                names = [label.strip("[]")]
            text = " ".join((parameter.help or "").split()).replace("|", r"\|")
            yield f"| {', '.join(f'`{part}`' for part in names)} | {text} |"
        yield ""


REFERENCES: dict[str, Callable[[], str]] = {
    "cli.md": cli_reference,
    "networks.md": networks_reference,
    "scenario.md": scenario_reference,
}


def main() -> None:
    """Write all references."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, reference in REFERENCES.items():
        (folder / name).write_text(reference())
    # The picture of the README, by the command that the README gives.
    parameters = Parameters(profile="linux", connectivity="cable", http="h2")
    outcome, scenario = load_traced("example:shape-reddit", parameters, run=0)
    picture = waterfall_svg(outcome, subtitle=describe(scenario))
    (folder.parent / "images" / "waterfall.svg").write_text(picture)


if __name__ == "__main__":
    main()

"""`loadpath scenario`: every parameter of a load."""

from typing import Annotated

import typer

from loadpath._core import scenario_keys
from loadpath.cli.console import print_json
from loadpath.cli.options import Json, LoadOptions, with_load_options
from loadpath.parameters import resolve_scenario, scenario_values


@with_load_options
def scenario(
    load: LoadOptions,
    keys: Annotated[
        bool,
        typer.Option(
            "--keys", help="Document every key: values of both profiles, range, meaning, sources."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Print the scenario that the given options make, every value resolved, as TOML.

    The output is a scenario file: `loadpath scenario --profile linux > my.toml`.
    """
    if keys and json:
        print_json(scenario_keys())
    elif keys:
        for key in scenario_keys():
            print(key["name"])
            print(f"    {key['doc']}")
            print(f"    allowed  {key['allowed']}")
            print(f"    pcp      {key['pcp']}  ({key['pcp_source']})")
            print(f"    linux    {key['linux']}  ({key['linux_source']})")
    elif json:
        print_json(scenario_values(resolve_scenario(load.parameters())))
    else:
        typer.echo(resolve_scenario(load.parameters()).to_toml(), nl=False)

"""`loadpath profiles`: what can be named."""

from dataclasses import asdict
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_table
from loadpath.cli.options import Json
from loadpath.networks import NETWORKS
from loadpath.pages import example_names, load_graph


def profiles(
    pages: Annotated[
        bool, typer.Option("--pages", help="List the example pages instead of the networks.")
    ] = False,
    json: Json = False,
) -> None:
    """List the named networks for -c, in numbers; a bare name means WebPageTest's."""
    if pages:
        graphs = {f"example:{name}": load_graph(f"example:{name}") for name in example_names()}
        if json:
            print_json([{"name": name, "source": page.source} for name, page in graphs.items()])
        else:
            print_table(
                "",
                ["page", "source", "activities"],
                [[name, page.source, str(page.activities)] for name, page in graphs.items()],
                text=2,
            )
    elif json:
        print_json([asdict(network) for network in NETWORKS.values()])
    else:
        print_table(
            "",
            ["network", "down kbit/s", "up kbit/s", "RTT ms", "loss %"],
            [
                [
                    n.name,
                    f"{n.down_kbps:g}",
                    f"{n.up_kbps:g}",
                    f"{n.rtt_ms:g}",
                    f"{n.loss_percent:g}",
                ]
                for n in NETWORKS.values()
            ],
        )

"""`loadpath profiles`: what can be named."""

from dataclasses import asdict
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_table
from loadpath.cli.options import Json
from loadpath.networks import NETWORKS
from loadpath.pages import EXAMPLE_PREFIX, examples


def profiles(
    pages: Annotated[
        bool, typer.Option("--pages", help="List the example pages instead of the networks.")
    ] = False,
    json: Json = False,
) -> None:
    """List the named networks for -c, in numbers; a bare name means WebPageTest's."""
    if pages:
        if json:
            print_json(examples())
        else:
            print_table(
                "",
                ["page", "what", "resources", "kB", "hosts"],
                [
                    [
                        f"{EXAMPLE_PREFIX}{page.name}",
                        page.title,
                        str(page.resources),
                        f"{page.bytes / 1000:.0f}",
                        str(page.hosts),
                    ]
                    for page in examples()
                ],
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

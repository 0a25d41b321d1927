"""Options that several verbs share."""

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from loadpath.errors import ScenarioError
from loadpath.pages import example_names
from loadpath.parameters import HTTP_NAMES, Parameters

__all__ = [
    "AnyPage",
    "Csv",
    "Force",
    "Json",
    "LoadOptions",
    "Markdown",
    "NetworkOptions",
    "Output",
    "Page",
    "Pages",
    "Runs",
    "Store",
    "Transforms",
    "with_load_options",
]

R = TypeVar("R")

_NETWORK = "Network"
_PROTOCOL = "Protocol"
_SCENARIO = "Scenario"


def _complete_page(incomplete: str) -> list[str]:
    examples = [f"example:{name}" for name in example_names()]
    files = [str(path) for path in Path().glob(f"{incomplete}*") if path.suffix == ".json"]
    return [name for name in examples + files if name.startswith(incomplete)]


def _complete_network(incomplete: str) -> list[str]:
    from loadpath.networks import NETWORKS

    return [name for name in NETWORKS if name.startswith(incomplete)]


def _complete_http(incomplete: str) -> list[str]:
    return [name for name in HTTP_NAMES if name.startswith(incomplete)]


_PAGE_HELP = "Page graph: a JSON file, or example:NAME for a page that ships with Loadpath."

Page = Annotated[
    str, typer.Argument(metavar="PAGE", help=_PAGE_HELP, autocompletion=_complete_page)
]
AnyPage = Annotated[
    str,
    typer.Argument(
        metavar="PAGE",
        help="Page graph, example:NAME, HAR file, DevTools trace, folder of a profile, "
        "corpus:NAME, or a URL to profile.",
        autocompletion=_complete_page,
    ),
]
Pages = Annotated[
    list[str],
    typer.Argument(
        metavar="PAGE...",
        help=f"{_PAGE_HELP} A folder means all graphs in it.",
        autocompletion=_complete_page,
    ),
]
Runs = Annotated[int, typer.Option("-n", "--runs", min=1, help="Repetitions of each page.")]
Transforms = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        metavar="TRANSFORM",
        help="Change the page first; several in their order. `loadpath transform` lists them.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]
Store = Annotated[
    Path, typer.Option("--store", help="Folder of sweeps, of one sweep, or of one plan.")
]
Csv = Annotated[Path | None, typer.Option("--csv", help="CSV into a file; '-' is standard output.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="A Markdown table.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="File to write; '-' is standard output.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]


def _option(
    *names: str, panel: str, help: str, complete: Callable[[str], list[str]] | None = None
) -> Any:
    return typer.Option(*names, rich_help_panel=panel, help=help, autocompletion=complete)


@dataclass(kw_only=True)
class NetworkOptions:
    """The parameters of a network as options; see `loadpath.parameters`."""

    profile: Annotated[
        str | None, _option("--profile", panel=_SCENARIO, help="Set of defaults: pcp or linux.")
    ] = None
    scenario: Annotated[
        Path | None, _option("--scenario", panel=_SCENARIO, help="TOML file with scenario keys.")
    ] = None
    set: Annotated[
        list[str],
        _option(
            "--set",
            panel=_SCENARIO,
            help="KEY=VALUE for any scenario key (`loadpath scenario --keys` lists them).",
        ),
    ] = None  # type: ignore[assignment]
    seed: Annotated[int | None, _option("--seed", panel=_SCENARIO, help="Master seed.")] = None
    connectivity: Annotated[
        str | None,
        _option(
            "-c",
            "--connectivity",
            panel=_NETWORK,
            help="Named network (`loadpath profiles` lists them).",
            complete=_complete_network,
        ),
    ] = None
    rate: Annotated[
        str | None, _option("--rate", panel=_NETWORK, help="Bottleneck rate, e.g. 10mbit.")
    ] = None
    up_rate: Annotated[
        str | None,
        _option("--up-rate", panel=_NETWORK, help="Rate towards the servers; default --rate."),
    ] = None
    trace_down: Annotated[
        Path | None,
        _option(
            "--trace-down", panel=_NETWORK, help="Mahimahi trace towards the client, for a rate."
        ),
    ] = None
    trace_up: Annotated[
        Path | None,
        _option("--trace-up", panel=_NETWORK, help="Mahimahi trace towards the servers."),
    ] = None
    rtt_ms: Annotated[
        str | None, _option("--rtt", panel=_NETWORK, help="Round-trip time, e.g. 40ms.")
    ] = None
    loss: Annotated[
        float | None,
        _option("--loss", panel=_NETWORK, help="Part of packets lost at random, 0 to 1."),
    ] = None
    queue: Annotated[
        str | None,
        _option(
            "--queue", panel=_NETWORK, help="Queue towards the client: red, drop-tail or unlimited."
        ),
    ] = None

    def parameters(self) -> Parameters:
        """The same for the Python API."""
        settings = dict(_key_value(text) for text in self.set or ())
        return cast(Parameters, asdict(self) | {"set": settings})


@dataclass(kw_only=True)
class LoadOptions(NetworkOptions):
    """The parameters of a load as options; see `loadpath.parameters`."""

    http: Annotated[
        str | None,
        _option(
            "--http",
            panel=_PROTOCOL,
            help="HTTP version: h1.0, h1, h1-pipelined, h2, quic or spdy.",
            complete=_complete_http,
        ),
    ] = None
    connections: Annotated[
        int | None,
        _option("--connections", panel=_PROTOCOL, help="Most connections to a host, 1 to 12."),
    ] = None
    priorities: Annotated[
        str | None,
        _option(
            "--priorities",
            panel=_PROTOCOL,
            help="Of responses: none, mime-type, mime-class, critical-path, node-depth or browser.",
        ),
    ] = None
    server: Annotated[
        str | None,
        _option("--server", panel=_PROTOCOL, help="Server: serial, parallel or out-of-order."),
    ] = None
    tls: Annotated[
        str | None,
        _option("--tls", panel=_PROTOCOL, help="TLS: none, 1.2, 1.3, 1.3-resumed, 1.3-0rtt, ..."),
    ] = None
    icwnd: Annotated[
        int | None,
        _option("--icwnd", panel=_PROTOCOL, help="Initial congestion window in segments."),
    ] = None
    congestion: Annotated[
        str | None,
        _option("--congestion", panel=_PROTOCOL, help="Congestion controller: newreno or cubic."),
    ] = None
    recovery: Annotated[
        str | None,
        _option("--recovery", panel=_PROTOCOL, help="Loss recovery: newreno, nack or sack."),
    ] = None


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ScenarioError(f"--set {text}: expected KEY=VALUE")
    return key.strip(), value.strip()


def with_load_options(verb: Callable[..., R]) -> Callable[..., R]:
    """Give a verb the options of its parameter `load`: `LoadOptions` or `NetworkOptions`."""
    signature = inspect.signature(verb, eval_str=True)
    collected = signature.parameters["load"].annotation
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=field.type,
        )
        for field in fields(collected)
    ]
    own = [parameter for name, parameter in signature.parameters.items() if name != "load"]

    def command(**arguments: Any) -> R:
        load = collected(**{option.name: arguments.pop(option.name) for option in options})
        return verb(load=load, **arguments)

    command.__doc__ = verb.__doc__
    command.__name__ = verb.__name__
    command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own),
            *options,
        ]
    )
    command.__annotations__ = {}
    return command

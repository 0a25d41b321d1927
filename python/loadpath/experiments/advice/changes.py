"""The changes that are tried on a page, each a transform of the page or a setting."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from loadpath._core import Page, TransformError
from loadpath.experiments.advice.model import Change, LeftOut
from loadpath.graphs.graph import Graph, Kind, short_url
from loadpath.outcome import Outcome

__all__ = ["Shares", "late_on_path", "page_changes", "setting_changes"]

_HTTP = {
    "http/1.1": ("h1", "serve over HTTP/1.1"),
    "http/2": ("h2", "serve over HTTP/2"),
    "quic-lite": ("quic", "serve over QUIC (quic-lite)"),
}
_CONNECTIONS = (1, 6, 12)
_WINDOWS = (10, 32)
_SINGLE_SCRIPTS = 3
"""How many blocking scripts of the critical path are tried one by one."""
_BYTE_TYPES = ("html", "css", "script", "image", "font", "other")

ASYNC_CAVEAT = (
    "a graph does not know whether later scripts need it, or whether it writes into the page"
)
PRELOAD_CAVEAT = "only URLs that are the same in every load can be named in a hint"


@dataclass(frozen=True)
class Shares:
    """How much is cut, per cent."""

    bytes: float = 30.0
    server_delay: float = 50.0


def setting_changes(values: dict[str, Any]) -> tuple[list[Change], list[LeftOut]]:
    """Changes of the scenario, whose values are given, and those that it has already."""
    changes: list[Change] = []
    left_out: list[LeftOut] = []

    def setting(name: str, title: str, key: str, value: object, caveat: str = "") -> None:
        section, field = key.split(".")
        if str(values[section][field]) == str(value):
            left_out.append(LeftOut(name, f"the scenario has {key} = {value} already"))
            return
        changes.append(
            Change(name=name, title=title, group=key, settings=((key, str(value)),), caveat=caveat)
        )

    for version, (name, title) in _HTTP.items():
        setting(name, title, "http.version", version)
    for count in _CONNECTIONS:
        setting(
            f"connections-{count}",
            f"at most {count} connection{'s' if count > 1 else ''} to a host",
            "http.connections_per_host",
            count,
            "browsers decide this; a site can only spread over hosts, or not",
        )
    setting(
        "priorities",
        "servers send what is on the critical path first",
        "http.priorities",
        "critical-path",
    )
    for window in _WINDOWS:
        setting(
            f"icwnd-{window}",
            f"initial window of {window} segments",
            "transport.initial_window_segments",
            window,
        )
    tls = values["http"]["tls"]
    if tls == "none":
        left_out.append(LeftOut("tls-1.3", "the scenario has no TLS"))
    elif tls.startswith("1.3"):
        left_out.append(LeftOut("tls-1.3", f"the scenario has http.tls = {tls} already"))
    else:
        resumed = "-resumed" if tls.endswith("-resumed") else ""
        setting("tls-1.3", "TLS 1.3 instead of 1.2", "http.tls", f"1.3{resumed}")
    return changes, left_out


def page_changes(
    page: Page, graph: Graph, before: Outcome, late: Iterable[str], shares: Shares
) -> tuple[list[Change], list[LeftOut]]:
    """Changes of the page, and those that do not apply to it.

    Parameters
    ----------
    page, graph
        The page, in both forms.
    before
        A load of it on the given network: its critical path says which scripts are tried alone.
    late
        Ids of resources that a hint would bring forward, from `late_on_path`.
    shares
        How much is cut.
    """
    changes: list[Change] = []
    left_out: list[LeftOut] = []

    def transform(change: Change) -> None:
        try:
            changed = page
            for text in change.transforms:
                changed = changed.transformed(text)
        except TransformError as error:
            reason = str(error).partition(": ")[2]
            left_out.append(LeftOut(change.name, reason))
        else:
            changes.append(change)

    transform(
        Change(
            name="unshard",
            title="serve all hosts of the site from one",
            group="unshard",
            transforms=("unshard",),
        )
    )
    named = [_of(graph, id) for id in late]
    if named:
        changes.append(
            Change(
                name="preload",
                title=f"preload {_names(named)}",
                group="preload",
                transforms=tuple(f"preload:{id}" for id in late),
                caveat=PRELOAD_CAVEAT,
            )
        )
    else:
        left_out.append(LeftOut("preload", "no late-found resource is on the critical path"))
    transform(
        Change(
            name="preload-all",
            title="preload all that scripts and style sheets find late",
            group="preload-all",
            transforms=("preload:all",),
            caveat=PRELOAD_CAVEAT,
        )
    )
    transform(
        Change(
            name="async",
            title="async for all scripts that hold up the parser",
            group="async",
            transforms=("async",),
            caveat=ASYNC_CAVEAT,
        )
    )
    for id in _blocking_on_path(page, graph, before)[:_SINGLE_SCRIPTS]:
        changes.append(
            Change(
                name=f"async:{id}",
                title=f"async for {_of(graph, id)}",
                group=f"async:{id}",
                transforms=(f"async:{id}",),
                caveat=ASYNC_CAVEAT,
            )
        )
    for kind in _BYTE_TYPES:
        transform(
            Change(
                name=f"{kind}-bytes",
                title=f"{kind} bytes cut by {shares.bytes:g} %",
                group=f"{kind}-bytes",
                transforms=(f"cut-bytes:{kind}:{shares.bytes!r}",),
            )
        )
    transform(
        Change(
            name="server-delay",
            title=f"server delays cut by {shares.server_delay:g} %",
            group="server-delay",
            transforms=(f"cut-server-delay:{shares.server_delay!r}",),
        )
    )
    return changes, left_out


def late_on_path(page: Page, graph: Graph, outcome: Outcome, known: Iterable[str]) -> list[str]:
    """Resources of a load's critical path that a hint would bring forward, but for those known."""
    return _that_take(page, _resources_on_path(graph, outcome, known), "preload")


def _blocking_on_path(page: Page, graph: Graph, outcome: Outcome) -> list[str]:
    return _that_take(page, _resources_on_path(graph, outcome, ()), "async")


def _that_take(page: Page, ids: list[str], transform: str) -> list[str]:
    taken = []
    for id in ids:
        try:
            page.transformed(f"{transform}:{id}")
        except TransformError:
            continue
        taken.append(id)
    return taken


def _resources_on_path(graph: Graph, outcome: Outcome, known: Iterable[str]) -> list[str]:
    """Those that take longest first."""
    path = outcome.critical_path
    steps = () if path is None else path.steps
    known = set(known)
    took = {
        step.id: step.end_ms - step.start_ms
        for step in steps
        if graph.kinds[step.id] is Kind.RESOURCE and step.id not in known
    }
    return sorted(took, key=lambda id: -took[id])


def _of(graph: Graph, id: str) -> str:
    return short_url(graph.subject(id))


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"

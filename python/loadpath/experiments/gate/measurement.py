"""What is measured of a page: load times of several runs, sizes and counts of its resources."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from loadpath._core import Page, Scenario
from loadpath.api import simulate_many
from loadpath.errors import LoadpathError, hinted
from loadpath.outcome import Resource
from loadpath.parameters import describe_network, scenario_values

__all__ = ["Measurement", "is_first_party", "measure", "read_measurement"]

KIB = 1024


class Counted(msgspec.Struct, frozen=True):
    """A resource as budgets see it."""

    host: str
    type: str
    size_bytes: int


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One page on one network.

    `timings_ms` holds the runs of "load" and "domContentLoaded", in order. Sizes are of response
    bodies as transmitted.
    """

    format: Literal["loadpath-check"] = "loadpath-check"
    version: Literal[1] = 1
    page: str
    url: str
    label: Literal["simulated"] = "simulated"
    network: str
    scenario: dict[str, Any]
    runs: int
    timings_ms: dict[str, list[float]]
    resources: list[Counted]

    def sizes_kib(self, first_party: Sequence[str]) -> dict[str, float]:
        """By resource type, with "third-party" and "total"."""
        return {
            kind: sum(resource.size_bytes for resource in found) / KIB
            for kind, found in self._by_type(first_party).items()
        }

    def counts(self, first_party: Sequence[str]) -> dict[str, int]:
        """By resource type, with "third-party" and "total"."""
        return {kind: len(found) for kind, found in self._by_type(first_party).items()}

    def _by_type(self, first_party: Sequence[str]) -> dict[str, list[Counted]]:
        page_host = urlsplit(self.url).hostname or ""
        found: dict[str, list[Counted]] = {"total": list(self.resources), "third-party": []}
        for resource in self.resources:
            found.setdefault(resource.type, []).append(resource)
            if not is_first_party(resource.host, page_host, first_party):
                found["third-party"].append(resource)
        return found


def is_first_party(host: str, page_host: str, first_party: Sequence[str]) -> bool:
    """Whether a host is the site's own.

    Without a list these are the page's host, a leading "www." aside, and the hosts below it.

    >>> is_first_party("img.example.org", "www.example.org", [])
    True
    >>> is_first_party("cdn.example.net", "www.example.org", ["*.example.net"])
    True
    """
    own = page_host.removeprefix("www.")
    patterns = first_party or [own, f"*.{own}"]
    return any(
        host == pattern or (pattern.startswith("*.") and host.endswith(pattern[1:]))
        for pattern in patterns
    )


def measure(
    page: Page,
    scenario: Scenario,
    *,
    runs: int,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Measurement:
    """Load a page some times in simulation.

    Raises
    ------
    LoadpathError
        A load does not finish.
    """
    jobs = [(page, scenario, run) for run in range(runs)]
    outcomes = simulate_many(jobs, threads=threads, progress=progress)
    load_ms, dom_ms = [], []
    for outcome in outcomes:
        if outcome.plt_ms is None or outcome.dcl_ms is None:
            raise LoadpathError(
                f"{page.name}, run {outcome.run}: the load failed: {outcome.status.reason}"
            )
        load_ms.append(outcome.plt_ms)
        dom_ms.append(outcome.dcl_ms)
    return Measurement(
        page=page.name,
        url=page.url,
        network=describe_network(scenario),
        scenario=scenario_values(scenario),
        runs=runs,
        timings_ms={"load": load_ms, "domContentLoaded": dom_ms},
        resources=[
            Counted(resource.host, _type(resource), resource.size_bytes)
            for resource in outcomes[0].resources
        ],
    )


def read_measurement(path: Path) -> Measurement:
    """What an earlier check saved.

    Raises
    ------
    LoadpathError
        It cannot be read, or is something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measurement)
    except OSError as error:
        raise LoadpathError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise hinted(
            LoadpathError(f"{path}: not the result of a check: {error}"),
            "`loadpath check PAGE --save FILE` writes one",
        ) from None


def _type(resource: Resource) -> str:
    """Lighthouse's resource type, from the MIME type."""
    mime = resource.mime_type.lower()
    for word, kind in (
        ("html", "document"),
        ("css", "stylesheet"),
        ("javascript", "script"),
        ("ecmascript", "script"),
        ("font", "font"),
    ):
        if word in mime:
            return kind
    family = mime.partition("/")[0]
    return {"image": "image", "audio": "media", "video": "media"}.get(family, "other")

"""Performance budgets in Lighthouse's form (`budget.json`).

A file is a list of budgets. Each has a path pattern and limits: `timings` in milliseconds,
`resourceSizes` in KiB, `resourceCounts`. Of the budgets whose path matches the page's URL the last
one applies. Patterns are those of robots.txt with one "*" at most and a "$" at the end; without a
path a budget is for all pages.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from loadpath.errors import LoadpathError, hinted

__all__ = [
    "NOT_SIMULATED",
    "RESOURCE_TYPES",
    "TIMINGS",
    "Budget",
    "Limit",
    "matching_budget",
    "read_budgets",
]

RESOURCE_TYPES = (
    "document",
    "script",
    "stylesheet",
    "image",
    "media",
    "font",
    "other",
    "third-party",
    "total",
)

TIMINGS = {
    "load": "load",
    "observedLoad": "load",
    "domContentLoaded": "domContentLoaded",
    "observedDomContentLoaded": "domContentLoaded",
}
"""What the simulation gives, by our names and those of Lighthouse's observed metrics."""

NOT_SIMULATED = frozenset(
    {
        "first-contentful-paint",
        "first-meaningful-paint",
        "largest-contentful-paint",
        "speed-index",
        "interactive",
        "first-cpu-idle",
        "total-blocking-time",
        "max-potential-fid",
        "estimated-input-latency",
        "cumulative-layout-shift",
    }
)
"""Metrics of Lighthouse's budgets about painting and input: read, and reported as skipped."""


class Limit(msgspec.Struct, frozen=True):
    """One line of a budget: the most that is allowed, and how much more is forgiven."""

    of: str
    most: float
    tolerance: float = 0.0


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """One budget.

    `timings` are in milliseconds, `sizes` in KiB. `first_party` are host names, with "*." for all
    below; empty for the page's own.
    """

    path: str
    first_party: tuple[str, ...]
    timings: tuple[Limit, ...]
    sizes: tuple[Limit, ...]
    counts: tuple[Limit, ...]


_Read = TypeVar("_Read")


def read_budgets(path: Path) -> list[Budget]:
    """The budgets of a file.

    Raises
    ------
    LoadpathError
        It cannot be read, or is not of Lighthouse's form; the message names file and field.
    """
    try:
        data: Any = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise LoadpathError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise LoadpathError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, list) or not data:
        raise _wrong(f"{path}: expected a list of budgets")
    return [_budget(value, f"{path}: [{place}]") for place, value in enumerate(data)]


def matching_budget(budgets: list[Budget], url: str) -> Budget | None:
    """The last budget whose path matches a URL."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return next((b for b in reversed(budgets) if _pattern(b.path).match(path)), None)


def _pattern(path: str) -> re.Pattern[str]:
    anchored = path.endswith("$")
    text = ".*".join(re.escape(part) for part in path.removesuffix("$").split("*"))
    return re.compile(text + ("$" if anchored else ""), re.DOTALL)


def _budget(value: object, where: str) -> Budget:
    fields = _fields(
        value, where, {"path", "options", "timings", "resourceSizes", "resourceCounts"}
    )
    options = _fields(fields.get("options", {}), f"{where}.options", {"firstPartyHostnames"})
    hosts = options.get("firstPartyHostnames", [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise _wrong(f"{where}.options.firstPartyHostnames: expected a list of host names")
    return Budget(
        path=_path(fields.get("path", "/"), f"{where}.path"),
        first_party=tuple(hosts),
        timings=_list(fields, "timings", where, _timing),
        sizes=_list(fields, "resourceSizes", where, _resource),
        counts=_list(fields, "resourceCounts", where, _resource),
    )


def _path(path: object, where: str) -> str:
    if not isinstance(path, str) or not path.startswith("/"):
        raise _wrong(f"{where}: {path!r} does not begin with a slash")
    if path.count("*") > 1 or "$" in path[:-1]:
        raise _wrong(f"{where}: {path!r}: one * at most, and a $ at the end only")
    return path


def _timing(value: object, where: str) -> Limit:
    fields = _fields(value, where, {"metric", "budget", "tolerance"})
    metric = fields.get("metric")
    if metric not in TIMINGS and metric not in NOT_SIMULATED:
        raise hinted(
            LoadpathError(f"{where}.metric: {metric!r} is no metric"),
            "simulated are load and domContentLoaded; Lighthouse's others are read and skipped",
        )
    return Limit(
        str(metric), _number(fields, "budget", where), _number(fields, "tolerance", where, 0.0)
    )


def _resource(value: object, where: str) -> Limit:
    fields = _fields(value, where, {"resourceType", "budget"})
    kind = fields.get("resourceType")
    if kind not in RESOURCE_TYPES:
        raise hinted(
            LoadpathError(f"{where}.resourceType: {kind!r} is no type"),
            f"the types are {', '.join(RESOURCE_TYPES)}",
        )
    return Limit(str(kind), _number(fields, "budget", where))


def _list(
    fields: dict[str, Any], name: str, where: str, read: Callable[[object, str], _Read]
) -> tuple[_Read, ...]:
    values = fields.get(name, [])
    if not isinstance(values, list):
        raise _wrong(f"{where}.{name}: expected a list")
    return tuple(read(value, f"{where}.{name}[{place}]") for place, value in enumerate(values))


def _fields(value: object, where: str, known: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(f"{where}: expected an object")
    unknown = sorted(value.keys() - known)
    if unknown:
        raise _wrong(f"{where}: unknown {unknown[0]!r} (allowed: {', '.join(sorted(known))})")
    return value


def _number(fields: dict[str, Any], name: str, where: str, otherwise: float | None = None) -> float:
    value = fields.get(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise _wrong(f"{where}.{name}: {value!r} is no number from 0")
    return float(value)


def _wrong(message: str) -> LoadpathError:
    return hinted(
        LoadpathError(message),
        "budgets are in Lighthouse's form; docs/guides/budgets.md has an example",
    )

"""For how long a browser may reuse a response without asking the server."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

__all__ = ["lifetime_s"]

MAX_S = 2**31
"""Longer lifetimes count as this (RFC 9111, section 1.2.2)."""


def lifetime_s(headers: Mapping[str, str]) -> float | None:
    """Freshness lifetime that a response states, in seconds; `None` if it states none.

    As the PCP thesis reads headers (section 3.7.5): `Cache-Control` first, then `Expires`, then
    `Pragma: no-cache`. Responses without any have an unknown lifetime, not zero: caches guess it
    (RFC 9111, section 4.2.2). Where `Cache-Control` has no directive on lifetime (`public`, say)
    the other headers count, as RFC 9111 wants; the thesis does not say. `must-revalidate` beside
    `max-age` leaves it be: it is about stale responses only (section 5.2.2.2); alone it counts as
    zero, as in the thesis.

    Parameters
    ----------
    headers
        Names in lower case.

    >>> lifetime_s({"cache-control": "public, max-age=600"})
    600.0
    >>> lifetime_s({"cache-control": "no-cache"}), lifetime_s({})
    (0.0, None)
    >>> date = "Sat, 01 Jan 2022 00:00:00 GMT"
    >>> lifetime_s({"date": date, "expires": "Sat, 01 Jan 2022 01:00:00 GMT"})
    3600.0
    """
    stated = _cache_control(headers.get("cache-control", ""))
    if stated is not None:
        return stated
    if "expires" in headers:
        return _until(headers["expires"], headers.get("date", ""))
    if "no-cache" in headers.get("pragma", "").lower():
        return 0.0
    return None


def _cache_control(value: str) -> float | None:
    directives: dict[str, str] = {}
    for part in value.lower().split(","):
        name, _, argument = part.strip().partition("=")
        # Of a directive that occurs twice, the first counts (RFC 9111, section 4.2.1).
        directives.setdefault(name.strip(), argument.strip().strip('"'))
    # `no-cache="set-cookie"` is about that field only.
    if "no-store" in directives or directives.get("no-cache") == "":
        return 0.0
    age = directives.get("max-age")
    if age is not None:
        # An invalid lifetime makes a response stale (RFC 9111, section 4.2.1).
        return float(min(int(age[:12]), MAX_S)) if age.isdecimal() and age.isascii() else 0.0
    return 0.0 if "must-revalidate" in directives else None


def _until(expires: str, date: str) -> float | None:
    """Zero if `expires` is malformed (RFC 9111, section 5.3) or past; `None` without a date."""
    try:
        expiry = parsedate_to_datetime(expires)
    except (TypeError, ValueError):
        return 0.0
    try:
        lifetime = expiry - parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    return min(max(lifetime.total_seconds(), 0.0), float(MAX_S))

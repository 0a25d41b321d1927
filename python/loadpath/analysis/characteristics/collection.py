"""Characteristics of a collection of pages: distributions over pages, totals over resources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median

import msgspec

from loadpath.analysis.characteristics.page import (
    TYPES,
    Amount,
    Filters,
    PageCharacteristics,
    ResourceRecord,
    characterise_page,
)
from loadpath.analysis.characteristics.sources import Source

__all__ = [
    "METRICS",
    "REFRESH_AFTER_S",
    "Collection",
    "Distribution",
    "characterise",
    "critical_path_shares",
    "distribution",
    "quantile",
    "refresh_share",
    "shares_by_cause",
]

QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95}

REFRESH_AFTER_S = {
    "minute": 60.0,
    "hour": 3600.0,
    "12 hours": 43_200.0,
    "day": 86_400.0,
    "week": 604_800.0,
    "30 days": 2_592_000.0,
    "year": 31_536_000.0,
}
"""Times after which resources are asked whether they have to be fetched again (Figure 3.14)."""


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """A value over pages, or over other things that are counted: `n` of them."""

    name: str
    n: int
    mean: float
    least: float
    p10: float
    p25: float
    median: float
    p75: float
    p90: float
    p95: float
    most: float


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """Characteristics of several pages.

    Attributes
    ----------
    pages
        One a page, in the order in which they came.
    resources
        One a resource, page by page.
    """

    pages: list[PageCharacteristics]
    resources: list[ResourceRecord]

    def distributions(self) -> list[Distribution]:
        """Every metric of `METRICS` that some page has, over the pages."""
        found = []
        for name, metric in METRICS.items():
            values = [value for page in self.pages if (value := metric(page)) is not None]
            if values:
                found.append(distribution(name, values))
        return found

    def sizes_by_type(self) -> list[Distribution]:
        """Bytes of resources, all and by type (Figure 4.1)."""
        by_type = {"all": [float(r.bytes) for r in self.resources]} | {
            type: [float(r.bytes) for r in self.resources if r.type == type] for type in TYPES
        }
        return [distribution(type, sizes) for type, sizes in by_type.items() if sizes]

    def rtts(self) -> list[Distribution]:
        """Round-trip times in ms of all hosts of all pages, of CDNs and of others (Figure 4.6)."""
        hosts = [rtt for page in self.pages for rtt in page.rtts]
        groups = {
            "CDN": [rtt.rtt_ms for rtt in hosts if rtt.is_cdn],
            "origin": [rtt.rtt_ms for rtt in hosts if not rtt.is_cdn],
        }
        return [distribution(name, values) for name, values in groups.items() if values]

    def lifetimes_s(self) -> dict[str, list[float]]:
        """Stated lifetimes of responses, all and by type (Figure 3.13); empty without headers."""
        found = [one for page in self.pages for one in page.lifetimes or ()]
        groups: dict[str, list[float]] = {name: [] for name in ("all", *TYPES)}
        for one in found:
            if one.seconds is not None:
                groups["all"].append(one.seconds)
                groups[one.type].append(one.seconds)
        return {name: values for name, values in groups.items() if values}


def characterise(
    sources: Iterable[Source],
    *,
    filters: Filters | None = None,
    progress: Callable[[int], object] | None = None,
) -> Collection:
    """Count what pages are made of.

    Parameters
    ----------
    sources
        The pages.
    filters
        Which requests are advertisements.
    progress
        Called with the number of finished pages.

    >>> from loadpath.analysis.characteristics import read_sources
    >>> found = characterise(read_sources(["example:figure-3-1"]))
    >>> found.pages[0].total
    Amount(resources=4, bytes=31663, hosts=1)
    """
    pages: list[PageCharacteristics] = []
    resources: list[ResourceRecord] = []
    for source in sources:
        page, records = characterise_page(
            source.graph, filters=filters, rtts_ms=source.rtts_ms, headers=source.headers
        )
        pages.append(page)
        resources += records
        if progress is not None:
            progress(len(pages))
    return Collection(pages=pages, resources=resources)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least value that so large a share of the sorted values does not exceed.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    # As a cumulative distribution is read; rounded so that 0.95 of 20 is the 19th.
    rank = -int(-round(share * len(ordered), 9) // 1)
    return ordered[min(max(rank, 1), len(ordered)) - 1]


def distribution(name: str, values: Iterable[float]) -> Distribution:
    """Mean and quantiles of values, of which there must be one at least."""
    ordered = sorted(values)
    return Distribution(
        name=name,
        n=len(ordered),
        mean=fmean(ordered),
        least=ordered[0],
        most=ordered[-1],
        **{label: quantile(ordered, share) for label, share in QUANTILES.items()},
    )


def critical_path_shares(pages: Iterable[PageCharacteristics]) -> dict[str, list[float]]:
    """By kind of activity: its per cent of each page's critical path (Figure 4.8)."""
    found = [page.critical_path_ms for page in pages if sum(page.critical_path_ms.values()) > 0]
    kinds = dict.fromkeys(kind for path in found for kind in path)
    shares = {k: [100 * p.get(k, 0.0) / sum(p.values()) for p in found] for k in kinds}
    return dict(sorted(shares.items(), key=lambda item: -fmean(item[1])))


def shares_by_cause(pages: Iterable[PageCharacteristics], what: str) -> dict[str, list[float]]:
    """By kind of activity: per cent of each page's resources, or bytes, that it requested.

    `what` is "resources" or "bytes" (Figures 4.7(b) and 4.7(a)).
    """
    listed = [page for page in pages if getattr(page.total, what) > 0]
    kinds = dict.fromkeys(kind for page in listed for kind in page.requested_by)
    nothing = Amount()
    shares = {
        kind: [
            100 * getattr(page.requested_by.get(kind, nothing), what) / getattr(page.total, what)
            for page in listed
        ]
        for kind in kinds
    }
    return dict(sorted(shares.items(), key=lambda item: -fmean(item[1])))


def refresh_share(page: PageCharacteristics, after_s: float) -> float | None:
    """Per cent of a page's responses with a stated lifetime that are stale after a time."""
    ages = [one.seconds for one in page.lifetimes or () if one.seconds is not None]
    return 100 * sum(age < after_s for age in ages) / len(ages) if ages else None


def _percent(of: Callable[[PageCharacteristics], Amount | None], what: str) -> "Metric":
    def metric(page: PageCharacteristics) -> float | None:
        part, whole = of(page), getattr(page.total, what)
        return None if part is None or not whole else 100 * getattr(part, what) / whole

    return metric


def _median_rtt_ms(page: PageCharacteristics) -> float | None:
    return median(rtt.rtt_ms for rtt in page.rtts) if page.rtts else None


Metric = Callable[[PageCharacteristics], float | None]

METRICS: Mapping[str, Metric] = {
    "resources": lambda page: page.total.resources,
    "bytes": lambda page: page.total.bytes,
    "mean_resource_bytes": lambda page: (
        page.total.bytes / page.total.resources if page.total.resources else None
    ),
    "hosts": lambda page: page.total.hosts,
    "sites": lambda page: page.sites,
    "shards": lambda page: page.shards,
    "own_hosts": lambda page: page.own.hosts,
    "own_host_percent": _percent(lambda page: page.own, "hosts"),
    "own_resource_percent": _percent(lambda page: page.own, "resources"),
    "own_byte_percent": _percent(lambda page: page.own, "bytes"),
    "sharded_host_percent": _percent(lambda page: page.sharded, "hosts"),
    "sharded_resource_percent": _percent(lambda page: page.sharded, "resources"),
    "main_host_resource_percent": _percent(lambda page: page.main_host, "resources"),
    "main_host_byte_percent": _percent(lambda page: page.main_host, "bytes"),
    "largest_host_resource_percent": _percent(lambda page: page.largest_host, "resources"),
    "largest_host_byte_percent": _percent(lambda page: page.largest_host, "bytes"),
    "cdn_host_percent": _percent(lambda page: page.cdn, "hosts"),
    "cdn_resource_percent": _percent(lambda page: page.cdn, "resources"),
    "cdn_byte_percent": _percent(lambda page: page.cdn, "bytes"),
    "ad_resource_percent": _percent(lambda page: page.ads, "resources"),
    "ad_byte_percent": _percent(lambda page: page.ads, "bytes"),
    "iframes": lambda page: page.iframes,
    "frames": lambda page: page.frames,
    "critical_path_ms": lambda page: sum(page.critical_path_ms.values()) or None,
    "median_rtt_ms": _median_rtt_ms,
    "stale_after_a_day_percent": lambda page: refresh_share(page, REFRESH_AFTER_S["day"]),
}
"""Values of a page by name, with units; `None` where a page has none."""

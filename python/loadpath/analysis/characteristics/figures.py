"""Figures 3.13, 3.14 and 4.1 to 4.8 of the PCP thesis for any pages."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from loadpath.analysis.characteristics.collection import (
    METRICS,
    REFRESH_AFTER_S,
    Collection,
    critical_path_shares,
    quantile,
    refresh_share,
    shares_by_cause,
)
from loadpath.analysis.characteristics.page import TYPES, PageCharacteristics
from loadpath.analysis.figures import Figure, cdf, lines

__all__ = ["characteristic_figures"]

_MAIN_CAUSES = ("parse chunk", "script", "event", "timer", "style")
_MAIN_STEPS = ("resource", "script", "event", "timer", "style", "parse chunk")


def characteristic_figures(collection: Collection) -> list[Figure]:
    """Every figure for which the pages have numbers."""
    pages = collection.pages
    found = [_sizes(collection), *_pages(pages), _ads(pages)]
    for what, panel in (("bytes", "a"), ("resources", "b")):
        shares = shares_by_cause(pages, what)
        found.append(
            _cdf(
                f"figure-4-7{panel}",
                f"Share of a page's {what} by what requested them",
                f"Figure 4.7({panel})",
                {kind: shares[kind] for kind in _MAIN_CAUSES if kind in shares},
                "share_percent",
                "activity",
            )
        )
    shares = critical_path_shares(pages)
    found.append(
        _cdf(
            "figure-4-8",
            "Share of the critical path by activity",
            "Figure 4.8; recorded durations",
            {kind: shares[kind] for kind in _MAIN_STEPS if kind in shares},
            "share_percent",
            "activity",
        )
    )
    rtts = [rtt for page in pages for rtt in page.rtts]
    found.append(
        _cdf(
            "figure-4-6",
            "Round-trip times to hosts",
            "Figure 4.6",
            {
                "CDN": [rtt.rtt_ms for rtt in rtts if rtt.is_cdn],
                "origin": [rtt.rtt_ms for rtt in rtts if not rtt.is_cdn],
            },
            "rtt_ms",
            "host",
        )
    )
    lifetimes = collection.lifetimes_s()
    found.append(
        _cdf(
            "figure-3-13",
            "Freshness lifetimes that responses state",
            "Figure 3.13; lifetimes below a minute count as one second",
            {
                type: [max(1.0, seconds) for seconds in lifetimes[type]]
                for type in ("all", *TYPES)
                if type in lifetimes
            },
            "lifetime_s",
            "type",
            log_x=True,
        )
    )
    found.append(_refresh(pages))
    return [figure for figure in found if figure is not None]


def _cdf(
    name: str,
    title: str,
    source: str,
    samples: dict[str, list[float]],
    column: str,
    by: str,
    *,
    log_x: bool = False,
) -> Figure | None:
    samples = {label: values for label, values in samples.items() if values}
    if not samples:
        return None
    return cdf(
        name=name,
        title=title,
        caption=f"As recorded (observed); PCP thesis, {source}.",
        samples=samples,
        column=column,
        by=by,
        log_x=log_x,
    )


def _sizes(collection: Collection) -> Figure | None:
    # A logarithm has no zero.
    samples = {"all": [max(1.0, r.bytes) for r in collection.resources]} | {
        type: [max(1.0, r.bytes) for r in collection.resources if r.type == type] for type in TYPES
    }
    return _cdf(
        "figure-4-1",
        "Sizes of resources",
        "Figure 4.1; empty ones count as one byte",
        samples,
        "size_bytes",
        "type",
        log_x=True,
    )


def _pages(pages: Sequence[PageCharacteristics]) -> Iterable[Figure | None]:
    def values(name: str) -> list[float]:
        return [value for page in pages if (value := METRICS[name](page)) is not None]

    for name, title, source, metrics in (
        ("figure-4-2a", "Resources of a page", "Figure 4.2(a)", {"all": "resources"}),
        ("figure-4-2b", "Bytes of a page", "Figure 4.2(b)", {"all": "bytes"}),
        (
            "figure-4-2c",
            "Mean size of a page's resources",
            "Figure 4.2(c)",
            {"all": "mean_resource_bytes"},
        ),
        ("figure-4-3a", "Hosts of a page", "Figure 4.3(a)", {"hosts": "hosts", "sites": "sites"}),
        (
            "figure-4-3b",
            "Share of a page's resources from one host",
            "Figure 4.3(b)",
            {
                "host with most bytes": "largest_host_resource_percent",
                "host of the main document": "main_host_resource_percent",
            },
        ),
        (
            "figure-4-3c",
            "Share of the page's own hosts and of what they serve",
            "Figures 4.3(c) and 4.3(d)",
            {
                "hosts": "own_host_percent",
                "resources": "own_resource_percent",
                "bytes": "own_byte_percent",
            },
        ),
        ("figure-4-4b", "Iframes of a page", "Figure 4.4(b)", {"iframes": "iframes"}),
        (
            "figure-4-5",
            "Share of delivery networks, as far as names tell",
            "Figure 4.5",
            {"hosts": "cdn_host_percent", "bytes": "cdn_byte_percent"},
        ),
    ):
        column = next(iter(metrics.values()))
        yield _cdf(
            name,
            title,
            source,
            {label: values(metric) for label, metric in metrics.items()},
            "share_percent" if column.endswith("_percent") else column,
            "what",
        )


def _ads(pages: Sequence[PageCharacteristics]) -> Figure | None:
    metric = METRICS["ad_resource_percent"]
    shares = [share for page in pages if (share := metric(page)) is not None]
    return _cdf(
        "figure-4-4a",
        "Share of a page's resources that filter lists match",
        "Figure 4.4(a)",
        {"ads": shares, "others": [100 - share for share in shares]},
        "share_percent",
        "what",
    )


def _refresh(pages: Sequence[PageCharacteristics]) -> Figure | None:
    rows = []
    for label, after_s in REFRESH_AFTER_S.items():
        shares = sorted(s for page in pages if (s := refresh_share(page, after_s)) is not None)
        if shares:
            for name, of in _QUARTILES.items():
                rows.append((label, name, of(shares)))
    if not rows:
        return None
    return lines(
        name="figure-3-14",
        title="Resources that have to be fetched again",
        caption="Share of a page's responses with a stated lifetime that are stale after a time; "
        "over pages (observed). PCP thesis, Figure 3.14.",
        columns=("after", "over_pages", "stale_percent"),
        rows=rows,
        x="after",
        y="stale_percent",
        by="over_pages",
    )


_QUARTILES: dict[str, Callable[[Sequence[float]], float]] = {
    "lower quartile": lambda shares: quantile(shares, 0.25),
    "median": median,
    "upper quartile": lambda shares: quantile(shares, 0.75),
}

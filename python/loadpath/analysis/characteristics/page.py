"""What one page is made of: counts and sizes, hosts, who requested what, its critical path."""

from collections.abc import Iterable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from loadpath.analysis.characteristics.hosts import cdn_provider, site_of
from loadpath.errors import LoadpathError
from loadpath.graphs.critical_path import critical_path
from loadpath.graphs.graph import Activity, Graph, Kind
from loadpath.graphs.statistics import host_of, requested_by, served_by

__all__ = [
    "TYPES",
    "Amount",
    "Filters",
    "HostRtt",
    "Lifetime",
    "PageCharacteristics",
    "ResourceRecord",
    "characterise_page",
    "resource_type",
]

TYPES = ("text", "css", "javascript", "image", "other")
"""Types of resource, as Figure 4.1(b) of the PCP thesis has them; "text" is mostly HTML."""

_FONTS = ("font", "woff", "opentype", "truetype")
_DATA = ("json", "xml", "text/plain")


class Filters(Protocol):
    """Something that knows advertisements: `loadpath._core.AdFilters`."""

    def blocks(self, url: str, document_url: str, kind: str, method: str = "GET") -> str | None:
        """The rule that blocks a request, if one does."""


class Amount(msgspec.Struct):
    """Some of a page's resources."""

    resources: int = 0
    bytes: int = 0
    hosts: int = 0


class HostRtt(msgspec.Struct, frozen=True):
    """Least round-trip time that was measured to a host, in ms, and how."""

    host: str
    rtt_ms: float
    source: str
    is_cdn: bool


class Lifetime(msgspec.Struct, frozen=True):
    """Freshness lifetime that a response stated; `None` if its headers state none."""

    url: str
    type: str
    seconds: float | None


class ResourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that came over the network.

    Attributes
    ----------
    type
        One of `TYPES`.
    bytes
        Of the body, as the page graph has them.
    site
        Registrable domain of the host.
    requested_by
        Kind of activity whose completion made the browser ask, "nothing" of the root.
    before_load
        Part of what the load event waits for, or at least not requested after it.
    cdn
        Provider of the delivery network, "" if only the name says so, `None` if nothing does.
    ad_rule
        The filter rule that matches; `None` if none does or no lists were given.
    """

    page: str
    id: str
    url: str
    host: str
    site: str
    type: str
    mime_type: str
    bytes: int
    requested_by: str
    before_load: bool
    cdn: str | None
    ad_rule: str | None


class PageCharacteristics(msgspec.Struct, frozen=True, kw_only=True):
    """One page; amounts are of resources that came over the network, later ones included.

    Attributes
    ----------
    total
        All resources.
    sites
        Registrable domains among the hosts.
    own
        Hosts below the registrable domain of the main document, and what they serve.
    sharded
        Hosts that share a registrable domain with another host of the page, third parties' too.
    main_host, largest_host
        What the main document's host serves; what the host with most bytes serves.
    cdn
        Hosts of delivery networks as far as names tell.
    ads
        What the filter lists match; `None` without lists.
    by_type, requested_by
        All resources by type (`TYPES`) and by the kind of activity that requested them.
    documents, frames
        HTML documents in frames, the main one included; frames.
    critical_path_ms
        Recorded time on the critical path up to the load event by kind of activity.
    rtts
        Of the hosts, where the recording has them.
    lifetimes
        Of the responses, where the recording has headers; `None` if it has none.
    """

    page: str
    url: str
    total: Amount
    sites: int
    own: Amount
    sharded: Amount
    main_host: Amount
    largest_host: Amount
    cdn: Amount
    ads: Amount | None
    by_type: dict[str, Amount]
    requested_by: dict[str, Amount]
    documents: int
    frames: int
    critical_path_ms: dict[str, float]
    rtts: list[HostRtt]
    lifetimes: list[Lifetime] | None

    @property
    def shards(self) -> int:
        """Hosts that one host for each site would save (Figure 5.1 of the PCP thesis)."""
        return self.total.hosts - self.sites

    @property
    def iframes(self) -> int:
        """Documents in frames beside the main one."""
        return max(0, self.documents - 1)


def resource_type(mime_type: str) -> str:
    """One of `TYPES`, by parts of the name: servers write many variants.

    >>> [resource_type(m) for m in ("text/html", "application/x-javascript", "font/woff2")]
    ['text', 'javascript', 'other']
    """
    mime_type = mime_type.lower()
    if "html" in mime_type:
        return "text"
    if "css" in mime_type:
        return "css"
    if "javascript" in mime_type or "ecmascript" in mime_type:
        return "javascript"
    if mime_type.startswith("image/"):
        return "image"
    return "text" if mime_type.startswith("text/") else "other"


def characterise_page(
    graph: Graph,
    *,
    filters: Filters | None = None,
    rtts_ms: Mapping[str, tuple[float, str]] | None = None,
    headers: Iterable[tuple[str, str, float | None]] | None = None,
) -> tuple[PageCharacteristics, list[ResourceRecord]]:
    """Count what a page is made of.

    Parameters
    ----------
    graph
        The page graph.
    filters
        Which requests are advertisements.
    rtts_ms
        By host: least round-trip time and how it was measured.
    headers
        URL, MIME type and stated lifetime (s) of each response whose headers are known.

    Returns
    -------
    The characteristics, and a record for each resource in order of ids.
    """
    records = list(_records(graph, filters))
    main = host_of(str(graph.data["url"])) or ""
    by_host = _grouped(records, "host")
    hosts_of = {site: {r.host for r in group} for site, group in _grouped(records, "site").items()}
    largest = max(by_host.values(), key=lambda group: sum(r.bytes for r in group), default=[])
    chunks = (a for id, a in graph.activities.items() if graph.kinds[id] is Kind.DOWNLOAD)
    page = PageCharacteristics(
        page=graph.name,
        url=str(graph.data["url"]),
        total=_amount(records),
        sites=len({record.site for record in records}),
        own=_amount(r for r in records if r.site == site_of(main)),
        sharded=_amount(r for r in records if len(hosts_of[r.site]) > 1),
        main_host=_amount(by_host.get(main, [])),
        largest_host=_amount(largest),
        cdn=_amount(r for r in records if r.cdn is not None),
        ads=None if filters is None else _amount(r for r in records if r.ad_rule is not None),
        by_type={type: _amount(r for r in records if r.type == type) for type in TYPES},
        requested_by={
            kind: _amount(group)
            for kind, group in sorted(_grouped(records, "requested_by").items())
        },
        documents=len({chunk["resource"] for chunk in chunks}),
        frames=len(graph.frames),
        critical_path_ms=_critical_path_ms(graph),
        rtts=[
            HostRtt(host, rtt_ms, source, cdn_provider(host) is not None)
            for host, (rtt_ms, source) in sorted((rtts_ms or {}).items())
        ],
        lifetimes=None
        if headers is None
        else [Lifetime(url, resource_type(mime_type), age) for url, mime_type, age in headers],
    )
    return page, records


def _records(graph: Graph, filters: Filters | None) -> Iterable[ResourceRecord]:
    url = str(graph.data["url"])
    documents = {a["resource"] for a in graph.activities.values() if a["type"] == "download_chunk"}
    for id, activity in graph.activities.items():
        if graph.kinds[id] is not Kind.RESOURCE or served_by(activity) != "network":
            continue
        host = host_of(activity["url"]) or ""
        cause = requested_by(graph, id)
        yield ResourceRecord(
            page=graph.name,
            id=id,
            url=activity["url"],
            host=host,
            site=site_of(host),
            type=resource_type(activity.get("mime_type", "")),
            mime_type=activity.get("mime_type", ""),
            bytes=int(activity.get("size_bytes", 0)),
            requested_by=cause,
            before_load=id in graph.until_load,
            cdn=cdn_provider(host),
            ad_rule=None
            if filters is None or id == graph.root
            else filters.blocks(
                activity["url"],
                url,
                _request_kind(activity, cause, is_document=id in documents),
                activity.get("method", "GET"),
            ),
        )


def _request_kind(activity: Activity, cause: str, *, is_document: bool) -> str:
    """The kind of request as filter rules have it (`$script`, `$image`), as near as a graph tells.

    The graph has MIME types, not destinations: data that a script asked for count as
    XMLHttpRequest, HTML that no frame shows, too.
    """
    mime_type = str(activity.get("mime_type", "")).lower()
    path = urlsplit(activity["url"]).path.lower()
    if is_document:
        return "sub_frame"
    match resource_type(mime_type):
        case "css":
            return "stylesheet"
        case "javascript":
            return "script"
        case "image":
            return "image"
    if any(font in mime_type for font in _FONTS) or path.endswith((".woff", ".woff2", ".ttf")):
        return "font"
    if mime_type.startswith(("video/", "audio/")):
        return "media"
    if cause in ("script", "event", "timer") or any(data in mime_type for data in _DATA):
        return "xmlhttprequest"
    return "sub_frame" if "html" in mime_type else "other"


def _grouped(records: Iterable[ResourceRecord], field: str) -> dict[str, list[ResourceRecord]]:
    groups: dict[str, list[ResourceRecord]] = {}
    for record in records:
        groups.setdefault(getattr(record, field), []).append(record)
    return groups


def _amount(records: Iterable[ResourceRecord]) -> Amount:
    amount, hosts = Amount(), set()
    for record in records:
        amount.resources += 1
        amount.bytes += record.bytes
        hosts.add(record.host)
    amount.hosts = len(hosts)
    return amount


def _critical_path_ms(graph: Graph) -> dict[str, float]:
    try:
        return critical_path(graph).by_kind_ms
    except LoadpathError:
        # Nothing leads to the load event: a page that never got there.
        return {}

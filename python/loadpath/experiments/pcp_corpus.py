"""Sections 4.2 and 3.7.5 of the PCP thesis: what its pages are made of, counted again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from loadpath.analysis.characteristics import (
    Collection,
    Distribution,
    characterise,
    read_filters,
    read_sources,
)
from loadpath.analysis.characteristics.collection import (
    METRICS,
    critical_path_shares,
    quantile,
    shares_by_cause,
)
from loadpath.analysis.characteristics.figures import characteristic_figures
from loadpath.analysis.characteristics.page import TYPES
from loadpath.errors import CorpusError, hinted
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table

__all__ = ["PRESET"]

KB, MB = 1e3, 1e6
TRACKING_PIXEL_BYTES = (40, 44)
"""Images of one pixel (section 4.2.1)."""


@dataclass(frozen=True)
class Statement:
    """A number that the text of the thesis states, and how to get ours."""

    section: str
    what: str
    stated: str
    ours: Callable[[Collection], float | None]


def _over_pages(metric: str, of: Callable[[Sequence[float]], float]) -> "Ours":
    def ours(found: Collection) -> float | None:
        values = sorted(v for page in found.pages if (v := METRICS[metric](page)) is not None)
        return of(values) if values else None

    return ours


def _sizes(of: Callable[[Sequence[float]], float]) -> "Ours":
    return lambda found: of(sorted(float(r.bytes) for r in found.resources))


def _at_most(limit: float) -> Callable[[Sequence[float]], float]:
    return lambda values: 100 * sum(v <= limit for v in values) / len(values)


def _of_page(name: str, metric: str) -> "Ours":
    def ours(found: Collection) -> float | None:
        return next((METRICS[metric](p) for p in found.pages if p.page.startswith(name)), None)

    return ours


def _cause(kind: str, what: str) -> "Ours":
    def ours(found: Collection) -> float:
        shares = shares_by_cause(found.pages, what).get(kind, [0.0])
        return fmean(shares)

    return ours


def _step(kind: str) -> "Ours":
    return lambda found: fmean(critical_path_shares(found.pages).get(kind, [0.0]))


def _quantile(share: float) -> Callable[[Sequence[float]], float]:
    return lambda values: quantile(values, share)


def _pixels(found: Collection) -> float:
    low, high = TRACKING_PIXEL_BYTES
    images = [r.bytes for r in found.resources if r.type == "image"]
    return 100 * sum(low <= size <= high for size in images) / len(images)


Ours = Callable[[Collection], float | None]

STATEMENTS: Sequence[Statement] = (
    Statement("4.2.1", "median size of a resource (kB)", "about 6", lambda f: _kb(f)),
    Statement("4.2.1", "... of one that is not empty (kB)", "", lambda f: _kb(f, least=1)),
    Statement("4.2.1", "resources below 80 kB (%)", "nearly 90", _sizes(_at_most(80 * KB))),
    Statement("4.2.1", "images of 40 to 44 bytes (%)", "an excess", _pixels),
    Statement(
        "4.2.1",
        "sites with up to 100 resources (%)",
        "about 50",
        _over_pages("resources", _at_most(100)),
    ),
    Statement(
        "4.2.1", "sites with up to 200 resources (%)", "90", _over_pages("resources", _at_most(200))
    ),
    Statement("4.2.1", "most resources of a site", "766", _over_pages("resources", max)),
    Statement(
        "4.2.1",
        "sites with a mean resource size up to 100 kB (%)",
        "about 95",
        _over_pages("mean_resource_bytes", _at_most(100 * KB)),
    ),
    Statement(
        "4.2.1", "sites with up to 3 MB (%)", "nearly 50", _over_pages("bytes", _at_most(3 * MB))
    ),
    Statement(
        "4.2.1", "sites with up to 10 MB (%)", "about 95", _over_pages("bytes", _at_most(10 * MB))
    ),
    Statement("4.2.1", "largest site (MB)", "30", _over_pages("bytes", lambda v: max(v) / MB)),
    Statement("4.2.2", "median number of hosts", "20", _over_pages("hosts", median)),
    Statement("4.2.2", "fewest hosts", "1", _over_pages("hosts", min)),
    Statement("4.2.2", "most hosts (uk.businessinsider.com)", "127", _over_pages("hosts", max)),
    Statement(
        "4.2.2",
        "median share of resources from the host with most bytes (%)",
        "less than 5",
        _over_pages("largest_host_resource_percent", median),
    ),
    Statement(
        "4.2.2",
        "... from the main document's host (%)",
        "",
        _over_pages("main_host_resource_percent", median),
    ),
    Statement(
        "4.2.2",
        "largest share of resources from the host with most bytes (%)",
        "at most 20",
        _over_pages("largest_host_resource_percent", max),
    ),
    Statement(
        "4.2.2",
        "own hosts of uk.businessinsider.com",
        "6",
        _of_page("uk.businessinsider.com", "own_hosts"),
    ),
    Statement(
        "4.2.2",
        "median share of own hosts (%)",
        "a small proportion",
        _over_pages("own_host_percent", median),
    ),
    Statement(
        "4.2.2",
        "median share of resources from own hosts (%)",
        "most",
        _over_pages("own_resource_percent", median),
    ),
    Statement(
        "4.2.2",
        "... from hosts that share a site with others (%)",
        "",
        _over_pages("sharded_resource_percent", median),
    ),
    Statement(
        "4.2.2",
        "sites without advertisements (%)",
        "30",
        _over_pages("ad_resource_percent", _at_most(0.0)),
    ),
    Statement(
        "4.2.2",
        "advertisements among the resources of youtube.com (%)",
        "50",
        _of_page("www.youtube.com_", "ad_resource_percent"),
    ),
    Statement("4.2.2", "median number of iframes", "2", _over_pages("iframes", median)),
    Statement("4.2.2", "most iframes", "35", _over_pages("iframes", max)),
    Statement(
        "4.2.3",
        "median share of CDN hosts (%)",
        "33 or less",
        _over_pages("cdn_host_percent", median),
    ),
    Statement(
        "4.2.3",
        "median share of bytes from CDNs (%)",
        "nearly 70",
        _over_pages("cdn_byte_percent", median),
    ),
    Statement(
        "4.2.4",
        "resources that parsing requests, mean over sites (%)",
        "the largest",
        _cause("parse chunk", "resources"),
    ),
    Statement("4.2.4", "... that scripts request (%)", "second", _cause("script", "resources")),
    Statement(
        "4.2.4", "... that event handlers request (%)", "third", _cause("event", "resources")
    ),
    Statement(
        "4.2.4", "... that timers request (%)", "among the last", _cause("timer", "resources")
    ),
    Statement(
        "4.2.4", "... that styles request (%)", "among the last", _cause("style", "resources")
    ),
    Statement(
        "4.2.4",
        "network on the critical path, mean over sites (%)",
        "the largest",
        _step("resource"),
    ),
    Statement("4.2.4", "scripts on it (%)", "largest computation", _step("script")),
    Statement("4.2.4", "event handlers on it (%)", "second computation", _step("event")),
    Statement("4.2.4", "timers on it (%)", "not to be discounted", _step("timer")),
    Statement("4.2.4", "parsing on it (%)", "minimal", _step("parse chunk")),
)


def _kb(found: Collection, least: int = 0) -> float:
    return median(r.bytes for r in found.resources if r.bytes >= least) / KB


def _run(options: PresetOptions) -> Result:
    if options.corpus is None:
        raise hinted(
            CorpusError("this experiment needs the page corpus"),
            "name its folder with --corpus or LOADPATH_CORPUS",
        )
    filters = read_filters(options.filters)
    found = characterise(read_sources([options.corpus]), filters=filters)
    medians = {
        type: median([r.bytes for r in found.resources if r.type == type] or [0]) for type in TYPES
    }
    order = sorted(medians, key=lambda type: -medians[type])
    notes = [
        "median sizes: "
        + ", ".join(f"{type} {medians[type] / KB:.1f} kB" for type in order)
        + "; thesis: CSS, JavaScript, images, text, others in the middle (Figure 4.1(b))",
        "the share of one host cannot be as stated: the largest of n hosts serves 1/n or more, "
        "and a quarter of the sites have 9 hosts or fewer",
        "cache lifetimes (section 3.7.5) and round-trip times (Figure 4.6) are not in the corpus",
    ]
    if filters is None:
        notes.append("advertisements were not counted: --filters LIST.txt")
    return Result(
        title="PCP thesis, section 4.2: its pages counted again (observed in its corpus)",
        columns=["section", "what", "stated", "ours"],
        rows=[[s.section, s.what, s.stated or None, s.ours(found)] for s in STATEMENTS],
        notes=notes,
        tables=[
            Table(
                title=f"Distributions over {len(found.pages)} pages",
                columns=list(Distribution.__struct_fields__),
                rows=[
                    [getattr(one, field) for field in one.__struct_fields__]
                    for one in found.distributions()
                ],
            )
        ],
        figures=characteristic_figures(found),
        settings={
            "pages": len(found.pages),
            "resources": len(found.resources),
            "filter lists": ", ".join(path.name for path in options.filters) or None,
        },
    )


PRESET = Preset("pcp-corpus", "what its pages are made of, thesis section 4.2", _run)

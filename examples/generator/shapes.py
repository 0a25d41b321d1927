"""The fifteen page shapes of Table I of Manzoor, Sadre, Drago and Cerdà-Alabern, "Is There a Case
for Parallel Connections with Modern Web Protocols?", IFIP Networking 2018.

The table gives the number of objects of each type and the size of the page; the study clones the
pages onto one server. A kB has 1000 bytes.
"""

from __future__ import annotations

from .measured import MEAN_KB
from .page import Iframe, Image, Other, Page, Script, Style, Tag
from .sizes import apportion

SOURCE = (
    "synthetic: Manzoor et al. 2018, Table I, {site}; only object counts and the page size "
    "are published: sizes in proportion to the mean of their type on recorded pages, equal within "
    "a type; style sheets, scripts, images, other objects, then iframes (the further HTML), all "
    "found by the parser, tags evenly spaced in the document, one host"
)

# Table I: site, objects (HTML, CSS, JS, image, other), size in kB.
TABLE_1 = [
    ("Baidu", (1, 1, 1, 6, 1), 50),
    ("Google", (2, 1, 3, 5, 1), 56),
    ("Live", (2, 2, 2, 2, 0), 262),
    ("Twitter", (6, 1, 4, 2, 3), 421),
    ("Wikipedia", (1, 1, 2, 20, 1), 441),
    ("Reddit", (4, 2, 5, 26, 2), 470),
    ("Yahoo", (16, 13, 5, 48, 4), 839),
    ("VK", (4, 1, 14, 3, 1), 920),
    ("Taobao", (2, 2, 7, 38, 4), 1_320),
    ("Instagram", (3, 1, 7, 25, 1), 1_409),
    ("QQ", (15, 6, 19, 115, 6), 1_728),
    ("Sohu", (13, 11, 33, 167, 4), 2_056),
    ("YouTube", (8, 3, 5, 113, 20), 2_911),
    ("Facebook", (1, 1, 8, 123, 1), 3_560),
    ("Amazon", (5, 2, 14, 41, 2), 3_723),
]


def pages() -> list[Page]:
    """One page for each row."""
    return [_page(site, counts, size_kb * 1000) for site, counts, size_kb in TABLE_1]


def _page(site: str, counts: tuple[int, int, int, int, int], size_bytes: int) -> Page:
    html, css, script, image, other = counts
    origin = f"https://{site.lower()}.example"
    # In document order; the iframes, which are the HTML objects after the first, come last.
    kinds: list[tuple[type[Tag], str, str, int]] = [
        (Style, "css", "css", css),
        (Script, "script", "js", script),
        (Image, "image", "jpg", image),
        (Other, "other", "bin", other),
        (Iframe, "html", "html", html - 1),
    ]
    tags = [
        (tag, kind, f"{origin}/{n}.{suffix}")
        for tag, kind, suffix, count in kinds
        for n in range(1, count + 1)
    ]
    weights = [MEAN_KB["html"], *(MEAN_KB[kind] for _, kind, _ in tags)]
    html_bytes, *sizes = apportion(size_bytes, weights)
    return Page(
        name=f"shape-{site.lower()}",
        title=f"Page shape: {site}, {sum(counts)} objects, {size_bytes // 1000} kB",
        source=SOURCE.format(site=site),
        url=f"{origin}/",
        html_bytes=html_bytes,
        tags=[tag(size, url) for size, (tag, _, url) in zip(sizes, tags, strict=True)],
    )

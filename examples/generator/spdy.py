"""Pages A, B and C of section 5.3.2 of White, Mule and Rice, "Analysis of SPDY and TCP Initcwnd"
(draft-white-httpbis-spdy-analysis-00, 2012).

Section 5.3.2.1 has three server configurations: all resources on one server, or divided equally
over two or four; here in turn, in document order. A kilobyte has 1000 bytes, which agrees with the
rounded totals given.
"""

from __future__ import annotations

from .page import Image, Page, Script, Tag
from .sizes import logarithmic, mixed

SOURCE = (
    "synthetic: draft-white-httpbis-spdy-analysis-00, section 5.3.2, Page {page}, {servers}; "
    "structure not published: files found by the parser, tags evenly spaced in the document; {more}"
)

# Only page B's sizes are said to be about log-uniform; the same curve gives the published standard
# deviation of pages A and C too.
IMAGE_SIZES = "image sizes log-uniform but for the bend that gives the published mean"

# A file of the page: its kind, its name, its size in bytes.
File = tuple[type[Tag], str, int]


def pages(servers: int = 1) -> list[Page]:
    """The three pages, divided over this many servers (1, 2 and 4 in the study)."""
    return [_page_a(servers), _page_b(servers), _page_c(servers)]


def _page_a(servers: int) -> Page:
    # "102 total resources, with a total page size of 369 KB", "1 HTML file: 12.8 KB",
    # "1 JavaScript Library (jquery.js): 94.5 KB",
    # "100 JPEG images: min/mean/max/stddev size = 1.3/2.6/5.5/1.2 KB"
    html_bytes, jquery_bytes = 12_800, 94_500
    sizes = logarithmic(100, 1_300, 5_500, 369_000 - html_bytes - jquery_bytes)
    files: list[File] = [(Script, "jquery.js", jquery_bytes), *_images(sizes, ["jpg"])]
    more = f"jquery.js comes first, as a plain script; {IMAGE_SIZES}"
    return _page("a", "a script and 100 small images", html_bytes, files, more, servers)


def _page_b(servers: int) -> Page:
    # "101 total resources, with a total page size of 1.4 MB", "1 HTML file: 8.2 KB",
    # "100 JPEG/PNG/GIF images: min/mean/max/stddev size = 46B/14KB/103KB/24KB",
    # "Approximately log-uniform size distribution"
    sizes = logarithmic(100, 46, 103_000, 100 * 14_000)
    files = _images(sizes, ["jpg", "png", "gif"])
    return _page("b", "100 images of mixed size", 8_200, files, IMAGE_SIZES, servers)


def _page_c(servers: int) -> Page:
    # "11 total resources, with a total page size of 3.0 MB", "1 HTML file: 0.8 KB",
    # "10 JPEG images: min/mean/max/stddev size = 298/302/310/4 KB"
    sizes = logarithmic(10, 298_000, 310_000, 10 * 302_000)
    return _page("c", "10 large images", 800, _images(sizes, ["jpg"]), IMAGE_SIZES, servers)


def _images(sizes: list[int], suffixes: list[str]) -> list[File]:
    return [
        (Image, f"{n}.{suffixes[n % len(suffixes)]}", size)
        for n, size in enumerate(mixed(sizes), start=1)
    ]


def _page(
    letter: str, title: str, html_bytes: int, files: list[File], more: str, servers: int
) -> Page:
    count = "1 server" if servers == 1 else f"{servers} servers"
    name = f"spdy-page-{letter}"
    if servers > 1:
        name += f"-{servers}-servers"
    # The document is the first resource, on the first server.
    origins = [f"https://server{n + 1}.example" for n in range(servers)]
    return Page(
        name=name,
        title=f"SPDY study, page {letter.upper()}: {title}, {count}",
        source=SOURCE.format(page=letter.upper(), servers=count, more=more),
        url=f"{origins[0]}/",
        html_bytes=html_bytes,
        tags=[
            tag(size, f"{origins[n % servers]}/{file}")
            for n, (tag, file, size) in enumerate(files, start=1)
        ],
    )

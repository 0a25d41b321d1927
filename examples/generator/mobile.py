"""The five synthetic pages of section VII of Goel, Steiner, Wittie, Ludin and Flack,
"Domain-Sharding for Faster HTTP/2 in Lossy Cellular Networks".

They have no third-party content (section VII, second paragraph): one host. A kilobyte has 1000
bytes, as in the section's "10 segments, that is 14.6 KB" of 1460 bytes. Objects are taken to be
images; the section says so of the first page only ("400 KB of image data").
"""

from __future__ import annotations

from .page import Image, Page
from .sizes import even, interleaved, mixed

SOURCE = (
    "synthetic: Goel et al., Domain-Sharding for Faster HTTP/2 in Lossy Cellular Networks, "
    "section VII, {which} webpage; structure not published: all objects are images found by the "
    "parser, tags evenly spaced in the document{more}"
)
# The section gives the document's size for the first two pages only, 38 KB with 365 objects and
# 10 KB with 10; 136 objects lie on the straight line between them at 19.9 KB.
HTML_BYTES_OF_136 = 20_000
MORE_OF_136 = (
    ", which has 20 KB (by interpolation between the first two pages); sizes chosen within the "
    "published ranges to make up the published total; large objects spread evenly among the small"
)


ORIGIN = "https://mobile.example"
LARGEST_BYTES = 620_000


def pages() -> list[Page]:
    """Names give the number of objects or the total size."""
    # "three large objects (ranging from 30 KB to 620 KB in size) and 133 small objects (ranging
    # from 20 B to 5 KB in size)": small ones in equal steps. Were one large object of 30 KB, the
    # page would stay short of 2 MB even with all small ones at 5 KB; so two are at the upper end,
    # and the third makes up the total.
    small = even(133, 20, 133 * (20 + 5_000) // 2)
    third = 2_000_000 - HTML_BYTES_OF_136 - 2 * LARGEST_BYTES - sum(small)
    return [
        # "365 objects of size 1 KB each, the HTML document size of about 38 KB"
        _page("mobile-365-small", "365 objects of 1 KB", "first", 38_000, [1_000] * 365),
        # "10 large objects of size 435 KB each, the HTML document size of about 10 KB"
        _page("mobile-10-large", "10 objects of 435 KB", "second", 10_000, [435_000] * 10),
        _page_of_136("2mb", "third", [LARGEST_BYTES, LARGEST_BYTES, third], small),
        # "of size 8 MB, with 12 large objects and 124 small objects"
        _page_of_136("8mb", "fourth", [LARGEST_BYTES] * 12, _small(8_000_000, 12, 124)),
        # "of size 12 MB, with 18 large objects and 118 small objects"
        _page_of_136("12mb", "fifth", [LARGEST_BYTES] * 18, _small(12_000_000, 18, 118)),
    ]


def _small(total_bytes: int, large: int, small: int) -> list[int]:
    """What ``large`` objects of the largest size leave of the total, in equal steps from 1 KB.

    The pages' objects are "in the range of 1 KB to 620 KB", and such totals need the upper end.
    """
    return even(small, 1_000, total_bytes - HTML_BYTES_OF_136 - large * LARGEST_BYTES)


def _page_of_136(total: str, which: str, large: list[int], small: list[int]) -> Page:
    title = f"{len(large)} large and {len(small)} small objects, {total[:-2]} MB"
    sizes = interleaved(large, mixed(small))
    return _page(f"mobile-{total}", title, which, HTML_BYTES_OF_136, sizes, MORE_OF_136)


def _page(
    name: str, title: str, which: str, html_bytes: int, sizes: list[int], more: str = ""
) -> Page:
    return Page(
        name=name,
        title=f"Mobile page: {title}",
        source=SOURCE.format(which=which, more=more),
        url=f"{ORIGIN}/",
        html_bytes=html_bytes,
        tags=[Image(size, f"{ORIGIN}/{n}.jpg") for n, size in enumerate(sizes, start=1)],
    )

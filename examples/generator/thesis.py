"""The example page of Figure 3.1 of the PCP thesis: Salameh, "Towards Faster Web Page Loads Over
Multiple Network Paths", UCL 2018. Section 3.5.1 describes its graph (Figure 3.6).
"""

from __future__ import annotations

from .measured import MEDIAN_BYTES
from .page import AfterLoad, Image, InlineScript, Page, Script, Style

# Bytes of the figure's HTML, counted on its text: up to </script> (line 20), to the end of the
# <link> tag (line 23), to that of <script src> (line 27), to the end of the document. Figure 3.6
# labels its chunks with their sizes, but those are not legible.
CHUNK_BYTES = (458, 100, 119, 86)
# The text between <script> and </script>, lines 3 to 19.
INLINE_SCRIPT_BYTES = 421
# Delay of the timer: setTimeout(downloadImage, 10) in line 14.
TIMEOUT_MS = 10.0

ORIGIN = "https://figure-3-1.example"


def pages() -> list[Page]:
    """One page, with the file names of the figure."""
    return [
        Page(
            name="figure-3-1",
            title="Example page of the PCP thesis: scripts, a style sheet, a timer after load",
            source="synthetic: PCP thesis, Figure 3.1 and section 3.5.1; HTML bytes counted on the "
            "figure; sizes of the other files and computation times not published: medians of "
            "recorded pages; handlers take no time",
            url=f"{ORIGIN}/example.html",
            html_bytes=sum(CHUNK_BYTES),
            chunk_bytes=CHUNK_BYTES,
            tags=[
                InlineScript(INLINE_SCRIPT_BYTES),
                Style(MEDIAN_BYTES["css"], f"{ORIGIN}/theme.css"),
                Script(MEDIAN_BYTES["script"], f"{ORIGIN}/image_create_sea_append.js"),
            ],
            after_load=AfterLoad(TIMEOUT_MS, Image(MEDIAN_BYTES["image"], f"{ORIGIN}/rainbow.jpg")),
        )
    ]

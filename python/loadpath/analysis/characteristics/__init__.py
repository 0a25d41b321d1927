"""What pages are made of: sections 4.2 and 3.7.5 of the PCP thesis for any pages.

`read_sources` reads pages, `characterise` counts; tables, figures and comparisons start from the
`Collection` that comes out.
"""

from loadpath.analysis.characteristics.collection import (
    METRICS,
    Collection,
    Distribution,
    characterise,
    distribution,
)
from loadpath.analysis.characteristics.page import (
    TYPES,
    Amount,
    PageCharacteristics,
    ResourceRecord,
    characterise_page,
    resource_type,
)
from loadpath.analysis.characteristics.sources import Source, read_filters, read_sources

__all__ = [
    "METRICS",
    "TYPES",
    "Amount",
    "Collection",
    "Distribution",
    "PageCharacteristics",
    "ResourceRecord",
    "Source",
    "characterise",
    "characterise_page",
    "distribution",
    "read_filters",
    "read_sources",
    "resource_type",
]

"""Page graphs as pages that a real browser loads."""

from loadpath.testbed.synthetic.archive import (
    MOST_BYTES,
    Scheme,
    SyntheticPage,
    synthesise,
    synthetic_archive,
)
from loadpath.testbed.synthetic.plan import (
    Approximation,
    ApproximationCount,
    approximation_counts,
)

__all__ = [
    "MOST_BYTES",
    "Approximation",
    "ApproximationCount",
    "Scheme",
    "SyntheticPage",
    "approximation_counts",
    "synthesise",
    "synthetic_archive",
]

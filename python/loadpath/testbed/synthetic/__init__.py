"""Page graphs as pages that a real browser loads."""

from loadpath.testbed.synthetic.archive import SyntheticPage, synthesise, synthetic_archive
from loadpath.testbed.synthetic.plan import Approximation

__all__ = ["Approximation", "SyntheticPage", "synthesise", "synthetic_archive"]

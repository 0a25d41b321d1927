"""What would make a page load faster: changes tried in simulation, alone and together."""

from loadpath.experiments.advice.advise import AdviceOptions, advise
from loadpath.experiments.advice.model import Advice, Combination, Gain, Item, LeftOut
from loadpath.experiments.advice.tables import markdown, network_rows, ranked_rows
from loadpath.experiments.advice.write import write_advice

__all__ = [
    "Advice",
    "AdviceOptions",
    "Combination",
    "Gain",
    "Item",
    "LeftOut",
    "advise",
    "markdown",
    "network_rows",
    "ranked_rows",
    "write_advice",
]

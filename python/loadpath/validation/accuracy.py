"""How far predictions are from measurements."""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import msgspec
import numpy as np
from scipy import stats

from loadpath.testbed.load import Http, Load
from loadpath.validation.cells import ValidationNetwork
from loadpath.validation.predict import Prediction

__all__ = [
    "Accuracy",
    "CellResult",
    "ResourceTimes",
    "accuracy",
    "bootstrap_interval",
    "halves",
    "resource_times",
]

RESAMPLES = 2000
CONFIDENCE = 0.95
WITHIN = 0.10


class ResourceTimes(msgspec.Struct, frozen=True):
    """When the response to a URL was complete, medians."""

    url: str
    measured_ms: float
    predicted_ms: float


class CellResult(msgspec.Struct, kw_only=True):
    """A cell in both worlds."""

    page: str
    held_out: bool
    network: ValidationNetwork
    http: Http
    measured: dict[int, float]
    """Load times that count, ms, by their runs, in order."""
    rejected: int
    """Loads that do not."""
    prediction: Prediction | None
    resources: list[ResourceTimes] = []
    lantern_ms: float | None = None
    problem: str = ""

    @property
    def measured_ms(self) -> list[float]:
        """Loads that count."""
        return list(self.measured.values())

    @property
    def median_ms(self) -> float | None:
        """What the cell's loads take."""
        return median(self.measured_ms) if self.measured_ms else None

    @property
    def interval_ms(self) -> tuple[float, float] | None:
        """Of the median."""
        return bootstrap_interval(self.measured_ms)

    @property
    def predicted_ms(self) -> float | None:
        """By simulation."""
        return None if self.prediction is None else self.prediction.load_ms

    @property
    def same_runs_ms(self) -> float | None:
        """By simulation of the runs that were measured, which lose the same packets."""
        return None if self.prediction is None else self.prediction.same_runs_ms(self.measured)

    @property
    def pairs_ms(self) -> list[tuple[float | None, float]]:
        """Predicted and measured times of single loads."""
        if self.prediction is None:
            return []
        predicted = self.prediction.loads_ms
        return [
            (predicted[run], load_ms)
            for run, load_ms in self.measured.items()
            if run < len(predicted)
        ]

    @property
    def pcp_ms(self) -> float | None:
        """By simulation with the thesis's defaults."""
        return None if self.prediction is None else self.prediction.pcp_ms

    def error(self, predicted_ms: float | None) -> float | None:
        """Of a prediction, as a fraction of what was measured."""
        measured = self.median_ms
        if measured is None or predicted_ms is None:
            return None
        return predicted_ms / measured - 1

    def inside(self, predicted_ms: float | None) -> bool | None:
        """Whether a prediction lies in the interval of the measured median."""
        interval = self.interval_ms
        if interval is None or predicted_ms is None:
            return None
        return interval[0] <= predicted_ms <= interval[1]

    @property
    def half_inside(self) -> bool | None:
        """Whether the median of every other load lies in the interval of those between.

        That is what the loads say of themselves; None of fewer than six.
        """
        if len(self.measured_ms) < 6:
            return None
        found, interval = halves(self.measured_ms), bootstrap_interval(self.measured_ms[1::2])
        if found is None or interval is None:
            return None
        return interval[0] <= found[0] <= interval[1]


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Errors over cells; fractions."""

    cells: int
    median_absolute: float
    mean_absolute: float
    """MAPE."""
    bias: float
    """Median of the errors with their signs."""
    largest: float
    spearman: float | None
    """Between predicted and measured times; None of fewer than three cells."""
    within: float
    """Share of the cells with an error of at most 10 %."""


def accuracy(pairs: Iterable[tuple[float | None, float | None]]) -> Accuracy | None:
    """Errors of pairs of predicted and measured times; None without any.

    >>> found = accuracy([(110.0, 100.0), (190.0, 200.0), (300.0, 300.0)])
    >>> found.median_absolute, round(found.mean_absolute, 3), found.spearman
    (0.050000000000000044, 0.05, 1.0)
    """
    known = [(p, m) for p, m in pairs if p is not None and m is not None]
    if not known:
        return None
    errors = [predicted / measured - 1 for predicted, measured in known]
    absolute = [abs(error) for error in errors]
    spearman = None
    if len(known) >= 3:
        predicted, measured = zip(*known, strict=True)
        if len(set(predicted)) > 1 and len(set(measured)) > 1:
            spearman = round(float(stats.spearmanr(predicted, measured).statistic), 9)
    return Accuracy(
        cells=len(known),
        median_absolute=median(absolute),
        mean_absolute=fmean(absolute),
        bias=median(errors),
        largest=max(absolute),
        spearman=spearman,
        within=fmean(error <= WITHIN for error in absolute),
    )


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Percentile interval of the median, 95 %; None of fewer than three values.

    The same values give the same interval.

    >>> bootstrap_interval([5.0, 1.0, 3.0, 2.0, 4.0])
    (1.0, 5.0)
    """
    if len(values) < 3:
        return None
    samples = np.random.default_rng(0).choice(
        np.asarray(values, dtype=float), (RESAMPLES, len(values))
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.median(samples, axis=1), [tail, 1 - tail])
    return float(low), float(high)


def halves(values: Sequence[float]) -> tuple[float, float] | None:
    """Medians of every other load, and of those between: what a perfect prediction could do."""
    if len(values) < 2:
        return None
    return median(values[::2]), median(values[1::2])


def resource_times(loads: Sequence[Load], prediction: Prediction) -> list[ResourceTimes]:
    """Responses that were complete before the load event, measured in most loads and predicted."""
    ends: dict[str, list[float]] = {}
    for load in loads:
        seen: set[str] = set()
        for each in load.requests:
            if each.url in seen or each.cached or each.error is not None or each.end_ms is None:
                continue
            seen.add(each.url)
            if load.load_ms is not None and each.end_ms <= load.load_ms:
                ends.setdefault(each.url, []).append(each.end_ms)
    return [
        ResourceTimes(url, median(times), prediction.resources_ms[url])
        for url, times in ends.items()
        if url in prediction.resources_ms and 2 * len(times) > len(loads) and median(times) > 0
    ]

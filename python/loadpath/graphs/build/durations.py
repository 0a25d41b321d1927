"""How long computations take when nobody looks: medians over the timing passes.

The structure pass runs with a debugger and a full trace, which slows scripts down; what ran is
taken from it, how long from passes that record little.
"""

from collections import defaultdict
from statistics import median

from loadpath.graphs.build.computations import Computation
from loadpath.graphs.build.recording import Recording

__all__ = ["Durations"]

Key = tuple[str, str, int, int]


class Durations:
    """Durations of computations and parsing, by what tells them apart in any pass."""

    def __init__(self, passes: list[Recording]) -> None:
        self._runs: dict[tuple[Key, int], list[float]] = defaultdict(list)
        self._parsing: dict[str, list[float]] = defaultdict(list)
        self.passes = len(passes)
        for recording in passes:
            for (key, number), computation in numbered(recording):
                self._runs[key, number].append(computation.duration)
            for url, total in parsing(recording).items():
                self._parsing[url].append(total)

    def of(self, key: Key, number: int) -> float | None:
        """Median duration in microseconds of a key's n-th run, if most passes had it."""
        found = self._runs.get((key, number), [])
        return median(found) if found and 2 * len(found) >= self.passes else None

    def deviations(self, least_ms: float, most_ms: float) -> list[float]:
        """By what part each measured duration differs from its median, of medians in a range."""
        found = []
        for durations in (*self._runs.values(), *self._parsing.values()):
            middle = median(durations)
            if len(durations) == self.passes and least_ms <= middle / 1000 < most_ms:
                found += [duration / middle - 1 for duration in durations]
        return found

    def parsing(self, url: str) -> float | None:
        """Median time in microseconds that parsing the documents of a URL took."""
        found = self._parsing.get(url)
        return median(found) if found else None


def key_of(computation: Computation) -> Key:
    """Kind and place of the code, as every pass sees them."""
    data = computation.slice.data
    url = str(data.get("url") or data.get("styleSheetUrl") or "")
    if computation.kind == "timer":
        return "timer", computation.traced_url, *computation.traced_position
    if not url and computation.kind == "event":
        return computation.slice.name, computation.traced_url, *computation.traced_position
    return computation.kind, url, *computation.traced_position


def numbered(recording: Recording) -> list[tuple[tuple[Key, int], Computation]]:
    """The computations with their keys, numbered among their likes in order of starts."""
    counts: dict[Key, int] = defaultdict(int)
    result = []
    for computation in recording.computations():
        key = key_of(computation)
        result.append(((key, counts[key]), computation))
        counts[key] += 1
    return result


def parsing(recording: Recording) -> dict[str, float]:
    """Microseconds of parsing by document URL."""
    totals: dict[str, float] = defaultdict(float)
    for thread in recording.threads:
        for work in thread.work:
            if work.kind == "parse":
                totals[work.url] += work.duration
    return totals

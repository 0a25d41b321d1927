"""Where the HTML view draws each activity.

Every frame is a band of rows. Along the other axis there are two layouts: by time, as the recording
has it, and by order, the number of activities on the longest chain before.
"""

from dataclasses import dataclass

from loadpath.graphs.graph import Graph, Kind

__all__ = ["Place", "order_layout", "time_layout"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an activity is drawn.

    Attributes
    ----------
    row
        In the band of its frame, from 0.
    start, end
        Milliseconds of the recording, or column and column + 1.
    """

    row: int
    start: float
    end: float


def order_layout(graph: Graph) -> dict[str, Place]:
    """A column for each step of the longest chain.

    A child stands in the row of its last parent if nothing stands between them, so that chains are
    straight lines and lines do not run behind what they do not concern.
    """
    column: dict[str, int] = {}
    # Columns up to which the rows of each frame are taken.
    taken: dict[int, list[int]] = {}
    places: dict[str, Place] = {}
    for id in graph.topological_order:
        column[id] = 1 + max((column[parent] for parent in graph.parents[id]), default=-1)
    for id in sorted(column, key=lambda id: column[id]):
        frame = graph.frame_of[id]
        rows = taken.setdefault(frame, [])
        parents = [parent for parent in graph.parents[id] if graph.frame_of[parent] == frame]
        parents.sort(key=lambda parent: -column[parent])
        straight = (
            places[parent].row for parent in parents if rows[places[parent].row] == column[parent]
        )
        row = next(straight, None)
        if row is None:
            # Right of all that is in it.
            free = (row for row, until in enumerate(rows) if until < column[id])
            row = next(free, len(rows))
        rows[row : row + 1] = [column[id]]
        places[id] = Place(row, column[id], column[id] + 1)
    return places


def time_layout(graph: Graph) -> dict[str, Place] | None:
    """Recorded times; None if the recording has none.

    What has no time of its own begins when its last parent ended; download chunks stand where the
    parser began with them. Main-thread work fills the first rows of a band, downloads those below.
    """
    if all(graph.start_ms(id) is None for id in graph.activities):
        return None
    spans: dict[str, tuple[float, float]] = {}
    for id in graph.topological_order:
        start_ms = graph.start_ms(id)
        if graph.kinds[id] is Kind.DOWNLOAD:
            parsed_ms = (graph.start_ms(child) for child in graph.children[id])
            start_ms = min((ms for ms in parsed_ms if ms is not None), default=None)
        if start_ms is None:
            start_ms = max((spans[parent][1] for parent in graph.parents[id]), default=0.0)
        spans[id] = start_ms, start_ms + _duration_ms(graph, id)
    places: dict[str, Place] = {}
    for downloads, kinds in ((False, set(Kind) - DOWNLOADS), (True, DOWNLOADS)):
        ends: dict[int, list[float]] = {}
        base: dict[int, int] = {}
        if downloads:
            for id, place in places.items():
                frame = graph.frame_of[id]
                base[frame] = max(base.get(frame, 0), place.row + 1)
        for id in sorted(spans, key=lambda id: spans[id]):
            if graph.kinds[id] in kinds:
                frame = graph.frame_of[id]
                row = _first_free(ends.setdefault(frame, []), *spans[id])
                places[id] = Place(base.get(frame, 0) + row, *spans[id])
    return places


DOWNLOADS = {Kind.RESOURCE, Kind.DOWNLOAD}


def _duration_ms(graph: Graph, id: str) -> float:
    activity = graph.activities[id]
    if graph.kinds[id] is Kind.RESOURCE:
        received_ms = activity.get("recorded_received_ms")
        if received_ms is None or "recorded_sent_ms" not in activity:
            return 0.0
        return float(max(0.0, received_ms - activity["recorded_sent_ms"]))
    return float(activity.get("duration_ms", 0.0))


def _first_free(ends: list[float], start: float, end: float) -> int:
    """The first row that is free from `start` on; it is taken until `end` then."""
    for row, taken_until in enumerate(ends):
        # Two marks at one moment would hide each other.
        if taken_until < start:
            ends[row] = end
            return row
    ends.append(end)
    return len(ends) - 1

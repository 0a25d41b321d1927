"""What an import of another tool's recording could not know."""

import msgspec

__all__ = ["ImportReport"]


class ImportReport(msgspec.Struct, kw_only=True):
    """What was imported, and what the recording did not say.

    Attributes
    ----------
    kind
        "har", "archive" (a profile's own HAR) or "trace".
    tool
        What wrote the recording.
    page
        Which of its pages, and how many there are.
    requests, ignored
        In the graph; left out, as they began before the page or are not of its load.
    load_ms, dom_content_loaded_ms
        As recorded, since the first request; None if unknown.
    evidence
        Requests before the load event, by how it is known what made the browser ask (as in page
        graphs).
    guessed
        Some URLs whose parent is a guess from times.
    unknown_durations
        Computations and stretches of parsing whose duration is unknown: 0 in the graph.
    waits, waits_ms
        Recorded times between what a request waited for and the request, kept as waits that do not
        occupy the processor; their sum.
    missing_bodies
        HTML, CSS and JavaScript without text.
    unknown_server_delays
        Requests over the network without a measured server delay: drawn when simulated.
    unknown_sizes
        Responses of unknown size: 0 bytes in the graph.
    frames, unplaced
        Frames in the graph; requests whose frame is unknown: counted as the main frame's.
    warnings
        For people.
    """

    kind: str
    tool: str
    url: str
    page: int = 1
    pages: int = 1
    requests: int = 0
    ignored: int = 0
    activities: int = 0
    load_ms: float | None = None
    dom_content_loaded_ms: float | None = None
    evidence: dict[str, int] = {}
    guessed: list[str] = []
    unknown_durations: int = 0
    waits: int = 0
    waits_ms: float = 0.0
    missing_bodies: int = 0
    unknown_server_delays: int = 0
    unknown_sizes: int = 0
    frames: int = 0
    unplaced: int = 0
    warnings: list[str] = []

    def rows(self) -> list[tuple[str, str]]:
        """The report as lines for people: what, how much."""
        rows = [
            ("recording", f"{self.kind} by {self.tool}"),
            ("page", f"{self.url} ({self.page} of {self.pages})"),
            ("requests", _with(self.requests, self.ignored, "left out")),
            ("activities", str(self.activities)),
            ("load event", _time(self.load_ms)),
            ("DOMContentLoaded", _time(self.dom_content_loaded_ms)),
        ]
        rows += [
            (f"parents by {name}", str(count)) for name, count in sorted(self.evidence.items())
        ]
        rows += [
            ("unknown durations", _with(self.unknown_durations, 0, "")),
            ("recorded waits", f"{self.waits}, {self.waits_ms:.0f} ms in sum"),
            ("missing bodies", str(self.missing_bodies)),
            ("unknown server delays", str(self.unknown_server_delays)),
            ("unknown sizes", str(self.unknown_sizes)),
            ("frames", _with(self.frames, self.unplaced, "requests of unknown frame")),
        ]
        return rows


def _with(count: int, other: int, what: str) -> str:
    return f"{count} ({other} {what})" if other else str(count)


def _time(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} ms"

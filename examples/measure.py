#!/usr/bin/env python3
"""Prints the figures behind ``generator/measured.py`` from the corpus of recorded pages.

Usage: ``python3 examples/measure.py $LOADPATH_CORPUS``
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

Figures = dict[str, dict[str, float]]


def measure(corpus: Path) -> Figures:
    """Main-thread ms per kB by kind of work; mean kB and median bytes of a response by class."""
    sizes = defaultdict(list)
    rates = defaultdict(list)
    for path in sorted((corpus / "graphs").glob("*.json")):
        activities = json.loads(path.read_text())["activities"]
        fetched = {a["url"]: a for a in activities if is_fetched(a)}
        for activity in activities:
            if is_fetched(activity):
                sizes[class_of(activity["mimeType"])].append(activity["size"])
        for kind, (work_ms, size_bytes) in main_thread_work(activities, fetched).items():
            if size_bytes:
                rates[kind].append(work_ms / size_bytes * 1000)
    return {
        "ms_per_kb": {kind: statistics.median(values) for kind, values in sorted(rates.items())},
        "mean_kb": {kind: statistics.mean(values) / 1000 for kind, values in sorted(sizes.items())},
        "median_bytes": {kind: statistics.median(values) for kind, values in sorted(sizes.items())},
    }


def is_fetched(activity: dict[str, Any]) -> bool:
    """Whether this is a resource that came over the network."""
    return (
        activity["type"] == "resource"
        and not activity["cached"]
        and activity["url"].startswith(("http:", "https:"))
    )


def main_thread_work(
    activities: list[dict[str, Any]], fetched: dict[str, dict[str, Any]]
) -> dict[str, tuple[float, int]]:
    """Total ms and the bytes worked on, for the parser, external scripts and style sheets."""
    work: dict[str, float] = defaultdict(float)
    evaluated: dict[str, dict[str, int]] = defaultdict(dict)
    parsed_bytes = 0
    for activity in activities:
        if activity["type"] == "download_chunk":
            parsed_bytes += activity["size"]
        elif activity["type"] == "parse_chunk":
            work["html"] += duration_ms(activity)
        elif activity["type"] == "eval" and activity.get("url") in fetched:
            kind = {"execScript": "script", "recalcStyle": "css"}.get(activity["evalType"])
            if kind:
                work[kind] += duration_ms(activity)
                resource = fetched[activity["url"]]
                evaluated[kind][resource["id"]] = resource["size"]
    by_kind = {kind: (work[kind], sum(found.values())) for kind, found in evaluated.items()}
    return by_kind | {"html": (work["html"], parsed_bytes)}


def duration_ms(activity: dict[str, Any]) -> float:
    """Main-thread time; five recorded durations are slightly negative and count as none."""
    start: float = activity["startTime"]
    end: float = activity["endTime"]
    return max(0.0, (end - start) * 1000)


def class_of(mime_type: str) -> str:
    """The class of a MIME type by which the thesis prioritises (section 3.5.3.1)."""
    for part, name in (("html", "html"), ("css", "css"), ("javascript", "script")):
        if part in mime_type:
            return name
    if "ecmascript" in mime_type:
        return "script"
    return "image" if mime_type.startswith("image/") else "other"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "graphs").is_dir():
        sys.exit("error: name the folder of the corpus, which holds the folder graphs")
    print(json.dumps(measure(Path(sys.argv[1])), indent=2))

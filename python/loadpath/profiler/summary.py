"""What a profile found, in lines for people."""

import statistics

from loadpath.profiler.manifest import Pass, PassKind
from loadpath.profiler.recorder import Profile

__all__ = ["summarize"]


def summarize(profile: Profile) -> list[tuple[str, str]]:
    """Labels and texts: page, browser, load times, what recording cost, size, warnings."""
    manifest = profile.manifest
    structure = manifest.passes[0]
    lines = [
        ("page", manifest.url),
        ("browser", manifest.browser["product"]),
        ("status", manifest.status + (f" ({manifest.reason})" if manifest.reason else "")),
        ("requests", f"{structure.requests}, {_size(structure.transferred_bytes or 0)}"),
        ("structure", _times([structure])),
    ]
    for kind in (PassKind.TIMING, PassKind.PLAIN):
        passes = [p for p in manifest.passes if p.kind is kind]
        if passes:
            lines.append((kind.value, _times(passes)))
    if manifest.traced_over_plain is not None:
        lines.append(("timing/plain", f"{manifest.traced_over_plain:.2f}"))
    warnings = dict.fromkeys(
        [*manifest.warnings, *(w for p in manifest.passes for w in p.warnings)]
    )
    lines += [("warning", text) for text in warnings]
    return lines


def _times(passes: list[Pass]) -> str:
    parts = []
    for label, values in (
        ("load", [p.load_ms for p in passes]),
        ("DOMContentLoaded", [p.dom_content_loaded_ms for p in passes]),
        ("first paint", [p.first_contentful_paint_ms for p in passes]),
    ):
        known = [value for value in values if value is not None]
        if not known:
            continue
        text = f"{label} {statistics.median(known):.0f} ms"
        if len(known) > 1:
            text += f" ({min(known):.0f} to {max(known):.0f})"
        parts.append(text)
    count = f"{len(passes)} passes: " if len(passes) > 1 else ""
    return count + (", ".join(parts) or "no load event")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"

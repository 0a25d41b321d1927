"""Server processing delays as distributions: tables, CSV, figures, files for page graphs."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from loadpath.analysis.svg import AXIS_GREY, Canvas, Scale, count, staircase
from loadpath.errors import LoadpathError, hinted
from loadpath.profiler.delays import DELAY_TYPES, ServerDelays

__all__ = ["cdf", "delays_csv", "delays_svg", "distributions_json", "samples_by_type"]

_COLOURS = {
    "css": "#0072B2",
    "image": "#009E73",
    "javascript": "#E69F00",
    "text": "#D55E00",
    "post": "#CC79A7",
    "other": "#555555",
}


def samples_by_type(
    profiles: Sequence[ServerDelays], scheme: str | None = None
) -> dict[str, list[float]]:
    """Delays in ms that count in the distributions, sorted, for the types that have any.

    Measured ones of successful responses, up to a second (thesis section 3.4.1).
    """
    samples: dict[str, list[float]] = {}
    for profile in profiles:
        for request in profile.requests:
            if request.is_typical and scheme in (None, urlsplit(request.url).scheme):
                assert request.delay_ms is not None
                samples.setdefault(request.type, []).append(request.delay_ms)
    return {name: sorted(samples[name]) for name in DELAY_TYPES if name in samples}


def cdf(samples: Sequence[float]) -> list[tuple[float, float]]:
    """Points (value, cumulative probability) from probability 0 to 1, linear in between.

    The least sample has probability 0, the greatest 1: a draw never leaves what was measured.

    >>> cdf([10.0, 20.0, 40.0])
    [(10.0, 0.0), (20.0, 0.5), (40.0, 1.0)]
    >>> cdf([10.0])
    [(10.0, 0.0), (10.0, 1.0)]
    """
    ordered = sorted(samples)
    if len(ordered) == 1:
        ordered *= 2
    last = len(ordered) - 1
    return [(value, index / last) for index, value in enumerate(ordered)]


def distributions_json(profiles: Sequence[ServerDelays]) -> bytes:
    """The distributions as a server-delay file, for page graphs that name it.

    Types without a measurement get all types' distribution; `source` says which they are.

    Raises
    ------
    LoadpathError
        No delay was measured.
    """
    samples = samples_by_type(profiles)
    if not samples:
        raise hinted(
            LoadpathError("no server delay was measured"),
            "only successful responses that took at most a second count",
        )
    everything = [delay for delays in samples.values() for delay in delays]
    missing = [name for name in DELAY_TYPES if name not in samples]
    source = f"{count(len(everything), 'request')} of {', '.join(p.profile for p in profiles)}"
    if missing:
        source += f"; {', '.join(missing)}: as all types together"
    document = {
        "format": "loadpath-server-delays",
        "version": 1,
        "source": source,
        "classes": {name: cdf(samples.get(name, everything)) for name in DELAY_TYPES},
    }
    return msgspec.json.encode(document) + b"\n"


def delays_csv(profiles: Sequence[ServerDelays]) -> bytes:
    """Columns scheme, type, delay_ms, probability: the cumulative share up to each sample."""
    lines = ["scheme,type,delay_ms,probability"]
    for scheme in ("http", "https"):
        for name, delays in samples_by_type(profiles, scheme).items():
            share = 1 / len(delays)
            lines += [
                f"{scheme},{name},{delay:g},{(index + 1) * share:.6g}"
                for index, delay in enumerate(delays)
            ]
    return ("\n".join(lines) + "\n").encode()


_WIDTH, _LEFT, _RIGHT = 660, 80, 640
_TOP, _HEIGHT, _GAP = 84, 260, 64


def delays_svg(profiles: Sequence[ServerDelays]) -> str:
    """Cumulative distributions by type, a panel for each scheme (thesis Figure 3.3).

    Raises
    ------
    LoadpathError
        No delay was measured.
    """
    panels = {scheme: samples_by_type(profiles, scheme) for scheme in ("http", "https")}
    panels = {scheme: samples for scheme, samples in panels.items() if samples}
    if not panels:
        raise LoadpathError("no server delay was measured: there is nothing to draw")
    longest_ms = max(max(delays) for samples in panels.values() for delays in samples.values())
    bottom = _TOP + len(panels) * (_HEIGHT + _GAP) - _GAP
    canvas = Canvas(_WIDTH, bottom + 34, "Server processing delays")
    canvas.text(12, 22, "Server processing delays", size=15)
    names = ", ".join(profile.profile for profile in profiles[:3])
    more = f" and {len(profiles) - 3} more" if len(profiles) > 3 else ""
    canvas.text(12, 40, f"cumulative share of the requests of {names}{more}", fill=AXIS_GREY)
    times = Scale(0.0, max(1.0, longest_ms * 1.02), _LEFT, _RIGHT)
    for place, (scheme, samples) in enumerate(panels.items()):
        top = _TOP + place * (_HEIGHT + _GAP)
        _panel(canvas, scheme, samples, times, top)
    return canvas.to_string()


def _panel(
    canvas: Canvas, scheme: str, samples: dict[str, list[float]], times: Scale, top: float
) -> None:
    shares = Scale(0.0, 1.0, top + _HEIGHT, top)
    canvas.legend(
        _LEFT,
        top - 10,
        [(f"{name} ({len(delays)})", _COLOURS[name]) for name, delays in samples.items()],
    )
    canvas.text(12, top - 10, scheme, size=12)
    canvas.time_axis(times, top, top + _HEIGHT)
    canvas.value_axis(shares, _LEFT, _RIGHT)
    for name, delays in samples.items():
        points = [(times(0.0), shares(0.0))]
        points += [
            (times(delay), shares((index + 1) / len(delays))) for index, delay in enumerate(delays)
        ]
        canvas.line([*staircase(points), (times.end, shares(1.0))], _COLOURS[name], width=1.6)

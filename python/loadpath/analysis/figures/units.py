"""Words for columns and values: names carry units, figures show them."""

from loadpath.analysis.figures.figure import Value
from loadpath.parameters import rate_text

__all__ = ["axis_label", "printable", "value_label"]

_UNITS = {
    "_bps": "bit/s",
    "_ms": "ms",
    "_s": "s",
    "_percent": "%",
    "_bytes": "bytes",
    "_segments": "segments",
}

_WORDS = {
    "rate": "bandwidth",
    "up rate": "upstream bandwidth",
    "rtt": "round-trip time",
    "plt": "page load time",
    "dcl": "time to DOMContentLoaded",
    "connections per host": "connections per host",
    "mean": "mean load time",
    "median": "median load time",
}


def _split(column: str) -> tuple[str, str | None]:
    last = column.rpartition(".")[2]
    for suffix, unit in _UNITS.items():
        if last.endswith(suffix):
            return last.removesuffix(suffix), unit
    return last, None


def axis_label(column: str, *, unit: bool = True) -> str:
    """A column's name for an axis.

    >>> axis_label("network.rtt_ms"), axis_label("improvement_percent")
    ('round-trip time (ms)', 'improvement (%)')
    >>> axis_label("network.rate_bps", unit=False)
    'bandwidth'
    """
    name, of = _split(column)
    words = name.replace("_", " ")
    words = printable(_WORDS.get(words, words))
    return f"{words} ({of})" if unit and of is not None else words


def value_label(column: str, value: Value) -> str:
    """A value of a column with its unit.

    >>> value_label("rate_bps", 500_000), value_label("network.rtt_ms", 40.0)
    ('500 kbit/s', '40 ms')
    >>> value_label("http.version", "http/2"), value_label("connections", 6)
    ('http/2', '6')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return printable(value)
    _, unit = _split(column)
    if unit == "bit/s":
        return rate_text(value)
    if unit == "%":
        return f"{value:g} %"
    return f"{value:g}" if unit is None else f"{value:g} {unit}"


def printable(text: str) -> str:
    """The text without control characters, which XML cannot hold: names come from anywhere."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)

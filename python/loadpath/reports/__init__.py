"""Loads in the formats of other tools."""

from collections.abc import Callable
from dataclasses import dataclass

from loadpath.outcome import Outcome
from loadpath.reports.chrome_trace import write_chrome_trace
from loadpath.reports.context import CapturePoint, ExportContext
from loadpath.reports.har import write_har
from loadpath.reports.pcapng import write_pcapng
from loadpath.reports.qlog import write_qlog

__all__ = ["FORMATS", "CapturePoint", "ExportContext", "Exporter"]


@dataclass(frozen=True, slots=True)
class Exporter:
    """A format: how its files are named and written."""

    suffix: str
    write: Callable[[Outcome, ExportContext], bytes]


FORMATS = {
    "har": Exporter("har", write_har),
    "chrome-trace": Exporter("trace.json", write_chrome_trace),
    "pcapng": Exporter("pcapng", write_pcapng),
    "qlog": Exporter("qlog", write_qlog),
}
"""Every format by its name; to add one, write its file and add it here."""

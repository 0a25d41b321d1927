"""Recording a real page in a real browser."""

from loadpath.profiler.har import RecordedEvent, read_events
from loadpath.profiler.manifest import ClockCheck, Manifest, Pass, PassKind, read_manifest
from loadpath.profiler.recorder import Profile, record_profile
from loadpath.profiler.redact import redact_har, share_archive
from loadpath.profiler.settings import Emulation, Settings
from loadpath.profiler.summary import summarize

__all__ = [
    "ClockCheck",
    "Emulation",
    "Manifest",
    "Pass",
    "PassKind",
    "Profile",
    "RecordedEvent",
    "Settings",
    "read_events",
    "read_manifest",
    "record_profile",
    "redact_har",
    "share_archive",
    "summarize",
]

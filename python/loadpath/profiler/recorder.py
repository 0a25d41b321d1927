"""All passes of a profile, and their folder."""

import asyncio
import re
import shutil
import statistics
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from loadpath import __version__
from loadpath.errors import LoadpathError
from loadpath.output import refuse_existing
from loadpath.profiler.chromium import find_browser
from loadpath.profiler.clock import MAX_DIFFERENCE_MS, check_clock
from loadpath.profiler.manifest import (
    MANIFEST_FILE,
    ClockCheck,
    Manifest,
    Pass,
    PassKind,
)
from loadpath.profiler.passes import NETLOG_FILE, TRACE_FILE, PassOutput, run_pass
from loadpath.profiler.recording import EVENTS_FILE
from loadpath.profiler.settings import Settings, page_url

__all__ = ["MAX_TRACED_OVER_PLAIN", "Profile", "record_profile"]

MAX_TRACED_OVER_PLAIN = 1.10
"""Above, recording disturbs the page too much for its timings to be trusted."""

Progress = Callable[[str, int, int], None]
"""Called before a pass: its name, its index, how many there are."""


class Profile(msgspec.Struct, frozen=True):
    """A recorded profile."""

    path: Path
    manifest: Manifest


def record_profile(
    url: str,
    output: Path | None = None,
    settings: Settings | None = None,
    *,
    progress: Progress = lambda name, index, total: None,
) -> Profile:
    """Load `url` once for each pass and keep what was recorded in a new folder.

    Parameters
    ----------
    url
        The page; "https://" may be left out.
    output
        The folder to make; by default HOST-YYYYMMDD-HHMMSS.
    settings
        Options; by default those of the command line.
    progress
        Called before each pass.

    Raises
    ------
    LoadpathError
        There is no browser or no page, or the folder cannot be written; nothing is left behind.
    """
    settings = settings or Settings()
    url = page_url(url)
    browser = find_browser(settings.browser)
    if output is None:
        host = re.sub(r"[^\w.-]+", "-", urlsplit(url).netloc)
        output = Path(f"{host}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    try:
        refuse_existing(output, force=False)
        # mkdtemp makes it the owner's alone: cookies and bodies are private.
        folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}."))
    except OSError as error:
        raise LoadpathError(f"cannot make {output}: {error.strerror}") from error
    try:
        manifest = asyncio.run(_record(url, settings, browser, folder, progress))
        text = msgspec.json.format(msgspec.json.encode(manifest))
        (folder / MANIFEST_FILE).write_bytes(text + b"\n")
        refuse_existing(output, force=False)
        folder.rename(output)
    except OSError as error:
        raise LoadpathError(f"cannot write {output}: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Profile(output, manifest)


def _plan(settings: Settings) -> list[tuple[str, PassKind]]:
    """The structure pass, then timing and plain passes in turn, so that drift hits both."""
    plan = [("structure", PassKind.STRUCTURE)]
    for index in range(1, max(settings.runs, settings.plain_runs) + 1):
        if index <= settings.runs:
            plan.append((f"timing-{index}", PassKind.TIMING))
        if index <= settings.plain_runs:
            plan.append((f"plain-{index}", PassKind.PLAIN))
    return plan


async def _record(
    url: str, settings: Settings, browser: Path, folder: Path, progress: Progress
) -> Manifest:
    plan = _plan(settings)
    passes: list[Pass] = []
    first: PassOutput | None = None
    for index, (name, kind) in enumerate(plan):
        progress(name, index, len(plan))
        if kind is PassKind.PLAIN and passes[0].load_ms is None:
            # Nothing to compare, and every pass takes the whole time limit.
            continue
        try:
            output = await run_pass(url, name, kind, settings, browser, folder)
        except LoadpathError as error:
            if first is None:
                raise
            passes.append(_failed(name, kind, str(error)))
            continue
        passes.append(output.result)
        if first is None:
            first = output
    assert first is not None
    clock = check_clock(folder / "structure", EVENTS_FILE, TRACE_FILE, NETLOG_FILE)
    ratio = traced_over_plain(passes)
    incomplete = [p for p in passes if p.status != "complete"]
    return Manifest(
        url=url,
        status="partial" if incomplete else "complete",
        reason="; ".join(f"{p.name}: {p.reason}" for p in incomplete) or None,
        loadpath=__version__,
        browser={
            "product": first.product,
            "revision": first.revision,
            "path": str(browser),
            "command_line": first.command_line,
        },
        settings=settings.describe(),
        clock=clock,
        passes=passes,
        traced_over_plain=ratio,
        warnings=_warnings(ratio, clock),
    )


def _failed(name: str, kind: PassKind, reason: str) -> Pass:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Pass(name=name, kind=kind, status="failed", reason=reason, started_at=now)


def _warnings(ratio: float | None, clock: ClockCheck | None) -> list[str]:
    warnings = []
    if ratio is not None and ratio > MAX_TRACED_OVER_PLAIN:
        warnings.append(
            f"recorded loads take {ratio:.2f} times as long as plain ones: recording disturbs this "
            "page, or the machine was busy"
        )
    for name in ("trace", "netlog"):
        difference = getattr(clock, f"{name}_minus_devtools_ms", None)
        if difference is not None and abs(difference) > MAX_DIFFERENCE_MS:
            warnings.append(f"the clock of the {name} is {difference:.1f} ms from that of DevTools")
    return warnings


def traced_over_plain(passes: list[Pass]) -> float | None:
    """Median load time of the timing passes over that of the plain ones."""
    medians = []
    for kind in (PassKind.TIMING, PassKind.PLAIN):
        loads = [p.load_ms for p in passes if p.kind is kind and p.load_ms is not None]
        if not loads:
            return None
        medians.append(statistics.median(loads))
    return medians[0] / medians[1] if medians[1] > 0 else None

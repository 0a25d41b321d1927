"""Finding Chromium, starting it, and leaving nothing of it behind."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.profiler.devtools import BrowserEndedError, DevTools, Event

__all__ = ["DEFAULT_BROWSER", "FLAGS", "Browser", "command_line", "find_browser", "start"]

DEFAULT_BROWSER = "chromium-headless-shell"
"""Debian's package and program. Full Chromium starts an interface of its own, some 400 requests."""

START_TIMEOUT_S = 30.0
"""A cold start on a slow disk takes seconds; a browser that says nothing for longer hangs."""

CLOSE_TIMEOUT_S = 10.0
"""Writing the end of the network log takes a moment; then the process group is killed."""

SMALL_SHM_BYTES = 256 << 20
"""Below, renderers crash on larger pages: containers often have 64 MB (crbug.com/715363)."""

FLAGS: dict[str, str] = {
    "--headless": "no display; the headless shell knows nothing else",
    "--remote-debugging-pipe": "DevTools without an open port; the browser ends with the pipe",
    "--no-first-run": "no first-run tasks",
    "--no-default-browser-check": "no question that nobody would answer",
    "--disable-field-trial-config": "no experiments that differ from build to build",
    "--disable-background-networking": "no requests that are not the page's",
    "--disable-component-update": "no downloads in the background",
    "--disable-sync": "no requests that are not the page's",
    "--disable-default-apps": "no installation of applications in a new profile",
    "--disable-extensions": "system-wide extensions would run in the page",
    "--disable-domain-reliability": "no reports about failed requests",
    "--disable-client-side-phishing-detection": "no classification of the page after its load",
    "--disable-breakpad": "no process that waits for crashes",
    "--disable-search-engine-choice-screen": "no question that nobody would answer",
    "--disable-background-timer-throttling": "timers run as in a tab that is looked at",
    "--disable-backgrounding-occluded-windows": "the window counts as visible",
    "--disable-renderer-backgrounding": "renderers keep the priority of a tab that is looked at",
    "--password-store=basic": "no key ring, which may ask for a password",
    "--use-mock-keychain": "no key chain, which may ask for a password",
    "--mute-audio": "no audio device is needed",
    "--disable-features=Translate,OptimizationHints,MediaRouter,HttpsUpgrades": (
        "no language detection, no hints from a server, no search for screens on the network, and "
        "the page that was asked for instead of its https:// twin"
    ),
}
"""Every flag that each pass is started with, and why."""


@dataclass(frozen=True, slots=True)
class Browser:
    """A running browser."""

    devtools: DevTools
    command_line: list[str]
    version: dict[str, str]
    """Result of Browser.getVersion."""


def find_browser(path: Path | None = None) -> Path:
    """The browser at `path`, else Debian's headless shell.

    Raises:
        NotFoundError: there is none, or it cannot be executed.
    """
    found = shutil.which(path or DEFAULT_BROWSER)
    if found is not None:
        return Path(found)
    if path is not None:
        problem = "is not an executable file" if path.exists() else "does not exist"
        raise NotFoundError(f"--browser {path}: {problem}")
    raise hinted(
        NotFoundError(f"there is no {DEFAULT_BROWSER} on this machine"),
        f"apt-get install {DEFAULT_BROWSER}, or name a Chromium with --browser PATH",
    )


def command_line(
    browser: Path, user_data: Path, extra: list[str], *, no_sandbox: bool = False
) -> list[str]:
    """The command that starts the browser."""
    flags = [*FLAGS, f"--user-data-dir={user_data}"]
    if no_sandbox or os.geteuid() == 0:
        # Chromium refuses to sandbox root's processes (and then to start).
        flags.append("--no-sandbox")
    with suppress(OSError):
        shared_memory = os.statvfs("/dev/shm")
        if shared_memory.f_bavail * shared_memory.f_frsize < SMALL_SHM_BYTES:
            flags.append("--disable-dev-shm-usage")
    return [str(browser), *flags, *extra, "about:blank"]


@asynccontextmanager
async def start(
    browser: Path,
    flags: list[str],
    listener: Callable[[Event], None],
    *,
    unfinished: Path,
    no_sandbox: bool = False,
) -> AsyncIterator[Browser]:
    """A browser with a new user-data folder; both are gone when the block ends.

    Parameters
    ----------
    browser
        The program.
    flags
        What it is started with besides `FLAGS`.
    listener
        Takes DevTools events as they come.
    unfinished
        A folder to remove, too, should this process be killed.
    no_sandbox
        Run renderers without a sandbox, as for root.

    Raises
    ------
    LoadpathError
        It does not start.
    """
    try:
        scratch = Path(tempfile.mkdtemp(prefix="loadpath-browser-"))
    except OSError as error:
        raise LoadpathError(f"cannot make a folder for the browser: {error.strerror}") from error
    process = devtools = None
    try:
        command = command_line(browser, scratch / "user-data", flags, no_sandbox=no_sandbox)
        process, devtools = await _spawn(scratch, unfinished, command, listener)
        try:
            version = await asyncio.wait_for(devtools.call("Browser.getVersion"), START_TIMEOUT_S)
        except (TimeoutError, BrowserEndedError) as error:
            raise _no_start(browser, scratch) from error
        yield Browser(devtools, command, version)
        await _close(devtools, process)
    finally:
        if devtools is not None:
            devtools.close()
        if process is not None:
            await _end(process)
        shutil.rmtree(scratch, ignore_errors=True)


async def _spawn(
    scratch: Path, unfinished: Path, command: list[str], listener: Callable[[Event], None]
) -> tuple[asyncio.subprocess.Process, DevTools]:
    commands_out, commands_in = os.pipe()
    replies_out, replies_in = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(Path(__file__).with_name("reaper.py")),
            str(commands_out),
            str(replies_in),
            str(scratch),
            str(unfinished.absolute()),
            "--",
            *command,
            stdin=asyncio.subprocess.PIPE,
            pass_fds=(commands_out, replies_in),
            # Ctrl-C is the profiler's: it closes the pipe when it is done.
            start_new_session=True,
        )
    finally:
        os.close(commands_out)
        os.close(replies_in)
    return process, await DevTools.open(commands_in, replies_out, listener)


async def _close(devtools: DevTools, process: asyncio.subprocess.Process) -> None:
    """Ask the browser to end, and let it complete its network log."""
    devtools.post("Browser.close")
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), CLOSE_TIMEOUT_S)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the reaper's standard input and wait for it, even if we are being cancelled."""
    if process.returncode is not None:
        return
    assert process.stdin is not None
    # We live, and clear up by ourselves.
    process.stdin.write(b".")
    process.stdin.close()
    waiting = asyncio.ensure_future(process.wait())
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            continue


def _no_start(browser: Path, scratch: Path) -> LoadpathError:
    log = scratch / "stderr.log"
    text = log.read_text(errors="replace").strip() if log.exists() else ""
    lines = text.splitlines() or ["it wrote no message"]
    last = next((line for line in lines if ":FATAL:" in line), lines[-1])
    if "sandbox" in last:
        # content/browser/zygote_host/zygote_host_impl_linux.cc
        return hinted(
            LoadpathError(f"{browser} does not start: there is no usable sandbox"),
            "apt-get install chromium-sandbox, allow unprivileged user namespaces, or, for pages "
            "that you trust, --no-sandbox",
        )
    return hinted(
        LoadpathError(f"{browser} does not start: {last}"),
        f"`{browser} --headless about:blank` should run without an error",
    )

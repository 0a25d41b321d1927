"""Packets of a pass, by Wireshark's dumpcap, where that is allowed."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

__all__ = ["capture_packets"]

START_TIMEOUT_S = 5.0
"""dumpcap says "Capturing on" within a fraction of a second, or why it does not."""

FLUSH_S = 0.3
"""The kernel hands packets over in blocks, by dumpcap's default every 250 ms."""


@asynccontextmanager
async def capture_packets(path: Path, warnings: list[str]) -> AsyncIterator[None]:
    """Capture all interfaces into a pcapng file, or warn why not."""
    program = shutil.which("dumpcap")
    if program is None:
        warnings.append("no packet capture: there is no dumpcap (apt-get install wireshark-common)")
        yield
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(Path(__file__).with_name("reaper.py")),
        "--",
        program,
        "-q",
        "-i",
        "any",
        "-w",
        str(path),
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        problem = await _started(process)
        if problem is not None:
            warnings.append(f"no packet capture: {problem}")
        yield
        if problem is None:
            await asyncio.sleep(FLUSH_S)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _started(process: asyncio.subprocess.Process) -> str | None:
    """None if packets are being captured, else dumpcap's first complaint."""
    assert process.stderr is not None
    lines = []
    with suppress(TimeoutError):
        async with asyncio.timeout(START_TIMEOUT_S):
            async for line in process.stderr:
                text = line.decode(errors="replace").strip()
                if text.startswith(("Capturing on", "File:")):
                    return None
                if text:
                    lines.append(text)
    return lines[0] if lines else "dumpcap does not start"

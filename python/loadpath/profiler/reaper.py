"""Starts a program and sees to its end, whatever becomes of the profiler.

Run by itself, with the standard library alone: the profiler holds the other end of its standard
input, which the kernel closes even if the profiler is killed. Chromium ends when its DevTools pipe
is closed, but not if it hangs, and `/usr/bin/chromium-headless-shell` is a shell script that knows
nothing of it.

usage: reaper.py [COMMANDS_FD REPLIES_FD SCRATCH UNFINISHED] -- PROGRAM ARGUMENT...

With the first four, the program gets the DevTools pipe, writes its messages to SCRATCH/stderr.log,
and the folder SCRATCH is removed afterwards; so is UNFINISHED if the profiler has gone without a
word: a profiler that lives writes a byte before it closes our input. Exit status: that of the
program, 128 and the signal's number if a signal ended it.
"""

import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

GRACE_S = 2.0
"""How long a program has to end by itself."""

PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h: orphans of the program become ours, so that none is overlooked."""


def main() -> int:
    """Run the program until it ends or standard input does."""
    separator = sys.argv.index("--")
    options, command = sys.argv[1:separator], sys.argv[separator + 1 :]
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if options:
        scratch = Path(options[2])
        program = _start_browser(command, int(options[0]), int(options[1]), scratch)
    else:
        scratch = None
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    status = _wait(program)
    _signal_group(program, signal.SIGKILL)
    _end_orphans()
    if scratch is not None:
        _remove(scratch)
        if _abandoned():
            _remove(Path(options[3]))
    return status


def _start_browser(
    command: list[str], commands: int, replies: int, scratch: Path
) -> "subprocess.Popen[bytes]":
    # --remote-debugging-pipe reads file descriptor 3 and writes 4; ours may be either.
    descriptors = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, replies)]
    os.dup2(descriptors[0], 3)
    os.dup2(descriptors[1], 4)
    try:
        with (scratch / "stderr.log").open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(3, 4),
                start_new_session=True,
            )
    finally:
        # As long as we hold the pipe's ends, nobody sees the browser close them.
        for descriptor in {*descriptors, commands, replies, 3, 4}:
            os.close(descriptor)


def _wait(program: "subprocess.Popen[bytes]") -> int:
    """The exit status of the program, ended if standard input closes and it does not follow."""
    exited = os.pidfd_open(program.pid)
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(exited, select.POLLIN)
    if all(descriptor != exited for descriptor, _ in poll.poll()):
        _signal_group(program, signal.SIGTERM)
        poll.unregister(0)
        if not poll.poll(GRACE_S * 1000):
            _signal_group(program, signal.SIGKILL)
    status = program.wait()
    return status if status >= 0 else 128 - status


def _abandoned() -> bool:
    """Whether standard input has ended, and nothing was said before."""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0)) and os.read(0, 1) == b""


def _signal_group(program: "subprocess.Popen[bytes]", number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, number)


def _end_orphans() -> None:
    """Kill what the program left behind, in its process group or out of it."""
    own = os.getpid()
    while True:
        text = Path(f"/proc/{own}/task/{own}/children").read_text()
        for child in text.split():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(child), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _remove(folder: Path) -> None:
    # A process that is being killed may still write for a moment.
    for _ in range(10):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())

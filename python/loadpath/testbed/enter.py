"""Runs a command at an end of a link: `python -m loadpath.testbed.enter OWNER NETWORK COMMAND...`.

OWNER is the link's process, NETWORK the descriptor by which it knows the network namespace. The
exit status is the command's, 128 and the signal's number if a signal ended it. The command is
killed when this process is.
"""

import os
import signal
import subprocess
import sys
from types import FrameType

from loadpath._core import LoadpathError, die_with_parent, enter_namespaces

NOT_FOUND = 127
"""Exit status for a command that does not exist, as shells have it."""
NOT_STARTED = 126
"""Exit status for a command that cannot be started, as shells have it."""


def main() -> int:
    """Run the command."""
    owner, network, *command = sys.argv[1:]
    # Ctrl-C is the command's to obey; this process ends with it.
    inherited = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def prepare() -> None:
        signal.signal(signal.SIGINT, inherited)
        die_with_parent()

    folder = os.getcwd()  # noqa: PTH109
    try:
        enter_namespaces(int(owner), int(network))
        # Entering a mount namespace leads to its root.
        os.chdir(folder)
        process = subprocess.Popen(command, preexec_fn=prepare)
    except LoadpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_STARTED
    except OSError as error:
        print(f"error: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED

    def forward(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, forward)
    status = process.wait()
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())

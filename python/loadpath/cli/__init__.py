"""The command line: one file a verb, no logic.

Data go to standard output, everything else to standard error. Exit status: 0 success, 1 an error
that the user can mend, 2 an error of Loadpath's own, 3 a broken budget (`check`), 130 interrupted.
"""

import os
import sys
import traceback
from typing import NoReturn

import typer

from loadpath.cli.app import app
from loadpath.cli.console import print_error
from loadpath.errors import LoadpathError

__all__ = ["main", "run"]

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the number of the signal."""


def main() -> NoReturn:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit status."""
    try:
        status = app(args=arguments, prog_name="loadpath", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:
            print("interrupted", file=sys.stderr)
        return status if isinstance(status, int) else 0
    except typer.Exit as exit_:
        return exit_.exit_code
    except LoadpathError as error:
        print_error(error)
        return 1
    except typer.TyperException as error:
        # "--help" shows the usage that a wrong flag asks for.
        error.add_note("hint: `loadpath --help`, or `loadpath VERB --help`")
        print_error(error, error.format_message())
        return 1
    except BrokenPipeError:
        # The reader has gone (`| head`): say nothing, and keep the interpreter from flushing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        error.add_note("hint: this is a mistake in Loadpath; please report it with the lines above")
        print_error(error, f"internal error: {error}")
        return 2

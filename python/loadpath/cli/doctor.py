"""`loadpath doctor`: what is missing, and what works without it."""

from dataclasses import asdict

import typer

from loadpath.cli.console import print_json, print_table
from loadpath.cli.options import Json
from loadpath.diagnosis import examine


def doctor(json: Json = False) -> None:
    """Check this installation; exit status 1 if simulation does not work."""
    findings = examine()
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_table(
            "",
            ["", "what", "found"],
            [["ok" if f.ok else "missing", f.what, f.found] for f in findings],
            text=3,
        )
    if any(finding.required and not finding.ok for finding in findings):
        raise typer.Exit(1)

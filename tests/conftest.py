"""What all tests share."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loadpath.diagnosis import examine
from loadpath.profiler.chromium import DEFAULT_BROWSER

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """Commands that are tested end at Ctrl-C, whatever started us: a shell lets its background jobs
    ignore it, and so would their children.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


Loadpath = Callable[..., subprocess.CompletedProcess[str]]


def find_corpus() -> Path | None:
    """The corpus folder: `LOADPATH_CORPUS`, else beside the repository."""
    candidates = [
        *([Path(os.environ["LOADPATH_CORPUS"])] if "LOADPATH_CORPUS" in os.environ else []),
        ROOT.parent / "shared" / "corpus",
        ROOT.parent.parent / "shared" / "corpus",
    ]
    return next((path for path in candidates if (path / "index.json").is_file()), None)


@pytest.fixture
def corpus() -> Path:
    folder = find_corpus()
    if folder is None:
        pytest.skip("no corpus: set LOADPATH_CORPUS to its folder")
    return folder


@pytest.fixture(scope="session")
def links() -> None:
    """Skips tests that need links where there can be none."""
    [finding] = [finding for finding in examine() if finding.what == "links"]
    if not finding.ok:
        pytest.skip(f"no links on this machine: {finding.found}")


@pytest.fixture(scope="session")
def browser() -> None:
    """Skips tests that need a browser where there is none."""
    if shutil.which(DEFAULT_BROWSER) is None:
        pytest.skip(f"no {DEFAULT_BROWSER} on this machine")


@pytest.fixture
def loadpath(tmp_path: Path) -> Loadpath:
    """Runs the command in an empty folder, as a user would."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("LOADPATH_")
        }
        return subprocess.run(
            [sys.executable, "-m", "loadpath", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment | {"NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"},
            timeout=60,
            check=False,
        )

    return run

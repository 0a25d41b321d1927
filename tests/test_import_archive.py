"""A profile's own archive, imported as a HAR, against the graph that is built of the whole profile.

A HAR knows no callbacks: what a timer or a handler asked for hangs on its script. So beside equal
parents it counts whether the imported parent is true: one that the built graph waits for, too.
"""

import shutil
from pathlib import Path

import pytest

from loadpath.graphs.build.builder import build_graph
from loadpath.graphs.build.recording import read_recording
from loadpath.graphs.canonical import CanonicalGraph, canonical
from loadpath.graphs.import_har import import_har
from loadpath.profiler import Settings, record_profile
from pagesite import Site

pytestmark = pytest.mark.skipif(
    shutil.which("chromium-headless-shell") is None, reason="no chromium-headless-shell"
)

PAGES = (
    "css-background",
    "css-font",
    "css-import",
    "figure-3-1",
    "iframe-content",
    "images",
    "redirect-image",
    "script-kinds",
    "script-inserted-script",
    "script-requests",
)
# What hangs on callbacks has its script as parent.
LEAST_EQUAL = 0.8


def _ancestors(graph: CanonicalGraph, node: str) -> set[str]:
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for parent in graph[waiting.pop()] - found:
            found.add(parent)
            waiting.append(parent)
    return found


@pytest.mark.timeout(300)
def test_an_archive_gives_the_parents_of_the_whole_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    equal = counted = 0
    with Site() as site:
        settings = Settings(
            runs=0,
            plain_runs=0,
            netlog=False,
            host_resolver_rules=site.host_resolver_rules(),
            ignore_certificate_errors=True,
        )
        for name in PAGES:
            folder = tmp_path / name
            record_profile(site.url(name, "https"), folder, settings)
            built, _ = build_graph(read_recording(folder / "structure", folder / "archive.har"))
            imported, report = import_har(folder / "archive.har", waits=False)
            assert report.kind == "archive" and not report.guessed
            true, found = canonical(built), canonical(imported)
            for node in (node for node in true if node.startswith("resource ")):
                counted += 1
                equal += found[node] == true[node]
                assert found[node] - {"event load"} <= _ancestors(true, node), (name, node)
    with capsys.disabled():
        print(f" {equal} of {counted} requests have the same parents ", end="")
    assert equal / counted >= LEAST_EQUAL

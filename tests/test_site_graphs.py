"""Every page of the test site is profiled and its graph built: it must be the true one.

Variants: HTTP/1.1 in the clear, HTTP/2 over TLS, and HTML that arrives in slow pieces cut inside
tags. Each page is a browser of its own, two at a time; a few minutes for all. `-k VARIANT-PAGE`
profiles what it selects and no more.
"""

import importlib
import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loadpath.errors import LoadpathError
from loadpath.graphs.canonical import CanonicalGraph, canonical, difference, format_text
from pagesite import Pieces, Site, as_seen, load_page, page_names

NEEDED = ("loadpath.profiler", "loadpath.graphs.build")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if shutil.which("chromium-headless-shell") is None:
    MISSING.append("chromium-headless-shell")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}")

# Browsers at a time: they wait for delayed responses more than they work.
BROWSERS = 2
# Longer than what any page starts after its load event (its timers, the delays of its rules).
WAIT_S = 0.8

VARIANTS = {
    "http1": ("http", None),
    "http2": ("https", None),
    # 23 bytes divide no tag evenly; 4 ms let the parser run in between.
    "pieces": ("https", Pieces(size_bytes=23, interval_ms=4)),
}


def built_graph(site: Site, url: str, folder: Path) -> dict[str, Any]:
    """Adapter to profiler and builder: the page graph of a structure pass alone."""
    profiler = importlib.import_module("loadpath.profiler")
    builder = importlib.import_module("loadpath.graphs.build.builder")
    recording = importlib.import_module("loadpath.graphs.build.recording")
    settings = profiler.Settings(
        runs=0,
        plain_runs=0,
        netlog=False,
        wait_s=WAIT_S,
        host_resolver_rules=site.host_resolver_rules(),
        ignore_certificate_errors=True,
    )
    profile = profiler.record_profile(url, folder, settings)
    assert profile.manifest.status == "complete", profile.manifest.reason
    graph: dict[str, Any]
    graph, _ = builder.build_graph(
        recording.read_recording(folder / "structure", folder / "archive.har")
    )
    return graph


def cases() -> list[tuple[str, str]]:
    """Variants and pages; what needs a secure context is not loaded in the clear."""
    return [
        (variant, name)
        for variant, (scheme, _) in VARIANTS.items()
        for name in page_names()
        if scheme == "https" or not load_page(name).secure_only
    ]


@dataclass
class Graphs:
    """The graphs of all selected pages, in the making."""

    profile: Callable[[str, str], CanonicalGraph]
    built: dict[tuple[str, str], "Future[CanonicalGraph]"]
    disputed: list[str]
    """Pages whose first graph was not the true one, but two more were."""


@pytest.fixture(scope="module")
def graphs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Graphs]:
    """The graphs of all selected pages, in the making."""
    folder = tmp_path_factory.mktemp("profiles")
    with ExitStack() as stack:
        sites = {
            variant: stack.enter_context(Site(pieces=pieces))
            for variant, (_, pieces) in VARIANTS.items()
        }
        pool = stack.enter_context(ThreadPoolExecutor(BROWSERS))
        stack.callback(pool.shutdown, cancel_futures=True)

        def profile(variant: str, name: str) -> CanonicalGraph:
            site, scheme = sites[variant], VARIANTS[variant][0]
            place = Path(tempfile.mkdtemp(prefix=f"{variant}-{name}-", dir=folder))
            return canonical(built_graph(site, site.url(name, scheme), place / "profile"))

        built = {}
        for item in request.session.items:
            if isinstance(item, pytest.Function) and item.function is test_graph_is_the_true_one:
                variant, name = (str(item.callspec.params[key]) for key in ("variant", "name"))
                built[variant, name] = pool.submit(profile, variant, name)
        yield Graphs(profile, built, [])


@pytest.mark.parametrize(("variant", "name"), cases(), ids=map("-".join, cases()))
def test_graph_is_the_true_one(graphs: Graphs, variant: str, name: str) -> None:
    page = load_page(name)
    built = ""
    found: object
    try:
        first = graphs.built[variant, name].result()
    except LoadpathError as error:
        # A browser that does not start, say.
        found = str(error)
    else:
        found = difference(as_seen(page), first)
        built = format_text(first)
    if not found:
        return
    # Threads of a browser race on a busy machine. A rule that is wrong is wrong again.
    for _ in range(2):
        again = difference(as_seen(page), graphs.profile(variant, name))
        assert not again, f"{page.description}\n{found}\n\nbuilt:\n{built}"
    graphs.disputed.append(f"{variant}-{name}\n{found}")


def test_hardly_any_page_has_to_be_profiled_again(graphs: Graphs) -> None:
    assert len(graphs.disputed) <= max(1, len(graphs.built) // 50), "\n".join(graphs.disputed)


def test_what_a_timer_makes_visible_waits_for_the_timer_and_for_the_sheet(tmp_path: Path) -> None:
    with Site() as site:
        url = site.url("css-background-late", "http")
        graph = built_graph(site, url, tmp_path / "profile")
    image = next(a["id"] for a in graph["activities"] if "late.png" in a.get("url", ""))
    parents = [a for a in graph["activities"] if image in a.get("children", [])]
    assert sorted(parent["kind"] for parent in parents) == ["style", "timer"]

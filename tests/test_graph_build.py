"""From a recorded page to its graph and its simulated load."""

import gzip
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from conftest import Loadpath
from loadpath import LoadpathError, load_graph
from loadpath.graphs.build.profile import build_profile, write_profile_graph
from loadpath.profiler import Settings, record_profile
from pagesite import Site

needs_browser = pytest.mark.skipif(
    shutil.which("chromium-headless-shell") is None, reason="missing: chromium-headless-shell"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of the page of Figure 3.1."""
    with Site() as site:
        settings = Settings(
            runs=2,
            plain_runs=1,
            host_resolver_rules=site.host_resolver_rules(),
            ignore_certificate_errors=True,
        )
        folder = tmp_path_factory.mktemp("profile") / "page"
        return record_profile(site.url("figure-3-1", "https"), folder, settings).path


def copy_of(recorded: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(recorded, folder)
    return folder


@needs_browser
def test_a_built_graph_explains_every_request_and_can_be_simulated(
    recorded: Path, loadpath: Loadpath, tmp_path: Path
) -> None:
    graph = tmp_path / "graph.json"
    built = json.loads(loadpath("graph", "build", recorded, "-o", graph, "--json").stdout)
    assert built["requests"] == {"source": 2}
    assert built["fallback_share"] == 0.0
    assert 0.0 < built["explained_by_rules"] < built["explained"] <= 1.0
    assert load_graph(graph).resources == 3
    outcome = json.loads(loadpath("simulate", graph, "--rate", "10mbit", "--json").stdout)
    assert outcome["outcomes"][0]["plt_ms"] > 0
    stats = json.loads(loadpath("graph", "stats", graph, "--json").stdout)
    assert stats["fallback_share"] == 0.0
    assert 0.0 < stats["explained_share"] < 1.5


@needs_browser
def test_server_delays_and_durations_are_those_of_the_timing_passes(recorded: Path) -> None:
    graph, _ = build_profile(recorded)
    resources = [a for a in graph["activities"] if a["type"] == "resource"]
    assert {r.get("server_delay_source") for r in resources} <= {"timing", "host"}
    scripts = [a for a in graph["activities"] if a.get("kind") == "script"]
    assert sum(s["duration_ms"] for s in scripts) > 0


@needs_browser
def test_an_existing_graph_is_not_replaced_unasked(recorded: Path, tmp_path: Path) -> None:
    folder = copy_of(recorded, tmp_path)
    write_profile_graph(folder)
    with pytest.raises(LoadpathError, match="exists"):
        write_profile_graph(folder)
    write_profile_graph(folder, force=True)


@needs_browser
@pytest.mark.parametrize("name", ["structure/events.jsonl.gz", "structure/trace.json.gz"])
def test_a_damaged_recording_is_one_clear_error(recorded: Path, tmp_path: Path, name: str) -> None:
    folder = copy_of(recorded, tmp_path)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(LoadpathError, match=Path(name).name):
        write_profile_graph(folder)
    assert not (folder / "graph.json").exists()


@needs_browser
def test_a_damaged_timing_pass_is_left_out_with_a_warning(recorded: Path, tmp_path: Path) -> None:
    folder = copy_of(recorded, tmp_path)
    (folder / "timing-1" / "trace.json.gz").write_bytes(gzip.compress(b"{}"))
    summary = write_profile_graph(folder)
    assert any(warning.startswith("timing-1 left out") for warning in summary.warnings)


def test_a_folder_that_is_no_profile_is_an_error_with_a_hint(
    loadpath: Loadpath, tmp_path: Path
) -> None:
    result = loadpath("graph", "build", tmp_path)
    assert result.returncode == 1
    assert "not a recorded profile" in result.stderr
    assert "hint:" in result.stderr


@needs_browser
def test_profile_simulate_prints_both_loads(loadpath: Loadpath, tmp_path: Path) -> None:
    with Site() as site:
        result = loadpath(
            "profile",
            site.url("sync-scripts", "https"),
            "-o",
            tmp_path / "page",
            "-n",
            "1",
            "--plain-runs",
            "1",
            "--simulate",
            "--host-resolver-rules",
            site.host_resolver_rules(),
            "--ignore-certificate-errors",
            "--json",
        )
    simulation = msgspec.json.decode(result.stdout)["simulation"]
    assert simulation["http"] == "h2"
    assert simulation["measured_ms"] > 0
    assert simulation["simulated_ms"] > 0
    assert (tmp_path / "page" / "graph.json").exists()

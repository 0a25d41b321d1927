"""The Python API: the words of the command line."""

import json
import tomllib
from pathlib import Path

import msgspec
import pytest

import loadpath
from loadpath.outcome import Outcome, Summary
from loadpath.pages import example_names
from loadpath.parameters import describe
from scripted import scripted_outcome

EXAMPLES = Path(__file__).parent.parent / "examples" / "pages"


def values(**parameters: object) -> dict[str, dict[str, object]]:
    scenario = loadpath.resolve_scenario(**parameters)  # type: ignore[arg-type]
    return tomllib.loads(scenario.to_toml())


class TestParameters:
    @pytest.mark.parametrize(
        ("word", "value", "section", "key", "expected"),
        [
            ("rate", "2.5mbit", "network", "rate_bps", 2_500_000),
            ("rate", 5000, "network", "rate_bps", 5000),
            ("up_rate", "1mbit", "network", "up_rate_bps", 1_000_000),
            ("rtt_ms", 12.5, "network", "rtt_ms", 12.5),
            ("loss", 0.01, "network", "loss_down_fraction", 0.01),
            ("loss", 0.01, "network", "loss_up_fraction", 0.01),
            ("queue", "drop-tail", "network", "queue", "drop-tail"),
            ("http", "h1", "http", "version", "http/1.1"),
            ("http", "http/1.0", "http", "version", "http/1.0"),
            ("connections", 12, "http", "connections_per_host", 12),
            ("priorities", "critical-path", "http", "priorities", "critical-path"),
            ("server", "serial", "server", "model", "serial"),
            ("tls", "1.2", "http", "tls", "1.2"),
            ("icwnd", 60, "transport", "initial_window_segments", 60),
            ("congestion", "cubic", "transport", "congestion", "cubic"),
            ("recovery", "sack", "transport", "recovery", "sack"),
            ("seed", 7, "random", "seed", 7),
            ("set", {"browser.preloader": False}, "browser", "preloader", False),
        ],
    )
    def test_each_word_sets_its_key(
        self, word: str, value: object, section: str, key: str, expected: object
    ) -> None:
        assert values()[section][key] != expected
        assert values(**{word: value})[section][key] == expected

    def test_a_network_sets_rates_and_round_trip(self) -> None:
        network = values(connectivity="browsertime:edge")["network"]
        assert (network["rate_bps"], network["up_rate_bps"], network["rtt_ms"]) == (
            240_000,
            200_000,
            840.0,
        )
        own = loadpath.Network("mine", down_kbps=1, up_kbps=2, rtt_ms=3)
        assert values(connectivity=own)["network"]["up_rate_bps"] == 2000

    def test_scenarios_are_equal_by_value(self) -> None:
        def resolve(rtt_ms: float) -> loadpath.Scenario:
            return loadpath.resolve_scenario(rtt_ms=rtt_ms)

        assert resolve(5) == resolve(5) != resolve(6)

    def test_errors_are_of_one_family_and_carry_hints(self) -> None:
        with pytest.raises(loadpath.ScenarioError, match="unknown key") as error:
            loadpath.resolve_scenario(set={"network.rtt": 3})
        assert isinstance(error.value, loadpath.LoadpathError)
        assert error.value.__notes__ == ['hint: did you mean "network.rtt_ms"?']
        with pytest.raises(loadpath.NotFoundError, match="no network named"):
            loadpath.find_network("wpt:5g")

    def test_every_network_resolves(self) -> None:
        from loadpath.networks import NETWORKS

        for name, network in NETWORKS.items():
            assert network.name == name
            assert f"RTT {network.rtt_ms:g} ms" in describe(
                loadpath.resolve_scenario(connectivity=name)
            )

    def test_a_second_path_is_described_where_it_is_used(self) -> None:
        def line(**changes: object) -> str:
            keys = {
                f"{section}.{key}": value
                for section, _, key, value in (
                    (*name.partition("__"), value) for name, value in changes.items()
                )
            }
            return describe(loadpath.resolve_scenario(rate="10mbit", rtt_ms=20, set=keys))

        alone = line(path2__rtt_ms=100)
        assert "RTT 20 ms" in alone and "path 2" not in alone and "MPTCP" not in alone
        both = line(
            multipath__paths="independent",
            path2__rtt_ms=100,
            path2__rate_bps=2_000_000,
            path2__loss_down_fraction=0.02,
            multipath__first_path=2,
            multipath__scheduler="stream",
            multipath__congestion="none",
        )
        assert "path 1: 10 Mbit/s down, 10 Mbit/s up, RTT 20 ms, red queue; " in both
        assert "path 2: 2 Mbit/s down, 2 Mbit/s up, RTT 100 ms, 2 % loss, red queue" in both
        assert "path 2 first, MPTCP with scheduler stream and coupling none" in both
        shared = line(multipath__paths="shared-bottleneck", path2__rtt_ms=100)
        assert "path 2 behind the same bottleneck: RTT 100 ms" in shared
        assert "3 subflows on it" in line(multipath__paths="same", multipath__subflows=3)

    def test_bare_names_mean_webpagetest(self) -> None:
        assert loadpath.find_network("3G") is loadpath.find_network("wpt:3g")


class TestPages:
    @pytest.mark.parametrize("name", example_names())
    def test_every_example_loads(self, name: str) -> None:
        page = loadpath.load_graph(f"example:{name}")
        assert page.name == name
        assert page.source.startswith("synthetic: ")
        assert 0 < page.resources <= page.activities

    def test_a_path_and_an_example_are_the_same_page(self) -> None:
        a, b = loadpath.load_graph(EXAMPLES / "spdy-page-a.json"), "example:spdy-page-a"
        assert loadpath.simulate(a) == loadpath.simulate(b)

    def test_a_graph_that_is_wrong_says_where(self, tmp_path: Path) -> None:
        path = tmp_path / "wrong.json"
        path.write_text('{"format": "something else"}')
        with pytest.raises(loadpath.GraphError, match=r"wrong\.json"):
            loadpath.load_graph(path)


class TestSimulate:
    def test_runs_are_numbered_and_typed(self) -> None:
        first, second = loadpath.simulate("example:figure-3-1", runs=2, rate="1mbit", rtt_ms=40)
        assert (first.run, second.run, first.page) == (0, 1, "figure-3-1")
        assert first.label == "simulated"
        assert first.status.result == "complete"
        assert first.plt_ms is not None
        assert first.trace is None

    def test_a_trace_comes_when_asked_for(self) -> None:
        [plain] = loadpath.simulate("example:figure-3-1")
        [traced] = loadpath.simulate("example:figure-3-1", trace=True)
        assert traced.trace is not None
        assert msgspec.structs.replace(traced, trace=None) == plain

    def test_figures_are_those_of_the_outcomes(self) -> None:
        page = loadpath.load_graph("example:shape-amazon")
        scenarios = [loadpath.resolve_scenario(http=http) for http in ("h1", "h2")]
        jobs = [(page, scenario, run) for scenario in scenarios for run in range(3)]
        finished: list[int] = []
        figures = loadpath.summarise_many(jobs, progress=finished.append)
        outcomes = loadpath.simulate_many(jobs)
        assert figures == [outcome.summary() for outcome in outcomes]
        assert finished[-1] == len(jobs)

    def test_an_error_in_progress_ends_the_batch(self) -> None:
        page = loadpath.load_graph("example:figure-3-1")
        jobs = [(page, loadpath.resolve_scenario(), run) for run in range(3)]

        def fail(done: int) -> None:
            raise RuntimeError("enough")

        for batch in (loadpath.simulate_many, loadpath.summarise_many):
            with pytest.raises(RuntimeError, match="enough"):
                batch(jobs, progress=fail)


def test_outcomes_survive_json() -> None:
    outcome = scripted_outcome()
    assert Outcome.from_json(outcome.to_json()) == outcome
    assert isinstance(outcome.summary(), Summary)
    assert "trace" not in json.loads(msgspec.structs.replace(outcome, trace=None).to_json())


def test_the_types_of_outcomes_have_the_engines_fields() -> None:
    """Missing fields would be read as errors, additional ones dropped in silence."""
    for trace in (False, True):
        [raw] = [
            loadpath._core.simulate(
                loadpath.load_graph("example:figure-3-1"),
                loadpath.resolve_scenario(),
                0,
                trace=trace,
            )
        ]
        typed = json.loads(Outcome.from_json(raw).to_json())
        assert _shape(typed) == _shape(json.loads(raw))


def _shape(value: object) -> object:
    """Keys, all the way down; of lists the union over their elements."""
    if isinstance(value, dict):
        return {key: _shape(field) for key, field in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        merged: dict[str, object] = {}
        for element in value:
            merged |= {key: _shape(field) for key, field in element.items()}
        return [merged]
    return None

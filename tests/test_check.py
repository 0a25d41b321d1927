"""The gate: budgets, baselines, exit status, JUnit, Markdown."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Loadpath
from loadpath.errors import LoadpathError
from loadpath.experiments.gate import (
    Measurement,
    Verdict,
    check_page,
    junit,
    markdown,
    read_budgets,
)
from loadpath.experiments.gate.budget import matching_budget
from loadpath.experiments.gate.measurement import Counted

PAGE = "example:shape-google"


def _write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def _measured(load_ms: list[float], **fields: Any) -> Measurement:
    values: dict[str, Any] = {
        "page": "home",
        "url": "https://www.shop.example/a/b?c",
        "network": "somewhere",
        "scenario": {"profile": "linux", "network": {"rtt_ms": 40.0}},
        "runs": len(load_ms),
        "timings_ms": {"load": load_ms, "domContentLoaded": [ms / 2 for ms in load_ms]},
        "resources": [
            Counted("www.shop.example", "document", 2048),
            Counted("img.shop.example", "image", 1024),
            Counted("ads.example", "script", 3072),
        ],
    }
    return Measurement(**values | fields)


class TestBudgets:
    @pytest.mark.parametrize(
        ("pattern", "matches"),
        [
            ("/", True),
            ("/a", True),
            ("/b", False),
            ("/a/b?c$", True),
            ("/a/b$", False),
            ("/*b", True),
            ("/*c$", True),
            ("/a/*/b", False),
        ],
    )
    def test_paths_are_patterns_of_robots_txt(
        self, tmp_path: Path, pattern: str, matches: bool
    ) -> None:
        budgets = read_budgets(_write(tmp_path / "b.json", [{"path": pattern}]))
        assert (matching_budget(budgets, "https://x.example/a/b?c") is not None) == matches

    def test_the_last_budget_that_matches_applies(self, tmp_path: Path) -> None:
        budgets = read_budgets(
            _write(tmp_path / "b.json", [{}, {"path": "/a"}, {"path": "/other"}])
        )
        found = matching_budget(budgets, "https://x.example/a")
        assert found is not None and found.path == "/a"

    @pytest.mark.parametrize(
        ("budget", "words"),
        [
            ({}, "expected a list"),
            ([], "expected a list"),
            ([{"paths": "/"}], r"\[0\]: unknown 'paths'"),
            ([{"path": "a"}], "does not begin with a slash"),
            ([{"path": "/*/*"}], r"one \* at most"),
            ([{"timings": [{"metric": "plt", "budget": 1}]}], r"timings\[0\].metric: 'plt'"),
            ([{"timings": [{"metric": "load"}]}], r"timings\[0\].budget: None"),
            (
                [{"resourceSizes": [{"resourceType": "css", "budget": 1}]}],
                r"resourceSizes\[0\].resourceType: 'css'",
            ),
            (
                [{"resourceCounts": [{"resourceType": "font", "budget": -1}]}],
                r"resourceCounts\[0\].budget: -1",
            ),
            ([{"options": {"firstPartyHostnames": "a"}}], "expected a list of host names"),
        ],
    )
    def test_errors_name_file_and_field(self, tmp_path: Path, budget: object, words: str) -> None:
        path = _write(tmp_path / "b.json", budget)
        with pytest.raises(LoadpathError, match=words) as error:
            read_budgets(path)
        assert str(path) in str(error.value)


class TestChecks:
    def test_times_sizes_and_counts(self, tmp_path: Path) -> None:
        budget = {
            "timings": [
                {"metric": "load", "budget": 100, "tolerance": 10},
                {"metric": "domContentLoaded", "budget": 40},
                {"metric": "interactive", "budget": 1},
            ],
            "resourceSizes": [
                {"resourceType": "total", "budget": 6},
                {"resourceType": "third-party", "budget": 2},
                {"resourceType": "font", "budget": 0},
            ],
            "resourceCounts": [
                {"resourceType": "third-party", "budget": 1},
                {"resourceType": "image", "budget": 0},
            ],
        }
        budgets = read_budgets(_write(tmp_path / "b.json", [budget]))
        checks = check_page(_measured([109.0, 110.0, 500.0]), budgets=budgets)
        assert {check.what: (check.verdict, check.value) for check in checks} == {
            "load": (Verdict.PASSED, 110.0),
            "domContentLoaded": (Verdict.BROKEN, 55.0),
            "interactive": (Verdict.SKIPPED, None),
            "total size": (Verdict.PASSED, 6.0),
            "third-party size": (Verdict.BROKEN, 3.0),
            "font size": (Verdict.PASSED, 0.0),
            "third-party count": (Verdict.PASSED, 1),
            "image count": (Verdict.BROKEN, 1),
        }

    def test_first_parties_can_be_named(self, tmp_path: Path) -> None:
        budget = {
            "options": {"firstPartyHostnames": ["*.shop.example", "ads.example"]},
            "resourceCounts": [{"resourceType": "third-party", "budget": 0}],
        }
        budgets = read_budgets(_write(tmp_path / "b.json", [budget]))
        [check] = check_page(_measured([1.0]), budgets=budgets)
        assert check.verdict is Verdict.PASSED

    def test_a_page_without_budget_is_an_error(self, tmp_path: Path) -> None:
        budgets = read_budgets(_write(tmp_path / "b.json", [{"path": "/elsewhere"}]))
        with pytest.raises(LoadpathError, match="no budget is for"):
            check_page(_measured([1.0]), budgets=budgets)

    @pytest.mark.parametrize(
        ("now", "verdict"),
        [
            ([100.0, 200.0, 300.0], Verdict.PASSED),
            ([103.0, 203.0, 303.0], Verdict.BROKEN),
            # Slower by 5 ms in the mean, but the runs do not agree.
            ([100.0, 215.0, 300.0], Verdict.PASSED),
            # Slower for sure, by less than a per cent.
            ([101.0, 201.0, 301.0], Verdict.PASSED),
            ([50.0, 100.0, 200.0], Verdict.PASSED),
        ],
    )
    def test_slower_than_the_baseline_means_beyond_interval_and_tolerance(
        self, now: list[float], verdict: Verdict
    ) -> None:
        checks = check_page(_measured(now), baseline=_measured([100.0, 200.0, 300.0]))
        [load] = [check for check in checks if check.what.startswith("load")]
        assert load.verdict is verdict

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"url": "https://other.example/"}, "is of https://other.example/"),
            ({"scenario": {"profile": "linux", "network": {"rtt_ms": 80.0}}}, "network.rtt_ms"),
            ({"scenario": {"profile": "pcp", "network": {"rtt_ms": 40.0}}}, "profile = 'pcp'"),
            ({"runs": 7}, "has 7 runs"),
        ],
    )
    def test_a_baseline_of_something_else_is_an_error(
        self, fields: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(LoadpathError, match=words):
            check_page(_measured([1.0]), baseline=_measured([1.0], **fields))


def test_junit_and_markdown_tell_the_same(tmp_path: Path) -> None:
    budget = {
        "timings": [{"metric": "load", "budget": 1}, {"metric": "speed-index", "budget": 1}],
        "resourceCounts": [{"resourceType": "total", "budget": 9}],
    }
    measured = _measured([100.0])
    budgets = read_budgets(_write(tmp_path / "b.json", [budget]))
    checks = check_page(measured, budgets=budgets)
    suites = ElementTree.fromstring(junit(measured, checks))
    [suite] = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failed = [
        case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None
    ]
    assert failed == ["load"]
    text = markdown(measured, checks)
    assert "1 of 3 checks broken" in text and "| load | **broken** |" in text


class TestCommand:
    def test_exit_status_says_what_came_of_it(self, loadpath: Loadpath, tmp_path: Path) -> None:
        count = [{"resourceType": "total", "budget": 1000}]
        _write(tmp_path / "wide.json", [{"resourceCounts": count}])
        _write(tmp_path / "narrow.json", [{"timings": [{"metric": "load", "budget": 1}]}])
        (tmp_path / "broken.json").write_text("[")
        passed = loadpath("check", PAGE, "--budget", "wide.json", "-n", "2", "--save", "old.json")
        assert passed.returncode == 0, passed.stderr
        again = loadpath("check", PAGE, "--baseline", "old.json", "-n", "2")
        assert again.returncode == 0, again.stderr
        outputs = ("--junit", "out.xml", "--markdown", "out.md")
        broken = loadpath("check", PAGE, "--budget", "narrow.json", "-n", "2", *outputs)
        assert (broken.returncode, "broken" in broken.stdout) == (3, True)
        assert ElementTree.parse(tmp_path / "out.xml").getroot().get("failures") == "1"
        assert "checks broken" in (tmp_path / "out.md").read_text()
        for arguments in (
            ("--budget", "broken.json"),
            ("--budget", "nothing.json"),
            ("--baseline", "wide.json"),
            (),
        ):
            wrong = loadpath("check", PAGE, *arguments)
            assert wrong.returncode == 1, arguments
            assert wrong.stderr.startswith("error:")

    def test_json(self, loadpath: Loadpath, tmp_path: Path) -> None:
        _write(tmp_path / "b.json", [{"timings": [{"metric": "load", "budget": 1}]}])
        result = loadpath("check", PAGE, "--budget", "b.json", "-n", "1", "--json")
        assert result.returncode == 3
        found = json.loads(result.stdout)
        assert found["broken"] and found["checks"][0]["verdict"] == "broken"

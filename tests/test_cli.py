"""Standard output, standard error, exit status and files of every verb."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import pytest

from conftest import Loadpath

PAGE = "example:figure-3-1"
VERBS = [
    "simulate",
    "advise",
    "check",
    "waterfall",
    "timesequence",
    "export",
    "import",
    "transform",
    "profile",
    "archive",
    "reproduce",
    "sweep",
    "query",
    "table",
    "figure",
    "report",
    "profiles",
    "scenario",
    "doctor",
]


def test_version_is_the_crates(loadpath: Loadpath) -> None:
    result = loadpath("--version")
    cargo = tomllib.loads((Path(__file__).parent.parent / "Cargo.toml").read_text())
    assert result.stdout == f"loadpath {cargo['workspace']['package']['version']}\n"
    assert (result.returncode, result.stderr) == (0, "")


def test_help_lists_every_verb(loadpath: Loadpath) -> None:
    result = loadpath("--help")
    assert result.returncode == 0
    for verb in VERBS:
        assert verb in result.stdout
        assert loadpath(verb, "--help").returncode == 0


class TestSimulate:
    def test_it_prints_a_table_of_medians(self, loadpath: Loadpath) -> None:
        result = loadpath("simulate", PAGE, "example:spdy-page-a", "-n", "3")
        header, first, second = result.stdout.splitlines()
        assert header.split()[:3] == ["page", "runs", "PLT"]
        assert first.split()[:2] == ["figure-3-1", "3"]
        assert second.split()[:2] == ["spdy-page-a", "3"]
        assert float(first.split()[2]) > 0
        assert result.returncode == 0

    def test_the_numbers_that_a_name_resolved_to_are_printed(self, loadpath: Loadpath) -> None:
        result = loadpath("simulate", PAGE, "-c", "3g")
        assert "1.6 Mbit/s down, 768 kbit/s up, RTT 300 ms" in result.stderr
        result = loadpath("simulate", PAGE, "-c", "browserstack:3g-umts-lossy")
        assert "200 kbit/s down, 50 kbit/s up, RTT 200 ms, 1 % loss" in result.stderr

    def test_later_parameters_win(self, loadpath: Loadpath, tmp_path: Path) -> None:
        (tmp_path / "my.toml").write_text("[network]\nrtt_ms = 7\nrate_bps = '1mbit'\n")
        flags = [
            "--scenario",
            "my.toml",
            "-c",
            "lte",
            "--rtt",
            "33ms",
            "--set",
            "network.rtt_ms=44",
        ]

        def rtt(*options: str) -> float:
            values = json.loads(loadpath("scenario", "--json", *options).stdout)
            return float(values["network"]["rtt_ms"])

        assert [rtt(*flags[:2]), rtt(*flags[:4]), rtt(*flags[:6]), rtt(*flags)] == [7, 70, 33, 44]

    def test_json_is_one_document_with_scenario_and_outcomes(self, loadpath: Loadpath) -> None:
        result = loadpath("simulate", PAGE, "-n", "2", "--json", "--http", "h1", "--seed", "5")
        document = json.loads(result.stdout)
        assert document["scenario"]["http"]["version"] == "http/1.1"
        assert [outcome["run"] for outcome in document["outcomes"]] == [0, 1]
        assert {outcome["seed"] for outcome in document["outcomes"]} == {5}
        assert {outcome["label"] for outcome in document["outcomes"]} == {"simulated"}
        assert "trace" not in document["outcomes"][0]
        traced = loadpath("simulate", PAGE, "--json", "--trace")
        assert "trace" in json.loads(traced.stdout)["outcomes"][0]

    def test_the_same_command_prints_the_same_on_any_number_of_threads(
        self, loadpath: Loadpath
    ) -> None:
        command = ["simulate", PAGE, "-n", "5", "--json", "--rate", "1mbit"]
        outputs = {loadpath(*command, "--threads", threads).stdout for threads in "012"}
        assert len(outputs) == 1

    def test_a_folder_means_all_graphs_in_it(self, loadpath: Loadpath, tmp_path: Path) -> None:
        pages = Path(__file__).parent.parent / "examples" / "pages"
        folder = tmp_path / "pages"
        folder.mkdir()
        for name in ("figure-3-1.json", "mobile-10-large.json", "index.json"):
            (folder / name).write_bytes((pages / name).read_bytes())
        rows = loadpath("simulate", "pages").stdout.splitlines()[1:]
        assert [row.split()[0] for row in rows] == ["figure-3-1", "mobile-10-large"]


class TestErrors:
    """One clear error, status 1, nothing on standard output, no file."""

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["simulate", "nowhere.json"], "error: there is no page graph nowhere.json"),
            (["simulate", "example:nowhere"], "there is no example page 'example:nowhere'"),
            (["simulate", PAGE, "--rate", "0"], "network.rate_bps = 0: expected a rate from 1000"),
            (["simulate", PAGE, "--rtt", "nan"], "network.rtt_ms = nan: expected milliseconds"),
            (["simulate", PAGE, "--rtt", "-1"], "network.rtt_ms = -1: expected milliseconds"),
            (["simulate", PAGE, "--connections", "13"], "from 1 to 12"),
            (["simulate", PAGE, "--http", "h4"], "expected one of http/1.0, http/1.1"),
            (["simulate", PAGE, "--set", "network.rtt=4"], 'unknown key "network.rtt"'),
            (["simulate", PAGE, "--set", "network.rtt=4"], 'hint: did you mean "network.rtt_ms"?'),
            (["simulate", PAGE, "--set", "nonsense"], "--set nonsense: expected KEY=VALUE"),
            (["simulate", PAGE, "-c", "5g"], "error: there is no network named '5g'"),
            (["simulate", PAGE, "-c", "5g"], "hint: `loadpath profiles` lists them"),
            (["simulate", PAGE, "--profile", "bsd"], "profiles are pcp, linux"),
            (["simulate", PAGE, "-n", "0"], "error: Invalid value for '-n'"),
            (["simulate", PAGE, "--nope"], "error: No such option: --nope"),
            (["simulate", PAGE, "--scenario", "none.toml"], "cannot read none.toml"),
            (["simulate"], "Missing argument"),
            (["simulate", "."], "there are no page graphs (*.json) in ."),
            (["nonsense"], "No such command 'nonsense'"),
            (["export", PAGE, "--format", "pdf"], "'pdf' is not one of"),
            (["timesequence", PAGE, "--connection", "99"], "there is no connection 99"),
            (["reproduce", "nonsense"], "there is no preset named 'nonsense'"),
            (["import", "nowhere", "-o", "out"], "nowhere is not a folder with index.json"),
            (["import", ".", "-o", "out"], ". has neither index.json nor dependency_graphs"),
            (["waterfall", PAGE, "-o", "no/such/folder.svg"], "cannot write no/such/folder.svg"),
        ],
    )
    def test_wrong_arguments(
        self, loadpath: Loadpath, tmp_path: Path, arguments: list[str], expected: str
    ) -> None:
        result = loadpath(*arguments)
        assert expected in result.stderr
        assert "Traceback" not in result.stderr
        assert (result.returncode, result.stdout) == (1, "")
        assert list(tmp_path.iterdir()) == []

    GRAPH = (Path(__file__).parent.parent / "examples/pages/figure-3-1.json").read_bytes()

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"", "page.json"),
            (GRAPH[: len(GRAPH) // 2], "page.json"),
            (b"\xff\xfe" + GRAPH, "page.json"),
            (b"[]", "page.json"),
            (GRAPH.replace(b'"size_bytes":763', b'"size_bytes":NaN'), "size_bytes"),
            (GRAPH.replace(b'"size_bytes":763', b'"size_bytes":-1'), "size_bytes"),
            (GRAPH.replace(b'"version": 1', b'"version": 99'), "version"),
            (GRAPH.replace(b'"load_event": "comp_4"', b'"load_event": "comp_x"'), "comp_x"),
            (GRAPH.replace(b'"id":"comp_3"', b'"id":"comp_4"'), "comp_4"),
            (
                GRAPH.replace(b'"version": 1', b'"version": 1, "server_delay_file": "none.json"'),
                "there is no none.json beside it",
            ),
            (
                GRAPH.replace(b'"version": 1', b'"version": 1, "server_delay_file": "../d.json"'),
                "server_delay_file",
            ),
        ],
        ids=[
            "empty",
            "truncated",
            "not UTF-8",
            "not an object",
            "NaN",
            "negative",
            "version",
            "dangling",
            "duplicate id",
            "no delays",
            "delays elsewhere",
        ],
    )
    def test_wrong_graphs(
        self, loadpath: Loadpath, tmp_path: Path, content: bytes, expected: str
    ) -> None:
        assert content != self.GRAPH
        (tmp_path / "page.json").write_bytes(content)
        for verb in (["simulate"], ["waterfall"], ["export", "--format", "har"]):
            result = loadpath(verb[0], "page.json", *verb[1:])
            assert result.stderr.startswith("error: page.json"), result.stderr
            assert expected in result.stderr
            assert (result.returncode, result.stdout) == (1, "")
        assert [path.name for path in tmp_path.iterdir()] == ["page.json"]

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"network = [", "not TOML"),
            (b"[network]\nspeed = 3\n", 'unknown key "network.speed"'),
            (b"[network]\nrtt_ms = 'fast'\n", 'network.rtt_ms = "fast": expected milliseconds'),
            (b"[network]\nrate_bps = 0\n", "network.rate_bps = 0"),
            (b"[http]\nconnections_per_host = 13\n", "from 1 to 12"),
            (b"profile = 3\n", "profile: expected a name"),
            (b"\xff", "not UTF-8 at byte 0"),
        ],
    )
    def test_wrong_scenario_files(
        self, loadpath: Loadpath, tmp_path: Path, content: bytes, expected: str
    ) -> None:
        (tmp_path / "my.toml").write_bytes(content)
        result = loadpath("simulate", PAGE, "--scenario", "my.toml")
        assert result.stderr.startswith("error: my.toml: "), result.stderr
        assert expected in result.stderr
        assert (result.returncode, result.stdout) == (1, "")

    def test_an_error_of_our_own_is_status_2(self, tmp_path: Path) -> None:
        program = (
            "import sys, loadpath.cli.doctor as d, loadpath.cli as c\n"
            "d.examine = lambda: 1 / 0\n"
            "sys.exit(c.run(['doctor']))"
        )
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert result.returncode == 2
        assert "Traceback" in result.stderr
        assert "error: internal error: division by zero" in result.stderr
        assert "hint: this is a mistake in Loadpath" in result.stderr


class TestFiles:
    FILES: ClassVar = {
        "waterfall": ["waterfall", PAGE],
        "timesequence": ["timesequence", PAGE],
        "har": ["export", PAGE, "--format", "har"],
        "chrome-trace": ["export", PAGE, "--format", "chrome-trace"],
        "pcapng": ["export", PAGE, "--format", "pcapng"],
        "qlog": ["export", PAGE, "--format", "qlog"],
    }

    @pytest.mark.parametrize("name", FILES)
    def test_a_file_gets_a_name_which_is_printed(
        self, loadpath: Loadpath, tmp_path: Path, name: str
    ) -> None:
        result = loadpath(*self.FILES[name])
        [path] = tmp_path.iterdir()
        assert result.stdout == f"{path.name}\n"
        assert path.name.startswith("figure-3-1.")
        assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()

    @pytest.mark.parametrize("name", FILES)
    def test_nothing_is_replaced_without_force(
        self, loadpath: Loadpath, tmp_path: Path, name: str
    ) -> None:
        target = tmp_path / "file"
        target.write_text("precious")
        result = loadpath(*self.FILES[name], "-o", "file")
        assert "error: file exists already" in result.stderr
        assert "--force" in result.stderr
        assert (result.returncode, target.read_text()) == (1, "precious")
        assert loadpath(*self.FILES[name], "-o", "file", "--force").returncode == 0
        assert target.read_bytes() != b"precious"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_dash_is_standard_output(self, loadpath: Loadpath, tmp_path: Path) -> None:
        result = loadpath("waterfall", PAGE, "-o", "-")
        assert ElementTree.fromstring(result.stdout).tag.endswith("svg")
        assert list(tmp_path.iterdir()) == []


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class TestLists:
    def test_profiles_lists_networks_with_full_round_trips(self, loadpath: Loadpath) -> None:
        networks = {n["name"]: n for n in json.loads(loadpath("profiles", "--json").stdout)}
        assert networks["wpt:3g"]["rtt_ms"] == networks["browsertime:3g"]["rtt_ms"] == 300
        assert networks["lighthouse:slow4g"]["down_kbps"] == 1638.4
        table = loadpath("profiles").stdout
        assert all(name in table for name in networks)

    def test_profiles_lists_pages_that_load(self, loadpath: Loadpath) -> None:
        pages = json.loads(loadpath("profiles", "--pages", "--json").stdout)
        assert len(pages) == 24
        names = [f"example:{page['name']}" for page in pages]
        assert loadpath("simulate", *names).returncode == 0

    def test_scenario_prints_a_scenario_file(self, loadpath: Loadpath, tmp_path: Path) -> None:
        text = loadpath("scenario", "--profile", "linux", "--rtt", "123").stdout
        (tmp_path / "my.toml").write_text(text)
        assert loadpath("scenario", "--scenario", "my.toml").stdout == text
        assert tomllib.loads(text)["network"]["rtt_ms"] == 123

    def test_scenario_documents_every_key(self, loadpath: Loadpath) -> None:
        keys = json.loads(loadpath("scenario", "--keys", "--json").stdout)
        values = tomllib.loads(loadpath("scenario").stdout)
        assert {key["name"] for key in keys} == {
            f"{section}.{key}"
            for section, fields in values.items()
            if isinstance(fields, dict)
            for key in fields
        }
        assert all(key["doc"] and key["pcp_source"] and key["allowed"] for key in keys)
        table = loadpath("scenario", "--keys").stdout
        assert all(key["name"] in table for key in keys)

    def test_reproduce_lists_presets(self, loadpath: Loadpath) -> None:
        result = loadpath("reproduce")
        assert result.returncode == 0
        assert result.stdout.startswith("preset")

    def test_doctor_says_that_simulation_works(self, loadpath: Loadpath) -> None:
        result = loadpath("doctor")
        assert result.returncode == 0
        assert "simulation" in result.stdout
        findings = json.loads(loadpath("doctor", "--json").stdout)
        assert all(finding["ok"] for finding in findings if finding["required"])


class TestShell:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion_scripts_are_printed(self, shell: str) -> None:
        result = _complete(shell, f"source_{shell}")
        assert "loadpath" in result

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("loadpath sim", "simulate"),
            ("loadpath simulate --prio", "--priorities"),
            ("loadpath simulate example:fig", "example:figure-3-1"),
            ("loadpath simulate -c lighthouse:", "lighthouse:slow4g"),
        ],
    )
    def test_words_are_completed(self, words: str, expected: str) -> None:
        assert expected in _complete("bash", "complete_bash", words)

    def test_a_reader_that_leaves_is_no_error(self, tmp_path: Path) -> None:
        command = f"{sys.executable} -m loadpath scenario --keys --json | head -c 1"
        result = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False
        )
        assert (result.stdout, result.stderr) == ("[", "")

    def test_ctrl_c_ends_a_batch_at_once(self, tmp_path: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "loadpath", "simulate", "example:mobile-12mb", "-n", "200000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(3)
        assert process.poll() is None, "the batch is still running"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert out == ""
        assert err.endswith("interrupted\n")
        assert "Traceback" not in err


def _complete(shell: str, instruction: str, words: str = "") -> str:
    environment = os.environ | {
        "_LOADPATH_COMPLETE": instruction,
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    program = "import sys; sys.argv[0] = 'loadpath'; from loadpath.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return result.stdout


def test_csv_tables_have_a_header() -> None:
    from loadpath.experiments.preset import Result

    result = Result(title="t", columns=["a", "b"], rows=[["x,y", 1.5], ["z", None]])
    assert list(csv.reader(result.to_csv().splitlines())) == [
        ["a", "b"],
        ["x,y", "1.5"],
        ["z", ""],
    ]
    assert result.to_records()[0] == {"a": "x,y", "b": 1.5}


def test_verbs_that_need_no_extra_do_without() -> None:
    """The plain package starts without the packages of its extras, and no later than it must."""
    code = (
        "import sys, loadpath.cli.app\n"
        "extras = {'distributed', 'duckdb', 'matplotlib', 'pyarrow', 'scipy'}\n"
        "sys.exit(str(extras & set(sys.modules)) if extras & set(sys.modules) else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr

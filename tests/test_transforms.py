"""Changed pages: by API, command line and in sweeps."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Loadpath
from loadpath import LoadpathError
from loadpath.analysis.cells import cell_table, comparison_table, stored_specification
from loadpath.analysis.query import open_tables, run_query
from loadpath.errors import SpecificationError, TransformError
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import run_cells
from loadpath.experiments.page_set import PageSet
from loadpath.experiments.preset import PresetOptions
from loadpath.pages import load_graph
from loadpath.transforms import transform_forms, transformed, write_transformed
from sweeps import rows, run, specification

HOSTS = ("www.a.com", "i.a.com", "j.a.com", "b.com")


def graph(delays: str | None = None) -> dict[str, Any]:
    """A document that needs a file of each host."""
    files: list[dict[str, Any]] = [
        {
            "id": f"r{n}",
            "type": "resource",
            "url": f"http://{host}/{n}",
            "size_bytes": 20_000,
            "server_delay_ms": 20,
            "children": ["load"],
        }
        for n, host in enumerate(HOSTS)
    ]
    files[0]["children"] = ["r1", "r2", "r3"]
    load = {"id": "load", "type": "evaluation", "frame": 0, "kind": "event", "duration_ms": 0}
    return {
        "format": "loadpath-page-graph",
        "version": 1,
        "name": "four",
        "url": files[0]["url"],
        "root": "r0",
        "load_event": "load",
        "dom_content_loaded_event": "load",
        "frames": [{"id": 0, "url": files[0]["url"]}],
        "activities": [*files, load],
        **({} if delays is None else {"server_delay_file": delays}),
    }


@pytest.fixture
def four(tmp_path: Path) -> Path:
    file = tmp_path / "pages" / "four.json"
    file.parent.mkdir()
    file.write_text(json.dumps(graph()))
    return file


def test_transforms_are_applied_in_their_order(four: Path) -> None:
    page = transformed(load_graph(four), ["unshard", "cut-bytes:other:50"])
    assert (load_graph(four).hosts, page.hosts) == (4, 2)
    changed = json.loads(page.to_json())
    assert changed["source"] == "transformed: unshard; transformed: cut-bytes:other:50"
    assert {a["size_bytes"] for a in changed["activities"][:4]} == {10_000}


def test_what_there_is_not_is_an_error_with_what_there_is(four: Path) -> None:
    with pytest.raises(TransformError, match="transform unshrad: there is no such") as error:
        transformed(load_graph(four), ["unshrad"])
    assert "unshard[:thesis]" in error.value.__notes__[0]
    assert any(form.startswith("unshard") for form, _ in transform_forms())


class TestCommand:
    def test_it_writes_a_page_graph(self, loadpath: Loadpath, four: Path, tmp_path: Path) -> None:
        result = loadpath("transform", four, "unshard:own", "-o", "changed.json")
        assert (result.returncode, result.stdout) == (0, "changed.json\n")
        assert load_graph(tmp_path / "changed.json").hosts == 2
        assert loadpath("transform", four, "unshard", "-o", "changed.json").returncode == 1
        on_stdout = loadpath("transform", four, "unshard:own", "-o", "-").stdout
        assert on_stdout == (tmp_path / "changed.json").read_text()

    def test_it_lists_what_there_is(self, loadpath: Loadpath) -> None:
        assert "unshard[:thesis]" in loadpath("transform").stdout
        listed = json.loads(loadpath("transform", "--json").stdout)
        assert [entry["transform"] for entry in listed] == [form for form, _ in transform_forms()]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["pages/four.json"], "change what?"),
            (["pages/four.json", "unshard"], "where to?"),
            (["pages/four.json", "unshard:x", "-o", "out.json"], 'there is no option "x"'),
            (["nowhere.json", "unshard", "-o", "out.json"], "there is no page graph nowhere.json"),
        ],
    )
    def test_mistakes_are_explained(
        self, loadpath: Loadpath, four: Path, tmp_path: Path, arguments: list[str], message: str
    ) -> None:
        result = loadpath("transform", *arguments)
        assert (result.returncode, result.stdout) == (1, "")
        assert message in result.stderr
        assert "hint:" in result.stderr
        assert not (tmp_path / "out.json").exists()

    def test_pages_are_simulated_after_it(self, loadpath: Loadpath, four: Path) -> None:
        command = ["simulate", four, "--http", "h2", "--json"]
        before = json.loads(loadpath(*command).stdout)["outcomes"][0]
        after = json.loads(loadpath(*command, "--transform", "unshard").stdout)["outcomes"][0]
        hosts = [[c["host"] for c in outcome["connections"]] for outcome in (before, after)]
        assert hosts == [list(HOSTS), ["a.com", "b.com"]]

    def test_recordings_are_imported_after_it(self, loadpath: Loadpath, tmp_path: Path) -> None:
        entry = {
            "startedDateTime": "2020-01-01T00:00:00Z",
            "time": 1,
            "request": {"method": "GET"},
            "response": {"status": 200, "content": {"mimeType": "text/html", "size": 10}},
            "timings": {"send": 0, "wait": 1, "receive": 0},
        }
        urls = ("http://www.a.com/", "http://i.a.com/x")
        entries = [entry | {"request": {"method": "GET", "url": url}} for url in urls]
        (tmp_path / "a.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
        result = loadpath("import", "a.har", "-o", "a.json", "--transform", "unshard")
        assert result.returncode == 0, result.stderr
        assert load_graph(tmp_path / "a.json").hosts == 1


def test_server_delays_are_written_beside_the_changed_graph(tmp_path: Path) -> None:
    classes = ("css", "image", "javascript", "text", "post", "other")
    delays = json.dumps(
        {
            "format": "loadpath-server-delays",
            "version": 1,
            "classes": {name: [[1, 0], [2, 1]] for name in classes},
        }
    )
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        folder.mkdir()
    (source / "server-delays.json").write_text(delays)
    (source / "four.json").write_text(json.dumps(graph("server-delays.json")))
    write_transformed(source / "four.json", ["unshard"], target / "four.json")
    assert (target / "server-delays.json").read_text() == delays
    assert load_graph(target / "four.json").hosts == 2
    (target / "server-delays.json").write_text(delays + " ")
    with pytest.raises(LoadpathError, match=r"is not the server-delays\.json of"):
        write_transformed(source / "four.json", ["unshard"], target / "other.json")
    assert not (target / "other.json").exists()


def sweep_text(four: Path, transforms: str = '["none", "unshard"]') -> str:
    return (
        f'runs = 2\npages = {{ include = ["{four}", "example:figure-3-1"], '
        f"transform = {transforms} }}\n"
        '[matrix]\nnetwork.rtt_ms = [10, 100]\n[scenario]\nhttp.version = "h2"\n'
        '[compare.unsharding]\nbaseline = { transform = "none" }\n'
    )


class TestSweep:
    def test_every_page_is_loaded_after_every_transform(self, four: Path, tmp_path: Path) -> None:
        records = rows(run(sweep_text(four), tmp_path).folder).to_pylist()
        assert len(records) == 2 * 2 * 2 * 2
        assert [record["row"] for record in records] == list(range(16))
        for record in records:
            page = load_graph(four if record["page"] == "four" else "example:figure-3-1")
            if record["transform"] == "unshard":
                page = page.transformed("unshard")
            assert record["connections"] == page.hosts
        assert {(r["page"], r["transform"]) for r in records} == {
            (page, transform)
            for page in ("four", "figure-3-1")
            for transform in ("none", "unshard")
        }

    def test_pairs_are_of_one_page_and_run(self, four: Path, tmp_path: Path) -> None:
        folder = run(sweep_text(four), tmp_path).folder
        plts = {
            (r["page"], r["network.rtt_ms"], r["run"], r["transform"]): r["plt_ms"]
            for r in rows(folder).to_pylist()
        }
        [comparison] = stored_specification(folder).comparisons
        for record in comparison_table(folder, comparison):
            rtt = record["network.rtt_ms"]
            assert (record["transform"], record["sites"], record["pairs"]) == ("unshard", 2, 4)
            expected = [
                plts[page, rtt, n, "none"] - plts[page, rtt, n, "unshard"]
                for page in ("four", "figure-3-1")
                for n in range(2)
            ]
            assert record["difference_mean"] == pytest.approx(sum(expected) / 4)
            assert record["difference_mean"] != 0
        assert len(cell_table(folder, ["transform", "network.rtt_ms"], "plt_ms")) == 4

    def test_it_is_a_column_of_all_tables(self, four: Path, tmp_path: Path) -> None:
        folder = run(sweep_text(four), tmp_path).folder
        assert folder.manifest.axes == ["transform", "network.rtt_ms"]
        with open_tables([folder]) as connection:
            for table, count in (("loads", 8), ("planned", 8), ("pages", 2)):
                sql = f"SELECT count(*) FROM {table} WHERE transform = 'unshard'"
                assert run_query(connection, sql).fetchall() == [(count,)]
            joined = "SELECT count(*) FROM loads JOIN planned USING (row, page, transform, run)"
            assert run_query(connection, joined).fetchall() == [(16,)]

    def test_the_resolved_plan_is_the_same_plan(self, four: Path, tmp_path: Path) -> None:
        result = run(sweep_text(four), tmp_path / "first")
        resolved = (result.folder.path / "plan.resolved.toml").read_text()
        assert run(resolved, tmp_path / "second").plan.digest == result.plan.digest

    def test_transforms_are_part_of_what_a_plan_goes_by(self, four: Path, tmp_path: Path) -> None:
        lists = ('["none"]', '["unshard"]', '["none", "unshard"]', '["unshard:own", "none"]')
        digests = {
            run(sweep_text(four, transforms).split("[compare")[0], tmp_path).plan.digest
            for transforms in lists
        }
        plain = re.sub(r", transform = \[.*\]", "", sweep_text(four, '["none"]').split("[comp")[0])
        digests.add(run(plain, tmp_path).plan.digest)
        assert len(digests) == 5

    def test_loads_of_unchanged_pages_are_found_in_other_plans(
        self, four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = rows(run(sweep_text(four), tmp_path / "alone").folder)
        run(sweep_text(four, '["none"]').split("[compare")[0], tmp_path / "shared")
        run(sweep_text(four, '["unshard"]').split("[compare")[0], tmp_path / "shared")

        def nothing(*_: object, **__: object) -> None:
            raise AssertionError("computed again")

        monkeypatch.setattr("loadpath._core.summarise_columns", nothing)
        assert rows(run(sweep_text(four), tmp_path / "shared").folder) == alone

    @pytest.mark.parametrize(
        ("transforms", "error", "message"),
        [
            ("[]", SpecificationError, "pages.transform = []: expected different transforms"),
            ('["unshard", "unshard"]', SpecificationError, "expected different transforms"),
            ("[1]", SpecificationError, "pages.transform = [1]: expected a list of texts"),
            ('["unshrad"]', TransformError, "transform unshrad: there is no such transform"),
        ],
    )
    def test_mistakes_are_found_before_the_first_load(
        self, four: Path, tmp_path: Path, transforms: str, error: type[Exception], message: str
    ) -> None:
        text = sweep_text(four, transforms).split("[compare")[0]
        with pytest.raises(error, match=re.escape(message)):
            run(text, tmp_path / "store")
        assert not (tmp_path / "store").exists()

    def test_it_belongs_to_the_pages(self, four: Path) -> None:
        with pytest.raises(SpecificationError, match="a column of the results") as error:
            specification(f'pages = ["{four}"]\n[matrix]\ntransform = ["none", "unshard"]')
        assert error.value.__notes__ == ["hint: it belongs into [pages]"]


def test_cells_of_presets_are_those_of_changed_pages(four: Path, tmp_path: Path) -> None:
    pages = PageSet.load([four]).after("unshard")
    cells = [{"network.rtt_ms": 10, "http.version": "http/2"}]
    [loads] = run_cells(pages, cells, PresetOptions(cache=tmp_path / "store"), runs=1)
    assert loads[0].connections == pages.pages[0].hosts == 2
    [original] = run_cells(
        PageSet.load([four]), cells, PresetOptions(cache=tmp_path / "store"), runs=1
    )
    assert original[0].connections == 4


def test_shards_of_the_corpus_are_those_of_the_histogram(corpus: Path) -> None:
    """Figure 5.1, as the corpus's description counts it."""
    with open_corpus(corpus) as opened:
        pages = opened.all_pages.pages
        shards = sorted(
            (p.hosts - p.transformed("unshard:thesis").hosts for p in pages), reverse=True
        )
        sharded = len(opened.sharded)
    assert shards[:4] == [61, 60, 55, 50]
    assert sum(s == 0 for s in shards) == 17 == 301 - sharded
    assert sum(s in (2, 3) for s in shards) == 48
    assert sum(20 <= s <= 42 for s in shards) == 37
    assert sum(s >= 10 for s in shards) == 117

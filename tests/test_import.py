"""Importing the corpus: a small one made here, and the real one where there is one."""

import json
from pathlib import Path

import pytest

import loadpath as lp
from conftest import Loadpath
from loadpath import _core
from loadpath.graphs.importer import SERVER_DELAYS, import_corpus, import_one

GRAPH = {
    "name": "http://www.example.com/",
    "root_activity": "download_0",
    "loadEvent": "comp_1",
    "DOMContentLoadedEvent": "comp_0",
    "frames": [{"id": 1, "url": "http://www.example.com/", "subframes": []}],
    "activities": [
        {
            "id": "download_0",
            "type": "resource",
            "url": "http://www.example.com/",
            "children": ["comp_0"],
            "httpMethod": "GET",
            "mimeType": "text/html",
            "size": 5000,
            "sentTime": 0.0,
            "receiveTime": 0.5,
            "cached": False,
            "priority": {"cp": 1, "cp-plus": 1, "depth": 1, "mime-type": 1},
            "iscrit": {"cp": True, "cp-plus": True, "depth": True, "mime-type": True},
        },
        *(
            {
                "id": f"comp_{number}",
                "type": "eval",
                "evalType": "fireEvent",
                "name": name,
                "targetType": "Document",
                "startTime": 0.6 + number,
                "endTime": 0.7 + number,
                "frame": 1,
                "docUrl": "http://www.example.com/",
                "blocking": 1,
                "mode": "dom",
                "enclosing": "None",
                "subtree": "None",
                "children": children,
            }
            for number, name, children in (
                (0, "DOMContentLoaded", ["comp_1"]),
                (1, "load", []),
            )
        ),
    ],
}
DELAYS = (
    "method hostname url size time mimetype exttype tls cached estimate\n"
    "GET www.example.com www.example.com/ 5200 0.25 text/html text 0 0 0\n"
)
DISTRIBUTION = "0 0\n0.5 1"
CLASSES = ["CSS", "Image", "Javascript", "Other", "Post", "Text"]


def in_corpus_layout(folder: Path) -> Path:
    for name in ("graphs", "delays", "dist"):
        (folder / name).mkdir(parents=True)
    (folder / "graphs" / "www.example.com_0.json").write_text(json.dumps(GRAPH))
    (folder / "delays" / "www.example.com_0.txt").write_text(DELAYS)
    for name in CLASSES:
        (folder / "dist" / f"{name}DelaysCDF.dist").write_text(DISTRIBUTION)
    entry = {
        "name": "www.example.com_0",
        "original_name": "www.example.com_0",
        "number": 0,
        "url": "http://www.example.com/",
        "graph": "graphs/www.example.com_0.json",
        "delays": "delays/www.example.com_0.txt",
        "activities": 3,
        "resources": 1,
        "load_time_recorded": 1.6,
        "no_sharding": True,
    }
    (folder / "index.json").write_text(json.dumps([entry]))
    return folder


def in_origin_layout(folder: Path) -> Path:
    graphs, delays, distributions = (folder / path for path in _core.origin_folders())
    for path in (graphs, delays, distributions):
        path.mkdir(parents=True)
    (graphs / "www.example.com_0").write_text(json.dumps(GRAPH))
    (graphs / "www.example.com_0_critpath").write_text("not a graph")
    (delays / "www.example.com_0_delay").write_text(DELAYS)
    for name in CLASSES:
        (distributions / f"{name}DelaysCDF.dist").write_text(DISTRIBUTION)
    return folder


def test_both_layouts_give_the_same(tmp_path: Path) -> None:
    import_corpus(in_corpus_layout(tmp_path / "a"), tmp_path / "from_a")
    import_corpus(in_origin_layout(tmp_path / "b"), tmp_path / "from_b")
    files = sorted(path.name for path in (tmp_path / "from_a").iterdir())
    assert files == ["index.json", SERVER_DELAYS, "www.example.com_0.json"]
    for name in files:
        assert (tmp_path / "from_a" / name).read_text() == (tmp_path / "from_b" / name).read_text()


def test_what_is_imported_loads_with_its_delays(tmp_path: Path) -> None:
    import_corpus(in_corpus_layout(tmp_path / "corpus"), tmp_path / "pages")
    page = lp.load_graph(tmp_path / "pages" / "www.example.com_0.json")
    assert page.server_delay_file == SERVER_DELAYS
    [outcome] = lp.simulate(page)
    phases = outcome.resources[0].phases
    assert phases is not None
    assert phases.server_processing_ms == 250


def test_the_verb_prints_its_folder_and_never_replaces_one(
    loadpath: Loadpath, tmp_path: Path
) -> None:
    in_corpus_layout(tmp_path / "corpus")
    result = loadpath("import", "corpus", "-o", "pages")
    assert (result.stdout, result.returncode) == ("pages\n", 0)
    again = loadpath("import", "corpus", "-o", "pages")
    assert again.returncode == 1
    assert again.stderr.startswith("error: pages exists already")
    counts = json.loads(loadpath("import", "corpus", "-o", "more", "--json").stdout)["counts"]
    assert (counts["activities"], counts["delays_exact"]) == (3, 1)


def test_one_graph_with_its_delays(tmp_path: Path) -> None:
    corpus = in_corpus_layout(tmp_path / "corpus")
    summary = import_one(
        corpus / "graphs" / "www.example.com_0.json",
        tmp_path / "pages",
        delays=corpus / "delays" / "www.example.com_0.txt",
        distributions=corpus / "dist",
    )
    assert summary.counts["delays_exact"] == 1
    assert lp.load_graph(tmp_path / "pages" / "www.example.com_0.json").activities == 3


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("graphs/www.example.com_0.json", b"{", "www.example.com_0.json"),
        ("graphs/www.example.com_0.json", b"\xff", "www.example.com_0.json"),
        ("delays/www.example.com_0.txt", b"method\nGET x", "www.example.com_0.txt"),
        ("dist/CSSDelaysCDF.dist", b"0 0\n1", "CSSDelaysCDF.dist"),
        ("dist/CSSDelaysCDF.dist", None, "css"),
        ("graphs/www.example.com_0.json", None, "cannot read"),
        ("index.json", b"[{}]", "index.json"),
        (
            "index.json",
            b'[{"name":"a","original_name":"a","number":0,"graph":"../../x",'
            b'"delays":"d","no_sharding":true}]',
            "leads out of the folder",
        ),
    ],
)
def test_a_wrong_file_leaves_nothing(
    tmp_path: Path, loadpath: Loadpath, file: str, content: bytes | None, expected: str
) -> None:
    corpus = in_corpus_layout(tmp_path / "corpus")
    if content is None:
        (corpus / file).unlink()
    else:
        (corpus / file).write_bytes(content)
    result = loadpath("import", "corpus", "-o", "pages")
    assert expected in result.stderr
    assert result.stderr.startswith("error: ")
    assert (result.returncode, result.stdout) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_the_whole_corpus_imports(corpus: Path, tmp_path: Path) -> None:
    summary = import_corpus(corpus, tmp_path / "pages")
    assert summary.pages == 301
    index = json.loads((tmp_path / "pages" / "index.json").read_text())
    assert sum(page["no_sharding"] for page in index) == 17
    # FORMAT of the corpus, section 2.1.
    assert summary.counts["resources"] == 50_823
    assert summary.counts["activities"] == 190_628

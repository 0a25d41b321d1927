"""The test site itself: are its true graphs well formed and do they point at what they name, does
its server do what it says.
"""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
from functools import cache
from html import unescape
from pathlib import Path

import pytest

from loadpath.graphs.canonical import format_text, transitive_reduction
from pagesite import PAGES, Page, Pieces, Site, load_page, page_names
from pagesite.server import OTHER_DOMAIN, PAGE_DOMAIN, response_rules, trusting_context
from pagesite.truth import position_after, text_before

BROWSER = shutil.which("chromium-headless-shell")

POSITION = re.compile(r" (\d+):(\d+)(?: [#+]\d+)*$")
TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>$")

# Statuses of responses from which nothing is read.
EMPTY = {204, 301, 302, 404, 500}


@cache
def page_of(name: str) -> Page:
    return load_page(name)


def path_of(page: Page, url: str) -> str | None:
    """Where in the page's folder a URL leads; None if not to this server."""
    url = url.partition("?")[0]
    if url.startswith("//"):
        host, _, path = url[2:].partition("/")
        assert host.partition(":")[0] == f"{page.name}.{OTHER_DOMAIN}", url
        if ":" in host:
            return None
        path = f"other/{path}"
    elif url.startswith("/"):
        path = url[1:]
    else:
        assert url.startswith(("data:", "about:srcdoc")), url
        return None
    return path + "index.html" if path.endswith("/") or not path else path


def source_of(page: Page, url: str) -> str:
    """The text in which positions of a URL count."""
    if url == "about:srcdoc":
        attribute = re.search(r'srcdoc="([^"]*)"', (page.folder / "index.html").read_text())
        assert attribute
        return unescape(attribute[1])
    path = path_of(page, url)
    assert path is not None
    # A redirected script is known by the URL of its tag.
    while (rule := response_rules(page.name).get(path)) and "location" in rule.headers:
        path = rule.headers["location"].removeprefix("/")
    return (page.folder / path).read_text()


def url_of(node: str) -> str:
    words = POSITION.sub("", re.sub(r"( end)?( [#+]\d+)*$", "", node)).split(" ")
    return words[2] if words[0] == "event" else words[1]


def positions(page: Page) -> list[tuple[str, str, int, int]]:
    """Nodes with a position: name, source, line, column."""
    found = []
    for node in page.graph:
        if match := POSITION.search(node):
            found.append((node, source_of(page, url_of(node)), int(match[1]), int(match[2])))
    return found


def on_pages(test: object) -> object:
    return pytest.mark.parametrize("name", page_names())(test)


def test_there_are_enough_pages() -> None:
    assert len(page_names()) >= 60


@on_pages
def test_graph_is_described_sorted_and_reduced(name: str) -> None:
    page = page_of(name)
    assert len(page.description) > 40
    text = (page.folder / "graph.txt").read_text()
    assert re.sub(r"^(?:#|seen ).*\n", "", text, flags=re.MULTILINE) == format_text(page.graph)
    reduced = transitive_reduction(page.graph)
    assert {node: frozenset(parents) for node, parents in reduced.items()} == page.graph


@on_pages
def test_graph_has_one_root_and_the_markers_of_completion(name: str) -> None:
    graph = page_of(name).graph
    assert [node for node, parents in graph.items() if not parents] == ["resource /"]
    ancestors = _ancestors(graph, "event load")
    assert "event DOMContentLoaded" in ancestors
    assert any(node.endswith(" end") for node in _ancestors(graph, "event DOMContentLoaded"))


def _ancestors(graph: dict[str, frozenset[str]], node: str) -> set[str]:
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for parent in graph[waiting.pop()]:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


@on_pages
def test_ordinals_count_up_without_gaps(name: str) -> None:
    graph = page_of(name).graph
    for node in graph:
        if match := re.search(r" ([#+])(\d+)$", node):
            before = int(match[2]) - 1
            stem = node[: match.start()]
            first = 1 if match[1] == "#" else 0
            assert (stem if before == first else f"{stem} {match[1]}{before}") in graph, node


@on_pages
def test_resources_are_served_and_all_rules_are_used(name: str) -> None:
    page = page_of(name)
    rules = response_rules(name)
    requested = set()
    for node in page.graph:
        path = path_of(page, url_of(node)) if node.startswith("resource ") else None
        if path is None:
            continue
        requested.add(path)
        status = rules[path].status if path in rules else 200
        if status not in EMPTY:
            assert (page.folder / path).is_file(), node
    assert set(rules) <= requested


@on_pages
def test_evaluations_follow_what_they_evaluate(name: str) -> None:
    graph = page_of(name).graph
    for node, parents in graph.items():
        kind, *words = node.split(" ")
        if kind in ("script", "style") and len(words) == 1:
            ancestors = _ancestors(graph, node)
            own = f"resource {words[0]}"
            assert own in ancestors, node
        elif kind == "style":
            pytest.fail(f"{node}: style sheets have no position")
        elif kind == "script" and "+" not in node:
            assert any(parent.startswith(("parse ", "resource ")) for parent in parents), node


def written(node: str) -> str:
    """How a resource is written in a tag, at least."""
    url = url_of(node)
    return url if url.startswith("data:") else url.rpartition("/")[2]


@on_pages
def test_parse_positions_are_behind_the_tag_that_names_their_resources(name: str) -> None:
    page = page_of(name)
    children: dict[str, list[str]] = {node: [] for node in page.graph}
    for node, parents in page.graph.items():
        for parent in parents:
            children[parent].append(node)
    for node, source, line, column in positions(page):
        if not node.startswith("parse "):
            continue
        before = text_before(source, line, column)
        tag = TAG.search(before)
        assert tag, f"{node}: no tag ends there"
        if tag["end"]:
            assert tag["name"] in ("script", "style"), node
            tag_text = before[before.rindex(f"<{tag['name']}") :]
        elif tag["name"] == "img" and before.rfind("<picture") > before.rfind("</picture"):
            tag_text = before[before.rindex("<picture") :]
        else:
            tag_text = tag[0]
        for child in children[node]:
            kind = child.partition(" ")[0]
            if kind == "resource":
                # The tag may name a module that imports it.
                named = [child, *(p for p in page.graph[child] if p.startswith("resource "))]
                assert any(written(resource) in tag_text for resource in named), f"{child}, {node}"
            elif kind == "script" and POSITION.search(child):
                assert tag["end"] and tag["name"] == "script", f"{child} does not end at {node}"


@on_pages
def test_positions_of_code_are_where_code_begins(name: str) -> None:
    for node, source, line, column in positions(page_of(name)):
        before = text_before(source, line, column)
        after = source[len(before) :]
        kind = node.partition(" ")[0]
        if kind == "script":
            tag = TAG.search(before)
            assert tag and tag["name"] == "script" and not tag["end"], node
            assert "src=" not in tag[0], node
        elif kind == "timer":
            assert after.startswith(("setTimeout(", "setInterval(")), node
        elif kind == "event":
            handler = re.search(r"\bon[a-z]+=[\"']?$", before)
            function = re.search(r"function\s*\w*\s*$", before) and after.startswith("(")
            arrow = re.match(r"\([^()]*\) =>|\w+ =>", after)
            assert handler or function or arrow, f"{node}: {after[:30]!r}"
            if handler:
                assert handler[0].startswith(f"on{node.split(' ')[1]}="), node


def test_position_and_text_before_are_inverse() -> None:
    source = "a\nbc😀d\n\ne"
    for offset in range(len(source) + 1):
        line, column = position_after(source, offset)
        assert text_before(source, line, column) == source[:offset]
    assert position_after(source, 5) == (2, 5)


def get(
    site: Site, name: str, path: str, *, tls: bool = False, etag: str = ""
) -> tuple[int, bytes]:
    """Status and body of a response over HTTP/1.1."""
    connection: http.client.HTTPConnection
    if tls:
        context = trusting_context(site)
        context.check_hostname = False  # the address is not the name
        connection = http.client.HTTPSConnection("127.0.0.1", site.https_port, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", site.http_port, timeout=10)
    try:
        host = name if "." in name else f"{name}.{PAGE_DOMAIN}"
        connection.request("GET", path, headers={"Host": host, "If-None-Match": etag})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_server_serves_both_hosts_of_a_page_in_the_clear_and_over_tls() -> None:
    with Site() as site:
        for tls in (False, True):
            page = PAGES / "iframe-other-site"
            assert get(site, "iframe-other-site", "/shared.js", tls=tls) == (
                200,
                (page / "shared.js").read_bytes(),
            )
            assert get(site, f"iframe-other-site.{OTHER_DOMAIN}", "/frame.html", tls=tls) == (
                200,
                (page / "other/frame.html").read_bytes(),
            )
        assert site.requests[0] == (f"iframe-other-site.{PAGE_DOMAIN}", "/shared.js", "1.1")


def test_server_obeys_the_rules_of_a_page() -> None:
    with Site() as site:
        assert get(site, "image-onerror", "/missing.png") == (404, b"")
        assert get(site, "redirect-image", "/old.png") == (302, b"")
        assert get(site, "status-204", "/empty") == (204, b"")
        assert get(site, "status-304", "/a.json", etag='"1"') == (304, b"")
        assert get(site, "status-304", "/a.json", etag='"2"')[0] == 200


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("plain", "/../image-onload/a.png"),
        ("plain", "/nothing"),
        ("nobody", "/"),
        (f"...{PAGE_DOMAIN}", "/README.md"),
        ("example.com", "/"),
    ],
)
def test_server_serves_nothing_else(name: str, path: str) -> None:
    with Site() as site:
        assert get(site, name, path) == (404, b"")


@pytest.mark.parametrize(("http2", "protocol"), [(True, "h2"), (False, "http/1.1")])
def test_server_negotiates_its_protocol(http2: bool, protocol: str) -> None:
    with Site(http2=http2) as site:
        context = trusting_context(site)
        context.set_alpn_protocols(["h2", "http/1.1"])
        host = f"plain.{PAGE_DOMAIN}"
        with (
            socket.create_connection(("127.0.0.1", site.https_port)) as plain,
            context.wrap_socket(plain, server_hostname=host) as secure,
        ):
            assert isinstance(secure, ssl.SSLSocket)
            assert secure.selected_alpn_protocol() == protocol


def test_server_sends_html_in_pieces_that_arrive_apart() -> None:
    with Site(pieces=Pieces(size_bytes=50, interval_ms=20)) as site:
        body = (PAGES / "images/index.html").read_bytes()
        assert get(site, "images", "/") == (200, body)
        request = f"GET / HTTP/1.1\r\nHost: images.{PAGE_DOMAIN}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", site.http_port)) as connection:
            connection.sendall(request.encode())
            reads = []
            while data := connection.recv(65536):
                reads.append(data)
        assert b"".join(reads).endswith(body)
        assert len(reads) > len(body) // 50


@pytest.mark.skipif(BROWSER is None, reason="needs chromium-headless-shell")
@pytest.mark.parametrize(("scheme", "version"), [("http", "1.1"), ("https", "2")])
def test_a_browser_loads_a_page_of_two_sites(scheme: str, version: str, tmp_path: Path) -> None:
    name = "iframe-other-site"
    with Site() as site:
        # The command ends with the browser: --dump-dom prints the document after the load event.
        result = subprocess.run(
            [
                str(BROWSER),
                "--no-sandbox",
                "--dump-dom",
                f"--user-data-dir={tmp_path}",
                *site.browser_flags(),
                site.url(name, scheme),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert "<p>After</p>" in result.stdout
        assert sorted(site.requests) == [
            (f"{name}.{OTHER_DOMAIN}", "/a.png", version),
            (f"{name}.{OTHER_DOMAIN}", "/frame.html", version),
            (f"{name}.{PAGE_DOMAIN}", "/", version),
            (f"{name}.{PAGE_DOMAIN}", "/shared.js", version),
        ]

"""What pages are made of."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import Loadpath
from loadpath._core import AdFilters, registrable_domain
from loadpath.analysis.characteristics import (
    Amount,
    characterise,
    characterise_page,
    distribution,
    read_filters,
    read_sources,
)
from loadpath.analysis.characteristics.caching import lifetime_s
from loadpath.analysis.characteristics.collection import METRICS, quantile, refresh_share
from loadpath.analysis.characteristics.figures import characteristic_figures
from loadpath.analysis.characteristics.hosts import CDN_DOMAINS, cdn_provider, site_of
from loadpath.analysis.figures import render
from loadpath.analysis.figures.timeline import response_queues_ms
from loadpath.errors import LoadpathError
from loadpath.graphs.graph import Graph
from loadpath.outcome import Phases, Resource

FILTERS = Path(__file__).parent / "data" / "filters.txt"

URL = "http://www.page.test/"
DATE = "Sat, 01 Jan 2022 00:00:00 GMT"


def _graph(*resources: tuple[str, str, int, str]) -> Graph:
    """A page whose other resources are (URL, MIME type, bytes, "parse" or "script")."""
    activities: list[dict[str, Any]] = [
        {
            "id": "download_0",
            "type": "resource",
            "url": URL,
            "mime_type": "text/html",
            "size_bytes": 1000,
            "recorded_sent_ms": 0.0,
            "recorded_received_ms": 40.0,
            "children": ["dchunk_0_0"],
        },
        {
            "id": "dchunk_0_0",
            "type": "download_chunk",
            "resource": "download_0",
            "offset_bytes": 0,
            "size_bytes": 1000,
            "children": ["pchunk_0_0"],
        },
        {"id": "pchunk_0_0", "type": "parse_chunk", "frame": 0, "duration_ms": 1.0},
        {
            "id": "comp_0",
            "type": "evaluation",
            "frame": 0,
            "kind": "script",
            "duration_ms": 9.0,
            "url": "",
        },
        {
            "id": "comp_1",
            "type": "evaluation",
            "frame": 0,
            "kind": "event",
            "event_name": "load",
            "duration_ms": 5.0,
        },
    ]
    children: dict[str, list[str]] = {"pchunk_0_0": ["comp_0"], "comp_0": ["comp_1"]}
    for number, (url, mime_type, size_bytes, cause) in enumerate(resources, 1):
        id = f"download_{number}"
        activities.append(
            {
                "id": id,
                "type": "resource",
                "url": url,
                "mime_type": mime_type,
                "size_bytes": size_bytes,
                "children": ["comp_1"],
            }
        )
        children["pchunk_0_0" if cause == "parse" else "comp_0"].append(id)
    for activity in activities:
        if activity["id"] in children:
            activity["children"] = children[activity["id"]]
    page = {
        "format": "loadpath-page-graph",
        "version": 1,
        "name": "page",
        "url": URL,
        "root": "download_0",
        "load_event": "comp_1",
        "dom_content_loaded_event": "comp_1",
        "frames": [{"id": 0, "url": URL}],
        "activities": activities,
    }
    return Graph.from_json(json.dumps(page).encode(), "page")


PAGE = _graph(
    ("http://static.page.test/a.css", "text/css", 3000, "parse"),
    ("http://static.page.test/a.js", "application/x-javascript", 2000, "parse"),
    ("http://d1.cloudfront.net/b.png", "image/png", 10_000, "parse"),
    ("http://ads.test/ad.js", "text/javascript", 500, "script"),
    ("http://ads.test/allowed.js", "text/javascript", 400, "script"),
    ("http://cdn.other.test/banner/1.gif", "image/gif", 43, "script"),
    ("data:image/gif;base64,R0", "image/gif", 2, "parse"),
)


class TestPages:
    def test_every_resource_from_the_network_counts_once(self) -> None:
        page, records = characterise_page(PAGE)
        assert page.total == Amount(resources=7, bytes=16_943, hosts=5)
        assert sum(a.resources for a in page.by_type.values()) == 7
        assert sum(a.bytes for a in page.by_type.values()) == 16_943
        assert sum(a.resources for a in page.requested_by.values()) == len(records) == 7
        assert page.by_type["javascript"] == Amount(resources=3, bytes=2900, hosts=2)

    def test_hosts_belong_to_sites_and_to_the_page_itself(self) -> None:
        page, _ = characterise_page(PAGE)
        # www and static are one site; d1.cloudfront.net is its customer's.
        assert (page.sites, page.shards) == (4, 1)
        assert page.own == Amount(resources=3, bytes=6000, hosts=2)
        assert page.sharded == page.own
        assert page.main_host == Amount(resources=1, bytes=1000, hosts=1)
        assert page.largest_host == Amount(resources=1, bytes=10_000, hosts=1)
        assert page.cdn == Amount(resources=2, bytes=10_043, hosts=2)

    def test_causes_and_critical_path(self) -> None:
        page, _ = characterise_page(PAGE)
        assert page.requested_by["parse chunk"].resources == 3
        assert page.requested_by["script"].resources == 3
        assert page.requested_by["nothing"].resources == 1
        # The path goes through the script: 40 ms to the document's arrival are not waited for,
        # since its first chunk streams.
        assert page.critical_path_ms["script"] == pytest.approx(9.0)
        assert page.critical_path_ms["parse chunk"] == pytest.approx(1.0)
        assert (page.documents, page.iframes, page.frames) == (1, 0, 1)

    def test_advertisements_are_what_the_lists_block(self) -> None:
        page, records = characterise_page(PAGE, filters=read_filters([FILTERS]))
        assert page.ads == Amount(resources=2, bytes=543, hosts=2)
        rules = {record.url: record.ad_rule for record in records}
        assert rules["http://ads.test/ad.js"] == "||ads.test^"
        assert rules["http://cdn.other.test/banner/1.gif"] == "/banner/*$image"
        assert rules["http://ads.test/allowed.js"] is None
        assert characterise_page(PAGE)[0].ads is None

    def test_shares_of_a_page_without_bytes_are_unknown(self) -> None:
        empty, _ = characterise_page(_graph())
        empty = msgspec.structs.replace(empty, total=Amount(resources=1, bytes=0, hosts=1))
        assert METRICS["cdn_byte_percent"](empty) is None
        assert METRICS["cdn_resource_percent"](empty) == 0.0


class TestFilters:
    @pytest.mark.parametrize(
        ("url", "document", "kind", "blocked"),
        [
            ("http://ads.test/x.png", URL, "image", True),
            ("http://sub.ads.test/x.png", URL, "image", True),
            ("http://notads.test/x.png", URL, "image", False),
            ("http://page.test/banner/x.png", URL, "image", True),
            ("http://page.test/banner/x.js", URL, "script", False),
            ("http://tracker.example/t.js", URL, "script", True),
            ("http://tracker.example/t.js", "http://www.tracker.example/", "script", False),
            ("http://only.test/x.png", "http://a.other.test/", "image", True),
            ("http://only.test/x.png", URL, "image", False),
            ("not a url", URL, "image", False),
        ],
    )
    def test_rules_of_easylist(self, url: str, document: str, kind: str, blocked: bool) -> None:
        filters = AdFilters([FILTERS.read_text()])
        assert (filters.blocks(url, document, kind) is not None) is blocked

    def test_exceptions_of_one_list_hold_for_another(self) -> None:
        filters = AdFilters(["||ads.test^", "@@||ads.test^$image"])
        assert filters.blocks("http://ads.test/x.png", URL, "image") is None
        assert filters.blocks("http://ads.test/x.js", URL, "script") == "||ads.test^"

    @pytest.mark.parametrize(
        "content", [b"", b"<!DOCTYPE html><title>404</title>", b"\xff\xfe\x00"]
    )
    def test_what_is_no_list_is_refused(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "list.txt"
        path.write_bytes(content)
        with pytest.raises(LoadpathError, match=r"list\.txt"):
            read_filters([path])


class TestHosts:
    def test_sites_are_registrable_domains(self) -> None:
        assert registrable_domain("a.b.example.co.uk") == "example.co.uk"
        assert registrable_domain("co.uk") is None
        assert site_of("127.0.0.1") == "127.0.0.1"

    def test_delivery_networks_are_told_by_whole_labels(self) -> None:
        assert cdn_provider("a1.g.akamai.net") == "Akamai"
        assert cdn_provider("akamai.net") == "Akamai"
        assert cdn_provider("notakamai.net") is None
        assert cdn_provider("www.akamai.net.example") is None
        assert cdn_provider("images.MyCDN.example") == ""

    def test_every_known_network_is_needed(self) -> None:
        # What has "cdn" in it, or stands below another entry, changes no count by itself.
        for domain in CDN_DOMAINS:
            assert domain == domain.lower()
            assert "." in domain


class TestCaching:
    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({"cache-control": "max-age=60"}, 60.0),
            ({"cache-control": 'Public, Max-Age="60"'}, 60.0),
            ({"cache-control": "max-age=60, must-revalidate"}, 60.0),
            ({"cache-control": "max-age=60, max-age=10"}, 60.0),
            ({"cache-control": "no-store, max-age=60"}, 0.0),
            ({"cache-control": "no-cache"}, 0.0),
            ({"cache-control": 'no-cache="set-cookie", max-age=60'}, 60.0),
            ({"cache-control": "must-revalidate"}, 0.0),
            ({"cache-control": "max-age=x"}, 0.0),
            ({"cache-control": "max-age=99999999999999999999"}, float(2**31)),
            ({"cache-control": "public"}, None),
            ({"cache-control": "public", "expires": DATE, "date": DATE}, 0.0),
            ({"expires": "Sat, 01 Jan 2022 00:01:00 GMT", "date": DATE}, 60.0),
            ({"expires": "Fri, 31 Dec 2021 00:00:00 GMT", "date": DATE}, 0.0),
            ({"expires": "0", "date": DATE}, 0.0),
            ({"expires": DATE}, None),
            ({"cache-control": "max-age=5", "expires": "0", "pragma": "no-cache"}, 5.0),
            ({"pragma": "no-cache"}, 0.0),
            ({"last-modified": DATE}, None),
        ],
    )
    def test_lifetimes(self, headers: dict[str, str], seconds: float | None) -> None:
        assert lifetime_s(headers) == seconds


def _entry(url: str, headers: dict[str, str], *, status: int = 200, connect: int = -1) -> Any:
    return {
        "startedDateTime": "2022-01-01T00:00:00.000Z",
        "time": 30 + max(connect, 0),
        "request": {"method": "GET", "url": url, "headers": []},
        "response": {
            "status": status,
            "headers": [{"name": n, "value": v} for n, v in headers.items()],
            "content": {"size": 10, "mimeType": "text/html" if url == URL else "image/png"},
            "bodySize": 10,
        },
        "timings": {"connect": connect, "send": 0, "wait": 20, "receive": 10},
    }


def _har(tmp_path: Path) -> Path:
    path = tmp_path / "page.har"
    entries = [
        _entry(URL, {"Cache-Control": "no-store"}, connect=8),
        _entry("http://www.page.test/a.png", {"Cache-Control": "max-age=3600"}, connect=6),
        _entry("http://cdn.page.test/b.png", {"Cache-Control": "max-age=31536000"}, connect=4),
        _entry("http://www.page.test/c.png", {"Server": "test"}),
        _entry("http://www.page.test/d.png", {"Cache-Control": "max-age=9"}, status=404),
    ]
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return path


class TestRecordings:
    def test_a_har_has_lifetimes_and_round_trips(self, tmp_path: Path) -> None:
        [page] = characterise(read_sources([_har(tmp_path)])).pages
        assert page.lifetimes is not None
        assert [one.seconds for one in page.lifetimes] == [0.0, 3600.0, 31_536_000.0, None]
        assert [(rtt.host, rtt.rtt_ms, rtt.is_cdn) for rtt in page.rtts] == [
            ("cdn.page.test", 4.0, True),
            ("www.page.test", 6.0, False),
        ]
        assert refresh_share(page, 86_400.0) == pytest.approx(200 / 3)

    def test_a_folder_means_all_that_is_in_it(self, tmp_path: Path) -> None:
        first = json.dumps(dict(PAGE.data))
        (tmp_path / "b.json").write_text(first)
        (tmp_path / "a.json").write_text(first.replace('"name": "page"', '"name": "first"'))
        found = characterise(read_sources([tmp_path]))
        assert [page.page for page in found.pages] == ["first", "page"]
        assert len(found.resources) == 14

    def test_figures_are_made_of_what_there_is(self, tmp_path: Path) -> None:
        without = {f.name for f in characteristic_figures(characterise(read_sources([])))}
        assert without == set()
        figures = characteristic_figures(
            characterise(read_sources([_har(tmp_path)]), filters=read_filters([FILTERS]))
        )
        names = {figure.name for figure in figures}
        assert {"figure-3-13", "figure-3-14", "figure-4-1", "figure-4-4a", "figure-4-6"} <= names
        for figure in figures:
            assert all(len(row) == len(figure.columns) for row in figure.rows)
        assert render(figures[0], "svg").startswith(b"<?xml")

    def test_pages_of_the_corpus_whose_counts_are_known(self, corpus: Path, tmp_path: Path) -> None:
        """Section 4.2.2 has 127 domains, six of them shards, and 766 resources."""
        wanted = ("uk.businessinsider.com", "www.rakuten.co.jp", "www.wikipedia.org")
        index = json.loads((corpus / "index.json").read_bytes())
        chosen = [entry for entry in index if entry["name"].startswith(wanted)]
        (tmp_path / "index.json").write_text(json.dumps(chosen))
        for folder in ("graphs", "delays", "dist"):
            (tmp_path / folder).symlink_to(corpus / folder)
        insider, rakuten, wikipedia = characterise(read_sources([tmp_path])).pages
        assert (insider.total.resources, insider.total.hosts, insider.own.hosts) == (362, 128, 13)
        assert rakuten.total.resources == 790
        assert (wikipedia.sites, wikipedia.shards, wikipedia.own.hosts) == (1, 0, 1)


class TestDistributions:
    def test_quantiles_are_values_that_occur(self) -> None:
        found = distribution("x", range(1, 21))
        assert (found.least, found.p10, found.median, found.p95, found.most) == (1, 2, 10, 19, 20)
        assert quantile([5.0], 0.5) == 5.0

    def test_a_quantile_is_exceeded_by_the_rest(self) -> None:
        values = sorted(float(7 * n % 101) for n in range(101))
        for share in (0.1, 0.25, 0.5, 0.9, 0.95):
            at = quantile(values, share)
            assert sum(value <= at for value in values) >= share * len(values)


def _resource(id: str, arrival_ms: float, processing_ms: float, waited_ms: float) -> Resource:
    phases = Phases(
        connection_setup_ms=0.0,
        client_queue_ms=0.0,
        request_flight_ms=5.0,
        server_queue_ms=0.0,
        server_processing_ms=processing_ms,
        response_wait_ms=waited_ms,
        first_byte_flight_ms=5.0,
        transfer_ms=1.0,
    )
    return Resource(
        id=id,
        url=f"http://a.test/{id}",
        host="a.test",
        mime_type="",
        connection=0,
        size_bytes=1,
        preloaded=False,
        priority=0,
        start_ms=arrival_ms - 5.0,
        end_ms=None,
        phases=phases,
    )


def test_responses_in_order_wait_for_the_slowest_before_them() -> None:
    resources = [
        _resource("third", 12.0, 100.0, 0.0),
        _resource("first", 10.0, 50.0, 3.0),
        _resource("second", 11.0, 9.0, 45.0),
    ]
    # The second is ready at 20 ms, the first at 60 ms; the other 5 ms it waited in the buffer.
    assert response_queues_ms(resources) == {"first": 0.0, "second": 40.0, "third": 0.0}


class TestCommand:
    def test_tables_json_csv_figures(self, loadpath: Loadpath, tmp_path: Path) -> None:
        har = _har(tmp_path)
        result = loadpath(
            *("characteristics", har, "example:figure-3-1", "--filters", FILTERS),
            *("--csv", "tables", "--figures", "drawn"),
        )
        assert result.returncode == 0, result.stderr
        assert "2 pages" in result.stdout
        assert "freshness lifetimes" in result.stdout
        assert {path.name for path in (tmp_path / "tables").iterdir()} == {
            *("pages.csv", "resources.csv", "distributions.csv", "rtts.csv", "lifetimes.csv")
        }
        lines = (tmp_path / "tables" / "resources.csv").read_text().splitlines()
        assert len(lines) == 1 + 5 + 4
        assert (tmp_path / "drawn" / "figure-4-1.svg").is_file()
        again = loadpath("characteristics", har, "--csv", "tables")
        assert again.returncode == 1
        assert "exists already" in again.stderr

    def test_json_has_pages_and_resources(self, loadpath: Loadpath) -> None:
        result = loadpath("characteristics", "example:figure-3-1", "--json")
        found = json.loads(result.stdout)
        assert found["pages"][0]["total"] == {"resources": 4, "bytes": 31_663, "hosts": 1}
        assert len(found["resources"]) == 4

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["no-such.json"], "no-such.json"),
            (["."], "no page graphs"),
            (["example:figure-3-1", "--filters", "none.txt"], "cannot read the filter list"),
        ],
    )
    def test_errors_say_what_and_where(
        self, loadpath: Loadpath, arguments: list[str], message: str
    ) -> None:
        result = loadpath("characteristics", *arguments)
        assert (result.returncode, result.stdout) == (1, "")
        assert message in result.stderr

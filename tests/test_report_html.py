"""Reports: one page that asks the network for nothing and takes every name as text."""

import base64
import csv
import io
import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")

from loadpath.analysis.figures import Figure, lines
from loadpath.experiments.preset import Result, Table
from loadpath.reports.html import MOST_ROWS, result_html

HOSTILE = "</script><img src=http://evil/x onerror=alert(1)> &\x00\"' url(http://evil)"


def figure(name: str) -> Figure:
    return lines(
        name=name,
        title=f"{name} {HOSTILE}",
        caption=HOSTILE,
        columns=("rate_bps", "plt_s", "page"),
        rows=[(1e6, 2.0, HOSTILE), (1e7, 1.0, HOSTILE), (1e6, 3.0, "b")],
        x="rate_bps",
        y="plt_s",
        by="page",
    )


RESULT = Result(
    title=HOSTILE,
    columns=["page", "rate_bps", "plt_s", HOSTILE],
    rows=[[HOSTILE, 1_000_000, 2.5, None], ["b", 500_000, 0.00012345, 1.0]],
    notes=[HOSTILE, "second"],
    tables=[Table(title=HOSTILE, columns=["n"], rows=[[n] for n in range(MOST_ROWS + 5)])],
    figures=[figure("one"), figure("two")],
    settings={HOSTILE: HOSTILE, "runs": 5},
)


class Page(HTMLParser):
    """Elements, ids and texts."""

    VOID = frozenset({"meta", "link", "br", "img", "input"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html() -> str:
    return result_html(RESULT, command=f"loadpath reproduce '{HOSTILE}'")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    parsed = Page(html)
    assert parsed.open == [], "every element is closed"
    return parsed


def test_nothing_is_fetched(page: Page) -> None:
    assert not {"img", "link", "iframe", "object", "embed", "base", "image"} & {
        tag for tag, _ in page.elements
    }
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), "no event handlers in markup"
            if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                assert value is not None
                assert value.startswith(("#", "data:text/csv")), value
            elif value is not None and name != "content":
                for target in re.findall(r"url\((.*?)\)", value):
                    # What a user agent would follow is in attributes of figures only.
                    assert target.startswith("#") or name == "aria-label"


def test_the_policy_allows_its_own_style_and_script_only(html: str, page: Page) -> None:
    [policy] = [m["content"] for m in page.of("meta") if m.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.partition("style-src-attr")[0]
    assert html.count("<script>") == html.count("</script>") == 1
    assert html.count("<style>") == html.count("</style>") == 1


def test_names_are_text(page: Page) -> None:
    shown = HOSTILE.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    cells = [text for text in page.texts if text == shown]
    # Title twice, note, table titles twice with the contents, headings, a cell, a setting twice.
    assert len(cells) >= 8
    assert any(text.startswith("one </script>") for text in page.texts)


def test_figures_do_not_share_ids(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {href for a in page.of("use") if (href := a.get("href"))}
    assert targets
    assert {target[1:] for target in targets} <= set(ids)
    assert len(page.of("svg")) == 2


def test_tables_carry_all_their_numbers(page: Page) -> None:
    def rows(link: dict[str, str | None]) -> list[list[str]]:
        href = link["href"]
        assert href is not None
        text = base64.b64decode(href.partition("base64,")[2]).decode()
        return list(csv.reader(io.StringIO(text)))

    downloads = [link for link in page.of("a") if "download" in link]
    by_name = {link["download"]: rows(link) for link in downloads}
    assert by_name["table-1.csv"][1:] == [
        [HOSTILE, "1000000", "2.5", ""],
        ["b", "500000", "0.00012345", "1.0"],
    ]
    assert len(by_name["table-2.csv"]) == MOST_ROWS + 6
    assert by_name["one.csv"][0] == ["rate_bps", "plt_s", "page"]
    assert any(f"the first {MOST_ROWS} of {MOST_ROWS + 5} rows" in text for text in page.texts)
    assert {"data-value": "0.00012345"} in page.of("td"), "sorted by value, not by what is shown"


def test_the_same_result_is_the_same_page(html: str) -> None:
    assert result_html(RESULT, command=f"loadpath reproduce '{HOSTILE}'") == html


def test_a_result_without_figures_is_a_page_too() -> None:
    page = Page(result_html(Result(title="plain", columns=["a"], rows=[[1]])))
    assert page.open == []
    assert not page.of("svg")
    assert len(page.of("table")) == 2, "results, and what they were made by"

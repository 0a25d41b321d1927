"""Tags of HTML sources, where they stand and what they request."""

import pytest

from loadpath.graphs.build.html import Source, absolute, css_urls

URL = "https://site.example/folder/page.html"


def source(text: str) -> Source:
    return Source(text, URL)


def test_positions_count_lines_and_utf16_units_from_one() -> None:
    page = source("<p>\r\n𝄞é<img src=a.png>")
    tag = page.tags[1]
    assert page.position(tag.end) == (2, 19)
    assert page.offset(2, 19) == tag.end
    assert page.tag_ending_at(tag.end) is tag


@pytest.mark.parametrize(("line", "column"), [(0, 1), (1, 0), (3, 1), (1, 99)])
def test_a_position_outside_the_text_has_no_offset(line: int, column: int) -> None:
    assert source("<p>\n<p>").offset(line, column) is None


@pytest.mark.parametrize(
    ("tag", "urls"),
    [
        ("<img src=a.png>", ["a.png"]),
        ('<img srcset="a.png 1x, b.png 2x">', ["a.png", "b.png"]),
        ("<link href='x.css#part'>", ["x.css"]),
        ("<video poster=p.jpg>", ["p.jpg"]),
        ("<div style='background: url( \"a b.png\" )'>", ["a b.png"]),
    ],
)
def test_tags_name_urls_without_fragments(tag: str, urls: list[str]) -> None:
    page = source(tag)
    assert page.tags[0].urls(URL) == [f"https://site.example/folder/{url}" for url in urls]


def test_an_image_may_request_what_a_source_of_its_picture_names() -> None:
    page = source("<picture><source srcset=wide.png><img src=narrow.png></picture><img src=b.png>")
    [tag] = page.tags_naming(absolute("wide.png", URL))
    assert (tag.name, tag.urls(URL)) == ("img", [absolute("narrow.png", URL)])


def test_tags_in_noscript_and_template_and_comments_request_nothing() -> None:
    page = source(
        "<noscript><img src=a.png></noscript><template><img src=a.png></template>"
        "<!-- <img src=a.png> --><img id=it src=a.png>"
    )
    assert [tag.attributes.get("id") for tag in page.tags_naming(absolute("a.png", URL))] == ["it"]


def test_the_first_base_decides_for_all_tags() -> None:
    page = source("<base href=/other/><base href=/late/><img src=a.png>")
    assert page.tags_naming("https://site.example/other/a.png")


def test_scripts_know_where_they_close_and_what_they_are() -> None:
    text = (
        '<script>if (a < b) "<img src=x>"</script><script type=module src=m.js></script>'
        "<script type=application/json>{}</script>"
    )
    inline, module, data = (tag for tag in source(text).tags if tag.name == "script")
    assert text[: inline.close].endswith('"</script>')
    assert (inline.is_script, module.is_script, data.is_script) == (True, True, False)
    assert (inline.is_module, module.is_module) == (False, True)
    assert len(source(text).tags) == 3


@pytest.mark.parametrize(
    ("tag", "blocks"),
    [
        ("<link rel=stylesheet href=a.css>", True),
        ("<link rel=stylesheet href=a.css media=screen>", True),
        ("<link rel=stylesheet href=a.css media=print>", False),
        ("<link rel='alternate stylesheet' href=a.css>", False),
        ("<link rel=preload as=style href=a.css>", False),
    ],
)
def test_style_sheets_of_matching_media_block_scripts(tag: str, blocks: bool) -> None:
    assert source(tag).tags[0].blocks_scripts is blocks


def test_style_elements_are_found_by_what_they_name() -> None:
    page = source("<style>@import 'b.css';</style><style>p { background: url(bg.png) }</style>")
    first, second = page.tags
    assert page.style_naming(absolute("b.css", URL)) is first
    assert page.style_naming(absolute("bg.png", URL)) is second
    assert page.style_naming(absolute("c.png", URL)) is None


def test_css_urls_are_found_as_written() -> None:
    text = '@import "a.css"; @import url(b.css); p { src: url( "c d.woff" ), url(\'e.woff\') }'
    assert sorted(css_urls(text)) == ["a.css", "b.css", "c d.woff", "e.woff"]


@pytest.mark.parametrize(
    "text",
    [
        "<![a-z]>",
        "<![CDATA[ x ]]>",
        "<!doctype",
        "<p",
        "<script>",
        "<![",
        "\x00<img src=\x00>",
        "<" * 999,
    ],
)
def test_no_text_is_too_broken(text: str) -> None:
    assert isinstance(source(text).tags, list)

"""HTML sources: where tags stand and which URLs they name.

Offsets count characters of the decoded text from 0; lines and columns count from 1, columns in
UTF-16 code units, as Chromium counts them.
"""

import re
from bisect import bisect_right
from functools import cached_property
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

__all__ = ["Source", "Tag"]

_NEWLINE = re.compile(r"\r\n|\n|\r")
# Attributes that hold one URL (HTML standard, index of attributes), and those that hold several.
_URL_ATTRIBUTES = ("src", "href", "data", "poster", "background", "xlink:href", "action")
_SET_ATTRIBUTES = ("srcset", "imagesrcset")
_CSS_URL = re.compile(r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^)]*?))\s*\)""", re.IGNORECASE)
_CSS_IMPORT = re.compile(r"""@import\s+(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
# JavaScript MIME types (HTML standard, "prepare the script element").
_SCRIPT_TYPES = frozenset({"", "module", "text/javascript", "application/javascript"}) | frozenset(
    {"application/ecmascript", "application/x-javascript", "text/ecmascript", "text/jscript"}
)


_INERT = ("noscript", "template")


class Tag:
    """A start tag.

    Attributes
    ----------
    start, end
        Offsets of its `<` and of the character after its `>`.
    close
        Of a script or style element: the offset after its end tag.
    inert
        It stands in a `noscript` or `template` element, where it requests nothing.
    """

    __slots__ = ("attributes", "close", "end", "inert", "name", "start")

    def __init__(self, name: str, attributes: dict[str, str], start: int, end: int) -> None:
        self.name = name
        self.attributes = attributes
        self.start = start
        self.end = end
        self.close: int | None = None
        self.inert = False

    def urls(self, base: str) -> list[str]:
        """The absolute URLs that the tag names, without fragments."""
        found = [self.attributes[name] for name in _URL_ATTRIBUTES if name in self.attributes]
        for name in _SET_ATTRIBUTES:
            candidates = self.attributes.get(name, "").split(",")
            found += [words[0] for candidate in candidates if (words := candidate.split())]
        found += css_urls(self.attributes.get("style", ""))
        return [absolute(url, base) for url in found]

    def names(self, url: str, base: str) -> bool:
        """Whether the tag names this absolute URL."""
        return urldefrag(url).url in self.urls(base)

    @property
    def is_script(self) -> bool:
        """Whether it is a script that runs, classic or module."""
        kind = self.attributes.get("type", "").strip().lower().split(";")[0]
        return self.name == "script" and kind in _SCRIPT_TYPES

    @property
    def is_module(self) -> bool:
        """Whether it is a module script."""
        return self.attributes.get("type", "").strip().lower() == "module"

    @property
    def is_hint(self) -> bool:
        """Whether it is a link that fetches ahead of use."""
        relations = set(self.attributes.get("rel", "").lower().split())
        return self.name == "link" and bool(relations & {"preload", "modulepreload", "prefetch"})

    @property
    def is_style_sheet(self) -> bool:
        """Whether it links a style sheet that is not an alternate one."""
        relations = self.attributes.get("rel", "").lower().split()
        return self.name == "link" and "stylesheet" in relations and "alternate" not in relations

    @property
    def blocks_scripts(self) -> bool:
        """Whether scripts behind this style sheet wait for it: its medium matches a screen."""
        media = self.attributes.get("media", "").strip().lower()
        is_sheet = self.is_style_sheet or self.name == "style"
        return is_sheet and not media.startswith(("print", "speech", "not all"))


_IN_HEAD = frozenset(
    {"html", "head", "base", "basefont", "bgsound", "link", "meta", "noframes", "noscript"}
    | {"script", "style", "template", "title"}
)
"""Tags before which a document has no body yet (HTML standard, "in head" insertion mode)."""


class Source:
    """The text of an HTML document, with its tags in order."""

    def __init__(self, text: str, url: str, base: str = "") -> None:
        self.text = text
        self.url = url
        self._lines = [0] + [match.end() for match in _NEWLINE.finditer(text)]
        scanner = _Scanner(text)
        self.tags = scanner.tags
        self.base = base or url
        for tag in self.tags:
            if tag.name == "base" and "href" in tag.attributes:
                self.base = absolute(tag.attributes["href"], url)
                break
        self._by_end = {tag.end: tag for tag in self.tags}

    def offset(self, line: int, column: int) -> int | None:
        """The offset of a line and column, or None outside the text."""
        if not 1 <= line <= len(self._lines) or column < 1:
            return None
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        at, units = start, column - 1
        while units > 0 and at < end:
            units -= 2 if ord(self.text[at]) > 0xFFFF else 1
            at += 1
        return at if units <= 0 else None

    @property
    def body_offset(self) -> int:
        """Where the body begins: with its tag, or with the first that cannot stand in a head."""
        body = (tag.start for tag in self.tags if tag.name not in _IN_HEAD and not tag.inert)
        return next(body, len(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect_right(self._lines, offset)
        before = self.text[self._lines[line - 1] : offset]
        return line, 1 + sum(2 if ord(c) > 0xFFFF else 1 for c in before)

    def tag_ending_at(self, offset: int) -> Tag | None:
        """The start tag that ends at an offset."""
        return self._by_end.get(offset)

    def value_offset(self, tag: Tag, attribute: str) -> int:
        """Where the value of an attribute starts, behind its quote."""
        pattern = rf"[\s\"'/]{re.escape(attribute)}\s*=\s*[\"']?"
        found = re.search(pattern, self.text[tag.start : tag.end], re.IGNORECASE)
        return tag.start + found.end() if found else tag.end

    def chooses(self, tag: Tag, url: str) -> bool:
        """Whether a tag names an absolute URL, or a `source` of the same picture does."""
        return any(other is tag for other in self._naming.get(url, ()))

    @cached_property
    def _naming(self) -> dict[str, list[Tag]]:
        """The tags by the URLs that they may request, in order."""
        found: dict[str, list[Tag]] = {}
        sources: list[str] = []
        for tag in self.tags:
            urls = tag.urls(self.base)
            if tag.name == "source":
                sources += urls
            elif tag.name == "img":
                urls, sources = urls + sources, []
            else:
                sources = []
            for url in dict.fromkeys(urls):
                found.setdefault(url, []).append(tag)
        return found

    def style_naming(self, url: str) -> Tag | None:
        """The style element whose text holds `url(...)` or `@import` of an absolute URL."""
        for tag in self.tags:
            if tag.name == "style" and tag.close:
                text = self.text[tag.end : tag.close]
                if any(absolute(found, self.base) == url for found in css_urls(text)):
                    return tag
        return None

    def tags_naming(self, url: str) -> list[Tag]:
        """The tags that may have requested an absolute URL."""
        return [
            tag
            for tag in self._naming.get(url, ())
            if tag.name not in ("a", "source", "base", "form") and not tag.inert
        ]


class _Scanner(HTMLParser):
    """Finds start tags and the ends of scripts, with their offsets."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self._text = text
        # html.parser counts lines at line feeds only.
        self._starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self._open: Tag | None = None
        self._inert = 0
        self.feed(text)

    def _at(self) -> int:
        line, column = self.getpos()
        return self._starts[line - 1] + column

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """In HTML, `<![` begins a comment that ends at the next `>` (HTML, "bogus comment")."""
        end = self.rawdata.find(">", i)
        return end + 1 if end >= 0 else -1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        start = self._at()
        end = start + len(self.get_starttag_text() or "")
        attributes: dict[str, str] = {}
        for name, value in attrs:
            attributes.setdefault(name, (value or "").strip())
        found = Tag(tag, attributes, start, end)
        found.inert = self._inert > 0
        self._inert += tag in _INERT
        self.tags.append(found)
        if tag in ("script", "style"):
            self._open = found

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # In HTML the slash means nothing: a script that "closes" itself is open.
        self.handle_starttag(tag, attrs)
        if tag in self.CDATA_CONTENT_ELEMENTS:
            self.set_cdata_mode(tag)

    def handle_endtag(self, tag: str) -> None:
        self._inert = max(0, self._inert - (tag in _INERT))
        if self._open and tag == self._open.name:
            start = self._at()
            close = self._text.find(">", start)
            self._open.close = close + 1 if close >= 0 else len(self._text)
            self._open = None


def absolute(url: str, base: str) -> str:
    """A URL as the browser requests it: absolute, without fragment."""
    try:
        return urldefrag(urljoin(base, url.strip())).url
    except ValueError:
        return url


def css_urls(text: str) -> list[str]:
    """The URLs of `url(...)` and `@import "..."` in a style sheet, as written."""
    found = _CSS_URL.findall(text) + _CSS_IMPORT.findall(text)
    return [next(filter(None, groups), "").strip() for groups in found]

"""What made the browser request each entry of a HAR: from bodies, else from the tool's word.

Tools tell of initiators what DevTools tells, which may be wrong: an image that a timer made is said
to come from the parser's current line. So what stands in the recorded HTML, CSS and JavaScript goes
first; what only the tool says is marked `unverified`, what is guessed from times `fallback`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urlsplit

from loadpath.graphs.build.causes import Cause
from loadpath.graphs.build.computations import Computation
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.html import Source, Tag, absolute, css_urls
from loadpath.graphs.har_file import Entry, plain_url
from loadpath.graphs.skeleton import SkeletonSource

__all__ = ["ROUNDING_US", "CauseFinder", "KnownDocument", "TextIndex", "arrived"]

ROUNDING_US = 1000.0
"""Firefox writes whole milliseconds: what follows may seem to come before by one."""
# What may be part of a URL in code: everything but white space, quotes, brackets, separators.
_WORD = re.compile(r"[^\s\"'`()<>{}\[\],;|\\]{2,2000}")
# Tags that name URLs which nobody requests for them.
_NOT_LOADED = frozenset({"a", "form", "base", "area"})
_IMPORT = re.compile(r"""\b(?:import|from)\s*["']([^"']+)["']""")


@dataclass
class KnownDocument:
    """A document of the page, with the frame that showed it."""

    frame: str
    request: Request
    source: Source
    inline: list[tuple[Tag, Computation]] = field(default_factory=list)
    tags: dict[str, list[Tag]] = field(default_factory=dict)
    styles: dict[str, Tag] = field(default_factory=dict)

    def __post_init__(self) -> None:
        base = self.source.base
        picture: list[str] = []
        for tag in self.source.tags:
            urls = [] if tag.name in _NOT_LOADED else tag.urls(base)
            if "srcdoc" in tag.attributes:
                inner = Source(tag.attributes["srcdoc"], self.source.url).tags
                urls += [url for found in inner for url in found.urls(base)]
            # Of a picture the image's tag decides, behind its sources.
            if tag.name == "source":
                picture += urls
                continue
            urls, picture = (picture + urls if tag.name == "img" else urls), []
            for url in urls:
                self.tags.setdefault(url, []).append(tag)
            if tag.name == "style" and tag.close:
                for found in css_urls(self.source.text[tag.end : tag.close]):
                    self.styles.setdefault(absolute(found, base), tag)

    @property
    def is_text(self) -> bool:
        """Whether its text was recorded."""
        return not isinstance(self.source, SkeletonSource)


def last_word(url: str) -> str:
    """The last segment of a URL's path, or its host: what code must hold to make that URL."""
    path = url.split("#")[0].split("?")[0].rstrip("/")
    return path.rpartition("/")[2]


class TextIndex:
    """Which pieces of code hold which of the wanted URLs, by their last segments."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._wanted = {last_word(url) for url in urls} - {""}
        self._found: dict[str, list[tuple[str, str]]] = defaultdict(list)

    def add(self, owner: str, text: str) -> None:
        """Look through a piece of code."""
        seen = set()
        for match in _WORD.finditer(text.replace("\\/", "/")):
            word = match.group()
            if word not in seen and last_word(word) in self._wanted:
                seen.add(word)
                self._found[last_word(word)].append((owner, word))

    def owners(self, url: str, base: str) -> Iterator[tuple[int, str]]:
        """Who holds a URL: 3 for the whole of it, 2 for its path, 1 for its last segment."""
        path = urlsplit(url).path
        for owner, word in self._found.get(last_word(url), ()):
            if absolute(word, base) == url or absolute(word, base).split("?")[0] == url:
                yield 3, owner
            elif len(word) > 1 and path.endswith(word.split("?")[0].lstrip(".")):
                yield 2, owner
            else:
                yield 1, owner


class CauseFinder:
    """Causes of requests, asked in order of their times.

    Attributes
    ----------
    documents, sheets, scripts
        Those requested so far.
    trusts_stacks
        Whether call stacks are complete and true: of a profile's own archive.
    """

    def __init__(self, index: TextIndex, *, trusts_stacks: bool) -> None:
        self.index = index
        self.trusts_stacks = trusts_stacks
        self.documents: list[KnownDocument] = []
        self.sheets: list[tuple[Request, set[str] | None]] = []
        self.scripts: dict[str, tuple[Request, Computation, str | None]] = {}
        self.main_frame = ""
        self._by_url: dict[str, list[KnownDocument]] = defaultdict(list)
        self._sheets_by_url: dict[str, Request] = {}
        self._scripts_by_url: dict[str, str] = {}
        self._sheets_naming: dict[str, list[Request]] = defaultdict(list)
        self._asked: dict[str, list[Request]] = defaultdict(list)

    # What is there.

    def add_request(self, request: Request) -> None:
        """A request of any kind."""
        self._asked[urldefrag(request.url).url].append(request)

    def add_document(self, document: KnownDocument) -> None:
        """A document that a frame shows from now on."""
        self.documents.append(document)
        self._by_url[urldefrag(document.request.url).url].append(document)

    def add_sheet(self, request: Request, text: str | None) -> None:
        """A style sheet, with its text if it was recorded."""
        url = urldefrag(request.url).url
        named = None if text is None else {absolute(found, url) for found in css_urls(text)}
        self.sheets.append((request, named))
        self._sheets_by_url[url] = request
        for found in named or ():
            self._sheets_naming[found].append(request)

    def add_script(self, key: str, request: Request, run: Computation, text: str | None) -> None:
        """An external script; `key` is its owner's name in the index."""
        self.scripts[key] = (request, run, text)
        self._scripts_by_url[urldefrag(request.url).url] = key

    def frame_showing(self, url: str) -> str | None:
        """The frame of the document, style sheet or script at a URL."""
        shown = self._by_url.get(url)
        if shown:
            return shown[-1].frame
        sheet = self._sheets_by_url.get(url)
        if sheet is not None:
            return sheet.frame
        key = self._scripts_by_url.get(url)
        return self.scripts[key][0].frame if key is not None else None

    # Causes.

    def find(self, request: Request, entry: Entry) -> Cause:
        """The cause of a request that is neither the first nor a redirect's."""
        referrer = plain_url(entry.request_headers.get("referer", ""))
        return (
            self._by_stack(request, entry)
            or self._by_sheet(request, entry.initiator.url, referrer)
            or self._by_tag(request, entry)
            or self._by_style_element(request)
            or self._by_code(request)
            or self._by_word(request, entry, referrer)
            or self._by_time(request)
        )

    def _by_stack(self, request: Request, entry: Entry) -> Cause | None:
        """The script of the call stack that came last: the others could not go on without it."""
        named: Computation | None = None
        for url, line, column in entry.initiator.frames:
            for found in self._code_at(url, line, column):
                if named is None or found.start > named.start:
                    named = found
        if named is None:
            return None
        importer = self._import(request, named)
        if importer is not None:
            return importer
        holders = {owner for _, owner in self._holders(request)}
        if named.id in holders:
            evidence = "source"
        else:
            evidence = "stack" if self.trusts_stacks else "unverified"
        return Cause("computation", evidence, computation=named)

    def _code_at(self, url: str, line: int, column: int) -> Iterator[Computation]:
        key = self._scripts_by_url.get(url)
        if key is not None:
            yield self.scripts[key][1]
        for document in self._by_url.get(url, ()):
            offset = document.source.offset(line, max(column, 1))
            if offset is None:
                continue
            for tag, found in document.inline:
                if tag.start <= offset <= (tag.close or len(document.source.text)):
                    yield found

    def _by_sheet(self, request: Request, said: str, referrer: str) -> Cause | None:
        url = urldefrag(request.url).url
        naming = [s for s in self._sheets_naming.get(url, ()) if arrived(s, request)]
        for wanted in (said, referrer):
            for sheet in naming:
                if wanted and urldefrag(sheet.url).url == wanted:
                    return Cause("style", "style", request=sheet)
        told = self._sheets_by_url.get(said) if said else None
        if told is not None and not naming and not self._is_read(told):
            return Cause("style", "unverified", request=told)
        in_tag = any(url in document.tags for document in self.documents)
        if naming and not in_tag and request.type in ("Font", "Image", "Stylesheet", "Other"):
            return Cause("style", "style", request=naming[-1])
        return None

    def _is_read(self, sheet: Request) -> bool:
        return any(request is sheet and named is not None for request, named in self.sheets)

    def _by_tag(self, request: Request, entry: Entry) -> Cause | None:
        if entry.initiator.kind in ("script", "other") and self.trusts_stacks:
            return None
        said = entry.initiator.url
        around = [d for d in self.documents if d.request.url.split("#")[0] == said]
        others = [d for d in reversed(self.documents) if d not in around]
        for document in around + others:
            if document.request is request or not _begun(document.request, request):
                continue
            naming = document.tags.get(urldefrag(request.url).url)
            tag = _choose(naming or [], document.source, entry, document in around)
            if tag is None:
                continue
            return Cause(
                "tag",
                "source" if document.is_text else "unverified",
                document=document.source.url,
                frame=document.frame,
                offset=tag.end,
                tag=tag,
                preloaded=False,
            )
        return None

    def _by_style_element(self, request: Request) -> Cause | None:
        for document in reversed(self.documents):
            style = document.styles.get(urldefrag(request.url).url)
            if style is None or not _begun(document.request, request):
                continue
            if request.type == "Stylesheet":
                end = style.close or style.end
                return Cause(
                    "tag", "style", document.source.url, document.frame, offset=end, tag=style
                )
            return Cause("end", "style", document=document.source.url, frame=document.frame)
        return None

    def _holders(self, request: Request) -> list[tuple[int, str]]:
        url = urldefrag(request.url).url
        base = self.documents[0].source.base if self.documents else url
        return list(self.index.owners(url, base))

    def _import(self, request: Request, run: Computation) -> Cause | None:
        """The module, external or inline, whose `import` statement names the URL."""
        if request.type != "Script":
            return None
        if run.id in self.scripts:
            module, _, text = self.scripts[run.id]
            if _imports(text or "", run.url, request):
                return Cause("import", "source", request=module)
            return None
        for document in self._by_url.get(run.url, ()):
            for tag, inline in document.inline:
                text = document.source.text[tag.end : tag.close]
                if (
                    inline is run
                    and tag.is_module
                    and _imports(text, document.source.base, request)
                ):
                    return Cause(
                        "tag",
                        "source",
                        document.source.url,
                        document.frame,
                        offset=tag.close or tag.end,
                    )
        return None

    def _by_code(self, request: Request) -> Cause | None:
        best: tuple[int, float, Computation] | None = None
        for strength, owner in self._holders(request):
            run = self._run_of(owner, request)
            if run is None:
                handled = self._handled(owner, request)
                if handled is not None and request.type != "Script":
                    return Cause("import", "source", request=handled)
                continue
            if best is None or (strength, run.start) > best[:2]:
                best = strength, run.start, run
        if best is None:
            return None
        run = best[2]
        return self._import(request, run) or Cause("computation", "source", computation=run)

    def _run_of(self, owner: str, request: Request) -> Computation | None:
        if owner in self.scripts:
            script, run, _ = self.scripts[owner]
            return run if script is not request and arrived(script, request) else None
        for document in self.documents:
            for _, run in document.inline:
                if run.id == owner and _begun(document.request, request):
                    return run
        return None

    def _handled(self, owner: str, request: Request) -> Request | None:
        """The element's resource whose arrival ran the handler in an attribute (rule 19)."""
        key, separator, number = owner.rpartition("@")
        for document in self.documents if separator else ():
            if document.request.key != key or not _begun(document.request, request):
                continue
            for url in document.source.tags[int(number)].urls(document.source.base):
                for found in reversed(self._asked.get(url, [])):
                    if found is not request and arrived(found, request):
                        return found
        return None

    def _by_word(self, request: Request, entry: Entry, referrer: str) -> Cause | None:
        """What the tool says, or the referrer: a style sheet sends its own URL."""
        said = entry.initiator
        for url in (said.url, *(frame[0] for frame in said.frames)):
            for document in reversed(self._by_url.get(url, [])):
                if document.request is request:
                    continue
                offset = document.source.offset(said.line + 1, 1) if said.line else None
                if said.kind == "parser" and offset is not None:
                    return Cause(
                        "tag", "unverified", document.source.url, document.frame, offset=offset
                    )
                return Cause("end", "unverified", document.source.url, document.frame)
            key = self._scripts_by_url.get(url)
            if key is not None and self.scripts[key][0] is not request:
                return Cause("computation", "unverified", computation=self.scripts[key][1])
        sheet = self._sheets_by_url.get(said.url) or self._sheets_by_url.get(referrer)
        if sheet is not None and sheet is not request:
            return Cause("style", "unverified", request=sheet)
        return None

    def _by_time(self, request: Request) -> Cause:
        """The script that arrived last before the request, else the document."""
        runs = [
            run
            for asked, run, _ in self.scripts.values()
            if asked is not request and arrived(asked, request)
        ]
        if runs:
            return Cause("computation", "fallback", computation=max(runs, key=lambda r: r.start))
        frame = request.frame
        if request.type == "Document":
            frame = self.main_frame
        return Cause("end", "fallback", frame=frame)


def _imports(text: str, base: str, request: Request) -> bool:
    url = urldefrag(request.url).url
    return any(absolute(found, base) == url for found in _IMPORT.findall(text))


def arrived(before: Request, request: Request) -> bool:
    """Whether a response was complete when a request was made."""
    return before.finished is not None and before.finished <= request.sent + ROUNDING_US


def _begun(document: Request, request: Request) -> bool:
    """Whether a document had begun to arrive when a request was made."""
    return document.responded is not None and document.responded <= request.sent + ROUNDING_US


def _choose(naming: list[Tag], source: Source, entry: Entry, is_said: bool) -> Tag | None:
    """Of the tags that name a URL the one where the tool says, else the first."""
    said = entry.initiator
    if naming and is_said and said.line:
        offset = source.offset(said.line, said.column) if said.column else None
        for tag in naming:
            if tag.end == offset:
                return tag
        return min(naming, key=lambda tag: abs(source.position(tag.end)[0] - said.line))
    return naming[0] if naming else None

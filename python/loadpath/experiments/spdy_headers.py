"""How many bytes the headers of the SPDY study take, as HTTP/1.1 text and as blocks of SPDY/2.

The blocks are compressed here, by zlib with the parameters of Chromium 16; nothing is assumed but
the headers themselves: those of Chrome 16 on Windows 7, and those of a file served by Express 2.
`measure` gives the sizes from which the HTTP version `spdy/2` has its parts
(`crates/web/src/http/spdy2.rs`).
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["HeaderSizes", "measure"]

Header = tuple[str, str]

_DICTIONARY = (
    b"optionsgetheadpostputdeletetraceacceptaccept-charsetaccept-encodingaccept-languageauthorization"
    b"expectfromhostif-modified-sinceif-matchif-none-matchif-rangeif-unmodifiedsincemax-forwards"
    b"proxy-authorizationrangerefererteuser-agent100101200201202203204205206300301302303304305306307"
    b"400401402403404405406407408409410411412413414415416417500501502503504505accept-rangesageetag"
    b"locationproxy-authenticatepublicretry-afterservervarywarningwww-authenticateallowcontent-base"
    b"content-encodingcache-controlconnectiondatetrailertransfer-encodingupgradeviawarning"
    b"content-languagecontent-lengthcontent-locationcontent-md5content-rangecontent-typeetagexpires"
    b"last-modifiedset-cookieMondayTuesdayWednesdayThursdayFridaySaturdaySundayJanFebMarAprMayJunJul"
    b"AugSepOctNovDecchunkedtext/htmlimage/pngimage/jpgimage/gifapplication/xmlapplication/xhtml"
    b"text/plainpublicmax-agecharset=iso-8859-1utf-8gzipdeflateHTTP/1.1statusversionurl\0"
)
"""With which both compressors of a connection begin (SPDY protocol, draft 2, name/value header
block)."""

_LEVEL, _WINDOW_BITS, _MEMORY_LEVEL = 9, 11, 1
"""Chromium 16, spdy_framer.cc: kCompressorLevel, kCompressorWindowSizeInBits,
kCompressorMemLevel."""

_HOST = "server1.example"
_USER_AGENT = (
    "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/535.7 (KHTML, like Gecko) "
    "Chrome/16.0.912.77 Safari/535.7"
)
_ACCEPT_HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(frozen=True, kw_only=True)
class HeaderSizes:
    """Bytes of the headers of one kind, the first on a connection and the mean of the others."""

    text_first: int
    text_later: float
    """As HTTP/1.1 has them."""
    compressed_first: int
    compressed_later: float
    """As SPDY/2 has them, without the frame around them."""

    @property
    def fractions(self) -> tuple[float, float]:
        """What compression leaves of the first and of the later ones."""
        return self.compressed_first / self.text_first, self.compressed_later / self.text_later


def measure() -> tuple[HeaderSizes, HeaderSizes]:
    """Header sizes of the requests and of the responses of page A (102 resources, one server)."""
    requests = [_request("/", _ACCEPT_HTML, referred=False)]
    requests += [_request(path, "*/*", referred=True) for path in _paths()]
    responses = [_response("text/html; charset=UTF-8", 12_800, 0)]
    responses += [_response("application/javascript", 94_500, 1)]
    # Sizes with as many different digits as those of the page's images.
    responses += [_response("image/jpeg", 1300 + 42 * n, n + 1) for n in range(1, 101)]
    return _sizes(requests), _sizes(responses)


def _paths() -> list[str]:
    return ["/jquery.js", *(f"/{n}.jpg" for n in range(1, 101))]


def _request(path: str, accept: str, *, referred: bool) -> list[Header]:
    referer = [("referer", f"https://{_HOST}/")] if referred else []
    return [
        ("accept", accept),
        ("accept-charset", "ISO-8859-1,utf-8;q=0.7,*;q=0.3"),
        ("accept-encoding", "gzip,deflate,sdch"),
        ("accept-language", "en-US,en;q=0.8"),
        ("host", _HOST),
        ("method", "GET"),
        *referer,
        ("scheme", "https"),
        ("url", path),
        ("user-agent", _USER_AGENT),
        ("version", "HTTP/1.1"),
    ]


def _response(mime_type: str, size_bytes: int, number: int) -> list[Header]:
    """Each file was written some seconds after the one before, which its tag and its date tell."""
    seconds = 7 * number
    modified = f"Mon, 30 Jan 2012 22:{seconds // 60:02d}:{seconds % 60:02d} GMT"
    return [
        ("accept-ranges", "bytes"),
        ("cache-control", "public, max-age=0"),
        ("content-length", str(size_bytes)),
        ("content-type", mime_type),
        ("date", f"Tue, 31 Jan 2012 17:22:{number // 25:02d} GMT"),
        ("etag", f'"{size_bytes}-{1_327_960_800_000 + 1000 * seconds}"'),
        ("last-modified", modified),
        ("status", "200 OK"),
        ("version", "HTTP/1.1"),
        ("x-powered-by", "Express"),
    ]


def _sizes(messages: Sequence[list[Header]]) -> HeaderSizes:
    text = [_text_bytes(headers) for headers in messages]
    compressor = zlib.compressobj(
        _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY
    )
    compressed = [
        len(compressor.compress(_block(headers)) + compressor.flush(zlib.Z_SYNC_FLUSH))
        for headers in messages
    ]
    later = len(messages) - 1
    return HeaderSizes(
        text_first=text[0],
        text_later=sum(text[1:]) / later,
        compressed_first=compressed[0],
        compressed_later=sum(compressed[1:]) / later,
    )


def _block(headers: list[Header]) -> bytes:
    """A name/value block of draft 2: 16-bit counts and lengths."""
    parts = [struct.pack(">H", len(headers))]
    for name, value in headers:
        parts += [struct.pack(">H", len(name)), name.encode()]
        parts += [struct.pack(">H", len(value)), value.encode()]
    return b"".join(parts)


def _text_bytes(headers: list[Header]) -> int:
    """The same headers as lines: what SPDY/2 has beside them stands in the first line there."""
    fields = dict(headers)
    if "url" in fields:
        first = f"{fields['method']} {fields['url']} {fields['version']}"
    else:
        first = f"{fields['version']} {fields['status']}"
    beside = {"method", "scheme", "url", "version", "status"}
    lines = [first, *(f"{n}: {v}" for n, v in headers if n not in beside), "connection: keep-alive"]
    return sum(len(line) + 2 for line in lines) + 2

"""Bodies of responses: something valid of the type, and filler up to the size.

Filler is drawn from SHAKE-256 (FIPS 202) of the resource's URL: the same on every machine, and
nothing that compresses beyond what its alphabet gives away. It is base64 text in comments, bytes
elsewhere.
"""

import base64
import hashlib
import html
import json
import re
import struct

__all__ = [
    "css_string",
    "filler",
    "font",
    "gif",
    "html_attribute",
    "js_string",
    "json_text",
    "padded_html",
    "padded_script",
    "svg",
]

# GIF 89a: one pixel. Browsers tell images by their first bytes whatever the media type says
# (https://mimesniff.spec.whatwg.org/#sniffing-images-specifically), and ignore what follows the
# trailer.
_GIF = (
    b"GIF89a"
    + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0)
    + bytes(6)
    + b","
    + struct.pack("<HHHHB", 0, 0, 1, 1, 0)
    + bytes([2, 2, 0x44, 1, 0])
    + b";"
)

_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">', b"</svg>"


def filler(seed: str, size: int) -> bytes:
    """Pseudo-random bytes."""
    return hashlib.shake_256(seed.encode("utf-8", "surrogatepass")).digest(size)


def text_filler(seed: str, size: int) -> bytes:
    """Pseudo-random text of letters, digits, `+` and `/`: it ends no comment and no string."""
    return base64.b64encode(filler(seed, (size + 3) // 4 * 3))[:size]


def padded_html(seed: str, size: int) -> bytes:
    """So many bytes of HTML that say nothing."""
    return _comment(b"<!--", b"-->", seed, size)


def padded_script(seed: str, size: int) -> bytes:
    """So many bytes of JavaScript, or CSS, that say nothing."""
    return _comment(b"/*", b"*/", seed, size)


def _comment(begin: bytes, end: bytes, seed: str, size: int) -> bytes:
    room = size - len(begin) - len(end)
    if room < 0:
        return b" " * size
    return begin + text_filler(seed, room) + end


def gif(seed: str, size: int) -> bytes | None:
    """An image with bytes behind its end; None if it is too small for one."""
    return _GIF + filler(seed, size - len(_GIF)) if size >= len(_GIF) else None


def svg(seed: str, size: int) -> bytes | None:
    """An image with a comment; None if it is too small for one."""
    begin, end = _SVG
    room = size - len(begin) - len(end)
    return begin + padded_html(seed, room) + end if room >= 0 else None


def json_text(seed: str, size: int) -> bytes:
    """A string, or one digit; nothing if there is no room for that."""
    return b'"' + text_filler(seed, size - 2) + b'"' if size >= 2 else b"1"[:size]


def font(seed: str, size: int) -> bytes | None:
    """A TrueType font with an empty glyph for the letter a; None if too small for one.

    The tables that OpenType requires (https://learn.microsoft.com/typography/opentype/spec/otff),
    and one of a private name with the filler, which browsers drop.
    """
    tables = _font_tables()
    bare = _font_file(tables)
    # A directory entry for one more table.
    room = size - len(bare) - 16
    if room < 0:
        return bare if size == len(bare) else None
    # Tables begin at multiples of four; the last one may end anywhere.
    return _font_file(tables | {b"zzzz": filler(seed, room)})


def _font_tables() -> dict[bytes, bytes]:
    units, ascent, descent, advance = 1000, 800, -200, 500
    # Format 4 with two segments: the letter a is glyph 1, and the end.
    segments = struct.pack(">HHHHHHH", 4, 32, 0, 4, 4, 1, 0)
    segments += struct.pack(">HHHHH", 0x61, 0xFFFF, 0, 0x61, 0xFFFF)
    segments += struct.pack(">HHHH", (1 - 0x61) & 0xFFFF, 1, 0, 0)
    os2 = struct.pack(">HhHHH", 4, advance, 400, 5, 0) + struct.pack(">11h", *([0] * 11))
    os2 += bytes(10) + bytes(16) + b"none" + struct.pack(">HHH", 0x40, 0x61, 0x61)
    os2 += struct.pack(">hhhHH", ascent, descent, 0, ascent, -descent) + bytes(8)
    os2 += struct.pack(">hhHHH", 400, 600, 0, 0x20, 1)
    names = [(1, "f"), (2, "Regular"), (4, "f"), (6, "f")]
    text = b"".join(value.encode("utf-16-be") for _, value in names)
    records, at = b"", 0
    for identity, value in names:
        records += struct.pack(">HHHHHH", 3, 1, 0x409, identity, 2 * len(value), at)
        at += 2 * len(value)
    return {
        b"OS/2": os2,
        b"cmap": struct.pack(">HHHHI", 0, 1, 3, 1, 12) + segments,
        b"glyf": bytes(4),
        b"head": struct.pack(">IIIIHH", 0x10000, 0x10000, 0, 0x5F0F3CF5, 3, units)
        + struct.pack(">qq", 0, 0)
        + struct.pack(">hhhhHHhhh", 0, 0, 0, 0, 0, 8, 2, 0, 0),
        b"hhea": struct.pack(">IhhhHhhhhhh", 0x10000, ascent, descent, 0, advance, 0, 0, 0, 1, 0, 0)
        + bytes(8)
        + struct.pack(">hH", 0, 2),
        b"hmtx": struct.pack(">HhHh", advance, 0, advance, 0),
        b"loca": struct.pack(">HHH", 0, 0, 0),
        b"maxp": struct.pack(">IH", 0x10000, 2) + struct.pack(">13H", 0, 0, 0, 0, 2, *([0] * 8)),
        b"name": struct.pack(">HHH", 0, len(names), 6 + len(records)) + records + text,
        b"post": struct.pack(">IIhhI", 0x30000, 0, 0, 0, 0) + bytes(16),
    }


def _font_file(tables: dict[bytes, bytes]) -> bytes:
    count = len(tables)
    power = 1 << (count.bit_length() - 1)
    head = struct.pack(
        ">IHHHH", 0x10000, count, power * 16, power.bit_length() - 1, (count - power) * 16
    )
    directory, content, at = b"", b"", 12 + 16 * count
    for index, (tag, data) in enumerate(sorted(tables.items())):
        directory += struct.pack(">4sIII", tag, _checksum(data), at + len(content), len(data))
        content += data if index == count - 1 else data + bytes(-len(data) % 4)
    return head + directory + content


def _checksum(data: bytes) -> int:
    data += bytes(-len(data) % 4)
    words: tuple[int, ...] = struct.unpack(f">{len(data) // 4}I", data)
    return sum(words) & 0xFFFFFFFF


# Escapes: what comes from a graph may be anything.


def js_string(text: str) -> str:
    """A JavaScript string in ASCII that ends no script element and no attribute."""
    encoded = json.dumps(text)[1:-1].replace('\\"', '"')
    for character in "<>&'\"":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return f"'{encoded}'"


def html_attribute(text: str) -> str:
    """The value of an attribute in ASCII, with quotes if it needs them."""
    if re.fullmatch(r"[!#-%(-;?-_a-~]+", text) and not text.endswith("/"):
        return text
    plain = html.escape(text, quote=False).replace('"', "&quot;")
    escaped = plain.encode("ascii", "xmlcharrefreplace").decode()
    return f'"{escaped}"'


def css_string(text: str) -> str:
    """A CSS string in ASCII that ends no style element."""
    return '"' + "".join(c if _is_plain(c) else f"\\{ord(c):x} " for c in text) + '"'


def _is_plain(character: str) -> bool:
    return character.isascii() and character.isprintable() and character not in "\"\\<>&'"

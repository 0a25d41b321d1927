"""Results as one HTML page that works offline: notes, figures, tables, settings.

Everything that comes from pages is data and escaped. A content security policy allows no request,
no style and no script but the page's own, which sorts tables.
"""

import base64
import csv
import hashlib
import html
import io
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import resources
from xml.etree import ElementTree

from loadpath._core import ENGINE, __version__
from loadpath.analysis.figures import Figure, render, to_csv
from loadpath.analysis.figures.units import printable
from loadpath.experiments.preset import Result, Table

__all__ = ["MOST_ROWS", "result_html"]

MOST_ROWS = 2000
"""Of a table on the page; its CSV has all."""

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"


def result_html(
    result: Result,
    *,
    command: str | None = None,
    created: datetime | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """A result as a self-contained page.

    Parameters
    ----------
    result
        What to show: its notes first, then figures, its table, further tables, settings.
    command
        What made it, for whoever wants to do it again.
    created
        When; left out if `None`, so that the same result is the same page.
    versions
        What to name beside Loadpath, its engine and Python.
    """
    folder = resources.files("loadpath.reports") / "page"
    style, script = (folder / "report.css").read_text(), (folder / "report.js").read_text()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src-elem {_hash(style)}; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    tables = [Table(title="Results", columns=result.columns, rows=result.rows), *result.tables]
    made = {
        **({} if command is None else {"command": command}),
        **({} if created is None else {"created": created.isoformat(timespec="seconds")}),
        "loadpath": __version__,
        "engine": ENGINE,
        "python": platform.python_version(),
        **(versions or {}),
    }
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_text(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{_text(result.title)}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        f"<h1>{_text(result.title)}</h1>",
        _notes(result.notes),
        _contents(result.figures, tables),
        _figures(result.figures),
        *(_table(table, f"table-{number}") for number, table in enumerate(tables, 1)),
        _settings("Settings", "settings", result.settings),
        _settings("Made by", "made-by", made),
        f"<script>{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _text(value: object) -> str:
    return html.escape(printable(str(value)))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{_text(note)}</li>\n" for note in notes)
    return f'<ul class="notes">\n{items}</ul>'


def _contents(figures: Sequence[Figure], tables: Sequence[Table]) -> str:
    if len(figures) + len(tables) < 3:
        return ""
    entries = [(f"figure-{n}", figure.title) for n, figure in enumerate(figures, 1)]
    entries += [(f"table-{n}", table.title) for n, table in enumerate(tables, 1)]
    items = "".join(f'<li><a href="#{id}">{_text(title)}</a></li>\n' for id, title in entries)
    return f'<nav aria-label="Contents">\n<ul>\n{items}</ul>\n</nav>'


def _figures(figures: Sequence[Figure]) -> str:
    if not figures:
        return ""
    blocks = []
    for number, figure in enumerate(figures, 1):
        id = f"figure-{number}"
        blocks.append(
            f'<figure id="{id}">\n{_inline(render(figure, "svg"), id, figure.title)}\n'
            f"<figcaption>{_text(figure.caption)} "
            f"{_download(figure.name, to_csv(figure))}</figcaption>\n</figure>"
        )
    return '<section class="figures">\n' + "\n".join(blocks) + "\n</section>"


def _inline(svg: bytes, prefix: str, title: str) -> str:
    """An SVG document as an element: its ids made the figure's own, metadata and styles gone."""
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in [c for c in parent if c.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")]:
            parent.remove(child)
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "id":
                element.set(name, f"{prefix}-{value}")
            elif name == f"{{{_XLINK}}}href":
                del element.attrib[name]
                # Only ids of its own; anything else would be a request.
                if value.startswith("#"):
                    element.set("href", f"#{prefix}-{value[1:]}")
            elif "url(#" in value:
                element.set(name, value.replace("url(#", f"url(#{prefix}-"))
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    # What Matplotlib says in a style sheet for all elements, which would be the page's, too.
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")
    root.set("role", "img")
    root.set("aria-label", printable(title))
    root.tail = None
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _table(table: Table, id: str) -> str:
    shown = table.rows[:MOST_ROWS]
    is_text = [any(isinstance(row[at], str) for row in shown) for at in range(len(table.columns))]
    headers = "".join(
        f'<th scope="col"{_class(text)}><button type="button">{_text(column)}</button></th>'
        for column, text in zip(table.columns, is_text, strict=True)
    )
    lines = []
    for row in shown:
        cells = "".join(_cell(value, text) for value, text in zip(row, is_text, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    more = (
        f", the first {MOST_ROWS} of {len(table.rows)} rows" if len(table.rows) > MOST_ROWS else ""
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    body = "\n".join(lines)
    return (
        f'<h2 id="{id}">{_text(table.title)}</h2>\n'
        f'<p class="quiet">{_download(id, text.getvalue())}{more}</p>\n'
        f'<div class="scroll"><table>\n<thead><tr>{headers}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def _class(text: bool) -> str:
    return ' class="text"' if text else ""


def _cell(value: str | int | float | None, text: bool) -> str:
    if value is None:
        return f'<td{_class(text)} data-value="">–</td>'
    if isinstance(value, float):
        small = value != 0 and abs(value) < 0.001
        shown = f"{value:.3g}" if small else f"{value:.3f}"
        return f'<td{_class(text)} data-value="{value!r}">{shown}</td>'
    return f"<td{_class(text)}>{_text(value)}</td>"


def _download(name: str, text: str) -> str:
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return (
        f'<a class="download" download="{_text(name)}.csv" '
        f'href="data:text/csv;charset=utf-8;base64,{data}">CSV</a>'
    )


def _settings(title: str, id: str, values: Mapping[str, object]) -> str:
    if not values:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row">{_text(key)}</th><td>{_text(value)}</td></tr>'
        for key, value in values.items()
    )
    return (
        f'<h2 id="{id}">{title}</h2>\n<table class="settings">\n<tbody>\n{rows}\n</tbody>\n</table>'
    )

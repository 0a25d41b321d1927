#!/usr/bin/env python3
"""Writes the pages that ship with the project: ``pages/*.json`` and ``pages/index.json``.

Every page is made from published counts and sizes; README.md says which. The output depends on
nothing but this code.

    python3 examples/generate.py                      write the files
    python3 examples/generate.py --check              fail if they differ from what would be written
    python3 examples/generate.py --servers 4 FOLDER   write pages A, B and C divided over 4 servers
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generator import mobile, shapes, spdy, thesis
from generator.page import Page, json_lines, summary, to_json

PAGES = Path(__file__).parent / "pages"


# Beyond this, pages A to C would name servers that serve nothing.
MAX_SERVERS = 11


def all_pages() -> list[Page]:
    """The pages in the order of the index."""
    return [page for module in (thesis, mobile, spdy, shapes) for page in module.pages()]


def files(pages: list[Page]) -> dict[str, str]:
    """Name and text of every file of a folder with these pages."""
    result = {}
    index = []
    for page in pages:
        graph = page.graph()
        file = f"{page.name}.json"
        result[file] = to_json(graph)
        index.append(summary(page, graph, file))
    result["index.json"] = json_lines(index, indent="") + "\n"
    return result


def differences(folder: Path, wanted: dict[str, str]) -> list[str]:
    """What is wrong with the folder, a line for each file."""
    present = {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}
    problems = [f"{name}: not made by the generator" for name in present if name not in wanted]
    for name, text in wanted.items():
        if name not in present:
            problems.append(f"{name}: missing")
        elif present[name] != text.encode():
            problems.append(f"{name}: differs")
    return problems


def write(folder: Path, wanted: dict[str, str]) -> None:
    """Writes the files; others in the folder stay (and fail ``--check``)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in wanted.items():
        (folder / name).write_bytes(text.encode())


def main() -> int:
    """Exit status: 0, or 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description="Write the example pages.")
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    parser.add_argument("--servers", type=int, metavar="N", help="write pages A, B, C on N servers")
    parser.add_argument("folder", nargs="?", type=Path, help="with --servers: where to write them")
    options = parser.parse_args()
    if (options.servers is None) != (options.folder is None):
        parser.error("--servers and a folder go together")
    if options.servers is None:
        folder, wanted = PAGES, files(all_pages())
    elif 1 <= options.servers <= MAX_SERVERS:
        folder, wanted = options.folder, files(spdy.pages(options.servers))
    else:
        parser.error(f"--servers {options.servers}: allowed are 1 to {MAX_SERVERS}")
    if not options.check:
        write(folder, wanted)
        return 0
    problems = differences(folder, wanted)
    for problem in problems:
        print(f"error: {folder}/{problem}", file=sys.stderr)
    if problems:
        print("hint: run python3 examples/generate.py", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

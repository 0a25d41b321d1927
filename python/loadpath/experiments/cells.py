"""Grids of loads, one cell at a time, each kept when it is finished.

A cell is a scenario over a list of pages with a number of runs. Its file in the cache folder is
named by a hash of everything that decides its numbers: version, scenario, pages and runs. A batch
that was interrupted continues with the first cell that has no file, and a changed parameter never
finds an old result.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadpath import _core
from loadpath._core import Page, Scenario
from loadpath.api import summarise_many
from loadpath.errors import LoadpathError
from loadpath.outcome import Summary
from loadpath.output import write_atomic

__all__ = ["CellLoad", "PageSet", "run_cell"]


class CellLoad(msgspec.Struct, frozen=True):
    """One load of a cell."""

    page: str
    run: int
    plt_ms: float | None
    dcl_ms: float | None
    reason: str | None
    """Why the load failed, if it did."""
    packets: int
    """Sent, both directions."""
    data_packets: int
    """With payload, delivered to the client."""
    drops: int
    retransmissions: int
    timeouts: int
    tail_losses: int


@dataclass(frozen=True)
class PageSet:
    """Pages, and a hash of their graphs."""

    pages: Sequence[Page]
    digest: str

    @classmethod
    def load(cls, files: Sequence[Path], load: Callable[[Path], Page]) -> "PageSet":
        """Read the pages and hash what they are read from.

        `load` reads a page and the server-delay file beside it; both count.
        """
        digest = hashlib.sha256()
        pages = []
        delays: set[Path] = set()
        for file in files:
            page = load(file)
            pages.append(page)
            digest.update(hashlib.sha256(file.read_bytes()).digest())
            if page.server_delay_file is not None:
                delays.add(file.parent / page.server_delay_file)
        for file in sorted(delays):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return cls(pages, digest.hexdigest())


def run_cell(
    pages: PageSet,
    scenario: Scenario,
    *,
    runs: int,
    cache: Path | None = None,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[CellLoad]:
    """All loads of a cell, in order of pages, then runs; from the folder `cache` if it has them.

    `progress` is called with the number of finished loads of this cell.
    """
    file = None if cache is None else cache / f"{_key(pages, scenario, runs)}.json"
    if file is not None and file.is_file():
        try:
            loads = msgspec.json.decode(file.read_bytes(), type=list[CellLoad])
        except msgspec.MsgspecError as error:
            raise LoadpathError(f"{file}: not a finished cell: {error}") from error
        if progress is not None:
            progress(len(loads))
        return loads
    jobs = [(page, scenario, run) for page in pages.pages for run in range(runs)]
    summaries = summarise_many(jobs, threads=threads, progress=progress)
    loads = [
        _cell_load(page, run, summary)
        for (page, _, run), summary in zip(jobs, summaries, strict=True)
    ]
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, msgspec.json.encode(loads), force=True)
    return loads


def _key(pages: PageSet, scenario: Scenario, runs: int) -> str:
    text = "\0".join([_core.__version__, scenario.to_toml(), pages.digest, str(runs)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _cell_load(page: Page, run: int, summary: Summary) -> CellLoad:
    totals = summary.totals
    return CellLoad(
        page=page.name,
        run=run,
        plt_ms=summary.plt_ms,
        dcl_ms=summary.dcl_ms,
        reason=summary.status.reason,
        packets=totals.packets,
        data_packets=totals.data_packets,
        drops=totals.drops,
        retransmissions=totals.retransmissions,
        timeouts=totals.timeouts,
        tail_losses=totals.tail_losses,
    )

"""Characteristics as tables for people, and as CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadpath.analysis.characteristics.collection import (
    METRICS,
    Collection,
    Distribution,
    critical_path_shares,
    distribution,
    shares_by_cause,
)
from loadpath.analysis.characteristics.page import Amount
from loadpath.errors import LoadpathError
from loadpath.output import refuse_existing, write_atomic

__all__ = ["TextTable", "csv_files", "tables", "write_folder"]

_COLUMNS = ("n", "mean", "least", "p10", "median", "p90", "p95", "most")


@dataclass(frozen=True)
class TextTable:
    """A table for people."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(collection: Collection) -> list[TextTable]:
    """Distributions over pages, sizes by type, causes, critical paths, RTTs, lifetimes."""
    pages = collection.pages
    found = [
        _distributions(f"{len(pages)} pages", "per page", collection.distributions()),
        _distributions("sizes of resources in bytes", "type", collection.sizes_by_type()),
        _causes(collection),
        _distributions(
            "share of the critical path in %",
            "activity",
            [distribution(kind, v) for kind, v in critical_path_shares(pages).items()],
        ),
        _distributions("round-trip times in ms", "hosts", collection.rtts()),
        _distributions(
            "freshness lifetimes in s",
            "type",
            [distribution(type, v) for type, v in collection.lifetimes_s().items()],
        ),
    ]
    return [table for table in found if table.rows]


def csv_files(collection: Collection) -> dict[str, bytes]:
    """The tables in full by file name: pages, resources, distributions, hosts, lifetimes."""
    pages = collection.pages
    groups = {
        "page": collection.distributions(),
        "size_bytes": collection.sizes_by_type(),
        "critical_path_percent": [
            distribution(kind, v) for kind, v in critical_path_shares(pages).items()
        ],
        "requested_resources_percent": [
            distribution(kind, v) for kind, v in shares_by_cause(pages, "resources").items()
        ],
        "requested_bytes_percent": [
            distribution(kind, v) for kind, v in shares_by_cause(pages, "bytes").items()
        ],
        "rtt_ms": collection.rtts(),
        "lifetime_s": [distribution(type, v) for type, v in collection.lifetimes_s().items()],
    }
    fields = [field.name for field in msgspec.structs.fields(Distribution)]
    files = {
        "pages.csv": _csv(
            ["page", "url", *METRICS],
            ([page.page, page.url, *(m(page) for m in METRICS.values())] for page in pages),
        ),
        "resources.csv": _csv(
            list(collection.resources[0].__struct_fields__) if collection.resources else ["page"],
            (msgspec.structs.astuple(record) for record in collection.resources),
        ),
        "distributions.csv": _csv(
            ["of", *fields],
            (
                [of, *msgspec.structs.astuple(one)]
                for of, distributions in groups.items()
                for one in distributions
            ),
        ),
        "rtts.csv": _csv(
            ["page", "host", "rtt_ms", "source", "is_cdn"],
            ([page.page, *msgspec.structs.astuple(rtt)] for page in pages for rtt in page.rtts),
        ),
        "lifetimes.csv": _csv(
            ["page", "url", "type", "lifetime_s"],
            (
                [page.page, *msgspec.structs.astuple(one)]
                for page in pages
                for one in page.lifetimes or ()
            ),
        ),
    }
    empty = {"rtts.csv": collection.rtts(), "lifetimes.csv": collection.lifetimes_s()}
    return {name: data for name, data in files.items() if empty.get(name, True)}


def write_folder(folder: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write files into a folder, which is made if need be; none if one of them exists.

    Raises
    ------
    OutputExistsError
        There is such a file; with `force` it is replaced.
    LoadpathError
        It cannot be written.
    """
    for name in files:
        refuse_existing(folder / name, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoadpathError(f"cannot make {folder}: {error.strerror}") from error
    for name, data in files.items():
        write_atomic(folder / name, data, force=force)


def _distributions(title: str, what: str, found: Sequence[Distribution]) -> TextTable:
    return TextTable(
        title,
        [what, *_COLUMNS],
        [[one.name, *(_number(getattr(one, column)) for column in _COLUMNS)] for one in found],
    )


def _causes(collection: Collection) -> TextTable:
    total = Amount(
        resources=sum(page.total.resources for page in collection.pages),
        bytes=sum(page.total.bytes for page in collection.pages),
    )
    sums: dict[str, Amount] = {}
    for page in collection.pages:
        for kind, amount in page.requested_by.items():
            kept = sums.setdefault(kind, Amount())
            kept.resources += amount.resources
            kept.bytes += amount.bytes
    ordered = sorted(sums.items(), key=lambda item: -item[1].resources)
    return TextTable(
        "who requested resources",
        ["activity", "resources", "%", "bytes", "%"],
        [
            [
                kind,
                str(amount.resources),
                f"{100 * amount.resources / (total.resources or 1):.1f}",
                str(amount.bytes),
                f"{100 * amount.bytes / (total.bytes or 1):.1f}",
            ]
            for kind, amount in ordered
        ],
    )


def _number(value: float) -> str:
    if float(value).is_integer():
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()

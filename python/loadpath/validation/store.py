"""Where measured loads are kept, so that a validation can go on over days.

    STORE/loads/AB/DIGEST.json     one load; DIGEST is of all that decides what it measures
          blocks/ID.json           control loads before and after a stretch of loads, a verdict

Files appear whole or not at all. A load counts if it is believed and its block accepts it.
"""

import hashlib
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec

from loadpath.errors import StoreError
from loadpath.output import write_atomic
from loadpath.testbed.load import Http, Load

__all__ = ["MAX_MOVED", "Block", "LoadKey", "LoadStore", "StoredLoad"]

MAX_MOVED = 0.05
"""Of a load: by how much the control loads before and after its block may differ."""

_T = TypeVar("_T")


class LoadKey(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what a load measures, and which of several it is."""

    archive: str
    """Digest of what is served."""
    page: str
    network: str
    http: Http
    server: str
    """Kind of server."""
    browser: str
    """Its version."""
    loader: int
    run: int
    attempt: int
    """Loads that do not count are repeated."""

    @property
    def digest(self) -> str:
        """The name of its file."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:24]


class StoredLoad(msgspec.Struct, frozen=True):
    """A file of a load."""

    key: LoadKey
    block: str
    started: str
    load: Load


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of loads between control loads."""

    id: str
    ended: str
    before_ms: list[float]
    after_ms: list[float]

    @property
    def moved_ms(self) -> float:
        """Change of the median of the control loads."""
        return median(self.after_ms) - median(self.before_ms)

    def accepts(self, load_ms: float) -> bool:
        """Whether so long a load counts: what the machine adds or takes is little of it."""
        return abs(self.moved_ms) <= MAX_MOVED * load_ms


class LoadStore:
    """A folder of loads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, key: LoadKey) -> StoredLoad | None:
        """A load that was made, if it is there and whole."""
        return self._read(self._load_file(key), StoredLoad)

    def block(self, id: str) -> Block | None:
        """A finished block."""
        return self._read(self.folder / "blocks" / f"{id}.json", Block)

    def keep(self, stored: StoredLoad) -> None:
        """Keep a load.

        Raises
        ------
        StoreError
            It cannot be written.
        """
        self._write(self._load_file(stored.key), stored)

    def keep_block(self, block: Block) -> None:
        """Keep the verdict on a block."""
        self._write(self.folder / "blocks" / f"{block.id}.json", block)

    def _load_file(self, key: LoadKey) -> Path:
        return self.folder / "loads" / key.digest[:2] / f"{key.digest}.json"

    def _read(self, path: Path, kind: type[_T]) -> _T | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise StoreError(f"{path} is damaged: {error}") from error

    def _write(self, path: Path, value: object) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, msgspec.json.encode(value), force=True)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error

"""Writing files: whole or not at all, and never over something that is there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from loadpath.errors import LoadpathError, OutputExistsError, hinted

__all__ = ["atomic_file", "refuse_existing", "write_atomic"]


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise `OutputExistsError` if `path` exists, unless forced."""
    if path.exists() and not force:
        raise hinted(
            OutputExistsError(f"{path} exists already"), "choose another path, or give --force"
        )


@contextmanager
def atomic_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """A file that appears at `path` when the block ends, and not at all if it fails."""
    refuse_existing(path, force=force)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise LoadpathError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; give it what a plain open would have.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def write_atomic(path: Path, data: bytes | str, *, force: bool = False) -> None:
    """Write a whole file, see `atomic_file`."""
    with atomic_file(path, force=force) as file:
        file.write(data.encode() if isinstance(data, str) else data)

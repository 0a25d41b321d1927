"""Files appear whole or not at all."""

from pathlib import Path

import pytest

from loadpath import LoadpathError, OutputExistsError
from loadpath.output import atomic_file, write_atomic


def test_a_file_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), atomic_file(tmp_path / "out") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_forced_write_that_fails_keeps_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_file(target, force=True) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_exists_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_atomic(target, "old")
    with pytest.raises(OutputExistsError, match="exists already") as error:
        write_atomic(target, "new")
    assert error.value.__notes__ == ["hint: choose another path, or give --force"]
    assert target.read_text() == "old"
    write_atomic(target, "new", force=True)
    assert target.read_text() == "new"


def test_a_missing_folder_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(LoadpathError, match="No such file or directory"):
        write_atomic(tmp_path / "no" / "out", "text")

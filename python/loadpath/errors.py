"""Errors of the Python half; those of the engine are in `loadpath._core`.

Every error that a user can cause is a `LoadpathError`. Its message says what is wrong and where;
a note (`BaseException.add_note`) that starts with "hint: " says what to do about it.
"""

from typing import TypeVar

from loadpath._core import CorpusError, GraphError, LoadpathError, ScenarioError

__all__ = [
    "CorpusError",
    "GraphError",
    "LoadpathError",
    "NotFoundError",
    "OutputExistsError",
    "ScenarioError",
    "hinted",
]


class NotFoundError(LoadpathError):
    """A named thing (page, network, preset, file) does not exist."""


class OutputExistsError(LoadpathError):
    """Writing would replace something, and nobody asked for that."""


_Error = TypeVar("_Error", bound=LoadpathError)


def hinted(error: _Error, hint: str) -> _Error:
    """The error with a hint for its reader."""
    error.add_note(f"hint: {hint}")
    return error

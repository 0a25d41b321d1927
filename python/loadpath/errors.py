"""Errors of the Python half; those of the engine are in `loadpath._core`.

Every error that a user can cause is a `LoadpathError`. Its message says what is wrong and where;
a note (`BaseException.add_note`) that starts with "hint: " says what to do about it.
"""

from typing import TypeVar

from loadpath._core import (
    CorpusError,
    GraphError,
    LinkError,
    LoadpathError,
    OriginError,
    ScenarioError,
    TransformError,
)

__all__ = [
    "ClusterError",
    "CorpusError",
    "GraphError",
    "LinkError",
    "LoadpathError",
    "NotFoundError",
    "OriginError",
    "OutputExistsError",
    "ScenarioError",
    "SpecificationError",
    "StoreError",
    "TransformError",
    "hinted",
]


class NotFoundError(LoadpathError):
    """A named thing (page, network, preset, file) does not exist."""


class OutputExistsError(LoadpathError):
    """Writing would replace something, and nobody asked for that."""


class SpecificationError(LoadpathError):
    """The specification of a sweep says something that is not possible."""


class StoreError(LoadpathError):
    """Results cannot be stored, or what is stored cannot be used."""


class ClusterError(LoadpathError):
    """A cluster cannot be reached, is not fit for a sweep, or is lost."""


_Error = TypeVar("_Error", bound=LoadpathError)


def hinted(error: _Error, hint: str) -> _Error:
    """The error with a hint for its reader."""
    error.add_note(f"hint: {hint}")
    return error

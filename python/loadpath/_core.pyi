from collections.abc import Callable, Sequence
from typing import TypedDict, final

__version__: str

class LoadpathError(Exception): ...
class GraphError(LoadpathError): ...
class ScenarioError(LoadpathError): ...
class CorpusError(LoadpathError): ...

@final
class Page:
    @staticmethod
    def from_json(data: bytes, origin: str, delays: tuple[bytes, str] | None = None) -> Page: ...
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def activities(self) -> int: ...

@final
class Scenario:
    @staticmethod
    def resolve(
        profile: str | None = None,
        toml: tuple[str, str] | None = None,
        overrides: Sequence[tuple[str, str]] = ...,
    ) -> Scenario: ...
    def to_toml(self) -> str: ...

class ScenarioKey(TypedDict):
    name: str
    doc: str
    allowed: str
    pcp: str
    pcp_source: str
    linux: str
    linux_source: str

def scenario_keys() -> list[ScenarioKey]: ...

def simulate(page: Page, scenario: Scenario, run: int = 0, *, trace: bool = False) -> bytes: ...
def simulate_batch(
    jobs: Sequence[tuple[Page, Scenario, int]],
    *,
    threads: int = 0,
    detail: bool = True,
    progress: Callable[[int], object] | None = None,
) -> list[bytes]: ...

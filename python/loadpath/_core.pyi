from collections.abc import Callable, Sequence
from typing import TypedDict, final

__version__: str
ENGINE: str

class LoadpathError(Exception): ...
class GraphError(LoadpathError): ...
class ScenarioError(LoadpathError): ...
class CorpusError(LoadpathError): ...
class LinkError(LoadpathError): ...

@final
class ServerDelays:
    @staticmethod
    def from_json(data: bytes, origin: str) -> ServerDelays: ...

@final
class Page:
    @staticmethod
    def from_json(data: bytes, origin: str) -> Page: ...
    def with_server_delays(self, delays: ServerDelays) -> Page: ...
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def server_delay_file(self) -> str | None: ...
    @property
    def activities(self) -> int: ...
    @property
    def resources(self) -> int: ...

@final
class AdFilters:
    def __new__(cls, lists: Sequence[str]) -> AdFilters: ...
    def blocks(self, url: str, document_url: str, kind: str, method: str = "GET") -> str | None: ...

def registrable_domain(host: str) -> str | None: ...

@final
class Scenario:
    @staticmethod
    def resolve(
        profile: str | None = None,
        toml: tuple[str, str] | None = None,
        overrides: Sequence[tuple[str, str]] = ...,
    ) -> Scenario: ...
    def to_toml(self) -> str: ...

def recorded_durations_ms(data: bytes, origin: str) -> dict[str, float]: ...

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
def summarise_batch(
    pages: Sequence[Page],
    scenarios: Sequence[Scenario],
    jobs: Sequence[tuple[int, int, int]],
    *,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> bytes: ...
def summarise_columns(
    pages: Sequence[Page],
    scenarios: Sequence[Scenario],
    jobs: tuple[bytes, bytes, bytes],
    *,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> tuple[list[tuple[str, str, bytes]], list[tuple[int, str]]]: ...

class CorpusPage(TypedDict):
    name: str
    original_name: str
    number: int
    graph: str
    delays: str
    no_sharding: bool | None

def origin_folders() -> tuple[str, str, str]: ...
def parse_corpus_index(data: bytes, origin: str) -> list[CorpusPage]: ...
def pages_in_origin(file_names: Sequence[str]) -> list[CorpusPage]: ...
def import_graph(
    name: str,
    graph: tuple[bytes, str],
    delays: tuple[bytes, str] | None = None,
    server_delay_file: str | None = None,
    fetch_late_references: bool = False,
) -> tuple[bytes, bool, bytes]: ...
def import_distributions(files: Sequence[tuple[str, bytes, str]]) -> bytes: ...

# Linux only:

@final
class Namespaces:
    @staticmethod
    def create() -> Namespaces: ...
    @property
    def descriptors(self) -> tuple[int, int]: ...
    def start_link(
        self,
        scenario: Scenario,
        congestion: str,
        delay_ms: tuple[float, float],
        run: int = 0,
        drop_down: Sequence[int] | None = None,
        drop_up: Sequence[int] | None = None,
    ) -> RunningLink: ...

@final
class RunningLink:
    @property
    def failed(self) -> bool: ...
    def stop(self) -> bytes: ...

def become_init() -> None: ...
def die_with_parent() -> None: ...
def enter_namespaces(owner: int, network: int) -> None: ...
def link_addresses() -> tuple[str, str, str]: ...

"""Lantern's predictions, where Node and Lighthouse are installed: `make lantern`."""

import gzip
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from loadpath.errors import LoadpathError
from loadpath.profiler import read_events, read_manifest
from loadpath.profiler.manifest import PassKind
from loadpath.profiler.passes import TRACE_FILE
from loadpath.profiler.recording import EVENTS_FILE
from loadpath.testbed.load import Http
from loadpath.testbed.loader import PROTOCOLS
from loadpath.validation.cells import ValidationNetwork

__all__ = ["FOLDER_VARIABLE", "Lantern"]

FOLDER_VARIABLE = "LOADPATH_LANTERN"
"""Names the folder in which `npm install lighthouse` was run."""

MAJOR = "12."
"""Of Lighthouse: 13 has another API."""

TIMEOUT_S = 300.0


class _Network(msgspec.Struct):
    rtt_ms: float
    rate_bps: float


class _Request(msgspec.Struct):
    trace: str
    log: str
    url: str
    protocol: str
    networks: list[_Network]


class _Package(msgspec.Struct):
    version: str


class Lantern:
    """Lighthouse's simulator."""

    def __init__(self, node: str, folder: Path, version: str) -> None:
        self._node = node
        self._folder = folder
        self.version = version
        """Lighthouse's."""

    @staticmethod
    def find() -> "Lantern | None":
        """The installed one, if there is a usable one."""
        node = shutil.which("node")
        base = os.environ.get("LOADPATH_CACHE")
        cache = Path(base) if base else Path.home() / ".cache" / "loadpath"
        folder = Path(os.environ.get(FOLDER_VARIABLE) or cache / "lantern")
        try:
            text = (folder / "node_modules" / "lighthouse" / "package.json").read_bytes()
        except OSError:
            return None
        version = msgspec.json.decode(text, type=_Package).version
        if node is None or not version.startswith(MAJOR):
            return None
        return Lantern(node, folder, version)

    def predict(
        self, profile: Path, http: Http, networks: Sequence[ValidationNetwork]
    ) -> list[float]:
        """Load times of a profiled page over networks, ms, from its first timing pass.

        Lantern knows neither losses nor queues.

        Raises
        ------
        LoadpathError
            The profile has no timing pass, or Lighthouse cannot read it.
        """
        manifest = read_manifest(profile)
        passes = [
            each.name
            for each in manifest.passes
            if each.kind is PassKind.TIMING and each.status == "complete"
        ]
        if not passes:
            raise LoadpathError(f"{profile}: Lantern needs a complete timing pass")
        recording = profile / passes[0]
        with tempfile.TemporaryDirectory(prefix="loadpath-lantern-") as scratch:
            log, trace = Path(scratch) / "log.json", Path(scratch) / "trace.json"
            log.write_bytes(_devtools_log(recording))
            with gzip.open(recording / TRACE_FILE) as source, trace.open("wb") as target:
                shutil.copyfileobj(source, target)
            request = _Request(
                trace=str(trace),
                log=str(log),
                url=manifest.url,
                protocol=PROTOCOLS[http],
                networks=[_Network(each.rtt_ms, each.rate_bps) for each in networks],
            )
            script = Path(__file__).with_name("lantern.mjs")
            result = subprocess.run(
                [self._node, str(script), str(self._folder)],
                input=msgspec.json.encode(request),
                capture_output=True,
                check=False,
                timeout=TIMEOUT_S,
            )
        if result.returncode:
            lines = result.stderr.decode(errors="replace").strip().splitlines()
            reason = next((line for line in lines if "Error" in line), "no message")
            raise LoadpathError(f"{profile}: Lantern failed: {reason}")
        return msgspec.json.decode(result.stdout, type=list[float])


def _devtools_log(recording: Path) -> bytes:
    """The events of a pass as Lighthouse keeps them."""
    kinds: dict[str, str] = {}
    lines = []
    for event in read_events(recording / EVENTS_FILE):
        if event.method == "Loadpath.attached":
            kinds[event.session] = event.decode()["targetInfo"]["type"]
        elif event.method.startswith(("Network.", "Page.")):
            lines.append(
                {
                    "method": event.method,
                    "params": event.params,
                    "sessionId": event.session,
                    "targetType": kinds.get(event.session, "page"),
                }
            )
    return msgspec.json.encode(lines)

"""A small server of HAR archives on loopback: HTTP/1.1, in the clear and over TLS."""

import asyncio
import base64
import json
import logging
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import msgspec
from hypercorn.asyncio import serve
from hypercorn.config import Config

from loadpath.errors import LoadpathError
from loadpath.profiler import Settings
from serving import _certificate

__all__ = ["ArchiveSite"]

_HOP = {"content-length", "connection", "keep-alive", "transfer-encoding"}


class ArchiveSite:
    """The running server of an archive; a context manager. Answers wait for `timings.wait`.

    Attributes
    ----------
    requests, misses
        URLs that were asked for and, of them, those that the archive does not have; known when the
        server has ended.
    """

    def __init__(self, archive: Mapping[str, Any]) -> None:
        self._archive = archive
        self.url = str(archive["log"]["entries"][0]["request"]["url"])
        self.requests: list[str] = []
        self.misses: list[str] = []

    def __enter__(self) -> "ArchiveSite":
        self._folder = tempfile.TemporaryDirectory(prefix="archive-site-")
        folder = Path(self._folder.name)
        (folder / "archive.har").write_bytes(msgspec.json.encode(self._archive))
        # A process of its own, which is killed: nothing of a browser that is gone holds it up.
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        if not ready:
            self.__exit__(None, None, None)
            raise LoadpathError("the server of the archive did not start")
        self._clear, self._tls, self.spki = json.loads(ready)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        log = Path(self._folder.name) / "requests"
        for line in log.read_text().splitlines() if log.exists() else ():
            answer, _, url = line.partition(" ")
            self.requests.append(url)
            if answer == "miss":
                self.misses.append(url)
        self._folder.cleanup()

    def settings(self, **options: Any) -> Settings:
        """What the profiler needs to reach this server, and further options."""
        urls = [entry["request"]["url"] for entry in self._archive["log"]["entries"]]
        rules = ",".join(
            f"MAP {_name_and_port(scheme, host)} 127.0.0.1:{port}"
            for host in sorted({urlsplit(url).netloc for url in urls})
            # Browsers turn to https by themselves where they know a host, or the page is https.
            for scheme, port in (("http", self._clear), ("https", self._tls))
        )
        return Settings(
            host_resolver_rules=f"{rules},MAP * ~NOTFOUND",
            browser_flags=(f"--ignore-certificate-errors-spki-list={self.spki}",),
            **options,
        )


class _Server:
    def __init__(self, folder: Path) -> None:
        archive = json.loads((folder / "archive.har").read_bytes())
        self._entries = {_key(e["request"]): e for e in archive["log"]["entries"]}
        self._folder = folder
        self._log = (folder / "requests").open("w")

    def serve(self) -> None:
        """Until the process is killed."""
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [each.getsockname()[1] for each in sockets]
        spki = _certificate(self._folder)
        print(json.dumps([*ports, spki]), flush=True)
        config = Config()
        config.certfile = str(self._folder / "certificate.pem")
        config.keyfile = str(self._folder / "key.pem")
        clear, tls = (f"fd://{each.detach()}" for each in sockets)
        config.insecure_bind, config.bind = [clear], [tls]
        config.alpn_protocols = ["http/1.1"]
        config.loglevel = "CRITICAL"
        config.errorlog = logging.getLogger("archive-site")
        app: Any = self._app
        asyncio.run(serve(app, config))

    async def _app(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        while (await receive()).get("more_body", False):
            pass
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        host, path = headers.get("host", ""), scope["raw_path"].decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        target = path.partition("?")[0] + (f"?{query}" if query else "")
        key = (scope["method"], scope["scheme"], host, target)
        other = "http" if scope["scheme"] == "https" else "https"
        entry = self._entries.get(key) or self._entries.get((key[0], other, *key[2:]))
        found = entry is not None and entry["response"]["status"] != 0
        self._log.write(f"{'hit' if found else 'miss'} {scope['scheme']}://{host}{target}\n")
        self._log.flush()
        if entry is None or not found:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await asyncio.sleep(entry["timings"]["wait"] / 1000)
        response = entry["response"]
        text = response["content"]["text"]
        is_binary = response["content"].get("encoding") == "base64"
        body = base64.b64decode(text) if is_binary else text.encode("latin-1")
        kept = [
            (h["name"].lower().encode(), h["value"].encode("latin-1"))
            for h in response["headers"]
            if h["name"].lower() not in _HOP
        ]
        kept.append((b"content-length", str(len(body)).encode()))
        start = {"type": "http.response.start", "status": response["status"], "headers": kept}
        await send(start)
        await send({"type": "http.response.body", "body": body})


def _key(request: Mapping[str, Any]) -> tuple[str, str, str, str]:
    parts = urlsplit(request["url"])
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return request["method"], parts.scheme, parts.netloc, target


def _name_and_port(scheme: str, host: str) -> str:
    name, _, port = host.partition(":")
    return f"{name}:{port or (80 if scheme == 'http' else 443)}"


if __name__ == "__main__":
    _Server(Path(sys.argv[1])).serve()

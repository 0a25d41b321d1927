"""A small server of HAR archives on loopback: HTTP/1.1 in the clear, HTTP/2 over TLS."""

import asyncio
import base64
import logging
import os
import socket
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from hypercorn.asyncio import serve
from hypercorn.config import Config

from loadpath.profiler import Settings
from serving import _certificate

__all__ = ["ArchiveSite"]

_HOP = {"content-length", "connection", "keep-alive", "transfer-encoding"}


class ArchiveSite:
    """The running server of an archive; a context manager. Answers wait for `timings.wait`."""

    def __init__(self, archive: Mapping[str, Any]) -> None:
        self._entries = {_key(e["request"]): e for e in archive["log"]["entries"]}
        self.url = str(archive["log"]["entries"][0]["request"]["url"])
        self.requests: list[str] = []
        self.misses: list[str] = []
        self._ended = threading.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="archive-site-")
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "ArchiveSite":
        self._sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self._clear, self._tls = (s.getsockname()[1] for s in self._sockets)
        self.spki = _certificate(Path(self._folder.name))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._folder.cleanup()

    def settings(self, **options: Any) -> Settings:
        """What the profiler needs to reach this server, and further options."""
        rules = ",".join(
            f"MAP {_name_and_port(scheme, host)} 127.0.0.1:{port}"
            for host in sorted({host for _, host in self._entries_by_host()})
            # Browsers turn to https by themselves where they know a host, or the page is https.
            for scheme, port in (("http", self._clear), ("https", self._tls))
        )
        return Settings(
            host_resolver_rules=f"{rules},MAP * ~NOTFOUND",
            browser_flags=(f"--ignore-certificate-errors-spki-list={self.spki}",),
            **options,
        )

    def _entries_by_host(self) -> list[tuple[str, str]]:
        found = (urlsplit(e["request"]["url"]) for e in self._entries.values())
        return [(parts.scheme, parts.netloc) for parts in found]

    def _serve(self) -> None:
        config = Config()
        folder = Path(self._folder.name)
        config.certfile, config.keyfile = str(folder / "certificate.pem"), str(folder / "key.pem")
        clear, tls = (f"fd://{os.dup(s.fileno())}" for s in self._sockets)
        config.insecure_bind, config.bind = [clear], [tls]
        config.graceful_timeout = config.shutdown_timeout = 1
        config.loglevel = "CRITICAL"
        config.errorlog = logging.getLogger("archive-site")

        async def ended() -> None:
            await asyncio.get_running_loop().run_in_executor(None, self._ended.wait)

        app: Any = self._app
        asyncio.run(serve(app, config, shutdown_trigger=ended))
        for each in self._sockets:
            each.close()

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
        self.requests.append(f"{scope['scheme']}://{host}{target}")
        other = "http" if scope["scheme"] == "https" else "https"
        entry = self._entries.get(key) or self._entries.get((key[0], other, *key[2:]))
        if entry is None or not entry["response"]["status"]:
            self.misses.append(f"{scope['method']} {scope['scheme']}://{host}{target}")
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

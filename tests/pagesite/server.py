"""Serves the pages on loopback: HTTP/1.1 in the clear, HTTP/2 and HTTP/1.1 over TLS.

A page has two hosts of its own: `NAME.page.test` serves its folder, `NAME.other.test` (another
site) its folder `other/`. Host names are resolved by the browser itself (`Site.browser_flags`).
"""

import asyncio
import base64
import datetime
import hashlib
import logging
import mimetypes
import socket
import ssl
import tempfile
import threading
import tomllib
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypercorn.asyncio import serve
from hypercorn.config import Config

from pagesite.truth import PAGES

__all__ = ["OTHER_DOMAIN", "PAGE_DOMAIN", "Pieces", "ResponseRule", "Site", "response_rules"]

# RFC 6761 section 6.2: .test is never delegated.
PAGE_DOMAIN = "page.test"
OTHER_DOMAIN = "other.test"

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Pieces(msgspec.Struct, frozen=True):
    """How HTML bodies are served slowly: `size_bytes` every `interval_ms`, cutting inside tags."""

    size_bytes: int
    interval_ms: float


class ResponseRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is special about a response; a table of `server.toml`, named by the path of its file."""

    status: int = 200
    delay_ms: float = 0.0
    headers: dict[str, str] = {}
    etag: str = ""
    """Answers 304 to a request that carries it."""


@cache
def response_rules(name: str) -> dict[str, ResponseRule]:
    """The special responses of a page, by path in its folder."""
    path = PAGES / name / "server.toml"
    text = path.read_text() if path.exists() else ""
    return msgspec.convert(tomllib.loads(text), dict[str, ResponseRule])


class Site:
    """The running server; a context manager. Its ports are free ones of 127.0.0.1."""

    def __init__(self, *, pieces: Pieces | None = None, http2: bool = True, pages: Path = PAGES):
        self._pieces = pieces
        self._alpn = ["h2", "http/1.1"] if http2 else ["http/1.1"]
        self._pages = pages
        self._folder = tempfile.TemporaryDirectory(prefix="pagesite-")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="pagesite", daemon=True)
        self.requests: list[tuple[str, str, str]] = []
        """What was asked for: host, path with query, HTTP version; in order of arrival."""

    def __enter__(self) -> "Site":
        self._certificate, self._key, self.spki_hash = _certificate(Path(self._folder.name))
        # Bound and listening here, so that nobody connects too early.
        self._sockets = [_listening(), _listening()]
        self.http_port, self.https_port = (s.getsockname()[1] for s in self._sockets)
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

    def url(self, name: str, scheme: str = "https") -> str:
        """Address of a page's main document, as `browser_flags` lets a browser resolve it."""
        return f"{scheme}://{name}.{PAGE_DOMAIN}/"

    def host_resolver_rules(self) -> str:
        """Chromium's rules by which the site's hosts lead to this server; no others are found."""
        rules = [
            f"MAP *.{domain}:{public} 127.0.0.1:{port}"
            for domain in (PAGE_DOMAIN, OTHER_DOMAIN)
            for public, port in ((80, self.http_port), (443, self.https_port))
        ]
        return ",".join([*rules, "MAP * ~NOTFOUND"])

    def browser_flags(self) -> list[str]:
        """Flags of Chromium: where the hosts are, and that their certificate is to be trusted."""
        return [
            f"--host-resolver-rules={self.host_resolver_rules()}",
            f"--ignore-certificate-errors-spki-list={self.spki_hash}",
        ]

    def _serve(self) -> None:
        config = Config()
        config.certfile, config.keyfile = str(self._certificate), str(self._key)
        config.alpn_protocols = self._alpn
        plain, secure = (f"fd://{s.detach()}" for s in self._sockets)
        config.insecure_bind, config.bind = [plain], [secure]
        # Longer than any delay of a page: what is asked for is answered, then all ends.
        config.graceful_timeout = 2
        config.shutdown_timeout = 1
        config.loglevel = "CRITICAL"
        config.errorlog = logging.getLogger("pagesite")

        async def ended() -> None:
            await asyncio.get_running_loop().run_in_executor(None, self._ended.wait)

        # hypercorn's type of an ASGI application is narrower than what it calls.
        app: Any = self._app
        asyncio.run(serve(app, config, shutdown_trigger=ended))

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        if scope["type"] == "websocket":
            await _echo(receive, send)
        else:
            await self._respond(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = {key.decode(): value.decode() for key, value in scope["headers"]}
        host = request.get("host", "").partition(":")[0]
        query = scope["query_string"].decode()
        target = scope["path"] + (f"?{query}" if query else "")
        self.requests.append((host, target, scope["http_version"]))
        while (await receive()).get("more_body", False):
            pass

        name, _, domain = host.partition(".")
        path = scope["path"].removeprefix("/")
        path = path + "index.html" if path.endswith("/") or not path else path
        if domain == OTHER_DOMAIN:
            path = f"other/{path}"
        elif domain != PAGE_DOMAIN:
            name = ""
        folder = (self._pages / name).resolve()
        file = (folder / path).resolve()
        special = response_rules(name) if name and folder.parent == self._pages else {}
        found = file.is_file() and file.is_relative_to(folder) and folder != self._pages
        rule = special.get(path, ResponseRule(status=200 if found else 404))
        body = file.read_bytes() if found else b""
        if rule.etag and request.get("if-none-match") == rule.etag:
            rule, body = msgspec.structs.replace(rule, status=304), b""
        await asyncio.sleep(rule.delay_ms / 1000)
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        await send(
            {
                "type": "http.response.start",
                "status": rule.status,
                "headers": _headers(rule, kind, None if rule.status in (204, 304) else len(body)),
            }
        )
        if self._pieces is not None and kind == "text/html":
            size = self._pieces.size_bytes
            for offset in range(0, len(body), size):
                piece = body[offset : offset + size]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(self._pieces.interval_ms / 1000)
            body = b""
        await send({"type": "http.response.body", "body": body})


def _headers(
    rule: ResponseRule, kind: str, content_length: int | None
) -> list[tuple[bytes, bytes]]:
    text = kind.startswith("text/") or kind.endswith(("javascript", "json"))
    headers = {
        "content-type": f"{kind}; charset=utf-8" if text else kind,
        # What is referenced twice in a load must come from the cache the second time.
        "cache-control": "max-age=600",
        "access-control-allow-origin": "*",
    }
    if content_length is not None:
        headers["content-length"] = str(content_length)
    if rule.etag:
        headers["etag"] = rule.etag
    headers.update(rule.headers)
    return [(key.encode(), value.encode()) for key, value in headers.items()]


async def _echo(receive: Receive, send: Send) -> None:
    """Every WebSocket of the site echoes what it gets."""
    while (message := await receive())["type"] != "websocket.disconnect":
        if message["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        else:
            content = {key: message[key] for key in ("text", "bytes") if message.get(key)}
            await send({"type": "websocket.send", **content})


def _listening() -> socket.socket:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _certificate(folder: Path) -> tuple[Path, Path, str]:
    """A certificate that signs itself: its file, its key's file, the hash of its public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, PAGE_DOMAIN)])
    now = datetime.datetime.now(datetime.UTC)
    hosts = [host for domain in (PAGE_DOMAIN, OTHER_DOMAIN) for host in (domain, f"*.{domain}")]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(h) for h in hosts]), False)
        .sign(key, hashes.SHA256())
    )
    certificate_path, key_path = folder / "certificate.pem", folder / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return certificate_path, key_path, base64.b64encode(hashlib.sha256(public).digest()).decode()


def trusting_context(site: Site) -> ssl.SSLContext:
    """A client's TLS context that trusts the site's certificate alone."""
    return ssl.create_default_context(cafile=str(site._certificate))

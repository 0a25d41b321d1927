"""A web server on loopback whose pages a test writes down."""

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TYPES = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "png": "image/png",
}


@dataclass(frozen=True)
class Answer:
    """What the server says."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """What the server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Page = str | bytes | Answer | Callable[[Asked], Answer]


class Web:
    """Pages by path, and what was asked for so far."""

    def __init__(self, pages: dict[str, Page], certificate: Path | None = None) -> None:
        self.pages = pages
        self.asked: list[Asked] = []
        self.released = threading.Event()
        """Answers that hang wait for it; set when the server ends."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                asked = Asked(
                    self.command,
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(length),
                )
                web.asked.append(asked)
                answer = web.answer(asked)
                self.send_response(answer.status)
                path = asked.path.partition("?")[0]
                suffix = path.rpartition(".")[2] if "." in path else "html"
                headers = {
                    "Content-Type": TYPES.get(suffix, "text/plain"),
                    "Content-Length": str(len(answer.body)),
                } | answer.headers
                for name, value in headers.items():
                    if not (answer.status == 204 and name == "Content-Length"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: object, client_address: object) -> None:
                # Browsers that are killed close connections in the middle.
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, asked: Asked) -> Answer:
        page = self.pages.get(asked.path, self.pages.get(asked.path.partition("?")[0]))
        match page:
            case None:
                return Answer(b"not found", 404)
            case str():
                return Answer(page.encode())
            case bytes():
                return Answer(page)
            case Answer():
                return page
        return page(asked)

    def hang(self, asked: Asked) -> Answer:
        """An answer that does not come."""
        self.released.wait(60)
        return Answer()

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def __enter__(self) -> "Web":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving(pages: dict[str, Page], certificate: Path | None = None) -> Iterator[Web]:
    with Web(pages, certificate) as web:
        yield web


def self_signed(folder: Path) -> Path:
    """A certificate that nobody trusts, with its key."""
    path = folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", "key.pem", "-out", path.name),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + (folder / "key.pem").read_bytes())
    return path

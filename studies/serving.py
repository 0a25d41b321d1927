"""nginx, and PHP where a site needs it, for the sites of `packages.toml`.

Each page has a host of its own, NAME.site.test, which only Chromium's `--host-resolver-rules` know:
HTTP/1.1 in the clear, HTTP/2 over TLS with a certificate that is thrown away. No other host exists.
"""

import base64
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.profiler import Settings
from loadpath.testbed import Link, Origin
from packages import Site, unpacked

__all__ = ["DOMAIN", "HTTP_VERSIONS", "HttpVersion", "Server", "profiler_settings", "serving"]

HttpVersion = Literal["h1", "h2"]
HTTP_VERSIONS: tuple[HttpVersion, ...] = ("h1", "h2")

DOMAIN = "site.test"
"""RFC 2606 section 2 reserves .test."""

_START_S = 10.0
"""nginx and PHP start in a fraction of a second."""

_POLL_S = 0.02

_END_WITH_US = ("setpriv", "--pdeathsig", "TERM")
"""Servers on loopback end with this process, even if it is killed; behind a link they always do."""

_TYPES = {
    "application/json": "json map ipynb webmanifest",
    "application/wasm": "wasm",
    "application/yaml": "yaml yml",
    "font/ttf": "ttf",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/gif": "gif",
    "image/jpeg": "jpg jpeg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/x-icon": "ico",
    "text/css": "css",
    "text/html": "html htm",
    "text/javascript": "js mjs",
    "text/plain": "txt md",
}
"""Media types by suffix, as nginx and its mime.types of today have them."""

_COMPRESSED = "application/json application/yaml image/svg+xml text/css text/javascript text/plain"
"""Besides text/html, which nginx always compresses."""

_NGINX = """daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    types {{
{types}
    }}
    default_type application/octet-stream;
    charset utf-8;
    sendfile on;
    tcp_nopush on;
    server_names_hash_bucket_size 128;
    keepalive_timeout 60s;
    keepalive_requests 10000;
    gzip on;
    gzip_types {compressed};
    gzip_vary on;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.3;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""

_SERVER = """    server {{
        listen {address}:{clear};
        listen {address}:{tls} ssl http2;
        server_name {names};
        root "{root}";
        index index.html index.php;
{php}    }}
"""

_SERVER_PHP = """        location ~ \\.php$ {{
            fastcgi_pass unix:{socket};
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param SCRIPT_NAME $fastcgi_script_name;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param REQUEST_URI $request_uri;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param DOCUMENT_ROOT $document_root;
            fastcgi_param SERVER_PROTOCOL $server_protocol;
            fastcgi_param SERVER_NAME $host;
            fastcgi_param HTTP_HOST $http_host;
            fastcgi_param HTTPS $https if_not_empty;
            fastcgi_param REMOTE_ADDR $remote_addr;
        }}
"""

_PHP = """[global]
daemonize = no
error_log = {folder}/php.log
[site]
listen = {socket}
pm = static
pm.max_children = 2
"""


class Server(msgspec.Struct, frozen=True):
    """Running servers."""

    resolver_rules: str
    spki: str
    """SHA-256 of the certificate's public key, base64."""
    paths: dict[str, str]
    """Paths of the pages by their names."""

    def url(self, page: str, http: HttpVersion) -> str:
        """The URL of a page."""
        scheme = "http" if http == "h1" else "https"
        return f"{scheme}://{page}.{DOMAIN}{self.paths[page]}"


def profiler_settings(server: Server | Origin, **options: Any) -> Settings:
    """What the profiler needs to reach a server, and further options.

    The certificate is named to the browser instead of errors being ignored: it would not keep in
    its cache what comes with an error.
    """
    return Settings(
        host_resolver_rules=server.resolver_rules,
        browser_flags=(f"--ignore-certificate-errors-spki-list={server.spki}",),
        **options,
    )


@contextmanager
def serving(sites: Sequence[Site], link: Link | None = None) -> Iterator[Server]:
    """Servers for sites, on loopback or at the server's end of a link.

    Raises
    ------
    LoadpathError
        A site cannot be had, or a server does not start.
    """
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if nginx is None:
        raise hinted(
            NotFoundError("there is no nginx on this machine"), "apt-get install nginx-light"
        )
    folder = Path(tempfile.mkdtemp(prefix="loadpath-serving-"))
    processes: list[subprocess.Popen[Any]] = []

    def start(command: Sequence[str], ready: Callable[[], bool], log: Path) -> None:
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        process = (
            subprocess.Popen([*_END_WITH_US, *command], **options)
            if link is None
            else link.popen("server", command, **options)
        )
        processes.append(process)
        deadline = time.monotonic() + _START_S
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                lines = log.read_text().strip().splitlines() if log.exists() else []
                raise LoadpathError(f"{command[0]} does not start: {(lines or ['no message'])[-1]}")
            time.sleep(_POLL_S)

    try:
        address = "127.0.0.1" if link is None else link.server_address
        clear, tls = _free_ports() if link is None else (8080, 8443)
        spki = _certificate(folder)
        servers = []
        for site in sites:
            root = unpacked(site)
            php = ""
            if site.php is not None:
                path = folder / f"{site.name}.socket"
                configuration = folder / f"{site.name}.conf"
                configuration.write_text(_PHP.format(folder=folder, socket=path))
                start(_php_command(root, site.php, configuration), path.exists, folder / "php.log")
                php = _SERVER_PHP.format(socket=path)
            names = " ".join(f"{page}.{DOMAIN}" for page in site.pages)
            servers.append(
                _SERVER.format(
                    address=address,
                    clear=clear,
                    tls=tls,
                    names=names,
                    root=root / site.root,
                    php=php,
                )
            )
        types = "\n".join(f"        {kind} {suffixes};" for kind, suffixes in _TYPES.items())
        (folder / "nginx.conf").write_text(
            _NGINX.format(
                folder=folder, types=types, compressed=_COMPRESSED, servers="".join(servers)
            )
        )
        command = [nginx, "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        pid = folder / "nginx.pid"
        start(command, lambda: pid.exists() and bool(pid.read_text()), folder / "error.log")
        yield Server(
            resolver_rules=f"MAP *.{DOMAIN}:80 {address}:{clear},"
            f"MAP *.{DOMAIN}:443 {address}:{tls},MAP * ~NOTFOUND",
            spki=spki,
            paths={page: path for site in sites for page, path in site.pages.items()},
        )
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_START_S)
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _php_command(root: Path, program: str, configuration: Path) -> list[str]:
    [extensions] = root.glob("usr/lib/php/*/xml.so")
    command = [str(root / program), "-n", "-F", "-y", str(configuration)]
    settings = {
        "extension_dir": str(extensions.parent),
        "date.timezone": "UTC",
        "display_errors": "0",
    }
    for key, value in settings.items():
        command += ["-d", f"{key}={value}"]
    for extension in ("ctype", "dom", "fileinfo", "iconv", "tokenizer", "xml", "xmlreader"):
        if (extensions.parent / f"{extension}.so").exists():
            command += ["-d", f"extension={extension}"]
    if os.geteuid() == 0:
        # PHP refuses otherwise.
        command.append("--allow-to-run-as-root")
    return command


def _certificate(folder: Path) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, DOMAIN)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(f"*.{DOMAIN}")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b64encode(hashlib.sha256(public).digest()).decode()

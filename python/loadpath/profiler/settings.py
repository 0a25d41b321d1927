"""What a profile was asked for."""

import re
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loadpath.errors import LoadpathError, hinted

__all__ = ["REDACTED", "Emulation", "Settings", "page_url", "parse_pairs", "read_script"]

REDACTED = "[redacted]"


class Emulation(StrEnum):
    """Which device the page sees."""

    DESKTOP = "desktop"
    MOBILE = "mobile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every option of `loadpath profile`."""

    runs: int = 5
    """Timing passes."""
    plain_runs: int = 3
    """Passes without a trace, for the ratio traced/plain."""
    browser: Path | None = None
    """None: the headless shell of the system."""
    no_sandbox: bool = False
    """Run renderers without Chromium's sandbox; always so for root."""
    http1: bool = False
    """Neither HTTP/2 nor HTTP/3."""
    emulate: Emulation = Emulation.DESKTOP
    cpu_slowdown: float = 1.0
    """How many times slower the main threads run."""
    timeout_s: float = 60.0
    """For the load event, counted from the navigation."""
    wait_s: float | None = None
    """How long to record after the load event; None: until the network is quiet."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request, whatever its host."""
    cookies: dict[str, str] = field(default_factory=dict)
    """Set for the page's host before the load."""
    auth: str | None = None
    """USER:PASSWORD for the page's own HTTP authentication."""
    script: str | None = None
    """JavaScript that runs in every new document before the page's own."""
    browser_flags: tuple[str, ...] = ()
    """Further flags of Chromium, such as `--site-per-process`."""
    ignore_certificate_errors: bool = False
    host_resolver_rules: str | None = None
    """Chromium's `--host-resolver-rules`."""
    netlog: bool = True
    """Record Chromium's network log."""
    capture: bool = False
    """Record packets and TLS keys."""
    redact: bool = False
    """Keep no cookies, authorisation headers, request bodies."""

    def __post_init__(self) -> None:
        self._at_least("runs", self.runs, 0)
        self._at_least("plain-runs", self.plain_runs, 0)
        self._at_least("cpu-slowdown", self.cpu_slowdown, 1)
        self._at_least("timeout", self.timeout_s, 0.1)
        if self.wait_s is not None:
            self._at_least("wait", self.wait_s, 0)
        if self.auth is not None and ":" not in self.auth:
            raise LoadpathError("--auth: expected USER:PASSWORD, found no colon")
        for name, value in self.headers.items():
            # RFC 9110 section 5.6.2: a field name is a token; DevTools ignores others silently.
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise LoadpathError(f"--header {name!r}: not the name of an HTTP header")
            if re.search(r"[\0\r\n]", value):
                raise LoadpathError(f"--header {name}: its value has a line break")
        for flag in self.browser_flags:
            if not flag.startswith("--"):
                raise LoadpathError(f"--browser-flag {flag}: expected a flag that begins with --")
        if self.redact and self.capture:
            raise hinted(
                LoadpathError("--redact and --capture: packets cannot be redacted"),
                "leave out one of the two",
            )

    @staticmethod
    def _at_least(option: str, value: float, least: float) -> None:
        if not value >= least or value == float("inf"):
            raise LoadpathError(f"--{option} {value:g}: expected a number from {least:g}")

    def describe(self) -> dict[str, Any]:
        """All settings for the manifest, without secrets if they are to be redacted."""
        values = asdict(self)
        values["browser"] = self.browser and str(self.browser)
        if self.redact:
            values["headers"] = dict.fromkeys(self.headers, REDACTED)
            values["cookies"] = dict.fromkeys(self.cookies, REDACTED)
            values["auth"] = self.auth and REDACTED
        return values


def page_url(text: str) -> str:
    """The URL that a person meant: "https://" may be left out.

    Raises `LoadpathError` if it is not one of a page on the web.
    """
    # "localhost:8080/x" has no scheme although urlsplit finds one.
    url = text if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", text) else f"https://{text}"
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise LoadpathError(f"{text!r} is not a URL: {error}") from error
    if parts.scheme.lower() not in ("http", "https"):
        raise LoadpathError(f"{text!r}: expected an http:// or https:// URL")
    if not host or re.search(r"[\s<>\"\ud800-\udfff]", url):
        raise LoadpathError(f"{text!r} is not the URL of a page")
    if parts.username is not None:
        raise hinted(
            LoadpathError("the URL holds a user name or password"), "give --auth USER:PASSWORD"
        )
    return url


def parse_pairs(option: str, texts: list[str], separator: str) -> dict[str, str]:
    """Names and values of an option that may be given several times."""
    pairs = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            # The value may be secret: do not print it.
            raise LoadpathError(f"{option}: expected NAME{separator}VALUE")
        pairs[name.strip()] = value.strip()
    return pairs


def read_script(path: Path | None) -> str | None:
    """The text of `--script`."""
    if path is None:
        return None
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise LoadpathError(f"--script {path}: {reason}") from error

"""What exporters know beside the outcome."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from loadpath.outcome import Outcome, Resource

__all__ = ["CapturePoint", "ExportContext", "resource_class"]


class CapturePoint(StrEnum):
    """Where packets are captured."""

    CLIENT = "client"
    SERVER = "server"
    BOTH = "both"


@dataclass(frozen=True)
class ExportContext:
    """The scenario and the page graph of a load, as plain data; either may be empty."""

    scenario: dict[str, Any] = field(default_factory=dict)
    graph: dict[str, Any] = field(default_factory=dict)
    capture: CapturePoint = CapturePoint.CLIENT

    def value(self, section: str, key: str, default: Any) -> Any:
        """A scenario value."""
        return self.scenario.get(section, {}).get(key, default)

    @property
    def http_version(self) -> str:
        """As HAR and DevTools write it."""
        name = str(self.value("http", "version", "http/1.1"))
        return {"http/2": "h2", "quic-lite": "h3"}.get(name, name.removesuffix("-pipelined"))

    @cached_property
    def activities(self) -> dict[str, dict[str, Any]]:
        """Activities of the page graph by id."""
        return {activity["id"]: activity for activity in self.graph.get("activities", ())}

    @cached_property
    def initiators(self) -> dict[str, dict[str, Any]]:
        """For each resource id the activity whose end requests it."""
        return {
            child: activity
            for activity in self.activities.values()
            for child in activity.get("children", ())
            if self.activities.get(child, {}).get("type") == "resource"
        }

    @cached_property
    def frame_urls(self) -> dict[int, str]:
        """URL of each frame's document."""
        return {frame["id"]: frame["url"] for frame in self.graph.get("frames", ())}

    def page_url(self, outcome: Outcome) -> str:
        """URL of the main document."""
        if self.graph:
            return str(self.graph["url"])
        return outcome.resources[0].url if outcome.resources else "about:blank"

    def priority(self, resource: Resource) -> str:
        """The recorded priority of a request, else the one that Chromium gives its type.

        Chromium `resource_loader.cc`, `TypeToPriority`.
        """
        recorded = self.activities.get(resource.id, {}).get("browser_priority")
        if recorded:
            return str(recorded)
        return {
            "document": "VeryHigh",
            "stylesheet": "VeryHigh",
            "font": "VeryHigh",
            "script": "High",
            "xhr": "High",
            "image": "Low",
        }.get(resource_class(resource.mime_type), "Low")


def resource_class(mime_type: str) -> str:
    """DevTools' resource type for a MIME type."""
    for part, name in (
        ("html", "document"),
        ("css", "stylesheet"),
        ("javascript", "script"),
        ("ecmascript", "script"),
        ("font", "font"),
        ("json", "xhr"),
        ("image/", "image"),
        ("video/", "media"),
        ("audio/", "media"),
    ):
        if part in mime_type:
            return name
    return "other"


def port(url: str) -> int:
    """TCP port of a URL."""
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def host_addresses(outcome: Outcome) -> dict[str, str]:
    """A synthetic IPv4 address for each host, in order of first use.

    198.18.0.0/15 is set aside for benchmarks (RFC 2544).
    """
    addresses: dict[str, str] = {}
    for host in [connection.host for connection in outcome.connections]:
        if host not in addresses:
            number = len(addresses) + 1
            addresses[host] = f"198.18.{number // 256}.{number % 256}"
    return addresses

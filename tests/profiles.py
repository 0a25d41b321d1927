"""Recorded profiles made by hand: events and network logs with known times."""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from loadpath.profiler.manifest import Manifest, Pass, PassKind

__all__ = ["Load", "NetLogWriter", "write_profile"]

EVENT_TYPES = {
    name: number
    for number, name in enumerate(
        [
            "URL_REQUEST_START_JOB",
            "HTTP_TRANSACTION_SEND_REQUEST",
            "HTTP_TRANSACTION_SEND_REQUEST_HEADERS",
            "HTTP_TRANSACTION_READ_HEADERS",
            "HTTP2_SESSION_SEND_HEADERS",
            "HTTP2_SESSION_SEND_DATA",
            "HTTP2_SESSION_RECV_HEADERS",
            "HTTP2_SESSION_RECV_DATA",
            "HTTP3_HEADERS_SENT",
            "HTTP3_HEADERS_DECODED",
            "HTTP3_DATA_FRAME_RECEIVED",
            "SOCKET_POOL_CONNECT_JOB_CREATED",
            "SOCKET_ALIVE",
            "TCP_CONNECT_ATTEMPT",
            "SSL_CONNECT",
            "QUIC_SESSION",
            "QUIC_SESSION_PACKET_SENT",
            "QUIC_SESSION_PACKET_RECEIVED",
            "HOST_RESOLVER_MANAGER_JOB",
            "NETWORK_CHANGED",
        ],
        start=10,
    )
}


class NetLogWriter:
    """A network log as Chromium writes it."""

    def __init__(self) -> None:
        head = json.dumps({"constants": {"logEventTypes": EVENT_TYPES}})
        self.lines = [head[:-1] + ",", '"events": [']

    def add(self, time_ms: int, source: int, name: str, phase: str = "", **params: Any) -> None:
        """An event; the phase is "", "begin" or "end"."""
        event = {
            "params": params,
            "phase": ["", "begin", "end"].index(phase),
            "source": {"id": source, "start_time": "0", "type": 1},
            "time": str(time_ms),
            "type": EVENT_TYPES[name],
        }
        present = {key: value for key, value in event.items() if value != {}}
        self.lines.append(json.dumps(present, separators=(",", ":")) + ",")

    def http1(self, source: int, url: str, sent_ms: int, responded_ms: int) -> None:
        """An exchange on HTTP/1."""
        self.add(sent_ms - 2, source, "URL_REQUEST_START_JOB", "begin", url=url, method="GET")
        self.add(sent_ms - 1, source, "HTTP_TRANSACTION_SEND_REQUEST", "begin")
        self.add(sent_ms - 1, source, "HTTP_TRANSACTION_SEND_REQUEST_HEADERS", headers=[])
        self.add(sent_ms, source, "HTTP_TRANSACTION_SEND_REQUEST", "end")
        self.add(sent_ms, source, "HTTP_TRANSACTION_READ_HEADERS", "begin")
        self.add(responded_ms, source, "HTTP_TRANSACTION_READ_HEADERS", "end")

    def tcp(self, socket: int, host: str, start_ms: int, rtt_ms: int, tls_ms: int = 0) -> None:
        """A connection to a host at 192.0.2.1."""
        scheme = "https" if tls_ms else "http"
        job = socket - 1
        group = f"{scheme}://{host} <https://a.test>"
        self.add(start_ms, job, "SOCKET_POOL_CONNECT_JOB_CREATED", group_id=group)
        self.add(start_ms, socket, "SOCKET_ALIVE", "begin", source_dependency={"id": job})
        self.add(start_ms, socket, "TCP_CONNECT_ATTEMPT", "begin", address="192.0.2.1:80")
        end_ms = start_ms + rtt_ms
        self.add(end_ms, socket, "TCP_CONNECT_ATTEMPT", "end")
        if tls_ms:
            self.add(end_ms, socket, "SSL_CONNECT", "begin")
            self.add(end_ms + tls_ms, socket, "SSL_CONNECT", "end")

    def write(self, path: Path) -> None:
        """The whole log; the browser has other things to say at its end."""
        self.add(9999, 99, "NETWORK_CHANGED")
        text = "\n".join(self.lines)
        path.write_text(text.rstrip(",") + '],\n"polledData": {"x":1}\n}\n')


@dataclass
class Load:
    """One request of a pass, with times in ms; by default on a connection that was there."""

    url: str
    waited_ms: float | None = 0.0
    """From the end of the request to the response; None: DevTools gave no timing."""
    sent_ms: float = 1000.0
    method: str = "GET"
    mime_type: str = "text/html"
    status: int = 200
    size_bytes: int = 100
    protocol: str = "http/1.1"
    address: str = "192.0.2.1"
    from_cache: bool = False
    failed: str = ""
    early_hints_ms: float | None = None
    connect: dict[str, float] = field(default_factory=dict)
    """dnsStart, dnsEnd, connectStart, ... after the start of the request."""
    handed_over_ms: float = 0.0
    """From when it was asked for to when the network service began with it."""
    send_start_ms: float = 90.0
    """After the network service began."""
    priority: str = "High"

    def events(self, identity: str) -> list[dict[str, Any]]:
        """What DevTools says of it."""
        sent_s = self.sent_ms / 1000
        request = {"url": self.url, "method": self.method, "initialPriority": self.priority}
        events: list[tuple[str, dict[str, Any]]] = [
            ("requestWillBeSent", {"request": request, "timestamp": sent_s, "type": "Other"})
        ]
        if self.from_cache:
            events.append(("requestServedFromCache", {}))
        if self.early_hints_ms is not None:
            events.append(("responseReceivedEarlyHints", {"headers": {}}))
        if self.failed:
            events.append(("loadingFailed", {"timestamp": sent_s, "errorText": self.failed}))
        else:
            response: dict[str, Any] = {
                "url": self.url,
                "status": self.status,
                "mimeType": self.mime_type,
                "protocol": self.protocol,
                "remoteIPAddress": self.address,
                "encodedDataLength": 50,
            }
            if self.waited_ms is not None:
                first_ms = self.waited_ms if self.early_hints_ms is None else self.early_hints_ms
                absent = dict.fromkeys(
                    ("proxyStart", "proxyEnd", "dnsStart", "dnsEnd", "connectStart"), -1.0
                ) | dict.fromkeys(("connectEnd", "sslStart", "sslEnd"), -1.0)
                response["timing"] = (
                    absent
                    | self.connect
                    | {
                        "requestTime": sent_s + self.handed_over_ms / 1000,
                        "sendStart": self.send_start_ms,
                        "sendEnd": 100.0,
                        "receiveHeadersStart": 100 + first_ms,
                        "receiveHeadersEnd": 100 + self.waited_ms,
                    }
                )
            done = {"timestamp": sent_s + 1, "encodedDataLength": 50 + self.size_bytes}
            events += [
                ("responseReceived", {"response": response, "timestamp": sent_s, "type": "Other"}),
                ("loadingFinished", done),
            ]
        return [
            {
                "session": "S",
                "target": "T",
                "method": f"Network.{name}",
                "params": {"requestId": identity} | params,
            }
            for name, params in events
        ]


def write_profile(
    folder: Path, passes: list[list[Load]], netlogs: dict[int, NetLogWriter] | None = None
) -> Path:
    """A profile with a structure pass, timing passes and a plain one."""
    names = ["structure", *(f"timing-{index}" for index in range(1, len(passes)))]
    manifest = Manifest(
        url=passes[0][0].url,
        status="complete",
        loadpath="0",
        browser={},
        settings={},
        passes=[
            Pass(name=name, kind=PassKind(name.partition("-")[0]), status="complete", started_at="")
            for name in [*names, "plain-1"]
        ],
    )
    folder.mkdir()
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    for index, (name, loads) in enumerate(zip(names, passes, strict=True)):
        (folder / name).mkdir()
        with gzip.open(folder / name / "events.jsonl.gz", "wt") as file:
            for number, load in enumerate(loads):
                for event in load.events(f"R{number}"):
                    file.write(json.dumps(event) + "\n")
        if netlogs and index in netlogs:
            netlogs[index].write(folder / name / "netlog.json")
    return folder

#!/usr/bin/env python3
"""The comparison load for our simulator: the same page and the same parameters as star.cc has.

    page.py FOLDER [--rate-bps N] [--rtt-ms X] ...    writes FOLDER/star.json and FOLDER/star.toml

Sizes are whole segments (multiples of 1448 bytes): ns-3 fills a segment across the end of a response, we do not.
"""

import argparse
import dataclasses
import json
import pathlib

MSS_BYTES = 1448


@dataclasses.dataclass(frozen=True)
class Load:
    """One load: the page, the network, TCP. Field names are star.cc's command-line names."""

    rate_bps: int = 10_000_000
    rtt_ms: float = 40.0
    queue_packets: int = 10_000  # more than there are packets in the load
    icwnd: int = 10  # RFC 6928
    sack: bool = True
    delack_count: int = 2  # RFC 5681, section 4.2
    delack_ms: float = 40.0  # Linux TCP_DELACK_MIN
    buffer_bytes: int = 1 << 20  # never the limit: a server holds 0.2 MB at most
    min_rto_ms: float = 200.0  # Linux TCP_RTO_MIN
    syn_timeout_ms: float = 1000.0  # RFC 6298 (2.1)
    servers: int = 20
    resources: int = 100
    root_bytes: int = 35 * MSS_BYTES
    resource_bytes: int = 20 * MSS_BYTES
    request_bytes: int = 400
    pipelined: bool = True


def page(load: Load) -> dict:
    """The page graph: a document whose only parse chunk finds all resources; nothing takes time but the network."""

    def resource(index: int, host: int, mime_type: str, size_bytes: int, children: list[str]) -> dict:
        return {
            "id": f"download_{index}",
            "type": "resource",
            "url": f"http://server{host:02}.example/{index}",
            "mime_type": mime_type,
            "size_bytes": size_bytes,
            "server_delay_ms": 0.0,
            "children": children,
        }

    def event(id: str, name: str, children: list[str]) -> dict:
        return {
            "id": id,
            "type": "evaluation",
            "kind": "event",
            "frame": 0,
            "duration_ms": 0.0,
            "event_name": name,
            "children": children,
        }

    images = [
        resource(i + 1, i % load.servers, "image/png", load.resource_bytes, ["load_event"])
        for i in range(load.resources)
    ]
    root = resource(0, 0, "text/html", load.root_bytes, ["download_chunk", "load_event"])
    activities = [
        root,
        {
            "id": "download_chunk",
            "type": "download_chunk",
            "resource": root["id"],
            "offset_bytes": 0,
            "size_bytes": load.root_bytes,
            "children": ["parse_chunk"],
        },
        {
            "id": "parse_chunk",
            "type": "parse_chunk",
            "frame": 0,
            "duration_ms": 0.0,
            "children": [image["id"] for image in images] + ["dom_content_loaded"],
        },
        *images,
        event("dom_content_loaded", "DOMContentLoaded", ["load_event"]),
        event("load_event", "load", []),
    ]
    return {
        "format": "loadpath-page-graph",
        "version": 1,
        "name": "star",
        "url": root["url"],
        "source": "synthetic: benches/ns3/page.py",
        "root": root["id"],
        "load_event": "load_event",
        "dom_content_loaded_event": "dom_content_loaded",
        "frames": [{"id": 0, "url": root["url"]}],
        "activities": activities,
    }


def scenario(load: Load) -> dict[str, dict]:
    """Every scenario key in which ns-3 3.37 with star.cc's attributes differs from our profile `pcp`, or might."""
    return {
        "network": {
            "rate_bps": load.rate_bps,
            "rtt_ms": load.rtt_ms,
            "jitter_fraction": 0.0,
            "server_rate_factor": 2,
            "queue": "drop-tail",
            "up_queue": "drop-tail",
            "queue_unit": "packets",
            "queue_limit": load.queue_packets,
        },
        "transport": {
            "mss_bytes": MSS_BYTES,
            "header_bytes": 52,
            "link_header_bytes": 2,
            "initial_window_segments": load.icwnd,
            "send_buffer_bytes": load.buffer_bytes,
            "receive_buffer_bytes": load.buffer_bytes,
            "window_scale": 5,  # the least with which 16 bits hold buffer_bytes, as TcpSocketBase::CalculateWScale
            "min_rto_ms": load.min_rto_ms,
            "max_rto_ms": 60_000.0,  # TcpSocketBase::ReTxTimeout
            "syn_timeout_ms": load.syn_timeout_ms,
            "syn_retries": 20,
            "data_retries": 20,
            "rearm_stale_rto": False,
            "delayed_ack_segments": load.delack_count,
            "delayed_ack_ms": load.delack_ms,
            # ns-3 answers the first segment at once, unless the endpoint has sent data before: the client has.
            "quick_ack_segments": 0,
            "ack_push_at_once": False,  # ns-3 sends no PSH
            "dup_ack_threshold": 3,
            "limited_transmit": True,
            "recovery": "sack" if load.sack else "newreno",
            "recovery_exit": "ssthresh",  # TcpClassicRecovery::ExitRecovery
            "loss_window": "flight-size",
            "congestion": "newreno",
            "slow_start": "per-ack",  # TcpNewReno::SlowStart
            "growth": "always",  # TcpNewReno does not look
            "window_room": "what-fits",  # TcpSocketBase::SendPendingData
            "partial_ack_timer": "first",
            "rto_floor": "timeout",
            "validation": "off",
        },
        "http": {
            "version": "http/1.1-pipelined" if load.pipelined else "http/1.1",
            "connections_per_host": 1,
            "priorities": "none",
            "send_order": "fifo",
            "request_bytes": load.request_bytes,
            "response_header_bytes": 0,
            "tls": "none",
        },
        "server": {"delays": False},
        "browser": {"preloader": False},
    }


def toml(tables: dict[str, dict]) -> str:
    """Tables of plain values as TOML (the standard library only reads it)."""
    lines = ['profile = "pcp"']
    for section, values in tables.items():
        lines += ["", f"[{section}]"]
        # JSON writes numbers, booleans and plain strings as TOML does.
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def write(folder: pathlib.Path, load: Load) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes page and scenario of a load; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    graph, settings = folder / "star.json", folder / "star.toml"
    graph.write_text(json.dumps(page(load), indent=1) + "\n")
    settings.write_text(toml(scenario(load)))
    return graph, settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    for field in dataclasses.fields(Load):
        kind = {"type": field.type} if field.type is not bool else {"action": argparse.BooleanOptionalAction}
        parser.add_argument(f"--{field.name.replace('_', '-')}", default=field.default, **kind)
    arguments = vars(parser.parse_args())
    folder = arguments.pop("folder")
    for path in write(folder, Load(**arguments)):
        print(path)


if __name__ == "__main__":
    main()

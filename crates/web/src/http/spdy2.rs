//! SPDY/2 (SPDY protocol, draft 2, chromium.org): streams over one connection a host, headers compressed by
//! one zlib context a direction that begins with a dictionary. Over TLS in practice, which the scenario says
//! (`http.tls`). Neither server push nor the SETTINGS that both sides send.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::{Framing, HeaderCompression, Protocol, ServerModel};

/// A header block of SPDY/2 under zlib: level 9, windows of 2 KiB, the dictionary of draft 2, a sync flush
/// behind each block (Chromium 16, spdy_framer.cc). Of the 102 requests of a page by Chrome 16 and the
/// answers of an Express server this leaves the shares below, relative to HTTP/1.1's text:
/// `loadpath.experiments.spdy_headers` measures them.
const ZLIB: HeaderCompression = HeaderCompression {
    first_request: 0.71,
    later_request: 0.04,
    first_response: 0.62,
    later_response: 0.10,
};

/// One connection a host. A response is not preempted once its first byte was transmitted.
pub static SPDY_2: Protocol = Protocol {
    name: "spdy/2",
    max_outstanding: None,
    closes_after_response: false,
    // Draft 2, control frames: 8 bytes and what the type adds, stream, associated stream and priority (10) in a
    // SYN_STREAM, stream and two unused bytes (6) in a SYN_REPLY. Data frames: 8 bytes, a length of 24 bits.
    request_frame_bytes: 18,
    framing: Framing::Frames {
        headers_frame_bytes: 14,
        data_frame_bytes: 8,
        max_payload_bytes: (1 << 24) - 1,
    },
    header_compression: ZLIB,
    hpack: ZLIB,
    delivery: DeliveryOrder::InOrder,
    default_connections: 1,
    default_server: ServerModel::OutOfOrder,
    default_send_order: SendOrder::Priority,
    preface: None,
    priorities_known: true,
    has_records: true,
};

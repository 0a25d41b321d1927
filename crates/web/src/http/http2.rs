//! HTTP/2 (RFC 9113) as the thesis models it (section 4.3): framing, streams, priorities applied to
//! what waits in the send buffer, no flow control. Headers are compressed where a scenario wants it
//! (`http.hpack`), which the thesis does not.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::{Framing, HeaderCompression, Preface, Protocol, ServerModel};

/// HPACK (RFC 7541) with Huffman codes and a table of 4096 bytes leaves these shares of the headers of 25 pages'
/// requests by Chromium 156 and of their answers, relative to HTTP/1.1's text; in those of requests are the
/// frame's 9 bytes and the 5 of its priority. `studies/header_bytes.py` measures them.
const HPACK: HeaderCompression = HeaderCompression {
    first_request: 0.69,
    later_request: 0.10,
    first_response: 0.47,
    later_response: 0.08,
};

/// One connection a host; a response is not preempted once its first byte was transmitted.
pub static HTTP_2: Protocol = Protocol {
    name: "http/2",
    max_outstanding: None,
    closes_after_response: false,
    request_frame_bytes: 0,
    // RFC 9113, sections 4.1 and 6.5.2 (initial SETTINGS_MAX_FRAME_SIZE).
    framing: Framing::Frames {
        headers_frame_bytes: 9,
        data_frame_bytes: 9,
        max_payload_bytes: 16_384,
    },
    header_compression: HeaderCompression::NONE,
    hpack: HPACK,
    delivery: DeliveryOrder::InOrder,
    default_connections: 1,
    default_server: ServerModel::OutOfOrder,
    default_send_order: SendOrder::Priority,
    // Frames of 9 bytes (sections 4.1, 6.5, 6.9). The client's: 24 bytes, SETTINGS with four parameters of 6,
    // WINDOW_UPDATE (Chromium's net/spdy/spdy_session.cc, `SendInitialData`); the server's: SETTINGS with two,
    // as the origin server has.
    preface: Some(Preface {
        client_bytes: 24 + 33 + 13,
        server_bytes: 21,
        acknowledgement_bytes: 9,
    }),
    priorities_known: true,
    has_records: true,
};

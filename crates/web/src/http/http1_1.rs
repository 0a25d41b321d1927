//! HTTP/1.1 without pipelining (RFC 9112): persistent connections, one request at a time on each.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::{Framing, HeaderCompression, Protocol, ServerModel};

/// Six connections a host, as Chromium (thesis section 4.4.1.4).
pub static HTTP_1_1: Protocol = Protocol {
    name: "http/1.1",
    max_outstanding: Some(1),
    closes_after_response: false,
    request_frame_bytes: 0,
    framing: Framing::Plain,
    header_compression: HeaderCompression::NONE,
    hpack: HeaderCompression::NONE,
    delivery: DeliveryOrder::InOrder,
    default_connections: 6,
    default_server: ServerModel::Serial,
    default_send_order: SendOrder::Fifo,
    preface: None,
    priorities_known: false,
    has_records: true,
};

//! HTTP/1.0 (RFC 1945): a connection for each request, closed by the server after its response.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::{Framing, HeaderCompression, Protocol, ServerModel};

/// Up to six connections at once (thesis section 4.4.1.4).
pub static HTTP_1_0: Protocol = Protocol {
    name: "http/1.0",
    max_outstanding: Some(1),
    closes_after_response: true,
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

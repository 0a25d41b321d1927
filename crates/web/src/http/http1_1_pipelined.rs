//! Pipelined HTTP/1.1 (RFC 9112, section 9.3.2): any number of requests under way, responses in
//! order. With a parallel server ("HTTP/1.1 Pipe" of thesis section 4.3) and with a serial one
//! ("HTTP/1.1 Pipe Seq").

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::{Framing, HeaderCompression, Protocol, ServerModel};

/// Parallel server, one connection a host.
pub static HTTP_1_1_PIPELINED: Protocol = Protocol {
    name: "http/1.1-pipelined",
    max_outstanding: None,
    closes_after_response: false,
    request_frame_bytes: 0,
    framing: Framing::Plain,
    header_compression: HeaderCompression::NONE,
    hpack: HeaderCompression::NONE,
    delivery: DeliveryOrder::InOrder,
    default_connections: 1,
    default_server: ServerModel::Parallel,
    default_send_order: SendOrder::Fifo,
    preface: None,
    priorities_known: false,
    has_records: true,
};

/// Serial server, six connections a host (thesis section 4.4.1.4).
pub static HTTP_1_1_PIPELINED_SERIAL: Protocol = Protocol {
    name: "http/1.1-pipelined-serial",
    default_connections: 6,
    default_server: ServerModel::Serial,
    ..HTTP_1_1_PIPELINED
};

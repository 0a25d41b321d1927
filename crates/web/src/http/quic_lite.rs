//! QUIC-lite (thesis section 4.3): HTTP/2 whose segments reach the application as they arrive, with
//! preemption. Neither QUIC's handshake nor its loss recovery.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::http2::HTTP_2;
use super::{HeaderCompression, Protocol};

/// QPACK (RFC 9204) without a dynamic table, as servers have it that announce none; measured as for HTTP/2, each
/// header block by itself.
const QPACK: HeaderCompression = HeaderCompression {
    first_request: 0.67,
    later_request: 0.67,
    first_response: 0.45,
    later_response: 0.45,
};

/// One connection a host.
pub static QUIC_LITE: Protocol = Protocol {
    name: "quic-lite",
    hpack: QPACK,
    delivery: DeliveryOrder::OutOfOrder,
    default_send_order: SendOrder::PriorityPreemptive,
    preface: None,
    // Of HTTP/3 by Alt-Svc alone, which a browser that is told to use QUIC has not read.
    priorities_known: false,
    has_records: false,
    ..HTTP_2
};

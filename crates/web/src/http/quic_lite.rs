//! QUIC-lite (thesis section 4.3): HTTP/2 whose segments reach the application as they arrive, with
//! preemption. Neither QUIC's handshake nor its loss recovery.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::Protocol;
use super::http2::HTTP_2;

/// One connection a host.
pub static QUIC_LITE: Protocol = Protocol {
    name: "quic-lite",
    delivery: DeliveryOrder::OutOfOrder,
    default_send_order: SendOrder::PriorityPreemptive,
    server_preface_bytes: &[],
    has_records: false,
    ..HTTP_2
};

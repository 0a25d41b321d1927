//! HTTP/2 (RFC 9113) as the thesis models it (section 4.3): framing, streams, priorities applied to
//! what waits in the send buffer; no header compression and no flow control.

use loadpath_transport::{DeliveryOrder, SendOrder};

use super::{Framing, HeaderCompression, Protocol, ServerModel};

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
    delivery: DeliveryOrder::InOrder,
    default_connections: 1,
    default_server: ServerModel::OutOfOrder,
    default_send_order: SendOrder::Priority,
    // Frames of 9 bytes and 6 a parameter: SETTINGS with two, as the origin server has, and the
    // acknowledgement of the client's (sections 4.1, 6.5).
    server_preface_bytes: &[21, 9],
    has_records: true,
};

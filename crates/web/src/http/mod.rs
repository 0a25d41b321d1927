//! HTTP between the browser and the servers: which connection a request takes, when a server answers
//! it, and how many bytes that costs.
//!
//! An HTTP version is a value of [`Protocol`], one file each. To add one, write its file and add it
//! to [`Protocol::ALL`].

mod client;
mod http1_0;
mod http1_1;
mod http1_1_pipelined;
mod http2;
mod quic_lite;
mod reassembly;
mod server;
mod spdy2;
mod throttle;
pub mod tls;

pub use client::{Action, Client, ConnectionId, PoolOrder};
pub use reassembly::Reassembly;
pub use server::{ServerConnection, ServerModel};
pub use throttle::{Asked, Throttle};

use loadpath_transport::{DeliveryOrder, SendOrder};

/// Most connections to one host (thesis Table 3.2).
pub const MAX_CONNECTIONS_PER_HOST: u32 = 12;

/// What distinguishes one HTTP version from another here.
#[derive(Debug, PartialEq)]
pub struct Protocol {
    /// Name in scenarios.
    pub name: &'static str,
    /// Requests that may be under way on one connection; `None` for any number.
    pub max_outstanding: Option<u32>,
    /// A connection serves one request and is closed by the server.
    pub closes_after_response: bool,
    /// Bytes of the frame around a request; 0 where the size of a request is that of the whole message.
    pub request_frame_bytes: u64,
    /// How responses are laid out on the connection.
    pub framing: Framing,
    /// What compression leaves of headers unless the scenario says otherwise.
    pub header_compression: HeaderCompression,
    /// The same where the scenario wants HPACK or QPACK.
    pub hpack: HeaderCompression,
    /// Order in which bytes reach the browser.
    pub delivery: DeliveryOrder,
    /// Connections a host unless the scenario says otherwise (thesis section 4.4.1.4).
    pub default_connections: u32,
    /// Server model unless the scenario says otherwise (thesis section 4.3).
    pub default_server: ServerModel,
    /// Order in which responses leave the server unless the scenario says otherwise.
    pub default_send_order: SendOrder,
    /// What each side says of itself before anything else.
    pub preface: Option<Preface>,
    /// Chromium knows of a server, once it is connected, that it orders responses by priority
    /// (net/http/http_server_properties.cc, `SupportsRequestPriority`).
    pub priorities_known: bool,
    /// TLS records lie around messages; QUIC has packets for that.
    pub has_records: bool,
}

/// Frames that open a connection (RFC 9113, section 3.4), each written by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preface {
    /// Of the client, before its first request.
    pub client_bytes: u64,
    /// Of the server, when the handshake is over.
    pub server_bytes: u64,
    /// Of either side, when the other's has arrived.
    pub acknowledgement_bytes: u64,
}

/// What is left of a header block. The first of a direction meets a compressor that knows nothing of the
/// connection yet, later ones one that has seen most of their bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeaderCompression {
    /// Of a connection's first request.
    pub first_request: f64,
    /// Of its later requests.
    pub later_request: f64,
    /// Of a connection's first response.
    pub first_response: f64,
    /// Of its later responses.
    pub later_response: f64,
}

impl HeaderCompression {
    /// Headers as they are.
    pub const NONE: HeaderCompression = HeaderCompression {
        first_request: 1.0,
        later_request: 1.0,
        first_response: 1.0,
        later_response: 1.0,
    };
}

/// How messages are laid out on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Headers and body follow each other.
    Plain,
    /// One frame with the headers, then data frames.
    Frames {
        /// Bytes of the first frame without its header block.
        headers_frame_bytes: u64,
        /// Bytes of a data frame without its payload.
        data_frame_bytes: u64,
        /// Most payload bytes of a data frame.
        max_payload_bytes: u64,
    },
}

impl Framing {
    /// Bytes of a message with this header block and body.
    pub fn message_bytes(self, header_bytes: u64, body_bytes: u64) -> u64 {
        self.body_start(header_bytes)
            + match self {
                Framing::Plain => body_bytes,
                Framing::Frames { data_frame_bytes, max_payload_bytes, .. } => {
                    body_bytes + data_frame_bytes * body_bytes.div_ceil(max_payload_bytes)
                }
            }
    }

    /// Body bytes among the first `received` bytes of a message.
    pub fn body_bytes(self, header_bytes: u64, received: u64) -> u64 {
        let rest = received.saturating_sub(self.body_start(header_bytes));
        match self {
            Framing::Plain => rest,
            Framing::Frames { data_frame_bytes, max_payload_bytes, .. } => {
                let frame = data_frame_bytes + max_payload_bytes;
                let whole = rest / frame;
                let partial = (rest % frame).saturating_sub(data_frame_bytes);
                whole * max_payload_bytes + partial
            }
        }
    }

    /// Bytes of a message before its body.
    pub fn body_start(self, header_bytes: u64) -> u64 {
        match self {
            Framing::Plain => header_bytes,
            Framing::Frames { headers_frame_bytes, .. } => headers_frame_bytes + header_bytes,
        }
    }
}

impl Protocol {
    /// Every version.
    pub const ALL: &'static [&'static Protocol] = &[
        &http1_0::HTTP_1_0,
        &http1_1::HTTP_1_1,
        &http1_1_pipelined::HTTP_1_1_PIPELINED,
        &http1_1_pipelined::HTTP_1_1_PIPELINED_SERIAL,
        &http2::HTTP_2,
        &quic_lite::QUIC_LITE,
        &spdy2::SPDY_2,
    ];

    /// The version of that name.
    pub fn by_name(name: &str) -> Option<&'static Protocol> {
        Self::ALL.iter().copied().find(|p| p.name == name)
    }

    /// Response bytes on the connection; never zero, since an empty response still is a message.
    pub fn response_bytes(&self, header_bytes: u64, body_bytes: u64) -> u64 {
        self.framing.message_bytes(header_bytes, body_bytes).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cost_nine_bytes_for_each_16_kib_and_one_headers_frame() {
        let f = http2::HTTP_2.framing;
        assert_eq!(f.message_bytes(0, 0), 9);
        assert_eq!(f.message_bytes(0, 1), 9 + 9 + 1);
        assert_eq!(f.message_bytes(300, 16_384), 9 + 300 + 9 + 16_384);
        assert_eq!(f.message_bytes(0, 16_385), 9 + 2 * 9 + 16_385);
    }

    #[test]
    fn spdy_2_frames_cost_18_14_and_8_bytes() {
        let p = &spdy2::SPDY_2;
        assert_eq!(p.request_frame_bytes, 18);
        assert_eq!(p.framing.message_bytes(0, 0), 14);
        assert_eq!(p.framing.message_bytes(186, 94_500), 14 + 186 + 8 + 94_500);
        // A frame has at most 2^24 - 1 bytes.
        assert_eq!(p.framing.message_bytes(31, 1 << 24), 14 + 31 + 2 * 8 + (1 << 24));
    }

    #[test]
    fn received_body_bytes_grow_with_the_message_and_end_at_the_body() {
        for f in [http2::HTTP_2.framing, spdy2::SPDY_2.framing, Framing::Plain] {
            for body in [0u64, 1, 100, 16_384, 16_385, 50_000] {
                let total = f.message_bytes(300, body);
                assert_eq!(f.body_bytes(300, total), body);
                let grows: Vec<u64> = (0..=total).map(|k| f.body_bytes(300, k)).collect();
                assert!(grows.windows(2).all(|w| w[1] - w[0] <= 1));
            }
        }
    }
}

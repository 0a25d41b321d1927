//! TLS handshakes as what they cost: flights of bytes in alternating directions before the first
//! request. Off in the `pcp` profile (thesis section 3.7.2).

/// Which handshake opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// No TLS.
    None,
    /// TLS 1.2, full: two round trips (RFC 5246, section 7.3).
    Tls12,
    /// TLS 1.2, resumed session: one round trip.
    Tls12Resumed,
    /// TLS 1.3, full: one round trip (RFC 8446, section 2).
    Tls13,
    /// TLS 1.3 with a pre-shared key: one round trip, no certificate.
    Tls13Resumed,
    /// TLS 1.3 with early data: the request goes with the ClientHello.
    Tls13ZeroRtt,
}

/// Sizes of the parts of a handshake, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// ClientHello.
    pub client_hello_bytes: u64,
    /// ServerHello, extensions, verify and finished.
    pub server_hello_bytes: u64,
    /// Certificate chain.
    pub certificate_bytes: u64,
    /// Session tickets that a server of TLS 1.3 sends once the handshake is over (RFC 8446, section 4.6.1).
    pub tickets_bytes: u64,
}

/// What a record takes besides its payload: header, content type and tag (RFC 8446, section 5.2).
const RECORD_OVERHEAD_BYTES: u64 = 22;

/// The records around a message: none of a record's bytes can be read before its last has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// Most payload bytes of a record; 0: there are no records.
    pub payload_bytes: u64,
}

impl Records {
    /// Bytes of a message with its records.
    pub fn wire_bytes(self, message_bytes: u64) -> u64 {
        match self.payload_bytes {
            0 => message_bytes,
            payload => message_bytes + RECORD_OVERHEAD_BYTES * message_bytes.div_ceil(payload),
        }
    }

    /// How many bytes can be read of a message that takes `wire_bytes`, of which `received` have arrived;
    /// once all have, that and more.
    #[inline]
    pub fn readable_bytes(self, received: u64, wire_bytes: u64) -> u64 {
        if self.payload_bytes == 0 || received >= wire_bytes {
            return received;
        }
        received / (self.payload_bytes + RECORD_OVERHEAD_BYTES) * self.payload_bytes
    }
}

/// Client's key exchange, change-cipher-spec and finished records: 36 bytes of finished in a record
/// with 5 + 16 + 1 of overhead, two records at most; one number since it never fills a segment.
const CLIENT_FINISHED_BYTES: u64 = 80;

/// One flight of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Sent by the client.
    pub from_client: bool,
    /// Its size.
    pub bytes: u64,
    /// The client may send requests right behind (or, from the server, once it has) this flight.
    pub opens_requests: bool,
}

impl Handshake {
    /// The same of a session that both sides know; `None` if it is one, or there is no TLS.
    pub fn resumed(self) -> Option<Handshake> {
        match self {
            Handshake::Tls12 => Some(Handshake::Tls12Resumed),
            Handshake::Tls13 => Some(Handshake::Tls13Resumed),
            _ => None,
        }
    }

    /// Whether nobody else may resume the session that this one resumes (RFC 8446, appendix C.4).
    pub fn uses_up_session(self) -> bool {
        self == Handshake::Tls13Resumed
    }

    /// Whether sessions come with flight number `index`.
    pub fn brings_session(self, index: usize) -> bool {
        index == 3 && !matches!(self, Handshake::None | Handshake::Tls12Resumed)
    }

    /// Flight number `index` of this handshake, `None` past the last.
    pub fn flight(self, sizes: &Sizes, index: usize) -> Option<Flight> {
        let hello = sizes.client_hello_bytes;
        let short = sizes.server_hello_bytes;
        let full = short + sizes.certificate_bytes;
        let client = |bytes, opens_requests| Flight { from_client: true, bytes, opens_requests };
        let server = |bytes, opens_requests| Flight { from_client: false, bytes, opens_requests };
        let done = CLIENT_FINISHED_BYTES;
        match (self, index) {
            (Handshake::None, _) => None,
            (Handshake::Tls13ZeroRtt, 0) => Some(client(hello, true)),
            (_, 0) => Some(client(hello, false)),
            (Handshake::Tls12 | Handshake::Tls13, 1) => Some(server(full, false)),
            (_, 1) => Some(server(short, false)),
            (Handshake::Tls12, 2) => Some(client(done, false)),
            (Handshake::Tls12, 3) => Some(server(done, true)),
            (Handshake::Tls13ZeroRtt, 2) => Some(client(done, false)),
            (_, 2) => Some(client(done, true)),
            (Handshake::Tls13 | Handshake::Tls13Resumed | Handshake::Tls13ZeroRtt, 3)
                if sizes.tickets_bytes > 0 =>
            {
                Some(server(sizes.tickets_bytes, false))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips from the first flight to the first request.
    fn round_trips(h: Handshake) -> usize {
        let sizes = Sizes {
            client_hello_bytes: 517,
            server_hello_bytes: 300,
            certificate_bytes: 2500,
            tickets_bytes: 200,
        };
        let flights: Vec<Flight> = (0..).map_while(|i| h.flight(&sizes, i)).collect();
        assert!(flights.windows(2).all(|w| w[0].from_client != w[1].from_client));
        match flights.iter().position(|f| f.opens_requests) {
            None => 0,
            Some(i) => i.div_ceil(2),
        }
    }

    #[test]
    fn handshakes_cost_the_round_trips_of_their_rfcs() {
        assert_eq!(round_trips(Handshake::None), 0);
        assert_eq!(round_trips(Handshake::Tls12), 2);
        assert_eq!(round_trips(Handshake::Tls12Resumed), 1);
        assert_eq!(round_trips(Handshake::Tls13), 1);
        assert_eq!(round_trips(Handshake::Tls13Resumed), 1);
        assert_eq!(round_trips(Handshake::Tls13ZeroRtt), 0);
    }

    #[test]
    fn a_record_can_be_read_when_its_last_byte_is_there() {
        let records = Records { payload_bytes: 1000 };
        assert_eq!([0, 1, 1000, 2500].map(|n| records.wire_bytes(n)), [0, 23, 1022, 2566]);
        let readable = [0, 1021, 1022, 2043, 2044, 2565].map(|n| records.readable_bytes(n, 2566));
        assert_eq!(readable, [0, 0, 1000, 1000, 2000, 2000]);
        assert!(records.readable_bytes(2566, 2566) >= 2500);
        let none = Records { payload_bytes: 0 };
        assert_eq!((none.wire_bytes(2500), none.readable_bytes(7, 2500)), (2500, 7));
    }
}

//! What leaves a connection before its first request: TLS flights, and the SETTINGS of HTTP/2.

use loadpath_transport::{Delivery, Message, MessageId, Transport};
use loadpath_web::http::Reassembly;
use loadpath_web::http::tls::Flight;

use super::{PREFACE, SETTINGS_ACK, TLS_MESSAGES, World};
use crate::trace::Tracer;

impl<T: Tracer, C: Transport> World<'_, T, C> {
    /// Begins the TLS handshake, of a session that the browser knows if there is one.
    pub(super) fn begin_handshake(&mut self, connection: u32) {
        let c = &mut self.connections[connection as usize];
        let sessions = &mut self.topology.servers[c.host as usize].tls_sessions;
        if *sessions > 0
            && let Some(resumed) = c.handshake.resumed()
        {
            c.handshake = resumed;
            *sessions -= u64::from(resumed.uses_up_session());
        }
        self.advance_handshake(connection, 0);
    }

    fn flight(&self, connection: u32, index: usize) -> Option<Flight> {
        let handshake = self.connections[connection as usize].handshake;
        handshake.flight(&self.settings.flight_sizes, index)
    }

    /// Sends flight `index` of the TLS handshake, or opens the connection for requests after the
    /// last.
    fn advance_handshake(&mut self, connection: u32, index: usize) {
        let flight = self.flight(connection, index);
        let c = &mut self.connections[connection as usize];
        let Some(flight) = flight else {
            self.ready(connection);
            return;
        };
        c.flight = Reassembly::default();
        let id = MessageId(TLS_MESSAGES + index as u32);
        let message = Message { id, len: flight.bytes, priority: 0 };
        if flight.from_client {
            c.client.write(message);
            if flight.opens_requests {
                self.ready(connection);
            }
        } else {
            c.server.write(message);
        }
    }

    /// Bytes that are no request and no response arrived.
    pub(super) fn on_overhead(&mut self, connection: u32, delivery: Delivery, at_server: bool) {
        match delivery.id {
            PREFACE if delivery.end => {
                let Some(preface) = &self.settings.preface else { return };
                self.write_alone(
                    connection,
                    at_server,
                    SETTINGS_ACK,
                    preface.acknowledgement_bytes,
                );
            }
            PREFACE | SETTINGS_ACK => {}
            _ => self.on_flight(connection, delivery),
        }
    }

    /// Bytes of a TLS flight arrived.
    fn on_flight(&mut self, connection: u32, delivery: Delivery) {
        let index = (delivery.id.0 - TLS_MESSAGES) as usize;
        let Some(flight) = self.flight(connection, index) else { return };
        let c = &mut self.connections[connection as usize];
        if c.flight.add(&delivery) < flight.bytes {
            return;
        }
        if c.handshake.brings_session(index) {
            self.topology.servers[c.host as usize].tls_sessions = self.settings.tls_sessions;
        }
        if flight.opens_requests && !flight.from_client {
            self.ready(connection);
        }
        if self.flight(connection, index + 1).is_some() {
            self.advance_handshake(connection, index + 1);
        }
        if flight.from_client
            && self.flight(connection, index + 2).is_none()
            && let Some(preface) = &self.settings.preface
        {
            self.write_alone(connection, true, PREFACE, preface.server_bytes);
        }
    }

    /// Writes what leaves in a segment of its own: sockets of browsers and servers have no delay.
    fn write_alone(&mut self, connection: u32, at_server: bool, id: MessageId, bytes: u64) {
        let message = Message { id, len: self.settings.records.wire_bytes(bytes), priority: 0 };
        // A failure shows at the next timer.
        if at_server {
            let _ = self.flush_server(connection);
            self.connections[connection as usize].server.write(message);
            let _ = self.flush_server(connection);
        } else {
            let _ = self.flush_client(connection);
            self.connections[connection as usize].client.write(message);
            let _ = self.flush_client(connection);
        }
    }

    /// Requests may leave.
    pub(super) fn ready(&mut self, connection: u32) {
        let c = &mut self.connections[connection as usize];
        if c.ready.is_some() {
            return;
        }
        c.ready = Some(self.now);
        let host = c.host;
        if let Some(preface) = &self.settings.preface {
            self.write_alone(connection, false, PREFACE, preface.client_bytes);
        }
        self.client.on_ready(connection);
        if let Some(throttle) = &mut self.throttle
            && self.settings.protocol.priorities_known
        {
            throttle.on_priorities(host);
        }
        self.follow_browser();
    }
}

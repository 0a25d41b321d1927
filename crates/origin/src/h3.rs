//! HTTP/3.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::server::RequestResolver;
use http::Response;
use quinn::crypto::rustls::QuicServerConfig;
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::gate::{Gate, Place};
use crate::h1::BODY_TIME;
use crate::order::Extensible;
use crate::quic::Quic;
use crate::server::{
    Counted, HANDSHAKE, IDLE, MAX_HEADER_BYTES, MAX_REQUEST_BODY_BYTES, NOT_SENT_BYTES, STALLED,
    Shared,
};
use crate::turns::{Turn, Turns};

/// Requests at a time, as for HTTP/2.
const MAX_STREAMS: u32 = 128;
/// Control, two of QPACK, and reserved ones (RFC 9114, section 6.2).
const MAX_UNI_STREAMS: u32 = 16;
/// What a request's body may be ahead of its reading.
const REQUEST_WINDOW_BYTES: u32 = 256 << 10;
/// What is given to QUIC at a time.
const PIECE_BYTES: usize = 16 << 10;

/// What QUIC is to do.
pub(crate) fn config(tls: rustls::ServerConfig) -> quinn::ServerConfig {
    let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3 has QUIC's initial suite");
    let mut transport = quinn::TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(MAX_STREAMS.into())
        .max_concurrent_uni_streams(MAX_UNI_STREAMS.into())
        .stream_receive_window(REQUEST_WINDOW_BYTES.into())
        .receive_window((4 * REQUEST_WINDOW_BYTES).into())
        .max_idle_timeout(Some(IDLE.try_into().expect("two minutes are few milliseconds")))
        .datagram_receive_buffer_size(None);
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    config
}

/// What a piece may take, at least: a timeout of the transport passes within it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Accepts connections until the endpoint is closed.
pub(crate) async fn accept(endpoint: quinn::Endpoint, shared: Arc<Shared>) {
    while let Some(incoming) = endpoint.accept().await {
        let Some(counted) = Counted::new(&shared) else {
            incoming.refuse();
            continue;
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            match timeout(HANDSHAKE, async { incoming.await }).await {
                Ok(Ok(connection)) => serve(connection, shared).await,
                Ok(Err(error)) => shared.counters.error(format!("QUIC: {error}")),
                Err(_) => shared.counters.error("QUIC: no handshake in time"),
            }
            drop(counted);
        });
    }
}

/// A connection, for its requests.
#[derive(Clone)]
struct Session {
    shared: Arc<Shared>,
    connection: quinn::Connection,
    number: u64,
    gate: Arc<Gate>,
}

async fn serve(connection: quinn::Connection, shared: Arc<Shared>) {
    let number = shared.counters.connection("h3");
    let gate = Gate::new(shared.priorities);
    let turns = Turns::new(shared.model);
    let session = Session { shared: shared.clone(), connection: connection.clone(), number, gate };
    let built = h3::server::builder()
        .max_field_section_size(MAX_HEADER_BYTES.into())
        .send_grease(false)
        .build(Quic::new(connection, session.gate.clone()))
        .await;
    let mut connection = match built {
        Ok(connection) => connection,
        Err(error) => return shared.counters.error(format!("h3: {error}")),
    };
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Ok(Some(resolver)) => {
                    requests.spawn(session.clone().respond(resolver, turns.enter()));
                }
                Ok(None) => break,
                Err(error) => {
                    if !error.is_h3_no_error() && !is_gone(&session.connection) {
                        shared.counters.error(format!("h3: {error}"));
                    }
                    break;
                }
            },
            Some(ended) = requests.join_next() => {
                if let Ok(Err(error)) = ended {
                    shared.counters.error(format!("h3: {error}"));
                }
            }
        }
    }
}

/// Whether the client closed the connection in an orderly way, or just stopped.
fn is_gone(connection: &quinn::Connection) -> bool {
    use quinn::ConnectionError::{ApplicationClosed, ConnectionClosed, TimedOut};
    match connection.close_reason() {
        Some(TimedOut) => true,
        Some(ApplicationClosed(close)) => {
            matches!(close.error_code.into_inner(), 0 | H3_NO_ERROR)
        }
        // Chromium ends QUIC by CONNECTION_CLOSE without an error.
        Some(ConnectionClosed(close)) => close.error_code == quinn::TransportErrorCode::NO_ERROR,
        _ => false,
    }
}

/// RFC 9114, section 8.1.
const H3_NO_ERROR: u64 = 0x100;

impl Session {
    /// Answers a request; an error is for the report.
    async fn respond(
        self,
        resolver: RequestResolver<Quic, Bytes>,
        turn: Turn,
    ) -> Result<(), &'static str> {
        let resolved = timeout(BODY_TIME, resolver.resolve_request()).await;
        let (request, mut stream) =
            resolved.map_err(|_| "no headers in time")?.map_err(|_| "a request that breaks off")?;
        let (head, ()) = request.into_parts();
        let read = timeout(BODY_TIME, async {
            let mut left = MAX_REQUEST_BODY_BYTES;
            while let Ok(Some(data)) = stream.recv_data().await {
                left = left.saturating_sub(data.remaining());
                if left == 0 {
                    return false;
                }
            }
            true
        });
        if !read.await.unwrap_or(false) {
            stream.stop_stream(h3::error::Code::H3_EXCESSIVE_LOAD);
            return Err("request body too large or too slow");
        }
        let priority = head.headers.get("priority").and_then(|field| field.to_str().ok());
        let priority = priority.map(Extensible::parse).unwrap_or_default();
        let answer = self.shared.answer(&head, "h3", self.number, true);
        turn.process(answer.delay).await;
        drop(turn);
        let mut response = Response::new(());
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        // Nobody wants it any more if this fails.
        let send = async {
            if stream.send_response(response).await.is_err() {
                return;
            }
            let place = self.gate.enter(stream.send_id().into_inner(), answer.rank, priority);
            let mut body = answer.body;
            while !body.is_empty() {
                place.come_first().await;
                self.limit_window();
                let piece = body.split_to(body.len().min(PIECE_BYTES));
                match self.send_piece(&place, stream.send_data(piece)).await {
                    Ok(Ok(())) => place.sent(),
                    Ok(Err(_)) => return,
                    Err(_) => {
                        self.shared.counters.error("h3: a client that does not read");
                        stream.stop_stream(h3::error::Code::H3_REQUEST_CANCELLED);
                        return;
                    }
                }
            }
            drop(place);
            let _ = stream.finish().await;
        };
        send.await;
        Ok(())
    }

    /// Waits for a piece to be taken; if that takes long, the window of its stream may be closed, and
    /// others go on.
    async fn send_piece<T>(
        &self,
        place: &Place,
        piece: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let mut piece = std::pin::pin!(piece);
        let patience = PATIENCE.max(4 * self.connection.rtt());
        if let Ok(sent) = timeout(patience, piece.as_mut()).await {
            return Ok(sent);
        }
        place.set_aside(true);
        let sent = timeout(STALLED, piece).await;
        place.set_aside(false);
        sent
    }

    /// What QUIC holds, it will send: it gets what its congestion window takes, and what a socket of
    /// TCP would hold besides.
    fn limit_window(&self) {
        let window = self.connection.stats().path.cwnd + u64::from(NOT_SENT_BYTES);
        self.connection.set_send_window(window);
    }
}

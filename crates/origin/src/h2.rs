//! HTTP/2. The `h2` crate frames and keeps the windows; what it is given to send, and when, is decided
//! here, piece by piece, so that the order on the wire is the one of [`Order`].

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;

use crate::archive::Answer;
use crate::config::Priorities;
use crate::h1::BODY_TIME;
use crate::order::{Extensible, Order};
use crate::server::{HANDSHAKE, IDLE, MAX_HEADER_BYTES, MAX_REQUEST_BODY_BYTES, STALLED, Shared};
use crate::signals::Signal;
use crate::tap::{Flow, Tap};
use crate::tree::{Dependency, Tree};
use crate::turns::{Turn, Turns};

/// Streams at a time, as nginx has it (`http2_max_concurrent_streams`).
const MAX_STREAMS: u32 = 128;

/// What is given to the `h2` crate at a time: with a frame's header, a TLS record.
const PIECE_BYTES: usize = (16 << 10) - 9;

/// Requests that a client may take back before it has to let twice as many be answered
/// (CVE-2023-44487).
const FREE_RESETS: u64 = 100;

/// Frames that ask for nothing (PING, SETTINGS, PRIORITY, empty DATA) that a client may send, and so
/// many more for each response (CVE-2019-9512, 9513, 9515, 9518).
const FREE_IDLE_FRAMES: u64 = 1000;
const IDLE_FRAMES_EACH: u64 = 10;

/// Priorities may come before their requests; of so many.
const MAX_EARLY: usize = 128;

/// How often timeouts are looked at.
const TICK: Duration = Duration::from_secs(5);

/// A request that has been processed; `None` if nobody wants the answer any more.
type Processed = Option<(SendResponse<Bytes>, Answer, Extensible, Turn)>;

struct Sending {
    stream: SendStream<Bytes>,
    body: Bytes,
}

/// A connection and its responses.
struct Session {
    shared: Arc<Shared>,
    number: u64,
    connection: Connection<Tap, Bytes>,
    flow: Arc<Flow>,
    turns: Arc<Turns>,
    processing: JoinSet<Processed>,
    sending: BTreeMap<u64, Sending>,
    order: Order,
    /// What RFC 9218's frames said last, by stream.
    updates: BTreeMap<u32, Extensible>,
    /// Whether the client knows RFC 9218; what it says by RFC 7540 does not count then.
    is_extensible: bool,
    tree: Tree,
    answered: u64,
    taken_back: u64,
}

/// Serves a connection until it is closed.
pub(crate) async fn serve(io: TlsStream<TcpStream>, shared: Arc<Shared>) {
    let number = shared.counters.connection("h2");
    let (tap, flow) = Tap::new(io);
    let handshake = h2::server::Builder::new()
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .handshake(tap);
    let connection = match tokio::time::timeout(HANDSHAKE, handshake).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return shared.counters.error(format!("h2: {error}")),
        Err(_) => return shared.counters.error("h2: no preface in time"),
    };
    let session = Session {
        turns: Turns::new(shared.model),
        order: Order::new(shared.priorities),
        number,
        connection,
        flow,
        processing: JoinSet::new(),
        sending: BTreeMap::new(),
        updates: BTreeMap::new(),
        is_extensible: false,
        tree: Tree::default(),
        answered: 0,
        taken_back: 0,
        shared,
    };
    session.run().await;
}

impl Session {
    async fn run(mut self) {
        let mut tick = tokio::time::interval(TICK);
        let (mut written, mut since) = (0, Instant::now());
        let ended = poll_fn(|cx| {
            if tick.poll_tick(cx).is_ready() {
                // It has to be polled once more to be woken by the next one.
                let _ = tick.poll_tick(cx);
                if self.flow.written() != written || !self.processing.is_empty() {
                    (written, since) = (self.flow.written(), Instant::now());
                }
                let limit = if self.sending.is_empty() { IDLE } else { STALLED };
                if since.elapsed() > limit {
                    return Poll::Ready(if self.sending.is_empty() {
                        Ok(())
                    } else {
                        Err("a client that does not read".to_owned())
                    });
                }
            }
            self.poll(cx)
        })
        .await;
        if let Err(error) = ended {
            self.shared.counters.error(format!("h2: {error}"));
        }
    }

    /// Everything that can be done now; ready when the connection has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), String>> {
        loop {
            // This reads and writes the socket, too.
            while let Poll::Ready(next) = self.connection.poll_accept(cx) {
                match next {
                    Some(Ok((request, respond))) => self.on_request(request, respond),
                    Some(Err(error)) if error.is_io() => return Poll::Ready(Ok(())),
                    Some(Err(error)) => return Poll::Ready(Err(error.to_string())),
                    None => return Poll::Ready(Ok(())),
                }
            }
            let mut progress = false;
            while let Poll::Ready(Some(done)) = self.processing.poll_join_next(cx) {
                progress = true;
                match done.expect("nothing panics or is aborted") {
                    Some((respond, answer, priority, turn)) => {
                        self.respond(respond, answer, priority);
                        drop(turn);
                    }
                    None => self.taken_back += 1,
                }
            }
            self.hear();
            self.forget_reset(cx);
            if let Some(abuse) = self.abuse() {
                self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                // What it has to say goes out if there is room; nothing else is waited for.
                let _ = self.connection.poll_closed(cx);
                return Poll::Ready(Err(abuse.to_owned()));
            }
            progress |= self.send_piece();
            if !progress {
                return Poll::Pending;
            }
        }
    }

    /// Takes note of what the client says about priorities.
    fn hear(&mut self) {
        for signal in self.flow.signals().take() {
            match signal {
                Signal::Dependency(id, dependency) => self.tree.set(id, dependency),
                Signal::Update(id, priority) => {
                    self.is_extensible = true;
                    if self.updates.len() >= MAX_EARLY && !self.updates.contains_key(&id) {
                        self.updates.pop_first();
                    }
                    self.updates.insert(id, priority);
                    self.order.set_priority(id.into(), priority);
                }
            }
        }
    }

    /// Why the client gets no more answers, if so.
    fn abuse(&self) -> Option<&'static str> {
        if self.taken_back > FREE_RESETS + 2 * self.answered {
            return Some("requests are taken back");
        }
        let allowed = FREE_IDLE_FRAMES + IDLE_FRAMES_EACH * self.answered;
        (self.flow.signals().idle_frames > allowed).then_some("frames that ask for nothing")
    }

    fn on_request(&mut self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (head, body) = request.into_parts();
        let priority = head.headers.get("priority").and_then(|field| field.to_str().ok());
        self.hear();
        self.is_extensible |= priority.is_some();
        let id = respond.stream_id().as_u32();
        let priority = self.updates.remove(&id).or(priority.map(Extensible::parse));
        let priority = priority.unwrap_or_default();
        if !self.tree.contains(id) {
            self.tree.set(id, Dependency::default());
        }
        let answer = self.shared.answer(&head, "h2", self.number, true);
        let turn = self.turns.enter();
        if body.is_end_stream() && answer.delay.is_zero() && turn.is_free() {
            return self.respond(respond, answer, priority);
        }
        self.processing.spawn(async move {
            let wanted = {
                let mut taken_back = std::pin::pin!(poll_fn(|cx| respond.poll_reset(cx)));
                let process = async {
                    let read = tokio::time::timeout(BODY_TIME, discard(body)).await;
                    if read.unwrap_or(false) {
                        turn.process(answer.delay).await;
                        true
                    } else {
                        false
                    }
                };
                tokio::select! {
                    biased;
                    _ = taken_back.as_mut() => false,
                    wanted = process => wanted,
                }
            };
            if wanted {
                Some((respond, answer, priority, turn))
            } else {
                respond.send_reset(Reason::CANCEL);
                None
            }
        });
    }

    fn respond(&mut self, mut respond: SendResponse<Bytes>, answer: Answer, priority: Extensible) {
        let mut response = Response::new(());
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        let id = u64::from(respond.stream_id().as_u32());
        match respond.send_response(response, answer.body.is_empty()) {
            Ok(_) if answer.body.is_empty() => self.answered += 1,
            Ok(stream) => {
                self.sending.insert(id, Sending { stream, body: answer.body });
                self.order.add(id, answer.rank, priority);
            }
            Err(_) => self.taken_back += 1,
        }
    }

    /// Forgets the responses that their client does not want any more.
    fn forget_reset(&mut self, cx: &mut Context<'_>) {
        let reset: Vec<u64> = self
            .sending
            .iter_mut()
            .filter_map(|(&id, sending)| sending.stream.poll_reset(cx).is_ready().then_some(id))
            .collect();
        for id in reset {
            self.taken_back += 1;
            self.forget(id);
        }
    }

    fn forget(&mut self, id: u64) {
        self.sending.remove(&id);
        self.order.remove(id);
    }

    /// The responses, the next one to send first.
    fn next(&self) -> Vec<u64> {
        if self.shared.priorities != Priorities::Client || self.is_extensible {
            return self.order.ids();
        }
        let streams = self.tree.order().into_iter().map(u64::from);
        let mut ids: Vec<u64> = streams.filter(|id| self.sending.contains_key(id)).collect();
        if ids.len() < self.sending.len() {
            // The tree forgets streams.
            let rest: Vec<u64> =
                self.sending.keys().copied().filter(|id| !ids.contains(id)).collect();
            ids.extend(rest);
        }
        ids
    }

    /// Sends a piece of the first response in order whose window is open, unless the socket is full.
    fn send_piece(&mut self) -> bool {
        if self.flow.is_blocked() {
            return false;
        }
        for id in self.next() {
            let sending = self.sending.get_mut(&id).expect("both know the same responses");
            let wanted = sending.body.len().min(PIECE_BYTES);
            sending.stream.reserve_capacity(wanted);
            let piece = sending.stream.capacity().min(wanted);
            if piece == 0 {
                // What it would get later could be another's then.
                sending.stream.reserve_capacity(0);
                continue;
            }
            let data = sending.body.split_to(piece);
            let is_last = sending.body.is_empty();
            let sent = sending.stream.send_data(data, is_last);
            self.order.sent(id);
            self.tree.sent(id as u32, piece);
            if is_last || sent.is_err() {
                self.answered += u64::from(sent.is_ok());
                self.forget(id);
            }
            return true;
        }
        false
    }
}

/// Reads a request's body to its end; false if it is too large or breaks off.
async fn discard(mut body: RecvStream) -> bool {
    let mut left = MAX_REQUEST_BODY_BYTES;
    while let Some(data) = body.data().await {
        let Ok(data) = data else {
            return false;
        };
        left = left.saturating_sub(data.len());
        if left == 0 || body.flow_control().release_capacity(data.len()).is_err() {
            return false;
        }
    }
    true
}

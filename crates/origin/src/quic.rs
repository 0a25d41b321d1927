//! `h3-quinn` with an eye on what comes in: `h3` keeps frames whole before it looks at them, however
//! large, and does not tell of PRIORITY_UPDATE.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};

use crate::gate::Gate;
use crate::order::Extensible;

/// RFC 9114, section 7.2.1.
const DATA: u64 = 0x0;
/// RFC 9218, section 7.2, for request streams.
const PRIORITY_UPDATE: u64 = 0xF0700;
/// RFC 9114, section 6.2.1: what a control stream begins with.
const CONTROL: u64 = 0x0;

/// Of a frame that is not DATA. Headers may be this large, and everything else is small.
const MAX_FRAME_BYTES: u64 = 64 << 10;
/// Of a frame that is looked at.
const MAX_KEPT_BYTES: usize = 256;

/// A QUIC connection as `h3` wants it.
pub(crate) struct Quic {
    inner: h3_quinn::Connection,
    gate: Arc<Gate>,
}

impl Quic {
    pub fn new(connection: quinn::Connection, gate: Arc<Gate>) -> Quic {
        Quic { inner: h3_quinn::Connection::new(connection), gate }
    }
}

type Send = h3_quinn::SendStream<Bytes>;

impl quic::Connection<Bytes> for Quic {
    type RecvStream = Uni;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Uni, ConnectionErrorIncoming>> {
        let inner = ready!(quic::Connection::<Bytes>::poll_accept_recv(&mut self.inner, cx))?;
        let frames = Frames { state: State::StreamType, ..Frames::new() };
        Poll::Ready(Ok(Uni { inner, frames, gate: self.gate.clone() }))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidi, ConnectionErrorIncoming>> {
        let inner = ready!(quic::Connection::<Bytes>::poll_accept_bidi(&mut self.inner, cx))?;
        Poll::Ready(Ok(Bidi { inner, frames: Frames::new() }))
    }

    fn opener(&self) -> Opener {
        Opener(quic::Connection::<Bytes>::opener(&self.inner))
    }
}

impl quic::OpenStreams<Bytes> for Quic {
    type BidiStream = Bidi;
    type SendStream = Send;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bidi, StreamErrorIncoming>> {
        let inner = ready!(quic::OpenStreams::<Bytes>::poll_open_bidi(&mut self.inner, cx))?;
        Poll::Ready(Ok(Bidi { inner, frames: Frames::new() }))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Send, StreamErrorIncoming>> {
        self.inner.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<Bytes>::close(&mut self.inner, code, reason);
    }
}

/// Opens streams of a [`Quic`].
pub(crate) struct Opener(h3_quinn::OpenStreams);

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = Bidi;
    type SendStream = Send;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bidi, StreamErrorIncoming>> {
        let inner = ready!(quic::OpenStreams::<Bytes>::poll_open_bidi(&mut self.0, cx))?;
        Poll::Ready(Ok(Bidi { inner, frames: Frames::new() }))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Send, StreamErrorIncoming>> {
        self.0.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<Bytes>::close(&mut self.0, code, reason);
    }
}

/// A stream of the client's with frames for the connection.
pub(crate) struct Uni {
    inner: h3_quinn::RecvStream,
    frames: Frames,
    gate: Arc<Gate>,
}

impl quic::RecvStream for Uni {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let data = ready!(self.inner.poll_data(cx))?;
        if let Some(data) = &data {
            let Uni { frames, gate, .. } = self;
            frames.feed(data, |kind, payload| {
                if kind == PRIORITY_UPDATE {
                    update(gate, payload);
                }
            })?;
        }
        Poll::Ready(Ok(data))
    }

    fn stop_sending(&mut self, code: u64) {
        self.inner.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

fn update(gate: &Gate, mut payload: &[u8]) {
    if let (Some(stream), Ok(field)) = (varint(&mut payload), std::str::from_utf8(payload)) {
        gate.set_priority(stream, Extensible::parse(field));
    }
}

/// A request and its response.
pub(crate) struct Bidi {
    inner: h3_quinn::BidiStream<Bytes>,
    frames: Frames,
}

impl quic::RecvStream for Bidi {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let data = ready!(self.inner.poll_data(cx))?;
        if let Some(data) = &data {
            self.frames.feed(data, |_, _| {})?;
        }
        Poll::Ready(Ok(data))
    }

    fn stop_sending(&mut self, code: u64) {
        self.inner.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

impl quic::SendStream<Bytes> for Bidi {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.inner.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.inner.send_id()
    }
}

/// Where in its frames a stream is.
struct Frames {
    state: State,
    /// Bytes of a number, or of a frame that is kept.
    kept: Vec<u8>,
}

enum State {
    StreamType,
    /// Not a control stream.
    Others,
    Type,
    Length {
        kind: u64,
    },
    Payload {
        kind: u64,
        left: u64,
    },
}

impl Frames {
    fn new() -> Frames {
        Frames { state: State::Type, kept: Vec::new() }
    }

    /// Goes on by `data`; calls `seen` for each small frame.
    fn feed(
        &mut self,
        mut data: &[u8],
        mut seen: impl FnMut(u64, &[u8]),
    ) -> Result<(), StreamErrorIncoming> {
        loop {
            match self.state {
                State::Others => return Ok(()),
                State::StreamType => {
                    let Some(kind) = self.number(&mut data) else { return Ok(()) };
                    self.state = if kind == CONTROL { State::Type } else { State::Others };
                }
                State::Type => {
                    let Some(kind) = self.number(&mut data) else { return Ok(()) };
                    self.state = State::Length { kind };
                }
                State::Length { kind } => {
                    let Some(left) = self.number(&mut data) else { return Ok(()) };
                    if kind != DATA && left > MAX_FRAME_BYTES {
                        return Err(too_large(kind, left));
                    }
                    self.state = State::Payload { kind, left };
                }
                State::Payload { kind, left } => {
                    let here = left.min(data.len() as u64) as usize;
                    let room = MAX_KEPT_BYTES - self.kept.len();
                    self.kept.extend_from_slice(&data[..here.min(room)]);
                    data = &data[here..];
                    let left = left - here as u64;
                    if left > 0 {
                        self.state = State::Payload { kind, left };
                        return Ok(());
                    }
                    seen(kind, &self.kept);
                    self.kept.clear();
                    self.state = State::Type;
                }
            }
        }
    }

    /// The number that is next, once all of it is there.
    fn number(&mut self, data: &mut &[u8]) -> Option<u64> {
        while data.has_remaining() {
            self.kept.push(data.get_u8());
            if let Some(number) = varint(&mut self.kept.as_slice()) {
                self.kept.clear();
                return Some(number);
            }
        }
        None
    }
}

fn too_large(kind: u64, bytes: u64) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: ConnectionErrorIncoming::InternalError(format!(
            "frame of type {kind:#x} with {bytes} bytes"
        )),
    }
}

/// RFC 9000, section 16.
fn varint(data: &mut &[u8]) -> Option<u64> {
    let first = *data.first()?;
    let bytes = 1 << (first >> 6);
    let number = data.get(..bytes)?;
    let value = number.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    *data = &data[bytes..];
    Some(value & ((1 << (8 * bytes - 2)) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(control: bool, data: &[u8], piece: usize) -> Result<Vec<(u64, Vec<u8>)>, String> {
        let mut frames = Frames::new();
        if control {
            frames.state = State::StreamType;
        }
        let mut seen = Vec::new();
        for data in data.chunks(piece) {
            frames
                .feed(data, |kind, payload| seen.push((kind, payload.to_vec())))
                .map_err(|error| format!("{error}"))?;
        }
        Ok(seen)
    }

    #[test]
    fn numbers_are_read_as_the_rfc_has_them() {
        // RFC 9000, section A.1.
        let long = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(varint(&mut &long[..]), Some(151_288_809_941_952_652));
        assert_eq!(varint(&mut &[0x9d, 0x7f, 0x3e, 0x7d][..]), Some(494_878_333));
        assert_eq!(varint(&mut &[0x7b, 0xbd][..]), Some(15_293));
        assert_eq!(varint(&mut &[0x25][..]), Some(37));
        assert_eq!(varint(&mut &[0x7b][..]), None);
    }

    #[test]
    fn frames_are_seen_however_they_are_cut() {
        let update = [0x80, 0x0f, 0x07, 0x00, 0x05, 0x04, b'u', b'=', b'1', b' '];
        let data = [&[0x00, 0x04, 0x00][..], &update].concat();
        for piece in 1..=data.len() {
            let seen = frames(true, &data, piece).unwrap();
            assert_eq!(seen, [(4, vec![]), (PRIORITY_UPDATE, vec![4, b'u', b'=', b'1', b' '])]);
        }
    }

    #[test]
    fn large_frames_are_refused_unless_they_are_data() {
        let headers = [0x01, 0x80, 0x01, 0x00, 0x01];
        assert!(frames(false, &headers, 5).is_err());
        let data = [0x00, 0x80, 0x01, 0x00, 0x01];
        assert!(frames(false, &data, 5).is_ok());
        let encoder = [0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(frames(true, &encoder, 3).unwrap(), []);
    }
}

//! The transport of an HTTP/2 connection: it says when it can take no more, and what passes through.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::signals::Signals;

/// A TLS record (RFC 8446, section 5.1); what is written at once goes into one.
const RECORD_BYTES: usize = 16 << 10;

/// What the other end of a [`Tap`] can know about it.
#[derive(Debug)]
pub(crate) struct Flow {
    blocked: AtomicBool,
    written: AtomicU64,
    signals: Mutex<Signals>,
}

impl Flow {
    /// Whether the socket would not take the last bytes.
    pub fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    /// What the client said.
    pub fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().expect("no panics")
    }

    /// Bytes that went to the socket so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// A TLS connection below HTTP/2.
pub(crate) struct Tap {
    inner: TlsStream<TcpStream>,
    flow: Arc<Flow>,
    record: Vec<u8>,
}

impl Tap {
    pub fn new(inner: TlsStream<TcpStream>) -> (Tap, Arc<Flow>) {
        let flow = Arc::new(Flow {
            blocked: AtomicBool::new(false),
            written: AtomicU64::new(0),
            signals: Mutex::new(Signals::new()),
        });
        (Tap { inner, flow: flow.clone(), record: Vec::new() }, flow)
    }

    fn note<T>(&self, poll: Poll<T>) -> Poll<T> {
        self.flow.blocked.store(poll.is_pending(), Ordering::Relaxed);
        poll
    }

    /// Writes no more into TLS than has left it: its buffer would undo any order.
    fn poll_write_record(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.inner.get_ref().1.wants_write() {
            ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        }
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, data))?;
        self.flow.written.fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        self.flow.signals().feed(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = self.poll_write_record(cx, data);
        self.note(poll)
    }

    /// A frame's header and its payload go into one record.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        for slice in slices {
            let room = RECORD_BYTES - record.len();
            record.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        let poll = self.poll_write_record(cx, &record);
        self.record = record;
        self.note(poll)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_flush(cx);
        self.note(poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

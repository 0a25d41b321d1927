//! What an HTTP/2 client says that the `h2` crate keeps to itself: priorities, and how much it says
//! without asking for anything. Read from the frames as they come in.

use std::mem;

use crate::order::Extensible;
use crate::tree::Dependency;

/// RFC 9113, section 3.4.
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const PRIORITY: u8 = 0x2;
const WINDOW_UPDATE: u8 = 0x8;
const CONTINUATION: u8 = 0x9;
/// RFC 9218, section 7.1.
const PRIORITY_UPDATE: u8 = 0x10;

const PADDED: u8 = 0x8;
const WITH_PRIORITY: u8 = 0x20;

/// Of a payload: a stream, a field, or padding and a dependency.
const MAX_KEPT_BYTES: usize = 128;

/// A priority that a client signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Dependency(u32, Dependency),
    Update(u32, Extensible),
}

/// Reads frames as they come, in any pieces.
#[derive(Debug)]
pub(crate) struct Signals {
    preface: usize,
    head: Vec<u8>,
    /// Bytes of the payload still to come.
    left: usize,
    kept: Vec<u8>,
    seen: Vec<Signal>,
    /// Frames that ask for nothing and carry nothing.
    pub idle_frames: u64,
}

impl Signals {
    pub fn new() -> Signals {
        Signals {
            preface: PREFACE_BYTES,
            head: Vec::with_capacity(HEAD_BYTES),
            left: 0,
            kept: Vec::new(),
            seen: Vec::new(),
            idle_frames: 0,
        }
    }

    /// What was signalled since the last call.
    pub fn take(&mut self) -> Vec<Signal> {
        mem::take(&mut self.seen)
    }

    /// Goes on by `data`.
    pub fn feed(&mut self, mut data: &[u8]) {
        let skipped = self.preface.min(data.len());
        self.preface -= skipped;
        data = &data[skipped..];
        while !data.is_empty() {
            if self.head.len() < HEAD_BYTES {
                let here = (HEAD_BYTES - self.head.len()).min(data.len());
                self.head.extend_from_slice(&data[..here]);
                data = &data[here..];
                if self.head.len() < HEAD_BYTES {
                    return;
                }
                self.left = usize::from(self.head[0]) << 16
                    | usize::from(self.head[1]) << 8
                    | usize::from(self.head[2]);
            }
            let here = self.left.min(data.len());
            let room = MAX_KEPT_BYTES - self.kept.len();
            self.kept.extend_from_slice(&data[..here.min(room)]);
            data = &data[here..];
            self.left -= here;
            if self.left == 0 {
                self.on_frame();
                self.head.clear();
                self.kept.clear();
            }
        }
    }

    fn on_frame(&mut self) {
        let (kind, flags) = (self.head[3], self.head[4]);
        let stream = number(&self.head[5..]);
        let payload = self.kept.as_slice();
        let is_empty = self.head[..3] == [0, 0, 0];
        match kind {
            HEADERS | WINDOW_UPDATE => {}
            DATA | CONTINUATION if !is_empty => {}
            _ => self.idle_frames += 1,
        }
        let signal = match kind {
            HEADERS if flags & WITH_PRIORITY != 0 => {
                let padding = usize::from(flags & PADDED != 0);
                payload.get(padding..).and_then(dependency).map(|d| Signal::Dependency(stream, d))
            }
            PRIORITY => dependency(payload).map(|d| Signal::Dependency(stream, d)),
            PRIORITY_UPDATE if payload.len() >= 4 => std::str::from_utf8(&payload[4..])
                .ok()
                .map(|field| Signal::Update(number(payload), Extensible::parse(field))),
            _ => None,
        };
        // More in one piece than streams can be open are not meant seriously.
        if self.seen.len() < 1024 {
            self.seen.extend(signal);
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().expect("four bytes")) & 0x7fff_ffff
}

/// RFC 7540, section 6.3.
fn dependency(payload: &[u8]) -> Option<Dependency> {
    let payload = payload.get(..5)?;
    Some(Dependency {
        on: number(payload),
        weight: u16::from(payload[4]) + 1,
        exclusive: payload[0] & 0x80 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_however_they_are_cut() {
        let mut bytes = vec![b'P'; PREFACE_BYTES];
        let mut frame = |kind, flags, stream: u8, payload: &[u8]| {
            bytes.extend([0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream]);
            bytes.extend(payload);
        };
        frame(HEADERS, WITH_PRIORITY | PADDED, 1, &[1, 0x80, 0, 0, 0, 255, 0x82, 0]);
        frame(0x6, 0, 0, &[0; 8]);
        frame(PRIORITY, 0, 3, &[0, 0, 0, 1, 15]);
        frame(DATA, 0, 1, &[7; 200]);
        frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x05u=2, i");
        frame(HEADERS, 0, 7, &[0x82]);
        let expected = [
            Signal::Dependency(1, Dependency { on: 0, weight: 256, exclusive: true }),
            Signal::Dependency(3, Dependency { on: 1, weight: 16, exclusive: false }),
            Signal::Update(5, Extensible { urgency: 2, incremental: true }),
        ];
        for piece in 1..=bytes.len() {
            let mut signals = Signals::new();
            bytes.chunks(piece).for_each(|piece| signals.feed(piece));
            assert_eq!(signals.take(), expected, "in pieces of {piece}");
            assert_eq!(signals.idle_frames, 3);
        }
    }
}

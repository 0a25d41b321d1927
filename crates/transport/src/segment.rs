//! What travels between two endpoints: headers without payload bytes. A segment names the message
//! (a request or a response) that its bytes belong to; that is what priority buffers, preemption,
//! out-of-order delivery and stream schedulers need.

use loadpath_net::SimTime;

/// A path of a connection. Single-path TCP has only `PathId(0)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(pub u8);

/// A message on a connection: one request or one response, numbered by the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// A message to send: `len` bytes that belong together. A segment never spans two messages, and the
/// last one of a message carries PSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, unique in its direction of the connection.
    pub id: MessageId,
    /// Its length in bytes, not zero.
    pub len: u64,
    /// Lower is sent first, where the send buffer looks at it.
    pub priority: u32,
}

/// Bytes for the application: `offset..offset + len` of message `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub id: MessageId,
    /// First byte within the message.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
    /// These bytes end the message (with in-order delivery: the message is complete).
    pub end: bool,
}

/// Header flags, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Synchronise.
    pub const SYN: Flags = Flags(1);
    /// Acknowledgement number is valid.
    pub const ACK: Flags = Flags(2);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(4);
    /// End of a message.
    pub const PSH: Flags = Flags(8);
    /// Abort.
    pub const RST: Flags = Flags(16);

    /// True if all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A half-open range of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeqRange {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl SeqRange {
    /// Number of bytes.
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// True if there is no byte in it.
    pub const fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

/// A range of sequence numbers as distances from the segment's `ack`. A window is below 2^30 bytes
/// (RFC 7323), so 32 bits hold it, which keeps a [`Segment`] below 100 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRange {
    /// First byte, counted from `ack`.
    pub start: u32,
    /// One past the last byte, counted from `ack`.
    pub end: u32,
}

impl AckRange {
    /// `range` seen from `ack`.
    pub fn of(range: SeqRange, ack: u64) -> AckRange {
        debug_assert!(range.start >= ack && range.end - ack <= u64::from(u32::MAX));
        AckRange { start: (range.start - ack) as u32, end: (range.end - ack) as u32 }
    }

    /// The sequence numbers.
    pub const fn from(self, ack: u64) -> SeqRange {
        SeqRange { start: ack + self.start as u64, end: ack + self.end as u64 }
    }
}

/// The option that reports what the receiver has or lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Report {
    /// No option.
    #[default]
    None,
    /// RFC 2018: up to three blocks (the timestamp option takes the room of the fourth), the one that
    /// grew last first; unused blocks are empty.
    Sack([AckRange; 3]),
    /// Appendix B of the thesis: this range is missing and was not reported before.
    Nack(AckRange),
}

impl Report {
    /// Bytes of the option in the header, padded to a multiple of four: kind, length and two sequence
    /// numbers a block (RFC 2018, section 3) or sequence number and length (Figure B.2).
    pub fn wire_bytes(&self) -> u32 {
        match self {
            Report::None => 0,
            Report::Sack(blocks) => {
                4 + 8 * blocks.iter().filter(|b| b.start < b.end).count() as u32
            }
            Report::Nack(_) => 12,
        }
    }
}

/// A TCP segment without its payload bytes. Sequence numbers are 64 bit, so they never wrap; the SYN
/// takes number 0 and data begin at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Header flags.
    pub flags: Flags,
    /// Number of the first byte (or of SYN or FIN).
    pub seq: u64,
    /// Next byte expected from the other side, if ACK is set.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Receive window in bytes, after scaling; at most 2^30 (RFC 7323).
    pub window: u32,
    /// Message that the payload belongs to.
    pub message: MessageId,
    /// Offset of the payload within the message.
    pub offset: u64,
    /// Sender's clock (TSval, RFC 7323); nanoseconds, finer than any real stack's.
    pub timestamp: SimTime,
    /// Echoed clock (TSecr); `SimTime::MAX` if there is none to echo.
    pub echo: SimTime,
    /// What the receiver has or lacks.
    pub report: Report,
    /// Whether the bytes were sent before; for counters and traces, no endpoint looks at it.
    pub retransmission: bool,
    /// Bytes on the wire, all headers and options included.
    pub wire_bytes: u32,
}

impl Segment {
    /// Sequence space that the segment takes: payload, SYN and FIN.
    pub fn span(&self) -> u64 {
        self.len as u64
            + u64::from(self.flags.has(Flags::SYN))
            + u64::from(self.flags.has(Flags::FIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_fits_a_cache_line_and_a_half() {
        // Links move segments by value, so their size is part of the cost of a packet.
        assert!(size_of::<Segment>() <= 96, "{} bytes", size_of::<Segment>());
    }
}

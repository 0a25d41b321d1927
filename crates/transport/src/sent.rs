//! The log of what was sent and is not yet acknowledged, and what is known about each segment. A
//! retransmission repeats an entry, so the same sequence numbers always carry the same bytes.
//!
//! All ways of recovery share one account of the bytes in flight:
//!
//! > pipe = outstanding − reported as received − taken for lost + sent again
//!
//! and, where windows count segments, what short segments lack of whole ones until they are acknowledged.
//!
//! For SACK this is RFC 6675's pipe; for NACK the thesis's definition (appendix B), where nothing is
//! ever reported as received; for NewReno what is taken for lost is sent again at once, so that the
//! last two terms cancel out and FlightSize remains. After a timeout everything is taken for lost,
//! which makes pipe what was sent since: go-back-N.

mod by_time;

use std::collections::VecDeque;

use crate::{Flags, MessageId, SeqRange};

/// A sent segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub seq: u64,
    pub offset: u64,
    pub message: MessageId,
    pub len: u32,
    pub flags: Flags,
    marks: u8,
}

const RECEIVED: u8 = 1;
const LOST: u8 = 2;
const RESENT: u8 = 4;

impl Sent {
    /// Sequence space, with that of FIN.
    pub fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.has(Flags::FIN))
    }

    /// One past its last number.
    pub fn end(&self) -> u64 {
        self.seq + self.span()
    }

    fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    fn waits(&self) -> bool {
        self.marks & (RECEIVED | LOST | RESENT) == LOST
    }
}

/// The log.
#[derive(Clone, Debug)]
pub(crate) struct SentLog {
    entries: VecDeque<Sent>,
    /// Oldest number not acknowledged (SND.UNA).
    una: u64,
    /// Next number to give out (SND.NXT).
    next: u64,
    /// Bytes of entries marked RECEIVED; LOST and not RECEIVED; RESENT and not RECEIVED.
    received: u64,
    lost: u64,
    resent: u64,
    /// Entries that wait to be sent again: LOST, neither RESENT nor RECEIVED.
    waiting: u32,
    /// No entry before this number waits.
    waiting_from: u64,
    /// Ranges reported as received, ascending, apart from each other.
    reported: Vec<SeqRange>,
    /// Up to here the reports were searched for losses.
    judged_to: u64,
    /// Segments that count for more than their bytes: one past their last number, and by how much.
    padded: VecDeque<(u64, u64)>,
    /// The sum of it.
    padding: u64,
}

impl SentLog {
    /// `first` is the first number to give out.
    pub fn new(first: u64) -> Self {
        SentLog {
            entries: VecDeque::new(),
            una: first,
            next: first,
            received: 0,
            lost: 0,
            resent: 0,
            waiting: 0,
            waiting_from: first,
            reported: Vec::new(),
            judged_to: first,
            padded: VecDeque::new(),
            padding: 0,
        }
    }

    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// FlightSize: sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Bytes taken to be in the network, with padding.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.outstanding() + self.padding + self.resent - self.received - self.lost
    }

    /// Lets the last segment count for so many bytes more in `pipe`, until it is acknowledged.
    pub fn pad_last(&mut self, bytes: u64) {
        self.padded.push_back((self.next, bytes));
        self.padding += bytes;
    }

    /// Bytes that the other side reported as received beyond the cumulative acknowledgement.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Segments after the first that is not acknowledged.
    pub fn segments_after_first(&self) -> usize {
        self.entries.len().saturating_sub(1)
    }

    /// The first segment was sent again since the last timeout.
    pub fn first_was_resent(&self) -> bool {
        self.entries.front().is_some_and(|e| e.has(RESENT))
    }

    /// The first segment is taken for lost.
    pub fn first_is_lost(&self) -> bool {
        self.entries.front().is_some_and(|e| e.has(LOST) && !e.has(RECEIVED))
    }

    /// Something waits to be sent again.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Appends a segment and gives it the next sequence number.
    #[inline]
    pub fn push(&mut self, message: MessageId, offset: u64, len: u32, flags: Flags) -> Sent {
        let sent = Sent { seq: self.next, offset, message, len, flags, marks: 0 };
        self.next += sent.span();
        self.entries.push_back(sent);
        sent
    }

    /// Drops what a cumulative acknowledgement covers and returns how much that is.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64) -> u64 {
        debug_assert!(ack > self.una && ack <= self.next);
        let acked = ack - self.una;
        while let Some(first) = self.entries.front_mut() {
            let whole = first.end() <= ack;
            // The other side acknowledges whole segments, because it gets whole segments; a strange
            // one may not, and then the rest stays.
            let part = if whole { first.span() } else { ack.saturating_sub(first.seq) };
            if part == 0 {
                break;
            }
            if first.marks != 0 {
                if first.has(RECEIVED) {
                    self.received -= part;
                } else {
                    self.lost -= if first.has(LOST) { part } else { 0 };
                    self.resent -= if first.has(RESENT) { part } else { 0 };
                    self.waiting -= u32::from(whole && first.waits());
                }
            }
            if whole {
                self.entries.pop_front();
            } else {
                first.seq += part;
                first.offset += part;
                first.len -= part as u32;
                break;
            }
        }
        while let Some(&(end, bytes)) = self.padded.front() {
            if end > ack {
                break;
            }
            self.padding -= bytes;
            self.padded.pop_front();
        }
        self.una = ack;
        let stale = self.reported.partition_point(|r| r.end <= ack);
        self.reported.drain(..stale);
        acked
    }

    /// Takes the first segment for lost.
    pub fn mark_first_lost(&mut self) {
        if !self.entries.is_empty() {
            self.mark_lost_at(0);
        }
    }

    /// Takes every segment within `range` for lost (a NACK).
    pub fn mark_lost(&mut self, range: SeqRange) {
        let mut i = self.index_of(range.start.max(self.una));
        while i < self.entries.len() && self.entries[i].seq < range.end {
            self.mark_lost_at(i);
            i += 1;
        }
    }

    /// A timeout: forgets all that was known and takes everything for lost.
    pub fn mark_all_lost(&mut self) {
        for e in &mut self.entries {
            e.marks = LOST;
        }
        self.received = 0;
        self.lost = self.outstanding();
        self.resent = 0;
        self.waiting = self.entries.len() as u32;
        self.waiting_from = self.una;
        self.reported.clear();
        self.padded.clear();
        self.padding = 0;
    }

    /// Marks a reported range as received; true if anything in it is news.
    pub fn mark_received(&mut self, range: SeqRange) -> bool {
        self.mark_received_with(range, |_, _| ())
    }

    /// The same; `seen` is told the place of each segment that is news, and what it was.
    pub fn mark_received_with(
        &mut self,
        range: SeqRange,
        mut seen: impl FnMut(usize, &Sent),
    ) -> bool {
        let start = range.start.max(self.una);
        let end = range.end.min(self.next);
        if start >= end {
            return false;
        }
        // The reports that touch the new range become one with it; only the gaps between them are
        // news, so a range that grows by a segment costs the look at a segment.
        let first = self.reported.partition_point(|r| r.end < start);
        let last = self.reported.partition_point(|r| r.start <= end);
        let mut merged = SeqRange { start, end };
        let mut gap_from = start;
        let mut news = false;
        for i in first..last {
            let known = self.reported[i];
            news |= self.mark_gap_received(gap_from, known.start, &mut seen);
            gap_from = gap_from.max(known.end);
            merged.start = merged.start.min(known.start);
            merged.end = merged.end.max(known.end);
        }
        news |= self.mark_gap_received(gap_from, end, &mut seen);
        if first == last {
            self.reported.insert(first, merged);
        } else {
            self.reported[first] = merged;
            self.reported.drain(first + 1..last);
        }
        news
    }

    fn mark_gap_received(
        &mut self,
        start: u64,
        end: u64,
        seen: &mut impl FnMut(usize, &Sent),
    ) -> bool {
        if start >= end {
            return false;
        }
        let mut i = self.index_of(start);
        while let Some(e) = self.entries.get_mut(i) {
            if e.seq >= end {
                break;
            }
            seen(i, e);
            let span = e.span();
            self.waiting -= u32::from(e.waits());
            self.lost -= if e.has(LOST) { span } else { 0 };
            self.resent -= if e.has(RESENT) { span } else { 0 };
            self.received += span;
            e.marks = RECEIVED;
            i += 1;
        }
        true
    }

    /// RFC 6675 `IsLost`: a segment is lost if `threshold` ranges above it were reported as received,
    /// or more than `threshold - 1` segments' worth of bytes.
    pub fn judge_losses(&mut self, threshold: u32, mss: u32) {
        let mut bytes = 0;
        let mut below = None;
        for (ranges, range) in (1..).zip(self.reported.iter().rev()) {
            bytes += range.len();
            if ranges >= threshold || bytes > u64::from(threshold - 1) * u64::from(mss) {
                below = Some(range.start);
                break;
            }
        }
        let Some(below) = below else { return };
        if self.judged_to >= below {
            return;
        }
        let mut i = self.index_of(self.judged_to.max(self.una));
        while self.entries.get(i).is_some_and(|e| e.seq < below) {
            self.mark_lost_at(i);
            i += 1;
        }
        self.judged_to = below;
    }

    /// The next segment that waits to be sent again, now marked as sent again.
    pub fn resend_waiting(&mut self) -> Option<Sent> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.index_of(self.waiting_from.max(self.una));
        let i = (from..self.entries.len()).find(|&i| self.entries[i].waits())?;
        self.waiting_from = self.entries[i].end();
        Some(self.resend_at(i))
    }

    /// RFC 6675 `NextSeg`, rule (3): the first segment below the highest report that was neither
    /// reported nor sent again.
    pub fn resend_unreported(&mut self) -> Option<Sent> {
        let highest = self.reported.last()?.start;
        let i = (0..self.entries.len())
            .take_while(|&i| self.entries[i].seq < highest)
            .find(|&i| self.entries[i].marks & (RECEIVED | RESENT) == 0)?;
        Some(self.resend_at(i))
    }

    /// RFC 6675 `NextSeg`, rule (4): the last segment that was not reported, unless rule (3) has just
    /// sent it again, which the RFC does not ask.
    pub fn resend_last_unreported(&mut self) -> Option<Sent> {
        let i = self.entries.iter().rposition(|e| !e.has(RECEIVED))?;
        if self.entries[i].has(RESENT) { None } else { Some(self.resend_at(i)) }
    }

    /// The last segment, to be sent again as a tail loss probe; its marks do not change.
    pub fn last(&self) -> Option<Sent> {
        self.entries.back().copied()
    }

    /// Segments that are not acknowledged.
    pub fn segments(&self) -> usize {
        self.entries.len()
    }

    /// The segments that wait to be sent again.
    pub fn waiting(&self) -> impl Iterator<Item = &Sent> {
        self.entries.iter().filter(|e| e.waits())
    }

    /// The first segment, to be sent again as a window probe; its marks do not change.
    pub fn first(&self) -> Option<Sent> {
        self.entries.front().copied()
    }

    fn resend_at(&mut self, i: usize) -> Sent {
        let e = &mut self.entries[i];
        if !e.has(RESENT) {
            self.waiting -= u32::from(e.waits());
            e.marks |= RESENT;
            self.resent += e.span();
        }
        *e
    }

    fn mark_lost_at(&mut self, i: usize) {
        let e = &mut self.entries[i];
        if e.marks & (RECEIVED | LOST) != 0 {
            return;
        }
        e.marks |= LOST;
        self.lost += e.span();
        if !e.has(RESENT) {
            self.waiting += 1;
            self.waiting_from = self.waiting_from.min(e.seq);
        }
    }

    fn index_of(&self, seq: u64) -> usize {
        self.entries.partition_point(|e| e.end() <= seq)
    }
}

//! What loss detection by time needs of the log: segments by their place, and marks that can be taken back.

use super::{LOST, RECEIVED, RESENT, Sent, SentLog};

impl SentLog {
    /// The segment at a place; the first is the oldest that is not acknowledged.
    pub fn at(&self, place: usize) -> Option<&Sent> {
        self.entries.get(place)
    }

    /// Place of the segment that ends before `end`.
    pub fn place_of(&self, end: u64) -> Option<usize> {
        let place = self.index_of(end - 1);
        self.entries.get(place).is_some_and(|e| e.end() == end).then_some(place)
    }

    /// Reported as received.
    pub fn is_received(&self, place: usize) -> bool {
        self.entries[place].has(RECEIVED)
    }

    /// It waits to be sent again.
    pub fn is_waiting(&self, place: usize) -> bool {
        self.entries[place].waits()
    }

    /// Something is taken for lost and not acknowledged.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Nothing but new segments under way: none reported, lost or sent again.
    pub fn is_orderly(&self) -> bool {
        self.received + self.lost + self.resent == 0
    }

    /// Takes a segment for lost, and what was sent again of it, too; true if that is news.
    pub fn lose(&mut self, place: usize) -> bool {
        let e = &mut self.entries[place];
        if e.has(RECEIVED) || e.waits() {
            return false;
        }
        if e.has(RESENT) {
            e.marks &= !RESENT;
            self.resent -= e.span();
        }
        if e.has(LOST) {
            self.waiting += 1;
            self.waiting_from = self.waiting_from.min(e.seq);
        } else {
            self.mark_lost_at(place);
        }
        true
    }

    /// Nothing is taken for lost any more.
    pub fn unlose(&mut self) {
        for e in &mut self.entries {
            e.marks &= !LOST;
        }
        self.lost = 0;
        self.waiting = 0;
    }
}

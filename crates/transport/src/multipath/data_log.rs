//! What was sent of the connection's data sequence space and is not yet acknowledged there.

use std::collections::VecDeque;

use crate::unsent::Chunk;

/// One segment's worth of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSent {
    pub data_seq: u64,
    pub chunk: Chunk,
    /// Subflows that carried it, as bits.
    pub carriers: u8,
}

impl DataSent {
    pub fn was_on(&self, subflow: usize) -> bool {
        self.carriers & (1 << subflow) != 0
    }

    fn end(&self) -> u64 {
        self.data_seq + u64::from(self.chunk.len)
    }
}

/// The log. Data sequence numbers are given at first transmission, so look-ahead leaves no gaps.
#[derive(Clone, Debug)]
pub(crate) struct DataLog {
    entries: VecDeque<DataSent>,
    una: u64,
    next: u64,
    segments: u64,
}

impl DataLog {
    pub fn new() -> Self {
        DataLog { entries: VecDeque::new(), una: 1, next: 1, segments: 0 }
    }

    /// Oldest number not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next number to give out.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Segments that were given numbers.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Appends data that leave on `subflow` and returns their number.
    pub fn push(&mut self, chunk: Chunk, subflow: usize) -> u64 {
        let data_seq = self.next;
        self.entries.push_back(DataSent { data_seq, chunk, carriers: 1 << subflow });
        self.next += u64::from(chunk.len);
        self.segments += 1;
        data_seq
    }

    /// Drops what a data ACK covers.
    pub fn acknowledge(&mut self, data_ack: u64) {
        self.una = self.una.max(data_ack.min(self.next));
        while self.entries.front().is_some_and(|e| e.end() <= self.una) {
            self.entries.pop_front();
        }
    }

    /// The entry that begins at `data_seq` or is the first behind it.
    pub fn at(&mut self, data_seq: u64) -> Option<&mut DataSent> {
        let i = self.entries.partition_point(|e| e.data_seq < data_seq);
        self.entries.get_mut(i)
    }

    /// The first entry from `data_seq` on that `subflow` has not carried.
    pub fn first_not_on(&self, subflow: usize, data_seq: u64) -> Option<&DataSent> {
        let i = self.entries.partition_point(|e| e.data_seq < data_seq);
        self.entries.range(i..).find(|e| !e.was_on(subflow))
    }

    /// The entries that `subflow` carried, oldest first.
    pub fn carried_by(&self, subflow: usize) -> impl Iterator<Item = &DataSent> {
        self.entries.iter().filter(move |e| e.was_on(subflow))
    }
}

//! A subflow: a TCP endpoint, and which data sequence number each of its segments carries.

use std::collections::VecDeque;

use loadpath_net::SimTime;

use super::data_log::DataSent;
use super::scheduler::PathView;
use crate::congestion::SubflowView;
use crate::endpoint::Endpoint;
use crate::unsent::Chunk;
use crate::{Flags, PathId, Segment, TcpConfig};

/// A mapping of the DSS option, from a segment's first byte on.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    seq: u64,
    data_seq: u64,
}

/// What was found out about a subflow, which holds until something happens to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// `own` and `rest` are of now.
    looked: bool,
    /// It may have something that leaves before new data.
    pub own: bool,
    /// It may have something that leaves behind them.
    pub rest: bool,
    /// `room` is of now.
    pub asked: bool,
    /// It has room for a new segment behind which others wait.
    pub room: bool,
    /// Its view is of now.
    pub seen: bool,
}

/// One subflow.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    pub endpoint: Endpoint,
    pub path: PathId,
    mappings: VecDeque<Mapping>,
    /// Given to this subflow ahead of its window.
    queue: VecDeque<DataSent>,
    queued_bytes: u64,
    /// Own data, as opposed to what other subflows sent before, end here.
    own_data_end: u64,
    /// The next segment carries the handshake's option once more (the client's third segment).
    pub handshake_option_due: bool,
    /// The other side may be sent to.
    pub confirmed: bool,
    /// PSH/ACK is to be sent.
    pub push_due: bool,
    /// The same as a window probe.
    pub probe_due: bool,
    /// When its window was last halved for holding up the connection.
    pub penalised: Option<SimTime>,
    /// Its failure has been dealt with.
    pub abandoned: bool,
    pub known: Known,
}

impl Subflow {
    pub fn new(config: &TcpConfig, path: PathId, connects: bool, confirmed: bool) -> Self {
        Subflow {
            endpoint: Endpoint::subflow(config, connects),
            path,
            mappings: VecDeque::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            own_data_end: 0,
            handshake_option_due: connects,
            confirmed,
            push_due: false,
            probe_due: false,
            penalised: None,
            abandoned: false,
            known: Known::default(),
        }
    }

    /// Data may be sent.
    pub fn is_usable(&self) -> bool {
        self.confirmed && self.endpoint.is_open_to_send()
    }

    /// It has sent all its own data, and they are acknowledged.
    pub fn is_idle(&self) -> bool {
        self.endpoint.sender().una() >= self.own_data_end && self.queue.is_empty()
    }

    /// Sends `chunk`, which it has room for.
    #[inline(always)]
    pub fn send<const REPORTS: bool>(
        &mut self,
        now: SimTime,
        chunk: Chunk,
        data_seq: u64,
        more: bool,
    ) -> Segment {
        let segment = self.endpoint.send::<REPORTS>(now, chunk, more);
        // It has room, so that nothing of its own is due; an ACK has gone along.
        self.known.rest = self.endpoint.may_have_rest();
        (self.known.asked, self.known.seen) = (false, false);
        if self.data_seq_behind_last(segment.seq) != Some(data_seq) {
            self.mappings.push_back(Mapping { seq: segment.seq, data_seq });
        }
        segment
    }

    /// What leaves before new data.
    pub fn poll_own(&mut self, now: SimTime) -> Option<Segment> {
        if let Some(segment) = self.endpoint.poll_own(now) {
            return Some(segment);
        }
        let (push, probe) = (self.push_due, self.probe_due);
        (self.push_due, self.probe_due) = (false, false);
        let open = self.endpoint.is_open_to_send();
        ((push || probe) && open).then(|| self.endpoint.push_signal(now, probe))
    }

    /// The SYN carries data.
    pub fn map_syn_data(&mut self, data_seq: u64) {
        self.mappings.push_back(Mapping { seq: 1, data_seq });
    }

    /// What it sent last is its own.
    pub fn own_what_was_sent(&mut self) {
        self.own_data_end = self.endpoint.sender().next_seq();
    }

    pub fn enqueue(&mut self, chunk: Chunk, data_seq: u64) {
        self.queued_bytes += u64::from(chunk.len);
        self.queue.push_back(DataSent { data_seq, chunk, carriers: 0 });
    }

    /// Forgets what waits here and arrived by another subflow.
    pub fn forget_queued(&mut self, data_una: u64) {
        while let Some(first) = self.queue.front().filter(|first| first.data_seq < data_una) {
            self.queued_bytes -= u64::from(first.chunk.len);
            self.queue.pop_front();
        }
    }

    pub fn clear_queue(&mut self) {
        self.queue.clear();
        self.queued_bytes = 0;
    }

    pub fn queued_segments(&self) -> u64 {
        self.queue.len() as u64
    }

    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// The first of the queue, if there is room for it.
    pub fn dequeue(&mut self, now: SimTime) -> Option<DataSent> {
        let first = *self.queue.front()?;
        let room = self.is_usable()
            && self.endpoint.sender_mut().has_room_for(now, first.chunk.len, false);
        if !room {
            return None;
        }
        self.queue.pop_front();
        self.queued_bytes -= u64::from(first.chunk.len);
        Some(first)
    }

    /// Data sequence number of `seq`, which is at or behind the last mapping, if that goes on.
    #[inline(always)]
    fn data_seq_behind_last(&self, seq: u64) -> Option<u64> {
        self.mappings.back().map(|last| last.data_seq + (seq - last.seq))
    }

    /// Data sequence number of what the subflow sent under `seq`.
    pub fn data_seq(&self, seq: u64) -> Option<u64> {
        let i = self.mappings.partition_point(|m| m.seq <= seq).checked_sub(1)?;
        let mapping = self.mappings[i];
        Some(mapping.data_seq + (seq - mapping.seq))
    }

    /// Forgets the mappings of what is acknowledged.
    pub fn forget_acknowledged(&mut self) {
        let una = self.endpoint.sender().una();
        // The last mapping that begins before `una` may still be in use.
        while self.mappings.get(1).is_some_and(|m| m.seq <= una) {
            self.mappings.pop_front();
        }
    }

    /// The segment may grow the window in congestion avoidance, or lose some of it.
    pub fn may_need_coupling(&self, segment: &Segment) -> bool {
        let sender = self.endpoint.sender();
        let controller = sender.controller();
        let acked = segment.ack.saturating_sub(sender.una());
        segment.flags.has(Flags::ACK)
            && (segment.len == 0 || acked > 0)
            && sender.next_seq() > sender.una()
            && (controller.is_balia() || controller.cwnd() + acked >= controller.ssthresh())
    }

    /// For its siblings' congestion controllers; `None` before the handshake.
    pub fn congestion_view(&self) -> Option<SubflowView> {
        let sender = self.endpoint.sender();
        let srtt = sender.rtt().srtt().filter(|_| self.endpoint.is_open_to_send())?;
        let loss_interval = sender.controller().loss_interval();
        Some(SubflowView { window: sender.window(), srtt, loss_interval })
    }

    /// Something happened to it.
    #[inline]
    pub fn forget(&mut self) {
        (self.known.looked, self.known.asked, self.known.seen) = (false, false, false);
    }

    /// Nothing is to leave besides new data.
    #[inline]
    pub fn has_nothing_due(&mut self) -> bool {
        self.look_what_is_due();
        !self.known.own && !self.known.rest
    }

    /// Finds out again what may leave besides new data.
    #[inline]
    pub fn look_what_is_due(&mut self) {
        if !self.known.looked {
            self.known.looked = true;
            self.known.own = self.push_due || self.probe_due || self.endpoint.may_have_own();
            self.known.rest = self.endpoint.may_have_rest();
        }
    }

    /// A segment of `len` bytes, the last one if `last`, may leave at once.
    #[inline(always)]
    pub fn has_room_for(&mut self, now: SimTime, len: u32, last: bool) -> bool {
        self.is_usable()
            && self.endpoint.sender_mut().has_room_for(now, len, last)
            && self.queue.is_empty()
    }

    /// Brings its view for schedulers up to date.
    #[inline]
    pub fn show(&mut self, view: &mut PathView) {
        if !self.known.seen {
            self.known.seen = true;
            *view = PathView {
                usable: self.is_usable(),
                room: self.known.room,
                queued: self.queued_bytes,
                ..PathView::of(&self.endpoint)
            };
        }
    }
}

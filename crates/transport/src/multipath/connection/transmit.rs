//! What leaves next, and on which subflow.
//!
//! A connection asks this several times for each packet, mostly to hear that there is nothing. So it keeps what it
//! found out about a subflow until something happens to that subflow.

use loadpath_net::{SimDuration, SimTime};

use super::{Again, MultipathEndpoint};
use crate::multipath::scheduler::{Choice, PathView, Schedule, Situation};
use crate::multipath::segment::{MultipathOption, MultipathSegment};
use crate::receiver::AckDue;
use crate::unsent::Chunk;
use crate::{Flags, PathId, Segment, TailLossProbe};

/// A segment with the path that it takes.
type Sent = (PathId, MultipathSegment);

impl MultipathEndpoint {
    /// The next segment to send now, with its path. On each subflow what is sent again comes before new
    /// data, and an ACK alone only if nothing carries it.
    #[inline]
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<(PathId, MultipathSegment)> {
        if self.quiet { None } else { self.poll_subflows(now) }
    }

    fn poll_subflows(&mut self, now: SimTime) -> Option<Sent> {
        let (mut own, mut rest) = (false, false);
        for subflow in &mut self.subflows {
            subflow.look_what_is_due();
            own |= subflow.known.own;
            rest |= subflow.known.rest;
        }
        if own && let Some(sent) = self.poll_own(now) {
            return Some(sent);
        }
        if !self.has_nothing_to_schedule()
            && let Some(sent) = self.poll_data(now)
        {
            return Some(sent);
        }
        if self.receiver.ack_due() == AckDue::Yes {
            // The application has read, and the window is worth telling.
            self.receiver.on_ack_sent();
            if let Some(i) = self.fastest_usable() {
                self.subflows[i].endpoint.owe_ack();
                self.subflows[i].forget();
                self.subflows[i].known.rest = true;
                rest = true;
            }
        }
        if self.closing && self.pool.bytes() == 0 && self.log.outstanding() == 0 {
            for subflow in &mut self.subflows {
                subflow.endpoint.close();
                subflow.forget();
                subflow.known.rest = true;
            }
            rest = true;
        }
        if rest {
            for i in 0..self.subflows.len() {
                let subflow = &mut self.subflows[i];
                if subflow.known.rest {
                    subflow.forget();
                    if subflow.endpoint.owes_plain_ack() {
                        let ack = subflow.endpoint.plain_ack(now);
                        self.quiet = self.is_last_with_rest(i) && self.has_nothing_to_schedule();
                        return Some(self.dress(i, ack));
                    }
                    if let Some(sent) = self.poll_rest(now, i) {
                        return Some(sent);
                    }
                }
            }
        }
        self.quiet = self.has_nothing_to_schedule();
        None
    }

    #[inline(never)]
    fn poll_own(&mut self, now: SimTime) -> Option<Sent> {
        for i in 0..self.subflows.len() {
            let subflow = &mut self.subflows[i];
            if !subflow.known.own {
                continue;
            }
            subflow.forget();
            if let Some(tcp) = subflow.poll_own(now) {
                return Some(self.dress(i, tcp));
            }
        }
        None
    }

    #[inline(never)]
    fn poll_rest(&mut self, now: SimTime, i: usize) -> Option<Sent> {
        let subflow = &mut self.subflows[i];
        let tcp = subflow.endpoint.poll_rest(now)?;
        // An ACK alone changes nothing for what comes before it.
        let alone = tcp.span() == 0 && !subflow.endpoint.may_have_rest();
        self.quiet = alone && self.is_last_with_rest(i) && self.has_nothing_to_schedule();
        Some(self.dress(i, tcp))
    }

    #[inline]
    fn is_last_with_rest(&self, i: usize) -> bool {
        self.subflows[i + 1..].iter().all(|s| !s.known.rest)
    }

    /// Adds what the connection puts into every segment of its subflows.
    #[inline(always)]
    fn dress(&mut self, i: usize, mut tcp: Segment) -> Sent {
        let data_seq = if tcp.len > 0 {
            let first = tcp.seq + u64::from(tcp.flags.has(Flags::SYN));
            self.subflows[i].data_seq(first).unwrap_or_default()
        } else {
            self.log.next()
        };
        let handshake = if i == 0 { MultipathOption::Capable } else { MultipathOption::Join };
        let option = if tcp.flags.has(Flags::SYN) {
            tcp.window = self.receiver.offer_unscaled_window();
            handshake
        } else {
            tcp.window = self.receiver.offer_window();
            let due = std::mem::take(&mut self.subflows[i].handshake_option_due);
            if due && tcp.len == 0 { handshake } else { MultipathOption::Dss }
        };
        self.finish(i, tcp, option, data_seq)
    }

    #[inline(always)]
    fn finish(&mut self, i: usize, tcp: Segment, option: MultipathOption, data_seq: u64) -> Sent {
        let path = self.subflows[i].path;
        let data_ack = self.receiver.next();
        let mut segment =
            MultipathSegment { tcp, subflow: i as u8, path, option, data_seq, data_ack };
        if self.config.options_on_the_wire {
            segment.count_option();
        }
        (path, segment)
    }

    // ---- data

    #[inline]
    pub(super) fn has_nothing_to_schedule(&self) -> bool {
        self.pool.bytes() == 0 && self.again.is_empty() && !self.queues && !self.repeats()
    }

    #[inline]
    fn repeats(&self) -> bool {
        self.repeating && self.log.outstanding() > 0
    }

    #[inline(always)]
    fn poll_data(&mut self, now: SimTime) -> Option<Sent> {
        if self.queues
            && let Some(sent) = self.poll_queues(now)
        {
            return Some(sent);
        }
        let room = self.look_for_room(now);
        if !room && !self.scheduler.queues_ahead() {
            self.notice_closed_window(now);
            return None;
        }
        for (subflow, view) in self.subflows.iter_mut().zip(&mut self.views) {
            subflow.show(view);
        }
        if !room && !self.views.iter().any(|view| view.usable) {
            return None;
        }
        if !self.again.is_empty()
            && let Some(sent) = self.poll_again(now)
        {
            return Some(sent);
        }
        self.schedule(now)
    }

    /// Whether any subflow has room. Only those are asked whose answers are not known: one without room gets some
    /// only when something happens to it; one with room may lose it, since a window that was not used shrinks
    /// (Algorithm 10), so that this answer holds for its instant only.
    #[inline(always)]
    fn look_for_room(&mut self, now: SimTime) -> bool {
        let len = self.pool.next_len(self.mss);
        let last = u64::from(len) == self.pool.bytes();
        // The last segment may need less room, and a queue takes it away.
        let once = last || self.queues;
        let another_time = now != self.asked_at;
        self.asked_at = now;
        let mut any = false;
        for subflow in &mut self.subflows {
            let known = &subflow.known;
            if once || !known.asked || (another_time && known.room) {
                let room = subflow.has_room_for(now, len, last);
                let known = &mut subflow.known;
                (known.room, known.asked, known.seen) = (room, !once, false);
            }
            any |= subflow.known.room;
        }
        any
    }

    /// Nothing can leave, but a window that is closed is noticed.
    fn notice_closed_window(&mut self, now: SimTime) {
        self.forget_arrived();
        if self.pool.bytes() > 0
            && self.log.outstanding() == 0
            && self.subflows.iter().any(|s| s.is_usable())
        {
            self.window_room(now);
        }
    }

    #[inline(always)]
    fn schedule(&mut self, now: SimTime) -> Option<Sent> {
        let repeats = self.repeats();
        if self.pool.bytes() == 0 && !repeats {
            return None;
        }
        loop {
            let Some(room) = self.window_room(now) else {
                return self.when_blocked(now, repeats);
            };
            match self.choose(now)? {
                Choice::Again { subflow, data_seq } => {
                    if let Some(sent) = self.repeat(now, subflow, data_seq) {
                        return Some(sent);
                    }
                }
                Choice::New { subflow, message } => {
                    let chunk = self.pool.take_of(message, self.mss.min(room))?;
                    let data_seq = self.log.push(chunk, subflow);
                    if self.views[subflow].room {
                        return Some(self.send_new(now, subflow, chunk, data_seq));
                    }
                    self.queues = true;
                    self.subflows[subflow].enqueue(chunk, data_seq);
                    self.views[subflow].queued += u64::from(chunk.len);
                    if self.pool.bytes() == 0 {
                        return None;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn choose(&mut self, now: SimTime) -> Option<Choice> {
        let subflows = &self.subflows;
        let situation = Situation {
            now,
            paths: &self.views,
            pool: &self.pool,
            mss: u64::from(self.mss),
            log: &self.log,
            data_edge: self.send_edge(),
            retransmissions: &|| subflows.iter().map(|s| s.endpoint.stats().retransmissions).sum(),
        };
        self.scheduler.choose(&situation)
    }

    /// End of the window as far as the other side and the send buffer allow.
    #[inline]
    fn send_edge(&self) -> u64 {
        self.edge.min(self.log.una().saturating_add(self.config.tcp.send_buffer_bytes))
    }

    /// Most bytes of the next new segment; `None` while the window holds it back. A segment cut short by
    /// the window leaves only if nothing is outstanding (silly windows, RFC 1122, section 4.2.3.4).
    #[inline(always)]
    fn window_room(&mut self, now: SimTime) -> Option<u32> {
        if self.pool.bytes() == 0 {
            return Some(0);
        }
        let room = self.send_edge().saturating_sub(self.log.next());
        let wanted = u64::from(self.pool.next_len(self.mss));
        let outstanding = self.log.outstanding();
        if room >= wanted || (room > 0 && outstanding == 0) {
            return Some(room.min(u64::from(u32::MAX)) as u32);
        }
        if outstanding == 0 && self.persist_deadline.is_none() {
            self.arm_persist(now);
        }
        None
    }

    #[inline(always)]
    fn send_new(&mut self, now: SimTime, i: usize, chunk: Chunk, data_seq: u64) -> Sent {
        let sent = self.send_on(now, i, chunk, data_seq);
        self.subflows[i].own_what_was_sent();
        sent
    }

    #[inline(always)]
    fn send_on(&mut self, now: SimTime, i: usize, chunk: Chunk, data_seq: u64) -> Sent {
        if self.subflows[i].endpoint.reports() {
            self.send_with_report(now, i, chunk, data_seq)
        } else {
            self.send_as::<false>(now, i, chunk, data_seq)
        }
    }

    #[inline(never)]
    fn send_with_report(&mut self, now: SimTime, i: usize, chunk: Chunk, data_seq: u64) -> Sent {
        self.send_as::<true>(now, i, chunk, data_seq)
    }

    /// What never reports needs no room for a report, and so is not moved through memory.
    #[inline(always)]
    fn send_as<const REPORTS: bool>(
        &mut self,
        now: SimTime,
        i: usize,
        chunk: Chunk,
        data_seq: u64,
    ) -> Sent {
        let more = self.pool.bytes() > 0;
        let mut tcp = self.subflows[i].send::<REPORTS>(now, chunk, data_seq, more);
        let signal = chunk.end && self.config.tcp.tail_loss_probe == TailLossProbe::Signalled;
        for (j, subflow) in self.subflows.iter_mut().enumerate() {
            if !subflow.endpoint.is_open_to_send() {
                continue;
            }
            subflow.endpoint.sender_mut().check_application_limited(now, more);
            if j != i && (signal || !more) {
                if !more {
                    subflow.endpoint.sender_mut().on_pool_empty(now);
                }
                subflow.forget();
                // Thesis section 6.4.5: what the other subflow sent of this message ends, too.
                subflow.push_due |= signal && subflow.endpoint.outstanding_bytes() > 0;
            }
        }
        self.subflows[i].handshake_option_due = false;
        tcp.window = self.receiver.offer_window();
        self.finish(i, tcp, MultipathOption::Dss, data_seq)
    }

    #[inline(never)]
    fn poll_queues(&mut self, now: SimTime) -> Option<Sent> {
        for i in 0..self.subflows.len() {
            if let Some(first) = self.subflows[i].dequeue(now) {
                return Some(self.send_new(now, i, first.chunk, first.data_seq));
            }
        }
        None
    }

    /// Sends the data of `data_seq` on subflow `i`, too, unless they were there or are acknowledged.
    #[inline(never)]
    fn repeat(&mut self, now: SimTime, i: usize, data_seq: u64) -> Option<Sent> {
        let entry = self.log.at(data_seq)?;
        if entry.was_on(i) {
            return None;
        }
        entry.carriers |= 1 << i;
        let entry = *entry;
        self.reinjected += 1;
        Some(self.send_on(now, i, entry.chunk, entry.data_seq))
    }

    /// What arrived in the meantime need not be sent again.
    fn forget_arrived(&mut self) {
        let una = self.log.una();
        while self.again.first_key_value().is_some_and(|(&data_seq, _)| data_seq < una) {
            self.again.pop_first();
        }
    }

    /// What was lost or stranded on one subflow goes on another.
    fn poll_again(&mut self, now: SimTime) -> Option<Sent> {
        self.forget_arrived();
        let mut chosen = None;
        let views = &self.views;
        for (&data_seq, &why) in &self.again {
            let Some(entry) = self.log.at(data_seq).filter(|e| e.data_seq == data_seq) else {
                continue;
            };
            let (carriers, len) = (entry.carriers, u64::from(entry.chunk.len));
            let usable = views.iter().filter(|v| v.usable);
            let alpha = self.estimator.earliest(len, usable).unwrap_or_default();
            let takes = |i: usize, view: &PathView| {
                let other = view.room && carriers & (1 << i) == 0;
                let in_time = SimDuration(view.srtt.0 / 2) <= alpha;
                other
                    && (why == Again::Stranded
                        || (self.pool.bytes() == 0 && self.subflows[i].is_idle() && in_time))
            };
            let best = (0..self.subflows.len())
                .filter(|&i| takes(i, &views[i]))
                .min_by_key(|&i| views[i].srtt);
            if let Some(i) = best {
                chosen = Some((i, data_seq));
                break;
            }
        }
        let (i, data_seq) = chosen?;
        self.again.remove(&data_seq);
        self.repeat(now, i, data_seq)
    }

    /// The window holds new data back: the scheduler may repeat, and opportunistic retransmission does.
    fn when_blocked(&mut self, now: SimTime, repeats: bool) -> Option<Sent> {
        while repeats && let Some(Choice::Again { subflow, data_seq }) = self.choose(now) {
            if let Some(sent) = self.repeat(now, subflow, data_seq) {
                return Some(sent);
            }
        }
        if !self.config.opportunistic_retransmission {
            return None;
        }
        let una = self.log.una();
        let first = *self.log.at(una)?;
        let holder = (0..self.subflows.len()).find(|&i| first.was_on(i))?;
        let i = (0..self.subflows.len())
            .filter(|&i| self.views[i].room && !first.was_on(i))
            .min_by_key(|&i| self.views[i].srtt)?;
        self.penalise(now, holder, self.views[i].srtt);
        self.repeat(now, i, first.data_seq)
    }

    /// Halves the window of the subflow that holds the connection up, once in each of its round trips.
    fn penalise(&mut self, now: SimTime, holder: usize, helper_srtt: SimDuration) {
        let subflow = &mut self.subflows[holder];
        let srtt = subflow.endpoint.srtt().unwrap_or_default();
        let recently = subflow.penalised.is_some_and(|at| now.since(at) < srtt);
        if srtt > helper_srtt && !recently {
            subflow.penalised = Some(now);
            subflow.endpoint.sender_mut().penalise();
            subflow.forget();
        }
    }
}

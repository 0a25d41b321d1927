//! The endpoint: connection states, timers, and the order in which segments leave.

mod subflow;

use loadpath_net::{SimDuration, SimTime};

use crate::congestion::NO_THRESHOLD;
use crate::receiver::{AckDue, Receiver};
use crate::sender::Sender;
use crate::sent::Sent;
use crate::unsent::Chunk;
use crate::{Delivery, Flags, Message, MessageId, PathId, Report, Segment, TcpConfig};

/// The Fast Open option with a cookie of eight bytes, padded (RFC 7413, section 4.1.1).
const FAST_OPEN_BYTES: u32 = 12;

/// What a SYN carries, as a segment of its own.
fn behind_syn(syn: &Segment) -> Segment {
    let flags = if syn.flags.has(Flags::PSH) { Flags::PSH } else { Flags::default() };
    Segment { flags, seq: syn.seq + 1, ..*syn }
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The SYN was retransmitted as often as allowed.
    ConnectTimeout,
    /// The same data were retransmitted as often as allowed.
    DataTimeout,
    /// The other side sent RST.
    Reset,
}

/// Counters of one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments that left, of any kind.
    pub segments_sent: u64,
    /// Segments that arrived, of any kind.
    pub segments_received: u64,
    /// Segments with payload that left for the first time.
    pub data_segments: u64,
    /// Payload bytes that left for the first time.
    pub data_bytes: u64,
    /// Segments with payload or FIN that left again.
    pub retransmissions: u64,
    /// Payload bytes that left again.
    pub retransmitted_bytes: u64,
    /// SYNs, or answers to one, that left again.
    pub syn_retransmissions: u64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Timeouts of a segment after which fewer than `dup_ack_threshold` were sent, so that no
    /// duplicate ACKs could reveal its loss.
    pub tail_losses: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Duplicate ACKs that arrived.
    pub dup_acks: u64,
    /// Window probes sent.
    pub window_probes: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
}

impl Stats {
    /// Adds the counters of another endpoint.
    pub(crate) fn add(&mut self, other: &Stats) {
        self.segments_sent += other.segments_sent;
        self.segments_received += other.segments_received;
        self.data_segments += other.data_segments;
        self.data_bytes += other.data_bytes;
        self.retransmissions += other.retransmissions;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.syn_retransmissions += other.syn_retransmissions;
        self.timeouts += other.timeouts;
        self.tail_losses += other.tail_losses;
        self.recoveries += other.recoveries;
        self.dup_acks += other.dup_acks;
        self.window_probes += other.window_probes;
        self.tail_probes += other.tail_probes;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A client that has not been told to connect, or a connection that failed.
    Closed,
    /// A server before the SYN.
    Listen,
    /// The SYN is out.
    SynSent,
    /// The answer to the SYN is out.
    SynReceived,
    /// Both sides may send.
    Established,
}

/// One end of a TCP connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: TcpConfig,
    state: State,
    failure: Option<Failure>,
    /// A SYN or its answer is to be sent, and when the one before is given up.
    syn_due: bool,
    syn_deadline: Option<SimTime>,
    syn_tries: u32,
    /// What goes with the first SYN.
    syn_data: Option<Chunk>,
    /// A server that got data with the SYN, and may answer before the handshake ends.
    early: bool,
    sender: Sender,
    receiver: Receiver,
    stats: Stats,
}

impl Endpoint {
    /// The side that will connect.
    pub fn client(config: &TcpConfig) -> Endpoint {
        Endpoint::new(config, State::Closed)
    }

    /// The side that waits to be connected to.
    pub fn server(config: &TcpConfig) -> Endpoint {
        Endpoint::new(config, State::Listen)
    }

    fn new(config: &TcpConfig, state: State) -> Endpoint {
        Endpoint {
            config: *config,
            state,
            failure: None,
            syn_due: false,
            syn_deadline: None,
            syn_tries: 0,
            syn_data: None,
            early: false,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            stats: Stats::default(),
        }
    }

    /// Starts the handshake.
    pub fn connect(&mut self, _now: SimTime) {
        if self.state == State::Closed && self.failure.is_none() {
            self.state = State::SynSent;
            self.syn_due = true;
            if self.config.fast_open {
                self.syn_data = self.sender.take_for_syn();
            }
        }
    }

    /// Puts a message into the send buffer. It may be written before the handshake ends; after
    /// [`close`](Self::close) or a failure it is ignored. A message without bytes is ignored too.
    pub fn write(&mut self, message: Message) {
        self.sender.write(message);
    }

    /// Puts the rest of a message into the send buffer: `message.len` is that of the whole, `written` the bytes
    /// of it that were written before. A message in two parts leaves in two segments if it can.
    pub fn write_rest(&mut self, message: Message, written: u64) {
        self.sender.write_rest(message, written);
    }

    /// FIN after what was written.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// The next bytes for the application. Read before asking for segments: the window on offer counts
    /// what is not read.
    #[inline]
    pub fn read(&mut self) -> Option<Delivery> {
        self.receiver.read()
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment) {
        self.receive(now, segment, false);
    }

    /// `window_only`: see [`Sender::on_ack`].
    #[inline(always)]
    fn receive(&mut self, now: SimTime, segment: &Segment, window_only: bool) {
        self.stats.segments_received += 1;
        if segment.flags.has(Flags::RST) {
            if self.state != State::Listen {
                self.fail(Failure::Reset);
            }
            return;
        }
        let syn = segment.flags.has(Flags::SYN);
        match self.state {
            State::Closed => return,
            State::Listen => {
                if syn && !segment.flags.has(Flags::ACK) {
                    self.receiver.on_syn(segment);
                    self.sender.set_peer_window(segment);
                    self.state = State::SynReceived;
                    self.syn_due = true;
                    if self.config.fast_open && segment.len > 0 {
                        self.early = true;
                        self.receiver.on_data(now, &behind_syn(segment));
                    }
                }
                return;
            }
            State::SynSent => {
                let acks_syn = segment.ack >= 1 && segment.ack <= self.sender.next_seq();
                if syn && segment.flags.has(Flags::ACK) && acks_syn {
                    self.receiver.on_syn(segment);
                    self.sender.set_peer_window(segment);
                    self.establish(now, segment);
                    self.receiver.owe(AckDue::Alone);
                    if self.sender.outstanding() > 0 {
                        self.sender.on_syn_answer(now, segment, &mut self.stats);
                    }
                }
                return;
            }
            State::SynReceived => {
                if syn {
                    // The answer was lost, or the SYN came twice. The answer echoes the later clock
                    // (RFC 7323, section 4.3), or the client would measure its own timeouts.
                    self.receiver.on_timestamp(segment);
                    self.syn_due = true;
                    return;
                }
                // The third segment of the handshake or, if data overtook it, any later one.
                if !segment.flags.has(Flags::ACK) || segment.ack == 0 {
                    return;
                }
                self.establish(now, segment);
            }
            State::Established => {
                if syn {
                    // The third segment of the handshake was lost.
                    self.receiver.owe(AckDue::Alone);
                    return;
                }
            }
        }
        self.receiver.on_timestamp(segment);
        // Thesis section 6.4.5: the end of a message, on the subflow that did not carry it. It is no answer to
        // a segment, so it is no duplicate ACK either.
        let signal = segment.span() == 0 && segment.flags.has(Flags::PSH);
        if segment.flags.has(Flags::ACK) {
            self.sender.on_ack(now, segment, window_only || signal, &mut self.stats);
        }
        if segment.span() > 0 {
            self.receiver.on_data(now, segment);
        } else if signal && self.receiver.has_news_before(segment.seq) {
            self.receiver.owe(AckDue::Yes);
        }
    }

    fn establish(&mut self, now: SimTime, segment: &Segment) {
        self.state = State::Established;
        self.syn_due = false;
        self.syn_deadline = None;
        if segment.echo <= now {
            self.sender.sample_rtt(now.since(segment.echo));
        }
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come. Early calls do nothing.
    pub fn on_timeout(&mut self, now: SimTime) {
        if self.syn_deadline.is_some_and(|at| at <= now) {
            self.syn_deadline = None;
            if self.syn_tries <= self.config.max_syn_retries {
                self.syn_due = true;
            } else if self.state == State::SynReceived {
                // No more answers by itself; the client's next SYN gets one. Whether the connection
                // failed is for the client to say (Linux drops the request socket here).
            } else {
                self.fail(Failure::ConnectTimeout);
            }
        }
        if self.receiver.ack_deadline().is_some_and(|at| at <= now) {
            self.receiver.on_ack_deadline();
        }
        if let Some(failure) = self.sender.on_timeout(now, &mut self.stats) {
            self.fail(failure);
        }
    }

    /// When to call [`on_timeout`](Self::on_timeout).
    #[inline]
    pub fn next_timeout(&self) -> Option<SimTime> {
        // A plain minimum over MAX for "none" has no branches.
        let at = |deadline: Option<SimTime>| deadline.unwrap_or(SimTime::MAX);
        let first = at(self.syn_deadline)
            .min(at(self.receiver.ack_deadline()))
            .min(at(self.sender.next_timeout()));
        (first < SimTime::MAX).then_some(first)
    }

    /// The next segment to send now, with its path. Duplicate ACKs come first, because they count only
    /// if they come alone; other ACKs ride on data if there are any to send.
    #[inline]
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<(PathId, Segment)> {
        let segment = match self.state {
            State::Established => self.poll_established(now)?,
            State::SynReceived if self.sends_early() => self.poll_established(now)?,
            State::SynSent | State::SynReceived => self.poll_syn(now)?,
            State::Closed | State::Listen => return None,
        };
        self.stats.segments_sent += 1;
        Some((PathId(0), segment))
    }

    /// Data may follow the answer to a SYN with data.
    fn sends_early(&self) -> bool {
        self.early && !self.syn_due
    }

    fn poll_established(&mut self, now: SimTime) -> Option<Segment> {
        if self.receiver.ack_due() == AckDue::Alone {
            return Some(self.bare_ack(now));
        }
        if let Some((sent, again)) = self.sender.poll(now, &mut self.stats) {
            return Some(self.data_segment(now, &sent, again));
        }
        (self.receiver.ack_due() == AckDue::Yes).then(|| self.bare_ack(now))
    }

    fn poll_syn(&mut self, now: SimTime) -> Option<Segment> {
        if !self.syn_due {
            return None;
        }
        self.syn_due = false;
        self.stats.syn_retransmissions += u64::from(self.syn_tries > 0);
        let shift = self.syn_tries.min(32);
        self.syn_deadline =
            Some(now + (self.config.syn_timeout * (1 << shift)).min(self.max_rto()));
        self.syn_tries += 1;
        let mut segment = self.header(now);
        segment.flags = Flags::SYN;
        segment.seq = 0;
        segment.retransmission = self.syn_tries > 1;
        segment.window = self.receiver.offer_unscaled_window();
        if self.state == State::SynReceived {
            segment.flags = Flags::SYN.with(Flags::ACK);
            self.receiver.on_ack_sent();
        } else if let Some(chunk) = self.syn_data.take() {
            let sent = self.sender.push_with_syn(chunk, &mut self.stats);
            segment.flags = segment.flags.with(sent.flags);
            segment.len = sent.len;
            segment.message = sent.message;
            segment.offset = sent.offset;
            segment.wire_bytes += sent.len + FAST_OPEN_BYTES;
        }
        Some(segment)
    }

    fn max_rto(&self) -> SimDuration {
        self.config.max_rto.max(self.config.syn_timeout)
    }

    fn bare_ack(&mut self, now: SimTime) -> Segment {
        let window = self.receiver.offer_window();
        self.bare_ack_offering(now, window)
    }

    #[inline(always)]
    fn bare_ack_offering(&mut self, now: SimTime, window: u32) -> Segment {
        let mut segment = self.header(now);
        segment.window = window;
        segment.report = self.receiver.report();
        segment.wire_bytes += segment.report.wire_bytes();
        self.receiver.on_ack_sent();
        segment
    }

    #[inline(always)]
    fn data_segment(&mut self, now: SimTime, sent: &Sent, again: bool) -> Segment {
        let window = self.receiver.offer_window();
        self.data_segment_offering(now, sent, again, window)
    }

    #[inline(always)]
    fn data_segment_offering(
        &mut self,
        now: SimTime,
        sent: &Sent,
        again: bool,
        window: u32,
    ) -> Segment {
        let report = self.receiver.report();
        self.data_segment_with(now, sent, again, report, window)
    }

    #[inline(always)]
    fn data_segment_with(
        &mut self,
        now: SimTime,
        sent: &Sent,
        again: bool,
        report: Report,
        window: u32,
    ) -> Segment {
        let segment = Segment {
            flags: sent.flags.with(Flags::ACK),
            seq: sent.seq,
            len: sent.len,
            message: sent.message,
            offset: sent.offset,
            window,
            report,
            retransmission: again,
            wire_bytes: sent.len
                + self.config.header_bytes
                + self.config.link_header_bytes
                + report.wire_bytes(),
            ..self.header(now)
        };
        self.receiver.on_data_sent(now);
        segment
    }

    #[inline(always)]
    fn header(&self, now: SimTime) -> Segment {
        Segment {
            flags: Flags::ACK,
            seq: self.sender.next_seq(),
            ack: self.receiver.next(),
            len: 0,
            window: 0,
            message: MessageId(0),
            offset: 0,
            timestamp: now,
            echo: self.receiver.echo(),
            report: Report::None,
            retransmission: false,
            wire_bytes: self.config.header_bytes + self.config.link_header_bytes,
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.state = State::Closed;
        self.syn_due = false;
        self.syn_deadline = None;
        self.sender.abandon();
        self.receiver.on_ack_sent();
    }

    /// The handshake is done.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Both sides sent FIN, and ours is acknowledged.
    pub fn is_closed(&self) -> bool {
        self.sender.fin_acknowledged() && self.receiver.fin_received()
    }

    /// The other side sent FIN, and all before it has arrived.
    pub fn peer_closed(&self) -> bool {
        self.receiver.fin_received()
    }

    /// Why the connection ended before its time.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Bytes written and not yet sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.unsent_bytes()
    }

    /// Bytes taken to be in the network: RFC 6675's pipe where there are reports, FlightSize without
    /// what is taken for lost elsewhere.
    pub fn in_flight_bytes(&self) -> u64 {
        self.sender.pipe()
    }

    /// Bytes sent and not acknowledged (FlightSize, RFC 5681).
    pub fn outstanding_bytes(&self) -> u64 {
        self.sender.outstanding()
    }

    /// Congestion window, bytes.
    pub fn cwnd_bytes(&self) -> u64 {
        self.sender.controller().cwnd()
    }

    /// Slow-start threshold, bytes; `None` before the first loss.
    pub fn ssthresh_bytes(&self) -> Option<u64> {
        Some(self.sender.controller().ssthresh()).filter(|&t| t != NO_THRESHOLD)
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<SimDuration> {
        self.sender.rtt().srtt()
    }

    /// Retransmission timeout in force, with its back-off.
    pub fn rto(&self) -> SimDuration {
        self.sender.rtt().rto()
    }

    /// `slow_start`, `avoidance`, `recovery` (fast) or `loss` (after a timeout).
    pub fn state_name(&self) -> &'static str {
        self.sender.state_name()
    }

    /// Counters so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

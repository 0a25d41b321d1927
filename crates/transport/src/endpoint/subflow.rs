//! An endpoint as a subflow: the connection asks for each kind of segment by itself, since it decides in
//! between which subflow sends new data.

use loadpath_net::{SimDuration, SimTime};

use super::{Endpoint, State};
use crate::congestion::SubflowView;
use crate::multipath::scheduler::PathView;
use crate::multipath::scheduler::estimator::CompletionEstimator;
use crate::receiver::AckDue;
use crate::sender::Sender;
use crate::unsent::Chunk;
use crate::{Estimator, Flags, Report, Segment, TcpConfig};

impl Endpoint {
    /// When `bytes` from now on would have arrived, if nothing is lost and the RTT stays as it is (thesis
    /// section 6.4.1.2); `None` before the handshake.
    pub fn estimated_completion(&self, bytes: u64, form: Estimator) -> Option<SimDuration> {
        let view = PathView::of(self);
        let estimator = CompletionEstimator::new(form, &self.config);
        view.usable.then(|| estimator.completion(bytes, &view))
    }

    /// A subflow's side that connects, or waits to be connected to.
    pub(crate) fn subflow(config: &TcpConfig, connects: bool) -> Endpoint {
        let state = if connects { State::Closed } else { State::Listen };
        let endpoint = Endpoint::new(config, state);
        let sender = endpoint.sender.sharing_window();
        Endpoint { sender, receiver: endpoint.receiver.passing_up(), ..endpoint }
    }

    /// A segment of this subflow arrived; `window_only` if it tells nothing but a new window of the
    /// connection.
    #[inline(always)]
    pub(crate) fn on_subflow_segment(&mut self, now: SimTime, s: &Segment, window_only: bool) {
        self.receive(now, s, window_only);
    }

    /// [`poll_own`](Self::poll_own) may have something.
    #[inline]
    pub(crate) fn may_have_own(&self) -> bool {
        if self.sends() {
            self.receiver.ack_due() == AckDue::Alone || self.sender.may_send_again()
        } else {
            self.syn_due && self.is_alive()
        }
    }

    // The connection says itself which window its segments offer.

    /// What leaves before anything new: SYNs, duplicate ACKs, what is sent again, probes.
    pub(crate) fn poll_own(&mut self, now: SimTime) -> Option<Segment> {
        let segment = match self.state {
            State::Closed | State::Listen => return None,
            _ if !self.sends() => self.poll_syn(now)?,
            _ if self.receiver.ack_due() == AckDue::Alone => self.bare_ack_offering(now, 0),
            _ => {
                let (sent, again) = self.sender.poll_again(now, &mut self.stats)?;
                self.data_segment_offering(now, &sent, again, 0)
            }
        };
        self.stats.segments_sent += 1;
        Some(segment)
    }

    /// New data, for which [`Sender::has_room_for`] was true; `more` if the pool is not empty yet.
    #[inline(always)]
    pub(crate) fn send<const REPORTS: bool>(
        &mut self,
        now: SimTime,
        chunk: Chunk,
        more: bool,
    ) -> Segment {
        let sent = self.sender.send(now, chunk, more, &mut self.stats);
        self.stats.segments_sent += 1;
        let report = if REPORTS { self.receiver.report() } else { Report::None };
        self.data_segment_with(now, &sent, false, report, 0)
    }

    /// Its segments report what the receiver has or lacks.
    #[inline]
    pub(crate) fn reports(&self) -> bool {
        self.receiver.has_gap()
    }

    /// [`poll_rest`](Self::poll_rest) may have something.
    #[inline]
    pub(crate) fn may_have_rest(&self) -> bool {
        self.receiver.ack_due() != AckDue::No || !self.sender.has_no_rest()
    }

    /// What leaves when there is nothing new: FIN, a rescue of SACK, an ACK alone.
    #[inline(never)]
    pub(crate) fn poll_rest(&mut self, now: SimTime) -> Option<Segment> {
        if !self.sends() {
            return None;
        }
        let segment = if let Some(sent) = self.sender.poll_fin(now) {
            self.data_segment_offering(now, &sent, false, 0)
        } else if let Some((sent, again)) = self.sender.poll_rescue(now, &mut self.stats) {
            self.data_segment_offering(now, &sent, again, 0)
        } else if self.receiver.ack_due() == AckDue::Yes {
            self.bare_ack_offering(now, 0)
        } else {
            return None;
        };
        self.stats.segments_sent += 1;
        Some(segment)
    }

    /// All that [`poll_rest`](Self::poll_rest) has is an ACK that reports nothing.
    #[inline]
    pub(crate) fn owes_plain_ack(&self) -> bool {
        self.state == State::Established
            && self.receiver.ack_due() == AckDue::Yes
            && self.sender.has_no_rest()
            && !self.reports()
    }

    /// That ACK.
    #[inline(always)]
    pub(crate) fn plain_ack(&mut self, now: SimTime) -> Segment {
        self.receiver.on_ack_sent();
        self.stats.segments_sent += 1;
        self.header(now)
    }

    /// PSH/ACK without payload: the other side acknowledges at once what waits for it (thesis section 6.4.5).
    /// As a `probe` its number is one back, as in a keep-alive (RFC 9293, section 3.8.4), and it is answered
    /// in any case.
    pub(crate) fn push_signal(&mut self, now: SimTime, probe: bool) -> Segment {
        self.stats.segments_sent += 1;
        let mut segment = self.bare_ack_offering(now, 0);
        segment.flags = segment.flags.with(Flags::PSH);
        segment.seq -= u64::from(probe);
        segment
    }

    /// An ACK is due that no segment asked for.
    pub(crate) fn owe_ack(&mut self) {
        self.receiver.owe(AckDue::Yes);
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    pub(crate) fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Its handshake is under way or done, and it has not failed.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen)
    }

    /// Its handshake is done, or Fast Open let it send before, and it has not failed.
    #[inline]
    pub(crate) fn is_open_to_send(&self) -> bool {
        self.state == State::Established || (self.state == State::SynReceived && self.early)
    }

    #[inline]
    fn sends(&self) -> bool {
        self.state == State::Established || (self.state == State::SynReceived && self.sends_early())
    }

    /// Starts the handshake with data on the SYN.
    pub(crate) fn connect_with(&mut self, now: SimTime, chunk: Option<Chunk>) {
        self.connect(now);
        self.syn_data = chunk;
    }

    /// Shows the congestion controller all subflows, of which this is number `me`.
    pub(crate) fn couple(&mut self, me: usize, all: &[SubflowView]) {
        self.sender.controller_mut().couple(me, all);
    }
}

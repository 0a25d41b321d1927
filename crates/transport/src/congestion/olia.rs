//! Opportunistic linked increases: Khalili, Gast, Popovic, Le Boudec, CoNEXT 2012;
//! draft-khalili-mptcp-congestion-control; Linux `mptcp_olia.c`. The window of subflow r grows on an ACK by
//!
//! > (w_r / RTT_r²) / (sum of w / RTT)² + α_r / w_r
//!
//! With l the bytes acknowledged since the last loss or between the last two, whichever is more, the best
//! subflows are those of the largest l / RTT². If some of them do not have the largest window, they get
//! α = 1 / (n · their number) and those with the largest window lose as much; else α is 0.

use super::coupled::{STEP_BITS, SubflowView, Term, linked_step, own_step, terms};
use crate::{SlowStart, TcpConfig};

/// State of one subflow.
#[derive(Clone, Debug)]
pub(crate) struct Olia {
    mss: u64,
    by_bytes: bool,
    /// Bytes acknowledged since the last loss, and between the last two.
    since_loss: u64,
    before_loss: u64,
    /// Own w·q², the sum of w·q, and 1/α (0 for α = 0).
    link: Option<(u128, u128, i64)>,
    carry: i64,
}

impl Olia {
    pub fn new(config: &TcpConfig) -> Self {
        Olia {
            mss: u64::from(config.mss),
            by_bytes: config.slow_start == SlowStart::BytesAcked,
            since_loss: 0,
            before_loss: 0,
            link: None,
            carry: 0,
        }
    }

    /// l.
    pub fn loss_interval(&self) -> u64 {
        self.since_loss.max(self.before_loss)
    }

    pub fn on_acknowledged(&mut self, acked: u64) {
        self.since_loss += acked;
    }

    pub fn on_loss(&mut self) {
        if self.since_loss > 0 {
            self.before_loss = self.since_loss;
            self.since_loss = 0;
        }
    }

    /// Looks at all subflows, of which this is number `me`.
    pub fn couple(&mut self, me: usize, all: &[SubflowView]) {
        if all.len() < 2 {
            self.link = None;
            return;
        }
        let best = terms(all).map(|t| t.quality).max().unwrap_or(0);
        let widest = all.iter().map(|v| v.window).max().unwrap_or(0);
        let is_best_not_widest = |t: &Term, v: &SubflowView| t.quality == best && v.window < widest;
        let collected = terms(all).zip(all).filter(|(t, v)| is_best_not_widest(t, v)).count();
        let wide = all.iter().filter(|v| v.window == widest).count();
        let Some(own) = terms(all).nth(me) else { return };
        let subflows = all.len() as i64;
        let inverse_alpha = if collected == 0 {
            0
        } else if is_best_not_widest(&own, &all[me]) {
            subflows * collected as i64
        } else if all[me].window == widest {
            -subflows * wide as i64
        } else {
            0
        };
        self.link = Some((own.urgency, terms(all).map(|t| t.rate).sum(), inverse_alpha));
    }

    /// The window after an ACK in congestion avoidance, at least one segment.
    pub fn avoidance(&mut self, cwnd: u64, acked: u64) -> u64 {
        let acked = if self.by_bytes { acked } else { self.mss };
        let bytes_squared = u128::from(self.mss) * u128::from(acked);
        let own = own_step(cwnd, bytes_squared);
        let step = match self.link {
            None => own as i64,
            Some((urgency, sum, inverse_alpha)) => {
                let shift = if inverse_alpha == 0 { 0 } else { own as i64 / inverse_alpha };
                linked_step(urgency, sum, bytes_squared) as i64 + shift
            }
        };
        self.carry += step;
        let whole = self.carry >> STEP_BITS;
        self.carry -= whole << STEP_BITS;
        cwnd.saturating_add_signed(whole).max(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use loadpath_net::SimDuration;

    use super::*;

    fn view(window: u64, loss_interval: u64) -> SubflowView {
        SubflowView { window, srtt: SimDuration::from_millis(100), loss_interval }
    }

    fn growth(me: usize, views: &[SubflowView]) -> f64 {
        let mut olia = Olia::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        olia.couple(me, views);
        let (acks, cwnd) = (10_000, views[me].window);
        let sum: i64 = (0..acks).map(|_| olia.avoidance(cwnd, 1000) as i64 - cwnd as i64).sum();
        sum as f64 / f64::from(acks)
    }

    #[test]
    fn alpha_moves_traffic_to_the_best_subflow_with_a_smaller_window() {
        // Windows of 10 and 30 segments at one RTT: w_r / (sum of w)² is 10/1600 and 30/1600; α is 1/2 for
        // the small one and -1/2 for the wide one.
        let views = [view(10_000, 900_000), view(30_000, 100_000)];
        assert!((growth(0, &views) - 1000.0 * (10.0 / 1600.0 + 0.5 / 10.0)).abs() < 0.2);
        assert!((growth(1, &views) - 1000.0 * (30.0 / 1600.0 - 0.5 / 30.0)).abs() < 0.2);
    }

    #[test]
    fn alpha_is_nothing_if_the_best_subflow_has_the_largest_window() {
        let views = [view(10_000, 100_000), view(30_000, 900_000)];
        assert!((growth(0, &views) - 1000.0 * 10.0 / 1600.0).abs() < 0.2);
        assert!((growth(1, &views) - 1000.0 * 30.0 / 1600.0).abs() < 0.2);
    }

    #[test]
    fn the_loss_interval_is_the_longer_of_the_last_two() {
        let mut olia = Olia::new(&TcpConfig::standard());
        olia.on_acknowledged(500);
        olia.on_loss();
        olia.on_acknowledged(200);
        assert_eq!(olia.loss_interval(), 500);
        olia.on_acknowledged(400);
        assert_eq!(olia.loss_interval(), 600);
        olia.on_loss();
        olia.on_loss();
        assert_eq!(olia.loss_interval(), 600, "the same loss found twice");
    }
}

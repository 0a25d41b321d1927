//! Balanced linked adaptation: Peng, Walid, Hwang, Low, IEEE/ACM Transactions on Networking 24(1), 2016;
//! draft-walid-mptcp-congestion-control. With x = w / RTT and α_r = max x / x_r the window of subflow r
//! grows on an ACK by
//!
//! > x_r / (RTT_r · (sum of x)²) · (1 + α_r) / 2 · (4 + α_r) / 5
//!
//! and shrinks on a loss by w_r / 2 · min(α_r, 1.5).

use super::coupled::{STEP_BITS, SubflowView, linked_step, own_step, terms};
use crate::{SlowStart, TcpConfig};

/// Fractional bits of α.
const ALPHA_BITS: u32 = 10;
const ONE: u64 = 1 << ALPHA_BITS;
/// Far beyond what two round-trip times and windows of the same connection give.
const MAX_ALPHA: u64 = ONE << 16;

/// State of one subflow.
#[derive(Clone, Debug)]
pub(crate) struct Balia {
    mss: u64,
    by_bytes: bool,
    /// Own w·q² and the sum of w·q.
    link: Option<(u128, u128)>,
    alpha: u64,
    carry: u64,
}

impl Balia {
    pub fn new(config: &TcpConfig) -> Self {
        Balia {
            mss: u64::from(config.mss),
            by_bytes: config.slow_start == SlowStart::BytesAcked,
            link: None,
            alpha: ONE,
            carry: 0,
        }
    }

    /// Looks at all subflows, of which this is number `me`.
    pub fn couple(&mut self, me: usize, all: &[SubflowView]) {
        let Some(own) = terms(all).nth(me) else { return };
        let fastest = terms(all).map(|t| t.rate).max().unwrap_or(0);
        let alpha = (fastest << ALPHA_BITS) / own.rate.max(1);
        self.alpha = (alpha.min(u128::from(MAX_ALPHA)) as u64).max(ONE);
        self.link = (all.len() > 1).then(|| (own.urgency, terms(all).map(|t| t.rate).sum()));
    }

    /// The window after an ACK in congestion avoidance.
    pub fn avoidance(&mut self, cwnd: u64, acked: u64) -> u64 {
        let acked = if self.by_bytes { acked } else { self.mss };
        let bytes_squared = u128::from(self.mss) * u128::from(acked);
        let step = match self.link {
            None => own_step(cwnd, bytes_squared),
            Some((urgency, sum)) => {
                let factor = (ONE + self.alpha) * (4 * ONE + self.alpha) / (10 * ONE);
                let plain = linked_step(urgency, sum, bytes_squared);
                ((u128::from(plain) * u128::from(factor)) >> ALPHA_BITS) as u64
            }
        };
        self.carry += step;
        let whole = self.carry >> STEP_BITS;
        self.carry -= whole << STEP_BITS;
        cwnd + whole
    }

    /// The threshold after a loss.
    pub fn on_loss(&self, in_use: u64) -> u64 {
        in_use - in_use * self.alpha.min(ONE + ONE / 2) / (2 * ONE)
    }
}

#[cfg(test)]
mod tests {
    use loadpath_net::SimDuration;

    use super::*;

    fn balia(me: usize, windows: &[u64]) -> Balia {
        let mut balia = Balia::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        let views: Vec<SubflowView> = windows
            .iter()
            .map(|&window| SubflowView {
                window,
                srtt: SimDuration::from_millis(100),
                loss_interval: 0,
            })
            .collect();
        balia.couple(me, &views);
        balia
    }

    fn growth(balia: &mut Balia, cwnd: u64) -> f64 {
        let acks = 10_000;
        (0..acks).map(|_| balia.avoidance(cwnd, 1000) - cwnd).sum::<u64>() as f64 / f64::from(acks)
    }

    #[test]
    fn the_step_is_that_of_the_draft() {
        // 10 and 30 segments at one RTT: α = 3 and 1, w_r / (sum of w)² = 10/1600 and 30/1600.
        let small = growth(&mut balia(0, &[10_000, 30_000]), 10_000);
        assert!((small - 1000.0 * 10.0 / 1600.0 * 2.0 * 7.0 / 5.0).abs() < 0.2, "{small}");
        let wide = growth(&mut balia(1, &[10_000, 30_000]), 30_000);
        assert!((wide - 1000.0 * 30.0 / 1600.0).abs() < 0.2, "{wide}");
    }

    #[test]
    fn the_slower_subflow_loses_more_of_its_window() {
        assert_eq!(balia(1, &[10_000, 30_000]).on_loss(40_000), 20_000, "α = 1: half");
        assert_eq!(balia(0, &[10_000, 30_000]).on_loss(40_000), 10_000, "α > 1.5: three quarters");
        assert_eq!(balia(0, &[25_000, 30_000]).on_loss(40_000), 40_000 - 40_000 * 1228 / 2048);
    }

    #[test]
    fn a_single_subflow_is_newreno() {
        let mut one = balia(0, &[20_000]);
        assert_eq!(one.avoidance(20_000, 1000), 20_050);
        assert_eq!(one.on_loss(20_000), 10_000);
    }
}

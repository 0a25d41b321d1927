//! Linked increases: RFC 6356, thesis section 6.2.3. The window of subflow r grows on an ACK by
//! min(a / w_total, 1 / w_r), where (equation 6.1)
//!
//! > a = w_total · max(w / RTT²) / (sum of w / RTT)²
//!
//! Slow start and the halving on a loss are those of NewReno. Fractions of a byte are carried, since a
//! linked step can be far below one.

use super::coupled::{STEP_BITS, SubflowView, linked_step, own_step, terms};
use crate::{SlowStart, TcpConfig};

/// State of one subflow.
#[derive(Clone, Debug)]
pub(crate) struct Lia {
    mss: u64,
    by_bytes: bool,
    /// max w·q² and the sum of w·q at the last look; `None` for a connection with one subflow.
    link: Option<(u128, u128)>,
    carry: u64,
}

impl Lia {
    pub fn new(config: &TcpConfig) -> Self {
        Lia {
            mss: u64::from(config.mss),
            by_bytes: config.slow_start == SlowStart::BytesAcked,
            link: None,
            carry: 0,
        }
    }

    /// Looks at all subflows.
    pub fn couple(&mut self, all: &[SubflowView]) {
        let largest = terms(all).map(|t| t.urgency).max().unwrap_or(0);
        self.link = (all.len() > 1).then(|| (largest, terms(all).map(|t| t.rate).sum()));
    }

    /// The window after an ACK in congestion avoidance.
    pub fn avoidance(&mut self, cwnd: u64, acked: u64) -> u64 {
        let acked = if self.by_bytes { acked } else { self.mss };
        let bytes_squared = u128::from(self.mss) * u128::from(acked);
        let mut step = own_step(cwnd, bytes_squared);
        if let Some((largest, sum)) = self.link {
            step = step.min(linked_step(largest, sum, bytes_squared));
        }
        self.carry += step;
        let whole = self.carry >> STEP_BITS;
        self.carry -= whole << STEP_BITS;
        cwnd + whole
    }
}

#[cfg(test)]
mod tests {
    use loadpath_net::SimDuration;

    use super::*;

    fn lia(views: &[(u64, u64)]) -> Lia {
        let mut lia = Lia::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        let views: Vec<SubflowView> = views
            .iter()
            .map(|&(window, ms)| SubflowView {
                window,
                srtt: SimDuration::from_millis(ms),
                loss_interval: 0,
            })
            .collect();
        lia.couple(&views);
        lia
    }

    /// Growth over many ACKs at a constant window, in bytes an ACK.
    fn growth(lia: &mut Lia, cwnd: u64) -> f64 {
        let acks = 10_000;
        (0..acks).map(|_| lia.avoidance(cwnd, 1000) - cwnd).sum::<u64>() as f64 / f64::from(acks)
    }

    #[test]
    fn the_step_is_that_of_equation_6_1() {
        // w = 10 and 50 segments, RTT 40 and 200 ms: w/RTT² is 10/1600 and 50/40000, w/RTT 0.25 and 0.25,
        // so that a / w_total = (10/1600) / 0.25 = 1/40 of a segment, below 1/10 and above 1/50.
        let views = [(10_000, 40), (50_000, 200)];
        assert!((growth(&mut lia(&views), 10_000) - 1000.0 / 40.0).abs() < 0.1);
        assert!((growth(&mut lia(&views), 50_000) - 1000.0 / 50.0).abs() < 0.1);
    }

    #[test]
    fn equal_subflows_together_grow_like_one_tcp() {
        // a = 1/2 of a segment over w_total = 2 w: each ACK adds 1/(4 w), a quarter of NewReno's step.
        let mut two = lia(&[(20_000, 100), (20_000, 100)]);
        assert!((growth(&mut two, 20_000) - 1000.0 / 80.0).abs() < 0.1);
    }

    #[test]
    fn a_single_subflow_grows_like_newreno_to_a_byte() {
        let mut one = lia(&[(20_000, 100)]);
        assert!((growth(&mut one, 20_000) - 50.0).abs() < 0.1);
        let mut unlinked = Lia::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        assert_eq!(unlinked.avoidance(20_000, 1000), 20_050);
    }

    #[test]
    fn steps_stay_positive_at_extreme_windows_and_round_trips() {
        let mut far = lia(&[(1 << 30, 1), (1000, 60_000)]);
        assert!(growth(&mut far, 1000) >= 0.0);
        assert!(far.avoidance(1 << 30, 1 << 20) >= 1 << 30);
    }

    /// Mean windows, in segments, of two subflows of one RTT that lose packets at these rates, by rounds of
    /// a window each; a round loses once at most.
    fn mean_windows(losses: [f64; 2], linked: bool) -> [f64; 2] {
        let mut stream = loadpath_net::Streams::new(1, 0).stream("test.lia", 0);
        let mut windows = [20_000u64; 2];
        let mut flows = [(); 2].map(|()| lia(&[]));
        let (mut sums, rounds) = ([0.0; 2], 200_000);
        for _ in 0..rounds {
            for i in 0..2 {
                let mut lost = false;
                for _ in 0..windows[i] / 1000 {
                    lost |= stream.unit() < losses[i];
                    if !lost {
                        let view = |window| SubflowView {
                            window,
                            srtt: SimDuration::from_millis(100),
                            loss_interval: 0,
                        };
                        if linked {
                            flows[i].couple(&windows.map(view));
                        }
                        windows[i] = flows[i].avoidance(windows[i], 1000);
                    }
                }
                if lost {
                    windows[i] = (windows[i] / 2).max(1000);
                }
                sums[i] += windows[i] as f64 / 1000.0;
            }
        }
        sums.map(|sum| sum / f64::from(rounds))
    }

    #[test]
    fn at_equal_losses_both_subflows_together_have_the_window_of_one_tcp() {
        // a = 1/2 and 1 / (4 w) = p w / 2 for each, so that the sum is sqrt(2 / p), one TCP's window.
        let [one, _] = mean_windows([0.002, 0.002], false);
        let [a, b] = mean_windows([0.002, 0.002], true);
        assert!(((a + b) / one - 1.0).abs() < 0.1, "{a} + {b}, one TCP {one}");
        assert!((a / b - 1.0).abs() < 0.1, "{a} and {b}");
    }

    #[test]
    fn windows_are_inverse_to_losses_and_add_up_to_that_of_one_tcp_on_the_better_path() {
        // w_r p_r / 2 = a / w_total for both: w_1 / w_2 = p_2 / p_1 = 4, and a / w_total = w_1 / w_total², hence
        // w_total = sqrt(2 / p_1).
        let [one, _] = mean_windows([0.001, 0.004], false);
        let [a, b] = mean_windows([0.001, 0.004], true);
        assert!(((a + b) / one - 1.0).abs() < 0.1, "{a} + {b}, one TCP {one}");
        assert!((a / b / 4.0 - 1.0).abs() < 0.25, "{a} and {b}");
    }
}

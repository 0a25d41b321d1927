//! When so many bytes would have arrived on a subflow: thesis section 6.4.1.2.
//!
//! [`Estimator::Loop`] is Algorithm 8: windows that grow by a part each round trip up to the slow-start
//! threshold, then the rate window / RTT. [`Estimator::ClosedForm`] is equations 6.2 and 6.3, with
//! logarithms in integers. The closed form of the thesis takes W / RTT from before slow start as the rate
//! behind it, which contradicts the loop; here it is ssThresh / RTT, and both agree at whole windows if a
//! whole number of round trips reaches the threshold. Else the loop goes on at the window that has grown
//! past it, which is faster by up to a half.

use loadpath_net::SimDuration;

use super::PathView;
use crate::multipath::config::Estimator;
use crate::{SlowStart, TcpConfig};

/// Without a threshold slow start is taken to end at 10⁶ bytes/s · RTT (thesis, footnote 3).
const UNSET_THRESHOLD_BYTES_PER_SECOND: u64 = 1_000_000;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// Fractional bits of logarithms.
const LOG_BITS: u32 = 32;

/// The estimator.
#[derive(Clone, Debug)]
pub(crate) struct CompletionEstimator {
    form: Estimator,
    /// A window grows by its n-th part in a round trip of slow start: n is how many segments share an
    /// ACK, or 1 where bytes count. The thesis has 2.
    growth_part: u64,
}

impl CompletionEstimator {
    pub fn new(form: Estimator, tcp: &TcpConfig) -> Self {
        let growth_part = match tcp.slow_start {
            SlowStart::PerAck => u64::from(tcp.delayed_ack_segments.max(1)),
            SlowStart::BytesAcked => 1,
        };
        CompletionEstimator { form, growth_part }
    }

    /// α: when `bytes` have arrived if only the best of `paths` sends them; `None` without a path.
    pub fn earliest<'a>(
        &self,
        bytes: u64,
        paths: impl Iterator<Item = &'a PathView>,
    ) -> Option<SimDuration> {
        paths.map(|path| self.completion(bytes, path)).min()
    }

    /// α of one subflow: from now to the arrival of the last of `bytes`.
    pub fn completion(&self, bytes: u64, path: &PathView) -> SimDuration {
        let rtt = path.srtt.0;
        let threshold = if path.ssthresh < u64::MAX {
            path.ssthresh
        } else {
            let bytes = u128::from(UNSET_THRESHOLD_BYTES_PER_SECOND) * u128::from(rtt);
            (bytes / u128::from(NS_PER_SECOND)) as u64
        };
        let window = path.window.max(1);
        let transmission = match self.form {
            Estimator::Loop => self.loop_form(bytes, window, threshold, rtt),
            Estimator::ClosedForm => self.closed_form(bytes, window, threshold, rtt),
        };
        SimDuration(rtt / 2 + transmission)
    }

    /// Algorithm 8, lines 5 to 18.
    fn loop_form(&self, bytes: u64, mut window: u64, threshold: u64, rtt: u64) -> u64 {
        let mut time = 0;
        let mut left = bytes;
        while window < threshold && left >= window {
            time += rtt;
            left -= window;
            window += (window / self.growth_part).max(1);
        }
        time + part_of(rtt, left, window)
    }

    /// The three cases behind equation 6.3, for any growth λ = 1 + 1/n.
    fn closed_form(&self, bytes: u64, window: u64, threshold: u64, rtt: u64) -> u64 {
        if window >= threshold {
            return part_of(rtt, bytes, window);
        }
        // D_ss = (λ · ssThresh − cwnd) / (λ − 1): for λ = 3/2, 3 ssThresh − 2 cwnd.
        let in_slow_start = (self.growth_part + 1) * threshold - self.growth_part * window;
        if bytes <= in_slow_start {
            // n = log_λ(size · (λ − 1) / cwnd + 1).
            let numerator = u128::from(bytes) + u128::from(self.growth_part * window);
            let rounds = self.log(numerator, u128::from(self.growth_part * window));
            return rounds_of(rtt, rounds);
        }
        let rounds = self.log(u128::from(threshold), u128::from(window)) + (1 << LOG_BITS);
        rounds_of(rtt, rounds) + part_of(rtt, bytes - in_slow_start, threshold)
    }

    /// log_λ(a / b), a ≥ b.
    fn log(&self, a: u128, b: u128) -> u128 {
        let n = u128::from(self.growth_part);
        (log2(a, b) << LOG_BITS) / log2(n + 1, n)
    }
}

/// rtt · bytes / window.
fn part_of(rtt: u64, bytes: u64, window: u64) -> u64 {
    match rtt.checked_mul(bytes) {
        // A division of 64 bits is a third of one of 128.
        Some(product) => product / window,
        None => (u128::from(rtt) * u128::from(bytes) / u128::from(window)) as u64,
    }
}

fn rounds_of(rtt: u64, rounds: u128) -> u64 {
    ((u128::from(rtt) * rounds) >> LOG_BITS) as u64
}

/// log₂(a / b) for a ≥ b, with [`LOG_BITS`] fractional bits: the whole part by shifting, then a bit for each
/// squaring.
fn log2(a: u128, b: u128) -> u128 {
    const ONE: u128 = 1 << 62;
    let mut whole = 0;
    while a >= b << (whole + 1) {
        whole += 1;
    }
    let mut x = a * ONE / (b << whole);
    let mut log = whole;
    for _ in 0..LOG_BITS {
        x = (x * x) >> 62;
        log <<= 1;
        if x >= 2 * ONE {
            x >>= 1;
            log |= 1;
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;

    fn estimator(form: Estimator) -> CompletionEstimator {
        let tcp = TcpConfig { delayed_ack_segments: 2, ..TcpConfig::standard() };
        CompletionEstimator::new(form, &tcp)
    }

    /// RTT 100 ms, windows in bytes.
    fn subflow(window: u64, ssthresh: u64) -> PathView {
        PathView { window, ssthresh, ..path(100, 10, 0) }
    }

    fn ms(form: Estimator, bytes: u64, path: &PathView) -> f64 {
        estimator(form).completion(bytes, path).as_millis_f64()
    }

    #[test]
    fn logarithms_are_exact_to_nine_digits() {
        for (a, b, expected) in [(8u128, 1u128, 3.0), (3, 2, 0.584_962_500_7), (1000, 7, 7.158_429)]
        {
            let log = log2(a, b) as f64 / 2f64.powi(LOG_BITS as i32);
            assert!((log - expected).abs() < 1e-6, "{a}/{b}: {log}");
        }
        assert_eq!(log2(5, 5), 0);
    }

    #[test]
    fn avoidance_takes_half_an_rtt_and_bytes_at_window_per_rtt() {
        for form in [Estimator::Loop, Estimator::ClosedForm] {
            assert_eq!(ms(form, 40_000, &subflow(10_000, 10_000)), 450.0);
            assert_eq!(ms(form, 5_000, &subflow(10_000, 10_000)), 100.0);
        }
    }

    #[test]
    fn the_loop_walks_through_slow_start() {
        // 16, 24 and 36 kB in three round trips, then half a window of 54 kB.
        let path = subflow(16_000, 1 << 30);
        assert_eq!(ms(Estimator::Loop, 16_000 + 24_000 + 36_000 + 27_000, &path), 400.0);
        // From 24 kB on at 24 kB a round trip.
        let path = subflow(16_000, 24_000);
        assert_eq!(ms(Estimator::Loop, 16_000 + 72_000, &path), 450.0);
    }

    #[test]
    fn both_forms_agree_at_whole_windows() {
        // ssThresh = 16 kB · 1.5^4 = 81 kB.
        let path = subflow(16_000, 81_000);
        let mut sum = 0;
        let mut window = 16_000;
        for _ in 0..5 {
            sum += window;
            let (a, b) = (ms(Estimator::Loop, sum, &path), ms(Estimator::ClosedForm, sum, &path));
            assert!((a - b).abs() < 1e-3, "{sum} bytes: {a} and {b} ms");
            window = (window * 3 / 2).min(81_000);
        }
        for more in 1..5 {
            let bytes = sum + more * 81_000;
            let (a, b) =
                (ms(Estimator::Loop, bytes, &path), ms(Estimator::ClosedForm, bytes, &path));
            assert!((a - b).abs() < 1e-3, "{bytes} bytes: {a} and {b} ms");
        }
    }

    #[test]
    fn between_whole_windows_the_forms_differ_by_less_than_a_round_trip() {
        for window in [1024, 14_464, 102_400] {
            for rounds in 0..6 {
                // A threshold that a whole number of round trips reaches.
                let threshold = (0..rounds).fold(window, |w, _| w * 3 / 2);
                let path = subflow(window, threshold);
                for bytes in (1..60).map(|i| i * i * 997) {
                    let a = ms(Estimator::Loop, bytes, &path);
                    let b = ms(Estimator::ClosedForm, bytes, &path);
                    assert!(
                        (a - b).abs() < 100.0,
                        "{bytes} from {window} to {threshold}: {a}, {b}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_window_that_grows_past_the_threshold_makes_the_loop_faster() {
        // 1000, 1500, 2250, 3375: the loop goes on at 3375 bytes a round trip, the closed form at 2896.
        let path = subflow(1000, 2896);
        let difference =
            |bytes| ms(Estimator::ClosedForm, bytes, &path) - ms(Estimator::Loop, bytes, &path);
        let expected = 100.0 * (1e6 / 2896.0 - 1e6 / 3375.0);
        assert!((difference(1_100_000) - difference(100_000) - expected).abs() < 0.01);
    }

    #[test]
    fn an_unset_threshold_is_a_megabyte_a_second() {
        // 10⁶ bytes/s · 100 ms = 100 kB: a window of 100 kB is behind slow start.
        let path = subflow(100_000, u64::MAX);
        assert_eq!(ms(Estimator::Loop, 300_000, &path), 350.0);
        let path = subflow(50_000, u64::MAX);
        assert_eq!(ms(Estimator::Loop, 50_000 + 75_000, &path), 250.0);
    }

    #[test]
    fn the_best_subflow_counts() {
        let paths = [path(20, 10, 0), path(100, 10, 0)];
        let e = estimator(Estimator::Loop);
        assert_eq!(e.earliest(20_000, paths.iter()), Some(SimDuration::from_millis(50)));
        assert_eq!(e.earliest(20_000, [].iter()), None);
    }
}

//! CUBIC: RFC 9438, in integers.
//!
//! Windows are bytes. Time inside the cubic function is counted in ticks of 2^-20 s, so that the cube
//! needs shifts and no division. The window grows by bytes acknowledged (section 4.2: "segments
//! acked"), and the fractions of a byte are carried.

use loadpath_net::{SimDuration, SimTime};

use super::{AckSample, LossSignal};
use crate::TcpConfig;

/// Ticks a second, as a power of two.
const TICK_SHIFT: u32 = 20;
/// Farther from the plateau than this (128 s) the window exceeds 2^30 bytes anyway.
const MAX_TICKS: u64 = 1 << 27;

/// State of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    mss: u64,
    /// C = 0.4 segments/s^3 (section 5), in bytes, times 2^20.
    scale: u128,
    /// Plateau, bytes.
    w_max: u64,
    /// Window before the last reduction, bytes.
    cwnd_prior: u64,
    /// The reduction was a timeout (section 4.8).
    after_timeout: bool,
    epoch: Option<Epoch>,
}

/// One stay in congestion avoidance.
#[derive(Clone, Debug)]
struct Epoch {
    start: SimTime,
    /// Time from the start to the plateau, ticks.
    k: u64,
    /// Plateau of this stay, bytes.
    plateau: u64,
    /// Window of Reno under the same losses, bytes, and the carried numerator of its increments.
    w_est: u64,
    w_est_carry: u64,
    /// Carried numerator of the window's increments.
    carry: u64,
}

impl Cubic {
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        Cubic {
            mss,
            scale: (u128::from(mss) << TICK_SHIFT) * 4 / 10,
            w_max: 0,
            cwnd_prior: 0,
            after_timeout: false,
            epoch: None,
        }
    }

    /// The window after an ACK in congestion avoidance (sections 4.2 to 4.5).
    pub fn avoidance(&mut self, cwnd: u64, acked: u64, sample: &AckSample) -> u64 {
        if self.epoch.is_none() {
            self.epoch = Some(self.start_epoch(cwnd, sample.now));
        }
        let epoch = self.epoch.as_mut().expect("just started");
        let elapsed = ticks(sample.now.since(epoch.start));

        // Equation (4). alpha = 3 (1 - beta) / (1 + beta) = 9/17 until the window is that before the
        // loss, then 1.
        let alpha = if epoch.w_est < self.cwnd_prior { 9 } else { 17 };
        epoch.w_est_carry += alpha * acked * self.mss;
        epoch.w_est += epoch.w_est_carry / (17 * cwnd);
        epoch.w_est_carry %= 17 * cwnd;

        if cubic(self.scale, elapsed, epoch.k, epoch.plateau) < epoch.w_est {
            return cwnd.max(epoch.w_est);
        }
        let target = cubic(self.scale, elapsed + ticks(sample.srtt), epoch.k, epoch.plateau)
            .clamp(cwnd, cwnd + cwnd / 2);
        epoch.carry += (target - cwnd) * acked;
        let step = epoch.carry / cwnd;
        epoch.carry %= cwnd;
        cwnd + step
    }

    /// Remembers the plateau and returns the threshold (sections 4.6 to 4.8).
    pub fn on_loss(&mut self, signal: LossSignal, cwnd: u64, in_use: u64) -> u64 {
        // Fast convergence: (1 + beta) / 2 = 17/20.
        self.w_max = if cwnd < self.w_max { cwnd * 17 / 20 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.after_timeout = signal == LossSignal::Timeout;
        self.epoch = None;
        in_use * 7 / 10
    }

    /// Idle time does not count (section 5.8; Linux `cubictcp_cwnd_event`).
    pub fn on_idle(&mut self, idle: SimDuration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }

    fn start_epoch(&self, cwnd: u64, now: SimTime) -> Epoch {
        let (k, plateau) = if self.after_timeout || cwnd >= self.w_max {
            (0, cwnd)
        } else {
            // Equation (2): C K^3 = plateau - window, hence K^3 = bytes * 2^60 / (C mss).
            let bytes = u128::from(self.w_max - cwnd);
            let cube = (bytes << (3 * TICK_SHIFT + TICK_SHIFT)) / self.scale;
            (cube_root(cube), self.w_max)
        };
        Epoch { start: now, k, plateau, w_est: cwnd, w_est_carry: 0, carry: 0 }
    }
}

/// Equation (1): C (t - K)^3 + plateau, bytes.
fn cubic(scale: u128, t: u64, k: u64, plateau: u64) -> u64 {
    let d = u128::from(t.abs_diff(k).min(MAX_TICKS));
    let bytes = ((d * d * d * scale) >> (4 * TICK_SHIFT)) as u64;
    if t < k { plateau.saturating_sub(bytes) } else { plateau + bytes }
}

/// Nanoseconds to ticks.
fn ticks(span: SimDuration) -> u64 {
    (u128::from(span.0) * (1 << TICK_SHIFT) / 1_000_000_000) as u64
}

/// Largest integer whose cube is at most `x`, by Newton's method from above.
pub(super) fn cube_root(x: u128) -> u64 {
    if x == 0 {
        return 0;
    }
    // 2^ceil(bits / 3) is at least the root, and from above the iteration decreases until it is found.
    let mut root = 1u128 << (128 - x.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * root + x / (root * root)) / 3;
        if next >= root {
            return root as u64;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_exact() {
        for n in (0u128..2000).chain([(1 << 40) - 1, 1 << 42]) {
            assert_eq!(u128::from(cube_root(n * n * n)), n);
            if n > 1 {
                assert_eq!(u128::from(cube_root(n * n * n - 1)), n - 1);
            }
        }
    }

    #[test]
    fn the_plateau_is_reached_after_k() {
        // 100 segments lost, 70 left: K = cbrt(30 / 0.4) = cbrt(75) = 4.2172 s.
        let mut c = Cubic::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        assert_eq!(c.on_loss(LossSignal::Recovery, 100_000, 100_000), 70_000);
        let epoch = c.start_epoch(70_000, SimTime::ZERO);
        let k_ms = (epoch.k * 1000) >> TICK_SHIFT;
        assert_eq!(k_ms, 4217);
        let window = |ms| cubic(c.scale, ticks(SimDuration::from_millis(ms)), epoch.k, 100_000);
        assert!(window(0).abs_diff(70_000) <= 1);
        assert_eq!(window(4217), 100_000);
        // 0.4 * 1^3 segments a second after the plateau.
        assert!(window(5217).abs_diff(100_400) <= 1, "{}", window(5217));
    }

    fn sample(now_ms: u64, acked: u64) -> AckSample {
        AckSample {
            now: SimTime::ZERO + SimDuration::from_millis(now_ms),
            acked,
            srtt: SimDuration::from_millis(100),
            una: 0,
            next: 0,
        }
    }

    #[test]
    fn a_loss_below_the_plateau_lowers_it() {
        let mut c = Cubic::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        c.on_loss(LossSignal::Recovery, 100_000, 100_000);
        assert_eq!(c.start_epoch(70_000, SimTime::ZERO).plateau, 100_000);
        // 0.85 * 80 segments (section 4.7).
        c.on_loss(LossSignal::Recovery, 80_000, 80_000);
        assert_eq!(c.start_epoch(56_000, SimTime::ZERO).plateau, 68_000);
        c.on_loss(LossSignal::Recovery, 68_000, 68_000);
        assert_eq!(c.start_epoch(47_600, SimTime::ZERO).plateau, 68_000);
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_avoidance_begins() {
        let mut c = Cubic::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        assert_eq!(c.on_loss(LossSignal::Timeout, 100_000, 100_000), 70_000);
        let epoch = c.start_epoch(70_000, SimTime::ZERO);
        assert_eq!((epoch.k, epoch.plateau), (0, 70_000));
    }

    #[test]
    fn the_window_grows_by_half_of_itself_at_most() {
        let mut c = Cubic::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        c.on_loss(LossSignal::Recovery, 100_000, 100_000);
        c.avoidance(70_000, 1000, &sample(0, 1000));
        assert_eq!(c.avoidance(100_000, 100_000, &sample(100_000, 100_000)), 150_000);
    }

    #[test]
    fn beyond_the_window_before_the_loss_the_estimate_grows_by_a_segment_a_window() {
        let mut c = Cubic::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        c.on_loss(LossSignal::Timeout, 7000, 10_000);
        // K = 0 and W(0) = 7000, so that the estimate decides: 7000 + 1000 * 7000 / 7000, alpha = 1.
        assert_eq!(c.avoidance(7000, 7000, &sample(0, 7000)), 8000);
        c.on_loss(LossSignal::Timeout, 14_000, 10_000);
        // alpha = 9/17.
        assert_eq!(c.avoidance(7000, 7000, &sample(0, 7000)), 7529);
    }
}

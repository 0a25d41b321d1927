//! CUBIC as in Linux net/ipv4/tcp_cubic.c (6.x), which RFC 9438 describes with other details. Here:
//!
//! * windows and ACKs are counted in whole segments, and the window grows by one after `cnt` of them;
//! * the smallest RTT, not the smoothed one, is looked ahead;
//! * without a loss so far, as after HyStart, the window grows by at least 5 % a round trip;
//! * a timeout forgets all;
//! * the estimate of Reno grows by 8/15 of a segment a window, also beyond the window before the loss.

use loadpath_net::{SimDuration, SimTime};

use super::LossSignal;
use super::cubic::cube_root;
use crate::TcpConfig;

/// `beta`, of 1024: the window after a loss.
const BETA: u64 = 717;
/// Ticks a second, as a power of two (`BICTCP_HZ`).
const TICK_SHIFT: u32 = 10;
/// C = 410/1024 segments/s^3 (`bic_scale * 10`, of 2^10).
const SCALE: u128 = 410;
const SCALE_SHIFT: u32 = 10 + 3 * TICK_SHIFT;
/// A window acknowledged, over the growth of Reno's estimate, times 8 (`beta_scale`).
const RENO_SCALE: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// While the window does not change, the function is looked at this often (`HZ / 32`).
const INTERVAL: SimDuration = SimDuration(1_000_000_000 / 32);

/// State of one connection; numbers are segments.
#[derive(Clone, Debug)]
pub(crate) struct CubicLinux {
    mss: u64,
    delay_min: Option<SimDuration>,
    last_max: u64,
    last_cwnd: u64,
    last_time: SimTime,
    epoch: Option<Epoch>,
    acked: u64,
    reno_cwnd: u64,
    /// ACKs for one segment more.
    count: u64,
    /// ACKs since the window grew (`snd_cwnd_cnt`).
    credit: u64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: SimTime,
    /// Ticks from the start to the plateau.
    k: u64,
    plateau: u64,
}

impl CubicLinux {
    pub fn new(config: &TcpConfig) -> Self {
        CubicLinux {
            mss: u64::from(config.mss),
            delay_min: None,
            last_max: 0,
            last_cwnd: 0,
            last_time: SimTime::ZERO,
            epoch: None,
            acked: 0,
            reno_cwnd: 0,
            count: 0,
            credit: 0,
        }
    }

    #[inline]
    pub fn on_rtt_sample(&mut self, rtt: SimDuration) {
        self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
    }

    /// The window after an ACK in congestion avoidance, bytes.
    pub fn avoidance(&mut self, cwnd: u64, acked: u64, now: SimTime) -> u64 {
        let (window, acked) = (cwnd / self.mss, acked / self.mss);
        self.update(window.max(1), acked, now);
        // tcp_cong_avoid_ai
        let mut grown = 0;
        if self.credit >= self.count {
            self.credit = 0;
            grown = 1;
        }
        self.credit += acked;
        grown += self.credit / self.count;
        self.credit %= self.count;
        cwnd + grown * self.mss
    }

    /// `bictcp_update`.
    fn update(&mut self, cwnd: u64, acked: u64, now: SimTime) {
        self.acked += acked;
        if self.last_cwnd == cwnd && now.since(self.last_time) <= INTERVAL && self.count > 0 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(cwnd, acked, now),
        };
        let elapsed = now.since(epoch.start) + self.delay_min.unwrap_or_default();
        let t = (u128::from(elapsed.0) << TICK_SHIFT) / 1_000_000_000;
        let k = u128::from(epoch.k);
        let away = t.abs_diff(k).min(1 << 24);
        let delta = ((SCALE * away * away * away) >> SCALE_SHIFT) as u64;
        let target =
            if t < k { epoch.plateau.saturating_sub(delta) } else { epoch.plateau + delta };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.count = self.count.min(20);
        }
        // No slower than Reno.
        let window = ((cwnd * RENO_SCALE) >> 3).max(1);
        if self.acked > window {
            let steps = (self.acked - 1) / window;
            self.acked -= steps * window;
            self.reno_cwnd += steps;
        }
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
        self.count = self.count.max(2);
    }

    fn begin_epoch(&mut self, cwnd: u64, acked: u64, now: SimTime) -> Epoch {
        self.acked = acked;
        self.reno_cwnd = cwnd;
        let (k, plateau) = if self.last_max <= cwnd {
            (0, cwnd)
        } else {
            let cube = (u128::from(self.last_max - cwnd) << SCALE_SHIFT) / SCALE;
            (cube_root(cube), self.last_max)
        };
        let epoch = Epoch { start: now, k, plateau };
        self.epoch = Some(epoch);
        epoch
    }

    /// Remembers the plateau, with fast convergence, and returns the threshold in bytes
    /// (`cubictcp_recalc_ssthresh`, `cubictcp_state`).
    pub fn on_loss(&mut self, signal: LossSignal, in_use: u64) -> u64 {
        let cwnd = in_use / self.mss;
        self.epoch = None;
        self.credit = 0;
        self.last_max = if cwnd < self.last_max { cwnd * (1024 + BETA) / (2 * 1024) } else { cwnd };
        if signal == LossSignal::Timeout {
            self.last_max = 0;
            self.last_cwnd = 0;
            self.last_time = SimTime::ZERO;
            self.count = 0;
            self.delay_min = None;
        }
        cwnd * BETA / 1024 * self.mss
    }

    /// Idle time does not count (`cubictcp_cwnd_event`).
    pub fn on_idle(&mut self, idle: SimDuration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn cubic() -> CubicLinux {
        CubicLinux::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() })
    }

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_millis(ms)
    }

    #[test]
    fn without_a_loss_the_window_grows_by_5_percent_a_round() {
        let mut c = cubic();
        let grown = (0..100).fold(100 * MSS, |cwnd, _| c.avoidance(cwnd, MSS, at(1)));
        assert_eq!(grown, 105 * MSS, "one segment for 20 of 100 ACKs");
    }

    #[test]
    fn the_plateau_is_reached_after_k() {
        let mut c = cubic();
        assert_eq!(c.on_loss(LossSignal::Recovery, 100 * MSS), 70 * MSS);
        c.avoidance(70 * MSS, MSS, at(0));
        // cbrt(30 / (410 / 1024)) = 4.2155 s, in ticks.
        assert_eq!(c.epoch.map(|e| (e.k, e.plateau)), Some((4316, 100)));
        // At the plateau next to nothing; Reno is beyond it by then only if it was acknowledged.
        c.avoidance(100 * MSS, MSS, at(4216));
        assert_eq!(c.count, 100 * 100);
    }

    #[test]
    fn a_loss_below_the_plateau_lowers_it_and_a_timeout_forgets_it() {
        let mut c = cubic();
        c.on_loss(LossSignal::Recovery, 100 * MSS);
        assert_eq!(c.on_loss(LossSignal::Recovery, 80 * MSS), 56 * MSS);
        assert_eq!(c.last_max, 68, "80 * 1741 / 2048");
        assert_eq!(c.on_loss(LossSignal::Timeout, 60 * MSS), 42 * MSS);
        assert_eq!(c.last_max, 0);
    }

    #[test]
    fn it_is_no_slower_than_reno() {
        let mut c = cubic();
        c.on_loss(LossSignal::Recovery, 10 * MSS);
        let mut cwnd = 7 * MSS;
        // 13 ACKs for the eighth segment (7 * 15 / 8), 15 for the ninth, while K = cbrt(3 / 0.4) is 1.96 s.
        for i in 0..45 {
            cwnd = c.avoidance(cwnd, MSS, at(40 * i));
        }
        assert_eq!(c.reno_cwnd, 9);
    }
}

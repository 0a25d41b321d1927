//! How Linux sizes the receive window (net/ipv4/tcp_input.c): it grows with what arrives
//! (`tcp_grow_window`) up to the buffer, and the buffer with what the application reads in a round trip
//! (`tcp_rcv_space_adjust`, "dynamic right-sizing").

use loadpath_net::{SimDuration, SimTime};

use crate::{Segment, TcpConfig};

/// The first buffer (`tcp_rmem`, second value).
const FIRST_BUFFER: u64 = 131_072;
/// First window, half of it (`TCP_DEFAULT_SCALING_RATIO`).
const FIRST_WINDOW: u64 = 65_535;
/// The part of a buffer that holds payload, once the overhead of segments is known (`scaling_ratio`, of 256): a
/// segment of 1448 bytes in a buffer of 2048 with 256 bytes of its own.
const PAYLOAD: u64 = 160;
/// Segments that are too short to grow the window.
const SHORT: u32 = 128;

/// State of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct WindowTuning {
    mss: u64,
    buffer: u64,
    most: u64,
    /// The window grows up to the buffer's part for payload (`rcv_ssthresh`, `window_clamp`).
    window: u64,
    clamp: u64,
    rtt: Option<SimDuration>,
    last_echo: SimTime,
    /// Bytes read in the last measured round trip, and where and when the measurement began.
    space: u64,
    from: u64,
    since: SimTime,
}

impl WindowTuning {
    pub fn new(config: &TcpConfig) -> Self {
        let most = config.receive_buffer_bytes;
        let mss = u64::from(config.mss);
        // A buffer for a few segments only holds two of them anyhow.
        let window = FIRST_WINDOW.min(payload(most).max(most.min(2 * mss)));
        WindowTuning {
            mss,
            buffer: FIRST_BUFFER.min(most),
            most,
            window,
            clamp: window,
            rtt: None,
            last_echo: SimTime::MAX,
            space: window.min(10 * mss),
            from: 1,
            since: SimTime::ZERO,
        }
    }

    /// The window, with `unread` bytes in the buffer.
    #[inline]
    pub fn window(&self, unread: u64) -> u64 {
        self.window.min(self.clamp.saturating_sub(unread))
    }

    /// A segment arrived, after the application had read up to `read`. True if the window grew.
    pub fn on_data(
        &mut self,
        now: SimTime,
        segment: &Segment,
        read: u64,
        out_of_order: u64,
    ) -> bool {
        if u64::from(segment.len) >= self.mss {
            self.clamp = self.clamp.max(payload(self.buffer));
            if segment.echo != self.last_echo && segment.echo <= now {
                self.last_echo = segment.echo;
                self.sample(now.since(segment.echo));
            }
        }
        self.adjust(now, read, out_of_order);
        if segment.len < SHORT || self.window >= self.clamp {
            return false;
        }
        self.window = self.clamp.min(self.window + 2 * self.mss);
        true
    }

    /// `tcp_rcv_rtt_update`.
    fn sample(&mut self, rtt: SimDuration) {
        self.rtt = Some(match self.rtt {
            Some(old) if old < rtt => SimDuration((7 * old.0 + rtt.0) / 8),
            _ => rtt,
        });
    }

    fn adjust(&mut self, now: SimTime, read: u64, out_of_order: u64) {
        if self.rtt.is_none_or(|rtt| now.since(self.since) < rtt) {
            return;
        }
        let copied = read.saturating_sub(self.from);
        if copied > self.space {
            let before = std::mem::replace(&mut self.space, copied);
            // Twice as much, because this is a round trip late, and as much again as it grew.
            let wanted = 2 * copied;
            let growth = u128::from(wanted) * u128::from(copied - before) / u128::from(before);
            let wanted = wanted + 2 * growth as u64 + out_of_order;
            self.buffer = self.buffer.max((wanted * 256 / PAYLOAD).min(self.most));
            self.clamp = self.clamp.max(payload(self.buffer));
        }
        self.from = read;
        self.since = now;
    }
}

fn payload(buffer: u64) -> u64 {
    (buffer.min(1 << 40) * PAYLOAD) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> SimDuration = SimDuration::from_millis;

    /// Rounds of 100 ms, in each of which so many segments arrive at its end; the window after each.
    fn windows(most: u64, rounds: &[u64]) -> Vec<u64> {
        let config = TcpConfig { mss: 1000, receive_buffer_bytes: most, ..TcpConfig::standard() };
        let mut tuning = WindowTuning::new(&config);
        let mut now = SimTime::ZERO;
        let mut read = 1;
        let mut seen = Vec::new();
        for &segments in rounds {
            now += MS(100);
            let segment =
                Segment { len: 1000, echo: SimTime(now.0 - MS(100).0), ..Segment::default() };
            for _ in 0..segments {
                tuning.on_data(now, &segment, read, 0);
                read += 1000;
            }
            seen.push(tuning.window(0));
        }
        seen
    }

    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        // Before the second round 10 segments were read, no more than in the first window: no change. Then 20:
        // 2 * 20000 and 2 * 40000 * (20000 - 10000) / 10000 make 120000. Then 80 (160000 + 2 * 160000 * 3): the
        // clamp is 1120000, to which the window grows by 2000 a segment.
        assert_eq!(windows(1 << 22, &[10, 20, 80, 100]), [81_920, 81_920, 120_000, 320_000]);
    }

    #[test]
    fn the_buffer_has_an_end() {
        // 5/8 of 160000.
        assert_eq!(windows(160_000, &[10, 20, 80, 100, 200])[4], 100_000);
    }

    #[test]
    fn a_part_of_the_window_is_what_is_unread() {
        let tuning = WindowTuning::new(&TcpConfig::standard());
        assert_eq!((tuning.window(0), tuning.window(10_000)), (65_535, 55_535));
    }
}

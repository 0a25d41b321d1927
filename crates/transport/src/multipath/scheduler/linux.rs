//! The default scheduler of Linux 6.x (net/mptcp/protocol.c, `mptcp_subflow_get_send`): bursts go to the
//! subflow whose data would drain first at its pacing rate, as long as its send buffer takes them,
//! whether its window has room or not.
//!
//! Not the profile's default: with it, transfers are as far from the kernel's as with the lowest RTT
//! (docs/linux-profile.md).
//!
//! What counts as waiting is what the subflow has not sent or not heard of; of segments that were reported
//! or lost, the sender's estimate counts only what is in the network.

use loadpath_net::SimTime;

use super::{Choice, PathView, Schedule, Situation, first_message};
use crate::multipath::MAX_SUBFLOWS;

/// `MPTCP_SEND_BURST_SIZE`: 64 kB without headers of TCP (20), its options (40), IPv6 (40) and its
/// fragments (8).
const BURST_BYTES: u64 = (1 << 16) - 20 - 40 - 40 - 8;

/// `tcp_sndbuf_expand`: twice what a window's segments take in memory, of which there are ten at least.
/// One takes 2048 bytes (1460 with headers and `skb_shared_info`, rounded up to a power of two) and 256 of
/// `sk_buff`: a capture of kernel 6.18 shows 46,080 bytes at first.
const SEGMENT_MEMORY_BYTES: u64 = 2048 + 256;
const LEAST_SEGMENTS: u64 = 10;
/// What is written is kept in pieces of 32 kB less their heads; a buffer takes a piece whole if it takes any of
/// it (the same capture: 64,512 bytes at first).
const PIECE_BYTES: u64 = 32_256;
/// `tcp_wmem[2]`.
const MAX_BUFFER_BYTES: u64 = 4 << 20;

/// `tcp_update_pacing_rate`, percent: tcp_pacing_ss_ratio below half of the threshold, else
/// tcp_pacing_ca_ratio.
const PACING_IN_SLOW_START: u64 = 200;
const PACING_IN_AVOIDANCE: u64 = 120;

/// Bytes that a subflow has to send or to hear of.
fn waiting(path: &PathView) -> u64 {
    path.in_flight + path.queued
}

/// Bytes per second; "without limit" before the first RTT sample.
fn pacing_rate(path: &PathView) -> u64 {
    if path.srtt.0 == 0 {
        return u64::MAX;
    }
    let percent =
        if path.window < path.ssthresh / 2 { PACING_IN_SLOW_START } else { PACING_IN_AVOIDANCE };
    let per_round_trip = u128::from(path.window.max(path.in_flight) * percent / 100);
    (per_round_trip * 1_000_000_000 / u128::from(path.srtt.0)) as u64
}

/// State between choices.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    /// Where the burst goes, what is left of it, and when it began.
    burst: (usize, u64, SimTime),
    /// Average pacing rates, by bytes given; 0: none yet.
    rates: [u64; MAX_SUBFLOWS],
    /// Send buffers, which only grow.
    buffers: [u64; MAX_SUBFLOWS],
}

impl Linux {
    pub fn new() -> Linux {
        Linux { burst: (0, 0, SimTime::ZERO), rates: [0; MAX_SUBFLOWS], buffers: [0; MAX_SUBFLOWS] }
    }

    /// The buffers of all subflows together have room.
    fn has_memory(&mut self, s: &Situation) -> bool {
        let (mut total, mut buffers) = (0, 0);
        for (i, path) in s.usable() {
            let segments = (path.window / s.mss.max(1)).max(LEAST_SEGMENTS);
            let buffer = (2 * segments * SEGMENT_MEMORY_BYTES).min(MAX_BUFFER_BYTES);
            self.buffers[i] = self.buffers[i].max(buffer);
            total += waiting(path);
            buffers += self.buffers[i];
        }
        total < buffers.div_ceil(PIECE_BYTES) * PIECE_BYTES
    }

    /// The subflow that a new burst goes to.
    fn pick(&mut self, s: &Situation) -> Option<usize> {
        let linger = |rates: &mut [u64; MAX_SUBFLOWS], i: usize, path: &PathView| {
            if rates[i] == 0 {
                rates[i] = pacing_rate(path);
            }
            (u128::from(waiting(path)) << 32) / u128::from(rates[i].max(1))
        };
        let rates = &mut self.rates;
        let (i, path) = s.usable().min_by_key(|&(i, path)| linger(rates, i, path))?;
        if !self.has_memory(s) {
            return None;
        }
        let burst = BURST_BYTES.min(s.data_edge.saturating_sub(s.log.next())).max(1);
        let (wmem, rate) = (u128::from(waiting(path)), u128::from(pacing_rate(path)));
        let sum = u128::from(self.rates[i]) * wmem + rate * u128::from(burst);
        self.rates[i] = (sum / (wmem + u128::from(burst))) as u64;
        self.burst = (i, burst, s.now);
        Some(i)
    }
}

impl Schedule for Linux {
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        let (last, left, began) = self.burst;
        let goes_on = left > 0
            && began == s.now
            && s.paths.get(last).is_some_and(|path| path.usable)
            && self.has_memory(s);
        let subflow = if goes_on { last } else { self.pick(s)? };
        let taken = u64::from(s.pool.next_len(s.mss as u32));
        self.burst.1 = self.burst.1.saturating_sub(taken);
        Some(first_message(subflow))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, pool, situation};
    use super::*;

    /// Subflows chosen for so many segments of 1000 bytes, which are queued.
    fn chosen(scheduler: &mut Linux, paths: &mut [PathView], segments: usize) -> Vec<usize> {
        let pool = pool(&[10_000_000]);
        let mut found = Vec::new();
        while found.len() < segments
            && let Some(Choice::New { subflow, .. }) = scheduler.choose(&situation(paths, &pool))
        {
            paths[subflow].queued += 1000;
            found.push(subflow);
        }
        found
    }

    #[test]
    fn a_burst_goes_to_one_subflow_whatever_its_window_and_the_next_to_the_one_that_drains_first() {
        let mut paths = [path(40, 10, 0), path(40, 10, 0)];
        let found = chosen(&mut Linux::new(), &mut paths, 100);
        // 65,428 bytes: 66 segments begin before they are used up.
        assert_eq!(found[..66], [0; 66]);
        // Both buffers together: 92,160 bytes, which is three pieces.
        assert_eq!(found[66..], [1; 31], "not half");
    }

    #[test]
    fn what_a_send_buffer_does_not_take_waits() {
        let mut paths = [path(40, 10, 0)];
        assert_eq!(chosen(&mut Linux::new(), &mut paths, 1000).len(), 65, "two pieces: 64,512");
        paths[0].queued = 0;
        paths[0].window = 30_000;
        assert_eq!(chosen(&mut Linux::new(), &mut paths, 1000).len(), 162, "138,240: five pieces");
    }

    #[test]
    fn the_slower_subflow_is_taken_when_it_drains_earlier() {
        // Both have 50 kB to send, one of them at four times the other's rate.
        let mut paths = [path(80, 20, 0), path(20, 20, 0)];
        (paths[0].queued, paths[1].queued) = (50_000, 50_000);
        assert_eq!(chosen(&mut Linux::new(), &mut paths, 1), [1]);
        paths[0].queued = 12_000;
        assert_eq!(chosen(&mut Linux::new(), &mut paths, 1), [0]);
    }
}

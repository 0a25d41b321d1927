//! What the coupled controllers share: a read-only view of all subflows of a connection, and the sums over
//! it in integers.
//!
//! The formulas contain windows over round-trip times. With R the longest round-trip time and
//! q = R / RTT, a term w / RTT² is w·q² over R², and R cancels out of each quotient, so that windows in
//! bytes and q with ten fractional bits are enough.

use loadpath_net::SimDuration;

/// A subflow as the controllers of its siblings see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubflowView {
    /// Congestion window without the inflation of fast recovery, bytes.
    pub window: u64,
    /// Smoothed round-trip time.
    pub srtt: SimDuration,
    /// Bytes acknowledged since the last loss or between the last two, whichever is more (OLIA's l).
    pub loss_interval: u64,
}

/// Fractional bits of q.
const RATIO_BITS: u32 = 10;
/// Round-trip times differ by up to this factor; more is taken for this.
const MAX_RATIO: u64 = 1 << 12;
/// Fractional bits of a window's step.
pub(crate) const STEP_BITS: u32 = 16;

/// One subflow in terms that can be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    /// w·q.
    pub rate: u128,
    /// w·q².
    pub urgency: u128,
    /// l·q²: the square of the rate that a single TCP would reach.
    pub quality: u128,
}

/// The terms of all subflows.
pub(crate) fn terms(all: &[SubflowView]) -> impl Iterator<Item = Term> {
    let micros = |v: &SubflowView| (v.srtt.0 / 1000).max(1);
    let longest = all.iter().map(micros).max().unwrap_or(1);
    all.iter().map(move |v| {
        let q = ((longest << RATIO_BITS) / micros(v)).min(MAX_RATIO << RATIO_BITS);
        let (q, window) = (u128::from(q), u128::from(v.window));
        Term {
            rate: window * q,
            urgency: window * q * q,
            quality: u128::from(v.loss_interval) * q * q,
        }
    })
}

/// `urgency` / (sum of rates)² times `bytes`² bytes: a step of the window, with its fraction.
pub(crate) fn linked_step(urgency: u128, sum_of_rates: u128, bytes_squared: u128) -> u64 {
    let sum = (sum_of_rates * sum_of_rates) >> STEP_BITS;
    (urgency * bytes_squared / sum.max(1)).min(u128::from(u64::MAX >> 1)) as u64
}

/// mss · acked / window: NewReno's step, with its fraction.
pub(crate) fn own_step(window: u64, bytes_squared: u128) -> u64 {
    ((bytes_squared << STEP_BITS) / u128::from(window.max(1))) as u64
}

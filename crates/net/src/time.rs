//! Integer virtual time and rates. There is no floating-point time in the engine: a load gives the
//! same nanoseconds on every platform.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant: nanoseconds since the start of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

/// A span of virtual time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimDuration(pub u64);

impl SimTime {
    /// The start of the load.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than every event.
    pub const MAX: SimTime = SimTime(u64::MAX);

    /// The span since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: SimTime) -> SimDuration {
        SimDuration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start of the load, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl SimDuration {
    /// No time.
    pub const ZERO: SimDuration = SimDuration(0);

    /// A span of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        SimDuration(us * 1_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        SimDuration(ms * 1_000_000)
    }

    /// A span of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        SimDuration(s * 1_000_000_000)
    }

    /// Milliseconds rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_millis_f64(ms: f64) -> Self {
        // `as` saturates and maps NaN to 0, so hostile input cannot wrap.
        SimDuration((ms * 1e6).round() as u64)
    }

    /// Milliseconds, for output only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<SimDuration> for SimTime {
    type Output = SimTime;
    fn add(self, d: SimDuration) -> SimTime {
        SimTime(self.0 + d.0)
    }
}

impl AddAssign<SimDuration> for SimTime {
    fn add_assign(&mut self, d: SimDuration) {
        self.0 += d.0;
    }
}

impl Sub for SimTime {
    type Output = SimDuration;
    fn sub(self, earlier: SimTime) -> SimDuration {
        debug_assert!(self >= earlier, "time went back");
        SimDuration(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for SimDuration {
    type Output = SimDuration;
    fn add(self, d: SimDuration) -> SimDuration {
        SimDuration(self.0 + d.0)
    }
}

impl Sub for SimDuration {
    type Output = SimDuration;
    fn sub(self, d: SimDuration) -> SimDuration {
        SimDuration(self.0.saturating_sub(d.0))
    }
}

impl Mul<u64> for SimDuration {
    type Output = SimDuration;
    fn mul(self, n: u64) -> SimDuration {
        SimDuration(self.0.saturating_mul(n))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs_f64())
    }
}

/// A rate in bits per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(u64);

impl Bitrate {
    /// `None` for a zero rate: a link without a rate would hold its packets for ever.
    pub const fn from_bps(bps: u64) -> Option<Bitrate> {
        if bps == 0 { None } else { Some(Bitrate(bps)) }
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// A multiple of this rate, saturating.
    pub const fn times(self, n: u64) -> Bitrate {
        Bitrate(self.0.saturating_mul(if n == 0 { 1 } else { n }))
    }

    /// Bytes that this rate carries in `span`, rounded down (a bandwidth-delay product).
    pub fn bytes_in(self, span: SimDuration) -> u64 {
        (self.0 as u128 * span.0 as u128 / 8_000_000_000) as u64
    }
}

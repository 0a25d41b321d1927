//! Path schedulers: which subflow sends what next. One file each behind [`Schedule`]; adding one is a
//! variant of [`Scheduler`] here and one of [`PathScheduler`] in the configuration.

mod blest;
mod ecf;
pub(crate) mod estimator;
mod linux;
mod lowest_rtt;
mod otias;
mod redundant;
mod round_robin;
mod stream;

use loadpath_net::{SimDuration, SimTime};

use super::config::{MultipathConfig, PathScheduler};
use super::data_log::DataLog;
use crate::Endpoint;
use crate::unsent::UnsentPool;
use blest::Blest;
use ecf::Ecf;
use estimator::CompletionEstimator;
use linux::Linux;
use lowest_rtt::LowestRtt;
use otias::Otias;
use redundant::Redundant;
use round_robin::RoundRobin;
use stream::Stream;

/// A subflow as a scheduler sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathView {
    /// Its handshake is done, and it has not failed.
    pub usable: bool,
    /// Its congestion window has room for a segment.
    pub room: bool,
    pub srtt: SimDuration,
    pub rttvar: SimDuration,
    /// Congestion window without the inflation of fast recovery, bytes.
    pub window: u64,
    /// Slow-start threshold, bytes; `u64::MAX` before the first loss.
    pub ssthresh: u64,
    /// Bytes taken to be in the network.
    pub in_flight: u64,
    /// Bytes given to the subflow ahead of its window.
    pub queued: u64,
}

impl PathView {
    /// Without looking for room.
    pub fn of(endpoint: &Endpoint) -> PathView {
        let sender = endpoint.sender();
        PathView {
            usable: endpoint.is_open_to_send(),
            room: false,
            srtt: sender.rtt().srtt().unwrap_or_default(),
            rttvar: sender.rtt().rttvar(),
            window: sender.window(),
            ssthresh: sender.controller().ssthresh(),
            in_flight: sender.pipe(),
            queued: 0,
        }
    }
}

/// All that a scheduler looks at.
pub(crate) struct Situation<'a> {
    pub now: SimTime,
    pub paths: &'a [PathView],
    /// What is written and not yet sent, in the order in which it would leave.
    pub pool: &'a UnsentPool,
    /// Largest payload of a segment, bytes.
    pub mss: u64,
    /// What was sent and is not acknowledged.
    pub log: &'a DataLog,
    /// One past the last data sequence number that the window allows.
    pub data_edge: u64,
    /// Segments sent again so far, on all subflows.
    pub retransmissions: &'a dyn Fn() -> u64,
}

impl Situation<'_> {
    /// Usable subflows with their numbers.
    pub fn usable(&self) -> impl Iterator<Item = (usize, &PathView)> {
        self.paths.iter().enumerate().filter(|(_, p)| p.usable)
    }

    /// Usable subflows with room.
    pub fn available(&self) -> impl Iterator<Item = (usize, &PathView)> {
        self.usable().filter(|(_, p)| p.room)
    }

    /// The subflow of the lowest smoothed RTT, with room or not; the earlier of two alike.
    pub fn fastest(&self) -> Option<(usize, &PathView)> {
        self.usable().min_by_key(|(_, p)| p.srtt)
    }

    /// The same among those with room.
    pub fn fastest_available(&self) -> Option<(usize, &PathView)> {
        self.available().min_by_key(|(_, p)| p.srtt)
    }
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A segment of the message at this place of the pool.
    New { subflow: usize, message: usize },
    /// The segment of this data sequence number, which another subflow has carried.
    Again { subflow: usize, data_seq: u64 },
}

/// A path scheduler. `None` means: rather wait than send.
pub(crate) trait Schedule {
    fn choose(&mut self, s: &Situation) -> Option<Choice>;
}

/// The first message of the pool on `subflow`.
fn first_message(subflow: usize) -> Choice {
    Choice::New { subflow, message: 0 }
}

/// Any scheduler.
#[derive(Clone, Debug)]
pub(crate) enum Scheduler {
    LowestRtt(LowestRtt),
    RoundRobin(RoundRobin),
    Redundant(Redundant),
    Blest(Blest),
    Ecf(Ecf),
    Otias(Otias),
    Linux(Linux),
    Stream(Stream),
}

impl Scheduler {
    pub fn new(config: &MultipathConfig) -> Self {
        let estimator = || CompletionEstimator::new(config.estimator, &config.tcp);
        let stream = |look_ahead| Stream::new(look_ahead, estimator());
        match config.scheduler {
            PathScheduler::LowestRtt => Scheduler::LowestRtt(LowestRtt),
            PathScheduler::RoundRobin => Scheduler::RoundRobin(RoundRobin::default()),
            PathScheduler::Redundant => Scheduler::Redundant(Redundant::new()),
            PathScheduler::Blest => Scheduler::Blest(Blest::new()),
            PathScheduler::Ecf => Scheduler::Ecf(Ecf::default()),
            PathScheduler::Otias => Scheduler::Otias(Otias),
            PathScheduler::Linux => Scheduler::Linux(Linux::new()),
            PathScheduler::StreamSimple => Scheduler::Stream(stream(false)),
            PathScheduler::Stream => Scheduler::Stream(stream(true)),
        }
    }

    /// It may put data on a subflow that has no room for them.
    pub fn queues_ahead(&self) -> bool {
        matches!(self, Scheduler::Otias(_) | Scheduler::Linux(_))
    }

    /// It may choose [`Choice::Again`], even if the pool is empty.
    pub fn repeats(&self) -> bool {
        matches!(self, Scheduler::Redundant(_))
    }
}

impl Schedule for Scheduler {
    #[inline(always)]
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        match self {
            Scheduler::LowestRtt(x) => x.choose(s),
            Scheduler::Stream(x) => x.choose(s),
            _ => self.choose_otherwise(s),
        }
    }
}

impl Scheduler {
    #[inline(never)]
    fn choose_otherwise(&mut self, s: &Situation) -> Option<Choice> {
        match self {
            Scheduler::LowestRtt(x) => x.choose(s),
            Scheduler::RoundRobin(x) => x.choose(s),
            Scheduler::Redundant(x) => x.choose(s),
            Scheduler::Blest(x) => x.choose(s),
            Scheduler::Ecf(x) => x.choose(s),
            Scheduler::Otias(x) => x.choose(s),
            Scheduler::Linux(x) => x.choose(s),
            Scheduler::Stream(x) => x.choose(s),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::{Message, MessageId, SendOrder};

    /// A subflow in congestion avoidance: round-trip time in ms, window and bytes in flight in segments
    /// of 1000 bytes.
    pub fn path(srtt_ms: u64, window: u64, in_flight: u64) -> PathView {
        PathView {
            usable: true,
            room: in_flight < window,
            srtt: SimDuration::from_millis(srtt_ms),
            rttvar: SimDuration::ZERO,
            window: window * 1000,
            ssthresh: window * 1000,
            in_flight: in_flight * 1000,
            queued: 0,
        }
    }

    /// Messages 1, 2, ... of these lengths, the first one first.
    pub fn pool(lengths: &[u64]) -> UnsentPool {
        let mut pool = UnsentPool::new(SendOrder::Fifo);
        for (id, &len) in (1..).zip(lengths) {
            pool.write(Message { id: MessageId(id), len, priority: 0 });
        }
        pool
    }

    /// Nothing sent yet, a window of 1 GiB.
    pub fn situation<'a>(paths: &'a [PathView], pool: &'a UnsentPool) -> Situation<'a> {
        static NOTHING_SENT: LazyLock<DataLog> = LazyLock::new(DataLog::new);
        Situation {
            log: &NOTHING_SENT,
            now: SimTime::ZERO,
            paths,
            pool,
            mss: 1000,
            data_edge: 1 << 30,
            retransmissions: &|| 0,
        }
    }
}

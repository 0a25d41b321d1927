//! What a world asks of a connection, whatever the number of its subflows. Worlds take it as a type
//! parameter, so that a single path pays nothing for several.

use loadpath_net::{SimDuration, SimTime};

use crate::{
    Delivery, Endpoint, Estimator, Failure, Message, MultipathConfig, MultipathEndpoint,
    MultipathSegment, PathId, Segment, Stats, TcpConfig,
};

/// One end of a connection; the methods are those of [`Endpoint`].
pub trait Transport: Sized {
    /// Its parameters.
    type Config: Clone;
    /// What it sends.
    type Wire: Wire;
    /// Its segments may take different paths.
    const SEVERAL_PATHS: bool;

    /// The side that will connect.
    fn client(config: &Self::Config) -> Self;
    /// The side that waits to be connected to.
    fn server(config: &Self::Config) -> Self;
    /// See [`Endpoint::connect`].
    fn connect(&mut self, now: SimTime);
    /// See [`Endpoint::write`].
    fn write(&mut self, message: Message);
    /// See [`Endpoint::write_rest`].
    fn write_rest(&mut self, message: Message, written: u64);
    /// See [`Endpoint::close`].
    fn close(&mut self);
    /// See [`Endpoint::read`].
    fn read(&mut self) -> Option<Delivery>;
    /// See [`Endpoint::on_segment`].
    fn on_segment(&mut self, now: SimTime, segment: &Self::Wire);
    /// See [`Endpoint::on_timeout`].
    fn on_timeout(&mut self, now: SimTime);
    /// See [`Endpoint::next_timeout`].
    fn next_timeout(&self) -> Option<SimTime>;
    /// See [`Endpoint::poll_transmit`].
    fn poll_transmit(&mut self, now: SimTime) -> Option<(PathId, Self::Wire)>;
    /// See [`Endpoint::is_established`].
    fn is_established(&self) -> bool;
    /// See [`Endpoint::is_closed`].
    fn is_closed(&self) -> bool;
    /// See [`Endpoint::peer_closed`].
    fn peer_closed(&self) -> bool;
    /// See [`Endpoint::failure`].
    fn failure(&self) -> Option<Failure>;
    /// When `bytes` from now on would have arrived over the best subflow alone (thesis section 6.4.1.2).
    fn estimated_completion(&self, bytes: u64) -> Option<SimDuration>;
    /// Counters so far, of all subflows.
    fn stats(&self) -> Stats;
    /// The subflows in order of opening, with their paths; a connection over one path is its only one.
    fn subflows(&self) -> impl Iterator<Item = (PathId, &Endpoint)>;
}

/// What an end of a connection sends.
pub trait Wire: Copy {
    /// The TCP segment.
    fn tcp(&self) -> &Segment;
    /// The path that it takes.
    fn path(&self) -> PathId;
    /// Number of its subflow.
    fn subflow(&self) -> u8;
    /// The option of several subflows.
    fn multipath(&self) -> Option<&MultipathSegment>;
}

impl Wire for Segment {
    #[inline(always)]
    fn tcp(&self) -> &Segment {
        self
    }
    #[inline(always)]
    fn path(&self) -> PathId {
        PathId(0)
    }
    #[inline(always)]
    fn subflow(&self) -> u8 {
        0
    }
    #[inline(always)]
    fn multipath(&self) -> Option<&MultipathSegment> {
        None
    }
}

impl Wire for MultipathSegment {
    fn tcp(&self) -> &Segment {
        &self.tcp
    }
    fn path(&self) -> PathId {
        self.path
    }
    fn subflow(&self) -> u8 {
        self.subflow
    }
    fn multipath(&self) -> Option<&MultipathSegment> {
        Some(self)
    }
}

/// Passes the methods on to those of the type itself.
macro_rules! transport {
    ($type:ty, $config:ty, $wire:ty, $several:literal, |$this:ident| $stats:expr, $subflows:expr, $estimate:expr) => {
        impl Transport for $type {
            type Config = $config;
            type Wire = $wire;
            const SEVERAL_PATHS: bool = $several;

            fn client(config: &$config) -> Self {
                <$type>::client(config)
            }
            fn server(config: &$config) -> Self {
                <$type>::server(config)
            }
            fn connect(&mut self, now: SimTime) {
                self.connect(now);
            }
            fn write(&mut self, message: Message) {
                self.write(message);
            }
            fn write_rest(&mut self, message: Message, written: u64) {
                self.write_rest(message, written);
            }
            fn close(&mut self) {
                self.close();
            }
            #[inline]
            fn read(&mut self) -> Option<Delivery> {
                self.read()
            }
            #[inline]
            fn on_segment(&mut self, now: SimTime, segment: &$wire) {
                self.on_segment(now, segment);
            }
            fn on_timeout(&mut self, now: SimTime) {
                self.on_timeout(now);
            }
            #[inline]
            fn next_timeout(&self) -> Option<SimTime> {
                self.next_timeout()
            }
            #[inline]
            fn poll_transmit(&mut self, now: SimTime) -> Option<(PathId, $wire)> {
                self.poll_transmit(now)
            }
            fn is_established(&self) -> bool {
                self.is_established()
            }
            fn is_closed(&self) -> bool {
                self.is_closed()
            }
            fn peer_closed(&self) -> bool {
                self.peer_closed()
            }
            fn failure(&self) -> Option<Failure> {
                self.failure()
            }
            fn estimated_completion(&self, bytes: u64) -> Option<SimDuration> {
                let $this = self;
                ($estimate)(bytes)
            }
            fn stats(&self) -> Stats {
                let $this = self;
                $stats
            }
            fn subflows(&self) -> impl Iterator<Item = (PathId, &Endpoint)> {
                let $this = self;
                $subflows
            }
        }
    };
}

transport!(
    Endpoint,
    TcpConfig,
    Segment,
    false,
    |this| *this.stats(),
    std::iter::once((PathId(0), this)),
    |bytes| Endpoint::estimated_completion(this, bytes, Estimator::Loop)
);
transport!(
    MultipathEndpoint,
    MultipathConfig,
    MultipathSegment,
    true,
    |this| this.stats(),
    this.subflows(),
    |bytes| MultipathEndpoint::estimated_completion(this, bytes)
);

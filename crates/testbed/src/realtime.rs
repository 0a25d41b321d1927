//! The clock of the kernel and TUN devices as an [`Environment`].

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Clock, clock_gettime};

use loadpath_net::{Direction, SimDuration, SimTime};

use crate::driver::{Environment, Way};
use crate::report::Stopwatch;

/// Bounds of [`WakeUps::margin`]. Measured on a virtual machine of two processors: waking takes 5 to
/// 20 us while something runs, 100 to 200 us once the processor has been given back.
const MIN_SPIN: SimDuration = SimDuration::from_micros(60);
const MAX_SPIN: SimDuration = SimDuration::from_micros(300);

/// How long waking takes lately.
struct WakeUps {
    smoothed: SimDuration,
}

impl WakeUps {
    /// A thread that has to wait so long is to be woken this long before the end, and spins for the
    /// rest: a quarter at most beyond the minimum, since a thread of real-time priority that spins
    /// on and on is stopped by the kernel for 50 ms (sched(7), sched_rt_runtime_us).
    fn margin(&self, wait: SimDuration) -> SimDuration {
        SimDuration((2 * self.smoothed.0).min(wait.0 / 4)).clamp(MIN_SPIN, MAX_SPIN)
    }

    /// Takes in a wake-up by the timer. Single long ones are no reason to spin for longer.
    fn record(&mut self, late: SimDuration) {
        let late = late.min(MAX_SPIN);
        self.smoothed = SimDuration((7 * self.smoothed.0 + late.0) / 8);
    }
}

/// Ends a link from another thread.
#[derive(Debug)]
pub(crate) struct StopSignal {
    set: AtomicBool,
    wake: EventFd,
}

impl StopSignal {
    pub(crate) fn new() -> io::Result<StopSignal> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(StopSignal { set: AtomicBool::new(false), wake })
    }

    pub(crate) fn stop(&self) {
        self.set.store(true, Ordering::Relaxed);
        // It fails only if it was written to 2^64 times.
        let _ = self.wake.write(1);
    }
}

/// The devices of a path.
#[derive(Debug)]
pub(crate) struct Devices {
    pub(crate) client: File,
    pub(crate) server: File,
}

impl Devices {
    fn of(&mut self, end: End) -> &mut File {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.server,
        }
    }
}

/// An end of a path.
#[derive(Clone, Copy)]
enum End {
    Client,
    Server,
}

pub(crate) struct RealTime<'a> {
    paths: Vec<Devices>,
    stop: &'a StopSignal,
    epoll: Epoll,
    timer: TimerFd,
    start: Duration,
    scheduling: Option<File>,
    waited_before: SimDuration,
    wake_ups: WakeUps,
    /// Waits for a processor.
    pub(crate) stalls: Stopwatch,
}

impl<'a> RealTime<'a> {
    /// For the calling thread.
    pub(crate) fn new(paths: Vec<Devices>, stop: &'a StopSignal) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK,
        )?;
        let readable = EpollEvent::new(EpollFlags::EPOLLIN, 0);
        // Edge-triggered: setting the timer anew clears it, so that it is never read.
        let fired = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0);
        for devices in &paths {
            epoll.add(&devices.client, readable)?;
            epoll.add(&devices.server, readable)?;
        }
        epoll.add(&stop.wake, readable)?;
        epoll.add(timer.as_fd(), fired)?;
        let mut environment = RealTime {
            paths,
            stop,
            epoll,
            timer,
            start: clock(Clock::CLOCK_MONOTONIC)?,
            // Kernels without CONFIG_SCHED_INFO do not have it.
            scheduling: File::open("/proc/thread-self/schedstat").ok(),
            waited_before: SimDuration::ZERO,
            wake_ups: WakeUps { smoothed: MIN_SPIN },
            stalls: Stopwatch::default(),
        };
        environment.waited_before = environment.waited();
        Ok(environment)
    }

    /// How long this thread was ready to run and did not, so far.
    fn waited(&self) -> SimDuration {
        let mut line = [0; 64];
        let read = self.scheduling.as_ref().and_then(|file| file.read_at(&mut line, 0).ok());
        let text = std::str::from_utf8(&line[..read.unwrap_or(0)]).unwrap_or_default();
        // Documentation/scheduler/sched-stats.rst: time running, time waiting (both ns), time slices.
        let waited_ns = text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok());
        SimDuration(waited_ns.unwrap_or(0))
    }
}

/// The reading of a clock.
pub(crate) fn clock(clock: Clock) -> io::Result<Duration> {
    Ok(clock_gettime(clock)?.into())
}

impl Environment for RealTime<'_> {
    fn now(&mut self) -> SimTime {
        let reading = clock(Clock::CLOCK_MONOTONIC).expect("every kernel has this clock");
        SimTime((reading - self.start).as_nanos() as u64)
    }

    fn receive(&mut self, way: Way, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let from = match way.direction {
            Direction::Down => End::Server,
            Direction::Up => End::Client,
        };
        match self.paths[way.path].of(from).read(buffer) {
            Ok(size) => Ok(Some(size)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn send(&mut self, way: Way, packet: &[u8]) -> bool {
        let to = match way.direction {
            Direction::Down => End::Client,
            Direction::Up => End::Server,
        };
        self.paths[way.path].of(to).write(packet).is_ok()
    }

    fn wait(&mut self, until: Option<SimTime>) -> io::Result<()> {
        let alarm = match until {
            Some(until) => {
                let now = self.now();
                let wait = SimDuration(until.0.saturating_sub(now.0));
                let margin = self.wake_ups.margin(wait);
                if wait <= margin {
                    return Ok(());
                }
                let alarm = SimTime(until.0 - margin.0);
                let at = self.start + Duration::from_nanos(alarm.0);
                self.timer.set(
                    Expiration::OneShot(TimeSpec::from_duration(at)),
                    TimerSetTimeFlags::TFD_TIMER_ABSTIME,
                )?;
                Some(alarm)
            }
            None => None,
        };
        // Which of them it was shows when they are read.
        match self.epoll.wait(&mut [EpollEvent::empty(); 8], EpollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let waited = self.waited();
        self.stalls.record(waited - self.waited_before);
        self.waited_before = waited;
        let now = self.now();
        if let Some(alarm) = alarm.filter(|&alarm| alarm <= now) {
            self.wake_ups.record(now - alarm);
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.set.load(Ordering::Relaxed)
    }
}

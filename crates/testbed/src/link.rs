//! A link that runs on a thread of its own.

use std::fs;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadpath_net::{Direction, Hop, Link, SimTime};
use nix::time::ClockId;

use crate::driver::{Duplex, Environment};
use crate::namespaces::TcpSettings;
use crate::realtime::{RealTime, StopSignal, clock};
use crate::report::{Percentiles, Recorder, Report, Verdict};
use crate::{Error, Namespaces, sys};

/// In the middle of the range, below the kernel's own threads at 99.
const REAL_TIME_PRIORITY: i32 = 50;

/// What a link is like.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Towards the client.
    pub down: Hop,
    /// Towards the server.
    pub up: Hop,
    /// Counted for the rate on top of each IP packet.
    pub overhead_bytes: u32,
    /// Initial congestion window of both ends.
    pub initial_window_segments: u64,
    /// Congestion controller of both ends, the kernel's name.
    pub congestion: String,
}

/// A link between the namespaces, until it is stopped.
#[derive(Debug)]
pub struct RunningLink {
    namespaces: Namespaces,
    stop: Arc<StopSignal>,
    thread: JoinHandle<io::Result<Finished>>,
}

/// What the thread of a link leaves.
struct Finished {
    duplex: Duplex,
    recorder: Recorder,
    environment: Measured,
}

struct Measured {
    ended: SimTime,
    real_time: bool,
    cpu: Duration,
    stolen: Duration,
    stalls: Percentiles,
}

impl RunningLink {
    /// Sets the namespaces up and starts.
    ///
    /// # Errors
    /// If there is no TUN device, no `ip`, or no such congestion controller.
    pub fn start(namespaces: Namespaces, config: LinkConfig) -> Result<RunningLink, Error> {
        let tcp = TcpSettings {
            initial_window_segments: config.initial_window_segments,
            congestion: &config.congestion,
        };
        let (client, server) = namespaces.connect(&tcp)?;
        let hint = "the machine is short of memory, files or threads";
        let stop = Arc::new(StopSignal::new().map_err(Error::of("make an event", hint))?);
        let duplex = Duplex {
            down: Link::new(config.down),
            up: Link::new(config.up),
            overhead_bytes: config.overhead_bytes,
        };
        let signal = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("link".into())
            .spawn(move || forward(duplex, RealTime::new(client, server, &signal)?))
            .map_err(Error::of("start a thread", hint))?;
        Ok(RunningLink { namespaces, stop, thread })
    }

    /// True if it stopped by itself, because a device failed.
    pub fn failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops it; the namespaces go with it.
    ///
    /// # Errors
    /// If a device had failed.
    pub fn stop(self) -> Result<Report, Error> {
        // While the devices are there.
        let (client_drops, server_drops) = self.namespaces.device_drops();
        self.stop.stop();
        let finished = self.thread.join().expect("forwarding does not panic").map_err(
            Error::of("forward packets", "a device of the link was changed from outside"),
        )?;
        let Measured { ended, real_time, cpu, stolen, stalls } = finished.environment;
        let report = |direction, drops| {
            finished.recorder.report(direction, finished.duplex.link(direction), ended, drops)
        };
        let down = report(Direction::Down, server_drops);
        let up = report(Direction::Up, client_drops);
        Ok(Report {
            duration_ms: ended.as_secs_f64() * 1e3,
            real_time,
            rootless: self.namespaces.rootless(),
            cpu_ms: cpu.as_secs_f64() * 1e3,
            stolen_ms: stolen.as_secs_f64() * 1e3,
            verdict: Verdict::of(&stalls, &down, &up),
            stalls,
            down,
            up,
        })
    }
}

/// The thread of a link.
fn forward(mut duplex: Duplex, mut environment: RealTime) -> io::Result<Finished> {
    let real_time = sys::take_real_time_priority(REAL_TIME_PRIORITY);
    let mut recorder = Recorder::default();
    let stolen_before = stolen();
    duplex.run(&mut environment, &mut recorder)?;
    let environment = Measured {
        ended: environment.now(),
        real_time,
        cpu: clock(ClockId::CLOCK_THREAD_CPUTIME_ID)?,
        stolen: stolen().saturating_sub(stolen_before),
        stalls: environment.stalls.percentiles(),
    };
    Ok(Finished { duplex, recorder, environment })
}

/// Processor time that the machine below took so far, proc_stat(5): column "steal".
fn stolen() -> Duration {
    /// USER_HZ, which is 100 on all architectures but Alpha and IA-64.
    const TICK: Duration = Duration::from_millis(10);
    let statistics = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = statistics.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok());
    TICK * ticks.unwrap_or(0)
}

//! A link that runs on a thread of its own.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadpath_net::{Direction, Hop, Link, SimTime};
use nix::time::ClockId;

use crate::driver::{Duplex, Environment, Fate, Observer, Way, run};
use crate::namespaces::TcpSettings;
use crate::realtime::{RealTime, StopSignal, clock};
use crate::report::{PathReport, Percentiles, Recorder, Report, Verdict};
use crate::tap::{Tap, Writer};
use crate::{Error, Namespaces, sys};

/// In the middle of the range, below the kernel's own threads at 99.
const REAL_TIME_PRIORITY: i32 = 50;

/// A path between both ends.
#[derive(Clone, Debug)]
pub struct PathConfig {
    /// Towards the client.
    pub down: Hop,
    /// Towards the server.
    pub up: Hop,
}

/// What a link is like.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// One, or two.
    pub paths: Vec<PathConfig>,
    /// Number, from 0, of the path that packets take unless their sender chooses another.
    pub first_path: usize,
    /// Counted for the rate on top of each IP packet.
    pub overhead_bytes: u32,
    /// Initial congestion window of both ends.
    pub initial_window_segments: u64,
    /// Congestion controller of both ends, the kernel's name.
    pub congestion: String,
    /// File for a capture of both ends.
    pub tap: Option<PathBuf>,
}

/// A link between the namespaces, until it is stopped.
#[derive(Debug)]
pub struct RunningLink {
    namespaces: Namespaces,
    stop: Arc<StopSignal>,
    thread: JoinHandle<io::Result<Finished>>,
    writer: Option<Writer>,
}

/// What the thread of a link leaves.
struct Finished {
    paths: Vec<Duplex>,
    recorder: Recorder,
    missed: u64,
    environment: Measured,
}

struct Measured {
    ended: SimTime,
    real_time: bool,
    cpu: Duration,
    stolen: Duration,
    stalls: Percentiles,
}

/// What looks at the packets of a running link.
struct Watch {
    recorder: Recorder,
    tap: Option<Tap>,
}

impl Observer for Watch {
    fn arrived(&mut self, way: Way, at: SimTime, packet: &[u8], fate: Fate) {
        if let Some(tap) = &mut self.tap {
            tap.arrived(way, at, packet, fate);
        }
    }

    fn departed(&mut self, way: Way, due: SimTime, at: SimTime, packet: &[u8], taken: bool) {
        self.recorder.departed(way, due, at, packet, taken);
        if let Some(tap) = &mut self.tap {
            tap.departed(way, due, at, packet, taken);
        }
    }
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
        let devices = namespaces.connect(&tcp, config.paths.len(), config.first_path)?;
        let hint = "the machine is short of memory, files or threads";
        let stop = Arc::new(StopSignal::new().map_err(Error::of("make an event", hint))?);
        let path = |path: PathConfig| {
            Duplex::new(Link::new(path.down), Link::new(path.up), config.overhead_bytes)
        };
        let paths: Vec<_> = config.paths.into_iter().map(path).collect();
        let (tap, writer) = match &config.tap {
            Some(file) => Tap::start(file, paths.len()).map(|(tap, w)| (Some(tap), Some(w)))?,
            None => (None, None),
        };
        let signal = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("link".into())
            .spawn(move || forward(paths, RealTime::new(devices, &signal)?, tap))
            .map_err(Error::of("start a thread", hint))?;
        Ok(RunningLink { namespaces, stop, thread, writer })
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
        let drops = self.namespaces.device_drops();
        self.stop.stop();
        let finished = self.thread.join().expect("forwarding does not panic").map_err(
            Error::of("forward packets", "a device of the link was changed from outside"),
        )?;
        let Measured { ended, real_time, cpu, stolen, stalls } = finished.environment;
        let report = |path: usize, direction, drops| {
            let link = finished.paths[path].link(direction);
            finished.recorder.report(Way { path, direction }, link, ended, drops)
        };
        let paths: Vec<_> = (0..finished.paths.len())
            .map(|path| PathReport {
                down: report(path, Direction::Down, drops.server[path]),
                up: report(path, Direction::Up, drops.client[path]),
            })
            .collect();
        let tap = self.writer.map(|writer| writer.finish(finished.missed));
        let rtts = finished.paths.iter().map(Duplex::rtt);
        let mut verdict = Verdict::of(&stalls, &paths, rtts.min().unwrap_or_default());
        if let Some(tap) = &tap {
            verdict.judge_tap(tap);
        }
        let mut paths = paths.into_iter();
        let first = paths.next().expect("a link has a path");
        Ok(Report {
            duration_ms: ended.as_secs_f64() * 1e3,
            real_time,
            rootless: self.namespaces.rootless(),
            cpu_ms: cpu.as_secs_f64() * 1e3,
            stolen_ms: stolen.as_secs_f64() * 1e3,
            stalls,
            down: first.down,
            up: first.up,
            path2: paths.next(),
            tap,
            verdict,
        })
    }
}

/// The thread of a link.
fn forward(
    mut paths: Vec<Duplex>,
    mut environment: RealTime,
    tap: Option<Tap>,
) -> io::Result<Finished> {
    let real_time = sys::take_real_time_priority(REAL_TIME_PRIORITY);
    let mut watch = Watch { recorder: Recorder::new(paths.len()), tap };
    let stolen_before = stolen();
    run(&mut paths, &mut environment, &mut watch)?;
    let environment = Measured {
        ended: environment.now(),
        real_time,
        cpu: clock(ClockId::CLOCK_THREAD_CPUTIME_ID)?,
        stolen: stolen().saturating_sub(stolen_before),
        stalls: environment.stalls.percentiles(),
    };
    let missed = watch.tap.map_or(0, Tap::missed);
    Ok(Finished { paths, recorder: watch.recorder, missed, environment })
}

/// Processor time that the machine below took so far, proc_stat(5): column "steal".
fn stolen() -> Duration {
    /// USER_HZ, which is 100 on all architectures but Alpha and IA-64.
    const TICK: Duration = Duration::from_millis(10);
    let statistics = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = statistics.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok());
    TICK * ticks.unwrap_or(0)
}

//! A capture of both ends of every path, as pcapng.
//!
//! The thread of the link must never wait for a disk: it hands copies of packets to a writer's thread
//! through a channel of bounded length, never blocks, and counts what found no room. The writer looks
//! for packets by the clock instead of being woken, which would cost the link's thread a system call
//! a packet.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadpath_net::{Direction, SimDuration, SimTime};
use nix::time::ClockId;

use crate::Error;
use crate::driver::{Fate, Observer, Way};
use crate::realtime::clock;
use crate::report::TapReport;

/// 24 MB of full packets: more than a second at 100 Mbit/s.
const MOST_WAITING: usize = 16_384;
/// How often the writer looks. At 100 Mbit/s few hundred packets gather meanwhile.
const LOOK: Duration = Duration::from_millis(5);
/// A packet handed over later than this has a comment that says so.
const LATE: SimDuration = SimDuration::from_micros(300);

/// What happened at an end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Arrived(Fate),
    Departed { late: SimDuration, taken: bool },
}

struct Seen {
    way: Way,
    at: SimTime,
    event: Event,
    packet: Vec<u8>,
}

/// The end of the channel that the link has.
pub(crate) struct Tap {
    sender: SyncSender<Seen>,
    missed: u64,
}

/// The thread that writes, and its file.
#[derive(Debug)]
pub(crate) struct Writer {
    thread: JoinHandle<(u64, io::Result<()>)>,
    partial: PathBuf,
    file: PathBuf,
}

impl Tap {
    /// Starts a writer. Until the capture is complete its file has ".part" behind its name.
    pub(crate) fn start(path: &Path, paths: usize) -> Result<(Tap, Writer), Error> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let named = format!("write the capture {}", partial.display());
        let file = File::create(&partial)
            .map_err(Error::of(&named, "the folder must exist and be writable"))?;
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let thread = thread::Builder::new()
            .name("tap".into())
            .spawn(move || {
                let mut capture = Capture::new(BufWriter::new(file));
                let result = write(&mut capture, &receiver, paths);
                (capture.packets, result)
            })
            .map_err(Error::of("start a thread", "the machine is short of threads"))?;
        let writer = Writer { thread, partial, file: path.to_owned() };
        Ok((Tap { sender, missed: 0 }, writer))
    }

    /// Packets without a place in the capture.
    pub(crate) fn missed(self) -> u64 {
        self.missed
    }

    fn hand_over(&mut self, way: Way, at: SimTime, event: Event, packet: &[u8]) {
        let seen = Seen { way, at, event, packet: packet.to_vec() };
        match self.sender.try_send(seen) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.missed += 1,
        }
    }
}

impl Writer {
    /// Waits for the last packet; the link must have ended.
    pub(crate) fn finish(self, missed: u64) -> TapReport {
        let (packets, result) = self.thread.join().expect("writing does not panic");
        let result = result.and_then(|()| std::fs::rename(&self.partial, &self.file));
        TapReport { packets, missed, error: result.err().map(|error| error.to_string()) }
    }
}

impl Observer for Tap {
    fn arrived(&mut self, way: Way, at: SimTime, packet: &[u8], fate: Fate) {
        self.hand_over(way, at, Event::Arrived(fate), packet);
    }

    fn departed(&mut self, way: Way, due: SimTime, at: SimTime, packet: &[u8], taken: bool) {
        let event = Event::Departed { late: at.since(due), taken };
        self.hand_over(way, due, event, packet);
    }
}

/// The thread of the writer.
fn write(capture: &mut Capture<impl Write>, seen: &Receiver<Seen>, paths: usize) -> io::Result<()> {
    capture.start(paths)?;
    loop {
        match seen.try_recv() {
            Ok(seen) => capture.packet(&seen)?,
            Err(TryRecvError::Empty) => thread::sleep(LOOK),
            Err(TryRecvError::Disconnected) => return capture.out.flush(),
        }
    }
}

/// draft-ietf-opsawg-pcapng: blocks of 32-bit words in the machine's order.
struct Capture<W> {
    out: W,
    packets: u64,
    /// Added to the link's time.
    epoch: Duration,
}

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// LINKTYPE_RAW: an IP packet.
const RAW: u16 = 101;
const COMMENT: u16 = 1;
/// Before the nanoseconds since 1970 at which the link's time starts.
const START: &str = "link time starts at ns ";
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

impl<W: Write> Capture<W> {
    fn new(out: W) -> Capture<W> {
        let epoch = clock(ClockId::CLOCK_REALTIME).unwrap_or_default();
        Capture { out, packets: 0, epoch }
    }

    /// Two interfaces a path: its client's end and its server's.
    fn start(&mut self, paths: usize) -> io::Result<()> {
        let mut section = vec![];
        section.extend(0x1A2B_3C4Du32.to_ne_bytes());
        section.extend(1u16.to_ne_bytes());
        section.extend(0u16.to_ne_bytes());
        section.extend((-1i64).to_ne_bytes());
        let start = format!("{START}{}", self.epoch.as_nanos());
        option(&mut section, COMMENT, start.as_bytes());
        option(&mut section, 0, &[]);
        self.block(SECTION, &section)?;
        for path in 1..=paths {
            for end in ["client", "server"] {
                let mut interface = vec![];
                interface.extend(RAW.to_ne_bytes());
                interface.extend([0; 6]);
                let name = if paths > 1 { format!("{end}, path {path}") } else { end.into() };
                option(&mut interface, IF_NAME, name.as_bytes());
                option(&mut interface, IF_TSRESOL, &[9]);
                option(&mut interface, 0, &[]);
                self.block(INTERFACE, &interface)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, seen: &Seen) -> io::Result<()> {
        let Seen { way, at, event, packet } = seen;
        let at_server = match (way.direction, event) {
            (Direction::Up, Event::Arrived(_)) | (Direction::Down, Event::Departed { .. }) => 0,
            _ => 1,
        };
        let stamp = self.epoch.as_nanos() as u64 + at.0;
        let size = packet.len() as u32;
        let mut body = Vec::with_capacity(packet.len() + 96);
        body.extend((2 * way.path as u32 + at_server).to_ne_bytes());
        body.extend(((stamp >> 32) as u32).to_ne_bytes());
        body.extend((stamp as u32).to_ne_bytes());
        body.extend(size.to_ne_bytes());
        body.extend(size.to_ne_bytes());
        body.extend(packet);
        pad(&mut body);
        // As the program at that end sees it.
        let flags = match event {
            Event::Arrived(_) => OUTBOUND,
            Event::Departed { .. } => INBOUND,
        };
        option(&mut body, EPB_FLAGS, &flags.to_ne_bytes());
        let comment = match event {
            Event::Arrived(Fate::Lost) => Some("lost".into()),
            Event::Arrived(Fate::Dropped) => Some("dropped by the queue".into()),
            Event::Departed { taken: false, .. } => Some("refused by the device".into()),
            Event::Departed { late, .. } if *late > LATE => {
                Some(format!("handed over {:.3} ms late", late.as_millis_f64()))
            }
            _ => None,
        };
        if let Some(comment) = comment {
            option(&mut body, COMMENT, comment.as_bytes());
        }
        option(&mut body, 0, &[]);
        self.block(ENHANCED_PACKET, &body)?;
        self.packets += 1;
        Ok(())
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (body.len() as u32 + 12).to_ne_bytes();
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(body)?;
        self.out.write_all(&length)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_ne_bytes());
    body.extend((value.len() as u16).to_ne_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

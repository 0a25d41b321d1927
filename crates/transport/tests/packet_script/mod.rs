//! Runs packet scripts; the format is described in `tests/scripts/README.md`.

mod parse;

use std::collections::VecDeque;
use std::fmt;

use loadpath_net::{SimDuration, SimTime};
use loadpath_transport::*;

use parse::{Action, Comparison, Pattern, Script, Start};

/// What went wrong, with the line of the script.
pub struct ScriptError {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Runs the text of a script.
pub fn run(text: &str) -> Result<(), ScriptError> {
    let script = Script::parse(text)?;
    Runner::start(&script).and_then(|mut runner| {
        for step in &script.steps {
            runner
                .step(step.at, &step.action)
                .map_err(|message| ScriptError { line: step.line, message })?;
        }
        runner
            .expect_silence()
            .map_err(|message| ScriptError { line: text.lines().count(), message })
    })
}

struct Runner {
    endpoint: Endpoint,
    now: SimTime,
    /// Virtual time of the script's zero.
    zero: SimTime,
    sent: VecDeque<(SimTime, Segment)>,
    reads: bool,
    read: VecDeque<Delivery>,
}

/// What the scripted peer offers if a line does not say.
const PEER_WINDOW: u32 = 65_535 << 14;

impl Runner {
    fn start(script: &Script) -> Result<Runner, ScriptError> {
        let mut endpoint = match script.start {
            Start::Client => Endpoint::client(&script.config),
            _ => Endpoint::server(&script.config),
        };
        let mut zero = SimTime::ZERO;
        if let Start::Established { rtt } = script.start {
            let syn = Segment {
                flags: Flags::SYN,
                window: PEER_WINDOW,
                echo: SimTime::MAX,
                ..Segment::default()
            };
            endpoint.on_segment(SimTime::ZERO, &syn);
            let answer = endpoint.poll_transmit(SimTime::ZERO);
            assert!(answer.is_some_and(|(_, s)| s.flags.has(Flags::SYN.with(Flags::ACK))));
            zero = SimTime::ZERO + rtt;
            let ack = Segment {
                flags: Flags::ACK,
                seq: 1,
                ack: 1,
                window: PEER_WINDOW,
                timestamp: zero,
                echo: SimTime::ZERO,
                ..Segment::default()
            };
            endpoint.on_segment(zero, &ack);
            assert!(endpoint.is_established());
        }
        Ok(Runner {
            endpoint,
            now: zero,
            zero,
            sent: VecDeque::new(),
            reads: true,
            read: VecDeque::new(),
        })
    }

    fn step(&mut self, at: SimDuration, action: &Action) -> Result<(), String> {
        self.advance(self.zero + at);
        match action {
            Action::Expect(_) | Action::ExpectRun(_) | Action::Delivered(_) => {}
            // What left at this instant may be expected after the assertions.
            Action::Assert(_) if self.sent.front().is_none_or(|(at, _)| *at == self.now) => {}
            _ => self.expect_silence()?,
        }
        match action {
            Action::Expect(pattern) => return self.expect(pattern),
            Action::ExpectRun(range) => return self.expect_run(*range),
            Action::Delivered(expected) => return self.expect_delivery(*expected),
            Action::Inject(pattern) => {
                let segment = pattern.to_segment(self.now, self.zero, PEER_WINDOW);
                self.endpoint.on_segment(self.now, &segment);
            }
            Action::Connect => self.endpoint.connect(self.now),
            Action::Write(message) => self.endpoint.write(*message),
            Action::Close => self.endpoint.close(),
            Action::Reads(reads) => self.reads = *reads,
            Action::Wait => {}
            Action::Assert(comparison) => return self.check(comparison),
        }
        self.drain();
        Ok(())
    }

    /// Lets the timers fire up to `to`.
    fn advance(&mut self, to: SimTime) {
        while let Some(at) = self.endpoint.next_timeout().filter(|&at| at <= to) {
            self.now = at;
            self.endpoint.on_timeout(at);
            self.drain();
        }
        self.now = to;
    }

    fn drain(&mut self) {
        if self.reads {
            while let Some(delivery) = self.endpoint.read() {
                self.read.push_back(delivery);
            }
        }
        while let Some((_, segment)) = self.endpoint.poll_transmit(self.now) {
            self.sent.push_back((self.now, segment));
        }
    }

    fn expect_silence(&self) -> Result<(), String> {
        match self.sent.front() {
            None => Ok(()),
            Some((at, segment)) => {
                Err(format!("nothing expected, got at {}: {}", self.ms(*at), self.show(segment)))
            }
        }
    }

    fn expect(&mut self, pattern: &Pattern) -> Result<(), String> {
        let Some((at, segment)) = self.sent.pop_front() else {
            return Err(format!("expected {}, got nothing", pattern.text));
        };
        let got = || format!("got at {}: {}", self.ms(at), self.show(&segment));
        if at != self.now {
            return Err(format!("expected at {}: {}, {}", self.ms(self.now), pattern.text, got()));
        }
        match pattern.mismatch(&segment, self.zero) {
            None => Ok(()),
            Some(what) => Err(format!("{what} differs: expected {}, {}", pattern.text, got())),
        }
    }

    /// New full segments, one after the other.
    fn expect_run(&mut self, range: SeqRange) -> Result<(), String> {
        let mut next = range.start;
        while next < range.end {
            let Some((at, segment)) = self.sent.pop_front() else {
                return Err(format!("expected {next}:..., got nothing"));
            };
            if at != self.now || segment.seq != next || segment.len == 0 || segment.retransmission {
                let (at, got) = (self.ms(at), self.show(&segment));
                return Err(format!("expected new data from {next}, got at {at}: {got}"));
            }
            next += u64::from(segment.len);
        }
        if next == range.end { Ok(()) } else { Err(format!("the run ends at {next}")) }
    }

    fn expect_delivery(&mut self, expected: Delivery) -> Result<(), String> {
        match self.read.pop_front() {
            Some(got) if got == expected => Ok(()),
            got => Err(format!("expected to read {expected:?}, got {got:?}")),
        }
    }

    fn check(&self, comparison: &Comparison) -> Result<(), String> {
        let e = &self.endpoint;
        let time = |d: Option<SimDuration>| d.map_or("none".into(), |d| ms_text(d.0));
        let stats = e.stats();
        let got = match comparison.name.as_str() {
            "cwnd" => e.cwnd_bytes().to_string(),
            "ssthresh" => e.ssthresh_bytes().map_or("none".into(), |t| t.to_string()),
            "state" => e.state_name().to_string(),
            "in_flight" => e.in_flight_bytes().to_string(),
            "outstanding" => e.outstanding_bytes().to_string(),
            "unsent" => e.unsent_bytes().to_string(),
            "rto" => time(Some(e.rto())),
            "srtt" => time(e.srtt()),
            "timer" => e.next_timeout().map_or("none".into(), |at| self.ms(at)),
            "established" => e.is_established().to_string(),
            "closed" => e.is_closed().to_string(),
            "peer_closed" => e.peer_closed().to_string(),
            "failure" => e.failure().map_or("none".into(), |f| format!("{f:?}")),
            "timeouts" => stats.timeouts.to_string(),
            "tail_losses" => stats.tail_losses.to_string(),
            "recoveries" => stats.recoveries.to_string(),
            "retransmissions" => stats.retransmissions.to_string(),
            "syn_retransmissions" => stats.syn_retransmissions.to_string(),
            "data_segments" => stats.data_segments.to_string(),
            "data_bytes" => stats.data_bytes.to_string(),
            "dup_acks" => stats.dup_acks.to_string(),
            "window_probes" => stats.window_probes.to_string(),
            other => return Err(format!("nothing is called {other}")),
        };
        let near = match (got.parse::<u64>(), comparison.value.parse::<u64>()) {
            (Ok(got), Ok(value)) => got.abs_diff(value) <= comparison.tolerance,
            _ => got == comparison.value,
        };
        if near {
            Ok(())
        } else {
            Err(format!("expected {} {}, got {got}", comparison.name, comparison.value))
        }
    }

    fn ms(&self, at: SimTime) -> String {
        ms_text(at.since(self.zero).0)
    }

    fn show(&self, s: &Segment) -> String {
        let mut flags = String::new();
        for (flag, letter) in parse::FLAGS {
            if s.flags.has(flag) {
                flags.push(letter);
            }
        }
        let report = match s.report {
            Report::None => String::new(),
            Report::Nack(r) => {
                let r = r.from(s.ack);
                format!(" nack {}:{}", r.start, r.end)
            }
            Report::Sack(blocks) => blocks
                .iter()
                .filter(|b| b.start < b.end)
                .map(|b| b.from(s.ack))
                .fold(" sack".into(), |t, r| format!("{t} {}:{}", r.start, r.end)),
        };
        let again = if s.retransmission { " again" } else { "" };
        let echo = if s.echo == SimTime::MAX { "none".into() } else { self.ms(s.echo) };
        format!(
            "{flags} {}:{} ack {} win {} msg {}@{} ts {} ecr {echo} wire {}{report}{again}",
            s.seq,
            s.seq + u64::from(s.len),
            s.ack,
            s.window,
            s.message.0,
            s.offset,
            self.ms(s.timestamp),
            s.wire_bytes,
        )
    }
}

/// Milliseconds with as many decimals as there are.
fn ms_text(ns: u64) -> String {
    let text = format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

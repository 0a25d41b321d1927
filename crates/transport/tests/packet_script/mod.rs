//! Runs packet scripts; the format is described in `tests/scripts/README.md`.

mod machine;
mod parse;

use std::collections::VecDeque;
use std::fmt;

use loadpath_net::{SimDuration, SimTime};
use loadpath_transport::*;

use machine::Machine;
use parse::{Action, Comparison, PEER_WINDOW, Pattern, Script, Start};

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
    endpoint: Machine,
    now: SimTime,
    /// Virtual time of the script's zero.
    zero: SimTime,
    sent: VecDeque<(SimTime, MultipathSegment)>,
    reads: bool,
    read: VecDeque<Delivery>,
    /// What the scripted peer acknowledged of the connection so far.
    data_ack: u64,
    /// What it offers if a line does not say.
    window: u32,
}

impl Runner {
    fn start(script: &Script) -> Result<Runner, ScriptError> {
        let (config, single) = (&script.config, |endpoint| Machine::Single(Box::new(endpoint)));
        let mut endpoint = match &script.start {
            Start::Client => single(Endpoint::client(&config.tcp)),
            Start::Server | Start::Established { .. } => single(Endpoint::server(&config.tcp)),
            Start::SubflowClient => Machine::Several(Box::new(MultipathEndpoint::client(config))),
            Start::Subflows { rtts, .. } => {
                let config = MultipathConfig { subflows: rtts.len() as u8, ..*config };
                Machine::Several(Box::new(MultipathEndpoint::server(&config)))
            }
        };
        let (rtts, window) = match &script.start {
            Start::Established { rtt } => (vec![*rtt], PEER_WINDOW),
            Start::Subflows { rtts, window } => (rtts.clone(), *window),
            _ => (Vec::new(), PEER_WINDOW),
        };
        let zero = handshakes(&mut endpoint, &rtts, window);
        Ok(Runner {
            endpoint,
            now: zero,
            zero,
            sent: VecDeque::new(),
            reads: true,
            read: VecDeque::new(),
            data_ack: 1,
            window,
        })
    }

    fn step(&mut self, at: SimDuration, action: &Action) -> Result<(), String> {
        self.advance(self.zero + at);
        match action {
            Action::Expect(_) | Action::ExpectRun { .. } | Action::Delivered(_) => {}
            // What left at this instant may be expected after the assertions.
            Action::Assert(_) if self.sent.front().is_none_or(|(at, _)| *at == self.now) => {}
            _ => self.expect_silence()?,
        }
        match action {
            Action::Expect(pattern) => return self.expect(pattern),
            Action::ExpectRun { subflow, range } => return self.expect_run(*subflow, *range),
            Action::Delivered(expected) => return self.expect_delivery(*expected),
            Action::Inject(pattern) => {
                let segment = pattern.to_segment(self.now, self.zero, self.window, self.data_ack);
                self.data_ack = self.data_ack.max(segment.data_ack);
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
        while let Some(segment) = self.endpoint.poll_transmit(self.now) {
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
    fn expect_run(&mut self, subflow: u8, range: SeqRange) -> Result<(), String> {
        let mut next = range.start;
        while next < range.end {
            let Some((at, segment)) = self.sent.pop_front() else {
                return Err(format!("expected {next}:..., got nothing"));
            };
            let s = &segment.tcp;
            let new = s.seq == next && s.len > 0 && !s.retransmission;
            if at != self.now || !new || segment.subflow != subflow {
                let (at, got) = (self.ms(at), self.show(&segment));
                return Err(format!("expected new data from {next}, got at {at}: {got}"));
            }
            next += u64::from(segment.tcp.len);
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
        if let Some(got) = self.endpoint.of_connection(&comparison.name) {
            return compare(comparison, &got);
        }
        // NAME@2 asks the second subflow.
        let (name, number) = comparison.name.split_once('@').unwrap_or((&comparison.name, "1"));
        let number: usize = number.parse().map_err(|_| format!("no subflow {number}"))?;
        let e = self.endpoint.subflow(number - 1).ok_or_else(|| format!("no subflow {number}"))?;
        let time = |d: Option<SimDuration>| d.map_or("none".into(), |d| ms_text(d.0));
        let stats = e.stats();
        let got = match name {
            "cwnd" => e.cwnd_bytes().to_string(),
            "ssthresh" => e.ssthresh_bytes().map_or("none".into(), |t| t.to_string()),
            "state" => e.state_name().to_string(),
            "in_flight" => e.in_flight_bytes().to_string(),
            "outstanding" => e.outstanding_bytes().to_string(),
            "unsent" => e.unsent_bytes().to_string(),
            "rto" => time(Some(e.rto())),
            "srtt" => time(e.srtt()),
            "timer" => self.endpoint.next_timeout().map_or("none".into(), |at| self.ms(at)),
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
            "tail_probes" => stats.tail_probes.to_string(),
            other => return Err(format!("nothing is called {other}")),
        };
        compare(comparison, &got)
    }

    fn ms(&self, at: SimTime) -> String {
        ms_text(at.since(self.zero).0)
    }

    fn show(&self, segment: &MultipathSegment) -> String {
        let s = &segment.tcp;
        let several = match self.endpoint {
            Machine::Single(_) => String::new(),
            Machine::Several(_) => format!(
                " sub {} dsn {} dack {} {:?}",
                segment.subflow + 1,
                segment.data_seq,
                segment.data_ack,
                segment.option
            ),
        };
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
            "{flags} {}:{} ack {} win {} msg {}@{} ts {} ecr {echo} wire {}{report}{again}{several}",
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

fn compare(comparison: &Comparison, got: &str) -> Result<(), String> {
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

/// The handshakes of a server's subflows, which take these times and end together; returns when that is.
fn handshakes(endpoint: &mut Machine, rtts: &[SimDuration], window: u32) -> SimTime {
    let zero = SimTime::ZERO + rtts.iter().copied().max().unwrap_or_default();
    let mut order: Vec<usize> = (0..rtts.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(rtts[i]));
    let segment = |subflow: usize, tcp| MultipathSegment {
        tcp,
        subflow: subflow as u8,
        data_ack: 1,
        ..MultipathSegment::default()
    };
    let begun = |i: usize| SimTime(zero.0 - rtts[i].0);
    for i in order {
        let syn = Segment { flags: Flags::SYN, window, echo: SimTime::MAX, ..Segment::default() };
        endpoint.on_segment(begun(i), &segment(i, syn));
        let answer = endpoint.poll_transmit(begun(i));
        assert!(answer.is_some_and(|s| s.tcp.flags.has(Flags::SYN.with(Flags::ACK))));
    }
    for i in 0..rtts.len() {
        let ack = Segment {
            flags: Flags::ACK,
            seq: 1,
            ack: 1,
            window,
            timestamp: zero,
            echo: begun(i),
            ..Segment::default()
        };
        endpoint.on_segment(zero, &segment(i, ack));
        assert!(endpoint.is_established());
    }
    zero
}

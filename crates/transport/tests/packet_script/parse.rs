//! The text of a packet script as steps.

use loadpath_net::{SimDuration, SimTime};
use loadpath_transport::*;

use super::ScriptError;

pub const FLAGS: [(Flags, char); 5] =
    [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::PSH, 'P'), (Flags::RST, 'R'), (Flags::ACK, '.')];

/// What the scripted peer offers if a line does not say.
pub const PEER_WINDOW: u32 = 65_535 << 14;

pub struct Script {
    pub config: MultipathConfig,
    pub start: Start,
    pub steps: Vec<Step>,
}

pub enum Start {
    Client,
    Server,
    Established { rtt: SimDuration },
    Subflows { rtts: Vec<SimDuration>, window: u32 },
    SubflowClient,
}

pub struct Step {
    pub line: usize,
    pub at: SimDuration,
    pub action: Action,
}

pub enum Action {
    Inject(Pattern),
    Expect(Pattern),
    ExpectRun { subflow: u8, range: SeqRange },
    Delivered(Delivery),
    Connect,
    Write(Message),
    Close,
    Reads(bool),
    Wait,
    Assert(Comparison),
}

pub struct Comparison {
    pub name: String,
    /// Largest difference that passes; 0 for `==`.
    pub tolerance: u64,
    pub value: String,
}

/// A segment as written; what is not written is a default when injected and not compared when expected.
#[derive(Default)]
pub struct Pattern {
    pub text: String,
    flags: Flags,
    seq: u64,
    len: u32,
    ack: u64,
    window: Option<u32>,
    message: Option<(u32, u64)>,
    timestamp: Option<SimDuration>,
    echo: Option<Option<SimDuration>>,
    report: Option<Report>,
    again: bool,
    wire: Option<u32>,
    subflow: u8,
    data_seq: Option<u64>,
    data_ack: Option<u64>,
    option: Option<MultipathOption>,
}

impl Pattern {
    /// `data_ack` is what it acknowledges on the connection if the line does not say.
    pub fn to_segment(
        &self,
        now: SimTime,
        zero: SimTime,
        window: u32,
        data_ack: u64,
    ) -> MultipathSegment {
        MultipathSegment {
            tcp: self.to_tcp(now, zero, window),
            subflow: self.subflow,
            path: PathId(self.subflow),
            option: self.option.unwrap_or(MultipathOption::Dss),
            data_seq: self.data_seq.unwrap_or_default(),
            data_ack: self.data_ack.unwrap_or(data_ack),
        }
    }

    fn to_tcp(&self, now: SimTime, zero: SimTime, window: u32) -> Segment {
        let (message, offset) = self.message.unwrap_or((0, 0));
        Segment {
            flags: self.flags,
            seq: self.seq,
            ack: self.ack,
            len: self.len,
            window: self.window.unwrap_or(window),
            message: MessageId(message),
            offset,
            timestamp: self.timestamp.map_or(now, |t| zero + t),
            echo: self.echo.flatten().map_or(SimTime::MAX, |t| zero + t),
            report: self.report.unwrap_or_default(),
            retransmission: self.again,
            wire_bytes: 0,
        }
    }

    /// What of `segment` differs.
    pub fn mismatch(&self, sent: &MultipathSegment, zero: SimTime) -> Option<&'static str> {
        let segment = &sent.tcp;
        let differs = [
            ("sub", self.subflow != sent.subflow),
            ("dsn", self.data_seq.is_some_and(|d| d != sent.data_seq)),
            ("dack", self.data_ack.is_some_and(|d| d != sent.data_ack)),
            ("opt", self.option.is_some_and(|o| o != sent.option)),
            ("flags", self.flags != segment.flags),
            ("seq", self.seq != segment.seq),
            ("len", self.len != segment.len),
            ("ack", self.flags.has(Flags::ACK) && self.ack != segment.ack),
            ("win", self.window.is_some_and(|w| w != segment.window)),
            ("msg", self.message.is_some_and(|m| m != (segment.message.0, segment.offset))),
            ("ts", self.timestamp.is_some_and(|t| zero + t != segment.timestamp)),
            (
                "ecr",
                self.echo.is_some_and(|e| e.map_or(SimTime::MAX, |t| zero + t) != segment.echo),
            ),
            ("report", self.report.unwrap_or_default() != segment.report),
            ("again", self.again != segment.retransmission),
            ("wire", self.wire.is_some_and(|w| w != segment.wire_bytes)),
        ];
        differs.into_iter().find(|(_, differs)| *differs).map(|(name, _)| name)
    }
}

/// The configuration that scripts start from: standard, with sizes and times that are easy to add up.
pub fn base_config() -> TcpConfig {
    TcpConfig {
        mss: 1000,
        initial_window_segments: 4,
        min_rto: SimDuration::from_millis(200),
        delayed_ack_timeout: SimDuration::from_millis(100),
        recovery_exit: RecoveryExit::FlightPlusOne,
        loss_window: LossWindow::FlightSize,
        ..TcpConfig::standard()
    }
}

impl Script {
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let config =
            MultipathConfig { options_on_the_wire: false, ..MultipathConfig::new(base_config()) };
        let mut script = Script { config, start: Start::Server, steps: Vec::new() };
        let mut at = SimDuration::ZERO;
        for (line, full) in (1..).zip(text.lines()) {
            let content = full.split('#').next().expect("split gives one piece");
            let words: Vec<&str> = content.split_whitespace().collect();
            if !words.is_empty() {
                script
                    .parse_line(line, &words, &mut at)
                    .map_err(|message| ScriptError { line, message })?;
            }
        }
        Ok(script)
    }

    fn parse_line(
        &mut self,
        line: usize,
        words: &[&str],
        at: &mut SimDuration,
    ) -> Result<(), String> {
        match words[0] {
            "config" => {
                for word in &words[1..] {
                    let (key, value) =
                        word.split_once('=').ok_or_else(|| format!("{word} is not key=value"))?;
                    set(&mut self.config, key, value)?;
                }
                return Ok(());
            }
            "client" if words.get(1) == Some(&"subflows") => self.start = Start::SubflowClient,
            "client" => self.start = Start::Client,
            "subflows" => {
                let mut window = PEER_WINDOW;
                let mut rtts = Vec::new();
                for word in &words[1..] {
                    match word.strip_prefix("win=") {
                        Some(bytes) => window = number(bytes)? as u32,
                        None => rtts.push(ms(word)?),
                    }
                }
                self.start = Start::Subflows { rtts, window };
            }
            "server" => self.start = Start::Server,
            "established" => {
                let rtt = words.get(1).and_then(|w| w.strip_prefix("rtt="));
                let rtt = ms(rtt.ok_or("established needs rtt=MS")?)?;
                self.start = Start::Established { rtt };
            }
            _ => {
                let mut words = words;
                if let Some(relative) = words[0].strip_prefix('+') {
                    *at = *at + ms(relative)?;
                    words = &words[1..];
                } else if let Some(absolute) = words[0].strip_prefix('@') {
                    let to = ms(absolute)?;
                    if to < *at {
                        return Err("time goes back".into());
                    }
                    *at = to;
                    words = &words[1..];
                }
                self.steps.push(Step { line, at: *at, action: action(words)? });
            }
        }
        Ok(())
    }
}

fn action(words: &[&str]) -> Result<Action, String> {
    let Some((&verb, rest)) = words.split_first() else { return Ok(Action::Wait) };
    Ok(match verb {
        "<" => Action::Inject(pattern(rest)?),
        ">" => Action::Expect(pattern(rest)?),
        ">>" => match rest {
            [range] => Action::ExpectRun { subflow: 0, range: seq_range(range)? },
            [range, "sub", n] => {
                Action::ExpectRun { subflow: subflow(n)?, range: seq_range(range)? }
            }
            _ => return Err(">> FROM:TO [sub N]".into()),
        },
        "connect" => Action::Connect,
        "close" => Action::Close,
        "wait" => Action::Wait,
        "app" => match rest {
            ["reads"] => Action::Reads(true),
            ["stops"] => Action::Reads(false),
            _ => return Err("the app reads or stops".into()),
        },
        "write" => {
            let [id, len, priority @ ..] = rest else {
                return Err("write ID LEN [PRIORITY]".into());
            };
            Action::Write(Message {
                id: MessageId(number(id)? as u32),
                len: number(len)?,
                priority: priority.first().map_or(Ok(0), |p| number(p))? as u32,
            })
        }
        "read" => {
            let [id, range, end @ ..] = rest else {
                return Err("read ID FROM:TO [end]".into());
            };
            let range = seq_range(range)?;
            Action::Delivered(Delivery {
                id: MessageId(number(id)? as u32),
                offset: range.start,
                len: range.len() as u32,
                end: end == ["end"],
            })
        }
        "assert" => match rest {
            [name, operator @ ("==" | "~"), value] => Action::Assert(Comparison {
                name: (*name).to_string(),
                tolerance: if *operator == "~" { 2 } else { 0 },
                value: (*value).to_string(),
            }),
            _ => return Err("assert NAME == VALUE or NAME ~ VALUE".into()),
        },
        other => return Err(format!("unknown word {other}")),
    })
}

fn pattern(words: &[&str]) -> Result<Pattern, String> {
    let [flags, range, options @ ..] = words else { return Err("FLAGS FROM:TO ...".into()) };
    let mut p = Pattern { text: words.join(" "), ..Pattern::default() };
    for letter in flags.chars() {
        let flag = FLAGS.iter().find(|(_, l)| *l == letter);
        let (flag, _) = flag.ok_or_else(|| format!("unknown flag {letter}"))?;
        p.flags = p.flags.with(*flag);
    }
    let range = seq_range(range)?;
    p.seq = range.start;
    p.len = range.len() as u32;
    let mut ranges: Vec<SeqRange> = Vec::new();
    let mut nack = None;
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        if option == "again" {
            p.again = true;
            continue;
        }
        if option.contains(':') && !ranges.is_empty() {
            ranges.push(seq_range(option)?);
            continue;
        }
        let value = options.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option {
            "ack" => p.ack = number(value)?,
            "win" => p.window = Some(number(value)? as u32),
            "msg" => {
                let (id, offset) = value.split_once('@').ok_or("msg ID@OFFSET")?;
                p.message = Some((number(id)? as u32, number(offset)?));
            }
            "ts" => p.timestamp = Some(ms(value)?),
            "ecr" => p.echo = Some(if *value == "none" { None } else { Some(ms(value)?) }),
            "wire" => p.wire = Some(number(value)? as u32),
            "sub" => p.subflow = subflow(value)?,
            "dsn" => p.data_seq = Some(number(value)?),
            "dack" => p.data_ack = Some(number(value)?),
            "opt" => {
                let names = [
                    ("capable", MultipathOption::Capable),
                    ("join", MultipathOption::Join),
                    ("dss", MultipathOption::Dss),
                ];
                p.option = Some(one_of(option, value, &names)?);
            }
            "sack" => ranges.push(seq_range(value)?),
            "nack" => nack = Some(seq_range(value)?),
            other => return Err(format!("unknown option {other}")),
        }
    }
    if let Some(range) = nack {
        p.report = Some(Report::Nack(AckRange::of(range, p.ack)));
    } else if !ranges.is_empty() {
        let mut blocks = [AckRange::default(); 3];
        if ranges.len() > blocks.len() {
            return Err("at most three blocks".into());
        }
        for (block, range) in blocks.iter_mut().zip(&ranges) {
            *block = AckRange::of(*range, p.ack);
        }
        p.report = Some(Report::Sack(blocks));
    }
    Ok(p)
}

/// Subflows are counted from 1.
fn subflow(text: &str) -> Result<u8, String> {
    let number = number(text)?;
    if (1..=8).contains(&number) { Ok(number as u8 - 1) } else { Err(format!("no subflow {text}")) }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a whole number"))
}

fn ms(text: &str) -> Result<SimDuration, String> {
    let value: f64 = text.parse().map_err(|_| format!("{text} is not a number of ms"))?;
    Ok(SimDuration::from_millis_f64(value))
}

fn seq_range(text: &str) -> Result<SeqRange, String> {
    let (start, end) = text.split_once(':').ok_or_else(|| format!("{text} is not FROM:TO"))?;
    let range = SeqRange { start: number(start)?, end: number(end)? };
    if range.start > range.end { Err(format!("{text} runs backwards")) } else { Ok(range) }
}

fn one_of<T: Copy>(key: &str, value: &str, names: &[(&str, T)]) -> Result<T, String> {
    let found = names.iter().find(|(name, _)| *name == value);
    found.map(|(_, v)| *v).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        format!("{key} is one of {}", known.join(", "))
    })
}

fn set(config: &mut MultipathConfig, key: &str, value: &str) -> Result<(), String> {
    let c = &mut config.tcp;
    let int = || number(value);
    let yes = || match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{key} is yes or no")),
    };
    match key {
        "mss" => c.mss = int()? as u32,
        "icwnd" => c.initial_window_segments = int()? as u32,
        "send_buffer" => c.send_buffer_bytes = int()?,
        "receive_buffer" => c.receive_buffer_bytes = int()?,
        "window_scale" => c.window_scale = int()? as u8,
        "min_rto" => c.min_rto = ms(value)?,
        "max_rto" => c.max_rto = ms(value)?,
        "rto_floor" => {
            let names = [("timeout", RtoFloor::Timeout), ("variance", RtoFloor::Variance)];
            c.rto_floor = one_of(key, value, &names)?;
        }
        "syn_timeout" => c.syn_timeout = ms(value)?,
        "fast_open" => c.fast_open = yes()?,
        "max_syn_retries" => c.max_syn_retries = int()? as u32,
        "max_data_retries" => c.max_data_retries = int()? as u32,
        "rearm_stale_rto" => c.rearm_stale_rto = yes()?,
        "delack_segments" => c.delayed_ack_segments = int()? as u32,
        "delack_timeout" => c.delayed_ack_timeout = ms(value)?,
        "quick_acks" => c.quick_ack_segments = int()? as u32,
        "ack_push" => c.ack_push_at_once = yes()?,
        "acks" => {
            let names = [("counted", AckPolicy::Counted), ("linux", AckPolicy::Linux)];
            c.acks = one_of(key, value, &names)?;
        }
        "tuned_window" => c.tuned_window = yes()?,
        "dup_acks" => c.dup_ack_threshold = int()? as u32,
        "limited_transmit" => c.limited_transmit = yes()?,
        "recovery" => {
            let names = [
                ("newreno", Recovery::NewReno),
                ("nack", Recovery::Nack),
                ("sack", Recovery::Sack),
                ("rack", Recovery::Rack),
            ];
            c.recovery = one_of(key, value, &names)?;
        }
        "exit" => {
            let names = [
                ("flight_plus_one", RecoveryExit::FlightPlusOne),
                ("flight_plus_one_ns3", RecoveryExit::FlightPlusOneNs3),
                ("rfc6582", RecoveryExit::Rfc6582),
                ("ssthresh", RecoveryExit::Ssthresh),
            ];
            c.recovery_exit = one_of(key, value, &names)?;
        }
        "partial_ack_timer" => {
            let names = [("first", PartialAckTimer::First), ("every", PartialAckTimer::Every)];
            c.partial_ack_timer = one_of(key, value, &names)?;
        }
        "loss_window" => {
            let names = [
                ("flight", LossWindow::FlightSize),
                ("flight_rfc5681", LossWindow::FlightSizeRfc5681),
                ("cwnd", LossWindow::Cwnd),
            ];
            c.loss_window = one_of(key, value, &names)?;
        }
        "congestion" => {
            let names = [
                ("newreno", Congestion::NewReno),
                ("cubic", Congestion::Cubic),
                ("cubic_linux", Congestion::CubicLinux),
                ("lia", Congestion::Lia),
                ("olia", Congestion::Olia),
                ("balia", Congestion::Balia),
            ];
            c.congestion = one_of(key, value, &names)?;
        }
        "slow_start" => {
            let names = [("per_ack", SlowStart::PerAck), ("bytes", SlowStart::BytesAcked)];
            c.slow_start = one_of(key, value, &names)?;
        }
        "growth" => {
            let names = [
                ("always", Growth::Always),
                ("if_full", Growth::IfWindowFull),
                ("if_half_used", Growth::IfHalfUsed),
            ];
            c.growth = one_of(key, value, &names)?;
        }
        "window_room" => {
            let names = [
                ("segment", WindowRoom::FullSegment),
                ("segments", WindowRoom::Segments),
                ("fits", WindowRoom::WhatFits),
            ];
            c.window_room = one_of(key, value, &names)?;
        }
        "validation" => {
            let (no, ack) = (false, true);
            let names = [
                ("off", Validation::Off),
                ("cumulative", Validation::Cumulative { refresh_on_ack: no }),
                ("cumulative_ack", Validation::Cumulative { refresh_on_ack: ack }),
                ("once", Validation::Once { refresh_on_ack: no }),
                ("once_ack", Validation::Once { refresh_on_ack: ack }),
            ];
            c.validation = one_of(key, value, &names)?;
        }
        "validation_floor" => {
            let names = [
                ("initial", ValidationFloor::Initial),
                ("never_raise", ValidationFloor::NeverRaise),
            ];
            c.validation_floor = one_of(key, value, &names)?;
        }
        "order" => {
            let names = [
                ("fifo", SendOrder::Fifo),
                ("priority", SendOrder::Priority),
                ("preemptive", SendOrder::PriorityPreemptive),
            ];
            c.send_order = one_of(key, value, &names)?;
        }
        "delivery" => {
            let names =
                [("in_order", DeliveryOrder::InOrder), ("out_of_order", DeliveryOrder::OutOfOrder)];
            c.delivery = one_of(key, value, &names)?;
        }
        "tail_probe" => {
            let names = [
                ("off", TailLossProbe::Off),
                ("delayed_ack", TailLossProbe::DelayedAck),
                ("signalled", TailLossProbe::Signalled),
                ("rack", TailLossProbe::Rack),
            ];
            c.tail_loss_probe = one_of(key, value, &names)?;
        }
        "prr" => c.prr = yes()?,
        "frto" => c.frto = yes()?,
        "scheduler" => {
            let names = [
                ("lowest_rtt", PathScheduler::LowestRtt),
                ("round_robin", PathScheduler::RoundRobin),
                ("redundant", PathScheduler::Redundant),
                ("blest", PathScheduler::Blest),
                ("ecf", PathScheduler::Ecf),
                ("otias", PathScheduler::Otias),
                ("linux", PathScheduler::Linux),
                ("stream_simple", PathScheduler::StreamSimple),
                ("stream", PathScheduler::Stream),
            ];
            config.scheduler = one_of(key, value, &names)?;
        }
        "join" => {
            let names = [
                ("after_dss", Join::AfterDss),
                ("after_handshake", Join::AfterHandshake),
                ("at_once", Join::AtOnce),
            ];
            config.join = one_of(key, value, &names)?;
        }
        "fourth_ack" => config.fourth_ack = yes()?,
        "retransmit_on_other" => config.retransmit_on_other = yes()?,
        "opportunistic" => config.opportunistic_retransmission = yes()?,
        "reinject" => config.reinject_on_timeout = yes()?,
        "options" => config.options_on_the_wire = yes()?,
        other => return Err(format!("unknown key {other}")),
    }
    Ok(())
}

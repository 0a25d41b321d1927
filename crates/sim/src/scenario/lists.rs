//! Scenario values that are lists, as text: exact losses, and rates over time.

use loadpath_net::{DropList, Loss, Schedule, SimDuration, SimTime};
use toml::Value;

use super::value::{Parameter, with_unit};

const NONE: &str = "none";
const CONSTANT: &str = "constant";
/// Numbers of flows from here on are mistakes.
const MOST_FLOWS: u32 = 65_536;

/// Packets to be lost: "3,7,0:12", or "none" in particular.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Places among all packets, from 0.
    packets: Vec<u64>,
    /// Flow and place among its packets with data, both from 0.
    of_flows: Vec<(u32, u64)>,
}

impl Drops {
    /// `None` if nothing is listed.
    pub(super) fn loss(&self) -> Option<Loss> {
        let empty = self.packets.is_empty() && self.of_flows.is_empty();
        (!empty).then(|| Loss::exactly(DropList::new(self.packets.clone(), &self.of_flows)))
    }

    fn parse(text: &str) -> Option<Drops> {
        let mut drops = Drops::default();
        if text.trim() == NONE {
            return Some(drops);
        }
        for word in text.split(',').map(str::trim) {
            match word.split_once(':') {
                None => drops.packets.push(place(word)?),
                Some((flow, packet)) => {
                    let flow = u32::try_from(place(flow)?).ok().filter(|f| *f < MOST_FLOWS)?;
                    drops.of_flows.push((flow, place(packet)?));
                }
            }
        }
        Some(drops)
    }
}

/// A number from 0 in plain digits.
fn place(text: &str) -> Option<u64> {
    let digits = text.trim();
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|n: &u64| plain && *n < 1 << 53)
}

impl Parameter for Drops {
    type Bounds = ();

    fn read(value: &Value, unit: &str, bounds: &()) -> Result<Self, String> {
        let drops = match value {
            Value::Integer(n) => {
                u64::try_from(*n).ok().map(|n| Drops { packets: vec![n], of_flows: vec![] })
            }
            Value::String(text) => Drops::parse(text),
            _ => None,
        };
        drops.ok_or_else(|| format!("expected {}", Self::allowed(unit, bounds)))
    }

    fn write(&self) -> Value {
        let packets = self.packets.iter().map(u64::to_string);
        let of_flows = self.of_flows.iter().map(|(flow, packet)| format!("{flow}:{packet}"));
        let words: Vec<_> = packets.chain(of_flows).collect();
        if words.is_empty() { NONE.into() } else { words.join(",").into() }
    }

    fn allowed(_: &str, _: &()) -> String {
        format!(
            "\"none\", or numbers of packets, or FLOW:NUMBER with flows below {MOST_FLOWS}, \
             from 0: \"3,7,0:12\""
        )
    }
}

/// A rate over time: "0ms:10mbit,2s:1mbit,5s:repeat", or a Mahimahi trace "mahimahi:3,3,7,10", or a
/// "constant" one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateSchedule(Option<Schedule>);

const TRACE: &str = "mahimahi:";
const REPEAT: &str = "repeat";

impl RateSchedule {
    /// `None` for a constant rate.
    pub(super) fn schedule(&self) -> Option<&Schedule> {
        self.0.as_ref()
    }

    fn parse(text: &str) -> Result<RateSchedule, String> {
        let text = text.trim();
        if text == CONSTANT {
            return Ok(RateSchedule(None));
        }
        if let Some(times) = text.strip_prefix(TRACE) {
            let times: Option<Vec<u64>> =
                times.split(',').map(|t| place(t).filter(|ms| *ms <= MOST_MS)).collect();
            let times = times.ok_or("the times must be whole milliseconds")?;
            return Ok(RateSchedule(Some(Schedule::trace(&times)?)));
        }
        let (mut steps, mut period) = (Vec::new(), None);
        for word in text.split(',') {
            let wrong = || format!("\"{}\" is not TIME:RATE", super::shown(word.trim()));
            let (at, rate) = word.split_once(':').ok_or_else(wrong)?;
            let at = with_unit(at, "ms").filter(|ms| (0.0..=MOST_MS as f64).contains(ms));
            let at = SimDuration::from_millis_f64(at.ok_or_else(wrong)?);
            if period.is_some() {
                return Err(format!("{REPEAT} must be the last"));
            }
            if rate.trim() == REPEAT {
                period = Some(at);
            } else {
                let rate = with_unit(rate, "bps").filter(|bps| (0.0..=1e12).contains(bps));
                steps.push((SimTime::ZERO + at, rate.ok_or_else(wrong)?.round() as u64));
            }
        }
        Ok(RateSchedule(Some(Schedule::steps(steps, period)?)))
    }
}

/// A year.
const MOST_MS: u64 = 365 * 86_400_000;

impl Parameter for RateSchedule {
    type Bounds = ();

    fn read(value: &Value, unit: &str, bounds: &()) -> Result<Self, String> {
        let read = match value {
            Value::String(text) => RateSchedule::parse(text),
            _ => Err("not a text".into()),
        };
        read.map_err(|why| format!("expected {}; {why}", Self::allowed(unit, bounds)))
    }

    fn write(&self) -> Value {
        let join = |words: Vec<String>| words.join(",");
        match &self.0 {
            None => CONSTANT.into(),
            Some(Schedule::Trace { opportunities }) => {
                let times = opportunities.iter().map(|at| (at.0 / 1_000_000).to_string()).collect();
                format!("{TRACE}{}", join(times))
            }
            Some(Schedule::Steps { steps, period }) => {
                let ms = |ns: u64| ns as f64 / 1e6;
                let steps = steps.iter().map(|(at, bps)| format!("{}:{bps}", ms(at.0)));
                let period = period.iter().map(|period| format!("{}:{REPEAT}", ms(period.0)));
                join(steps.chain(period).collect())
            }
        }
        .into()
    }

    fn allowed(_: &str, _: &()) -> String {
        "\"constant\", or rates over time, \"0ms:10mbit,2s:1mbit\" with \",5s:repeat\" to begin anew, or a trace, \
         \"mahimahi:3,3,7,10\""
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drops(text: &str) -> Result<Drops, String> {
        Drops::read(&text.into(), "down", &())
    }

    fn schedule(text: &str) -> Result<RateSchedule, String> {
        RateSchedule::read(&text.into(), "schedule", &())
    }

    #[test]
    fn drops_are_read_and_written() {
        assert_eq!(drops("7, 3,0:12").unwrap().write(), Value::from("7,3,0:12"));
        assert_eq!(Drops::read(&Value::Integer(4), "", &()).unwrap().write(), Value::from("4"));
        assert_eq!(drops("none").unwrap().loss(), None);
        assert_eq!(Drops::default().write(), Value::from("none"));
        for wrong in ["", "x", "3,", "-1", "1:", ":2", "1:2:3", "65536:1", "+3"] {
            assert!(drops(wrong).unwrap_err().contains("numbers of packets"), "{wrong}");
        }
    }

    #[test]
    fn schedules_are_read_and_written() {
        for (text, written) in [
            ("constant", "constant"),
            ("mahimahi:3, 3,7", "mahimahi:3,3,7"),
            ("0:10mbit,1.5s:0, 2s:1000,2.25s:repeat", "0:10000000,1500:0,2000:1000,2250:repeat"),
        ] {
            let read = schedule(text).unwrap();
            assert_eq!(read.write(), Value::from(written));
            assert_eq!(schedule(written).unwrap(), read);
        }
        for (wrong, why) in [
            ("", "is not TIME:RATE"),
            ("10mbit", "\"10mbit\" is not TIME:RATE"),
            ("0:fast", "is not TIME:RATE"),
            ("5:1mbit", "the first rate must start at 0"),
            ("0:1mbit,5:repeat,6:2mbit", "repeat must be the last"),
            ("0:1mbit,5:0", "a rate of 0 must end"),
            ("mahimahi:", "whole milliseconds"),
            ("mahimahi:5,4", "must not descend"),
        ] {
            assert!(schedule(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}

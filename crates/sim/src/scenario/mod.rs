//! The scenario: everything about a load but the page, as plain data.
//!
//! A *profile* is a named set of values for every key. A scenario file (TOML) or a list of
//! `key=value` overrides changes some of them; unknown keys and impossible values are errors that
//! name the key, the value and what is allowed. [`KEYS`] documents every key with its source.

mod bottleneck;
mod convert;
mod keys;
mod kinds;
mod lists;
mod value;

pub use bottleneck::BottleneckId;
pub(crate) use convert::End;
pub use keys::*;
pub use kinds::*;
pub use lists::{Drops, RateSchedule};
pub use value::{Auto, Choice, Parameter};

use std::fmt;

/// A named set of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The PCP thesis: every value of its Tables 3.2, 3.3 and 3.4.
    Pcp,
    /// A current Linux kernel and Chromium.
    Linux,
}

impl Profile {
    /// All profiles, by name.
    pub const ALL: &'static [(&'static str, Profile)] =
        &[("pcp", Profile::Pcp), ("linux", Profile::Linux)];
}

/// Documentation of one key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted name, `section.key`.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Where the value of the `pcp` profile comes from.
    pub pcp_source: &'static str,
    /// Where the value of the `linux` profile comes from.
    pub linux_source: &'static str,
    /// What is allowed.
    pub allowed: fn() -> String,
}

/// Something is wrong with a scenario. One line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {message}")]
pub struct ScenarioError {
    /// File or option that the value came from.
    pub origin: String,
    /// Key, value, what is allowed, hint.
    pub message: String,
}

impl ScenarioError {
    fn new(origin: &str, message: impl fmt::Display) -> Self {
        ScenarioError { origin: origin.into(), message: message.to_string() }
    }
}

impl Scenario {
    /// The values of a profile by name.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn profile(name: &str) -> Result<Scenario, ScenarioError> {
        Self::resolve(Some(name), None, &[])
    }

    /// A profile (`pcp` unless the file or `profile` names another), changed by a TOML file and then
    /// by `(key, value)` overrides. All `auto` values are filled in.
    ///
    /// # Errors
    /// For text that is not TOML, unknown keys, values of the wrong type or out of range, and
    /// combinations that cannot be.
    pub fn resolve(
        profile: Option<&str>,
        toml: Option<(&str, &str)>,
        overrides: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        let table = match toml {
            None => toml::Table::new(),
            Some((text, origin)) => text.parse::<toml::Table>().map_err(|e| {
                let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                ScenarioError::new(origin, format!("not TOML: line {line}: {}", shown(e.message())))
            })?,
        };
        let origin = toml.map_or("profile", |(_, origin)| origin);
        let in_file = match table.get("profile") {
            None => None,
            Some(toml::Value::String(name)) => Some(name.as_str()),
            Some(other) => {
                return Err(ScenarioError::new(
                    origin,
                    format!("profile: expected a name, got {}", shown(other)),
                ));
            }
        };
        let name = profile.or(in_file).unwrap_or("pcp");
        let Some((_, profile)) = Profile::ALL.iter().find(|(n, _)| *n == name) else {
            let known: Vec<_> = Profile::ALL.iter().map(|(n, _)| *n).collect();
            return Err(ScenarioError::new(
                origin,
                format!(
                    "profile: there is no \"{}\"; profiles are {}",
                    shown(name),
                    known.join(", ")
                ),
            ));
        };
        let mut scenario = Scenario::defaults(*profile);
        scenario.profile = name.into();
        for (section, value) in &table {
            match value {
                _ if section == "profile" => {}
                toml::Value::Table(keys) => {
                    for (key, value) in keys {
                        scenario.set(&format!("{section}.{key}"), value, origin)?;
                    }
                }
                value => scenario.set(section, value, origin)?,
            }
        }
        for (key, text) in overrides {
            // What TOML reads as a value keeps its type; everything else is a string, and so are
            // names that look like numbers (`http.tls=1.2`).
            let string = toml::Value::String(text.clone());
            let value = format!("v = {text}")
                .parse::<toml::Table>()
                .ok()
                .and_then(|mut t| t.remove("v"))
                .unwrap_or_else(|| string.clone());
            if let Err(error) = scenario.set(key, &value, "override") {
                scenario.set(key, &string, "override").map_err(|_| error)?;
            }
        }
        scenario.fill_in_autos();
        scenario.check(origin)?;
        Ok(scenario)
    }

    /// The whole scenario as TOML, every value resolved; [`Scenario::resolve`] of it gives the same
    /// scenario again.
    pub fn to_toml(&self) -> String {
        let mut table = toml::Table::new();
        table.insert("profile".into(), self.profile.clone().into());
        for key in KEYS {
            let (section, field) = key.name.split_once('.').expect("keys have a section");
            let section = table
                .entry(section)
                .or_insert_with(|| toml::Table::new().into())
                .as_table_mut()
                .expect("sections are tables");
            section.insert(field.into(), self.get(key.name).expect("every key can be read"));
        }
        toml::to_string(&table).expect("plain values serialise")
    }

    fn set(&mut self, name: &str, value: &toml::Value, origin: &str) -> Result<(), ScenarioError> {
        match self.try_set(name, value) {
            Some(Ok(())) => Ok(()),
            Some(Err(message)) => {
                Err(ScenarioError::new(origin, format!("{name} = {}: {message}", shown(value))))
            }
            None => Err(ScenarioError::new(origin, unknown_key(name))),
        }
    }
}

/// A text from outside on a part of one line.
fn shown(text: impl fmt::Display) -> String {
    const MOST: usize = 80;
    let text = text.to_string();
    let mut line: String =
        text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        line.push_str("...");
    }
    line
}

fn unknown_key(name: &str) -> String {
    let nearest = KEYS.iter().map(|k| (distance(name, k.name), k.name)).min();
    match nearest {
        Some((d, key)) if d <= key.len() / 2 => {
            format!("unknown key \"{}\"; hint: did you mean {key:?}?", shown(name))
        }
        _ => format!("unknown key \"{}\"; hint: `loadpath scenario` lists all keys", shown(name)),
    }
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(200).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use loadpath_web::http::tls::Handshake;

    use super::*;

    fn set(key: &str, value: &str) -> Result<Scenario, ScenarioError> {
        Scenario::resolve(None, None, &[(key.into(), value.into())])
    }

    #[test]
    fn a_resolved_scenario_written_as_toml_resolves_to_itself() {
        for (name, _) in Profile::ALL {
            let scenario = Scenario::profile(name).unwrap();
            let toml = scenario.to_toml();
            assert!(!toml.contains("\"auto\""), "{toml}");
            assert_eq!(Scenario::resolve(None, Some((&toml, "x.toml")), &[]).unwrap(), scenario);
        }
    }

    #[test]
    fn units_may_be_written_out() {
        assert_eq!(set("network.rate_bps", "2.5mbit").unwrap().network.rate_bps, 2_500_000);
        assert_eq!(set("network.rate_bps", "1Gbps").unwrap().network.rate_bps, 1_000_000_000);
        assert_eq!(set("network.rtt_ms", "0.2s").unwrap().network.rtt_ms, 200.0);
        assert_eq!(set("network.rtt_ms", "40").unwrap().network.rtt_ms, 40.0);
        assert_eq!(set("http.tls", "1.2").unwrap().http.tls, Handshake::Tls12);
        assert_eq!(set("http.request_bytes", "1kB").unwrap().http.request_bytes, 1000);
    }

    #[test]
    fn errors_name_key_value_and_what_is_allowed() {
        for (key, value, expected) in [
            ("network.rate_bps", "0", "network.rate_bps = 0: expected a rate from 1000 to"),
            ("http.connections_per_host", "13", "from 1 to 12"),
            ("network.rtt_ms", "nan", "network.rtt_ms = nan: expected"),
            ("network.rtt_ms", "-1", "from 0 to"),
            ("network.rtt", "40", "did you mean \"network.rtt_ms\""),
            ("http.version", "h4", "one of http/1.0, http/1.1"),
            ("browser.preloader", "7", "expected true or false"),
            ("zzz", "1", "unknown key"),
        ] {
            let error = set(key, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
            assert!(!error.contains('\n'), "{error:?}");
        }
    }

    #[test]
    fn autos_follow_the_values_that_they_depend_on() {
        let s = set("http.version", "http/1.1").unwrap();
        assert_eq!(s.http.connections_per_host, Auto::Set(6));
        let s = set("network.rtt_ms", "200").unwrap();
        assert_eq!(s.transport.syn_timeout_ms, Auto::Set(2000.0), "Table 3.3: 2 s from 200 ms on");
        let s = set("network.rtt_ms", "199").unwrap();
        assert_eq!(s.transport.syn_timeout_ms, Auto::Set(1000.0));
    }

    #[test]
    fn not_toml_is_one_clear_error() {
        let e = Scenario::resolve(None, Some(("network = [", "a.toml")), &[]).unwrap_err();
        assert!(e.to_string().starts_with("a.toml: not TOML"), "{e}");
    }
}

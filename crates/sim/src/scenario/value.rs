//! Types of scenario values: how they are read, checked and written.

use std::ops::RangeInclusive;

use toml::Value;

/// A value that a scenario key can have. The last part of the key's name is its unit.
pub trait Parameter: Sized + Clone {
    /// What restricts the values of a key of this type.
    type Bounds: Clone;
    /// Reads and checks a value; the error says what is allowed.
    fn read(value: &Value, unit: &str, bounds: &Self::Bounds) -> Result<Self, String>;
    /// The value as TOML.
    fn write(&self) -> Value;
    /// What is allowed, for people.
    fn allowed(unit: &str, bounds: &Self::Bounds) -> String;
}

/// A value that depends on others unless it is set; "auto" in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto<T> {
    /// Filled in by [`super::Scenario::resolve`].
    Auto,
    /// A value.
    Set(T),
}

impl<T: Copy> Auto<T> {
    /// Sets the value if it is still automatic.
    pub(super) fn fill(&mut self, value: T) {
        if let Auto::Auto = self {
            *self = Auto::Set(value);
        }
    }

    /// The value.
    ///
    /// # Panics
    /// On an unresolved scenario.
    pub fn get(self) -> T {
        match self {
            Auto::Set(value) => value,
            Auto::Auto => panic!("the scenario was not resolved"),
        }
    }
}

impl<T: Parameter> Parameter for Auto<T> {
    type Bounds = T::Bounds;

    fn read(value: &Value, unit: &str, bounds: &T::Bounds) -> Result<Self, String> {
        match value {
            Value::String(s) if s == "auto" => Ok(Auto::Auto),
            value => T::read(value, unit, bounds)
                .map(Auto::Set)
                .map_err(|_| format!("expected {}", Self::allowed(unit, bounds))),
        }
    }

    fn write(&self) -> Value {
        match self {
            Auto::Auto => "auto".into(),
            Auto::Set(value) => value.write(),
        }
    }

    fn allowed(unit: &str, bounds: &T::Bounds) -> String {
        format!("{} or \"auto\"", T::allowed(unit, bounds))
    }
}

impl Parameter for bool {
    type Bounds = ();

    fn read(value: &Value, unit: &str, bounds: &()) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| format!("expected {}", Self::allowed(unit, bounds)))
    }

    fn write(&self) -> Value {
        (*self).into()
    }

    fn allowed(_: &str, _: &()) -> String {
        "true or false".into()
    }
}

impl Parameter for f64 {
    type Bounds = RangeInclusive<f64>;

    fn read(value: &Value, unit: &str, bounds: &Self::Bounds) -> Result<Self, String> {
        number(value, unit)
            .filter(|n| bounds.contains(n))
            .ok_or_else(|| format!("expected {}", Self::allowed(unit, bounds)))
    }

    fn write(&self) -> Value {
        (*self).into()
    }

    fn allowed(unit: &str, bounds: &Self::Bounds) -> String {
        format!("{} from {} to {}", noun(unit), bounds.start(), bounds.end())
    }
}

impl Parameter for u64 {
    type Bounds = RangeInclusive<u64>;

    fn read(value: &Value, unit: &str, bounds: &Self::Bounds) -> Result<Self, String> {
        let whole = match value {
            Value::Integer(n) => u64::try_from(*n).ok(),
            value => number(value, unit)
                .filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 2f64.powi(53))
                .map(|n| n as u64),
        };
        whole
            .filter(|n| bounds.contains(n))
            .ok_or_else(|| format!("expected {}", Self::allowed(unit, bounds)))
    }

    fn write(&self) -> Value {
        i64::try_from(*self).unwrap_or(i64::MAX).into()
    }

    fn allowed(unit: &str, bounds: &Self::Bounds) -> String {
        format!("{} from {} to {}", noun(unit), bounds.start(), bounds.end())
    }
}

/// A closed list of names.
pub trait Choice: Sized + Copy + PartialEq + 'static {
    /// Names and values.
    const NAMES: &'static [(&'static str, Self)];
}

/// Implements [`Parameter`] by name for an enumeration.
macro_rules! choice {
    ($type:ty { $($name:literal => $value:expr),* $(,)? }) => {
        impl crate::scenario::value::Choice for $type {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, $value)),*];
        }
        impl crate::scenario::value::Parameter for $type {
            type Bounds = ();
            fn read(value: &toml::Value, _: &str, _: &()) -> Result<Self, String> {
                crate::scenario::value::read_choice(value)
            }
            fn write(&self) -> toml::Value {
                crate::scenario::value::write_choice(self)
            }
            fn allowed(_: &str, _: &()) -> String {
                crate::scenario::value::allowed_choice::<Self>()
            }
        }
    };
}
pub(super) use choice;

pub(super) fn read_choice<T: Choice>(value: &Value) -> Result<T, String> {
    let name = match value {
        Value::String(name) => name.clone(),
        // A name such as 1.3 without its quotes.
        Value::Float(number) => number.to_string(),
        _ => String::new(),
    };
    T::NAMES
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, v)| *v)
        .ok_or_else(|| format!("expected {}", allowed_choice::<T>()))
}

pub(super) fn write_choice<T: Choice>(value: &T) -> Value {
    T::NAMES.iter().find(|(_, v)| v == value).map_or("", |(n, _)| *n).into()
}

pub(super) fn allowed_choice<T: Choice>() -> String {
    let names: Vec<_> = T::NAMES.iter().map(|(n, _)| *n).collect();
    format!("one of {}", names.join(", "))
}

fn noun(unit: &str) -> &'static str {
    match unit {
        "bps" => "a rate",
        "ms" => "milliseconds",
        "bytes" => "bytes",
        _ => "a number",
    }
}

/// A number, or text with a unit that fits the key: "12mbit", "20ms", "64kB".
fn number(value: &Value, unit: &str) -> Option<f64> {
    match value {
        Value::Integer(n) => Some(*n as f64),
        Value::Float(n) => Some(*n),
        Value::String(text) => with_unit(text, unit),
        _ => None,
    }
}

pub(super) fn with_unit(text: &str, unit: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let number: f64 = digits.trim().parse().ok()?;
    let factor = match (unit, suffix.to_ascii_lowercase().as_str()) {
        (_, "") => 1.0,
        ("bps", "bps" | "bit" | "bit/s") => 1.0,
        ("bps", "kbps" | "kbit" | "kbit/s") => 1e3,
        ("bps", "mbps" | "mbit" | "mbit/s") => 1e6,
        ("bps", "gbps" | "gbit" | "gbit/s") => 1e9,
        ("ms", "us") => 1e-3,
        ("ms", "ms") => 1.0,
        ("ms", "s") => 1e3,
        ("bytes", "b") => 1.0,
        ("bytes", "kb") => 1e3,
        ("bytes", "mb") => 1e6,
        ("bytes", "kib") => 1024.0,
        ("bytes", "mib") => 1_048_576.0,
        _ => return None,
    };
    Some(number * factor)
}

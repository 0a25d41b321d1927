//! Reading JSON so that an error names line, column and field.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::error::{GraphError, clip};

/// Largest file that is read, in bytes; the largest page of the PCP corpus has 2.3 million.
pub(crate) const MAX_BYTES: usize = 1 << 30;

/// The text of a file with the name that errors give it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub text: &'a str,
    pub origin: &'a str,
}

/// What serde_json found wrong in a part of the source, and the last key that it had read.
pub(crate) struct Fault<'a> {
    part: &'a str,
    key: String,
    error: serde_json::Error,
}

impl<'a> Source<'a> {
    /// Checks size and encoding, and skips a byte order mark.
    pub fn new(bytes: &'a [u8], origin: &'a str) -> Result<Self, GraphError> {
        if bytes.len() > MAX_BYTES {
            let problem = format!("{} bytes are too many (allowed: {MAX_BYTES})", bytes.len());
            return Err(GraphError::new(problem).with_origin(origin));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let hint = match bytes {
                [0x1f, 0x8b, ..] => "this is a gzip file: decompress it first",
                [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "this is UTF-16: save it as UTF-8",
                _ => "save the file as UTF-8",
            };
            GraphError::new("not UTF-8 text")
                .with_origin(origin)
                .with_position(line_and_column(bytes, error.valid_up_to()))
                .with_hint(hint)
        })?;
        Ok(Source { text: text.strip_prefix('\u{feff}').unwrap_or(text), origin })
    }

    /// Parses the object `part`, which lies in this source, from those of its keys that are `taken`.
    pub fn object<T: Deserialize<'a>>(
        &self,
        part: &'a str,
        taken: impl Fn(&str) -> bool,
    ) -> Result<T, Fault<'a>> {
        let key = RefCell::new(Cow::Borrowed(""));
        let mut json = serde_json::Deserializer::from_str(part);
        let object = Object { taken, key: &key, result: std::marker::PhantomData };
        let result = json.deserialize_map(object).and_then(|value| json.end().map(|()| value));
        result.map_err(|error| Fault { part, key: key.into_inner().into_owned(), error })
    }

    /// The string field "id" of an object in which something else may be wrong.
    pub fn id_of(&self, part: &'a str) -> Option<String> {
        #[derive(Deserialize)]
        struct Id {
            id: String,
        }
        self.object::<Id>(part, |key| key == "id").ok().map(|found| found.id)
    }

    /// Line and column at which `part` of this source begins.
    pub fn position_of(&self, part: &str) -> (usize, usize) {
        line_and_column(self.text.as_bytes(), self.offset_of(part))
    }

    fn offset_of(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// JSON has no NaN and no infinities, so they break the syntax of the whole file, and the error
    /// knows no activity. With an empty list in their place `read` finds out whose value it is.
    pub fn blame_not_a_number<T>(
        &self,
        error: GraphError,
        read: impl Fn(&Source<'_>) -> Result<T, GraphError>,
    ) -> GraphError {
        const LIST: &str = "invalid type: sequence";
        let Some(text) = without_not_a_number(self.text) else { return error };
        match read(&Source { text: &text, ..*self }) {
            Err(found) if found.problem().starts_with(LIST) && !found.field().is_empty() => {
                let problem = found.problem().replace(LIST, "not a finite number");
                found.with_problem(problem).with_hint("JSON has no NaN or Infinity")
            }
            _ => error.with_hint("JSON has no NaN or Infinity"),
        }
    }
}

/// `text` with an empty list for each NaN, Infinity and -Infinity outside strings, and nothing moved;
/// `None` if there are none.
fn without_not_a_number(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut found = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|w| rest.starts_with(w));
        let taken = match (c, word) {
            (_, Some(word)) if !in_string => {
                found = true;
                out += &format!("{:1$}", "[]", word.len());
                rest = &rest[word.len()..];
                continue;
            }
            ('\\', _) if in_string => {
                c.len_utf8() + rest[1..].chars().next().map_or(0, char::len_utf8)
            }
            ('"', _) => {
                in_string = !in_string;
                1
            }
            _ => c.len_utf8(),
        };
        out += &rest[..taken];
        rest = &rest[taken..];
    }
    found.then_some(out)
}

impl Fault<'_> {
    /// The error in the words of the user; `allowed` tells the range of a field.
    pub fn explain(self, source: &Source<'_>, allowed: fn(&str) -> &'static str) -> GraphError {
        let (line, column) = (self.error.line(), self.error.column());
        let start = source.offset_of(self.part);
        let line_start = match line {
            0 | 1 => 0,
            _ => self.part.match_indices('\n').nth(line - 2).map_or(0, |(at, _)| at + 1),
        };
        let offset = start + line_start + column.saturating_sub(1);
        let said = self.error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        let error = match self.error.classify() {
            Category::Eof => GraphError::new("the text ends too early")
                .with_hint("the file is cut off: copy or export it again"),
            Category::Syntax | Category::Io => GraphError::new(format!("not JSON: {said}")),
            Category::Data => {
                // The last key read is not the one that such an error is about; its text names it.
                let names_its_field = ["missing field", "unknown field", "duplicate field"]
                    .iter()
                    .any(|start| said.starts_with(start));
                let range = allowed(&self.key);
                let key = if names_its_field { "" } else { &*self.key };
                match range {
                    "" => GraphError::new(clip(said)),
                    _ if names_its_field => GraphError::new(clip_long(said)),
                    range => GraphError::new(format!("{} (allowed: {range})", clip(said))),
                }
                .with_field(key)
            }
        };
        error
            .with_origin(source.origin)
            .with_position(line_and_column(source.text.as_bytes(), offset))
    }
}

/// Line and column, from 1, of a byte offset.
fn line_and_column(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    (line, column)
}

/// Unknown-field messages list the known fields: worth their length.
fn clip_long(text: &str) -> String {
    text.chars().take(600).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A list that refuses to grow beyond `MAX` while it is read.
pub(crate) struct BoundedList<T, const MAX: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedList<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T, const MAX: usize>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for List<T, MAX> {
            type Value = BoundedList<T, MAX>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element()? {
                    if list.len() == MAX {
                        return Err(A::Error::custom(format!("more than {MAX} entries")));
                    }
                    list.push(item);
                }
                Ok(BoundedList(list))
            }
        }
        deserializer.deserialize_seq(List(std::marker::PhantomData))
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Visits an object, shows `T` only the keys that are `taken`, and remembers the last one. (Serde's
/// own way to share fields between types, `flatten`, cannot refuse unknown fields.)
struct Object<'k, 'de, F, T> {
    taken: F,
    key: &'k RefCell<Cow<'de, str>>,
    result: std::marker::PhantomData<T>,
}

impl<'de, F: Fn(&str) -> bool, T: Deserialize<'de>> Visitor<'de> for Object<'_, 'de, F, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let fields = TakenFields { map, taken: self.taken, key: self.key };
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

struct TakenFields<'k, 'de, A, F> {
    map: A,
    taken: F,
    key: &'k RefCell<Cow<'de, str>>,
}

impl<'de, A: MapAccess<'de>, F: Fn(&str) -> bool> MapAccess<'de> for TakenFields<'_, 'de, A, F> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(Key(key)) = self.map.next_key()? {
            if !(self.taken)(&key) {
                self.map.next_value::<serde::de::IgnoredAny>()?;
                continue;
            }
            *self.key.borrow_mut() = key.clone();
            return match key {
                Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
                Cow::Owned(key) => seed.deserialize(StrDeserializer::new(&key)),
            }
            .map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

//! The one error of everything that reads page graphs and what belongs to them.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// Why a page graph, server-delay file or corpus file cannot be used: where, what, and what to do.
///
/// Displayed as `file[:line:column]: subject: field: problem`, then a line `hint: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError(Box<Detail>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Detail {
    origin: String,
    position: Option<(usize, usize)>,
    subject: String,
    field: String,
    problem: String,
    hint: Cow<'static, str>,
}

impl GraphError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        GraphError(Box::new(Detail { problem: problem.into(), ..Detail::default() }))
    }

    pub(crate) fn with_origin(mut self, origin: &str) -> Self {
        self.0.origin = clip(origin);
        self
    }

    pub(crate) fn with_position(mut self, position: (usize, usize)) -> Self {
        self.0.position = Some(position);
        self
    }

    pub(crate) fn with_subject(mut self, kind: &str, id: impl fmt::Display) -> Self {
        self.0.subject = format!("{kind} {}", clip(&id.to_string()));
        self
    }

    pub(crate) fn with_field(mut self, field: &str) -> Self {
        self.0.field = clip(field);
        self
    }

    pub(crate) fn with_problem(mut self, problem: String) -> Self {
        self.0.problem = problem;
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = hint.into();
        self
    }

    /// The file, as the caller named it.
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Line and column (in bytes), both from 1, where the text itself is wrong.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.0.position
    }

    /// What the error is about ("activity comp_3", "frame 2", "class css"), "" for the whole file.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// The field at fault, "" if none in particular.
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// What is wrong: the value and what is allowed.
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// What to do about it, "" if the problem says it all.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.0;
        f.write_str(&d.origin)?;
        if let Some((line, column)) = d.position {
            write!(f, ":{line}:{column}")?;
        }
        for part in [&d.subject, &d.field].into_iter().filter(|part| !part.is_empty()) {
            write!(f, ": {part}")?;
        }
        write!(f, ": {}", d.problem)?;
        if !d.hint.is_empty() {
            write!(f, "\nhint: {}", d.hint)?;
        }
        Ok(())
    }
}

impl Error for GraphError {}

/// `text` in one line of a message: hostile input may hold megabytes or terminal escapes.
pub(crate) fn clip(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let mut shown: String =
        text.chars().take(MAX_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

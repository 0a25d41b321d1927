//! The one error of transforms.

use std::error::Error;
use std::fmt;

use crate::graph::error::clip;

/// Why a transform cannot be read, or not be applied to a page: which transform, what, what to do.
///
/// Displayed as `transform TEXT: problem`, then a line `hint: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransformError {
    transform: String,
    problem: String,
    hint: String,
}

impl TransformError {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        let problem = problem.into();
        TransformError { transform: String::new(), problem, hint: String::new() }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(super) fn of(mut self, transform: impl fmt::Display) -> Self {
        self.transform = clip(&transform.to_string());
        self
    }

    /// The transform's text form.
    pub fn transform(&self) -> &str {
        &self.transform
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What to do about it, "" if the problem says it all.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transform {}: {}", self.transform, self.problem)?;
        if !self.hint.is_empty() {
            write!(f, "\nhint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl Error for TransformError {}

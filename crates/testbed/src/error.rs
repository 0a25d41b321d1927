//! What can go wrong on the way to a link. One line for people.

use std::io;

/// Something that the kernel or this machine does not allow.
#[derive(Debug, thiserror::Error)]
#[error("{message}; hint: {hint}")]
pub struct Error {
    message: String,
    hint: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { message: message.into(), hint: hint.into() }
    }

    /// For `map_err`: what was tried, and what to do about it.
    pub(crate) fn of<E: Into<io::Error>>(action: &str, hint: &str) -> impl Fn(E) -> Error {
        move |error| Error::new(format!("cannot {action}: {}", error.into()), hint)
    }
}

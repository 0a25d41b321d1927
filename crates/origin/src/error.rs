//! What can go wrong before the server answers. One line for people.

/// An archive that cannot be served, or an address that cannot be served from.
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
}

//! Page graphs from elsewhere. Functions from text to graphs: the caller does the reading and writing.

pub mod pcp;

/// A file's contents, and the name that errors give it.
#[derive(Clone, Copy, Debug)]
pub struct InputFile<'a> {
    /// Path, for people.
    pub origin: &'a str,
    /// Contents.
    pub bytes: &'a [u8],
}

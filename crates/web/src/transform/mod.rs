//! Transforms: page graph in, page graph out. What a site could change, as changes of its graph.
//!
//! A transform has a text form, `NAME` or `NAME:ARGUMENTS`. Ids of activities stay, so that the random
//! draws of what does not change stay too and comparisons with the original are paired.

mod async_script;
mod cut;
mod error;
mod preload;
mod unshard;
mod view;

use std::fmt;
use std::str::FromStr;

use crate::graph::PageGraph;

pub use async_script::AsyncScript;
pub use cut::{ByteClass, CutBytes, CutServerDelay, Share};
pub use error::TransformError;
pub use preload::Preload;
pub use unshard::{Grouping, Unshard};

/// A change of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// Hints in the head.
    Preload(Preload),
    /// Scripts that the parser does not wait for.
    Async(AsyncScript),
    /// Smaller responses.
    CutBytes(CutBytes),
    /// Faster servers.
    CutServerDelay(CutServerDelay),
    /// Fewer hosts.
    Unshard(Unshard),
}

/// Name, text form and meaning of each transform.
pub const FORMS: &[(&str, &str, &str)] = &[
    (
        "preload",
        "preload[:all|:URL]",
        "late-found resources requested by a hint in the head: those on the critical path, all, one",
    ),
    ("async", "async[:URL]", "scripts that hold up the parser no longer do so: all, or one"),
    (
        "cut-bytes",
        "cut-bytes:TYPE:PERCENT",
        "responses of a type (html, css, script, image, font, other, all) smaller by a share",
    ),
    ("cut-server-delay", "cut-server-delay:PERCENT", "server delays shorter by a share"),
    (
        "unshard",
        "unshard[:thesis][:own][:except=DOMAIN,DOMAIN]",
        "the hosts of each registrable domain as one host; by the thesis's grouping; only the page's \
         own domain; all but some domains",
    ),
];

impl Transform {
    /// The changed page. Its `source` says what was done.
    ///
    /// # Errors
    /// If the page has nothing that the transform could change.
    ///
    /// # Panics
    /// If the graph is not valid ([`PageGraph::validate`]).
    pub fn apply(&self, graph: &PageGraph) -> Result<PageGraph, TransformError> {
        let changed = match self {
            Transform::Preload(preload) => preload.apply(graph),
            Transform::Async(scripts) => scripts.apply(graph),
            Transform::CutBytes(cut) => cut.apply(graph),
            Transform::CutServerDelay(cut) => cut.apply(graph),
            Transform::Unshard(unshard) => Ok(unshard.apply(graph)),
        };
        let mut changed = changed.map_err(|error| error.of(self))?;
        let separator = if changed.source.is_empty() { "" } else { "; " };
        changed.source += &format!("{separator}transformed: {self}");
        debug_assert_eq!(changed.validate("transformed"), Ok(()));
        Ok(changed)
    }
}

impl FromStr for Transform {
    type Err = TransformError;

    fn from_str(text: &str) -> Result<Self, TransformError> {
        let (name, arguments) = match text.split_once(':') {
            Some((name, arguments)) => (name, Some(arguments)),
            None => (text, None),
        };
        let parsed = match name {
            "preload" => Preload::parse(arguments).map(Transform::Preload),
            "async" => AsyncScript::parse(arguments).map(Transform::Async),
            "cut-bytes" => CutBytes::parse(arguments).map(Transform::CutBytes),
            "cut-server-delay" => CutServerDelay::parse(arguments).map(Transform::CutServerDelay),
            "unshard" => Unshard::parse(arguments).map(Transform::Unshard),
            _ => {
                let forms: Vec<&str> = FORMS.iter().map(|&(_, form, _)| form).collect();
                Err(TransformError::new("there is no such transform")
                    .with_hint(format!("the transforms are {}", forms.join(", "))))
            }
        };
        parsed.map_err(|error| error.of(text))
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transform::Preload(preload) => preload.fmt(f),
            Transform::Async(scripts) => scripts.fmt(f),
            Transform::CutBytes(cut) => write!(f, "cut-bytes:{}:{}", cut.class.name(), cut.share),
            Transform::CutServerDelay(cut) => write!(f, "cut-server-delay:{}", cut.share),
            Transform::Unshard(unshard) => unshard.fmt(f),
        }
    }
}

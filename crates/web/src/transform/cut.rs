//! Less to transmit, less to wait for: sizes of responses and delays of servers cut by a share.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::TransformError;
use crate::graph::{ActivityKind, MimeClass, PageGraph, Resource};
use crate::page::http_host;

/// A share in per cent, above 0 and at most 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// What is left of `bytes`, rounded up.
    fn of_bytes(self, bytes: u64) -> u64 {
        // Sizes are at most 2^40: exact as floating-point numbers, and so is the rounding.
        (bytes as f64 * (100.0 - self.0) / 100.0).ceil() as u64
    }

    fn of_ms(self, ms: f64) -> f64 {
        ms * (100.0 - self.0) / 100.0
    }
}

impl FromStr for Share {
    type Err = TransformError;

    fn from_str(text: &str) -> Result<Self, TransformError> {
        let value = text.strip_suffix('%').unwrap_or(text).parse().ok();
        value.filter(|&percent| percent > 0.0 && percent <= 100.0).map(Share).ok_or_else(|| {
            TransformError::new(format!("\"{text}\" is no share (allowed: above 0, at most 100)"))
                .with_hint("shares are per cent: 30 leaves 70 % of what was there")
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which responses [`CutBytes`] makes smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteClass {
    /// Documents.
    Html,
    /// Style sheets.
    Css,
    /// Scripts.
    Script,
    /// Images.
    Image,
    /// Fonts.
    Font,
    /// None of these.
    Other,
    /// All of them.
    All,
}

impl ByteClass {
    const ALL: [ByteClass; 7] = [
        ByteClass::Html,
        ByteClass::Css,
        ByteClass::Script,
        ByteClass::Image,
        ByteClass::Font,
        ByteClass::Other,
        ByteClass::All,
    ];

    /// Its word in the text form.
    pub fn name(self) -> &'static str {
        match self {
            ByteClass::Html => "html",
            ByteClass::Css => "css",
            ByteClass::Script => "script",
            ByteClass::Image => "image",
            ByteClass::Font => "font",
            ByteClass::Other => "other",
            ByteClass::All => "all",
        }
    }

    fn holds(self, mime_type: &str) -> bool {
        let class = match MimeClass::of(mime_type) {
            MimeClass::Html => ByteClass::Html,
            MimeClass::Css => ByteClass::Css,
            MimeClass::Javascript => ByteClass::Script,
            MimeClass::Image => ByteClass::Image,
            // font/woff2, application/font-woff, application/x-font-ttf, application/vnd.ms-fontobject
            MimeClass::Other if mime_type.to_ascii_lowercase().contains("font") => ByteClass::Font,
            MimeClass::Other => ByteClass::Other,
        };
        self == ByteClass::All || self == class
    }
}

/// Responses of a class made smaller by a share of their bodies. Stretches of documents shrink with
/// their documents; what the bytes bring about stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutBytes {
    /// Which responses.
    pub class: ByteClass,
    /// What goes.
    pub share: Share,
}

impl CutBytes {
    pub(super) fn parse(arguments: Option<&str>) -> Result<Self, TransformError> {
        let form = "cut-bytes:TYPE:PERCENT, as in cut-bytes:script:30";
        let (class, share) =
            arguments.and_then(|arguments| arguments.split_once(':')).ok_or_else(|| {
                TransformError::new("a type and a share are missing")
                    .with_hint(format!("write {form}"))
            })?;
        let found = ByteClass::ALL.into_iter().find(|c| c.name() == class);
        let class = found.ok_or_else(|| {
            let names: Vec<&str> = ByteClass::ALL.iter().map(|c| c.name()).collect();
            let problem = format!("\"{class}\" is no type (allowed: {})", names.join(", "));
            TransformError::new(problem).with_hint(format!("write {form}"))
        })?;
        Ok(CutBytes { class, share: share.parse()? })
    }

    pub(super) fn apply(&self, graph: &PageGraph) -> Result<PageGraph, TransformError> {
        let mut changed = graph.clone();
        let mut cut = BTreeSet::new();
        for activity in &mut changed.activities {
            let ActivityKind::Resource(resource) = &mut activity.kind else { continue };
            if is_transmitted(resource)
                && resource.size_bytes > 0
                && self.class.holds(&resource.mime_type)
            {
                resource.size_bytes = self.share.of_bytes(resource.size_bytes);
                cut.insert(activity.id.clone());
            }
        }
        if cut.is_empty() {
            let class = self.class.name();
            return Err(TransformError::new(format!("the page has no {class} bytes to cut")));
        }
        for activity in &mut changed.activities {
            let ActivityKind::DownloadChunk(chunk) = &mut activity.kind else { continue };
            if cut.contains(&chunk.resource) {
                let end = self.share.of_bytes(chunk.offset_bytes + chunk.size_bytes);
                chunk.offset_bytes = self.share.of_bytes(chunk.offset_bytes);
                chunk.size_bytes = end - chunk.offset_bytes;
            }
        }
        Ok(changed)
    }
}

/// Server delays, measured ones, shortened by a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutServerDelay {
    /// What goes.
    pub share: Share,
}

impl CutServerDelay {
    pub(super) fn parse(arguments: Option<&str>) -> Result<Self, TransformError> {
        let share = arguments.ok_or_else(|| {
            TransformError::new("a share is missing")
                .with_hint("write cut-server-delay:PERCENT, as in cut-server-delay:50")
        })?;
        Ok(CutServerDelay { share: share.parse()? })
    }

    pub(super) fn apply(&self, graph: &PageGraph) -> Result<PageGraph, TransformError> {
        let mut changed = graph.clone();
        let mut found = false;
        for activity in &mut changed.activities {
            let ActivityKind::Resource(resource) = &mut activity.kind else { continue };
            if let Some(delay_ms) = &mut resource.server_delay_ms
                && *delay_ms > 0.0
            {
                *delay_ms = self.share.of_ms(*delay_ms);
                found = true;
            }
        }
        if !found {
            return Err(TransformError::new("the page has no measured server delays").with_hint(
                "delays that are drawn for each load come from the page's server-delay file",
            ));
        }
        Ok(changed)
    }
}

fn is_transmitted(resource: &Resource) -> bool {
    http_host(&resource.url).is_some()
}

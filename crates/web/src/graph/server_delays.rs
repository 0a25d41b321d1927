//! How long servers think when nobody measured: distributions of delay by class of resource
//! (thesis section 3.4.1).

use std::collections::BTreeMap;

use loadpath_net::SimDuration;
use serde::{Deserialize, Serialize};

use super::error::{GraphError, clip};
use super::mime::MimeClass;
use super::read::Source;
use super::validate::check_duration;

/// Value of `format` in the JSON form.
const FORMAT: &str = "loadpath-server-delays";
/// Current value of `version` in the JSON form.
const VERSION: u32 = 1;

/// The classes of resource whose delays were measured apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayClass {
    /// Style sheets.
    Css,
    /// Images.
    Image,
    /// Scripts.
    Javascript,
    /// HTML and other text.
    Text,
    /// Responses to POST, of any type.
    Post,
    /// Everything else.
    Other,
}

impl DelayClass {
    /// All classes.
    pub const ALL: [DelayClass; 6] = [
        DelayClass::Css,
        DelayClass::Image,
        DelayClass::Javascript,
        DelayClass::Text,
        DelayClass::Post,
        DelayClass::Other,
    ];

    /// Name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            DelayClass::Css => "css",
            DelayClass::Image => "image",
            DelayClass::Javascript => "javascript",
            DelayClass::Text => "text",
            DelayClass::Post => "post",
            DelayClass::Other => "other",
        }
    }

    /// The class of a request.
    pub fn of(method: &str, mime_type: &str) -> DelayClass {
        if method == "POST" {
            return DelayClass::Post;
        }
        match MimeClass::of(mime_type) {
            MimeClass::Css => DelayClass::Css,
            MimeClass::Javascript => DelayClass::Javascript,
            MimeClass::Image => DelayClass::Image,
            MimeClass::Html => DelayClass::Text,
            MimeClass::Other if mime_type.starts_with("text/") => DelayClass::Text,
            MimeClass::Other => DelayClass::Other,
        }
    }
}

/// Cumulative distributions of server processing delay, one for each [`DelayClass`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerDelays {
    format: &'static str,
    version: u32,
    source: String,
    /// By class: points [delay_ms, cumulative probability], both non-decreasing, from probability 0
    /// to 1.
    classes: BTreeMap<DelayClass, Vec<[f64; 2]>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    version: u32,
    #[serde(default)]
    source: String,
    classes: BTreeMap<DelayClass, Vec<[f64; 2]>>,
}

impl ServerDelays {
    /// `source` says where the numbers come from. Points are [delay_ms, cumulative probability].
    ///
    /// # Errors
    /// If a class is missing, or its points are not a cumulative distribution.
    pub fn new(
        source: &str,
        classes: BTreeMap<DelayClass, Vec<[f64; 2]>>,
    ) -> Result<ServerDelays, GraphError> {
        for class in DelayClass::ALL {
            let points = classes.get(&class).ok_or_else(|| {
                GraphError::new("missing")
                    .with_subject("class", class.name())
                    .with_hint("give all of css, image, javascript, text, post and other")
            })?;
            Self::check_points(class, points)?;
        }
        Ok(ServerDelays { format: FORMAT, version: VERSION, source: source.into(), classes })
    }

    /// Reads and validates the JSON form. `origin` names the file in errors.
    ///
    /// # Errors
    /// If the text is not such a file, or as [`ServerDelays::new`].
    pub fn from_json(bytes: &[u8], origin: &str) -> Result<ServerDelays, GraphError> {
        let source = Source::new(bytes, origin)?;
        Self::read(&source).map_err(|error| source.blame_not_a_number(error, Self::read))
    }

    fn read(source: &Source<'_>) -> Result<ServerDelays, GraphError> {
        let document: Document =
            source.object(source.text, |_| true).map_err(|fault| fault.explain(source, allowed))?;
        if document.format != FORMAT {
            return Err(GraphError::new(format!(
                "\"{}\" is not \"{FORMAT}\"",
                clip(&document.format)
            ))
            .with_origin(source.origin)
            .with_field("format"));
        }
        if document.version != VERSION {
            let problem = format!("{} is not supported (allowed: {VERSION})", document.version);
            return Err(GraphError::new(problem).with_origin(source.origin).with_field("version"));
        }
        Self::new(&document.source, document.classes)
            .map_err(|error| error.with_origin(source.origin))
    }

    /// The JSON form, which [`ServerDelays::from_json`] reads back.
    pub fn to_json(&self) -> String {
        // String keys and finite numbers only: serialisation has no way to fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn check_points(class: DelayClass, points: &[[f64; 2]]) -> Result<(), GraphError> {
        let error = |problem: String| GraphError::new(problem).with_subject("class", class.name());
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(error("no points".into()).with_hint("give [delay_ms, probability] pairs"));
        };
        for &[delay_ms, probability] in points {
            check_duration("delay_ms", delay_ms)
                .map_err(|error| error.with_subject("class", class.name()))?;
            if !(0.0..=1.0).contains(&probability) {
                return Err(error(format!("{probability} is out of range (allowed: 0 to 1)"))
                    .with_field("probability"));
            }
        }
        if let Some(pair) = points.windows(2).find(|p| p[0][0] > p[1][0] || p[0][1] > p[1][1]) {
            return Err(error(format!("{:?} comes after {:?}", pair[1], pair[0]))
                .with_hint("delays and probabilities may not decrease"));
        }
        if first[1] != 0.0 || last[1] != 1.0 {
            return Err(error(format!("probabilities run from {} to {}", first[1], last[1]))
                .with_hint("the first is 0, the last 1"));
        }
        Ok(())
    }

    /// The class of a request.
    pub fn class_of(method: &str, mime_type: &str) -> DelayClass {
        DelayClass::of(method, mime_type)
    }

    /// The delay below which a share `u` (0 to 1) of the class stays, linear between the points.
    pub fn quantile(&self, class: DelayClass, u: f64) -> SimDuration {
        let points = self.classes.get(&class).map_or(&[][..], Vec::as_slice);
        let above = points.partition_point(|&[_, probability]| probability <= u);
        let delay_ms = match (points.get(above.wrapping_sub(1)), points.get(above)) {
            (Some(&[low_ms, low]), Some(&[high_ms, high])) => {
                low_ms + (high_ms - low_ms) * ((u - low) / (high - low))
            }
            (Some(&[last_ms, _]), None) => last_ms,
            (None, Some(&[first_ms, _])) => first_ms,
            (None, None) => 0.0,
        };
        SimDuration::from_millis_f64(delay_ms)
    }
}

fn allowed(field: &str) -> &'static str {
    match field {
        "classes" => "css, image, javascript, text, post, other: lists of [delay_ms, probability]",
        "version" => "1",
        _ => "",
    }
}

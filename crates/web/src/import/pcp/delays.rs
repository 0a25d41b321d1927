//! Measured server delays: one table a page, one distribution a class of resource.

use std::collections::BTreeMap;

use crate::graph::read::Source;
use crate::graph::{DelayClass, GraphError, ServerDelays};
use crate::import::InputFile;

const COLUMNS: [&str; 10] = [
    "method", "hostname", "url", "size", "time", "mimetype", "exttype", "tls", "cached", "estimate",
];
/// Columns by their place in `COLUMNS`.
const METHOD: usize = 0;
const URL: usize = 2;
const TIME: usize = 4;
const ESTIMATE: usize = 9;

/// The delays of a page, in seconds, by URL without scheme, then method.
#[derive(Debug, Default)]
pub(super) struct MeasuredDelays<'a> {
    by_url: BTreeMap<&'a str, Vec<(&'a str, f64)>>,
    /// Rows that had been glued to the one before.
    pub rows_split: u64,
}

impl<'a> MeasuredDelays<'a> {
    pub fn parse(file: InputFile<'a>) -> Result<Self, GraphError> {
        let text = Source::new(file.bytes, file.origin)?.text;
        let mut delays = MeasuredDelays::default();
        let mut lines = (1..).zip(text.lines());
        let header = lines.next().map_or("", |(_, line)| line);
        if !header.split(' ').eq(COLUMNS) {
            return Err(GraphError::new("not a delay table of the corpus")
                .with_origin(file.origin)
                .with_position((1, 1))
                .with_hint(format!("the first line is \"{}\"", COLUMNS.join(" "))));
        }
        for (line, row) in lines.filter(|(_, row)| !row.is_empty()) {
            delays
                .add_row(row)
                .map_err(|error| error.with_origin(file.origin).with_position((line, 1)))?;
        }
        Ok(delays)
    }

    /// Two rows of the public origin lack the line break after them, so that the last column and the
    /// next row's method have become one word ("0GET").
    fn add_row(&mut self, row: &'a str) -> Result<(), GraphError> {
        let mut words: Vec<&str> = row.split(' ').collect();
        if words.len() == 2 * COLUMNS.len() - 1
            && let Some((estimate, method)) = words[ESTIMATE].split_at_checked(1)
        {
            self.rows_split += 1;
            let mut second = words.split_off(COLUMNS.len());
            words[ESTIMATE] = estimate;
            second.insert(METHOD, method);
            self.add(&second)?;
        }
        self.add(&words)
    }

    fn add(&mut self, words: &[&'a str]) -> Result<(), GraphError> {
        if words.len() != COLUMNS.len() {
            let problem = format!("{} columns (allowed: {})", words.len(), COLUMNS.len());
            return Err(GraphError::new(problem).with_hint("the file is cut off or edited"));
        }
        let delay = words[TIME].parse().ok().filter(|s| (0.0..=3600.0).contains(s));
        let delay = delay.ok_or_else(|| {
            GraphError::new(format!("{} is out of range (allowed: 0 to 3600 s)", words[TIME]))
                .with_field("time")
        })?;
        self.by_url.entry(words[URL]).or_default().push((words[METHOD], delay));
        Ok(())
    }

    pub fn exact(&self, method: &str, url: &str) -> Option<f64> {
        self.of(url).iter().find(|(known, _)| *known == method).map(|&(_, delay)| delay)
    }

    /// Many POST and OPTIONS requests are stored as GET: the first row of the URL will do.
    pub fn other_method(&self, url: &str) -> Option<f64> {
        self.of(url).first().map(|&(_, delay)| delay)
    }

    fn of(&self, url: &str) -> &[(&'a str, f64)] {
        let without_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        self.by_url.get(without_scheme).map_or(&[], Vec::as_slice)
    }
}

/// The class of a file of the corpus's `dist/` folder, by its name; `None` for any other file.
pub fn distribution_class(file_name: &str) -> Option<DelayClass> {
    match file_name {
        "CSSDelaysCDF.dist" => Some(DelayClass::Css),
        "ImageDelaysCDF.dist" => Some(DelayClass::Image),
        "JavascriptDelaysCDF.dist" => Some(DelayClass::Javascript),
        "TextDelaysCDF.dist" => Some(DelayClass::Text),
        "PostDelaysCDF.dist" => Some(DelayClass::Post),
        "OtherDelaysCDF.dist" => Some(DelayClass::Other),
        _ => None,
    }
}

/// Converts the six distributions ([`distribution_class`]): rows of delay in seconds and cumulative
/// probability.
///
/// # Errors
/// If a class is missing or a file is malformed.
pub fn import_distributions(
    files: &[(DelayClass, InputFile<'_>)],
) -> Result<ServerDelays, GraphError> {
    let mut classes = BTreeMap::new();
    for &(class, file) in files {
        let text = Source::new(file.bytes, file.origin)?.text;
        let mut points = Vec::new();
        for (line, row) in (1..).zip(text.lines()).filter(|(_, row)| !row.is_empty()) {
            let mut numbers = row.split_whitespace().map(str::parse::<f64>);
            match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(seconds)), Some(Ok(probability)), None) => {
                    points.push([(seconds * 1e6).round() / 1e3, probability]);
                }
                _ => {
                    return Err(GraphError::new("not a delay and a probability")
                        .with_origin(file.origin)
                        .with_position((line, 1))
                        .with_hint("each row has two numbers, e.g. \"0.0031 0.25\""));
                }
            }
        }
        ServerDelays::check_points(class, &points)
            .map_err(|error| error.with_origin(file.origin))?;
        classes.insert(class, points);
    }
    ServerDelays::new("PCP corpus, measured September 2016", classes)
}

//! Async: scripts that hold up the parser become `async`.

use std::collections::BTreeSet;
use std::fmt;

use super::TransformError;
use super::view::View;
use crate::graph::{ActivityKind, Blocking, EvaluationKind, PageGraph};

/// Which scripts get the attribute `async` (HTML standard section 4.12.1).
///
/// The parser no longer waits for such a script; it runs when it has arrived, without waiting for
/// style sheets. The load event waits for it as before. What else the script waited for, the parser
/// and the script still wait for.
///
/// Only external scripts that the parser of the main document met and waited for can become `async`.
/// What a graph cannot know: whether a later script, inline or not, needs what this one defines,
/// whether it writes into the document, and whether it is too late for events that it listens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsyncScript {
    /// All that hold up the parser.
    All,
    /// One, by URL or activity id of its file.
    One(String),
}

impl AsyncScript {
    pub(super) fn parse(argument: Option<&str>) -> Result<Self, TransformError> {
        match argument {
            None | Some("all") => Ok(AsyncScript::All),
            Some("") => Err(TransformError::new("the URL is missing")
                .with_hint("write async, or async:URL with the URL of a script")),
            Some(target) => Ok(AsyncScript::One(target.to_owned())),
        }
    }

    pub(super) fn apply(&self, graph: &PageGraph) -> Result<PageGraph, TransformError> {
        let view = View::new(graph);
        let blocking: Vec<u32> =
            view.in_order().filter(|&index| view.holds_up_main_parser(index)).collect();
        if blocking.is_empty() {
            return Err(TransformError::new(
                "no external script holds up the main document's parser",
            ));
        }
        let chosen: Vec<u32> = match self {
            AsyncScript::All => blocking,
            AsyncScript::One(target) => {
                let chosen: Vec<u32> =
                    blocking.iter().copied().filter(|&i| view.is_named(i, target)).collect();
                if chosen.is_empty() {
                    let problem = match view.resources_named(target).is_empty() {
                        true => "the page has no such resource",
                        false => "it does not hold up the main document's parser",
                    };
                    let urls: Vec<&str> = blocking.iter().take(5).map(|&i| view.url(i)).collect();
                    return Err(TransformError::new(problem)
                        .with_hint(format!("these do, for example: {}", urls.join(" "))));
                }
                chosen
            }
        };
        let mut changed = graph.clone();
        for script in chosen {
            release_parser(&mut changed, script);
        }
        Ok(changed)
    }
}

impl fmt::Display for AsyncScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AsyncScript::All => f.write_str("async"),
            AsyncScript::One(target) => write!(f, "async:{target}"),
        }
    }
}

/// Places stay what they were: only edges change.
fn release_parser(graph: &mut PageGraph, file: u32) {
    let view = View::new(graph);
    let pieces = view.pieces_of_script(file);
    let own = |index: &u32| *index == file || pieces.contains(index);
    let is_style = |index: u32| matches!(view.kind(index), ActivityKind::Evaluation(e) if e.kind == EvaluationKind::Style);
    // What the parser waits for from now on, in the script's place.
    let mut instead = BTreeSet::new();
    let mut no_longer = Vec::new();
    for &piece in std::iter::once(&file).chain(&pieces) {
        for &parent in view.topology.parents.of(piece) {
            if is_style(parent) {
                no_longer.push((parent, piece));
            } else if !own(&parent) {
                instead.insert(parent);
            }
        }
    }
    let mut parsers = BTreeSet::new();
    let mut last = Vec::new();
    for &piece in std::iter::once(&file).chain(&pieces) {
        for &chunk in view.parsers_waiting_for(piece) {
            parsers.insert(chunk);
            no_longer.push((piece, chunk));
            last.push(piece);
        }
    }
    let id = |index: u32| view.id(index).to_owned();
    let removed: Vec<(u32, String)> = no_longer.iter().map(|&(from, to)| (from, id(to))).collect();
    let mut added: Vec<(u32, String)> = Vec::new();
    for &parent in &instead {
        added.extend(parsers.iter().map(|&chunk| (parent, id(chunk))));
    }
    // The parser handed this down to the load event.
    added.extend(last.iter().map(|&piece| (piece, graph.load_event.clone())));
    for (from, to) in removed {
        graph.activities[from as usize].children.retain(|child| *child != to);
    }
    for (from, to) in added {
        let children = &mut graph.activities[from as usize].children;
        if !children.contains(&to) {
            children.push(to);
        }
    }
    for piece in pieces {
        if let ActivityKind::Evaluation(e) = &mut graph.activities[piece as usize].kind {
            e.blocking = Blocking::Async;
        }
    }
}

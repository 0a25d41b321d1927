//! References that the recording served from its cache after the load event.

use crate::graph::{ActivityKind, IdIndex, PageGraph, normalise};

/// Lets references cost nothing that the recording served from its cache after the load event, by an
/// original that is not part of the load. Returns how many there are.
///
/// They are in the graph since a computation of the load created their elements: a slideshow's
/// script makes its image elements before the load event and the timers that fetch the images run
/// after it. Normalisation drops the timers (thesis section 3.7.4), and the references, if they had
/// to fetch in their place, would move work into the load that the recording did after it: 23 MB on
/// giphy.com. The graph as recorded, in which whoever comes first fetches, is the other reading.
pub fn serve_late_references(graph: &mut PageGraph) -> u64 {
    let normalised = normalise(graph);
    let kept = IdIndex::new(&normalised);
    let load_ms =
        graph.activities.iter().find(|a| a.id == graph.load_event).and_then(|a| match &a.kind {
            ActivityKind::Evaluation(e) => e.recorded_start_ms,
            _ => None,
        });
    let Some(load_ms) = load_ms else { return 0 };
    let mut served = 0;
    for activity in &mut graph.activities {
        let ActivityKind::Resource(reference) = &mut activity.kind else { continue };
        let gone = reference.original.as_ref().is_some_and(|id| kept.get(id).is_none());
        let late = reference.recorded_sent_ms.is_some_and(|sent_ms| sent_ms > load_ms);
        if reference.cached && gone && late && kept.get(&activity.id).is_some() {
            reference.original = None;
            served += 1;
        }
    }
    served
}

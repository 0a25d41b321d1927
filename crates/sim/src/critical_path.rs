//! Times and bytes on the critical path of a load, by phase.

use loadpath_net::SimTime;
use loadpath_transport::Transport;
use loadpath_web::browser::PathStep;

use crate::load::phases;
use crate::outcome::{CriticalPath, CriticalPhases, CriticalStep};
use crate::trace::ms;
use crate::world::World;

/// Goes back from the load event; nothing if it did not fire. Steps are kept on demand.
pub(crate) fn critical_path<T, C: Transport>(
    world: &World<T, C>,
    keep_steps: bool,
) -> Option<CriticalPath> {
    world.browser.load_event()?;
    let mut path = CriticalPath { bytes: 0, phases: CriticalPhases::default(), steps: Vec::new() };
    for step in world.browser.critical_path() {
        let network = step.response.map(|response| {
            path.bytes += response.bytes;
            let timeline = &world.timelines[response.resource as usize];
            phases(world, timeline, Some(step.end)).expect("what was awaited has arrived")
        });
        match network {
            Some(network) => path.phases.network += network,
            None => path.phases.add_main_thread(world.page.describe(step.activity).kind, &step),
        }
        if keep_steps {
            path.steps.push(CriticalStep {
                id: world.page.activity_id(step.activity).to_owned(),
                timer_wait_ms: span_ms(step.ready, step.due),
                main_thread_wait_ms: span_ms(step.due, step.start),
                start_ms: ms(step.start),
                end_ms: ms(step.end),
                bytes: step.response.map(|response| response.bytes),
                phases: network,
            });
        }
    }
    path.steps.reverse();
    Some(path)
}

impl CriticalPhases {
    fn add_main_thread(&mut self, kind: &str, step: &PathStep) {
        self.timer_wait_ms += span_ms(step.ready, step.due);
        self.main_thread_wait_ms += span_ms(step.due, step.start);
        *match kind {
            "parse" => &mut self.parse_ms,
            "script" => &mut self.script_ms,
            "style" => &mut self.style_ms,
            "timer" => &mut self.timer_ms,
            "event" => &mut self.event_ms,
            _ => &mut self.other_ms,
        } += span_ms(step.start, step.end);
    }
}

fn span_ms(from: SimTime, to: SimTime) -> f64 {
    (to - from).as_millis_f64()
}

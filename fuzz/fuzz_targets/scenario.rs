//! Any text is a scenario or an error of one line, and a load of a small page under any scenario ends.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use loadpath_sim::outcome::Status;
use loadpath_sim::{Options, Scenario, simulate, summarise};
use loadpath_web::graph::PageGraph;
use loadpath_web::page::Page;

/// Figure 3.1 of the thesis: three resources, 27 kB.
fn page() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| {
        let text = include_bytes!("../../examples/pages/figure-3-1.json");
        let graph = PageGraph::from_json(text, "figure-3-1.json").expect("a valid page");
        Page::compile(&graph).expect("a valid page")
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let limit = [("limits.time_ms".to_owned(), "3000".to_owned())];
    let scenario = match Scenario::resolve(None, Some((text, "fuzz")), &limit) {
        Ok(scenario) => scenario,
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("fuzz: "), "{error}");
            assert!(error.lines().count() == 1 && error.len() < 1000, "{error}");
            return;
        }
    };
    let again = Scenario::resolve(None, Some((&scenario.to_toml(), "again")), &[]);
    assert_eq!(again.as_ref(), Ok(&scenario));
    let outcome = simulate(page(), &scenario, 0, &Options { trace: bytes.len() % 2 == 0 });
    assert_eq!(outcome.status == Status::Complete, outcome.plt_ms.is_some());
    assert_eq!(summarise(page(), &scenario, 0).totals, outcome.totals);
});

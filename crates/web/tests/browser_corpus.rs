//! The browser on the pages of the corpus.

#[allow(dead_code)]
mod browser_support;
#[allow(dead_code)]
mod graph_support;

use browser_support::load_with_delays;
use graph_support::{Corpus, corpus};
use loadpath_net::SimDuration;
use loadpath_web::browser::BrowserConfig;
use loadpath_web::graph::ServerDelays;
use loadpath_web::import::{InputFile, pcp};
use loadpath_web::page::Page;

fn distributions(corpus: &Corpus) -> ServerDelays {
    let names = ["CSS", "Image", "Javascript", "Other", "Post", "Text"];
    let files: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| format!("dist/{name}DelaysCDF.dist"))
        .map(|name| (name.clone(), corpus.read(&name)))
        .collect();
    let inputs: Vec<_> = files
        .iter()
        .map(|(name, bytes)| {
            let class = pcp::distribution_class(name.trim_start_matches("dist/")).unwrap();
            (class, InputFile { origin: name, bytes })
        })
        .collect();
    pcp::import_distributions(&inputs).unwrap()
}

fn floors(config: &BrowserConfig, rtt: SimDuration) -> Option<Vec<f64>> {
    let corpus = corpus()?;
    let delays = distributions(&corpus);
    let mut plt = Vec::new();
    for entry in &corpus.pages {
        let page = Page::compile(&corpus.import(entry).0).unwrap();
        let load = load_with_delays(&page, config, |r| {
            let r = &page.resources[r as usize];
            rtt + r.server_delay.unwrap_or_else(|| delays.quantile(r.delay_class, 0.5))
        });
        assert_eq!(load.why_incomplete, None, "{}", entry.name);
        plt.push(load.load_event.unwrap().as_secs_f64());
    }
    Some(plt)
}

fn report(name: &str, plt: &[f64]) {
    let mut sorted = plt.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = plt.iter().sum::<f64>() / plt.len() as f64;
    println!(
        "{name}: mean {mean:.3} median {:.3} p90 {:.3} max {:.3}",
        sorted[150], sorted[270], sorted[300]
    );
}

#[test]
fn explore() {
    let base = BrowserConfig::default();
    for (name, config, rtt) in [
        ("preloader", base.clone(), 0),
        ("no preloader", BrowserConfig { preloader: false, ..base.clone() }, 0),
        ("no timers", BrowserConfig { timers: false, ..base.clone() }, 0),
        ("preloader 8ms", base.clone(), 8),
        ("preloader 16ms", base.clone(), 16),
    ] {
        let Some(plt) = floors(&config, SimDuration::from_millis(rtt)) else { return };
        report(name, &plt);
    }
}

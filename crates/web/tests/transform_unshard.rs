//! Unsharding (thesis section 5.2).

use std::collections::BTreeSet;

use loadpath_web::graph::{ActivityKind, PageGraph};
use loadpath_web::page::{Page, http_host};
use loadpath_web::transform::{Transform, TransformError};
use proptest::prelude::*;

/// A page whose first URL is the main document's; the others hang on it.
fn page(urls: &[&str]) -> PageGraph {
    let resources: Vec<String> = urls
        .iter()
        .enumerate()
        .map(|(i, url)| {
            let children: Vec<String> =
                (1..urls.len()).filter(|_| i == 0).map(|n| format!("\"r{n}\"")).collect();
            let load = (i + 1 == urls.len()).then_some("\"load\"".to_string());
            let children: Vec<String> = children.into_iter().chain(load).collect();
            format!(
                r#"{{"id": "r{i}", "type": "resource", "url": "{url}", "size_bytes": {i},
                    "server_delay_ms": {i}, "children": [{}]}}"#,
                children.join(",")
            )
        })
        .collect();
    let main = urls[0];
    let json = format!(
        r#"{{"format": "loadpath-page-graph", "version": 1, "name": "test", "url": "{main}",
            "root": "r0", "load_event": "load", "dom_content_loaded_event": "load",
            "frames": [{{"id": 0, "url": "{main}"}}],
            "activities": [{}, {{"id": "load", "type": "evaluation", "frame": 0, "kind": "event",
                                 "duration_ms": 0, "url": "{}"}}]}}"#,
        resources.join(","),
        urls[urls.len() - 1]
    );
    PageGraph::from_json(json.as_bytes(), "test").unwrap_or_else(|error| panic!("{error}"))
}

fn urls(graph: &PageGraph) -> Vec<&str> {
    graph
        .activities
        .iter()
        .filter_map(|activity| match &activity.kind {
            ActivityKind::Resource(r) => Some(&*r.url),
            _ => None,
        })
        .collect()
}

fn parse(options: &str) -> Result<Transform, TransformError> {
    format!("unshard{options}").parse()
}

fn unshard(options: &str, graph: &PageGraph) -> PageGraph {
    let changed = parse(options).expect("options").apply(graph).expect("it always applies");
    PageGraph { source: graph.source.clone(), ..changed }
}

fn unsharded(options: &str, before: &[&str]) -> Vec<String> {
    urls(&unshard(options, &page(before))).into_iter().map(String::from).collect()
}

#[test]
fn the_hosts_of_a_registrable_domain_become_the_domain() {
    // The example of the thesis.
    let graph = unshard(
        "",
        &page(&[
            "http://gizmodo.com/",
            "https://media.gizmodo.com:8080/a?b#c",
            "http://akamai.com/x",
        ]),
    );
    assert_eq!(
        urls(&graph),
        ["http://gizmodo.com/", "https://gizmodo.com:8080/a?b#c", "http://akamai.com/x"]
    );
}

#[test]
fn the_page_its_frames_and_its_scripts_follow_their_addresses() {
    let graph = unshard("", &page(&["http://www.a.com/", "http://js.a.com/s.js"]));
    assert_eq!(graph.url, "http://a.com/");
    assert_eq!(graph.frames[0].url, "http://a.com/");
    let ActivityKind::Evaluation(load) = &graph.activities[2].kind else { panic!("the handler") };
    assert_eq!(load.url, "http://a.com/s.js");
}

#[test]
fn registries_may_have_more_than_one_label() {
    assert_eq!(
        unsharded("", &["http://www.shop.co.uk/", "http://img.shop.co.uk/1", "http://b.co.uk/2"]),
        ["http://shop.co.uk/", "http://shop.co.uk/1", "http://b.co.uk/2"]
    );
}

#[test]
fn different_domains_of_one_company_stay_apart() {
    let before = ["http://partner.googleadservices.com/", "http://www.googletagservices.com/1"];
    assert_eq!(unsharded("", &before), before);
}

#[test]
fn a_host_that_is_alone_keeps_its_name() {
    let before = ["http://www.a.com/", "http://www.b.com/1", "http://www.b.com/2"];
    assert_eq!(unsharded("", &before), before);
}

#[test]
fn customers_of_one_network_are_apart_except_in_the_thesis() {
    let before = ["http://a.com/", "http://x.cloudfront.net/1", "http://y.cloudfront.net/2"];
    assert_eq!(unsharded("", &before), before);
    assert_eq!(
        unsharded(":thesis", &before),
        ["http://a.com/", "http://cloudfront.net/1", "http://cloudfront.net/2"]
    );
    // Under a private suffix below a registry of two labels.
    assert_eq!(
        unsharded(":thesis", &["http://a.blogspot.co.uk/", "http://b.blogspot.co.uk/1"]),
        ["http://blogspot.co.uk/", "http://blogspot.co.uk/1"]
    );
}

#[test]
fn third_parties_are_left_alone_on_request() {
    let before =
        ["http://www.a.com/", "http://i.a.com/1", "http://x.ads.net/2", "http://y.ads.net/3"];
    assert_eq!(
        unsharded(":own", &before),
        ["http://a.com/", "http://a.com/1", "http://x.ads.net/2", "http://y.ads.net/3"]
    );
}

#[test]
fn excepted_domains_are_left_alone_with_all_below_them() {
    let before = [
        "http://www.a.com/",
        "http://i.a.com/1",
        "http://p.ADS.a.com/2",
        "http://x.ads.net/3",
        "http://y.ads.net/4",
        "http://x.loads.net/5",
        "http://loads.net/6",
    ];
    assert_eq!(
        unsharded(":except=ads.net,ADS.a.com", &before),
        [
            "http://a.com/",
            "http://a.com/1",
            "http://p.ADS.a.com/2",
            "http://x.ads.net/3",
            "http://y.ads.net/4",
            "http://loads.net/5",
            "http://loads.net/6",
        ]
    );
}

#[test]
fn addresses_names_without_dots_suffixes_and_other_schemes_are_left_alone() {
    let before = [
        "http://10.1.2.3/",
        "http://9.1.2.3/1",
        "http://[::1]/2",
        "http://localhost/3",
        "http://github.io/4",
        "data:text/plain,5",
        "http:///6",
        "http://a..b/7",
        "http://.b/8",
    ];
    assert_eq!(unsharded("", &before), before);
}

#[test]
fn equal_paths_on_different_hosts_stay_different_addresses() {
    assert_eq!(
        unsharded(
            "",
            &[
                "http://a.com/",
                "http://i.a.com/x",
                "http://j.a.com/x",
                "http://k.a.com",
                "http://l.a.com/",
                "http://a.com/l.a.com/",
            ]
        ),
        [
            "http://a.com/",
            "http://a.com/i.a.com/x",
            "http://a.com/j.a.com/x",
            "http://a.com",
            "http://a.com/l.a.com/l.a.com/",
            "http://a.com/l.a.com/",
        ]
    );
}

#[test]
fn the_merged_server_is_the_one_of_the_first_resource() {
    let page = |graph| Page::compile(&graph).unwrap_or_else(|error| panic!("{error}"));
    let before = page(page_of_four());
    let after = page(unshard("", &page_of_four()));
    assert_eq!(after.hosts.len(), 2);
    assert_eq!(after.hosts[0].key, before.hosts[0].key);
    assert_eq!(after.hosts[1].key, before.hosts[1].key);
}

fn page_of_four() -> PageGraph {
    page(&["http://www.a.com/", "http://b.com/1", "http://i.a.com/2", "http://j.a.com/3"])
}

#[test]
fn options_are_written_as_they_are_read() {
    for options in ["", ":thesis", ":own", ":thesis:own:except=a.com,b.com"] {
        let read = parse(options).expect("options");
        assert_eq!(read.to_string(), format!("unshard{options}"));
    }
}

#[test]
fn unknown_options_are_errors() {
    for options in [":", ":These", ":except", ":except=", ":except=a,,b", ":own:", ":own=1"] {
        let error = parse(options).expect_err(options).to_string();
        assert!(error.contains("hint: options are thesis, own and except="), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever the addresses: the same activities, as many addresses as before, fewer hosts or the
    /// same, and nothing left to do.
    #[test]
    fn only_addresses_change(
        options in "(:thesis)?|:own|:thesis:own|:except=b\\.com",
        rest in prop::collection::vec(
            "https?://([ab]\\.){0,2}(a\\.com|b\\.com|x\\.co\\.uk|github\\.io|1\\.2)(:8)?(/|/a|/a\\.a\\.com/|\\?q)?",
            1..12,
        ),
    ) {
        let graph = page(&rest.iter().map(String::as_str).collect::<Vec<_>>());
        let result = unshard(&options, &graph);
        prop_assert!(result.validate("result").is_ok());
        let distinct = |graph: &PageGraph| urls(graph).into_iter().collect::<BTreeSet<_>>().len();
        prop_assert_eq!(distinct(&graph), distinct(&result));
        let hosts = |graph: &PageGraph| {
            urls(graph).into_iter().filter_map(http_host).collect::<BTreeSet<_>>().len()
        };
        prop_assert!(hosts(&result) <= hosts(&graph));
        prop_assert_eq!(&unshard(&options, &result), &result);

        let mut restored = result;
        for (after, before) in restored.activities.iter_mut().zip(&graph.activities) {
            match (&mut after.kind, &before.kind) {
                (ActivityKind::Resource(a), ActivityKind::Resource(b)) => a.url.clone_from(&b.url),
                (ActivityKind::Evaluation(a), ActivityKind::Evaluation(b)) => a.url.clone_from(&b.url),
                _ => {}
            }
        }
        restored.url.clone_from(&graph.url);
        restored.frames.clone_from(&graph.frames);
        prop_assert_eq!(restored, graph);
    }
}

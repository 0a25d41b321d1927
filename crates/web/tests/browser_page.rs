//! What compilation gives to the layers below the browser.

mod browser_support;

use browser_support::compile;
use browser_support::graph::*;
use loadpath_net::{SimDuration, key_of};
use loadpath_web::graph::{ActivityKind, DelayClass, MimeClass, Resource};

fn at(url: &str) -> ActivityKind {
    ActivityKind::Resource(Resource {
        url: url.into(),
        method: "POST".into(),
        mime_type: "text/css".into(),
        size_bytes: 7,
        server_delay_ms: Some(1.5),
        ..Resource::default()
    })
}

#[test]
fn hosts_are_ordered_and_keyed_by_their_lowest_resource() {
    let mut b = Builder::new();
    b.add("r_10", at("http://a.example/1"), &[ROOT]);
    b.add("r_9", at("https://Z.example:8080/2"), &[ROOT]);
    b.add("r_100", at("http://z.example/3"), &[ROOT]);
    b.add("r_1", at("data:,"), &[ROOT]);
    let page = compile(b.load(&["r_1", "r_9", "r_10", "r_100"]));
    let hosts: Vec<(&str, u64)> = page.hosts.iter().map(|h| (h.name.as_str(), h.key)).collect();
    assert_eq!(
        hosts,
        [
            ("download_0.example", key_of(ROOT)),
            ("z.example", key_of("r_9")),
            ("a.example", key_of("r_10")),
        ]
    );
    let resources: Vec<(&str, u32)> =
        page.resources.iter().map(|r| (r.id.as_str(), r.host)).collect();
    assert_eq!(resources, [(ROOT, 0), ("r_9", 1), ("r_10", 2), ("r_100", 1)]);
}

#[test]
fn resources_carry_what_a_request_needs() {
    let mut b = Builder::new();
    b.add("r", at("http://a.example/1"), &[ROOT]);
    let graph = b.load(&["r"]).clone();
    let page = compile(&graph);
    let r = &page.resources[1];
    assert_eq!((r.url.as_str(), r.method.as_str()), ("http://a.example/1", "POST"));
    assert_eq!((r.size_bytes, r.mime_class), (7, MimeClass::Css));
    assert_eq!(r.delay_class, DelayClass::Post);
    assert_eq!(r.server_delay, Some(SimDuration::from_micros(1500)));
    assert_eq!(r.key, key_of("r"));
    assert_eq!(graph.activities[r.graph_index as usize].id, "r");
    assert_eq!(page.activity_id(r.activity), "r");
    assert_eq!(page.resources[0].server_delay, None);
    assert_eq!(page.resources[0].delay_class, DelayClass::Text);
}

#[test]
fn an_invalid_graph_is_refused_with_the_name_of_the_page() {
    let mut b = Builder::new();
    b.add("a", script(0, 1.0), &[ROOT]).add("b", script(0, 1.0), &["a"]).edge("b", "a");
    let error = loadpath_web::page::Page::compile(b.load(&["b"])).unwrap_err();
    assert_eq!((error.origin(), error.field()), ("test", "children"));
    assert!(error.problem().contains("cycle"), "{error}");
}

//! The published JSON Schema and the model say the same.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod graph_support;

use std::collections::BTreeSet;

use graph_support::corpus;
use loadpath_web::graph::{
    Activity, ActivityKind, Blocking, DelaySource, DiscoveredBy, DownloadChunk, Evaluation,
    EvaluationKind, Evidence, FORMAT, Frame, MainThread, PageGraph, ParseChunk, Phase, Resource,
    VERSION,
};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/page-graph.schema.json")).unwrap()
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

/// A page with every field of every type set to something that is not its default.
fn full() -> PageGraph {
    let resource = |url: &str, original: Option<&str>| Resource {
        url: url.into(),
        method: "POST".into(),
        mime_type: "text/html".into(),
        size_bytes: 50,
        server_delay_ms: Some(1.5),
        stalled_ms: Some(0.5),
        request_header_bytes: Some(500),
        response_header_bytes: Some(250),
        original: original.map(str::to_string),
        server_delay_source: Some(DelaySource::Timing),
        cached: true,
        failed: true,
        priorities: [("cp".to_string(), 3)].into(),
        browser_priority: Some("VeryHigh".into()),
        raised_by: Some("m".into()),
        discovered_by: Some(DiscoveredBy::Preload),
        evidence: Some(Evidence::Source),
        recorded_sent_ms: Some(2.0),
        recorded_received_ms: Some(3.0),
    };
    let activity = |id: &str, kind, children: &[&str]| Activity {
        id: id.into(),
        kind,
        children: children.iter().map(|child| child.to_string()).collect(),
    };
    let evaluation = Evaluation {
        frame: 1,
        kind: EvaluationKind::Timer,
        duration_ms: 0.5,
        blocking: Blocking::Async,
        phase: Phase::Load,
        url: "http://a/s.js".into(),
        position: Some([3, 14]),
        timeout_ms: Some(10.0),
        event_name: "load".into(),
        event_target: "Window".into(),
        continues: Some("timer".into()),
        group: Some("group".into()),
        recorded_start_ms: Some(4.0),
    };
    let parse = ParseChunk {
        frame: 1,
        duration_ms: 0.25,
        recorded_start_ms: Some(1.0),
        end_tag: "script".into(),
        position: Some([1, -2, 3, 4]),
        inserts_body: true,
    };
    let main_thread = MainThread { frame: 1, kind: "layout".into(), duration_ms: 1.0 };
    PageGraph {
        format: FORMAT.into(),
        version: VERSION,
        name: "full".into(),
        url: "http://a/".into(),
        source: "by hand".into(),
        root: "page".into(),
        load_event: "timer_1".into(),
        dom_content_loaded_event: "timer_1".into(),
        frames: vec![
            Frame { id: 0, url: "http://a/".into(), parent: None, process: 0 },
            Frame { id: 1, url: "http://b/".into(), parent: Some(0), process: 2 },
        ],
        activities: vec![
            activity("page", ActivityKind::Resource(resource("http://a/", None)), &["c"]),
            activity(
                "c",
                ActivityKind::DownloadChunk(DownloadChunk {
                    resource: "page".into(),
                    offset_bytes: 1,
                    size_bytes: 49,
                }),
                &["p"],
            ),
            activity("p", ActivityKind::ParseChunk(parse), &["timer_1", "again"]),
            activity("again", ActivityKind::Resource(resource("http://a/", Some("page"))), &["m"]),
            activity("timer_1", ActivityKind::Evaluation(evaluation), &["m"]),
            activity("m", ActivityKind::MainThread(main_thread), &["end"]),
            activity("end", ActivityKind::Resource(resource("http://a/", Some("page"))), &[]),
        ],
        server_delay_file: Some("delays.json".into()),
        recorded_busy_ms: Some(250.5),
    }
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn schema_and_model_have_the_same_fields() {
    let graph = full();
    graph.validate("full").unwrap();
    let value: Value = serde_json::from_str(&graph.to_json()).unwrap();
    let schema = schema();
    assert_eq!(keys(&value), keys(&schema["properties"]));
    assert_eq!(keys(&value["frames"][1]), keys(&schema["$defs"]["frame"]["properties"]));
    let mut types = BTreeSet::new();
    // With their children, and with an original: the fields that some resources lack.
    for activity in &value["activities"].as_array().unwrap()[1..6] {
        let name = activity["type"].as_str().unwrap();
        assert_eq!(keys(activity), keys(&schema["$defs"][name]["properties"]), "{name}");
        types.insert(name.to_string());
    }
    let mut defined = keys(&schema["$defs"]);
    defined.retain(|name| !name.starts_with("frame"));
    assert_eq!(types, defined);
}

#[test]
fn required_fields_of_the_schema_are_those_that_reading_needs() {
    let schema = schema();
    let value: Value = serde_json::from_str(&full().to_json()).unwrap();
    let reads = |value: &Value| PageGraph::from_json(value.to_string().as_bytes(), "f").is_ok();
    let check = |required: &Value, object: &Value, without: &dyn Fn(&str) -> Value| {
        let required: BTreeSet<&str> =
            required.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        for name in keys(object).iter().filter(|name| *name != "children") {
            assert_eq!(!reads(&without(name)), required.contains(&**name), "{name} in {object}");
        }
    };
    check(&schema["required"], &value, &|name| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove(name);
        value
    });
    for (index, activity) in value["activities"].as_array().unwrap().iter().enumerate() {
        // The first of each type will do, and of resources that has no original.
        if index == 3 || index == 6 {
            continue;
        }
        let kind = activity["type"].as_str().unwrap();
        check(&schema["$defs"][kind]["required"], activity, &|name| {
            let mut value = value.clone();
            value["activities"][index].as_object_mut().unwrap().remove(name);
            value
        });
    }
}

#[test]
fn the_schema_accepts_what_the_model_writes() {
    let validator = validator();
    let value: Value = serde_json::from_str(&full().to_json()).unwrap();
    if let Err(error) = validator.validate(&value) {
        panic!("{error} at {}", error.instance_path());
    }
    let Some(corpus) = corpus() else { return };
    for page in corpus.pages.iter().step_by(10) {
        let (graph, _) = corpus.import(page);
        let value: Value = serde_json::from_str(&graph.to_json()).unwrap();
        if let Err(error) = validator.validate(&value) {
            panic!("{}: {error} at {}", page.name, error.instance_path());
        }
    }
}

#[test]
fn the_schema_refuses_what_reading_refuses() {
    let validator = validator();
    let value: Value = serde_json::from_str(&full().to_json()).unwrap();
    let cases: [(&str, Value); 16] = [
        ("/format", json!("other")),
        ("/version", json!(2)),
        ("/name", json!("")),
        ("/server_delay_file", json!("../delays.json")),
        ("/frames", json!([])),
        ("/frames/1/id", json!(-1)),
        ("/frames/1/parent", json!("0")),
        ("/activities/0/method", json!("GE T")),
        ("/activities/0/size_bytes", json!(-1)),
        ("/activities/0/discovered_by", json!("nobody")),
        ("/activities/1/offset_bytes", json!(1_099_511_627_777_u64)),
        ("/activities/2/duration_ms", json!(3_600_001)),
        ("/activities/2/position", json!([1, 2, 3])),
        ("/activities/4/kind", json!("thing")),
        ("/activities/4/timeout_ms", json!(-1)),
        ("/activities/5/type", json!("thing")),
    ];
    for (place, wrong) in cases {
        let mut value = value.clone();
        *value.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = wrong;
        assert!(!validator.is_valid(&value), "{place} passes the schema");
        let read = PageGraph::from_json(value.to_string().as_bytes(), "f");
        assert!(read.is_err(), "{place} is read");
    }
    for place in ["", "/frames/0", "/activities/0", "/activities/1", "/activities/5"] {
        let mut value = value.clone();
        let object = value.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.insert("surprise".into(), json!(1));
        assert!(!validator.is_valid(&value), "unknown field at {place}");
    }
}

//! The importer of the PCP corpus on small inputs: each oddity of its files by itself.

use loadpath_web::graph::{
    Activity, ActivityKind, Blocking, DelayClass, Evaluation, EvaluationKind, GraphError,
    PageGraph, Phase, Resource,
};
use loadpath_web::import::InputFile;
use loadpath_web::import::pcp::{
    ImportReport, distribution_class, import_distributions, import_graph, is_sharded,
    pages_in_origin, parse_index,
};

fn resource(id: &str, url: &str, more: &str) -> String {
    format!(
        r#"{{"type": "resource", "id": "{id}", "url": "{url}", "httpMethod": "GET",
            "mimeType": "text/html", "size": 100, "sentTime": 0.25, "receiveTime": 0.5,
            "cached": false, "priority": {{"cp": 1, "cp-plus": 1, "depth": 1, "mime-type": 1}},
            "iscrit": {{"cp": true}}, {more} "children": []}}"#
    )
}

fn evaluation(id: &str, more: &str) -> String {
    format!(
        r#"{{"type": "eval", "id": "{id}", "evalType": "execScript", "startTime": 0.5,
            "endTime": 0.625, "frame": 0, "docUrl": "http://a.com/", "blocking": 1, "mode": "dom",
            "url": "", "enclosing": "None", "subtree": "None", {more} "children": []}}"#
    )
}

/// A graph file whose root leads to the load event, with `others` beside them. Fields that come
/// later in an object of `others` replace those of the helpers above.
fn graph_file(others: &[String]) -> String {
    let root = resource("download_0", "http://a.com/", "")
        .replace(r#""children": []"#, r#""children": ["comp_0"]"#);
    let mut activities = vec![root, evaluation("comp_0", "")];
    activities.extend_from_slice(others);
    format!(
        r#"{{"name": "http://a.com/", "root_activity": "download_0", "loadEvent": "comp_0",
            "DOMContentLoadedEvent": "comp_0",
            "frames": [{{"id": 0, "subframes": [], "url": "http://a.com/"}}],
            "activities": [{}]}}"#,
        activities.join(",")
    )
}

fn import(json: &str, delays: Option<&str>) -> Result<(PageGraph, ImportReport), GraphError> {
    import_graph(
        "a.com_0",
        InputFile { origin: "a.json", bytes: json.as_bytes() },
        delays.map(|text| InputFile { origin: "a.txt", bytes: text.as_bytes() }),
    )
}

fn imported(others: &[String], delays: Option<&str>) -> (PageGraph, ImportReport) {
    import(&graph_file(others), delays).unwrap_or_else(|error| panic!("{error}"))
}

fn activity<'a>(graph: &'a PageGraph, id: &str) -> &'a Activity {
    graph.activities.iter().find(|activity| activity.id == id).unwrap()
}

fn resource_of<'a>(graph: &'a PageGraph, id: &str) -> &'a Resource {
    match &activity(graph, id).kind {
        ActivityKind::Resource(resource) => resource,
        other => panic!("{other:?}"),
    }
}

fn evaluation_of<'a>(graph: &'a PageGraph, id: &str) -> &'a Evaluation {
    match &activity(graph, id).kind {
        ActivityKind::Evaluation(evaluation) => evaluation,
        other => panic!("{other:?}"),
    }
}

const HEADER: &str = "method hostname url size time mimetype exttype tls cached estimate\n";

fn delays(rows: &str) -> String {
    format!("{HEADER}{rows}")
}

#[test]
fn seconds_become_milliseconds_and_priorities_keep_their_names() {
    let (graph, report) = imported(&[], None);
    let root = resource_of(&graph, "download_0");
    assert_eq!((root.recorded_sent_ms, root.recorded_received_ms), (Some(250.0), Some(500.0)));
    assert_eq!(evaluation_of(&graph, "comp_0").duration_ms, 125.0);
    let keys: Vec<&str> = root.priorities.keys().map(|key| &**key).collect();
    assert_eq!(keys, ["cp", "cp-plus", "depth", "mime-type"]);
    assert_eq!((&*graph.name, &*graph.url), ("a.com_0", "http://a.com/"));
    assert_eq!((report.activities, report.edges, report.fetched), (2, 1, 1));
}

#[test]
fn noise_of_binary_fractions_below_a_microsecond_goes() {
    let json = graph_file(&[]).replace("0.625", "0.6249999999973");
    let (graph, _) = import(&json, None).unwrap();
    assert_eq!(evaluation_of(&graph, "comp_0").duration_ms, 125.0);
}

#[test]
fn the_delay_of_method_and_url_is_taken_else_of_the_url_else_none() {
    let others = [
        resource("download_1", "https://a.com/x?q=1#f", "").replace("GET", "POST"),
        resource("download_2", "https://a.com/y", "").replace("GET", "POST"),
        resource("download_3", "https://a.com/z", ""),
    ];
    let rows = "GET a.com a.com/x?q=1#f 10 0.010000 text/html text 0 0 0\n\
                POST a.com a.com/x?q=1#f 10 0.020000 text/html text 0 0 0\n\
                GET a.com a.com/y 10 0.030500 text/html text 0 0 1\n";
    let (graph, report) = imported(&others, Some(&delays(rows)));
    let delay = |id| resource_of(&graph, id).server_delay_ms;
    assert_eq!(delay("download_1"), Some(20.0));
    assert_eq!(delay("download_2"), Some(30.5));
    assert_eq!(delay("download_3"), None);
    assert_eq!((report.delays_exact, report.delays_other_method, report.delays_missing), (1, 1, 2));
}

#[test]
fn two_rows_without_a_line_break_between_them_are_taken_apart() {
    let others = [resource("download_1", "http://b.com/b", "")];
    let rows = "GET a.com a.com/ 464 0.050895 unknown other 1 0 0GET b.com b.com/b 26497 0.070854 image/jpeg other 0 0 0\n";
    let (graph, report) = imported(&others, Some(&delays(rows)));
    assert_eq!(resource_of(&graph, "download_0").server_delay_ms, Some(50.895));
    assert_eq!(resource_of(&graph, "download_1").server_delay_ms, Some(70.854));
    assert_eq!(report.delay_rows_split, 1);
}

#[test]
fn malformed_delay_rows_are_errors_that_name_the_line() {
    for (rows, expected) in [
        ("GET a.com a.com/ 464\n", "a.txt:2:1: 4 columns (allowed: 10)"),
        ("GET a.com a.com/ 464 -1 x other 1 0 0\n", "a.txt:2:1: time: -1 is out of range"),
        ("GET a.com a.com/ 464 NaN x other 1 0 0\n", "a.txt:2:1: time: NaN"),
        ("\nGET a.com a.com/ 464 fast x other 1 0 0\n", "a.txt:3:1: time: fast"),
    ] {
        let error = import(&graph_file(&[]), Some(&delays(rows))).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = import(&graph_file(&[]), Some("method url\n")).unwrap_err().to_string();
    assert!(error.starts_with("a.txt:1:1: not a delay table"), "{error}");
}

#[test]
fn computations_that_end_before_they_start_last_no_time() {
    let others = [evaluation("comp_1", "").replace("0.625", "0.499")];
    let (graph, report) = imported(&others, None);
    assert_eq!(evaluation_of(&graph, "comp_1").duration_ms, 0.0);
    assert_eq!(report.negative_durations, 1);
}

#[test]
fn odd_receive_times_are_kept_and_counted() {
    let others = [
        resource("download_1", "http://a.com/1", "").replace("0.5,", "0.125,"),
        resource("download_2", "http://a.com/2", "").replace("0.5,", "17175.7,"),
    ];
    let (graph, report) = imported(&others, None);
    assert_eq!(resource_of(&graph, "download_1").recorded_received_ms, Some(125.0));
    assert_eq!(resource_of(&graph, "download_2").recorded_received_ms, Some(17_175_700.0));
    assert_eq!((report.received_before_sent, report.absurd_received), (1, 1));
}

#[test]
fn unreachable_and_parentless_activities_and_missing_priorities_are_kept_and_counted() {
    let stray = resource("download_7", "http://a.com/7", "")
        .replace(r#""cp": 1, "cp-plus": 1, "depth": 1, "mime-type": 1"#, r#""cp": 0, "depth": 0"#)
        .replace(r#""children": []"#, r#""children": ["comp_7"]"#);
    let (graph, report) = imported(&[stray, evaluation("comp_7", "")], None);
    assert_eq!(graph.activities.len(), 4);
    assert_eq!((report.unreachable, report.orphan_resources, report.without_priority), (2, 1, 1));
}

#[test]
fn empty_responses_unknown_types_and_schemes_without_network_are_counted() {
    let others = [
        resource("download_1", "http://a.com/204", "").replace("\"size\": 100", "\"size\": 0"),
        resource("download_2", "http://a.com/x", "").replace("text/html", ""),
        resource("download_3", "data:text/html,hi", ""),
        resource("download_4", "about:blank", "").replace("\"size\": 100", "\"size\": 0"),
    ];
    let rows = "GET a.com data:text/html,hi 10 0.010000 text/html text 0 0 0\n";
    let (graph, report) = imported(&others, Some(&delays(rows)));
    assert_eq!((report.resources, report.fetched), (5, 3));
    assert_eq!((report.empty_responses, report.without_mime_type), (1, 1));
    assert_eq!(resource_of(&graph, "download_3").server_delay_ms, None);
}

#[test]
fn repeated_fetches_and_references_older_than_their_original_are_counted() {
    let others = [
        resource("download_1", "http://a.com/", ""),
        resource("download_2", "http://b.com/new", r#""originalResource": "download_1","#)
            .replace("0.25", "0.125")
            .replace(r#""receiveTime": 0.5,"#, "")
            .replace("\"cached\": false", "\"cached\": true"),
    ];
    let (graph, report) = imported(&others, None);
    let reference = resource_of(&graph, "download_2");
    assert_eq!(reference.original.as_deref(), Some("download_1"));
    assert_eq!((reference.cached, reference.recorded_received_ms), (true, None));
    let counts = (report.repeated_fetches, report.before_their_original, report.redirected);
    assert_eq!(counts, (1, 1, 1));
}

#[test]
fn chunks_end_where_their_document_ends() {
    let chunk = |id: &str, offset: u32, size: u32, children: &str| {
        format!(
            r#"{{"type": "download_chunk", "id": "{id}", "resource": "download_0",
                "offset": {offset}, "size": {size}, "children": [{children}]}}"#
        )
    };
    let json = graph_file(&[
        chunk("dchunk_0_0", 20, 70, r#""dchunk_0_1""#),
        chunk("dchunk_0_1", 90, 20, r#""dchunk_0_2""#),
        chunk("dchunk_0_2", 110, 5, ""),
    ])
    .replace(r#""children": ["comp_0"]"#, r#""children": ["comp_0", "dchunk_0_0"]"#);
    let (graph, report) = import(&json, None).unwrap();
    let range = |id: &str| match &activity(&graph, id).kind {
        ActivityKind::DownloadChunk(chunk) => (chunk.offset_bytes, chunk.size_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(range("dchunk_0_0"), (20, 70));
    assert_eq!(range("dchunk_0_1"), (90, 10));
    assert_eq!(range("dchunk_0_2"), (100, 0));
    assert_eq!((report.chunks_clamped, report.documents_clamped), (2, 1));
}

#[test]
fn evaluations_keep_kind_phase_blocking_timeout_pieces_and_group() {
    let timer = r#""evalType": "timer", "timeout": 1500, "enclosing": "comp_3","#;
    let change = |text: String| {
        text.replacen(r#""evalType": "execScript","#, "", 1).replacen(
            r#""enclosing": "None","#,
            "",
            1,
        )
    };
    let others = [
        change(evaluation("comp_3_0", timer)),
        change(evaluation("comp_3_1", timer)).replace("\"dom\"", "\"loadplus\""),
        evaluation("comp_4", "")
            .replace("execScript", "recalcStyle")
            .replace("\"blocking\": 1", "\"blocking\": 4")
            .replace("\"subtree\": \"None\"", "\"subtree\": \"subtree_comp_2\""),
        evaluation("comp_5", r#""name": "load", "targetType": "Window","#)
            .replace("execScript", "fireEvent")
            .replace("\"dom\"", "\"end\""),
    ];
    let (graph, _) = imported(&others, None);
    let first = evaluation_of(&graph, "comp_3_0");
    assert_eq!((first.kind, first.timeout_ms), (EvaluationKind::Timer, Some(1500.0)));
    assert_eq!(first.continues, None);
    let second = evaluation_of(&graph, "comp_3_1");
    assert_eq!((second.continues.as_deref(), second.phase), (Some("comp_3"), Phase::LoadPlus));
    let style = evaluation_of(&graph, "comp_4");
    assert_eq!((style.kind, style.blocking), (EvaluationKind::Style, Blocking::Style));
    assert_eq!(style.group.as_deref(), Some("comp_2"));
    let event = evaluation_of(&graph, "comp_5");
    assert_eq!(
        (&*event.event_name, &*event.event_target, event.phase),
        ("load", "Window", Phase::End)
    );
}

#[test]
fn faults_of_a_graph_file_name_file_activity_and_field() {
    let page = graph_file(&[]);
    for (old, new, expected) in [
        (r#""size": 100"#, r#""size": -1"#, "activity download_0: size: invalid value"),
        (
            r#""blocking": 1"#,
            r#""blocking": 5"#,
            "activity comp_0: blocking: 5 is unknown (allowed: 1 to 4)",
        ),
        (r#""mode": "dom""#, r#""mode": "dmo""#, "activity comp_0: mode: unknown variant `dmo`"),
        (r#""type": "eval""#, r#""type": "evla""#, "activity comp_0: type: unknown type \"evla\""),
        (r#""frame": 0"#, r#""frame": 9"#, "activity comp_0: frame: there is no frame 9"),
        (
            r#"["comp_0"]"#,
            r#"["comp_9"]"#,
            "activity download_0: children: there is no activity comp_9",
        ),
        (
            r#""sentTime": 0.25"#,
            r#""sentTime": -3"#,
            "activity download_0: recorded_sent_ms: -3000 is out",
        ),
        (r#""root_activity": "download_0", "#, "", "missing field `root_activity`"),
    ] {
        assert!(page.contains(old), "{old}");
        let error = import(&page.replacen(old, new, 1), None).unwrap_err().to_string();
        assert!(error.starts_with("a.json:") && error.contains(expected), "{error}");
    }
    let cut = import(&page[..page.len() / 2], None).unwrap_err().to_string();
    assert!(cut.contains("ends too early"), "{cut}");
}

#[test]
fn distributions_are_read_by_their_file_names() {
    let names = [
        "CSSDelaysCDF.dist",
        "ImageDelaysCDF.dist",
        "JavascriptDelaysCDF.dist",
        "OtherDelaysCDF.dist",
        "PostDelaysCDF.dist",
        "TextDelaysCDF.dist",
    ];
    assert_eq!(distribution_class("Resource_Server_Times_21_9_2016"), None);
    let text = "0.001 0\n0.001 0.5\n0.003 1";
    let files = names.map(|name| {
        (distribution_class(name).unwrap(), InputFile { origin: name, bytes: text.as_bytes() })
    });
    let delays = import_distributions(&files).unwrap();
    for class in DelayClass::ALL {
        assert_eq!(delays.quantile(class, 0.75).as_millis_f64(), 2.0);
    }
    let error = import_distributions(&files[1..]).unwrap_err().to_string();
    assert!(error.contains("class css: missing"), "{error}");
    let faults =
        [("0.1 0\n0.2", "x.dist:2:1: not a delay"), ("0.1 0\n0.2 0.5", "x.dist: class css: prob")];
    for (text, expected) in faults {
        let file = InputFile { origin: "x.dist", bytes: text.as_bytes() };
        let error = import_distributions(&[(DelayClass::Css, file)]).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn an_index_may_not_lead_out_of_its_folder() {
    let entry = |graph: &str| {
        format!(
            r#"[{{"name": "a", "original_name": "a", "number": 0, "url": "u", "graph": "{graph}",
                "delays": "delays/a.txt", "no_sharding": true}}]"#
        )
    };
    let parse =
        |json: &str| parse_index(InputFile { origin: "index.json", bytes: json.as_bytes() });
    assert_eq!(parse(&entry("graphs/a.json")).unwrap()[0].no_sharding, Some(true));
    for path in ["/etc/passwd", "../a.json", "graphs/../../a.json", "..\\\\a.json"] {
        let error = parse(&entry(path)).unwrap_err().to_string();
        assert!(error.contains("out of the folder"), "{error}");
    }
    assert!(parse("[{}]").unwrap_err().to_string().starts_with("index.json: not an index"));
}

#[test]
fn pages_of_the_public_origin_are_found_by_their_file_names() {
    let names = [
        "archive.org_4",
        "archive.org_4.pdf",
        "archive.org_4_mime-type_critpath",
        "accounts.google.com_ServiceLogin?service=blogger&hl=en_GB&continue=_1",
        "README",
    ];
    let pages = pages_in_origin(names);
    assert_eq!(pages.len(), 2);
    assert_eq!(pages[0].name, "accounts.google.com_ServiceLogin_service_blogger_1");
    assert_eq!(pages[1].graph, "dependency_graphs/alexa_deps_24_3_2017/archive.org_4");
    assert_eq!(
        pages[1].delays,
        "server_delays/split_delays_for_alexa_16_03_2017/archive.org_4_delay"
    );
}

#[test]
fn a_page_is_sharded_if_a_domain_serves_it_from_several_hosts() {
    let with = |urls: &[&str]| {
        let others: Vec<String> = urls
            .iter()
            .enumerate()
            .map(|(i, url)| resource(&format!("download_{}", i + 1), url, ""))
            .collect();
        is_sharded(&imported(&others, None).0)
    };
    assert!(!with(&["https://b.com/", "http://a.com:8080/x", "data:,static.a.com"]));
    assert!(with(&["http://static.a.com/"]));
    assert!(!with(&["http://b.co.uk/", "http://c.co.uk/"]));
    assert!(with(&["http://x.b.co.uk/", "http://y.b.co.uk/"]));
}

//! Every rule of the page graph's JSON form has one message that says where and what.

use loadpath_web::graph::{ActivityKind, MAX_ACTIVITIES, PageGraph, ServerDelays};

/// A page in which every activity type occurs.
const PAGE: &str = r#"{
  "format": "loadpath-page-graph",
  "version": 1,
  "name": "small",
  "url": "http://a.example/",
  "root": "page",
  "load_event": "load",
  "dom_content_loaded_event": "ready",
  "frames": [{"id": 0, "url": "http://a.example/"}, {"id": 3, "url": "", "parent": 0}],
  "activities": [
    {"id": "page", "type": "resource", "url": "http://a.example/", "size_bytes": 900, "children": ["chunk", "load"]},
    {"id": "chunk", "type": "download_chunk", "resource": "page", "offset_bytes": 0, "size_bytes": 900, "children": ["parse"]},
    {"id": "parse", "type": "parse_chunk", "frame": 0, "duration_ms": 1.5, "children": ["image", "again", "ready", "timer", "paint"]},
    {"id": "image", "type": "resource", "url": "http://a.example/i", "size_bytes": 10, "server_delay_ms": 3, "children": ["load"]},
    {"id": "again", "type": "resource", "url": "http://a.example/i", "size_bytes": 10, "original": "image"},
    {"id": "ready", "type": "evaluation", "frame": 0, "kind": "event", "duration_ms": 0, "children": ["load"]},
    {"id": "timer", "type": "evaluation", "frame": 3, "kind": "timer", "timeout_ms": 50, "duration_ms": 1},
    {"id": "paint", "type": "main_thread", "frame": 0, "kind": "paint", "duration_ms": 2},
    {"id": "load", "type": "evaluation", "frame": 0, "kind": "event", "duration_ms": 0}
  ]
}"#;

fn error_of(json: &str) -> String {
    match PageGraph::from_json(json.as_bytes(), "p.json") {
        Ok(_) => panic!("accepted: {json}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_page_that_the_cases_change_is_valid() {
    let graph = PageGraph::from_json(PAGE.as_bytes(), "p.json").unwrap();
    assert_eq!(graph.activities.len(), 9);
    assert_eq!(PageGraph::from_json(graph.to_json().as_bytes(), "p.json"), Ok(graph));
}

/// What is replaced, by what, and parts of the message.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    // Other files.
    (r#""format": "loadpath-page-graph","#, "", &["p.json: format: this is not a page graph"]),
    ("loadpath-page-graph", "har", &["format: \"har\" is not \"loadpath-page-graph\""]),
    (r#""version": 1"#, r#""version": 2"#, &["version: 2 is not supported (allowed: 1)"]),
    (r#""version": 1"#, r#""version": 2, "later": {}"#, &["version: 2 is not supported"]),
    (r#""version": 1"#, r#""version": "1""#, &["p.json:3:", "version: invalid type: string"]),
    (
        r#""format": "loadpath-page-graph","#,
        r#""root_activity": "download_0","#,
        &["not a page graph", "loadpath import"],
    ),
    // Fields.
    (r#""name""#, r#""nmae""#, &["unknown field `nmae`", "`name`"]),
    (r#""name": "small","#, "", &["missing field `name`"]),
    (r#""name": "small""#, r#""name": """#, &["name: empty"]),
    (r#""url": """#, r#""url": "", "parnet": 0"#, &["frame number 2", "unknown field `parnet`"]),
    (
        r#""offset_bytes": 0, "#,
        "",
        &["p.json:12:", "activity chunk", "missing field `offset_bytes`"],
    ),
    (r#""kind": "paint""#, r#""kind": 7"#, &["activity paint: kind: invalid type"]),
    (r#""kind": "timer""#, r#""kind": "tiemr""#, &["activity timer: kind", "`tiemr`", "`timer`"]),
    (r#""timeout_ms": 50"#, r#""timeout": 50"#, &["activity timer", "unknown field `timeout`"]),
    (
        r#""size_bytes": 10, "server"#,
        r#""size_bytes": 10, "id": "x", "server"#,
        &["duplicate field `id`"],
    ),
    (
        r#""type": "main_thread""#,
        r#""type": "mainthread""#,
        &["activity paint: type: unknown type"],
    ),
    (r#""id": "paint", "#, "", &["activity number 8", "missing field `id`"]),
    (r#""id": "paint""#, r#""id": 8"#, &["activity number 8", "id: invalid type: integer `8`"]),
    (r#""id": "paint", "#, r#""id": "paint", "children": "load", "#, &["activity paint: children"]),
    (r#""type": "main_thread", "#, "", &["activity paint", "missing field `type`"]),
    // Ids and references.
    (r#""id": "again""#, r#""id": "image""#, &["activity image: id: two activities"]),
    (r#""id": "paint""#, r#""id": """#, &["activity number 8: id: empty"]),
    (r#""id": "paint""#, r#""id": "pa\u001bint""#, &["id:", "control characters"]),
    (
        r#""again", "ready""#,
        r#""agian", "ready""#,
        &["activity parse: children: there is no activity agian"],
    ),
    (
        r#""again", "ready""#,
        r#""ready", "ready""#,
        &["activity parse: children: ready is listed twice"],
    ),
    (
        r#""resource": "page""#,
        r#""resource": "pge""#,
        &["activity chunk: resource: there is no activity pge"],
    ),
    (
        r#""resource": "page""#,
        r#""resource": "load""#,
        &["activity chunk: resource: load is not a resource"],
    ),
    (
        r#""original": "image""#,
        r#""original": "none""#,
        &["activity again: original: there is no activity none"],
    ),
    (r#""original": "image""#, r#""original": "load""#, &["original: load is not a resource"]),
    (r#""original": "image""#, r#""original": "again""#, &["cannot be its own original"]),
    (
        r#""server_delay_ms": 3"#,
        r#""raised_by": "none""#,
        &["raised_by: there is no activity none"],
    ),
    (r#""server_delay_ms": 3"#, r#""original": "again""#, &["again has an original itself, image"]),
    (r#""root": "page""#, r#""root": "pag""#, &["root: there is no activity pag"]),
    (r#""root": "page""#, r#""root": "parse""#, &["root: parse is not a resource"]),
    (r#""root": "page""#, r#""root": "image""#, &["root: image waits for parse"]),
    (
        r#""load_event": "load""#,
        r#""load_event": "laod""#,
        &["load_event: there is no activity laod"],
    ),
    (
        r#""load_event": "load""#,
        r#""load_event": "image""#,
        &["load_event: image is not an evaluation"],
    ),
    (
        r#""dom_content_loaded_event": "ready""#,
        r#""dom_content_loaded_event": "no""#,
        &["dom_content_loaded_event: there is no activity no"],
    ),
    (
        r#""ready", "timer""#,
        r#""timer""#,
        &["dom_content_loaded_event: no path leads from page to ready"],
    ),
    (
        r#""kind": "event", "duration_ms": 0}"#,
        r#""kind": "event", "duration_ms": 0, "phase": "end"}"#,
        &["load_event: no path leads from page to load", "phase \"end\""],
    ),
    // Cycles.
    (
        r#""original": "image""#,
        r#""children": ["again"]"#,
        &["activity again: children: waits for itself"],
    ),
    (
        r#""original": "image""#,
        r#""children": ["parse"]"#,
        &[
            "activity again: children: a cycle: again -> parse -> again",
            "remove one of these edges",
        ],
    ),
    (
        r#""children": ["chunk", "load"]"#,
        r#""children": ["load"]"#,
        &["activity chunk: is nobody's child"],
    ),
    (r#""image", "again""#, r#""chunk", "again""#, &["children: a cycle: chunk -> parse -> chunk"]),
    (
        r#""server_delay_ms": 3, "children": ["load"]"#,
        r#""children": ["chunk"]"#,
        &["children: a cycle: chunk -> parse -> image -> chunk"],
    ),
    (
        r#""resource": "page", "offset_bytes": 0, "size_bytes": 900"#,
        r#""resource": "image", "offset_bytes": 0, "size_bytes": 9"#,
        &["activity chunk: is a child of page"],
    ),
    // Frames.
    (r#""parent": 0"#, r#""parent": 7"#, &["frame 3: parent: there is no frame 7"]),
    (r#""parent": 0"#, r#""parent": 3"#, &["frame 3: parent: it is its own ancestor"]),
    (r#", "parent": 0"#, "", &["frames: frames 0 and 3 have no parent"]),
    (
        r#""url": "", "parent": 0"#,
        r#""url": "", "parent": -1"#,
        &["frame number 2: parent: ", "`-1`"],
    ),
    (
        r#"{"id": 0, "url": "http://a.example/"}"#,
        r#"{"id": 0, "url": "", "parent": 3}"#,
        &["no frame is without a parent"],
    ),
    (r#""id": 3"#, r#""id": 0"#, &["frame 0: two frames have this id"]),
    (r#""frame": 3"#, r#""frame": 4"#, &["activity timer: frame: there is no frame 4"]),
    // Ranges.
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": -1.5"#,
        &["activity parse: duration_ms: -1.5 is out of range (allowed: 0 to 3600000 ms)"],
    ),
    (r#""duration_ms": 1.5"#, r#""duration_ms": 3600000.5"#, &["3600000.5 is out of range"]),
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": 1e999"#,
        &["p.json:13:", "activity parse", "number out of range"],
    ),
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": NaN"#,
        &[
            "p.json:13:",
            "activity parse: duration_ms: not a finite number",
            "0 to 3600000 ms",
            "no NaN",
        ],
    ),
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": -Infinity"#,
        &["activity parse: duration_ms: not a finite number"],
    ),
    (
        r#""server_delay_ms": 3"#,
        r#""server_delay_ms": Infinity"#,
        &["activity image: server_delay_ms: not a finite number"],
    ),
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": null"#,
        &["activity parse: duration_ms: invalid type: null"],
    ),
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": "1.5""#,
        &["activity parse: duration_ms: invalid type: string"],
    ),
    (
        r#""server_delay_ms": 3"#,
        r#""server_delay_ms": 3600001"#,
        &["activity image: server_delay_ms: 3600001 is out of range"],
    ),
    (
        r#""timeout_ms": 50"#,
        r#""timeout_ms": -1"#,
        &["activity timer: timeout_ms: -1 is out of range"],
    ),
    (r#""timeout_ms": 50, "#, "", &["activity timer: timeout_ms: missing on a timer"]),
    (
        r#""kind": "timer", "#,
        r#""kind": "script", "#,
        &["activity timer: timeout_ms: only timers have one"],
    ),
    (
        r#""size_bytes": 10, "orig"#,
        r#""size_bytes": -10, "orig"#,
        &["activity again: size_bytes: invalid value: integer `-10`", "0 to 1099511627776"],
    ),
    (
        r#""size_bytes": 10, "orig"#,
        r#""size_bytes": 1099511627777, "orig"#,
        &["activity again: size_bytes: 1099511627777 is out of range"],
    ),
    (
        r#""size_bytes": 10, "orig"#,
        r#""size_bytes": 1.5, "orig"#,
        &["activity again: size_bytes: invalid type: floating point `1.5`"],
    ),
    (
        r#""offset_bytes": 0"#,
        r#""offset_bytes": 1"#,
        &["activity chunk: size_bytes: ends at byte 901 of page (allowed: 900)"],
    ),
    (
        r#""server_delay_ms": 3"#,
        r#""recorded_sent_ms": -2"#,
        &["activity image: recorded_sent_ms: -2 is out of range"],
    ),
    (
        r#""server_delay_ms": 3"#,
        r#""recorded_received_ms": 1e9"#,
        &["recorded_received_ms: 1000000000 is out of range"],
    ),
    (
        r#""duration_ms": 1.5"#,
        r#""duration_ms": 1, "recorded_start_ms": -1"#,
        &["activity parse: recorded_start_ms"],
    ),
    (
        r#""server_delay_ms": 3"#,
        r#""method": "GE T""#,
        &["activity image: method: \"GE T\" is no method"],
    ),
    (r#""server_delay_ms": 3"#, r#""priorities": {"cp": -1}"#, &["activity image: priorities"]),
    (
        r#""url": "http://a.example/i", "size_bytes": 10, "server"#,
        r#""url": "", "size_bytes": 10, "server"#,
        &["activity image: url: empty"],
    ),
    (
        r#""name": "small""#,
        r#""name": "small", "server_delay_file": "../d.json""#,
        &["server_delay_file: \"../d.json\" is not a bare file name"],
    ),
    // JSON.
    (r#""name": "small","#, r#""name": "small""#, &["p.json:5:3: not JSON"]),
    (
        r#""frames": ["#,
        r#""frames": 4, "x": ["#,
        &["frames: invalid type: integer `4`", "at most 100000 frames"],
    ),
    (
        r#""activities": ["#,
        r#""activities": [7, "#,
        &["activity number 1: invalid type: integer `7`, expected an object"],
    ),
];

#[test]
fn each_fault_has_one_message_with_file_activity_field_and_value() {
    for &(old, new, expected) in CASES {
        assert!(PAGE.contains(old), "no {old} in the page");
        let message = error_of(&PAGE.replacen(old, new, 1));
        assert!(message.starts_with("p.json:"), "{message}");
        for part in expected {
            assert!(message.contains(part), "{old} -> {new}: no \"{part}\" in: {message}");
        }
        assert!(message.lines().count() <= 2, "{message}");
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error_that_names_line_and_column() {
    for end in 0..PAGE.len() {
        let error = PageGraph::from_json(&PAGE.as_bytes()[..end], "p.json").unwrap_err();
        assert!(error.problem().contains("ends too early"), "{end}: {error}");
        assert!(error.position().is_some(), "{error}");
    }
    let error = error_of(&PAGE[..PAGE.find("900").unwrap()]);
    assert!(error.starts_with("p.json:11:") && error.contains("cut off"), "{error}");
}

#[test]
fn text_that_is_not_utf_8_is_an_error_that_names_line_and_column() {
    let mut bytes = PAGE.as_bytes().to_vec();
    let at = PAGE.find("small").unwrap();
    bytes[at] = 0xff;
    let error = PageGraph::from_json(&bytes, "p.json").unwrap_err().to_string();
    assert!(error.starts_with("p.json:4:12: not UTF-8"), "{error}");
    let zipped = PageGraph::from_json(&[0x1f, 0x8b, 8, 0], "p.json").unwrap_err();
    assert!(zipped.hint().contains("gzip"), "{zipped}");
    let wide = PageGraph::from_json(&[0xff, 0xfe, b'{', 0], "p.json").unwrap_err();
    assert!(wide.hint().contains("UTF-16"), "{wide}");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(PageGraph::from_json(format!("\u{feff}{PAGE}").as_bytes(), "p.json").is_ok());
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    let deep = "[".repeat(1_000_000);
    for field in [r#""name": "small""#, r#""name": "small", "unknown": 0"#] {
        let with_deep = format!("{}{deep}", field.rsplit_once(' ').unwrap().0);
        error_of(&PAGE.replacen(field.split(',').next().unwrap(), &with_deep, 1));
    }
    let closed = format!("{deep}{}", "]".repeat(1_000_000));
    let message =
        error_of(&PAGE.replacen(r#""activities": ["#, &format!(r#""activities": [{closed},"#), 1));
    assert!(message.contains("activity number 1: invalid type: sequence"), "{message}");
    let object = r#"{"a":"#.repeat(1_000_000);
    error_of(&object);
}

/// A page whose root has a chain of `length` scripts behind it.
fn chain(length: usize) -> String {
    let mut activities = String::from(
        r#"{"id": "page", "type": "resource", "url": "http://a/", "size_bytes": 0, "children": ["s0"]}"#,
    );
    for i in 0..length {
        activities += &format!(
            r#",{{"id":"s{i}","type":"evaluation","frame":0,"kind":"script","duration_ms":0,"children":["s{}"]}}"#,
            i + 1
        );
    }
    activities += &format!(
        r#",{{"id":"s{length}","type":"evaluation","frame":0,"kind":"script","duration_ms":0}}"#
    );
    format!(
        r#"{{"format":"loadpath-page-graph","version":1,"name":"n","url":"u","root":"page",
            "load_event":"s{length}","dom_content_loaded_event":"s0",
            "frames":[{{"id":0,"url":""}}],"activities":[{activities}]}}"#
    )
}

#[test]
fn a_chain_of_100_000_activities_needs_no_deep_stack() {
    let json = chain(100_000);
    let run = move || {
        let graph = PageGraph::from_json(json.as_bytes(), "chain").unwrap();
        let looped =
            json.replacen(r#""children":["s100000"]"#, r#""children":["s100000","s5"]"#, 1);
        let message = error_of(&looped);
        assert!(message.contains("more) -> "), "{message}");
        loadpath_web::graph::normalise(&graph).activities.len()
    };
    let thread = std::thread::Builder::new().stack_size(128 * 1024).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), 100_002);
}

#[test]
fn too_many_activities_are_refused_while_reading() {
    let many = "0,".repeat(MAX_ACTIVITIES);
    let json = PAGE.replacen(r#""activities": ["#, &format!(r#""activities": [{many}"#), 1);
    let message = error_of(&json);
    assert!(message.contains("activities: more than 2000000 entries"), "{message}");
}

#[test]
fn a_graph_built_in_memory_is_checked_for_what_json_cannot_hold() {
    let mut graph = PageGraph::from_json(PAGE.as_bytes(), "p.json").unwrap();
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        let ActivityKind::ParseChunk(chunk) = &mut graph.activities[2].kind else { panic!() };
        chunk.duration_ms = value;
        let error = graph.validate("memory").unwrap_err();
        assert_eq!(
            (error.origin(), error.subject(), error.field()),
            ("memory", "activity parse", "duration_ms")
        );
        assert!(error.problem().contains(&value.to_string()), "{error}");
    }
}

const DELAYS: &str = r#"{"format": "loadpath-server-delays", "version": 1, "classes": {
    "css": [[0, 0], [10, 1]], "image": [[0, 0], [10, 1]], "javascript": [[0, 0], [10, 1]],
    "text": [[5, 0], [5, 0.5], [10, 0.75], [50, 1]], "post": [[7, 0], [7, 1]], "other": [[0, 0], [1, 1]]}}"#;

#[test]
fn each_fault_of_server_delays_has_one_message() {
    let cases: &[Case] = &[
        ("loadpath-server-delays", "delays", &["format: \"delays\" is not"]),
        (r#""version": 1"#, r#""version": 3"#, &["version: 3 is not supported (allowed: 1)"]),
        (r#""version": 1"#, r#""version": 1, "unit": "s""#, &["unknown field `unit`"]),
        (r#""css": [[0, 0], [10, 1]], "#, "", &["class css: missing"]),
        (r#""css""#, r#""ccs""#, &["unknown variant `ccs`"]),
        ("[[7, 0], [7, 1]]", "[]", &["class post: no points"]),
        ("[7, 1]", "[6, 1]", &["class post: [6.0, 1.0] comes after [7.0, 0.0]"]),
        ("[10, 0.75]", "[10, 0.25]", &["class text", "comes after"]),
        ("[7, 1]", "[7, 0.9]", &["class post: probabilities run from 0 to 0.9"]),
        (
            "[50, 1]",
            "[50, 1.5]",
            &["class text: probability: 1.5 is out of range (allowed: 0 to 1)"],
        ),
        ("[5, 0]", "[-5, 0]", &["class text: delay_ms: -5 is out of range"]),
        ("[5, 0]", "[NaN, 0]", &["classes", "no NaN"]),
        ("[50, 1]", "[50]", &["classes: invalid length 1"]),
        ("[50, 1]]", "[50, 1", &["d.json:3:"]),
    ];
    for &(old, new, expected) in cases {
        assert!(DELAYS.contains(old), "{old}");
        let json = DELAYS.replacen(old, new, 1);
        let message = ServerDelays::from_json(json.as_bytes(), "d.json").unwrap_err().to_string();
        assert!(message.starts_with("d.json:"), "{message}");
        for part in expected {
            assert!(message.contains(part), "{old} -> {new}: no \"{part}\" in: {message}");
        }
    }
}

#[test]
fn quantiles_are_linear_between_the_points() {
    use loadpath_web::graph::DelayClass::{Post, Text};
    let delays = ServerDelays::from_json(DELAYS.as_bytes(), "d.json").unwrap();
    let ms = |class, u| delays.quantile(class, u).as_millis_f64();
    let text = [
        (0.0, 5.0),
        (0.25, 5.0),
        (0.5, 5.0),
        (0.625, 7.5),
        (0.75, 10.0),
        (0.875, 30.0),
        (1.0, 50.0),
    ];
    for (u, expected) in text {
        assert_eq!(ms(Text, u), expected, "at {u}");
    }
    assert_eq!(ms(Post, 0.3), 7.0);
    assert_eq!(ServerDelays::from_json(delays.to_json().as_bytes(), "again"), Ok(delays));
}

#[test]
fn the_delay_class_follows_method_and_mime_type() {
    let cases = [
        ("POST", "image/png", "post"),
        ("GET", "image/png", "image"),
        ("GET", "text/css", "css"),
        ("GET", "application/x-javascript", "javascript"),
        ("GET", "text/html", "text"),
        ("GET", "text/plain", "text"),
        ("OPTIONS", "application/json", "other"),
        ("HEAD", "", "other"),
    ];
    for (method, mime, class) in cases {
        assert_eq!(ServerDelays::class_of(method, mime).name(), class, "{method} {mime}");
    }
}

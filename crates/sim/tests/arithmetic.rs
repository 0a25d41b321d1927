//! Whole page loads against closed forms. All expected numbers are worked out by hand; none was taken
//! from a run.
//!
//! The scene unless a test says otherwise: an RTT of 40 ms (four hops of 10 ms), segments of 1000
//! bytes without headers, so that SYNs and ACKs take no time to send, no jitter, no drops. On the fast
//! network nothing else takes time to send either: 1 Tbit/s are 8 ns for a segment, and the tests
//! there compare up to 20 µs, which the 1500 segments of the largest page stay below.
//! The root document is requested at 0, its request leaves at 1 RTT, its first byte comes at 2 RTT.

mod support;

use loadpath_sim::outcome::{Outcome, Status};
use loadpath_sim::{Options, Scenario, simulate};
use loadpath_web::graph::{ActivityKind, PageGraph, Resource};
use support::browser_support::compile;
use support::browser_support::graph::*;
use support::{ns, scenario};

const RTT_MS: f64 = 40.0;

const SCENE: [(&str, &str); 12] = [
    ("network.rate_bps", "1000000000000"),
    ("network.server_rate_factor", "1000"),
    ("network.rtt_ms", "40"),
    ("network.jitter_fraction", "0"),
    ("network.queue", "unlimited"),
    ("network.up_queue", "unlimited"),
    ("transport.mss_bytes", "1000"),
    ("transport.header_bytes", "0"),
    ("transport.link_header_bytes", "0"),
    ("http.version", "http/1.1"),
    ("http.connections_per_host", "1"),
    ("http.request_bytes", "400"),
];

fn scene(changes: &[(&str, &str)]) -> Scenario {
    let all: Vec<_> = SCENE.iter().chain(changes).copied().collect();
    scenario(&all)
}

/// A response of `size_bytes` from `url`, ready `delay_ms` after its request.
fn response(url: &str, mime_type: &str, size_bytes: u64, delay_ms: f64) -> ActivityKind {
    ActivityKind::Resource(Resource {
        url: url.into(),
        method: "GET".into(),
        mime_type: mime_type.into(),
        size_bytes,
        server_delay_ms: Some(delay_ms),
        ..Resource::default()
    })
}

fn image_at(url: &str) -> ActivityKind {
    response(url, "image/png", 1000, 0.0)
}

/// A main document of `size_bytes`, ready at once.
fn document(size_bytes: u64) -> Builder {
    let mut b = Builder::new();
    let ActivityKind::Resource(root) = &mut b.graph.activities[0].kind else { unreachable!() };
    root.size_bytes = size_bytes;
    root.server_delay_ms = Some(0.0);
    b
}

fn load(graph: &PageGraph, scenario: &Scenario) -> Outcome {
    let outcome = simulate(&compile(graph), scenario, 0, &Options::default());
    assert_eq!(outcome.status, Status::Complete);
    outcome
}

fn plt_ms(graph: &PageGraph, changes: &[(&str, &str)]) -> f64 {
    load(graph, &scene(changes)).plt_ms.unwrap()
}

/// Equal but for the serialisation of the fast network.
#[track_caller]
fn assert_ms(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 0.02, "{actual} ms, not {expected} ms");
}

/// When a resource was complete.
fn end_ms(outcome: &Outcome, id: &str) -> f64 {
    outcome.resources.iter().find(|r| r.id == id).unwrap().end_ms.unwrap()
}

#[test]
fn a_document_of_one_flight_takes_handshake_request_and_its_serialisation_to_the_nanosecond() {
    // 8 Mbit/s: a segment takes 1 ms at the bottleneck, the request 0.4 ms; on the server's link, a
    // thousand times faster, 1 µs and 0.4 µs. Handshake 40 ms; request 20.4004 ms; the last of n
    // segments arrives 20 ms + 0.001 ms + n ms after the first was sent.
    for n in [1, 2, 7, 100] {
        let changes = [("network.rate_bps", "8mbit"), ("transport.initial_window_segments", "100")];
        let plt = plt_ms(document(1000 * n).load(&[ROOT]), &changes);
        assert_eq!(ns(plt), 80_401_400 + n as i64 * 1_000_000, "{n} segments");
    }
}

#[test]
fn slow_start_with_delayed_acks_takes_the_flights_of_rfc_5681() {
    // One ACK for two segments lets three go; an odd segment (+1) waits for the next flight; the
    // single segment of an initial window of one waits 100 ms for its delayed ACK.
    //
    // icwnd 1:  1  2  3    3  6  9    12    18    27  42   63    93   141   210   315
    // icwnd 4:  4  6  9   12 18 27    42    63    93 141  210   315   474
    // icwnd 10: 10 15 21  33 48 72   108   162   243 366
    let tables: [(&str, f64, &[u64]); 3] = [
        ("1", 100.0, &[1, 3, 6, 9, 15, 24, 36, 54, 81, 123, 186, 279, 420, 630, 945]),
        ("4", 0.0, &[4, 10, 19, 31, 49, 76, 118, 181, 274, 415, 625, 940]),
        ("10", 0.0, &[10, 25, 46, 79, 127, 199, 307, 469, 712, 1078]),
    ];
    for (icwnd, extra_ms, last) in tables {
        let mut first = 1;
        for (flights, &last) in (1u32..).zip(last) {
            let extra_ms = if flights > 1 { extra_ms } else { 0.0 };
            for segments in [first, last] {
                let graph = document(1000 * segments);
                let plt = plt_ms(
                    &graph_with_load(graph),
                    &[("transport.initial_window_segments", icwnd)],
                );
                println!("icwnd {icwnd}, {segments} segments: {plt} ms");
                assert_ms(plt, f64::from(1 + flights) * RTT_MS + extra_ms);
            }
            first = last + 1;
        }
    }
}

fn graph_with_load(mut b: Builder) -> PageGraph {
    b.load(&[ROOT]).clone()
}

#[test]
fn a_request_leaves_later_by_what_it_stalled_in_the_browser() {
    let mut b = document(1000);
    let ActivityKind::Resource(root) = &mut b.graph.activities[0].kind else { unreachable!() };
    root.stalled_ms = Some(7.0);
    b.add("a", image_at("http://example.com/a"), &[ROOT]);
    let ActivityKind::Resource(a) = &mut b.graph.activities.last_mut().unwrap().kind else {
        unreachable!()
    };
    a.stalled_ms = Some(2.5);
    let graph = b.load(&["a"]).clone();
    let without = plt_ms(&graph, &[]);
    assert_ms(plt_ms(&graph, &[("browser.stalls", "true")]), without + 9.5);
}

#[test]
fn seventh_and_eighth_images_wait_a_round_trip_unless_they_are_seen() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut b = document(1000);
    for name in names {
        b.add(name, image_at(&format!("http://i.example/{name}")), &[ROOT]);
    }
    let mut graph = b.load(&names).clone();
    let plt = |graph: &PageGraph, version, throttle| {
        let window = ("transport.initial_window_segments", "10");
        plt_ms(graph, &[("http.version", version), ("browser.throttle", throttle), window])
    };
    let at_once = plt(&graph, "quic-lite", "false");
    assert_ms(plt(&graph, "quic-lite", "true"), at_once + RTT_MS);
    for activity in &mut graph.activities {
        if let ActivityKind::Resource(r) = &mut activity.kind
            && ["g", "h"].contains(&activity.id.as_str())
        {
            r.raised_by = Some(ROOT.into());
        }
    }
    assert_ms(plt(&graph, "quic-lite", "true"), at_once);
}

#[test]
fn headers_are_as_long_as_recorded_and_compressed_as_the_version_has_it() {
    let mut b = document(1000);
    b.add("a", response("http://example.com/a", "image/png", 900, 0.0), &[ROOT]);
    let graph = b.load(&["a"]).clone();
    let mut recorded = graph.clone();
    for activity in &mut recorded.activities {
        if let ActivityKind::Resource(r) = &mut activity.kind {
            (r.request_header_bytes, r.response_header_bytes) = (Some(900), Some(300));
        }
    }
    let over_1_mbit = |graph: &PageGraph, changes: &[(&str, &str)]| {
        plt_ms(graph, &[&[("network.rate_bps", "1000000")], changes].concat())
    };
    let sizes = [("http.request_bytes", "900"), ("http.response_header_bytes", "300")];
    let with = over_1_mbit(&recorded, &[("http.recorded_headers", "true")]);
    assert_ms(with, over_1_mbit(&graph, &sizes));
    // Two requests of 400 bytes and no headers of responses are the default.
    let more_ms = 2.0 * f64::from(900 - 400 + 300) * 8.0 / 1000.0;
    assert!(with > over_1_mbit(&recorded, &[]) + more_ms);

    let of = |version, more: &[(&str, &str)]| {
        over_1_mbit(&graph, &[&sizes[..], &[("http.version", version)], more].concat())
    };
    let parts = [
        ("http.request_first_fraction", "0.69"),
        ("http.request_later_fraction", "0.1"),
        ("http.response_first_fraction", "0.47"),
        ("http.response_later_fraction", "0.08"),
    ];
    let hpack = [("http.hpack", "true")];
    assert_ms(of("http/2", &hpack), of("http/2", &parts));
    assert!(of("http/2", &hpack) + 5.0 < of("http/2", &[]));
    assert_ms(of("http/1.1", &hpack), of("http/1.1", &[]));
}

#[test]
fn the_end_of_a_resource_is_acknowledged_at_once_if_push_says_so() {
    // Two images of one segment on an HTTP/2 connection with a window of one segment (9 bytes of frame
    // header each for headers and data): the second leaves when the first is acknowledged.
    let mut b = document(900);
    b.add("a", response("http://i.example/a", "image/png", 900, 0.0), &[ROOT]);
    b.add("b", response("http://i.example/b", "image/png", 900, 0.0), &[ROOT]);
    let graph = b.load(&["a", "b"]);
    let plt = |push| {
        plt_ms(
            graph,
            &[
                ("http.version", "http/2"),
                ("transport.initial_window_segments", "1"),
                // Both requests fit into the client's window of one segment.
                ("transport.window_room", "what-fits"),
                ("transport.ack_push_at_once", push),
            ],
        )
    };
    // Root 2 RTT, handshake with the other host, request and first image, second image.
    assert_ms(plt("true"), 5.0 * RTT_MS);
    // The delayed ACK waits 100 ms for company.
    assert_ms(plt("false"), 5.0 * RTT_MS + 100.0);
}

#[test]
fn tls_adds_exactly_the_round_trips_of_its_rfcs() {
    // Certificate and hello are 3.9 kB, four segments: one flight of the initial window of 4.
    for (tls, round_trips) in [
        ("none", 0.0),
        ("1.2", 2.0),
        ("1.2-resumed", 1.0),
        ("1.3", 1.0),
        ("1.3-resumed", 1.0),
        ("1.3-0rtt", 0.0),
    ] {
        for version in ["http/1.0", "http/1.1", "http/2", "quic-lite"] {
            let changes = [("http.tls", tls), ("http.version", version)];
            let outcome = load(document(900).load(&[ROOT]), &scene(&changes));
            println!("TLS {tls}, {version}");
            assert_ms(outcome.plt_ms.unwrap(), (2.0 + round_trips) * RTT_MS);
            assert_ms(outcome.connections[0].established_ms.unwrap(), (1.0 + round_trips) * RTT_MS);
            let phases = outcome.resources[0].phases.unwrap();
            assert_ms(phases.connection_setup_ms, (1.0 + round_trips) * RTT_MS);
        }
    }
}

const TLS_1_3: [(&str, &str); 5] = [
    ("http.tls", "1.3"),
    ("http.tls_client_hello_bytes", "200"),
    ("http.tls_server_hello_bytes", "120"),
    ("http.tls_certificate_bytes", "800"),
    ("transport.initial_window_segments", "10"),
];

// A ticket and SETTINGS, 184 and 21 bytes, leave as the client's Finished comes, an acknowledgement of 9 bytes as
// its own SETTINGS do, and the request is right behind: of a window of 10 000 bytes they leave nine segments if
// bytes count and seven if segments do. Handshakes take two round trips, the response the third.
#[test]
fn a_first_response_gets_what_tickets_and_settings_leave_of_the_window() {
    for (window_room, segments) in [("full-segment", 9), ("segments", 7)] {
        let first = [
            ("http.version", "http/2"),
            ("http.tls_tickets_bytes", "184"),
            ("http.preface", "true"),
            ("transport.window_room", window_room),
        ];
        let changes = [&TLS_1_3[..], &first].concat();
        // Frames of 9 bytes for the headers and for the data.
        let room = segments * 1000 - 18;
        assert_ms(plt_ms(&document(room).load(&[ROOT]).clone(), &changes), 3.0 * RTT_MS);
        assert_ms(plt_ms(&document(room + 1).load(&[ROOT]).clone(), &changes), 4.0 * RTT_MS);
    }
}

// Six images on six connections: the first has its handshake behind it and brought two tickets, so that two of
// the others are spared 800 bytes of certificates, and with TLS 1.2, whose sessions are used more than once, all
// five, and a round trip.
#[test]
fn later_connections_resume_the_sessions_that_the_browser_remembers() {
    let mut b = document(900);
    let images: Vec<String> = (0..6).map(|i| format!("image{i}")).collect();
    for id in &images {
        b.add(id, image_at(&format!("http://download_0.example/{id}.png")), &[ROOT]);
    }
    let ids: Vec<&str> = images.iter().map(String::as_str).collect();
    let graph = b.load(&ids).clone();
    // With TLS 1.2 the server's last flight, 80 bytes, is spared, too.
    let cases = [("1.3", 2 * 800, 0.0), ("1.2", 5 * 880, 1.0), ("1.3-resumed", 0, 0.0)];
    for (tls, saved, round_trips) in cases {
        let with = |sessions| {
            let own = [
                ("http.version", "http/1.1"),
                ("http.connections_per_host", "6"),
                ("http.tls_tickets_bytes", "184"),
                ("http.tls_sessions", sessions),
                ("http.tls", tls),
            ];
            load(&graph, &scene(&[&TLS_1_3[..], &own].concat()))
        };
        let (none, two) = (with("0"), with("2"));
        let bytes = |o: &Outcome| o.connections.iter().map(|c| c.bytes_down).sum::<u64>();
        println!("TLS {tls}");
        assert_eq!((none.connections.len(), two.connections.len()), (6, 6));
        assert_eq!(bytes(&none) - bytes(&two), saved);
        assert_ms(none.plt_ms.unwrap() - two.plt_ms.unwrap(), round_trips * RTT_MS);
    }
}

// Ten of a document's twelve segments come with the first flight, an image stands at its beginning: the record
// that it is in is whole with the second flight, unless records are short.
#[test]
fn text_is_read_when_its_record_is_whole() {
    let mut b = document(12_000);
    b.add("dchunk_0_0", chunk(ROOT, 0, 300), &[ROOT]);
    b.add("pchunk_0_0", parse(0, 0.0), &["dchunk_0_0"]);
    b.add("photo", image_at("http://host.example/photo.png"), &["pchunk_0_0"]);
    let graph = b.load(&["photo"]).clone();
    for (record_bytes, round_trips) in [("0", 3.0), ("1000", 3.0), ("9700", 3.0), ("16384", 4.0)] {
        let changes = [&TLS_1_3[..], &[("http.tls_record_bytes", record_bytes)]].concat();
        let outcome = load(&graph, &scene(&changes));
        let photo = outcome.resources.iter().find(|r| r.id == "photo").unwrap();
        assert_ms(photo.start_ms, round_trips * RTT_MS);
    }
}

#[test]
fn a_name_is_looked_up_once_however_many_connections_wait_for_it() {
    // The images on a new host: one at once, one 30 ms later, while the lookup of 100 ms goes on, and one
    // on the root's host, whose name is known.
    let mut b = document(900);
    b.add("a", image_at("http://i.example/a"), &[ROOT]);
    b.add("wait", script(0, 30.0), &[ROOT]);
    b.add("b", image_at("http://i.example/b"), &["wait"]);
    b.add("c", image_at("http://download_0.example/c"), &[ROOT]);
    let changes = [("network.dns_ms", "100"), ("http.connections_per_host", "6")];
    let outcome = load(b.load(&["a", "b", "c"]), &scene(&changes));
    let root = 100.0 + 2.0 * RTT_MS;
    assert_ms(end_ms(&outcome, ROOT), root);
    assert_ms(end_ms(&outcome, "a"), root + 100.0 + 2.0 * RTT_MS);
    assert_ms(end_ms(&outcome, "b"), root + 100.0 + 2.0 * RTT_MS);
    assert_ms(end_ms(&outcome, "c"), root + RTT_MS);
}

/// A document and then `n` images, each requested when the one before is there.
fn one_after_another(n: u32) -> PageGraph {
    let mut b = document(900);
    let mut before = ROOT.to_owned();
    for i in 0..n {
        let (image, shown) = (format!("image_{i}"), format!("shown_{i}"));
        b.add(&image, image_at(&format!("http://download_0.example/{i}")), &[&before]);
        b.add(&shown, event(0, 0.0), &[&image]);
        before = shown;
    }
    b.load(&[&before]).clone()
}

#[test]
fn http_1_0_pays_a_handshake_for_every_request() {
    for n in 0..4 {
        let graph = one_after_another(n);
        let requests = f64::from(n + 1);
        assert_ms(plt_ms(&graph, &[("http.version", "http/1.0")]), 2.0 * requests * RTT_MS);
        for version in ["http/1.1", "http/1.1-pipelined", "http/2", "quic-lite"] {
            assert_ms(plt_ms(&graph, &[("http.version", version)]), (1.0 + requests) * RTT_MS);
        }
    }
}

#[test]
fn the_server_models_answer_as_in_figure_3_15() {
    // Requests reach the server at 100 ms: root 80 ms, half a round trip; answers take the other half.
    // Their delays are 60, 20 and 10 ms. Serial: 60, 80, 90. Parallel: all behind the first. Out of
    // order: each when it is ready.
    let mut b = document(900);
    for (id, delay_ms) in [("a", 60.0), ("b", 20.0), ("c", 10.0)] {
        let url = format!("http://download_0.example/{id}");
        b.add(id, response(&url, "image/png", 900, delay_ms), &[ROOT]);
    }
    let graph = b.load(&["a", "b", "c"]);
    for version in ["http/1.1-pipelined", "http/2", "quic-lite"] {
        for (model, expected) in [
            ("serial", [180.0, 200.0, 210.0]),
            ("parallel", [180.0, 180.0, 180.0]),
            ("out-of-order", [180.0, 140.0, 130.0]),
        ] {
            let changes = [("http.version", version), ("server.model", model)];
            let outcome = load(graph, &scene(&changes));
            println!("{version}, {model}");
            for (id, expected_ms) in ["a", "b", "c"].into_iter().zip(expected) {
                assert_ms(end_ms(&outcome, id), expected_ms);
            }
            assert_ms(outcome.plt_ms.unwrap(), expected.into_iter().fold(0.0, f64::max));
        }
    }
}

#[test]
fn server_queueing_and_processing_are_told_apart() {
    let mut b = document(900);
    for (id, delay_ms) in [("a", 60.0), ("b", 20.0)] {
        let url = format!("http://download_0.example/{id}");
        b.add(id, response(&url, "image/png", 900, delay_ms), &[ROOT]);
    }
    let changes = [("http.version", "http/2"), ("server.model", "serial")];
    let outcome = load(b.load(&["a", "b"]), &scene(&changes));
    let b = outcome.resources.iter().find(|r| r.id == "b").unwrap().phases.unwrap();
    assert_ms(b.connection_setup_ms, 0.0);
    assert_ms(b.client_queue_ms, 0.0);
    assert_ms(b.request_flight_ms, 20.0);
    assert_ms(b.server_queue_ms, 60.0);
    assert_ms(b.server_processing_ms, 20.0);
    assert_ms(b.response_wait_ms, 0.0);
    assert_ms(b.first_byte_flight_ms, 20.0);
    assert_ms(b.transfer_ms, 0.0);
}

/// Ids of the resources behind the root, in order of completion.
fn completions(graph: &PageGraph, changes: &[(&str, &str)]) -> Vec<String> {
    let outcome = load(graph, &scene(changes));
    let mut resources: Vec<_> = outcome.resources.iter().filter(|r| r.id != ROOT).collect();
    resources.sort_by(|a, b| a.end_ms.unwrap().total_cmp(&b.end_ms.unwrap()));
    resources.iter().map(|r| r.id.clone()).collect()
}

#[test]
fn equal_responses_that_wait_together_leave_by_priority() {
    // The font fills the window of four segments when the others, requested in the order image,
    // script, style sheet, join it in the send buffer. Classes: style sheets, scripts, images, others.
    let mut b = document(900);
    for (id, mime_type) in [
        ("font", "font/woff"),
        ("image", "image/png"),
        ("script", "text/javascript"),
        ("style", "text/css"),
    ] {
        let url = format!("http://download_0.example/{id}");
        b.add(id, response(&url, mime_type, 5000, 0.0), &[ROOT]);
    }
    let graph = b.load(&["font", "image", "script", "style"]);
    let order = |send_order, priorities| {
        let changes = [
            ("http.version", "http/2"),
            ("http.send_order", send_order),
            ("http.priorities", priorities),
        ];
        completions(graph, &changes)
    };
    let as_requested = ["font", "image", "script", "style"];
    assert_eq!(order("fifo", "mime-class"), as_requested);
    assert_eq!(order("priority", "none"), as_requested);
    // What was begun is finished first, or not.
    assert_eq!(order("priority", "mime-class"), ["font", "style", "script", "image"]);
    assert_eq!(order("preemptive", "mime-class"), ["style", "script", "image", "font"]);
}

#[test]
fn one_to_twelve_connections_fetch_twelve_images_in_the_rounds_counted_by_hand() {
    // The root's connection is free at 80 ms and serves an image every 40 ms; the others are ready at
    // 120 ms. After k rounds k + (n - 1)(k - 1) images are there.
    let mut b = document(900);
    let ids: Vec<String> = (0..12).map(|i| format!("image_{i}")).collect();
    for id in &ids {
        b.add(id, image_at(&format!("http://download_0.example/{id}")), &[ROOT]);
    }
    let parents: Vec<&str> = ids.iter().map(String::as_str).collect();
    let graph = b.load(&parents);
    let expected =
        [560.0, 360.0, 280.0, 240.0, 240.0, 200.0, 200.0, 200.0, 200.0, 200.0, 160.0, 160.0];
    for (n, expected_ms) in (1..).zip(expected) {
        let n: u32 = n;
        let outcome = load(graph, &scene(&[("http.connections_per_host", &n.to_string())]));
        println!("{n} connections");
        assert_ms(outcome.plt_ms.unwrap(), expected_ms);
        assert_eq!(outcome.connections.len() as u32, n);
        // HTTP/2 sends all requests at once; a further connection costs its handshake.
        let changes = [
            ("http.version", "http/2"),
            ("http.connections_per_host", &n.to_string()),
            ("transport.initial_window_segments", "100"),
        ];
        assert_ms(plt_ms(graph, &changes), if n == 1 { 120.0 } else { 160.0 });
    }
}

#[test]
fn an_empty_response_takes_its_round_trip_and_delivers_no_bytes() {
    let mut b = document(900);
    b.add("beacon", response("http://download_0.example/b", "", 0, 0.0), &[ROOT]);
    let graph = b.load(&["beacon"]);
    for version in ["http/1.0", "http/1.1", "http/2", "quic-lite"] {
        let outcome = load(graph, &scene(&[("http.version", version)]));
        let handshake = if version == "http/1.0" { RTT_MS } else { 0.0 };
        assert_ms(outcome.plt_ms.unwrap(), 3.0 * RTT_MS + handshake);
        assert_eq!(outcome.totals.bytes, 900, "{version}");
    }
}

/// Two images on the host of the document, which comes first.
fn page_with_two_images() -> PageGraph {
    let mut b = document(900);
    b.add("a", image_at("http://download_0.example/a.png"), &[ROOT]);
    b.add("b", image_at("http://download_0.example/b.png"), &[ROOT]);
    b.load(&["a", "b"]).clone()
}

const TLS_1_2: [(&str, &str); 4] = [
    ("http.tls", "1.2"),
    ("http.tls_client_hello_bytes", "200"),
    ("http.tls_server_hello_bytes", "120"),
    ("http.tls_certificate_bytes", "800"),
];

#[test]
fn spdy_2_saves_the_handshakes_that_http_1_1_needs_for_more_connections() {
    // TCP 1 RTT, TLS 1.2 2 RTT, the document 1 RTT; then both images at once 1 RTT. Over HTTP/1.1 the second
    // image needs a connection of its own: 3 RTT of handshakes and 1 RTT, unless there is only one connection:
    // then both wait for each other.
    let graph = page_with_two_images();
    let plt = |version, connections| {
        let changes = [("http.version", version), ("http.connections_per_host", connections)];
        plt_ms(&graph, &[&TLS_1_2[..], &changes].concat())
    };
    assert_ms(plt("spdy/2", "1"), 5.0 * RTT_MS);
    assert_ms(plt("http/1.1", "1"), 6.0 * RTT_MS);
    // The idle connection answers the first image after 1 RTT, and then the second: sooner than a new one.
    assert_ms(plt("http/1.1", "6"), 6.0 * RTT_MS);
}

#[test]
fn spdy_2_frames_and_compresses_headers_once_dear_then_cheap() {
    // Requests of 400 bytes: 18 + 0.71 * 400 = 302, then twice 18 + 0.04 * 400 = 34. Responses with headers of 300
    // bytes: 14 + 0.62 * 300 + 8 + 900 = 1108, then twice 14 + 0.1 * 300 + 8 + 1000 = 1052.
    let graph = page_with_two_images();
    let changes = [("http.version", "spdy/2"), ("http.response_header_bytes", "300")];
    let [connection] = &load(&graph, &scene(&changes)).connections[..] else { panic!() };
    assert_eq!(connection.requests, 3);
    assert_eq!(connection.bytes_up, 302 + 2 * 34);
    assert_eq!(connection.bytes_down, 1108 + 2 * 1052);
    // Without compression the frames are left.
    let whole = [
        ("http.request_first_fraction", "1"),
        ("http.request_later_fraction", "1"),
        ("http.response_first_fraction", "1"),
        ("http.response_later_fraction", "1"),
    ];
    let outcome = load(&graph, &scene(&[&changes[..], &whole].concat()));
    assert_eq!(outcome.connections[0].bytes_up, 3 * (18 + 400));
    assert_eq!(outcome.connections[0].bytes_down, 3 * (14 + 300 + 8) + 900 + 2 * 1000);
}

#[test]
fn each_side_begins_with_its_own_window() {
    // A request of 7 segments leaves in flights of 1, 2 and 4 segments from a window of one; a response of 7
    // segments in one from a window of ten. 1 RTT for the handshake, 1 for request and response.
    let graph = graph_with_load(document(7000));
    let changes = [
        ("http.request_bytes", "7000"),
        ("transport.initial_window_segments", "10"),
        ("transport.delayed_ack_segments", "1"),
    ];
    let one = [("transport.client_initial_window_segments", "1")];
    assert_ms(plt_ms(&graph, &changes), 2.0 * RTT_MS);
    assert_ms(plt_ms(&graph, &[&changes[..], &one].concat()), 4.0 * RTT_MS);
}

#[test]
fn spdy_2_has_four_levels_of_priority() {
    let mut b = document(900);
    for (id, mime_type) in
        [("c", "text/css"), ("j", "text/javascript"), ("f", "font/woff"), ("i", "image/png")]
    {
        let url = format!("http://download_0.example/{id}");
        b.add(id, response(&url, mime_type, 1000, 0.0), &[ROOT]);
    }
    let graph = b.load(&["c", "j", "f", "i"]).clone();
    let changes = [("http.version", "spdy/2"), ("http.priorities", "spdy")];
    let outcome = load(&graph, &scene(&changes));
    let level = |id: &str| outcome.resources.iter().find(|r| r.id == id).unwrap().priority;
    assert_eq!([ROOT, "c", "j", "f", "i"].map(level), [0, 1, 1, 2, 3]);
}

#[test]
fn hystart_leaves_slow_start_before_the_buffer_is_full() {
    // 10 Mbit/s, 100 ms: a bandwidth-delay product of 125 segments. Slow start without it fills any buffer; with
    // it the train of a round is longer than 50 ms at 63 segments in flight, and nothing waits.
    let graph = graph_with_load(document(2_000_000));
    let changes = [
        ("network.rate_bps", "10mbit"),
        ("network.rtt_ms", "100"),
        ("transport.hystart_ack_delta_ms", "4"),
        ("transport.congestion", "cubic"),
    ];
    let waiting = |exit| {
        let changes = [&changes[..], &[("transport.slow_start_exit", exit)]].concat();
        load(&graph, &scene(&changes)).queues[0].max_waiting_packets
    };
    assert!(waiting("loss") > 500, "{}", waiting("loss"));
    assert!(waiting("hystart") < 125, "{}", waiting("hystart"));
}

#[test]
fn headers_written_apart_cost_a_round_trip_if_nagle_holds_the_end_back() {
    // Headers of 300 bytes leave alone. Behind them whole segments leave at once, a short one with the ACK of the
    // headers: the client's, of two segments, 1 RTT later, or the delayed one of the headers alone, 100 ms later
    // still.
    let plt = |body, apart, nagle| {
        let changes = [
            ("http.response_header_bytes", "300"),
            ("transport.ack_push_at_once", "false"),
            ("server.headers_apart", apart),
            ("server.nagle", nagle),
        ];
        plt_ms(&graph_with_load(document(body)), &changes)
    };
    for (body, late_ms) in [(2500, RTT_MS), (2000, 0.0), (500, 100.0 + RTT_MS)] {
        assert_ms(plt(body, "false", "false"), 2.0 * RTT_MS);
        assert_ms(plt(body, "true", "false"), 2.0 * RTT_MS);
        assert_ms(plt(body, "false", "true"), 2.0 * RTT_MS);
        assert_ms(plt(body, "true", "true"), 2.0 * RTT_MS + late_ms);
    }
}

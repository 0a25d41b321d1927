//! Impossible scenarios: one line that names the key, the value and what is allowed; and loads that
//! cannot succeed end with a reason.

mod support;

use loadpath_sim::outcome::Status;
use loadpath_sim::scenario::{KEYS, Key};
use loadpath_sim::{Options, Scenario, simulate, summarise};
use support::random_scenario::range;
use support::{example_page, scenario};

/// The error of a file, which must be a single line that begins with its name.
#[track_caller]
fn error_of_file(toml: &str) -> String {
    let Err(error) = Scenario::resolve(None, Some((toml, "bad.toml")), &[]) else {
        panic!("accepted: {toml}")
    };
    let error = error.to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("bad.toml: "), "{error}");
    assert!(error.len() < 500, "{error}");
    error
}

#[track_caller]
fn error_of_override(key: &str, value: &str) -> String {
    let Err(error) = Scenario::resolve(None, None, &[(key.into(), value.into())]) else {
        panic!("accepted: {key} = {value}")
    };
    let error = error.to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

fn assert_names(error: &str, key: &Key, value: &str) {
    let allowed = (key.allowed)();
    for part in [format!("{} = {value}", key.name), format!("expected {allowed}")] {
        assert!(error.contains(&part), "{error:?} does not contain {part:?}");
    }
}

/// The key in a file.
fn in_file(key: &Key, value: &str) -> String {
    let (section, field) = key.name.split_once('.').unwrap();
    format!("[{section}]\n{field} = {value}\n")
}

#[test]
fn every_key_refuses_values_of_another_type() {
    for key in KEYS {
        for value in ["[1]", "1979-05-27", "{ a = 1 }", "\"no such\"", "\"\"", "\"12parsec\""] {
            let error = error_of_file(&in_file(key, value));
            assert!(error.contains(key.name), "{error}");
            if value != "{ a = 1 }" {
                assert_names(&error, key, value);
            }
        }
        let truth_is_wrong = if (key.allowed)() == "true or false" { "1" } else { "true" };
        assert_names(&error_of_file(&in_file(key, truth_is_wrong)), key, truth_is_wrong);
    }
}

#[test]
fn every_number_refuses_what_lies_outside_its_range() {
    let mut checked = 0;
    for key in KEYS {
        let allowed = (key.allowed)();
        let Some(range) = range(allowed.trim_end_matches(" or \"auto\"")) else { continue };
        checked += 1;
        let outside = [
            (range.start() - 1.0).to_string(),
            (range.start() - 0.001).to_string(),
            (range.end() * 2.0).to_string(),
            "nan".into(),
            "-nan".into(),
            "inf".into(),
            "-inf".into(),
            "1e308".into(),
            "-1".into(),
        ];
        for value in outside {
            let error = error_of_override(key.name, &value);
            assert!(error.contains(&format!("{} = ", key.name)), "{error}");
            assert!(error.contains(&format!("expected {allowed}")), "{error}");
        }
        // The ends themselves are allowed, if not beside every other value.
        let ends = allowed.trim_end_matches(" or \"auto\"").split_once(" from ").unwrap().1;
        for end in ends.split(" to ") {
            let changes = [(key.name.to_owned(), end.to_owned())];
            if let Err(error) = Scenario::resolve(None, None, &changes) {
                assert!(
                    error.message.matches("transport.").count() == 2
                        || error.message.matches("network.").count() == 2,
                    "{error}"
                );
            }
        }
    }
    assert!(checked >= 40, "{checked} numbers");
}

#[test]
fn names_and_truth_values_are_read_only_as_written() {
    for key in KEYS.iter().filter(|k| (k.allowed)().starts_with("one of ")) {
        for value in ["\"RED\"", "1", "0.5", "\"none \""] {
            assert_names(&error_of_file(&in_file(key, value)), key, value);
        }
    }
}

#[test]
fn every_misspelt_key_is_named_with_the_nearest_one() {
    for key in KEYS {
        let misspelt = format!("{}x", key.name);
        let error = error_of_override(&misspelt, "1");
        assert!(error.contains(&format!("unknown key {misspelt:?}")), "{error}");
        assert!(error.contains("did you mean"), "{error}");
    }
    for toml in
        ["[nowhere]\nkey = 1", "rate_bps = 1", "[network]\nrate = 1", "[network.red]\na = 1"]
    {
        assert!(error_of_file(toml).contains("unknown key"), "{toml}");
    }
    assert!(error_of_file("network = 3").contains("unknown key \"network\""));
}

#[test]
fn what_is_not_toml_is_one_line_with_its_place() {
    for (toml, line) in [
        ("network = [", 1),
        ("[network]\nrate_bps = \n", 2),
        ("[network]\nrate_bps = 1\nrate_bps = 2", 3),
        ("a = \"\u{1}\"", 1),
        ("[network]\nrtt_ms = 1e", 2),
    ] {
        let error = error_of_file(toml);
        assert!(error.contains("not TOML"), "{error}");
        assert!(error.contains(&format!("line {line}")), "{error}");
    }
}

#[test]
fn values_too_long_for_a_line_are_cut() {
    let long = "x".repeat(100_000);
    error_of_file(&format!("[network]\nqueue = \"{long}\""));
    error_of_file(&format!("[network]\n{long} = 1"));
    error_of_file(&format!("profile = \"{long}\""));
    error_of_file("[network]\nqueue = \"\"\"a\nb\nc\"\"\"");
    error_of_file("profile = [\"\"\"a\nb\"\"\"]");
    error_of_file("\"a\\nb\" = 1");
}

#[test]
fn combinations_that_cannot_be_name_both_keys() {
    for (changes, names) in [
        (
            [("network.red_min_fraction", "0.8"), ("network.red_max_fraction", "0.8")],
            ["network.red_min_fraction = 0.8", "network.red_max_fraction = 0.8"],
        ),
        (
            [("transport.min_rto_ms", "300"), ("transport.max_rto_ms", "200")],
            ["transport.min_rto_ms = 300", "transport.max_rto_ms = 200"],
        ),
        (
            [("transport.receive_buffer_bytes", "1000"), ("transport.window_scale", "10")],
            ["transport.receive_buffer_bytes = 1000", "transport.window_scale = 10"],
        ),
    ] {
        let changes = changes.map(|(k, v)| (k.to_owned(), v.to_owned()));
        let error = Scenario::resolve(None, None, &changes).unwrap_err().to_string();
        assert!(names.iter().all(|n| error.contains(n)), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_name_that_looks_like_a_number_needs_no_quotes() {
    for (key, value) in [("http.tls", "1.2"), ("http.tls", "1.3"), ("http.tls", "1.3-0rtt")] {
        let s = scenario(&[(key, value)]);
        assert_eq!(s.get(key), Some(value.into()));
    }
    let s = Scenario::resolve(None, Some(("[http]\ntls = 1.3", "a.toml")), &[]).unwrap();
    assert_eq!(s.get("http.tls"), Some("1.3".into()));
}

/// Why a load of a small page failed.
fn reason(changes: &[(&str, &str)]) -> String {
    let page = example_page("figure-3-1");
    let s = scenario(changes);
    let outcome = simulate(&page, &s, 0, &Options { trace: true });
    assert_eq!((outcome.plt_ms, summarise(&page, &s, 0).status), (None, outcome.status.clone()));
    match outcome.status {
        Status::Failed { reason } => reason,
        Status::Complete => panic!("it loaded: {changes:?}"),
    }
}

#[test]
fn a_load_that_cannot_succeed_says_why() {
    for (changes, expected) in [
        (&[("limits.time_ms", "50")][..], "not loaded by 0.050000 s"),
        (
            &[("network.dns_ms", "600000"), ("limits.time_ms", "599999")],
            "not loaded by 599.999000 s",
        ),
        (
            // The first SYN waits 1 s, then 2, 4: given up after 7 s.
            &[("network.loss_up_fraction", "1"), ("transport.syn_retries", "2")],
            "connection 0 to figure-3-1.example failed at the client: ConnectTimeout",
        ),
        (
            // 20 retries take longer than a minute.
            &[("network.loss_down_fraction", "1"), ("limits.time_ms", "60000")],
            "not loaded by 60.000000 s",
        ),
        (
            // No packet fits into a queue of one byte.
            &[
                ("network.queue", "drop-tail"),
                ("network.queue_unit", "bytes"),
                ("network.queue_limit", "1"),
            ],
            "connection 0 to figure-3-1.example failed at the client: ConnectTimeout",
        ),
    ] {
        let reason = reason(changes);
        assert!(reason.contains(expected), "{reason:?}, not {expected:?}");
        assert_eq!(reason.lines().count(), 1);
    }
}

#[test]
fn extreme_networks_neither_panic_nor_hang() {
    let page = example_page("figure-3-1");
    let limits = [("limits.time_ms", "3600000")];
    for changes in [
        &[("network.rate_bps", "1000")][..],
        &[("network.rate_bps", "1000"), ("network.up_rate_bps", "1000000000000")],
        &[("network.rate_bps", "1000000000000"), ("network.server_rate_factor", "1000")],
        &[("network.rtt_ms", "60000")],
        &[("network.rtt_ms", "60000"), ("network.jitter_fraction", "1")],
        &[("network.rtt_ms", "60000"), ("network.rate_bps", "1000000000000")],
        &[
            ("network.rtt_ms", "0"),
            ("network.rate_bps", "1000000000000"),
            ("transport.header_bytes", "0"),
            ("transport.link_header_bytes", "0"),
            ("transport.min_rto_ms", "0.001"),
            ("transport.max_rto_ms", "0.001"),
            ("transport.delayed_ack_ms", "0"),
        ],
        &[("transport.min_rto_ms", "0.001"), ("transport.max_rto_ms", "0.001")],
        &[("transport.mss_bytes", "65000"), ("transport.receive_buffer_bytes", "16384")],
        &[("transport.mss_bytes", "65000"), ("transport.send_buffer_bytes", "1000")],
        &[("transport.mss_bytes", "100"), ("transport.initial_window_segments", "1000")],
        &[("transport.delayed_ack_ms", "600000"), ("transport.delayed_ack_segments", "100")],
        &[("http.request_bytes", "1000000"), ("http.response_header_bytes", "1000000")],
        &[("http.tls", "1.2"), ("http.tls_certificate_bytes", "1000000")],
        &[("network.queue_limit_bdp", "0"), ("network.rtt_ms", "0")],
        &[("network.queue_limit", "1")],
    ] {
        for profile in ["pcp", "linux"] {
            let changes: Vec<_> = changes.iter().chain(&limits).copied().collect();
            let s = support::scenario_of(profile, &changes);
            let outcome = simulate(&page, &s, 0, &Options::default());
            println!("{profile} {changes:?}: {:?} {:?}", outcome.status, outcome.plt_ms);
            assert_eq!(outcome.plt_ms.is_some(), outcome.status == Status::Complete);
            assert!(outcome.totals.events < 3_000_000, "{} events", outcome.totals.events);
        }
    }
}

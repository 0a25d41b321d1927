//! The order in which responses' bytes leave on one connection, read frame by frame by a client whose
//! window is closed until it has asked for everything.

mod support;

use serde_json::{Value, json};
use support::{Archive, DATA, Frame, HOST, PREFACE, SETTINGS, WINDOW_UPDATE, connect, read_frames};
use tokio::io::AsyncWriteExt;

const SIZE: usize = 200_000;

/// Streams in the order of their bytes, each once a run of frames.
fn runs(frames: &[Frame]) -> Vec<u32> {
    let mut streams: Vec<u32> =
        frames.iter().filter(|frame| frame.kind == DATA).map(|frame| frame.stream).collect();
    streams.dedup();
    streams
}

/// What a client sees that asks by `requests` while the window of streams is 0, then opens it.
async fn exchange(keys: Value, requests: Vec<Frame>, responses: usize) -> Vec<Frame> {
    let archive =
        Archive::new(&[("/a", SIZE), ("/b", SIZE), ("/c", SIZE), ("/d", SIZE), ("/small", 10)]);
    let server = archive.serve("h2", keys);
    let mut stream = connect(&server, b"h2").await;
    // SETTINGS_INITIAL_WINDOW_SIZE: nothing.
    let mut bytes = PREFACE.to_vec();
    bytes.extend(Frame::new(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]).encode());
    bytes.extend(Frame::new(WINDOW_UPDATE, 0, 0, &(1u32 << 30).to_be_bytes()).encode());
    for request in &requests {
        bytes.extend(request.encode());
    }
    stream.write_all(&bytes).await.unwrap();
    // All are known to the server when it has answered all with headers.
    let heads = |frames: &[Frame]| {
        frames.iter().filter(|frame| frame.kind == support::HEADERS).count() >= responses
    };
    let mut frames = read_frames(&mut stream, heads).await;
    assert!(runs(&frames).is_empty());
    let open = Frame::new(SETTINGS, 0, 0, &[0, 4, 0x3f, 0xff, 0xff, 0xff]);
    stream.write_all(&open.encode()).await.unwrap();
    let ended = |frames: &[Frame]| {
        let ends = |frame: &&Frame| frame.kind == DATA && frame.flags & support::END_STREAM != 0;
        frames.iter().filter(ends).count() >= responses
    };
    frames.extend(read_frames(&mut stream, ended).await);
    let sizes = |stream: u32| -> usize {
        let of = |frame: &&Frame| frame.kind == DATA && frame.stream == stream;
        frames.iter().filter(of).map(|frame| frame.payload.len()).sum()
    };
    assert!([1, 3, 5].iter().all(|&stream| sizes(stream) == SIZE));
    frames
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

#[test]
fn without_priorities_responses_leave_as_they_were_asked_for() {
    let requests = ["/a", "/b", "/c"].iter().zip([1, 3, 5]);
    let requests = requests.map(|(path, id)| Frame::get(id, path, Some("u=7"))).collect();
    assert_eq!(runs(&run(exchange(json!({}), requests, 3))), [1, 3, 5]);
}

#[test]
fn bytes_leave_in_the_scenarios_order() {
    let url = |path: &str| format!("https://{HOST}{path}");
    let keys = json!({"priorities": "order", "order": [url("/c"), url("/a"), url("/d")]});
    let requests = ["/a", "/b", "/c", "/d"].iter().zip([1, 3, 5, 7]);
    // What the client says does not count.
    let requests = requests.map(|(path, id)| Frame::get(id, path, Some("u=0"))).collect();
    assert_eq!(runs(&run(exchange(keys, requests, 4))), [5, 1, 7, 3]);
}

#[test]
fn the_clients_urgency_decides_and_incremental_responses_take_turns() {
    let keys = json!({"priorities": "client"});
    let requests = vec![
        Frame::get(1, "/a", Some("u=4, i")),
        Frame::get(3, "/b", Some("u=4, i")),
        Frame::get(5, "/c", Some("u=1")),
        Frame::get(7, "/d", None),
    ];
    let seen = runs(&run(exchange(keys, requests, 4)));
    assert_eq!(seen[..2], [5, 7]);
    assert!(seen.len() > 20, "{seen:?}");
    assert!(seen[2..].windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_priority_update_overrides_the_request() {
    let keys = json!({"priorities": "client"});
    let update = Frame::new(support::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x05u=0");
    let requests = vec![
        update.clone(),
        Frame::get(1, "/a", Some("u=3")),
        Frame::get(3, "/b", Some("u=2")),
        Frame::get(5, "/c", Some("u=7")),
        Frame::new(support::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1"),
    ];
    assert_eq!(runs(&run(exchange(keys, requests, 3))), [5, 1, 3]);
}

#[test]
fn dependencies_decide_for_clients_that_know_no_others() {
    // As Chromium says them: each on the last of the same or higher priority, exclusively.
    let head = |id: u32, path: &str, on: u32| {
        let dependency = [&(on | 1 << 31).to_be_bytes()[..], &[219]].concat();
        let payload = [dependency, support::get_block(path, None)].concat();
        let flags = support::END_STREAM | support::END_HEADERS | support::WITH_PRIORITY;
        Frame::new(support::HEADERS, flags, id, &payload)
    };
    let requests = vec![head(1, "/a", 0), head(3, "/b", 1), head(5, "/c", 0), head(7, "/d", 5)];
    let seen = runs(&run(exchange(json!({"priorities": "client"}), requests, 4)));
    assert_eq!(seen, [5, 7, 1, 3]);
}

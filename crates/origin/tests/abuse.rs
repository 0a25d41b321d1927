//! Clients that mean harm. After each the server answers others, and its memory has not grown by what
//! they sent or asked for.

mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loadpath_origin::Server;
use serde_json::json;
use support::{
    Archive, CONTINUATION, END_HEADERS, END_STREAM, Frame, HEADERS, HOST, PING, PREFACE, PRIORITY,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, connect, connect_quic, get_block, get_h2, get_h3, place,
    quic_client, quic_get, read_frames, resident_mb,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// More than any wait here takes, and less than a test may.
const PATIENCE: Duration = Duration::from_secs(40);

/// What memory may grow by while far more is sent or asked for, clients included.
const BOUND_MB: f64 = 64.0;

/// Memory is the process's: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an attack on a server of one protocol, and looks at the server afterwards.
fn survives(http: &str, attack: impl AsyncFnOnce(&Server)) -> Vec<String> {
    let _alone = alone();
    let archive = Archive::new(&[("/", 1000), ("/large", 8 << 20)]);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = archive.serve(http, json!({}));
        let get = async || match http {
            "h3" => get_h3(&server, "/").await,
            _ => get_h2(&server, "/").await,
        };
        assert_eq!(get().await, 1000);
        let before = resident_mb();
        attack(&server).await;
        let grown = resident_mb() - before;
        assert!(grown < BOUND_MB, "grown by {grown:.0} MB");
        assert_eq!(timeout(PATIENCE, get()).await.expect("others are served"), 1000);
        server.report().errors.into_keys().collect()
    })
}

/// Sends to a connection of HTTP/2 until it is closed; the reason in the GOAWAY, if one came.
async fn flood(server: &Server, first: Vec<u8>, again: impl Fn(u32) -> Vec<u8>) -> Option<u32> {
    let stream = connect(server, b"h2").await;
    let (mut read, mut write) = tokio::io::split(stream);
    let reader = tokio::spawn(async move {
        let frames = read_frames(&mut read, |frames| {
            frames.last().is_some_and(|frame| frame.kind == support::GOAWAY)
        })
        .await;
        let last = frames.last().filter(|frame| frame.kind == support::GOAWAY)?;
        Some(u32::from_be_bytes(last.payload[4..8].try_into().unwrap()))
    });
    let mut bytes = PREFACE.to_vec();
    bytes.extend(Frame::new(SETTINGS, 0, 0, &[]).encode());
    bytes.extend(first);
    let sent = timeout(PATIENCE, async {
        if write.write_all(&bytes).await.is_err() {
            return;
        }
        for number in 0.. {
            let batch: Vec<u8> = (0..64).flat_map(|n| again(64 * number + n)).collect();
            if write.write_all(&batch).await.is_err() || reader.is_finished() {
                return;
            }
        }
    });
    sent.await.expect("the server closes the connection");
    timeout(PATIENCE, reader).await.expect("it is closed").unwrap()
}

/// RFC 9113, section 7.
const ENHANCE_YOUR_CALM: u32 = 11;
/// As the `h2` crate says it.
const EXCESSIVE: &str =
    "h2: connection error detected: detected excessive load generating behavior";

#[test]
fn rapid_resets_end_the_connection() {
    // CVE-2023-44487.
    let mut reason = None;
    let errors = survives("h2", async |server| {
        reason = flood(server, vec![], |n| {
            let id = 2 * n + 1;
            let reset = Frame::new(RST_STREAM, 0, id, &8u32.to_be_bytes());
            [Frame::get(id, "/large", None).encode(), reset.encode()].concat()
        })
        .await;
    });
    assert_eq!(errors, [EXCESSIVE]);
    assert!(reason.is_none_or(|reason| reason == ENHANCE_YOUR_CALM), "{reason:?}");
}

#[test]
fn endless_headers_end_the_connection() {
    // CVE-2024-27316.
    let errors = survives("h2", async |server| {
        let first = Frame::new(HEADERS, END_STREAM, 1, &get_block("/", None)).encode();
        let field = [&[0x00, 1][..], b"x", &[127, 0xa1, 0x1e], &[b'y'; 4000]].concat();
        flood(server, first, |_| Frame::new(CONTINUATION, 0, 1, &field).encode()).await;
    });
    assert_eq!(errors, [EXCESSIVE]);
}

#[test]
fn headers_that_grow_when_they_are_decoded_are_not_kept() {
    survives("h2", async |server| {
        // Into the dynamic table (RFC 7541, section 6.2.1), and 16,000 times out of it: 64 MB each.
        let field = [&[0x40, 1][..], b"x", &[127, 0xa1, 0x1e], &[b'y'; 4000]].concat();
        let mut block = get_block("/", None);
        block.extend(&field);
        let first = Frame::new(HEADERS, END_STREAM | END_HEADERS, 1, &block).encode();
        let mut stream = connect(server, b"h2").await;
        let mut bytes = PREFACE.to_vec();
        bytes.extend(Frame::new(SETTINGS, 0, 0, &[]).encode());
        bytes.extend(first);
        let mut bomb = get_block("/", None);
        bomb.extend([0xbe; 16_000]);
        for n in 1..100 {
            let flags = END_STREAM | END_HEADERS;
            bytes.extend(Frame::new(HEADERS, flags, 2 * n + 1, &bomb).encode());
        }
        let _ = stream.write_all(&bytes).await;
        // Each is refused: answered with 431, reset, or with the connection.
        let refused = |frames: &[Frame]| {
            let ends = |frame: &&Frame| {
                frame.kind == RST_STREAM
                    || frame.kind == HEADERS && frame.flags & END_STREAM != 0
                    || frame.kind == support::GOAWAY
            };
            frames.iter().filter(ends).count() >= 90
        };
        timeout(PATIENCE, read_frames(&mut stream, refused)).await.expect("an answer");
    });
}

#[test]
fn floods_of_frames_that_ask_for_nothing_end_the_connection() {
    // CVE-2019-9512, CVE-2019-9515, and priorities.
    for frame in [
        Frame::new(PING, 0, 0, &[0; 8]),
        Frame::new(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]),
        Frame::new(PRIORITY, 0, 77, &[0, 0, 0, 1, 9]),
        Frame::new(support::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x05u=0"),
    ] {
        let errors = survives("h2", async |server| {
            flood(server, vec![], |_| frame.encode()).await;
        });
        assert_eq!(errors, ["h2: frames that ask for nothing"]);
    }
}

#[test]
fn clients_that_do_not_read_cost_little() {
    survives("h2", async |server| {
        let mut streams = Vec::new();
        for _ in 0..20 {
            let mut stream = connect(server, b"h2").await;
            let mut bytes = PREFACE.to_vec();
            bytes.extend(Frame::new(SETTINGS, 0, 0, &[0, 4, 0x3f, 0xff, 0xff, 0xff]).encode());
            bytes.extend(Frame::new(WINDOW_UPDATE, 0, 0, &(1u32 << 30).to_be_bytes()).encode());
            for n in 0..100 {
                bytes.extend(Frame::get(2 * n + 1, "/large", None).encode());
            }
            stream.write_all(&bytes).await.unwrap();
            // All is asked for: 16 GB.
            let answered =
                |frames: &[Frame]| frames.iter().filter(|frame| frame.kind == HEADERS).count() >= 1;
            timeout(PATIENCE, read_frames(&mut stream, answered)).await.expect("an answer");
            streams.push(stream);
        }
    });
}

#[test]
fn clients_that_never_finish_a_request_keep_nobody_waiting() {
    survives("h2", async |server| {
        let mut streams = Vec::new();
        for n in 0..400 {
            let mut stream = TcpStream::connect(place(server, n % 2 == 0)).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: pa").await.unwrap();
            streams.push(stream);
        }
        let mut stream = TcpStream::connect(place(server, false)).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut response)).await.expect("an answer").unwrap();
        assert!(response.starts_with(b"HTTP/1.1 200 "));
    });
}

#[test]
fn http1_takes_no_endless_heads_and_bodies() {
    let errors = survives("h2", async |server| {
        for start in [
            format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nx: "),
            format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 99999999999\r\n\r\n"),
        ] {
            let mut stream = TcpStream::connect(place(server, false)).await.unwrap();
            stream.write_all(start.as_bytes()).await.unwrap();
            let sent = timeout(PATIENCE, async {
                while stream.write_all(&[b'y'; 1 << 16]).await.is_ok() {}
            });
            sent.await.expect("the server closes the connection");
        }
    });
    assert_eq!(errors, ["h1: message head is too large", "h1: request body too large or too slow"]);
}

#[test]
fn no_path_leads_out_of_the_archive() {
    survives("h2", async |server| {
        for path in ["/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/\\etc\\passwd"] {
            let mut stream = TcpStream::connect(place(server, false)).await.unwrap();
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut response = Vec::new();
            stream.read_to_end(&mut response).await.unwrap();
            assert!(response.starts_with(b"HTTP/1.1 40"), "{path}");
        }
    });
}

#[test]
fn requests_over_quic_that_are_taken_back_cost_little() {
    survives("h3", async |server| {
        let endpoint = quic_client();
        let connection = connect_quic(&endpoint, server).await;
        let taken_back = timeout(PATIENCE, async {
            for _ in 0..5000 {
                let Ok((mut send, mut receive)) = connection.open_bi().await else {
                    return;
                };
                if send.write_all(&quic_get("/large")).await.is_err() {
                    return;
                }
                let _ = send.reset(0x10c_u32.into());
                let _ = receive.stop(0x10c_u32.into());
            }
        });
        taken_back.await.expect("no stream hangs");
    });
}

#[test]
fn endless_frames_over_quic_end_the_connection() {
    // HEADERS, and a type that nobody knows (RFC 9114, section 7.2.8).
    for kind in [&[1][..], &[0x21], &[4]] {
        let errors = survives("h3", async |server| {
            let endpoint = quic_client();
            let connection = connect_quic(&endpoint, server).await;
            let (mut send, _receive) = connection.open_bi().await.unwrap();
            // Of 1 GB.
            send.write_all(&[kind, &[0x80 | 0x3f, 0xff, 0xff, 0xff]].concat()).await.unwrap();
            let sent =
                timeout(PATIENCE, async { while send.write_all(&[0; 1 << 16]).await.is_ok() {} });
            sent.await.expect("the server closes the connection");
        });
        let refused = format!("frame of type {:#x} with 1073741823 bytes", kind[0]);
        assert!(errors.iter().any(|error| error.ends_with(&refused)), "{errors:?}");
    }
}

#[test]
fn clients_over_quic_that_do_not_read_cost_little() {
    survives("h3", async |server| {
        let endpoint = quic_client();
        let mut kept = Vec::new();
        for _ in 0..10 {
            let connection = connect_quic(&endpoint, server).await;
            for _ in 0..50 {
                let (mut send, mut receive) = connection.open_bi().await.unwrap();
                send.write_all(&quic_get("/large")).await.unwrap();
                send.finish().unwrap();
                // The first bytes are there: it is answered.
                if kept.len() % 50 == 0 {
                    let mut byte = [0];
                    timeout(PATIENCE, receive.read_exact(&mut byte)).await.unwrap().unwrap();
                }
                kept.push((send, receive));
            }
        }
    });
}

//! How many requests a second an origin answers on loopback, with a thousand connections open.
//!
//! usage: load [--connections N] [--seconds S] [--json]
//!
//! The server runs in a process of its own, on half of the machine; the client needs the other half.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

#[path = "../tests/support/mod.rs"]
mod support;

use support::{HOST, client_config};

/// Of a response: a small script.
const BODY_BYTES: usize = 2000;
/// Of the connections, those that ask at a time: more only makes them wait for each other.
const ASKING: usize = 64;
/// Of these, each has so many requests under way on HTTP/2 and HTTP/3.
const AT_ONCE: usize = 4;

const PROTOCOLS: [(&str, &str, bool); 4] =
    [("h1", "h1", false), ("h1-tls", "h1", true), ("h2", "h2", true), ("h3", "h3", true)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--serve") {
        let config = loadpath_origin::Config::from_json(arguments[1].as_bytes()).unwrap();
        loadpath_origin::run(&config).unwrap();
        return;
    }
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map_or(default, |at| arguments[at + 1].parse().expect("a number"))
    };
    let connections = number("--connections", 1000) as usize;
    let seconds = number("--seconds", 5);
    let is_json = arguments.iter().any(|argument| argument == "--json");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut rows = Vec::new();
    for (name, http, tls) in PROTOCOLS {
        let row = runtime.block_on(measure(name, http, tls, connections, seconds));
        if !is_json {
            println!(
                "{name:<7} {:>5} connections {:>8.0} requests/s, median {:.2} ms, p99 {:.2} ms, \
                 server {:.0} MB",
                row["connections"],
                row["requests_per_s"].as_f64().unwrap(),
                row["p50_ms"].as_f64().unwrap(),
                row["p99_ms"].as_f64().unwrap(),
                row["server_mb"].as_f64().unwrap(),
            );
        }
        rows.push(row);
    }
    if is_json {
        println!("{}", Value::from(rows));
    }
}

/// A server in a process of its own.
struct Served {
    child: Child,
    clear: SocketAddr,
    tls: SocketAddr,
    _archive: support::Archive,
}

impl Served {
    fn start(http: &str) -> Served {
        let archive = support::Archive::new(&[("/", BODY_BYTES)]);
        let config = json!({
            "archive": archive.path(), "http": http, "tls": true, "address": "127.0.0.1",
            "control": true,
        });
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--serve", &config.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let at = |tls: bool| {
            let places = ready["hosts"].as_array().unwrap();
            let place = places.iter().find(|place| place["tls"] == tls).unwrap();
            let port = place["listens_on"].as_u64().unwrap() as u16;
            SocketAddr::from(([127, 0, 0, 1], port))
        };
        Served { clear: at(false), tls: at(true), child, _archive: archive }
    }

    fn memory_mb(&self) -> f64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let statm = std::fs::read_to_string(path).unwrap();
        let pages: f64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
        pages * 4096.0 / 1e6
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A connection that can ask.
enum Client {
    H1(Box<dyn Stream>),
    H2(h2::client::SendRequest<Bytes>),
    H3(h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>),
}

trait Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Stream for T {}

async fn measure(name: &str, http: &str, tls: bool, connections: usize, seconds: u64) -> Value {
    let served = Served::start(http);
    let endpoint = support::quic_client();
    let mut clients = Vec::new();
    for _ in 0..connections {
        let client = timeout(Duration::from_secs(10), connect(&served, http, tls, &endpoint));
        clients.push(client.await.expect("it is accepted in time"));
    }
    let ends = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    // Every connection is used: a task goes through its share of them.
    let share = connections.div_ceil(ASKING);
    while !clients.is_empty() {
        let mine = clients.split_off(clients.len().saturating_sub(share));
        let (ends, count) = (ends.clone(), count.clone());
        tasks.spawn(async move { ask(mine, &ends, &count).await });
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let elapsed = start.elapsed().as_secs_f64();
    let done = count.load(Ordering::Relaxed);
    let memory = served.memory_mb();
    ends.store(true, Ordering::Relaxed);
    let mut times_ms: Vec<f64> = tasks.join_all().await.into_iter().flatten().collect();
    times_ms.sort_by(f64::total_cmp);
    let at = |part: f64| times_ms[((times_ms.len() - 1) as f64 * part) as usize];
    std::io::stdout().flush().unwrap();
    json!({
        "protocol": name,
        "connections": connections,
        "requests_per_s": done as f64 / elapsed,
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
        "server_mb": memory,
    })
}

async fn connect(served: &Served, http: &str, tls: bool, endpoint: &quinn::Endpoint) -> Client {
    if http == "h3" {
        let connection = endpoint.connect(served.tls, HOST).unwrap().await.unwrap();
        let connection = h3_quinn::Connection::new(connection);
        let (mut driver, client) = h3::client::new(connection).await.unwrap();
        tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
        return Client::H3(client);
    }
    let stream = TcpStream::connect(if tls { served.tls } else { served.clear }).await.unwrap();
    stream.set_nodelay(true).unwrap();
    if !tls {
        return Client::H1(Box::new(stream));
    }
    let alpn: &[u8] = if http == "h2" { b"h2" } else { b"http/1.1" };
    let connector = tokio_rustls::TlsConnector::from(Arc::new(client_config(alpn)));
    let stream = connector.connect(HOST.try_into().unwrap(), stream).await.unwrap();
    if http == "h1" {
        return Client::H1(Box::new(stream));
    }
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    Client::H2(client)
}

/// Asks on one connection after the other until the end; what each request took, ms.
async fn ask(mut clients: Vec<Client>, ends: &AtomicBool, count: &AtomicU64) -> Vec<f64> {
    let mut times_ms = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        for client in &mut clients {
            let start = Instant::now();
            let answered = match client {
                Client::H1(stream) => h1(stream).await,
                Client::H2(client) => {
                    let requests: Vec<_> = (0..AT_ONCE).map(|_| h2(client.clone())).collect();
                    tasks(requests).await
                }
                Client::H3(client) => {
                    let requests: Vec<_> = (0..AT_ONCE).map(|_| h3(client.clone())).collect();
                    tasks(requests).await
                }
            };
            let took_ms = start.elapsed().as_secs_f64() * 1000.0;
            times_ms.push(took_ms);
            count.fetch_add(answered, Ordering::Relaxed);
            if ends.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    times_ms
}

async fn tasks(requests: Vec<impl Future<Output = ()> + Send + 'static>) -> u64 {
    let count = requests.len() as u64;
    requests.into_iter().collect::<JoinSet<_>>().join_all().await;
    count
}

async fn h1(stream: &mut Box<dyn Stream>) -> u64 {
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut buffer = Vec::with_capacity(4096);
    loop {
        stream.read_buf(&mut buffer).await.unwrap();
        let head = buffer.windows(4).position(|window| window == b"\r\n\r\n");
        if head.is_some_and(|head| buffer.len() == head + 4 + BODY_BYTES) {
            return 1;
        }
    }
}

fn request() -> http::Request<()> {
    http::Request::get(format!("https://{HOST}/")).body(()).unwrap()
}

async fn h2(client: h2::client::SendRequest<Bytes>) {
    let mut client = client.ready().await.unwrap();
    let (response, _) = client.send_request(request(), true).unwrap();
    let mut body = response.await.unwrap().into_body();
    let mut size = 0;
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        size += data.len();
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    assert_eq!(size, BODY_BYTES);
}

async fn h3(mut client: h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>) {
    let mut stream = client.send_request(request()).await.unwrap();
    stream.finish().await.unwrap();
    stream.recv_response().await.unwrap();
    let mut size = 0;
    while let Some(data) = stream.recv_data().await.unwrap() {
        size += data.remaining();
    }
    assert_eq!(size, BODY_BYTES);
}

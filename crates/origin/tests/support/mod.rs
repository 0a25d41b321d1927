//! A server with an archive that a test writes down, and clients for it.

#![allow(dead_code, reason = "each test uses a part")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use loadpath_origin::{Config, Server};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The host of every test's archive.
pub const HOST: &str = "page.example";

/// A file of an archive that goes with the test.
pub struct Archive(PathBuf);

impl Archive {
    /// Bodies of so many bytes by path.
    pub fn new(bodies: &[(&str, usize)]) -> Archive {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("loadpath-origin-{}-{number}.har", std::process::id());
        let path = std::env::temp_dir().join(name);
        let entries: Vec<Value> = bodies.iter().map(|&(path, size)| entry(path, size)).collect();
        std::fs::write(&path, json!({"log": {"entries": entries}}).to_string()).unwrap();
        Archive(path)
    }

    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// A server of it with further keys of its configuration. Call it in a runtime.
    pub fn serve(&self, http: &str, keys: Value) -> Server {
        let mut config = json!({
            "archive": self.0, "http": http, "tls": true, "address": "127.0.0.1",
        });
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        Server::start(&Config::from_json(config.to_string().as_bytes()).unwrap()).unwrap()
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn entry(path: &str, size: usize) -> Value {
    json!({
        "request": {"method": "GET", "url": format!("https://{HOST}{path}")},
        "response": {
            "status": 200,
            "headers": [{"name": "content-type", "value": "text/plain"}],
            "content": {"text": "x".repeat(size)},
        },
    })
}

/// Where the host listens, with TLS or without.
pub fn place(server: &Server, tls: bool) -> SocketAddr {
    let place = server.ready().hosts.iter().find(|place| place.tls == tls).unwrap();
    SocketAddr::from((place.address, place.listens_on))
}

/// A client's TLS for one protocol.
pub fn client_config(alpn: &[u8]) -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    config
}

/// A TLS connection.
pub async fn connect(server: &Server, alpn: &[u8]) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(place(server, true)).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let connector = TlsConnector::from(Arc::new(client_config(alpn)));
    let stream = connector.connect(ServerName::try_from(HOST).unwrap(), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn));
    stream
}

/// Bytes of a body over a new connection of HTTP/2.
pub async fn get_h2(server: &Server, path: &str) -> usize {
    let (mut client, connection) =
        h2::client::handshake(connect(server, b"h2").await).await.unwrap();
    let driver = tokio::spawn(connection);
    let request = http::Request::get(format!("https://{HOST}{path}")).body(()).unwrap();
    let (response, _) = client.send_request(request, true).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let mut size = 0;
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        size += data.len();
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    driver.abort();
    size
}

/// A QUIC endpoint for clients.
pub fn quic_client() -> quinn::Endpoint {
    quic_client_with(quinn::TransportConfig::default())
}

/// The same with a configuration.
pub fn quic_client_with(transport: quinn::TransportConfig) -> quinn::Endpoint {
    let tls = client_config(b"h3");
    let tls = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut config = quinn::ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    endpoint.set_default_client_config(config);
    endpoint
}

/// A QUIC connection.
pub async fn connect_quic(endpoint: &quinn::Endpoint, server: &Server) -> quinn::Connection {
    endpoint.connect(place(server, true), HOST).unwrap().await.unwrap()
}

/// Bytes of a body over a new connection of HTTP/3.
pub async fn get_h3(server: &Server, path: &str) -> usize {
    let endpoint = quic_client();
    let connection = connect_quic(&endpoint, server).await;
    let (mut driver, mut client) =
        h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
    let driver = tokio::spawn(async move {
        std::future::poll_fn(|cx| driver.poll_close(cx)).await;
    });
    let request = http::Request::get(format!("https://{HOST}{path}")).body(()).unwrap();
    let mut stream = client.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    let mut size = 0;
    while let Some(data) = stream.recv_data().await.unwrap() {
        size += bytes::Buf::remaining(&data);
    }
    driver.abort();
    size
}

/// A request of HTTP/3 for a path, as QPACK writes it without compression (RFC 9204, section 4.5).
pub fn quic_get(path: &str) -> Vec<u8> {
    // No dynamic table; :method GET, :scheme https of the static one; :authority and :path by name.
    let mut block = vec![0, 0, 0xc0 | 17, 0xc0 | 23];
    for (name, value) in [(0, HOST), (1, path)] {
        block.extend([0x50 | name, value.len() as u8]);
        block.extend(value.as_bytes());
    }
    [vec![1, block.len() as u8], block].concat()
}

/// A frame of HTTP/2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Bytes,
}

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const PRIORITY_UPDATE: u8 = 16;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const WITH_PRIORITY: u8 = 32;
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl Frame {
    pub fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Frame {
        Frame { kind, flags, stream, payload: Bytes::copy_from_slice(payload) }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = (self.payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// A GET of a path, without compression (RFC 7541, sections 6.1 and 6.2.2).
    pub fn get(stream: u32, path: &str, priority: Option<&str>) -> Frame {
        Frame::new(HEADERS, END_STREAM | END_HEADERS, stream, &get_block(path, priority))
    }
}

/// The header block of a GET.
pub fn get_block(path: &str, priority: Option<&str>) -> Vec<u8> {
    // :method GET and :scheme https of the static table.
    let mut block = vec![0x82, 0x87];
    let mut literal = |name: &[u8], value: &str| {
        block.extend(name);
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    };
    literal(&[0x01], HOST);
    literal(&[0x04], path);
    if let Some(priority) = priority {
        literal(&[&[0x00, 8][..], b"priority"].concat(), priority);
    }
    block
}

/// The frames that a stream gives until it ends or `enough`.
pub async fn read_frames(
    stream: &mut (impl tokio::io::AsyncRead + Unpin),
    mut enough: impl FnMut(&[Frame]) -> bool,
) -> Vec<Frame> {
    use tokio::io::AsyncReadExt;
    let mut frames = Vec::new();
    while !enough(&frames) {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            break;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).await.is_err() {
            break;
        }
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        frames.push(Frame {
            kind: head[3],
            flags: head[4],
            stream: number & 0x7fff_ffff,
            payload: payload.into(),
        });
    }
    frames
}

/// Resident memory of this process, MB.
pub fn resident_mb() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096.0 / 1e6
}

/// Takes any certificate.
#[derive(Debug)]
struct Anyone;

impl rustls::client::danger::ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

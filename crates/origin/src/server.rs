//! Listening, accepting, and what all connections share.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::request::Parts;
use serde::Serialize;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::archive::{Answer, Archive, Summary};
use crate::config::{Config, Http, Priorities, ServerModel};
use crate::error::Error;
use crate::report::{Asked, Counters, Report};
use crate::tls::Certificates;
use crate::{h1, h2, h3};

/// A ClientHello and the preface of HTTP/2 come within a round trip.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(30);
/// A connection without requests; Chromium keeps them for 5 minutes, nginx for 75 s.
pub(crate) const IDLE: Duration = Duration::from_secs(120);
/// A client that reads nothing of what it asked for.
pub(crate) const STALLED: Duration = Duration::from_secs(60);
/// Of a request, decoded (RFC 9113, section 10.5.1).
pub(crate) const MAX_HEADER_BYTES: u32 = 64 << 10;
/// Of a request; it is read and thrown away.
pub(crate) const MAX_REQUEST_BODY_BYTES: usize = 64 << 20;

/// A browser has up to 256; a load test thousands.
const MAX_CONNECTIONS: usize = 4096;
/// Waiting to be accepted.
const BACKLOG: u32 = 4096;

/// What the kernel keeps of what was not sent yet: order is decided as late as that
/// (tcp(7), TCP_NOTSENT_LOWAT).
pub(crate) const NOT_SENT_BYTES: u32 = 16 << 10;

/// What connections share.
pub(crate) struct Shared {
    archive: Archive,
    pub counters: Counters,
    pub model: ServerModel,
    pub priorities: Priorities,
    connections: AtomicUsize,
}

impl Shared {
    /// Answers a request, and counts it.
    pub fn answer(
        &self,
        head: &Parts,
        protocol: &'static str,
        connection: u64,
        is_tls: bool,
    ) -> Answer {
        let named = head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        let authority = head.uri.authority().map(|authority| authority.as_str()).or(named);
        let authority = authority.unwrap_or("");
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let answer = self.archive.answer(&head.method, is_tls, authority, target, &head.headers);
        let scheme = if is_tls { "https" } else { "http" };
        let asked = Asked {
            protocol,
            connection,
            method: head.method.as_str(),
            url: &format!("{scheme}://{authority}{target}"),
            priority: head.headers.get("priority").and_then(|field| field.to_str().ok()),
        };
        self.counters.request(&asked, &answer);
        answer
    }
}

/// What is printed when the server is ready.
#[derive(Serialize)]
pub struct Ready {
    /// The page.
    pub url: String,
    /// SHA-256 of a public key in every chain, base64.
    pub spki: String,
    /// Where the archive's hosts are.
    pub hosts: Vec<Place>,
    /// The archive.
    pub archive: Summary,
}

/// Where a host is.
#[derive(Serialize)]
pub struct Place {
    /// Its name.
    pub host: String,
    /// The port in URLs.
    pub port: u16,
    /// Whether it speaks TLS there.
    pub tls: bool,
    /// The address to connect to.
    pub address: Ipv4Addr,
    /// And its port.
    pub listens_on: u16,
}

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    ready: Ready,
    tasks: tokio::task::JoinSet<()>,
}

impl Server {
    /// Starts to listen. Call it in a runtime.
    pub fn start(config: &Config) -> Result<Server, Error> {
        let archive = Archive::open(config)?;
        let mut addresses: BTreeMap<String, Ipv4Addr> = BTreeMap::new();
        for host in &archive.hosts {
            let next = if config.address_per_host { addresses.len() as u32 } else { 0 };
            addresses
                .entry(host.name.clone())
                .or_insert_with(|| Ipv4Addr::from_bits(config.address.to_bits() + next));
        }
        let names = addresses.keys().map(String::as_str);
        let certificates = Arc::new(Certificates::new(names, config.certificate_bytes)?);
        let shared = Arc::new(Shared {
            counters: Counters::new(config.log.as_deref())?,
            model: config.server_model,
            priorities: config.priorities,
            connections: AtomicUsize::new(0),
            archive,
        });
        let mut tasks = tokio::task::JoinSet::new();
        let mut ports: BTreeMap<Ipv4Addr, (u16, u16)> = BTreeMap::new();
        for &address in addresses.values() {
            if ports.contains_key(&address) {
                continue;
            }
            let fail = |error: io::Error| {
                Error::new(
                    format!("cannot listen on {address}: {error}"),
                    "loopback addresses, or those of a link's own namespace",
                )
            };
            let (clear, clear_port) = listen(address).map_err(fail)?;
            tasks.spawn(accept_clear(clear, shared.clone()));
            let tls_port = match config.http {
                Http::H1 | Http::H2 => {
                    let (tls, port) = listen(address).map_err(fail)?;
                    let alpn: &[u8] = if config.http == Http::H2 { b"h2" } else { b"http/1.1" };
                    let acceptor = Arc::new(certificates.server_config(&[alpn]));
                    let http = config.http;
                    tasks.spawn(accept_tls(tls, acceptor.into(), http, shared.clone()));
                    port
                }
                Http::H3 => {
                    let config = h3::config(certificates.server_config(&[b"h3"]));
                    let at = SocketAddr::from((address, 0));
                    let endpoint = quinn::Endpoint::server(config, at).map_err(fail)?;
                    let port = endpoint.local_addr().map_err(fail)?.port();
                    tasks.spawn(h3::accept(endpoint, shared.clone()));
                    port
                }
            };
            ports.insert(address, (clear_port, tls_port));
        }
        let places = shared.archive.hosts.iter().map(|host| {
            let address = addresses[&host.name];
            let (clear, tls) = ports[&address];
            Place {
                host: host.name.clone(),
                port: host.port,
                tls: host.is_tls,
                address,
                listens_on: if host.is_tls { tls } else { clear },
            }
        });
        let ready = Ready {
            url: shared.archive.url.clone(),
            spki: certificates.spki.clone(),
            hosts: places.collect(),
            archive: shared.archive.summary.clone(),
        };
        Ok(Server { shared, ready, tasks })
    }

    /// Where what is served.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        self.shared.counters.report(&self.shared.archive.summary)
    }

    /// Stops listening; connections end with the runtime.
    pub fn stop(&mut self) {
        self.tasks.abort_all();
    }
}

fn listen(address: Ipv4Addr) -> io::Result<(TcpListener, u16)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((address, 0)))?;
    // Accepted sockets inherit it.
    #[cfg(target_os = "linux")]
    SockRef::from(&socket).set_tcp_notsent_lowat(NOT_SENT_BYTES)?;
    SockRef::from(&socket).set_tcp_nodelay(true)?;
    let listener = socket.listen(BACKLOG)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Counts a connection as long as it lives.
pub(crate) struct Counted(Arc<Shared>);

impl Counted {
    pub fn new(shared: &Arc<Shared>) -> Option<Counted> {
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            shared.counters.error("more connections than are allowed");
            return None;
        }
        Some(Counted(shared.clone()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) -> (TcpStream, Counted) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Some(counted) = Counted::new(shared) {
                    return (stream, counted);
                }
            }
            Err(error) => {
                shared.counters.error(format!("accept: {error}"));
                // Without descriptors it would fail at once again.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn accept_clear(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (stream, counted) = accept(&listener, &shared).await;
        let shared = shared.clone();
        tokio::spawn(async move {
            h1::serve(stream, shared, false).await;
            drop(counted);
        });
    }
}

async fn accept_tls(listener: TcpListener, acceptor: TlsAcceptor, http: Http, shared: Arc<Shared>) {
    loop {
        let (stream, counted) = accept(&listener, &shared).await;
        let (shared, acceptor) = (shared.clone(), acceptor.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) if http == Http::H2 => h2::serve(stream, shared).await,
                Ok(Ok(stream)) => h1::serve(stream, shared, true).await,
                Ok(Err(error)) => shared.counters.error(format!("TLS: {error}")),
                Err(_) => shared.counters.error("TLS: no handshake in time"),
            }
            drop(counted);
        });
    }
}

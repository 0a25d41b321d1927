//! What is served: the archive's responses as they go on the wire, found by request.
//!
//! Requests are matched as Mahimahi (Netravali et al., USENIX ATC 2015, section 3) and Web Page Replay
//! match them: the same method, host, path and query, else the recorded query that is closest, else
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use crate::coding::{self, Coding};
use crate::config::{Config, Delays, MAX_DELAY_MS};
use crate::error::Error;
use crate::freeze::freeze;
use crate::har::{self, Exchange};

/// Bodies without coding, all together: a page has megabytes.
const MAX_BODIES_BYTES: usize = 2 << 30;

/// A name of a server, as in URLs; with its port if that is not the scheme's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Host {
    pub name: String,
    pub port: u16,
    pub is_tls: bool,
}

/// A response that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Recorded {
    url: String,
    is_tls: bool,
    query: String,
    range: Option<String>,
    pub status: StatusCode,
    headers: HeaderMap,
    identity: Bytes,
    coded: Option<(Coding, Bytes)>,
    etag: Option<HeaderValue>,
    pub delay: Duration,
    /// Place in the scenario's order; `u32::MAX` if it has none.
    pub rank: u32,
}

/// An answer to a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// What the server takes to make it.
    pub delay: Duration,
    pub rank: u32,
    pub found: Found,
}

/// How a request was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Exact,
    /// By host and path, with another query.
    Closest,
    /// It failed when it was recorded, too.
    FailedThen,
    Missing,
}

impl Found {
    pub fn name(self) -> &'static str {
        match self {
            Found::Exact => "exact",
            Found::Closest => "closest",
            Found::FailedThen => "failed-then",
            Found::Missing => "missing",
        }
    }
}

/// A page's responses.
#[derive(Debug)]
pub(crate) struct Archive {
    /// By method, authority and path.
    responses: BTreeMap<(String, String, String), Vec<Recorded>>,
    /// Requests without a response, by method, authority, path.
    failed: BTreeSet<(String, String, String)>,
    pub hosts: BTreeSet<Host>,
    /// Of the page.
    pub url: String,
    pub summary: Summary,
    /// When dates were shifted to.
    loaded: SystemTime,
}

/// What became of the bodies.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// Responses that can be served.
    pub responses: usize,
    /// Of those whose size on the wire is known: what was recorded.
    pub recorded_bytes: u64,
    /// And what is sent to a client that takes every coding.
    pub sent_bytes: u64,
    /// Responses whose body was not recorded; zeros of its size are sent.
    pub bodies_missing: Vec<String>,
}

impl Archive {
    /// Reads the archive that a configuration names.
    pub fn open(config: &Config) -> Result<Archive, Error> {
        let exchanges = har::read(&config.archive)?;
        let first = exchanges.iter().find(|exchange| exchange.status != 0).ok_or_else(|| {
            Error::new(
                format!("{}: no response in it", config.archive.display()),
                "every request of it failed; record it again",
            )
        })?;
        let mut page = first.url.clone();
        let wanted = if config.tls { "https" } else { "http" };
        page.set_scheme(wanted).expect("both are schemes of the web");
        let is_clear = !config.tls;
        let round_trips = round_trips(&exchanges);
        let ranks: BTreeMap<&str, u32> = config
            .order
            .iter()
            .enumerate()
            .rev()
            .map(|(rank, url)| (url.as_str(), rank as u32))
            .collect();
        let mut archive = Archive {
            responses: BTreeMap::new(),
            failed: BTreeSet::new(),
            hosts: BTreeSet::new(),
            url: page.to_string(),
            summary: Summary::default(),
            loaded: SystemTime::now(),
        };
        let mut bytes = 0;
        for exchange in exchanges {
            bytes += exchange.body.as_ref().map_or(0, Bytes::len);
            if bytes > MAX_BODIES_BYTES {
                return Err(Error::new(
                    format!("{}: bodies of more than 2 GiB", config.archive.display()),
                    "an archive of one page",
                ));
            }
            let key = key(&exchange.method, &authority(&exchange.url), exchange.url.path());
            if exchange.status == 0 {
                archive.failed.insert(key);
                continue;
            }
            archive.add_host(&exchange, &page);
            let delay = delay(&exchange, &config.delays, &round_trips);
            let rank = ranks.get(exchange.url.as_str()).copied().unwrap_or(u32::MAX);
            let recorded = prepare(
                exchange,
                is_clear,
                config.freeze,
                archive.loaded,
                delay,
                rank,
                &mut archive.summary,
            );
            archive.responses.entry(key).or_default().push(recorded);
        }
        archive.summary.responses = archive.responses.values().map(Vec::len).sum();
        Ok(archive)
    }

    fn add_host(&mut self, exchange: &Exchange, page: &url::Url) {
        let name = exchange.url.host_str().expect("checked when read").to_owned();
        let mut add = |is_tls: bool, port| {
            self.hosts.insert(Host { name: name.clone(), port, is_tls });
        };
        let is_tls = exchange.url.scheme() == "https";
        add(is_tls, exchange.url.port_or_known_default().expect("HTTP has ports"));
        // The page may be asked for by the other scheme, and what it loads relatively then is, too.
        if exchange.url.port().is_none() {
            add(!is_tls, if is_tls { 80 } else { 443 });
        } else if exchange.url.scheme() != page.scheme() {
            let port = exchange.url.port().expect("just seen");
            self.hosts.remove(&Host { name: name.clone(), port, is_tls });
            self.hosts.insert(Host { name, port, is_tls: !is_tls });
        }
    }

    /// The answer to a request for `path_and_query` at `authority`.
    pub fn answer(
        &self,
        method: &Method,
        is_tls: bool,
        authority: &str,
        path_and_query: &str,
        headers: &HeaderMap,
    ) -> Answer {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let authority = strip_default_port(authority);
        let lookup = |method: &str| {
            let key = key(method, &authority, path);
            self.responses
                .get(&key)
                .and_then(|candidates| choose(candidates, is_tls, query, headers))
        };
        let is_head = method == Method::HEAD;
        let found = lookup(method.as_str()).or_else(|| is_head.then(|| lookup("GET")).flatten());
        match found {
            Some((recorded, found)) => recorded.answer(headers, is_head, found, self.loaded),
            None => {
                let key = key(method.as_str(), &authority, path);
                missing(if self.failed.contains(&key) { Found::FailedThen } else { Found::Missing })
            }
        }
    }
}

fn key(method: &str, authority: &str, path: &str) -> (String, String, String) {
    (method.to_owned(), authority.to_owned(), path.to_owned())
}

fn authority(url: &url::Url) -> String {
    let host = url.host_str().expect("checked when read");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn strip_default_port(authority: &str) -> String {
    let lower = authority.to_ascii_lowercase();
    let stripped = lower.strip_suffix(":443").or_else(|| lower.strip_suffix(":80"));
    stripped.map(str::to_owned).unwrap_or(lower)
}

fn missing(found: Found) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Answer {
        status: StatusCode::NOT_FOUND,
        headers,
        body: Bytes::from_static(b"not in the archive\n"),
        delay: Duration::ZERO,
        rank: u32::MAX,
        found,
    }
}

/// The candidate whose query is the request's, else the closest; among equals the one of the request's
/// scheme and range, then one that is an answer of its own, then the first.
fn choose<'a>(
    candidates: &'a [Recorded],
    is_tls: bool,
    query: &str,
    headers: &HeaderMap,
) -> Option<(&'a Recorded, Found)> {
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let best = candidates.iter().enumerate().max_by_key(|(index, candidate)| {
        (
            candidate.query == query,
            closeness(&candidate.query, query),
            candidate.range.as_deref() == range,
            candidate.is_tls == is_tls,
            candidate.status != StatusCode::NOT_MODIFIED && !candidate.leads_to_itself(),
            std::cmp::Reverse(*index),
        )
    })?;
    let found = if best.1.query == query { Found::Exact } else { Found::Closest };
    Some((best.1, found))
}

/// How alike two queries are: parameters with the same value, parameters of the same name, common
/// prefix.
fn closeness(one: &str, other: &str) -> (usize, usize, usize) {
    let split = |query: &str| -> Vec<(String, String)> {
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    };
    let (one_pairs, other_pairs) = (split(one), split(other));
    let same = one_pairs.iter().filter(|pair| other_pairs.contains(pair)).count();
    let named = |name: &String| other_pairs.iter().any(|(other, _)| other == name);
    let same_name = one_pairs.iter().filter(|(name, _)| named(name)).count();
    let prefix = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    (same, same_name, prefix)
}

impl Recorded {
    /// A redirect that sets a cookie and comes back would come back for ever.
    fn leads_to_itself(&self) -> bool {
        self.status.is_redirection()
            && self.headers.get(header::LOCATION).and_then(|l| l.to_str().ok()) == Some(&self.url)
    }

    fn answer(
        &self,
        request: &HeaderMap,
        is_head: bool,
        found: Found,
        loaded: SystemTime,
    ) -> Answer {
        let mut headers = self.headers.clone();
        let now = SystemTime::now();
        let since = now.duration_since(loaded).unwrap_or_default();
        shift_dates(&mut headers, &[header::DATE, header::EXPIRES], since);
        let text = |name| request.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN)
            && headers[header::ACCESS_CONTROL_ALLOW_ORIGIN] != "*"
        {
            // The page may be loaded by another scheme than it was recorded by.
            if let Some(origin) = request.get(header::ORIGIN) {
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            }
        }
        let has_same = |tags: &str| {
            self.etag
                .as_ref()
                .and_then(|tag| tag.to_str().ok())
                .is_some_and(|tag| tags.split(',').any(|other| weak(other.trim()) == weak(tag)))
        };
        if self.status == StatusCode::OK && text(header::IF_NONE_MATCH).is_some_and(has_same) {
            headers.remove(header::CONTENT_TYPE);
            return Answer {
                status: StatusCode::NOT_MODIFIED,
                headers,
                body: Bytes::new(),
                delay: self.delay,
                rank: self.rank,
                found,
            };
        }
        let accepted = text(header::ACCEPT_ENCODING).unwrap_or("");
        let body = match &self.coded {
            Some((coding, body)) if coding::accepts(accepted, *coding) => {
                let name = HeaderValue::from_static(coding.name());
                headers.insert(header::CONTENT_ENCODING, name);
                body.clone()
            }
            _ => self.identity.clone(),
        };
        if !bodiless(self.status) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let body = if is_head || bodiless(self.status) { Bytes::new() } else { body };
        Answer { status: self.status, headers, body, delay: self.delay, rank: self.rank, found }
    }
}

/// RFC 9110, section 13.1.2: compared weakly.
fn weak(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

fn bodiless(status: StatusCode) -> bool {
    status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
}

/// Headers that belong to a connection (RFC 9110, section 7.6.1), that this server makes itself, or
/// that make a browser ask for what is not in the archive.
fn is_dropped(name: &HeaderName) -> bool {
    const DROPPED: [&str; 17] = [
        "alt-svc",
        "connection",
        "content-encoding",
        "content-length",
        "keep-alive",
        "nel",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "report-to",
        "reporting-endpoints",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-firefox-spdy",
        "use-as-dictionary",
    ];
    DROPPED.contains(&name.as_str())
}

/// The least time between sending and hearing, by authority, ms: of handshakes where there were any,
/// else of requests.
fn round_trips(exchanges: &[Exchange]) -> BTreeMap<String, f64> {
    let mut handshakes: BTreeMap<String, f64> = BTreeMap::new();
    let mut waits: BTreeMap<String, f64> = BTreeMap::new();
    let least = |map: &mut BTreeMap<String, f64>, exchange: &Exchange, ms: f64| {
        let entry = map.entry(authority(&exchange.url)).or_insert(ms);
        *entry = entry.min(ms);
    };
    for exchange in exchanges {
        // `connect` has `ssl` in it (HAR 1.2, timings).
        let tcp_ms = exchange.connect_ms - exchange.ssl_ms.max(0.0);
        if exchange.connect_ms >= 0.0 && tcp_ms > 0.0 {
            least(&mut handshakes, exchange, tcp_ms);
        }
        if exchange.wait_ms >= 0.0 {
            least(&mut waits, exchange, exchange.wait_ms);
        }
    }
    waits.extend(handshakes);
    waits
}

fn delay(exchange: &Exchange, delays: &Delays, round_trips: &BTreeMap<String, f64>) -> Duration {
    let ms = match delays {
        Delays::None => 0.0,
        Delays::Recorded => {
            let round_trip = round_trips.get(&authority(&exchange.url)).copied().unwrap_or(0.0);
            (exchange.wait_ms - round_trip).clamp(0.0, MAX_DELAY_MS)
        }
        Delays::Given(given) => given.get(exchange.url.as_str()).copied().unwrap_or(0.0),
    };
    Duration::from_secs_f64(ms / 1000.0)
}

fn prepare(
    exchange: Exchange,
    is_clear: bool,
    with_freeze: bool,
    now: SystemTime,
    delay: Duration,
    rank: u32,
    summary: &mut Summary,
) -> Recorded {
    let mut headers = HeaderMap::new();
    let mut coding = None;
    for (name, value) in &exchange.headers {
        let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
        else {
            // Pseudo-headers of HTTP/2, and what no header can be.
            continue;
        };
        if name == header::CONTENT_ENCODING {
            coding = value.to_str().ok().and_then(|value| Coding::of(value, is_clear));
        }
        if !is_dropped(&name) {
            headers.append(name, value);
        }
    }
    let status = StatusCode::from_u16(exchange.status).expect("checked when read");
    let (mut identity, is_recorded) = match exchange.body {
        Some(body) => (body, true),
        None => {
            let size =
                if exchange.wire_bytes > 0 { exchange.wire_bytes } else { exchange.decoded_bytes };
            let size = (size.max(0) as usize).min(MAX_INVENTED_BYTES);
            (Bytes::from(vec![0; size]), size == 0 || bodiless(status))
        }
    };
    if !is_recorded {
        coding = None;
        summary.bodies_missing.push(exchange.url.to_string());
    } else if exchange.is_text && !identity.is_ascii() {
        declare_utf8(&mut headers);
    }
    let is_html = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"text/html"));
    if with_freeze && is_html && is_recorded && !identity.is_empty() {
        identity = Bytes::from(freeze(&identity));
        // It would forbid the script.
        headers.remove(header::CONTENT_SECURITY_POLICY);
    }
    let coded = coding
        .filter(|_| !identity.is_empty())
        .map(|coding| (coding, coding::encode(coding, &identity, exchange.wire_bytes)));
    if exchange.wire_bytes > 0 && is_recorded {
        let sent = coded.as_ref().map_or(identity.len(), |(_, body)| body.len());
        summary.recorded_bytes += exchange.wire_bytes as u64;
        summary.sent_bytes += sent as u64;
    }
    rebase_dates(&mut headers, now);
    Recorded {
        is_tls: exchange.url.scheme() == "https",
        query: exchange.url.query().unwrap_or("").to_owned(),
        url: exchange.url.into(),
        range: exchange.range,
        status,
        etag: headers.get(header::ETAG).cloned(),
        headers,
        identity,
        coded,
        delay,
        rank,
    }
}

/// Of zeros in place of a body that was not recorded.
const MAX_INVENTED_BYTES: usize = 64 << 20;

/// DevTools gives texts in Unicode, whatever they came in.
fn declare_utf8(headers: &mut HeaderMap) {
    let Some(kind) = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return;
    };
    let kept = kind
        .split(';')
        .filter(|part| !part.trim_start().to_ascii_lowercase().starts_with("charset="));
    let kind = format!("{}; charset=utf-8", kept.collect::<Vec<_>>().join(";").trim_end());
    if let Ok(kind) = HeaderValue::try_from(kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// Moves dates to `now` with their distances, so that what was fresh then is fresh now.
fn rebase_dates(headers: &mut HeaderMap, now: SystemTime) {
    let Some(then) = date(headers, &header::DATE) else {
        return;
    };
    if let Ok(by) = now.duration_since(then) {
        shift_dates(headers, &[header::DATE, header::EXPIRES, header::LAST_MODIFIED], by);
    }
}

fn shift_dates(headers: &mut HeaderMap, names: &[HeaderName], by: Duration) {
    if by < Duration::from_secs(1) {
        return;
    }
    for name in names {
        // An archive may have dates at the end of time.
        if let Some(time) = date(headers, name).and_then(|time| time.checked_add(by)) {
            if time < SystemTime::UNIX_EPOCH + LAST_DATE {
                let text = httpdate::fmt_http_date(time);
                let value = HeaderValue::try_from(text).expect("a date is a header value");
                headers.insert(name, value);
            }
        }
    }
}

/// The year 9999, where HTTP's dates end.
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

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
use crate::config::Config;
use crate::error::Error;
use crate::har::{self, Exchange};
use crate::prepare::Preparation;

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
    pub url: String,
    pub is_tls: bool,
    pub query: String,
    pub range: Option<String>,
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body without coding, and with one.
    pub identity: Bytes,
    pub coded: Option<(Coding, Bytes)>,
    pub etag: Option<HeaderValue>,
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
        let now = SystemTime::now();
        let mut preparation = Preparation::new(config, &exchanges, now);
        let mut archive = Archive {
            responses: BTreeMap::new(),
            failed: BTreeSet::new(),
            hosts: BTreeSet::new(),
            url: page.to_string(),
            summary: Summary::default(),
            loaded: now,
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
            let recorded = preparation.prepare(exchange);
            archive.responses.entry(key).or_default().push(recorded);
        }
        archive.summary = preparation.summary;
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

/// Host and port as clients name them.
pub(crate) fn authority(url: &url::Url) -> String {
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
        if !is_bodiless(self.status) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let body = if is_head || is_bodiless(self.status) { Bytes::new() } else { body };
        Answer { status: self.status, headers, body, delay: self.delay, rank: self.rank, found }
    }
}

/// RFC 9110, section 13.1.2: compared weakly.
fn weak(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

pub(crate) fn is_bodiless(status: StatusCode) -> bool {
    status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
}

pub(crate) fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// Moves these dates into the future.
pub(crate) fn shift_dates(headers: &mut HeaderMap, names: &[HeaderName], by: Duration) {
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

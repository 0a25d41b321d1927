//! What a server did.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use tokio::time::Instant;

use crate::archive::{Answer, Found, Summary};
use crate::error::Error;

/// A page that invents URLs must not fill the memory.
const MAX_MISSES: usize = 1000;
/// Of a URL, in the report.
const MAX_URL_BYTES: usize = 2048;

/// Counters that connections add to.
pub(crate) struct Counters {
    start: Instant,
    requests: AtomicU64,
    body_bytes: AtomicU64,
    connections: Mutex<BTreeMap<&'static str, u64>>,
    errors: Mutex<BTreeMap<String, u64>>,
    misses: Mutex<BTreeMap<(String, String), (Found, u64)>>,
    log: Option<Mutex<BufWriter<File>>>,
}

/// A report, as it is printed.
#[derive(Serialize)]
pub struct Report {
    /// Requests that were answered.
    pub requests: u64,
    /// Bytes of bodies that were answered with.
    pub body_bytes: u64,
    /// Requests that were not in the archive, or were only by host and path.
    pub misses: Vec<Miss>,
    /// Connections by protocol.
    pub connections: BTreeMap<&'static str, u64>,
    /// Connections and requests that failed, by what failed.
    pub errors: BTreeMap<String, u64>,
    /// The archive.
    pub archive: Summary,
}

/// A request that was not in the archive as it was made.
#[derive(Serialize)]
pub struct Miss {
    /// Its method.
    pub method: String,
    /// Its URL.
    pub url: String,
    /// `missing`: answered with 404; `closest`: answered with the recording of another query;
    /// `failed-then`: failed when it was recorded, too.
    pub found: &'static str,
    /// How often it was made.
    pub count: u64,
}

/// A request, for the log.
pub(crate) struct Asked<'a> {
    pub protocol: &'static str,
    pub connection: u64,
    pub method: &'a str,
    pub url: &'a str,
    pub priority: Option<&'a str>,
}

#[derive(Serialize)]
struct Line<'a> {
    time_ms: f64,
    protocol: &'a str,
    connection: u64,
    method: &'a str,
    url: &'a str,
    priority: Option<&'a str>,
    status: u16,
    found: &'a str,
    bytes: usize,
    delay_ms: f64,
}

impl Counters {
    pub fn new(log: Option<&Path>) -> Result<Counters, Error> {
        let open = |path: &Path| {
            File::create(path).map_err(|error| {
                Error::new(format!("{}: {error}", path.display()), "a file that can be written")
            })
        };
        Ok(Counters {
            start: Instant::now(),
            requests: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            connections: Mutex::default(),
            errors: Mutex::default(),
            misses: Mutex::default(),
            log: log.map(open).transpose()?.map(|file| Mutex::new(BufWriter::new(file))),
        })
    }

    /// A connection; its number.
    pub fn connection(&self, protocol: &'static str) -> u64 {
        let mut connections = self.connections.lock().expect("no panics");
        *connections.entry(protocol).or_default() += 1;
        connections.values().sum()
    }

    pub fn error(&self, what: impl Into<String>) {
        let mut errors = self.errors.lock().expect("no panics");
        let mut what = what.into();
        if errors.len() >= MAX_MISSES && !errors.contains_key(&what) {
            what = "others".into();
        }
        *errors.entry(what).or_default() += 1;
    }

    pub fn request(&self, asked: &Asked<'_>, answer: &Answer) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.body_bytes.fetch_add(answer.body.len() as u64, Ordering::Relaxed);
        if answer.found != Found::Exact {
            let url = cut(asked.url);
            let mut misses = self.misses.lock().expect("no panics");
            let full = misses.len() >= MAX_MISSES;
            let key = (cut(asked.method), url);
            if full && !misses.contains_key(&key) {
                misses.entry((String::new(), "others".into())).or_insert((answer.found, 0)).1 += 1;
            } else {
                misses.entry(key).or_insert((answer.found, 0)).1 += 1;
            }
        }
        let Some(log) = &self.log else {
            return;
        };
        let line = Line {
            time_ms: self.start.elapsed().as_secs_f64() * 1000.0,
            protocol: asked.protocol,
            connection: asked.connection,
            method: asked.method,
            url: asked.url,
            priority: asked.priority,
            status: answer.status.as_u16(),
            found: answer.found.name(),
            bytes: answer.body.len(),
            delay_ms: answer.delay.as_secs_f64() * 1000.0,
        };
        let mut json = serde_json::to_vec(&line).expect("plain data serialises");
        json.push(b'\n');
        if log.lock().expect("no panics").write_all(&json).is_err() {
            self.error("the log cannot be written");
        }
    }

    /// What was counted so far; the log is on disk up to here.
    pub fn report(&self, archive: &Summary) -> Report {
        if let Some(log) = &self.log {
            if log.lock().expect("no panics").flush().is_err() {
                self.error("the log cannot be written");
            }
        }
        let misses = self.misses.lock().expect("no panics");
        Report {
            requests: self.requests.load(Ordering::Relaxed),
            body_bytes: self.body_bytes.load(Ordering::Relaxed),
            misses: misses
                .iter()
                .map(|((method, url), &(found, count))| Miss {
                    method: method.clone(),
                    url: url.clone(),
                    found: found.name(),
                    count,
                })
                .collect(),
            connections: self.connections.lock().expect("no panics").clone(),
            errors: self.errors.lock().expect("no panics").clone(),
            archive: archive.clone(),
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_URL_BYTES).collect()
}

//! Reading HAR 1.2 (<http://www.softwareishard.com/blog/har-12-spec/>): what a replay needs of it,
//! with limits, for archives come from anywhere.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use url::Url;

use crate::error::Error;

/// Larger archives are refused: they are held in memory, partly twice.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Pages have hundreds of requests, rarely thousands.
const MAX_ENTRIES: usize = 100_000;
/// Headers above this are refused by browsers (Chromium: 256 kB).
const MAX_HEADER_BYTES: usize = 256 << 10;

/// A recorded exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub method: String,
    pub url: Url,
    /// The request's `Range`.
    pub range: Option<String>,
    /// 0 if it failed.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// As the browser saw it, without content coding; `None` if it was not recorded.
    pub body: Option<Bytes>,
    /// DevTools decoded the body from the document's character encoding.
    pub is_text: bool,
    /// Bytes of the body without content coding; negative if unknown.
    pub decoded_bytes: i64,
    /// Bytes of the body on the wire; negative if unknown.
    pub wire_bytes: i64,
    /// Phases in ms; negative if they do not apply.
    pub connect_ms: f64,
    pub ssl_ms: f64,
    pub wait_ms: f64,
}

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Response,
    #[serde(default)]
    timings: Timings,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Header>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: i64,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    content: Content,
    #[serde(default = "unknown", rename = "bodySize")]
    body_size: f64,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(default)]
    size: f64,
    text: Option<String>,
    encoding: Option<String>,
}

#[derive(Default, Deserialize)]
struct Timings {
    connect: Option<f64>,
    ssl: Option<f64>,
    wait: Option<f64>,
}

fn unknown() -> f64 {
    -1.0
}

/// The exchanges of a HAR file in its order. Those that are not HTTP (`data:`, `blob:`) are left out.
pub(crate) fn read(path: &Path) -> Result<Vec<Exchange>, Error> {
    let hint = "a HAR file with bodies, or a folder that `loadpath profile` made";
    let fail = |problem: String| Error::new(format!("{}: {problem}", path.display()), hint);
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(format!("larger than {} MiB", MAX_FILE_BYTES >> 20)));
    }
    // Some tools put a byte order mark before it.
    let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let har: Har =
        serde_json::from_slice(json).map_err(|error| fail(format!("not an archive: {error}")))?;
    if har.log.entries.len() > MAX_ENTRIES {
        return Err(fail(format!("more than {MAX_ENTRIES} entries")));
    }
    let mut exchanges = Vec::new();
    for (index, entry) in har.log.entries.into_iter().enumerate() {
        let at = |problem: String| fail(format!("log.entries[{index}]: {problem}"));
        exchanges.extend(exchange(entry).map_err(at)?);
    }
    if exchanges.is_empty() {
        return Err(fail("no HTTP exchange in it".into()));
    }
    Ok(exchanges)
}

fn exchange(entry: Entry) -> Result<Option<Exchange>, String> {
    let Entry { request, response, timings } = entry;
    let mut url = Url::parse(&request.url).map_err(|error| format!("request.url: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Ok(None);
    }
    url.set_fragment(None);
    let status = match response.status {
        // Negative and 0 are how tools write failures.
        ..=0 => 0,
        status @ 100..=599 => status as u16,
        other => return Err(format!("response.status = {other}: expected 100 to 599")),
    };
    let size: usize = response.headers.iter().map(|h| h.name.len() + h.value.len()).sum();
    if size > MAX_HEADER_BYTES {
        return Err(format!("response.headers: larger than {MAX_HEADER_BYTES} bytes"));
    }
    let Content { size, text, encoding } = response.content;
    let is_text = encoding.as_deref() != Some("base64");
    let body = match text {
        Some(text) if is_text => Some(Bytes::from(text)),
        Some(text) => Some(Bytes::from(
            BASE64_STANDARD
                .decode(text)
                .map_err(|error| format!("response.content.text: {error}"))?,
        )),
        None => None,
    };
    let range = request.headers.into_iter().find(|h| h.name.eq_ignore_ascii_case("range"));
    let ms = |value: Option<f64>| value.filter(|v| v.is_finite()).unwrap_or(-1.0);
    Ok(Some(Exchange {
        method: request.method.to_ascii_uppercase(),
        url,
        range: range.map(|header| header.value),
        status,
        headers: response.headers.into_iter().map(|h| (h.name, h.value)).collect(),
        body,
        is_text,
        decoded_bytes: size as i64,
        wire_bytes: response.body_size as i64,
        connect_ms: ms(timings.connect),
        ssl_ms: ms(timings.ssl),
        wait_ms: ms(timings.wait),
    }))
}

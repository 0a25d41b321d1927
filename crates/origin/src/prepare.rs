//! Recorded exchanges as they are going to be sent: bodies coded, headers without what belongs to the
//! recorded connection, dates of today, delays.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::archive::{Recorded, Summary, authority, date, is_bodiless, shift_dates};
use crate::coding::{Coding, Encoder};
use crate::config::{Config, Delays, MAX_DELAY_MS};
use crate::freeze::freeze;
use crate::har::Exchange;

/// Of zeros in place of a body that was not recorded.
const MAX_INVENTED_BYTES: usize = 64 << 20;

/// Prepares the exchanges of one archive.
pub(crate) struct Preparation<'a> {
    config: &'a Config,
    round_trips: BTreeMap<String, f64>,
    ranks: BTreeMap<&'a str, u32>,
    now: SystemTime,
    encoder: Encoder,
    /// What became of them so far.
    pub summary: Summary,
}

impl<'a> Preparation<'a> {
    pub fn new(config: &'a Config, exchanges: &[Exchange], now: SystemTime) -> Preparation<'a> {
        // Of a URL that is named twice, the first place counts.
        let order = config.order.iter().enumerate().rev();
        Preparation {
            config,
            round_trips: round_trips(exchanges),
            ranks: order.map(|(rank, url)| (url.as_str(), rank as u32)).collect(),
            now,
            encoder: Encoder::default(),
            summary: Summary::default(),
        }
    }

    /// A response as it is going to be sent.
    pub fn prepare(&mut self, exchange: Exchange) -> Recorded {
        let delay = self.delay(&exchange);
        let rank = self.ranks.get(exchange.url.as_str()).copied().unwrap_or(u32::MAX);
        let (mut headers, mut coding) = self.headers(&exchange);
        let status = StatusCode::from_u16(exchange.status).expect("checked when read");
        let (mut identity, is_recorded) = match exchange.body {
            Some(body) => (body, true),
            None => {
                let size = if exchange.wire_bytes > 0 {
                    exchange.wire_bytes
                } else {
                    exchange.decoded_bytes
                };
                let size = (size.max(0) as usize).min(MAX_INVENTED_BYTES);
                (Bytes::from(vec![0; size]), size == 0 || is_bodiless(status))
            }
        };
        if !is_recorded {
            coding = None;
            self.summary.bodies_missing.push(exchange.url.to_string());
        } else if exchange.is_text && !identity.is_ascii() {
            declare_utf8(&mut headers);
        }
        let is_html = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"text/html"));
        if self.config.freeze && is_html && is_recorded && !identity.is_empty() {
            identity = Bytes::from(freeze(&identity));
            // It would forbid the script.
            headers.remove(header::CONTENT_SECURITY_POLICY);
        }
        let coded = coding
            .filter(|_| !identity.is_empty())
            .map(|coding| (coding, self.encoder.encode(coding, &identity, exchange.wire_bytes)));
        if exchange.wire_bytes > 0 && is_recorded {
            let sent = coded.as_ref().map_or(identity.len(), |(_, body)| body.len());
            self.summary.recorded_bytes += exchange.wire_bytes as u64;
            self.summary.sent_bytes += sent as u64;
        }
        rebase_dates(&mut headers, self.now);
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

    /// The headers to send, and the coding that they name.
    fn headers(&self, exchange: &Exchange) -> (HeaderMap, Option<Coding>) {
        let (mut headers, mut coding) = (HeaderMap::new(), None);
        for (name, value) in &exchange.headers {
            let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
            else {
                // Pseudo-headers of HTTP/2, and what no header can be.
                continue;
            };
            if name == header::CONTENT_ENCODING {
                let is_clear = !self.config.tls;
                coding = value.to_str().ok().and_then(|value| Coding::of(value, is_clear));
            }
            if !is_dropped(&name) {
                headers.append(name, value);
            }
        }
        (headers, coding)
    }

    fn delay(&self, exchange: &Exchange) -> Duration {
        let ms = match &self.config.delays {
            Delays::None => 0.0,
            Delays::Recorded => {
                let round_trip = self.round_trips.get(&authority(&exchange.url)).copied();
                (exchange.wait_ms - round_trip.unwrap_or(0.0)).clamp(0.0, MAX_DELAY_MS)
            }
            Delays::Given(given) => given.get(exchange.url.as_str()).copied().unwrap_or(0.0),
        };
        Duration::from_secs_f64(ms / 1000.0)
    }
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

/// Moves dates to `now` with their distances, so that what was fresh then is fresh now.
fn rebase_dates(headers: &mut HeaderMap, now: SystemTime) {
    let Some(then) = date(headers, &header::DATE) else {
        return;
    };
    if let Ok(by) = now.duration_since(then) {
        shift_dates(headers, &[header::DATE, header::EXPIRES, header::LAST_MODIFIED], by);
    }
}

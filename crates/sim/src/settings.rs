//! What the world looks up of its scenario while it runs.

use loadpath_net::{SimDuration, SimTime};
use loadpath_web::browser::{BrowserConfig, Jitter, MainThreads};
use loadpath_web::http::tls::{Handshake, Records, Sizes};
use loadpath_web::http::{Preface, Protocol, ServerModel};
use loadpath_web::page::PageResource;

use crate::scenario::{PriorityKind, Scenario, ThreadKind};

/// Chromium's second priority, DevTools' "High".
const HIGH: u32 = 1;

/// Options of the browser.
pub(crate) fn browser_config(scenario: &Scenario, jitter: Jitter) -> BrowserConfig {
    let b = &scenario.browser;
    BrowserConfig {
        preloader: b.preloader,
        preload_on_arrival: b.preload_on_arrival,
        tight_mode: b.tight_mode,
        timers: b.timers,
        timer_clamp: SimDuration::from_millis_f64(b.timer_clamp_ms),
        threads: match b.main_threads {
            ThreadKind::Page => MainThreads::OnePerPage,
            ThreadKind::Process => MainThreads::OnePerProcess,
        },
        other_main_thread_work: b.other_main_thread_work,
        jitter,
        ..BrowserConfig::default()
    }
}

/// What the world looks up while it runs.
pub(crate) struct Settings {
    pub protocol: &'static Protocol,
    pub server_delays: bool,
    pub stalls: bool,
    pub jitter: Jitter,
    pub headers_apart: bool,
    pub priorities: PriorityKind,
    pub model: ServerModel,
    pub request: HeaderBytes,
    pub response: HeaderBytes,
    pub handshake: Handshake,
    pub flight_sizes: Sizes,
    /// Of a host, that the browser remembers.
    pub tls_sessions: u64,
    pub records: Records,
    pub preface: Option<Preface>,
    pub fast_open: bool,
    pub dns: SimDuration,
    pub time_limit: SimTime,
}

/// Bytes of header blocks on the wire.
pub(crate) struct HeaderBytes {
    /// Of a block whose size is not recorded.
    default: u64,
    recorded: bool,
    /// What compression leaves of a connection's first block, and of later ones.
    first_fraction: f64,
    later_fraction: f64,
}

impl HeaderBytes {
    /// `before`: messages before it on its connection.
    #[inline]
    pub fn of(&self, recorded: Option<u32>, before: u64) -> u64 {
        let bytes = match recorded {
            Some(bytes) if self.recorded => u64::from(bytes),
            _ => self.default,
        };
        let fraction = if before == 0 { self.first_fraction } else { self.later_fraction };
        (bytes as f64 * fraction).round() as u64
    }
}

impl Settings {
    /// Of a scenario.
    pub fn new(scenario: &Scenario, jitter: Jitter) -> Settings {
        let h = &scenario.http;
        Settings {
            protocol: h.version,
            server_delays: scenario.server.delays,
            stalls: scenario.browser.stalls,
            jitter,
            headers_apart: scenario.server.headers_apart,
            priorities: h.priorities,
            model: scenario.server.model.get(),
            request: HeaderBytes {
                default: h.request_bytes,
                recorded: h.recorded_headers,
                first_fraction: h.request_first_fraction.get(),
                later_fraction: h.request_later_fraction.get(),
            },
            response: HeaderBytes {
                default: h.response_header_bytes,
                recorded: h.recorded_headers,
                first_fraction: h.response_first_fraction.get(),
                later_fraction: h.response_later_fraction.get(),
            },
            handshake: h.tls,
            flight_sizes: Sizes {
                client_hello_bytes: h.tls_client_hello_bytes,
                server_hello_bytes: h.tls_server_hello_bytes,
                certificate_bytes: h.tls_certificate_bytes,
                tickets_bytes: h.tls_tickets_bytes,
            },
            tls_sessions: h.tls_sessions,
            records: Records {
                payload_bytes: match h.tls {
                    Handshake::None => 0,
                    _ if h.version.has_records => h.tls_record_bytes,
                    _ => 0,
                },
            },
            preface: h.version.preface.filter(|_| h.preface && h.tls != Handshake::None),
            fast_open: scenario.transport.fast_open,
            dns: SimDuration::from_millis_f64(scenario.network.dns_ms),
            time_limit: SimTime::ZERO + SimDuration::from_millis_f64(scenario.limits.time_ms),
        }
    }

    /// How urgent a request is, where connections are few and at the server; `raised`: it has become one of
    /// high priority.
    pub fn urgency(&self, resource: &PageResource, raised: bool) -> u32 {
        let urgency = self.priorities.of(resource);
        if raised && self.priorities == PriorityKind::Browser { urgency.min(HIGH) } else { urgency }
    }
}

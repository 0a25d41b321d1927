//! What a server is to do: plain data, from whoever starts it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::Error;

/// A server. Times are milliseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The HAR file.
    pub archive: PathBuf,
    /// Of what is served over TLS; the clear port always speaks HTTP/1.1.
    pub http: Http,
    /// Whether the page is asked for by https://. Both schemes are served in any case.
    pub tls: bool,
    /// The first address; with `address_per_host` each further host has the next one.
    pub address: Ipv4Addr,
    /// An address for each host instead of one for all.
    #[serde(default)]
    pub address_per_host: bool,
    /// Inode of a network namespace that this process must not be in if `address` is not loopback.
    #[serde(default)]
    pub outside_network: Option<u64>,
    /// How several requests on one connection are treated.
    #[serde(default)]
    pub server_model: ServerModel,
    /// What a server takes to process a request.
    #[serde(default)]
    pub delays: Delays,
    /// Which response's bytes go first on a connection.
    #[serde(default)]
    pub priorities: Priorities,
    /// For [`Priorities::Order`]: URLs, the most urgent first. Others come after them, oldest first.
    #[serde(default)]
    pub order: Vec<String>,
    /// Whether HTML gets a script that stops the clock and seeds `Math.random`.
    #[serde(default)]
    pub freeze: bool,
    /// Size of the certificate chain: an ECDSA leaf and one intermediate are about 1.2 kB each.
    #[serde(default = "default_certificate_bytes")]
    pub certificate_bytes: usize,
    /// A file that takes one JSON line a request.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Whether lines on standard input ask for reports, and its end stops the server.
    #[serde(default)]
    pub control: bool,
}

fn default_certificate_bytes() -> usize {
    2500
}

/// HTTP over TLS.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Http {
    /// HTTP/1.1.
    H1,
    /// HTTP/2.
    H2,
    /// HTTP/3.
    H3,
}

/// The server models of `loadpath_web::http::ServerModel`, per connection.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ServerModel {
    /// One request is processed at a time.
    Serial,
    /// Requests are processed at once, responses queued in order of the requests.
    Parallel,
    /// Requests are processed at once and answered when ready.
    #[default]
    OutOfOrder,
}

/// Processing delays.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Delays {
    /// None.
    #[default]
    None,
    /// The archive's `wait` less a round trip to the host.
    Recorded,
    /// By URL; 0 for others.
    Given(BTreeMap<String, f64>),
}

/// Order of responses on a connection.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Priorities {
    /// One after another, as they become ready.
    #[default]
    None,
    /// As the client signals: RFC 9218, else RFC 7540.
    Client,
    /// As [`Config::order`] says.
    Order,
}

impl Config {
    /// Reads and checks a configuration.
    pub fn from_json(json: &[u8]) -> Result<Config, Error> {
        let config: Config = serde_json::from_slice(json)
            .map_err(|error| Error::new(format!("configuration: {error}"), "see OriginSettings"))?;
        if let Delays::Given(delays) = &config.delays {
            for (url, &ms) in delays {
                if !(0.0..=MAX_DELAY_MS).contains(&ms) {
                    return Err(Error::new(
                        format!("delay of {url}: {ms} ms"),
                        format!("expected a number from 0 to {MAX_DELAY_MS}"),
                    ));
                }
            }
        }
        if config.certificate_bytes > MAX_CERTIFICATE_BYTES {
            return Err(Error::new(
                format!("certificate_bytes = {}", config.certificate_bytes),
                format!("expected a number up to {MAX_CERTIFICATE_BYTES}"),
            ));
        }
        config.check_address()?;
        Ok(config)
    }

    /// A recording is from anywhere, and its server must not be reachable from anywhere.
    fn check_address(&self) -> Result<(), Error> {
        if self.address.is_loopback() {
            return Ok(());
        }
        let here = network_namespace();
        match (self.outside_network, here) {
            (Some(outside), Some(here)) if outside != here => Ok(()),
            _ => Err(Error::new(
                format!("cannot serve from {}", self.address),
                "loopback addresses, or those of a link's own namespace",
            )),
        }
    }
}

/// RFC 9110 knows no limit; a browser gives up after minutes.
pub(crate) const MAX_DELAY_MS: f64 = 600_000.0;

/// Chromium takes no certificate messages above 100 kB (BoringSSL's `SSL_MAX_CERT_LIST_DEFAULT`).
const MAX_CERTIFICATE_BYTES: usize = 60_000;

/// The inode of this process's network namespace.
#[cfg(target_os = "linux")]
fn network_namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata("/proc/self/ns/net").ok()?.ino())
}

#[cfg(not(target_os = "linux"))]
fn network_namespace() -> Option<u64> {
    None
}

//! Sites: what one organisation registered, as far as names tell.

use std::net::Ipv4Addr;

use psl::{List, Psl};

/// The registrable domain of a lower-case host by the whole Public Suffix List, as browsers separate
/// sites; `None` for an address, a name of one label, and a public suffix itself.
pub fn registrable_domain(host: &str) -> Option<&str> {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if is_address || !host.contains('.') {
        return None;
    }
    std::str::from_utf8(List.domain(host.as_bytes())?.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_what_is_registered_below_a_public_suffix() {
        for (host, domain) in [
            ("example.com", Some("example.com")),
            ("a.b.example.com", Some("example.com")),
            ("www.example.com.br", Some("example.com.br")),
            // Customers of a hosting service are sites of their own.
            ("d1.cloudfront.net", Some("d1.cloudfront.net")),
            ("a.unlisted", Some("a.unlisted")),
            ("com", None),
            ("localhost", None),
            ("192.0.2.1", None),
            ("[2001:db8::1]", None),
            ("", None),
        ] {
            assert_eq!(registrable_domain(host), domain, "{host}");
        }
    }
}

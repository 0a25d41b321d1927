//! Sites: what one organisation registered, as far as names tell.

use std::net::Ipv4Addr;

use psl::{List, Psl, Type};

/// The registrable domain of a lower-case host by the whole Public Suffix List, as browsers separate
/// sites; `None` for an address, a name of one label, and a public suffix itself.
pub fn registrable_domain(host: &str) -> Option<&str> {
    is_name(host)
        .then(|| List.domain(host.as_bytes()))?
        .and_then(|domain| std::str::from_utf8(domain.as_bytes()).ok())
}

/// As [`registrable_domain`] by the suffixes of registries alone (the list's ICANN section): the last
/// two labels, or three below suffixes like `co.uk`. Customers of a hosting service share one.
pub fn registry_domain(host: &str) -> Option<&str> {
    if !is_name(host) {
        return None;
    }
    let mut name = host;
    loop {
        let suffix = List.suffix(name.as_bytes())?;
        let suffix_at = host.len() - suffix.as_bytes().len();
        if suffix.typ() != Some(Type::Private) {
            let before = host[..suffix_at].strip_suffix('.')?;
            let start = before.rfind('.').map_or(0, |dot| dot + 1);
            return (start < before.len()).then(|| &host[start..]);
        }
        // What a private suffix is below.
        name = host[suffix_at..].split_once('.')?.1;
    }
}

fn is_name(host: &str) -> bool {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    !is_address && host.contains('.')
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

    #[test]
    fn registries_alone_do_not_know_hosting_services() {
        for (host, domain) in [
            ("a.b.example.com", Some("example.com")),
            ("www.example.co.uk", Some("example.co.uk")),
            ("d1.cloudfront.net", Some("cloudfront.net")),
            ("a.blogspot.co.uk", Some("blogspot.co.uk")),
            ("github.io", Some("github.io")),
            ("a.unlisted", Some("a.unlisted")),
            ("co.uk", None),
            ("localhost", None),
            ("192.0.2.1", None),
            ("[2001:db8::1]", None),
            (".com", None),
            ("", None),
        ] {
            assert_eq!(registry_domain(host), domain, "{host}");
        }
    }
}

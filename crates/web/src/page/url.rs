//! What the page model reads from a URL.

use std::ops::Range;

/// The lower-case host of an http or https URL, without user information and port (WHATWG URL
/// standard, section 4.4, for special schemes). `None` for every other scheme: such resources never
/// reach the network. A malformed authority gives a name as well ("" at worst), never an error: the
/// model only asks which resources share a host.
pub fn http_host(url: &str) -> Option<String> {
    Some(url[http_authority(url)?.host].to_ascii_lowercase())
}

/// Places in the text of an http or https URL.
pub(crate) struct Authority {
    /// Of the host, without user information and port.
    pub host: Range<usize>,
    /// Where path, query or fragment begin.
    pub end: usize,
}

/// Where a URL names its server; `None` for schemes other than http and https.
pub(crate) fn http_authority(url: &str) -> Option<Authority> {
    let (scheme, rest) = url.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let host = match host_and_port.find(']') {
        Some(end) if host_and_port.starts_with('[') => &host_and_port[..=end],
        _ => host_and_port.split(':').next().unwrap_or_default(),
    };
    let end = url.len() - rest.len() + authority.len();
    let start = end - host_and_port.len();
    Some(Authority { host: start..start + host.len(), end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_lose_scheme_port_user_and_case() {
        for (url, host) in [
            ("http://a.example/x?y#z", "a.example"),
            ("https://a.example", "a.example"),
            ("HTTPS://WWW.A.Example:8443/", "www.a.example"),
            ("http://user:pa@ss@a.example:80/p@q", "a.example"),
            ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
            ("http://a.example?http://b.example/", "a.example"),
            ("http://a.example#@b.example", "a.example"),
            ("http:a.example\\b", "a.example"),
            ("http://", ""),
            ("http://[2001", "[2001"),
        ] {
            assert_eq!(http_host(url).as_deref(), Some(host), "{url}");
        }
    }

    #[test]
    fn other_schemes_have_no_host() {
        for url in
            ["data:text/plain,http://a", "about:blank", "blob:https://a/1", "", "a/b", "ftp://a"]
        {
            assert_eq!(http_host(url), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(url in "(https?:)?[/\\\\@:\\[\\]?#a-zé%]{0,12}") {
            http_host(&url);
        }
    }
}

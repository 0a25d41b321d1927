//! Unsharding: the hosts of one site become one host (section 5.2 of the PCP thesis).
//!
//! A site is a registrable domain: `media.gizmodo.com` and `gizmodo.com` both become `gizmodo.com`.
//! What a load makes of the merged host follows from its being one host: one pool of connections,
//! one handshake and name lookup for each, one server with one round-trip time (that of the first
//! resource among them, so that the main document's server keeps its own). Sizes, server delays,
//! recorded priorities and dependencies stay; so do scheme and port in URLs, which do not divide
//! hosts. The request's size stays, too: cookies that a site keeps from its asset hosts by the
//! division are not modelled.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;

use super::TransformError;
use crate::graph::{ActivityKind, PageGraph};
use crate::page::{http_authority, http_host};

/// Which hosts belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Registrable domains by the whole Public Suffix List, as browsers separate sites: customers
    /// of one hosting service or content network stay apart.
    #[default]
    Registrable,
    /// By the suffixes of registries only, as the thesis did: the last two labels, or three under
    /// suffixes like `co.uk`. `a.cloudfront.net` and `b.cloudfront.net` belong together.
    Thesis,
}

/// Merges the hosts of each site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unshard {
    /// Which hosts belong together.
    pub grouping: Grouping,
    /// Only the site of the main document: third parties are left alone.
    pub own: bool,
    /// Domains that are left alone with all below them, in lower case: those of advertisements, say.
    pub except: BTreeSet<String>,
}

impl Unshard {
    pub(super) fn parse(options: Option<&str>) -> Result<Unshard, TransformError> {
        let mut unshard = Unshard::default();
        for option in options.into_iter().flat_map(|options| options.split(':')) {
            match option.split_once('=') {
                None if option == "thesis" => unshard.grouping = Grouping::Thesis,
                None if option == "own" => unshard.own = true,
                Some(("except", domains)) if domains.split(',').all(|d| !d.is_empty()) => {
                    unshard.except.extend(domains.split(',').map(str::to_ascii_lowercase));
                }
                _ => {
                    return Err(TransformError::new(format!("there is no option \"{option}\""))
                        .with_hint("options are thesis, own and except=DOMAIN,DOMAIN"));
                }
            }
        }
        Ok(unshard)
    }

    /// The page with merged hosts; the same page if there are none to merge.
    ///
    /// Two addresses stay two: where different hosts have the same path, the old host becomes its
    /// first segment. A site of one host keeps the host's name.
    pub(super) fn apply(&self, graph: &PageGraph) -> PageGraph {
        let urls = resource_urls(graph);
        let merged = self.merged(&graph.url, &urls);
        let renamed = rename_all(&urls, &merged);
        let rename = |url: &mut String| {
            if let Some(new) = renamed.get(&**url).cloned().or_else(|| rename(url, &merged, false))
            {
                *url = new;
            }
        };
        let mut unsharded = graph.clone();
        rename(&mut unsharded.url);
        unsharded.frames.iter_mut().for_each(|frame| rename(&mut frame.url));
        for activity in &mut unsharded.activities {
            match &mut activity.kind {
                ActivityKind::Resource(r) => rename(&mut r.url),
                ActivityKind::Evaluation(e) => rename(&mut e.url),
                _ => {}
            }
        }
        unsharded
    }

    /// By how many hosts the page has fewer afterwards: the shards that are coalesced (Figure 5.1).
    pub fn shards(&self, graph: &PageGraph) -> usize {
        let merged = self.merged(&graph.url, &resource_urls(graph));
        let sites: BTreeSet<&String> = merged.values().collect();
        merged.len() - sites.len()
    }

    /// The new name of each host that gets one, or would but for having it already.
    fn merged(&self, main: &str, urls: &BTreeSet<&str>) -> BTreeMap<String, String> {
        let own = http_host(main).and_then(|host| self.site(&host));
        let mut sites: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for host in urls.iter().filter_map(|url| http_host(url)) {
            match self.site(&host) {
                Some(site) if !self.own || own.as_ref() == Some(&site) => {
                    sites.entry(site).or_default().insert(host);
                }
                _ => {}
            }
        }
        sites
            .into_iter()
            .filter(|(_, hosts)| hosts.len() > 1)
            .flat_map(|(site, hosts)| hosts.into_iter().map(move |host| (host, site.clone())))
            .collect()
    }

    /// The site of a host; `None` if it is left alone, an address or a public suffix.
    fn site(&self, host: &str) -> Option<String> {
        let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
        let below = |domain: &String| {
            host.strip_suffix(&**domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if is_address || !host.contains('.') || self.except.iter().any(below) {
            return None;
        }
        let mut suffix = psl::suffix(host.as_bytes())?;
        while self.grouping == Grouping::Thesis && suffix.typ() == Some(psl::Type::Private) {
            let place = suffix.as_bytes().iter().position(|&byte| byte == b'.')?;
            // The part of `host` that the suffix is without its first label.
            let start = host.len() - suffix.as_bytes().len() + place + 1;
            suffix = psl::suffix(&host.as_bytes()[start..])?;
        }
        let above = host.len().checked_sub(suffix.as_bytes().len() + 1)?;
        let start = host[..above].rfind('.').map_or(0, |dot| dot + 1);
        (above > start).then(|| host[start..].into())
    }
}

impl fmt::Display for Unshard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unshard")?;
        if self.grouping == Grouping::Thesis {
            f.write_str(":thesis")?;
        }
        if self.own {
            f.write_str(":own")?;
        }
        if !self.except.is_empty() {
            let domains: Vec<&str> = self.except.iter().map(String::as_str).collect();
            write!(f, ":except={}", domains.join(","))?;
        }
        Ok(())
    }
}

fn resource_urls(graph: &PageGraph) -> BTreeSet<&str> {
    let urls = graph.activities.iter().filter_map(|activity| match &activity.kind {
        ActivityKind::Resource(r) => Some(&*r.url),
        _ => None,
    });
    urls.collect()
}

/// New addresses of all that get one; different ones stay different.
fn rename_all<'u>(
    urls: &BTreeSet<&'u str>,
    merged: &BTreeMap<String, String>,
) -> BTreeMap<&'u str, String> {
    let mut takers: BTreeMap<String, usize> = BTreeMap::new();
    for url in urls {
        let new = rename(url, merged, false).unwrap_or_else(|| (*url).into());
        *takers.entry(new).or_default() += 1;
    }
    let mut renamed = BTreeMap::new();
    for &url in urls {
        let Some(mut new) = rename(url, merged, false).filter(|new| new != url) else { continue };
        if takers[&new] > 1 {
            new = rename(url, merged, true).expect("renamed above");
            let host = http_host(url).expect("renamed above");
            while takers.contains_key(&new) {
                let at = http_authority(&new).expect("it names a host").end;
                new.insert_str(at, &format!("/{host}"));
            }
            takers.insert(new.clone(), 1);
        }
        renamed.insert(url, new);
    }
    renamed
}

/// The address on the merged host, with the old host as its first segment if that is asked for;
/// `None` if its host is not merged.
fn rename(url: &str, merged: &BTreeMap<String, String>, keep_host: bool) -> Option<String> {
    let authority = http_authority(url)?;
    let (before, after) = (&url[..authority.host.start], &url[authority.end..]);
    let port = &url[authority.host.end..authority.end];
    let host = url[authority.host].to_ascii_lowercase();
    let site = merged.get(&host)?;
    let segment = if keep_host { format!("/{host}") } else { String::new() };
    Some(format!("{before}{site}{port}{segment}{after}"))
}

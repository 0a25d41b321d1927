//! Ad-block filters: lists in the syntax of EasyList, matched by Brave's engine, which asks us for
//! registrable domains, so that there is one implementation of the Public Suffix List.

use adblock::Engine;
use adblock::lists::{FilterSet, ParseOptions, RuleTypes};
use adblock::request::Request;
use adblock::url_parser::{ResolvesDomain, set_domain_resolver};
use loadpath_web::site;
use pyo3::prelude::*;

struct Sites;

impl ResolvesDomain for Sites {
    fn get_host_domain(&self, host: &str) -> (usize, usize) {
        let domain = site::registrable_domain(host).unwrap_or(host);
        (host.len() - domain.len(), host.len())
    }
}

/// Network rules of filter lists.
#[pyclass(frozen, module = "loadpath._core")]
pub struct AdFilters {
    engine: Engine,
}

#[pymethods]
impl AdFilters {
    /// Reads lists; lines that are no network rules, or not understood, are left out.
    #[new]
    fn new(lists: Vec<String>) -> Self {
        // Fails if it is set already, to the same.
        let _ = set_domain_resolver(Box::new(Sites));
        let mut set = FilterSet::new(true);
        let options =
            ParseOptions { rule_types: RuleTypes::NetworkOnly, ..ParseOptions::default() };
        for list in lists {
            set.add_filter_list(list, options);
        }
        Self { engine: Engine::new_with_filter_set(set) }
    }

    /// The rule that blocks a request, if one does and no exception allows it.
    ///
    /// `document_url` is the page's; `kind` as in extensions: "script", "image", "sub_frame", ...
    #[pyo3(signature = (url, document_url, kind, method="GET"))]
    fn blocks(&self, url: &str, document_url: &str, kind: &str, method: &str) -> Option<String> {
        let request = Request::new(url, document_url, kind, method).ok()?;
        let result = self.engine.check_network_request(&request);
        let blocks = result.should_block();
        result.filter.filter(|_| blocks).and_then(|rule| rule.raw_line)
    }
}

/// The registrable domain of a host by the Public Suffix List.
#[pyfunction]
pub fn registrable_domain(host: &str) -> Option<&str> {
    site::registrable_domain(host)
}

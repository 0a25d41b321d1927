//! Which pages the corpus has, and where their files are.

use serde::Deserialize;

use crate::graph::error::clip;
use crate::graph::read::Source;
use crate::graph::{GraphError, PageGraph};
use crate::import::InputFile;
use crate::transform::{Grouping, Unshard};

/// Folder of the graphs in the public origin.
pub const ORIGIN_GRAPHS: &str = "dependency_graphs/alexa_deps_24_3_2017";
/// Folder of the delay tables in the public origin.
pub const ORIGIN_DELAYS: &str = "server_delays/split_delays_for_alexa_16_03_2017";
/// Folder of the distributions in the public origin.
pub const ORIGIN_DISTRIBUTIONS: &str =
    "server_delays/delays_for_alexa_21_9_2016/server_times_16_03_2017";

/// A page of the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusPage {
    /// Short name for files and tables, unique in the corpus.
    pub name: String,
    /// Name in the public origin.
    pub original_name: String,
    /// 0 to 300.
    pub number: u32,
    /// Its graph, relative to the folder.
    pub graph: String,
    /// Its delay table, relative to the folder.
    pub delays: String,
    /// One of the 17 pages that section 5.2 of the thesis leaves out because they have no shards;
    /// `None` where only the graph can tell ([`is_sharded`]).
    pub no_sharding: Option<bool>,
}

#[derive(Deserialize)]
struct IndexEntry {
    name: String,
    original_name: String,
    number: u32,
    graph: String,
    delays: String,
    no_sharding: bool,
}

/// Reads the corpus folder's `index.json`.
///
/// # Errors
/// If it is not a list of pages with plain relative paths.
pub fn parse_index(file: InputFile<'_>) -> Result<Vec<CorpusPage>, GraphError> {
    let source = Source::new(file.bytes, file.origin)?;
    let entries: Vec<IndexEntry> = serde_json::from_str(source.text).map_err(|error| {
        GraphError::new(format!("not an index of the corpus: {}", clip(&error.to_string())))
            .with_origin(file.origin)
            .with_hint("name the folder that holds the corpus's own index.json")
    })?;
    let mut pages = Vec::with_capacity(entries.len());
    for entry in entries {
        for path in [&entry.graph, &entry.delays] {
            // Paths from a file may not lead out of the folder that the user named.
            if path.starts_with('/') || path.split(['/', '\\']).any(|part| part == "..") {
                return Err(GraphError::new(format!("{path} leads out of the folder"))
                    .with_origin(file.origin)
                    .with_subject("page", &entry.name));
            }
        }
        pages.push(CorpusPage {
            name: entry.name,
            original_name: entry.original_name,
            number: entry.number,
            graph: entry.graph,
            delays: entry.delays,
            no_sharding: Some(entry.no_sharding),
        });
    }
    Ok(pages)
}

/// The pages of the public origin, in order of their number, from the names of the files in
/// [`ORIGIN_GRAPHS`]; drawings and lists of critical paths there are skipped.
pub fn pages_in_origin<'a>(file_names: impl IntoIterator<Item = &'a str>) -> Vec<CorpusPage> {
    let mut pages: Vec<CorpusPage> = file_names
        .into_iter()
        .filter_map(|file| {
            let (stem, number) = file.rsplit_once('_')?;
            let number = number.parse().ok()?;
            Some(CorpusPage {
                name: short_name(stem, number),
                original_name: file.into(),
                number,
                graph: format!("{ORIGIN_GRAPHS}/{file}"),
                delays: format!("{ORIGIN_DELAYS}/{file}_delay"),
                no_sharding: None,
            })
        })
        .collect();
    pages.sort_by_key(|page| page.number);
    pages
}

/// The corpus folder's names: at most 48 characters that are safe in file names, and the number.
fn short_name(stem: &str, number: u32) -> String {
    const MAX_CHARS: usize = 48;
    let mut name = String::new();
    for c in stem.chars() {
        if c.is_ascii_alphanumeric() || c == '.' || c == '-' {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    name.truncate(MAX_CHARS);
    format!("{}_{number}", name.trim_end_matches('_'))
}

/// Whether some registrable domain serves the page from several hosts. Of the corpus's pages 17 have
/// none, which the thesis's section 5.2 leaves out. All http and https resources count, cached ones
/// included.
pub fn is_sharded(graph: &PageGraph) -> bool {
    let thesis = Unshard { grouping: Grouping::Thesis, ..Unshard::default() };
    thesis.shards(graph) > 0
}

/// Host of an http or https URL, without port; `None` for other schemes.
pub(super) fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    Some(host.split(':').next().unwrap_or_default())
}

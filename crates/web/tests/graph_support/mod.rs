//! The corpus, for tests: `$LOADPATH_CORPUS`, else `shared/corpus` beside the repository.

use std::fs;
use std::path::{Path, PathBuf};

use loadpath_web::graph::PageGraph;
use loadpath_web::import::InputFile;
use loadpath_web::import::pcp::{self, CorpusPage, ImportReport};

pub struct Corpus {
    pub folder: PathBuf,
    pub pages: Vec<CorpusPage>,
}

/// `None`, and a loud word, if there is no corpus on this machine.
pub fn corpus() -> Option<Corpus> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let candidates = match std::env::var_os("LOADPATH_CORPUS") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![repository.join("../shared/corpus"), repository.join("../../shared/corpus")],
    };
    let Some(folder) = candidates.into_iter().find(|f| f.join("index.json").exists()) else {
        eprintln!("SKIPPED: no corpus; set LOADPATH_CORPUS to its folder");
        return None;
    };
    let bytes = fs::read(folder.join("index.json")).unwrap();
    let pages = pcp::parse_index(InputFile { origin: "index.json", bytes: &bytes }).unwrap();
    Some(Corpus { folder, pages })
}

impl Corpus {
    pub fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.folder.join(file)).unwrap()
    }

    pub fn import(&self, page: &CorpusPage) -> (PageGraph, ImportReport) {
        let graph = self.read(&page.graph);
        let delays = self.read(&page.delays);
        pcp::import_graph(
            &page.name,
            InputFile { origin: &page.graph, bytes: &graph },
            Some(InputFile { origin: &page.delays, bytes: &delays }),
        )
        .unwrap()
    }
}

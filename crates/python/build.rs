//! Identifies the engine by a digest of its sources, so that stored results of one engine are never
//! taken for those of another, between releases too, while the same sources count as the same engine
//! on every machine.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// What decides the numbers of a load: the engine's crates and the versions of what they use.
const SOURCES: [&str; 5] =
    ["crates/net/src", "crates/transport/src", "crates/web/src", "crates/sim/src", "Cargo.lock"];

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let root = Path::new(&manifest).join("../..");
    let mut digest = Fnv1a::default();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
        for file in files(&root.join(source)) {
            let name = file.strip_prefix(&root).expect("sources are below the root");
            digest.add(name.to_string_lossy().as_bytes());
            digest.add(&fs::read(&file).expect("sources are readable"));
        }
    }
    println!("cargo::rustc-env=LOADPATH_ENGINE_DIGEST={:016x}", digest.0);
}

/// A file, or all files below a folder in order of names.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("source folders are readable");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| files(path)).collect()
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    /// Adds a piece and its length, so that pieces cannot run into each other.
    fn add(&mut self, piece: &[u8]) {
        for byte in piece.iter().copied().chain((piece.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

//! Content codings. Archives hold decoded bodies; on the wire they are to be about as large as they
//! were.

use std::io::Write;

use bytes::Bytes;

/// A content coding that bodies are sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

impl Coding {
    /// The coding to use in place of the recorded one; `None` for identity.
    ///
    /// Brotli stands in for Zstandard and for codings with shared dictionaries, whose sizes it is
    /// close to; in the clear, where browsers take no Brotli, gzip.
    pub fn of(recorded: &str, is_clear: bool) -> Option<Coding> {
        match recorded.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            "br" | "zstd" | "dcb" | "dcz" if is_clear => Some(Coding::Gzip),
            "br" | "zstd" | "dcb" | "dcz" => Some(Coding::Brotli),
            _ => None,
        }
    }

    /// Name in headers.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
        }
    }

    /// What servers usually take first, and then what is tried if the size differs from the recorded
    /// one: nginx's gzip_comp_level is 1, most others' 6; Brotli on the fly 4 or 5, ahead of time 11.
    fn levels(self) -> &'static [u32] {
        match self {
            Coding::Gzip | Coding::Deflate => &[6, 1, 9, 4, 2, 3],
            Coding::Brotli => &[5, 4, 9, 1, 11],
        }
    }

    fn encode(self, body: &[u8], level: u32) -> Vec<u8> {
        let written = "a Vec takes everything";
        match self {
            Coding::Gzip => {
                let level = flate2::Compression::new(level);
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(body).expect(written);
                encoder.finish().expect(written)
            }
            Coding::Deflate => {
                let level = flate2::Compression::new(level);
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(body).expect(written);
                encoder.finish().expect(written)
            }
            Coding::Brotli => {
                let mut coded = Vec::new();
                // A window of 4 MB, as servers have it.
                let mut encoder = brotli::CompressorWriter::new(&mut coded, 1 << 16, level, 22);
                encoder.write_all(body).expect(written);
                drop(encoder);
                coded
            }
        }
    }
}

/// Sizes this close to the recorded ones are not worth another try.
const CLOSE: f64 = 0.02;

/// Bodies above this are coded once: the highest level of Brotli takes a second a megabyte.
const MAX_SEARCHED_BYTES: usize = 4 << 20;

/// The body coded at that level whose size is closest to `wire_bytes`, if that is known.
pub(crate) fn encode(coding: Coding, body: &[u8], wire_bytes: i64) -> Bytes {
    let distance = |coded: &[u8]| (coded.len() as i64 - wire_bytes).unsigned_abs();
    let mut levels = coding.levels().iter();
    let first = *levels.next().expect("there are levels");
    let mut best = coding.encode(body, first);
    if wire_bytes > 0 && body.len() <= MAX_SEARCHED_BYTES {
        for &level in levels {
            if distance(&best) as f64 <= CLOSE * wire_bytes as f64 {
                break;
            }
            let coded = coding.encode(body, level);
            if distance(&coded) < distance(&best) {
                best = coded;
            }
        }
    }
    Bytes::from(best)
}

/// Whether an `Accept-Encoding` (RFC 9110, section 12.5.3) takes a coding.
pub(crate) fn accepts(accept_encoding: &str, coding: Coding) -> bool {
    accept_encoding.split(',').any(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let name = name.trim();
        let refused = parameters
            .split(';')
            .filter_map(|parameter| parameter.trim().strip_prefix("q="))
            .any(|q| q.trim().parse::<f64>().is_ok_and(|q| q == 0.0));
        !refused && (name == "*" || name.eq_ignore_ascii_case(coding.name()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn text() -> Vec<u8> {
        (0..40_000u32).flat_map(|n| format!("{} {}\n", n % 97, n * n % 1009).into_bytes()).collect()
    }

    #[test]
    fn the_level_is_searched_that_the_recorded_size_came_from() {
        let body = text();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
            for level in [1, 9] {
                let recorded = coding.encode(&body, level).len();
                let coded = encode(coding, &body, recorded as i64).len();
                let error = (coded as f64 / recorded as f64 - 1.0).abs();
                assert!(error <= CLOSE, "{coding:?} {level}: {coded} for {recorded}");
            }
        }
    }

    #[test]
    fn what_is_coded_decodes_to_the_body() {
        let body = text();
        let mut decoded = Vec::new();
        let gzip = encode(Coding::Gzip, &body, -1);
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut decoded).unwrap();
        assert!(decoded == body);
        decoded.clear();
        let deflate = encode(Coding::Deflate, &body, -1);
        flate2::read::ZlibDecoder::new(&deflate[..]).read_to_end(&mut decoded).unwrap();
        assert!(decoded == body);
        decoded.clear();
        let brotli = encode(Coding::Brotli, &body, -1);
        brotli::Decompressor::new(&brotli[..], 4096).read_to_end(&mut decoded).unwrap();
        assert!(decoded == body);
    }

    #[test]
    fn accept_encoding_is_obeyed() {
        assert!(accepts("gzip, deflate, br, zstd", Coding::Brotli));
        assert!(accepts("*", Coding::Gzip));
        assert!(accepts("GZIP;q=0.5", Coding::Gzip));
        assert!(!accepts("gzip;q=0, deflate", Coding::Gzip));
        assert!(!accepts("", Coding::Gzip));
    }
}

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

    fn index(self) -> usize {
        match self {
            Coding::Gzip => 0,
            Coding::Deflate => 1,
            Coding::Brotli => 2,
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

/// Of gzip, so much less is not worth one: it can be made longer. Libraries differ by several per cent
/// at the same level.
const PADDED: f64 = 0.1;

/// Bodies above this are coded once: the highest level of Brotli takes a second a megabyte.
const MAX_SEARCHED_BYTES: usize = 4 << 20;

/// Codes the bodies of an archive. Its servers are few: the level of the last body is tried first.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    last: [Option<u32>; 3],
}

impl Encoder {
    /// The body coded at that level whose size is closest to `wire_bytes`, if that is known; gzip has
    /// just that size if it can.
    pub fn encode(&mut self, coding: Coding, body: &[u8], wire_bytes: i64) -> Bytes {
        let is_gzip = coding == Coding::Gzip;
        // Too much cannot be helped.
        let distance = |coded: &[u8]| match coded.len() as i64 - wire_bytes {
            more @ 1.. if is_gzip => 10 * more,
            difference => difference.abs(),
        };
        let close = (if is_gzip { PADDED } else { CLOSE } * wire_bytes as f64) as i64;
        let last = &mut self.last[coding.index()];
        let first = last.unwrap_or(coding.levels()[0]);
        let mut best = coding.encode(body, first);
        if wire_bytes <= 0 || body.len() > MAX_SEARCHED_BYTES {
            return Bytes::from(best);
        }
        for &level in coding.levels().iter().filter(|level| **level != first) {
            if distance(&best) <= close {
                break;
            }
            let coded = coding.encode(body, level);
            if distance(&coded) < distance(&best) {
                best = coded;
                *last = Some(level);
            }
        }
        let missing = wire_bytes - best.len() as i64;
        if is_gzip && (1..=close).contains(&missing) {
            pad(&mut best, missing as usize);
        }
        Bytes::from(best)
    }
}

/// Makes gzip longer by a comment (RFC 1952, section 2.3), which ends with a zero.
fn pad(gzip: &mut Vec<u8>, bytes: usize) {
    const FLAGS: usize = 3;
    const COMMENT: u8 = 0x10;
    const HEADER_BYTES: usize = 10;
    gzip[FLAGS] |= COMMENT;
    let comment = std::iter::repeat_n(b' ', bytes - 1).chain([0]);
    gzip.splice(HEADER_BYTES..HEADER_BYTES, comment);
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

    fn decode(coding: Coding, coded: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::new();
        match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(coded).read_to_end(&mut decoded),
            Coding::Deflate => flate2::read::ZlibDecoder::new(coded).read_to_end(&mut decoded),
            Coding::Brotli => brotli::Decompressor::new(coded, 4096).read_to_end(&mut decoded),
        }
        .unwrap();
        decoded
    }

    #[test]
    fn bodies_are_coded_to_the_recorded_size() {
        let body = text();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
            let mut encoder = Encoder::default();
            for level in [1, 9, 9] {
                let recorded = coding.encode(&body, level).len();
                let coded = encoder.encode(coding, &body, recorded as i64);
                let error = (coded.len() as f64 / recorded as f64 - 1.0).abs();
                assert!(error <= CLOSE, "{coding:?} {level}: {} for {recorded}", coded.len());
                assert!(decode(coding, &coded) == body);
            }
        }
    }

    #[test]
    fn gzip_that_is_a_little_small_is_made_longer() {
        let body = text();
        let usual = Coding::Gzip.encode(&body, 6).len();
        for more in [0, 1, 2, usual / 20] {
            let coded = Encoder::default().encode(Coding::Gzip, &body, (usual + more) as i64);
            assert_eq!(coded.len(), usual + more);
            assert!(decode(Coding::Gzip, &coded) == body);
        }
    }

    #[test]
    fn without_a_recorded_size_it_is_that_of_most_servers() {
        let body = text();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
            let coded = Encoder::default().encode(coding, &body, -1);
            assert!(coded == coding.encode(&body, coding.levels()[0]));
        }
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

//! A script that makes pages repeat themselves: the clock begins at the same moment in each load and
//! goes by a millisecond at each look, and `Math.random` gives the same numbers.

/// What is put into documents; small and on one line, so that line numbers stay.
const SCRIPT: &str = concat!(
    "<script>(()=>{",
    // Mulberry32, a generator with 32 bits of state, which is enough for a page's ids.
    "let s=0x2F6E2B1;Math.random=()=>{s=s+0x6D2B79F5|0;let t=Math.imul(s^s>>>15,1|s);",
    "t=t+Math.imul(t^t>>>7,61|t)^t;return((t^t>>>14)>>>0)/4294967296};",
    "const D=Date;let n=1700000000000;const now=()=>n++;",
    "function F(...a){return new.target?Reflect.construct(D,a.length?a:[now()],new.target)",
    ":new D(now()).toString()}",
    "F.prototype=D.prototype;F.prototype.constructor=F;F.now=now;F.parse=D.parse;F.UTC=D.UTC;",
    "Object.defineProperty(F,'length',{value:7});Object.defineProperty(F,'name',{value:'Date'});",
    "window.Date=F})()</script>",
);

/// The document with the script before every script of its own.
pub(crate) fn freeze(document: &[u8]) -> Vec<u8> {
    let at = place(document);
    [&document[..at], SCRIPT.as_bytes(), &document[at..]].concat()
}

/// Behind the start tag of the head, else of the root element, else behind the doctype: before these,
/// a script would change the document's mode.
fn place(document: &[u8]) -> usize {
    ["<head", "<html", "<!doctype"]
        .iter()
        .find_map(|tag| after_tag(document, tag.as_bytes()))
        .unwrap_or(0)
}

fn after_tag(document: &[u8], tag: &[u8]) -> Option<usize> {
    let start = (0..document.len().saturating_sub(tag.len())).find(|&at| {
        document[at..at + tag.len()].eq_ignore_ascii_case(tag)
            && !document[at + tag.len()].is_ascii_alphanumeric()
    })?;
    Some(start + document[start..].iter().position(|&byte| byte == b'>')? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen(document: &str) -> String {
        String::from_utf8(freeze(document.as_bytes())).unwrap().replace(SCRIPT, "#")
    }

    #[test]
    fn the_script_comes_first_and_keeps_the_mode_of_the_document() {
        assert_eq!(frozen("<!DOCTYPE html><title>x</title>"), "<!DOCTYPE html>#<title>x</title>");
        assert_eq!(frozen("<html lang=en><header>"), "<html lang=en>#<header>");
        assert_eq!(frozen("<HTML><HEAD a=b><script>"), "<HTML><HEAD a=b>#<script>");
        assert_eq!(frozen("text"), "#text");
        assert_eq!(frozen("<head"), "#<head");
        assert_eq!(frozen(""), "#");
    }
}

//! Order of activity ids.

use std::cmp::Ordering;

/// Orders ids as people count: `download_9` before `download_10`. Used for every tie, so that the
/// places of activities in a file decide nothing.
pub fn compare_ids(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    while !rest_a.is_empty() && !rest_b.is_empty() {
        let (part_a, part_b) = (leading_run(rest_a), leading_run(rest_b));
        rest_a = &rest_a[part_a.len()..];
        rest_b = &rest_b[part_b.len()..];
        let both_numbers = [part_a, part_b].iter().all(|p| p.as_bytes()[0].is_ascii_digit());
        let order = if both_numbers {
            let (n, m) = (part_a.trim_start_matches('0'), part_b.trim_start_matches('0'));
            n.len().cmp(&m.len()).then(n.cmp(m))
        } else {
            part_a.cmp(part_b)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    // Equal but for leading zeros, or one begins the other.
    rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b))
}

/// The digits, or the other characters, that `text` begins with.
fn leading_run(text: &str) -> &str {
    let digits = text.as_bytes()[0].is_ascii_digit();
    let end = text.bytes().position(|byte| byte.is_ascii_digit() != digits);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::compare_ids;

    #[test]
    fn numbers_in_ids_count_as_numbers() {
        let sorted = ["comp_2", "comp_2_0", "comp_2_10", "comp_10", "dchunk_0_9", "dchunk_0_10"];
        let mut ids = sorted;
        ids.reverse();
        ids.sort_by(|a, b| compare_ids(a, b));
        assert_eq!(ids, sorted);
        assert!(compare_ids("a1", "a01").is_ne());
    }
}

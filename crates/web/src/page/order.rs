//! The order of activity ids.

use std::cmp::Ordering;

/// Compares ids so that digits count as numbers: `download_2` is before `download_10`, and
/// `comp_5_2` before `comp_5_10`. A total order: ids that differ only in leading zeros fall back to
/// the order of their bytes.
pub fn compare_ids(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    while let (Some(&p), Some(&q)) = (x.first(), y.first()) {
        let order = if p.is_ascii_digit() && q.is_ascii_digit() {
            let (m, n) = (take_number(&mut x), take_number(&mut y));
            m.len().cmp(&n.len()).then_with(|| m.cmp(n))
        } else {
            (x, y) = (&x[1..], &y[1..]);
            p.cmp(&q)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

/// Splits the digits off the front of `text` and returns them without leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().position(|&b| b != b'0').unwrap_or(digits.len());
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_compare_as_numbers_of_any_length() {
        let mut ids = [
            "pchunk_0_2",
            "download_10",
            "download_2",
            "comp_5_10",
            "comp_5_2",
            "comp_5",
            "comp_123456789012345678901234567890",
            "comp_05",
        ];
        ids.sort_by(|a, b| compare_ids(a, b));
        assert_eq!(
            ids,
            [
                "comp_05",
                "comp_5",
                "comp_5_2",
                "comp_5_10",
                "comp_123456789012345678901234567890",
                "download_2",
                "download_10",
                "pchunk_0_2",
            ]
        );
    }

    proptest! {
        #[test]
        fn the_order_is_total(
            a in "[a0-2_]{0,6}", b in "[a0-2_]{0,6}", c in "[a0-2_]{0,6}",
        ) {
            prop_assert_eq!(compare_ids(&a, &b), compare_ids(&b, &a).reverse());
            prop_assert_eq!(compare_ids(&a, &b) == Ordering::Equal, a == b);
            if compare_ids(&a, &b).is_le() && compare_ids(&b, &c).is_le() {
                prop_assert!(compare_ids(&a, &c).is_le());
            }
        }
    }
}

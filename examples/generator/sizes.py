"""Lists of sizes, in bytes, that meet published figures exactly. Nothing here is random."""

from __future__ import annotations

import math
from collections.abc import Sequence


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """``total`` divided in proportion to ``weights``: whole numbers with exactly that sum.

    The units lost by rounding down go to the largest remainders, the earlier first.
    """
    exact = [total * weight / sum(weights) for weight in weights]
    shares = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (shares[i] - exact[i], i))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares


def logarithmic(count: int, smallest: int, largest: int, total: int) -> list[int]:
    """Ascending sizes from ``smallest`` to ``largest`` with the sum ``total``, about log-uniform.

    The size at quantile u of the list is smallest·(largest/smallest)^(u^p), with the p that gives
    the sum; p = 1 is the log-uniform distribution.
    """

    def sizes(exponent: float) -> list[float]:
        return [
            smallest * (largest / smallest) ** ((i / (count - 1)) ** exponent) for i in range(count)
        ]

    # The sum falls as the exponent grows; 60 halvings exhaust the precision of a float.
    low, high = 0.01, 100.0
    if not sum(sizes(high)) <= total <= sum(sizes(low)):
        raise ValueError(f"no {count} sizes from {smallest} to {largest} have the sum {total}")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if sum(sizes(middle)) > total else (low, middle)
    fitted = [round(size) for size in sizes(low)]
    # Rounding leaves the sum a few bytes off: spread them over the middle of the list.
    error = total - sum(fitted)
    first = (count - abs(error)) // 2
    for i in range(first, first + abs(error)):
        fitted[i] += 1 if error > 0 else -1
    return fitted


def even(count: int, smallest: int, total: int) -> list[int]:
    """Ascending sizes in equal steps from ``smallest``, with the sum ``total``."""
    largest = 2 * total // count - smallest
    steps = apportion(total - count * smallest, list(range(count)))
    assert steps[0] == 0 and abs(smallest + steps[-1] - largest) <= 1
    return [smallest + step for step in steps]


def mixed(items: Sequence[int]) -> list[int]:
    """The items in an order that keeps neighbours apart: golden-section steps round the list."""
    count = len(items)
    step = next(s for s in range(round(0.618 * count), count + 1) if math.gcd(s, count) == 1)
    return [items[i * step % count] for i in range(count)]


def interleaved(few: Sequence[int], many: Sequence[int]) -> list[int]:
    """Both lists in one, each spread evenly over the whole."""
    places = [
        ((i + 0.5) / len(items), item) for items in (few, many) for i, item in enumerate(items)
    ]
    return [item for _, item in sorted(places, key=lambda place: place[0])]

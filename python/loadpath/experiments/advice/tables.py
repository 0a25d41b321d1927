"""Advice as tables for people."""

from loadpath.experiments.advice.model import Advice, Gain, Item

__all__ = ["COLUMNS", "NETWORK_COLUMNS", "headline", "markdown", "network_rows", "ranked_rows"]

COLUMNS = ["change", "gain ms", "95 % interval", "gain %", "loses on", "critical path"]
NETWORK_COLUMNS = ["change", "network", "before ms", "after ms", "gain ms", "95 % interval"]


def headline(advice: Advice) -> list[str]:
    """What the table is about, a line each."""
    _, given = advice.networks[0]
    others = ", ".join(name for name, _ in advice.networks[1:])
    lines = [
        f"{advice.page} ({advice.came_from}): {advice.before_ms:.0f} ms, {advice.label}, profile "
        f"{advice.profile}, {given}, {advice.runs} runs, seed {advice.seed}",
        f"also tried on: {others}",
    ]
    combination = advice.combination
    if combination is None:
        return [*lines, "no combination gains beyond the interval"]
    after = combination.item.gain.after_ms or 0.0
    gain = combination.item.gain.gain_ms or 0.0
    return [
        *lines,
        f"together {advice.before_ms:.0f} to {after:.0f} ms: {' + '.join(combination.names)}; the "
        f"single gains would sum up to {combination.sum_of_single_gains_ms:.0f} ms, together they "
        f"gain {gain:.0f} ms",
    ]


def ranked_rows(advice: Advice, *, all_changes: bool = False) -> list[list[str]]:
    """The combination, then what gains, the best first; with `all_changes` what does not, too."""
    items = [item for item in advice.items if item.recommended or all_changes]
    rows = [_row(item.change.title, item) for item in items]
    if advice.combination is not None:
        names = " + ".join(advice.combination.names)
        rows.insert(0, _row(f"together: {names}", advice.combination.item))
    return rows


def network_rows(advice: Advice) -> list[list[str]]:
    """Every change on every network."""
    items = list(advice.items)
    if advice.combination is not None:
        items.insert(0, advice.combination.item)
    return [
        [
            item.change.name,
            gain.network,
            _ms(gain.before_ms),
            _ms(gain.after_ms),
            _signed(gain.gain_ms),
            _interval(gain),
        ]
        for item in items
        for gain in (item.gain, *item.neighbours)
    ]


def markdown(advice: Advice) -> str:
    """A page for a report or a pull request."""
    lines = [f"# What would make {advice.page} load faster", ""]
    lines += [f"{line}." for line in headline(advice)]
    lines += ["", *_table(COLUMNS, ranked_rows(advice)), ""]
    caveats = {item.change.title: item.change.caveat for item in advice.items if _has_caveat(item)}
    lines += [f"* {title}: {caveat}." for title, caveat in caveats.items()]
    worse = [item for item in advice.items if not item.recommended]
    if worse:
        names = ", ".join(f"{i.change.name} ({_signed(i.gain.gain_ms)} ms)" for i in worse)
        lines += ["", f"Tried, and of no use here: {names}."]
    if advice.left_out:
        names = "; ".join(f"{left.name}: {left.reason}" for left in advice.left_out)
        lines += ["", f"Left out: {names}."]
    lines += [f"\nNote: {warning}." for warning in advice.warnings]
    lines += ["", "All times are simulated page load times; a positive gain is faster.", ""]
    return "\n".join(lines)


def _has_caveat(item: Item) -> bool:
    return item.recommended and bool(item.change.caveat)


def _row(title: str, item: Item) -> list[str]:
    gain = item.gain
    percent = "-" if gain.gain_percent is None else f"{gain.gain_percent:+.1f}"
    return [title, _signed(gain.gain_ms), _interval(gain), percent, _losses(item), item.why]


def _losses(item: Item) -> str:
    by_name = {gain.network: gain for gain in (item.gain, *item.neighbours)}
    return ", ".join(
        f"{name} ({'fails' if by_name[name].gain_ms is None else _signed(by_name[name].gain_ms)})"
        for name in item.loses_on
    )


def _interval(gain: Gain) -> str:
    if gain.low_ms is None or gain.high_ms is None:
        return "-"
    return f"{gain.low_ms:+.1f} to {gain.high_ms:+.1f}"


def _signed(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:+.1f}"


def _ms(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.1f}"


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    cells = (columns, ["---"] * len(columns), *rows)
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in cells]

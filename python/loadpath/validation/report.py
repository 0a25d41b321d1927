"""A validation as Markdown and CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from loadpath.output import write_atomic
from loadpath.validation.accuracy import Accuracy, CellResult, accuracy, halves
from loadpath.validation.predict import LOSSY_RUNS, round_trips
from loadpath.validation.study import Result

__all__ = ["BYTES", "LANTERN", "PCP", "SIMULATED", "Method", "csv_text", "markdown", "write_report"]

Method = Callable[[CellResult], float | None]
"""A prediction of a cell's load time, ms."""

SIMULATED, PCP, BYTES, LANTERN = (
    "profile `linux`",
    "profile `pcp`",
    "bytes and round trips",
    "Lantern",
)

SAME_LOSSES = "the same, of the same losses"
"""Where packets may be lost: medians over the simulated runs whose loads were measured."""

WORST = 25
"""Cells in the list of the worst."""


def methods(cells: Sequence[CellResult]) -> dict[str, Method]:
    """All methods of prediction; the round trips are fitted to the pages for tuning."""
    found: dict[str, Method] = {
        SIMULATED: lambda cell: cell.predicted_ms,
        PCP: lambda cell: cell.pcp_ms,
    }
    trips = fitted_round_trips(cells)
    if trips:

        def plain(cell: CellResult) -> float | None:
            if cell.prediction is None or cell.http not in trips:
                return None
            return cell.prediction.bytes_ms + trips[cell.http] * cell.network.rtt_ms

        found[BYTES] = plain
    if any(cell.lantern_ms is not None for cell in cells):
        found[LANTERN] = lambda cell: cell.lantern_ms
    return found


def fitted_round_trips(cells: Sequence[CellResult]) -> dict[str, float]:
    """Round trips by protocol, of cells for tuning without loss; of all cells without such ones."""
    trips: dict[str, float] = {}
    for http in sorted({cell.http for cell in cells}):
        usable = [
            cell
            for cell in cells
            if cell.http == http
            and not cell.network.lossy
            and cell.prediction is not None
            and cell.measured_ms
        ]
        fit = [cell for cell in usable if not cell.held_out] or usable
        if fit:
            trips[http] = round_trips(
                [cell.median_ms or 0.0 for cell in fit],
                [cell.prediction.bytes_ms for cell in fit if cell.prediction],
                [cell.network.rtt_ms for cell in fit],
            )
    return trips


def write_report(result: Result, folder: Path, name: str, title: str, command: str) -> list[Path]:
    """Write NAME.md and NAME.csv; their paths.

    Raises
    ------
    LoadpathError
        They cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        folder / f"{name}.csv": csv_text(result.cells),
        folder / f"{name}.md": markdown(result, name, title, command),
        folder / f"{name}-resources.csv": _resources_csv(result.cells),
    }
    for path, text in files.items():
        write_atomic(path, text, force=True)
    return list(files)


def markdown(result: Result, name: str, title: str, command: str) -> str:
    """The whole report."""
    cells, where = result.cells, result.environment
    found = methods(cells)
    plain = [cell for cell in cells if not cell.network.lossy and cell.http != "h3"]
    quic = [cell for cell in cells if not cell.network.lossy and cell.http == "h3"]
    lossy = [cell for cell in cells if cell.network.lossy]
    parts = [
        f"# {title}\n",
        f"Written by `{command}`; all cells are in [{name}.csv]({name}.csv), responses in\n"
        f"[{name}-resources.csv]({name}-resources.csv).\n",
        "Measured: **emulated** (kernels, server, Chromium behind an emulated link), medians of\n"
        f"up to {result.plan.runs} loads, {result.plan.lossy_runs} where packets may be lost. "
        "Predicted: **simulated**, the graph of one\nprofile for each page, medians of "
        f"{LOSSY_RUNS} loads where packets may be lost. An error is that of the\npredicted against "
        "the measured time. Pages are held out by a hash of their names.\n",
        f"{where.date}, {where.processors} processors, {where.system}, {where.browser}.\n",
    ]
    counted = sum(len(cell.measured_ms) for cell in cells)
    rejected = sum(cell.rejected for cell in cells)
    parts.append(
        f"{len({cell.page for cell in cells})} pages, {len(cells)} cells, {counted} loads counted, "
        f"{rejected} rejected (late link, busy machine, control load moved, no load event).\n"
    )
    if plain:
        parts += ["## Cells without loss\n", _methods_table(plain, found)]
    if quic:
        parts += ["### HTTP/3, predicted by QUIC-lite\n", _methods_table(quic, found)]
    if plain or quic:
        parts += ["### By protocol and network\n", _groups_table([*plain, *quic])]
        parts += ["### Responses\n", _RESOURCES, _resources_table([*plain, *quic])]
    if lossy:
        parts += ["## Cells with loss\n", _LOSSY, _lossy_table(lossy)]
        parts += ["### Load by load\n", _SINGLE, _single_table(lossy)]
        linux = {SIMULATED: found[SIMULATED], SAME_LOSSES: lambda cell: cell.same_runs_ms}
        found = {**linux, **found}
        for title, members in (
            ("HTTP/1.1 and HTTP/2", [cell for cell in lossy if cell.http != "h3"]),
            ("HTTP/3, predicted by QUIC-lite", [cell for cell in lossy if cell.http == "h3"]),
        ):
            if members:
                parts += [f"### {title}\n", _methods_table(members, found)]
    trips = fitted_round_trips(cells)
    if trips:
        text = ", ".join(f"{http} {number:.1f}" for http, number in trips.items())
        parts += [_BASELINES.format(trips=text)]
    parts += ["## Worst cells\n", _worst_table(cells)]
    problems = sorted({f"{cell.page}: {cell.problem}" for cell in cells if cell.problem})
    if problems:
        parts += ["## Problems\n", "".join(f"- {problem}\n" for problem in problems)]
    return "\n".join(parts)


CLOSE = 0.05
"""An error that hardly matters, whatever the interval."""

_RESOURCES = """Completion of each response before the load event, median against prediction.
"""

_LOSSY = """Each cell is judged by its own interval: whether the predicted median lies inside the
bootstrap interval (95 %) of the measured one. Beside it the cells where it lies inside or is off by
no more than 5 %: where a queue is the only cause of loss, intervals are often 1 % wide. "Half the
loads" is in how many of the cells with six loads or more the median of every other load lies in the
interval of those between, which tells how far so few loads scatter.

The link of a cell's k-th load draws the same random numbers in both worlds, whatever the page, so
the same packets of each direction are lost, by number. Loads with one k are lucky or not together,
over all pages; with few loads a cell all cells err to one side by that. "Same losses" is the median
over those simulated runs alone whose loads were measured: what is left there is the model's error.
"""

_SINGLE = """Each measured load against the simulated one with the same losses, without any median.
A packet more or less of a handshake moves all later losses by one packet, in one world alone.
"""

_BASELINES = """`pcp`: the same graph with every default of the PCP thesis, over the same network.
Bytes and round trips: the page's bytes over the rate, and k round trips, with k fitted to the
tuning pages ({trips}).
"Half the loads" is what one half of a cell's loads says of the other: no prediction can be better.
"""


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    rule = ["---"] * words + ["---:"] * (len(headings) - words)
    return "".join(f"| {' | '.join(line)} |\n" for line in (headings, rule, *rows))


_ACCURACY = ("cells", "median error", "MAPE", "bias", "largest", "Spearman", "within 10 %")


def _accuracy_row(found: Accuracy | None) -> list[str]:
    if found is None:
        return ["0", *["-"] * 6]
    return [
        str(found.cells),
        f"{found.median_absolute:.1%}",
        f"{found.mean_absolute:.1%}",
        f"{found.bias:+.1%}",
        f"{found.largest:.1%}",
        "-" if found.spearman is None else f"{found.spearman:.3f}",
        f"{found.within:.0%}",
    ]


def _of(cells: Iterable[CellResult], method: Method) -> Accuracy | None:
    return accuracy((method(cell), cell.median_ms) for cell in cells)


def _noise(cells: Iterable[CellResult]) -> Accuracy | None:
    return accuracy(found for cell in cells if (found := halves(cell.measured_ms)) is not None)


def _sets(cells: Sequence[CellResult]) -> list[tuple[str, list[CellResult]]]:
    sets = [
        ("held out", [cell for cell in cells if cell.held_out]),
        ("tuning", [cell for cell in cells if not cell.held_out]),
        ("all", list(cells)),
    ]
    return [(name, members) for name, members in sets if members]


def _methods_table(cells: Sequence[CellResult], found: dict[str, Method]) -> str:
    rows = []
    for method, predicted in found.items():
        for name, members in _sets(cells):
            rows.append([method, name, *_accuracy_row(_of(members, predicted))])
    rows.append(["half the loads", "all", *_accuracy_row(_noise(cells))])
    return _table(("predicted by", "pages", *_ACCURACY), rows, words=2)


def _groups_table(cells: Sequence[CellResult]) -> str:
    rows = []

    networks = list(dict.fromkeys(cell.network.name for cell in cells))
    for http in sorted({cell.http for cell in cells}):
        for network in ("all", *networks):
            chosen = [
                cell
                for cell in cells
                if cell.http == http and network in ("all", cell.network.name)
            ]
            for name, members in _sets(chosen):
                rows.append(
                    [
                        http,
                        network,
                        name,
                        *_accuracy_row(_of(members, lambda cell: cell.predicted_ms)),
                    ]
                )
    return _table(("HTTP", "network", "pages", *_ACCURACY), rows, words=3)


def _resources_table(cells: Sequence[CellResult]) -> str:
    rows = []
    for http in sorted({cell.http for cell in cells}):
        for name, members in _sets([cell for cell in cells if cell.http == http]):
            pairs = [
                (each.predicted_ms, each.measured_ms) for cell in members for each in cell.resources
            ]
            rows.append([http, name, *_accuracy_row(accuracy(pairs))])
    return _table(("HTTP", "pages", "responses", *_ACCURACY[1:]), rows, words=2)


def _lossy_table(cells: Sequence[CellResult]) -> str:
    rows = []
    networks = list(dict.fromkeys(cell.network.name for cell in cells))
    for http in ("all", *sorted({cell.http for cell in cells})):
        for network in ("all", *networks):
            for name, members in _sets(
                [
                    cell
                    for cell in cells
                    if http in ("all", cell.http) and network in ("all", cell.network.name)
                ]
            ):
                judged = [cell for cell in members if cell.inside(cell.predicted_ms) is not None]
                if judged:
                    rows.append([http, network, name, *_inside_row(judged)])
    headings = (
        "HTTP",
        "network",
        "pages",
        "cells",
        "inside",
        "or within 5 %",
        "same losses: inside",
        "half the loads",
    )
    return _table(headings, rows, words=3)


def _single_table(cells: Sequence[CellResult]) -> str:
    rows = []
    for http in sorted({cell.http for cell in cells}):
        for network in dict.fromkeys(cell.network.name for cell in cells):
            for name, members in _sets(
                [cell for cell in cells if (cell.http, cell.network.name) == (http, network)]
            ):
                pairs = [pair for cell in members for pair in cell.pairs_ms]
                rows.append([http, network, name, *_accuracy_row(accuracy(pairs))])
    return _table(("HTTP", "network", "pages", "loads", *_ACCURACY[1:]), rows, words=3)


def _inside_row(cells: Sequence[CellResult]) -> list[str]:
    inside = [bool(cell.inside(cell.predicted_ms)) for cell in cells]
    same_losses = [bool(cell.inside(cell.same_runs_ms)) for cell in cells]
    errors = [cell.error(cell.predicted_ms) for cell in cells]
    close = [
        hit or (error is not None and abs(error) <= CLOSE)
        for hit, error in zip(inside, errors, strict=True)
    ]
    halves = [cell.half_inside for cell in cells if cell.half_inside is not None]
    return [
        str(len(cells)),
        f"{fmean(inside):.0%}",
        f"{fmean(close):.0%}",
        f"{fmean(same_losses):.0%}",
        f"{fmean(halves):.0%} of {len(halves)}" if halves else "-",
    ]


def _worst_table(cells: Sequence[CellResult]) -> str:
    def size(cell: CellResult) -> float:
        error = cell.error(cell.predicted_ms)
        return -1.0 if error is None else abs(error)

    rows = []
    for cell in sorted(cells, key=size, reverse=True)[:WORST]:
        error = cell.error(cell.predicted_ms)
        if error is None or cell.median_ms is None:
            continue
        interval = cell.interval_ms
        rows.append(
            [
                cell.page,
                cell.http,
                cell.network.name,
                "held out" if cell.held_out else "tuning",
                str(len(cell.measured_ms)),
                f"{cell.median_ms:.0f}",
                f"{interval[0]:.0f} to {interval[1]:.0f}" if interval else "-",
                f"{cell.predicted_ms:.0f}",
                f"{error:+.1%}",
            ]
        )
    headings = (
        "page",
        "HTTP",
        "network",
        "pages",
        "loads",
        "measured, ms",
        "interval",
        "predicted, ms",
        "error",
    )
    return _table(headings, rows, words=4)


def csv_text(cells: Sequence[CellResult]) -> str:
    """Every cell, in the order of the plan."""
    found = methods(cells)
    names = {SIMULATED: "predicted", PCP: "pcp", BYTES: "bytes_rtts", LANTERN: "lantern"}
    columns = [
        "page",
        "set",
        "http",
        "network",
        "loads",
        "rejected",
        "measured_ms",
        "low_ms",
        "high_ms",
        *(f"{names[method]}_{what}" for method in found for what in ("ms", "error")),
        "inside",
        "same_losses_ms",
        "same_losses_error",
        "half_error",
        "responses",
        "responses_median_error",
        "problem",
    ]
    rows = []
    for cell in cells:
        interval = cell.interval_ms or (None, None)
        split = halves(cell.measured_ms)
        responses = [abs(each.predicted_ms / each.measured_ms - 1) for each in cell.resources]
        predicted = [method(cell) for method in found.values()]
        inside = cell.inside(cell.predicted_ms)
        rows.append(
            [
                cell.page,
                "held-out" if cell.held_out else "tuning",
                cell.http,
                cell.network.name,
                len(cell.measured_ms),
                cell.rejected,
                _ms(cell.median_ms),
                *map(_ms, interval),
                *(text for value in predicted for text in (_ms(value), _share(cell.error(value)))),
                "" if inside is None else int(inside),
                _ms(cell.same_runs_ms),
                _share(cell.error(cell.same_runs_ms)),
                "" if split is None else _share(split[0] / split[1] - 1),
                len(responses),
                f"{median(responses):.3f}" if responses else "",
                cell.problem,
            ]
        )
    return _csv([columns, *rows])


def _resources_csv(cells: Sequence[CellResult]) -> str:
    rows: list[list[object]] = [["page", "http", "network", "url", "measured_ms", "predicted_ms"]]
    for cell in cells:
        rows += [
            [
                cell.page,
                cell.http,
                cell.network.name,
                each.url,
                _ms(each.measured_ms),
                _ms(each.predicted_ms),
            ]
            for each in cell.resources
        ]
    return _csv(rows)


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:+.4f}"

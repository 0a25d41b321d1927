"""What there is to say about a sweep: cells, comparisons, and the figures that fit its axes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from loadpath.analysis.cells import Record, cell_table, comparison_table, stored_specification
from loadpath.analysis.figures import Figure
from loadpath.analysis.figures.units import value_label
from loadpath.analysis.stored_figures import RATE, RTT, Wanted, draw_stored
from loadpath.errors import LoadpathError
from loadpath.experiments.preset import Result, Table
from loadpath.experiments.sweep.specification import Axis, Specification
from loadpath.experiments.sweep.store import PlanFolder

__all__ = ["MOST_CELLS", "sweep_result"]

MOST_CELLS = 20_000
"""Of a report; beyond it, cells leave out the axes with the most values."""
_MOST_FIGURES = 12
_MOST_LINES = 7

_BRIEF = (
    *("sites", "pairs", "mean_baseline", "mean_variant", "difference_mean", "difference_sd"),
    *("improvement_percent", "same_or_better_percent", "anova_p", "site_t_p", "site_t_p_holm"),
    *("site_wilcoxon_p", "site_wilcoxon_p_holm", "failed"),
)


def sweep_result(folder: PlanFolder) -> Result:
    """The finished loads of a plan as a result: tables, figures, settings.

    Raises
    ------
    LoadpathError
        No load is finished.
    """
    specification = stored_specification(folder)
    manifest = folder.manifest
    if not folder.finished_rows:
        raise LoadpathError(f"{folder.path}: no load is finished")
    axes = {axis.name: axis for axis in specification.axes}
    by = _cells_of(axes)
    cells = cell_table(folder, by, specification.metric)
    comparisons = {c.name: comparison_table(folder, c) for c in specification.comparisons}
    figures = [*_figures(folder, specification, axes), *_compared(folder, comparisons, axes)]
    return Result(
        title=f"Sweep {manifest.name} (simulated)",
        columns=list(cells[0]),
        rows=[list(cell.values()) for cell in cells],
        notes=list(_notes(folder, specification, by, cells, comparisons)),
        tables=[_comparison(name, rows) for name, rows in comparisons.items() if rows],
        figures=figures[:_MOST_FIGURES],
        settings=_settings(folder, specification),
    )


def _cells_of(axes: Mapping[str, Axis]) -> list[str]:
    by = list(axes)
    while by and _product(len(axes[name].choices) for name in by) > MOST_CELLS:
        by.remove(max(by, key=lambda name: len(axes[name].choices)))
    return by


def _product(counts: Any) -> int:
    total = 1
    for count in counts:
        total *= count
    return total


def _comparison(name: str, rows: Sequence[Record]) -> Table:
    columns = [c for c in rows[0] if c not in _STATISTICS] + [c for c in _BRIEF if c in rows[0]]
    return Table(
        title=f"Comparison {name}: baseline less variant, times in ms",
        columns=columns,
        rows=[[row[column] for column in columns] for row in rows],
    )


_STATISTICS = frozenset(
    {
        *_BRIEF,
        *("same_or_better_pairs_percent",),
        *(
            f"{group}_{field}"
            for group in ("difference", "site_difference")
            for field in ("n", "mean", "median", "sd", "low", "high")
        ),
        *(
            f"{test}_{field}"
            for test in ("anova", "site_anova", "site_t", "site_wilcoxon", "site_mann_whitney")
            for field in (
                *("f", "p", "eta_squared", "df_between", "df_within"),
                *("statistic", "effect", "p_holm", "p_bh"),
            )
        ),
    }
)
"""Columns of comparisons that are no labels."""


def _notes(
    folder: PlanFolder,
    specification: Specification,
    by: Sequence[str],
    cells: Sequence[Record],
    comparisons: Mapping[str, Sequence[Record]],
) -> Iterator[str]:
    manifest = folder.manifest
    yield (
        f"{manifest.pages} pages x {manifest.scenarios} scenarios x {manifest.runs} runs: "
        f"{folder.finished_rows} of {manifest.rows} loads finished (simulated)"
    )
    failed = sum(cell["failed"] for cell in cells)
    if failed:
        yield f"{failed} loads failed; they are in no mean"
    left_out = [axis.name for axis in specification.axes if axis.name not in by]
    if left_out:
        yield f"cells are over all values of {', '.join(left_out)}: there are too many to list"
    for name, rows in comparisons.items():
        gains = [
            row["improvement_percent"] for row in rows if row["improvement_percent"] is not None
        ]
        if gains:
            yield (
                f"comparison {name}: {min(gains):+.1f} to {max(gains):+.1f} % of mean load time; "
                f"variants are faster in {sum(g > 0 for g in gains)} of {len(gains)} rows"
            )


def _figures(
    folder: PlanFolder, specification: Specification, axes: Mapping[str, Axis]
) -> Iterator[Figure]:
    others = [name for name in axes if name not in (RATE, RTT, "random.seed")]
    few = [name for name in others if 1 < len(axes[name].choices) <= _MOST_LINES]
    if _varies(axes, RATE) and _varies(axes, RTT):
        for number, where in enumerate(_conditions(axes, others)):
            yield draw_stored(
                "heat-map",
                folder,
                Wanted(where=where, name=f"median-{number + 1}", title=_titled("Median", where)),
            )
    by = next(iter(few), None)
    x = next(
        (
            name
            for name in (RATE, RTT, *others)
            if _varies(axes, name) and name != by and _is_numeric(axes[name])
        ),
        None,
    )
    if x is not None:
        yield draw_stored("lines", folder, Wanted(x=x, by=by, name="lines"))
    yield draw_stored("cdf", folder, Wanted(by=by, name="cdf"))


def _compared(
    folder: PlanFolder, comparisons: Mapping[str, Sequence[Record]], axes: Mapping[str, Axis]
) -> Iterator[Figure]:
    for comparison in stored_specification(folder).comparisons:
        rows = comparisons[comparison.name]
        if not rows:
            continue
        compared = [name for name, _ in comparison.baseline]
        if _varies(axes, RATE) and _varies(axes, RTT) and not {RATE, RTT} & set(compared):
            others = [n for n in axes if n not in (RATE, RTT, "random.seed", *compared)]
            conditions = list(_conditions(axes, others))
            for number, (variant, where) in enumerate(product(comparison.variants, conditions)):
                chosen = [*((n, str(v)) for n, v in variant), *where]
                yield draw_stored(
                    "heat-map",
                    folder,
                    Wanted(
                        compare=comparison.name,
                        where=chosen,
                        name=f"{comparison.name}-{number + 1}",
                        title=_titled(f"{comparison.name}: improvement (%)", chosen),
                    ),
                )
        yield draw_stored(
            "difference-cdf",
            folder,
            Wanted(compare=comparison.name, name=f"{comparison.name}-differences"),
        )


def _varies(axes: Mapping[str, Axis], name: str) -> bool:
    return name in axes and len(axes[name].choices) > 1


def _is_numeric(axis: Axis) -> bool:
    return all(
        isinstance(c.label, int | float) and not isinstance(c.label, bool) for c in axis.choices
    )


def _conditions(axes: Mapping[str, Axis], names: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """Every combination of the values of some axes, as far as figures go."""
    choices = [[(name, str(c.label)) for c in axes[name].choices] for name in names]
    for number, combination in enumerate(product(*choices)):
        if number == _MOST_FIGURES // 2:
            return
        yield list(combination)


def _titled(title: str, where: Sequence[tuple[str, str]]) -> str:
    return ", ".join([title, *(value_label(key, text) for key, text in where)])


def _settings(folder: PlanFolder, specification: Specification) -> dict[str, Any]:
    manifest = folder.manifest
    return {
        "folder": str(folder.path),
        "plan": manifest.plan,
        "created": manifest.created,
        "version": manifest.version,
        "commit": manifest.commit,
        "machine": f"{manifest.machine.system}, {manifest.machine.machine}, "
        f"{manifest.machine.processors} processors",
        "profile": specification.profile,
        "pages": manifest.pages,
        "runs": manifest.runs,
        "seeds": ", ".join(map(str, manifest.seeds)),
        "metric": specification.metric,
        **{
            axis.name: ", ".join(value_label(axis.name, c.label) for c in axis.choices)
            for axis in specification.axes
        },
    }

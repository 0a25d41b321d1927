"""Figures of a sweep, by the name of their kind; numbers come from `cells` and `query`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadpath.analysis.cells import (
    Record,
    cell_table,
    comparison_table,
    find_comparison,
    stored_specification,
)
from loadpath.analysis.figures import (
    Figure,
    bars,
    best_choice,
    best_choices,
    cdf,
    contour,
    cost_of_choice,
    difference_cdf,
    heat_map,
    histogram,
    lines,
    regions,
    surface,
)
from loadpath.analysis.figures.units import axis_label, value_label
from loadpath.analysis.query import columns_of, open_tables, quoted
from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.experiments.sweep.specification import Metric
from loadpath.experiments.sweep.store import PlanFolder

__all__ = ["KINDS", "Wanted", "draw_stored"]

RATE, RTT = "network.rate_bps", "network.rtt_ms"
_MEMORY = "1GiB"
_MOST_SERIES = 12


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to draw of a sweep; `None` takes what the kind usually shows."""

    x: str | None = None
    y: str | None = None
    by: str | None = None
    """What makes lines, or bars within a group."""
    value: str | None = None
    """A column of `cell_table`, or of `comparison_table` with `compare`."""
    compare: str | None = None
    """A comparison of the specification."""
    where: Sequence[tuple[str, str]] = ()
    """Columns and the value that they must have, as printed or as stored."""
    choice: str | None = None
    """For best and cost: the axis of the choices, whose values are whole numbers."""
    fixed: int | None = None
    """For cost: the choice whose cost is wanted."""
    margin: float | None = None
    """What counts as the same: in ms for best and cost, in units of the value for regions."""
    title: str | None = None
    name: str | None = None
    """Stem of the files; the kind by default."""


def draw_stored(kind: str, folder: PlanFolder, wanted: Wanted) -> Figure:
    """A figure of a plan's finished loads.

    Raises
    ------
    NotFoundError
        There is no such kind, or no such comparison.
    LoadpathError
        The figure needs a column that is not there, or nothing is left to draw.
    """
    draw = KINDS.get(kind)
    if draw is None:
        raise hinted(
            NotFoundError(f"there is no kind of figure named {kind!r}"),
            f"the kinds are {', '.join(KINDS)}",
        )
    return draw(_Source(kind, folder, wanted))


class _Source:
    """What was asked for, and the rows of the plan for it."""

    def __init__(self, kind: str, folder: PlanFolder, wanted: Wanted) -> None:
        self.kind = kind
        self.folder = folder
        self.wanted = wanted
        self.axes = list(folder.manifest.axes)
        self.metric: Metric = stored_specification(folder).metric

    def axis(self, option: str, given: str | None, *usual: str, besides: Sequence[str] = ()) -> str:
        """The column that was asked for, else the first usual axis that varies, else any."""
        if given is not None:
            return given
        candidates = [axis for axis in (*usual, *self.axes) if axis in self.axes]
        chosen = next((axis for axis in candidates if axis not in besides), None)
        if chosen is None:
            raise hinted(
                LoadpathError(f"{self.kind}: --{option} is missing"),
                f"what varies is {', '.join(self.axes) or 'nothing'}",
            )
        return chosen

    @property
    def value(self) -> str:
        usual = "median_ms" if self.wanted.compare is None else "improvement_percent"
        return self.wanted.value or usual

    def rows(self, columns: Sequence[str], values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Rows of these columns and values, one for each combination of the columns."""
        keys = list(dict.fromkeys([*columns, *(key for key, _ in self.wanted.where)]))
        if self.wanted.compare is None:
            records = cell_table(self.folder, keys, self.metric)
        else:
            records = comparison_table(
                self.folder, find_comparison(self.folder, self.wanted.compare)
            )
        for column in (*keys, *values):
            if records and column not in records[0]:
                raise hinted(
                    LoadpathError(f"{self.kind}: there is no column {column}"),
                    f"the columns are {', '.join(records[0])}",
                )
        for key, text in self.wanted.where:
            records = _filtered(records, key, text)
        rows = [tuple(record[column] for column in (*columns, *values)) for record in records]
        labels = [row[: len(columns)] for row in rows]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise hinted(
                LoadpathError(f"{self.kind}: several rows for {', '.join(map(str, twice))}"),
                f"choose one with --where KEY=VALUE; what varies is {', '.join(self.axes)}",
            )
        if not rows:
            raise LoadpathError(f"{self.folder.path}: no finished loads to draw")
        return rows

    def text(self, title: str) -> dict[str, str]:
        manifest = self.folder.manifest
        where = "".join(
            f", {axis_label(key, unit=False)} {text}" for key, text in self.wanted.where
        )
        compared = self.wanted.compare
        return {
            "name": self.wanted.name or self.kind,
            "title": self.wanted.title or title,
            "caption": f"Sweep {manifest.name}, plan {manifest.plan}: {manifest.pages} pages, "
            f"{manifest.runs} runs, {self.folder.finished_rows} of {manifest.rows} loads"
            f"{where}{'' if compared is None else f', comparison {compared}'} (simulated).",
        }

    def samples(self, by: str | None) -> dict[str, list[float]]:
        """Load times in ms of all loads, by the values of a column."""
        with open_tables([self.folder], memory=_MEMORY) as connection:
            known = columns_of(connection, "loads")
            for column in (*([by] if by else []), *(key for key, _ in self.wanted.where)):
                if column not in known:
                    raise hinted(
                        LoadpathError(f"{self.kind}: there is no column {column}"),
                        f"the columns are {', '.join(known)}",
                    )
            conditions = [f"{self.metric} IS NOT NULL"]
            parameters: list[object] = []
            for key, text in self.wanted.where:
                stored = connection.execute(
                    f"SELECT DISTINCT {quoted(key)} AS v FROM loads ORDER BY v"
                ).fetchall()
                values = _filtered([{key: value} for (value,) in stored], key, text)
                conditions.append(f"{quoted(key)} = ?")
                parameters.append(values[0][key])
            where = " AND ".join(conditions)
            if by is None:
                groups: list[Any] = [None]
            else:
                found = connection.execute(
                    f"SELECT DISTINCT {quoted(by)} AS g FROM loads WHERE {where} ORDER BY g",
                    parameters,
                ).fetchall()
                groups = [group for (group,) in found]
            if len(groups) > _MOST_SERIES:
                raise hinted(
                    LoadpathError(f"{self.kind}: {by} has {len(groups)} values"),
                    f"a figure shows {_MOST_SERIES} lines at most: choose with --by and --where",
                )
            samples = {}
            for group in groups:
                one = "" if by is None else f" AND {quoted(by)} = ?"
                times = connection.execute(
                    f"SELECT {self.metric} AS t FROM loads WHERE {where}{one}",
                    [*parameters, *([] if by is None else [group])],
                ).fetchnumpy()["t"]
                label = "all loads" if by is None else value_label(by, group)
                samples[label] = times.tolist()
        if not any(samples.values()):
            raise LoadpathError(f"{self.folder.path}: no finished loads to draw")
        return samples


def _filtered(records: list[Record], key: str, text: str) -> list[Record]:
    def matches(value: Any) -> bool:
        if text in (str(value), value_label(key, value)):
            return True
        try:
            return isinstance(value, int | float) and float(text) == float(value)
        except ValueError:
            return False

    kept = [record for record in records if matches(record[key])]
    if records and not kept:
        values = dict.fromkeys(value_label(key, record[key]) for record in records)
        raise hinted(
            NotFoundError(f"--where {key}={text}: no load has that"),
            f"its values are {', '.join(values)}",
        )
    return kept


def _plane(source: _Source, first: str, second: str) -> tuple[str, str, str]:
    """Columns of x, y and value; `first` and `second` are usual."""
    x = source.axis("x", source.wanted.x, first, besides=[source.wanted.y or second])
    y = source.axis("y", source.wanted.y, second, besides=[x])
    return x, y, source.value


def _heat_map(source: _Source) -> Figure:
    x, y, value = _plane(source, RTT, RATE)
    columns = (x, y, value)
    centred = source.wanted.compare is not None and source.wanted.value in (
        *(None, "improvement_percent", "difference_mean", "difference_median"),
        "site_difference_mean",
    )
    return heat_map(
        **source.text(axis_label(value)),  # type: ignore[arg-type]
        columns=columns,
        rows=source.rows((x, y), (value,)),
        x=x,
        y=y,
        value=value,
        centre=0.0 if centred else None,
        log=value.endswith("_ms"),
        digits=0 if value.endswith("_ms") else 1,
    )


def _regions(source: _Source) -> Figure:
    if source.wanted.compare is None:
        raise hinted(LoadpathError("regions: --compare is missing"), "what is compared?")
    x, y, value = _plane(source, RTT, RATE)
    return regions(
        **source.text(f"Where it helps: {axis_label(value)}"),  # type: ignore[arg-type]
        columns=(x, y, value),
        rows=source.rows((x, y), (value,)),
        x=x,
        y=y,
        value=value,
        margin=source.wanted.margin or 0.0,
    )


def _surface(source: _Source) -> Figure:
    return _over_plane(source, surface)


def _contour(source: _Source) -> Figure:
    return _over_plane(source, contour)


def _over_plane(source: _Source, draw: Callable[..., Figure]) -> Figure:
    x, y, value = _plane(source, RATE, RTT)
    rows = source.rows((x, y), (value,))
    for place, column in enumerate((x, y)):
        values = {row[place] for row in rows}
        if len(values) < 2 or any(isinstance(v, str | bool) for v in values):
            raise LoadpathError(f"{source.kind}: {column} needs two numbers at least")
    positive = all(row[0] > 0 for row in rows)
    return draw(
        **source.text(axis_label(value)),
        columns=(x, y, value),
        rows=rows,
        x=x,
        y=y,
        value=value,
        log_x=positive,
    )


def _lines(source: _Source) -> Figure:
    x = source.axis("x", source.wanted.x, RATE, RTT)
    by = source.wanted.by
    columns = (x,) if by is None else (x, by)
    value = source.value
    return lines(
        **source.text(f"{axis_label(value)} over {axis_label(x, unit=False)}"),  # type: ignore[arg-type]
        columns=(*columns, value),
        rows=source.rows(columns, (value,)),
        x=x,
        y=value,
        by=by,
    )


def _bars(source: _Source) -> Figure:
    x = source.axis("x", source.wanted.x)
    by = source.wanted.by
    value = source.wanted.value or (
        "mean_ms" if source.wanted.compare is None else "improvement_percent"
    )
    ends = {
        "mean_ms": ("low_ms", "high_ms"),
        "difference_mean": ("difference_low", "difference_high"),
    }
    low, high = ends.get(value, (None, None))
    whiskers = () if low is None or high is None else (low, high)
    columns = (x,) if by is None else (x, by)
    return bars(
        **source.text(axis_label(value)),  # type: ignore[arg-type]
        columns=(*columns, value, *whiskers),
        rows=source.rows(columns, (value, *whiskers)),
        x=x,
        value=value,
        by=by,
        low=low,
        high=high,
    )


def _histogram(source: _Source) -> Figure:
    value = source.wanted.value or "mean_ms"
    rows = source.rows(("page",), (value,)) if source.wanted.compare is None else []
    if not rows:
        raise LoadpathError("histogram: of cells, not of comparisons")
    numbers = [float(row[1]) for row in rows if row[1] is not None]
    span = max(numbers) - min(numbers)
    width = source.wanted.margin or max(_round(span / 20), 1e-9)
    return histogram(
        **source.text(f"{axis_label(value)} of pages"),
        values=numbers,
        column=value,
        of="pages",
        width=width,
    )


def _round(value: float) -> float:
    """One significant digit."""
    return float(f"{value:.1g}")


def _cdf(source: _Source) -> Figure:
    by = source.wanted.by
    return cdf(
        **source.text(f"{axis_label(source.metric)} of all loads"),
        samples=source.samples(by),
        column=source.metric,
        by=by or "series",
        log_x=True,
    )


def _difference_cdf(source: _Source) -> Figure:
    if source.wanted.compare is None:
        raise hinted(
            LoadpathError("difference-cdf: --compare is missing"),
            "the figure shows variants less their baseline",
        )
    comparison = find_comparison(source.folder, source.wanted.compare)
    names = [name for name, _ in comparison.baseline]
    with open_tables([source.folder], memory=_MEMORY) as connection:
        varying = ", ".join(map(quoted, names))
        conditions = [f"{comparison.metric} IS NOT NULL"]
        parameters: list[object] = []
        for key, text in source.wanted.where:
            stored = connection.execute(f"SELECT DISTINCT {quoted(key)} FROM loads").fetchall()
            [record] = _filtered([{key: v} for (v,) in stored], key, text)
            conditions.append(f"{quoted(key)} = ?")
            parameters.append(record[key])
        means = connection.execute(
            f"SELECT page, avg({comparison.metric}), {varying} FROM loads "
            f"WHERE {' AND '.join(conditions)} GROUP BY ALL ORDER BY ALL",
            parameters,
        ).fetchall()
    times: dict[tuple[Any, ...], dict[str, float]] = {}
    for page, mean, *labels in means:
        times.setdefault(tuple(labels), {})[page] = mean
    baseline = times.get(tuple(label for _, label in comparison.baseline), {})
    samples = {}
    for variant in comparison.variants:
        of_variant = times.get(tuple(label for _, label in variant), {})
        label = ", ".join(value_label(name, value) for name, value in variant)
        samples[label] = [
            time - baseline[page] for page, time in of_variant.items() if page in baseline
        ]
    if not any(samples.values()):
        raise LoadpathError(f"{source.folder.path}: no finished pairs to draw")
    return difference_cdf(
        **source.text("Mean load times of pages less the baseline's"),
        samples=samples,
        column="difference_ms",
        by="variant",
    )


def _best_rows(source: _Source, fixed: int | None) -> tuple[str, str, str, list[Any]]:
    x = source.axis("x", source.wanted.x, RATE)
    by = source.axis("by", source.wanted.by, RTT, besides=[x])
    choice = source.axis(
        "choice", source.wanted.choice, "http.connections_per_host", besides=[x, by]
    )
    rows = source.rows((x, by, choice), ("median_ms",))
    choices = sorted({row[2] for row in rows})
    if not all(isinstance(c, int) and not isinstance(c, bool) for c in choices):
        raise LoadpathError(f"{source.kind}: the values of {choice} are no whole numbers")
    if fixed is not None and fixed not in choices:
        raise hinted(
            LoadpathError(f"{source.kind}: --fixed {fixed}: {choice} has no such value"),
            f"its values are {', '.join(map(str, choices))}",
        )
    margin = 20.0 if source.wanted.margin is None else source.wanted.margin
    return x, by, choice, best_choices(rows, margin=margin, fixed=fixed or choices[0])


def _best(source: _Source) -> Figure:
    x, by, choice, found = _best_rows(source, None)
    return best_choice(
        **source.text(f"Best {axis_label(choice, unit=False)} by median load time"),
        rows=[row[:3] for row in found],
        x=x,
        by=by,
        choice=choice,
    )


def _cost(source: _Source) -> Figure:
    if source.wanted.fixed is None:
        raise LoadpathError("cost: --fixed is missing: the cost of which choice?")
    x, by, choice, found = _best_rows(source, source.wanted.fixed)
    words = axis_label(choice, unit=False)
    return cost_of_choice(
        **source.text(f"Cost of {source.wanted.fixed} {words} instead of the best"),
        rows=[(row[0], row[1], row[4]) for row in found],
        x=x,
        by=by,
    )


KINDS: Mapping[str, Callable[[_Source], Figure]] = {
    "heat-map": _heat_map,
    "lines": _lines,
    "cdf": _cdf,
    "difference-cdf": _difference_cdf,
    "bars": _bars,
    "regions": _regions,
    "best": _best,
    "cost": _cost,
    "surface": _surface,
    "contour": _contour,
    "histogram": _histogram,
}
"""Every kind by name."""

"""What a sweep is, as a person writes it: a TOML file (docs/guides/sweeps.md).

Everything is checked before the first load: unknown keys, values out of range, names that do not
exist, comparisons of what does not vary.
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from loadpath._core import Scenario, scenario_keys
from loadpath.errors import LoadpathError, SpecificationError, hinted
from loadpath.networks import find_network
from loadpath.outcome import CriticalPhases
from loadpath.parameters import HTTP_NAMES, network_keys, override, scenario_values
from loadpath.transforms import AS_IT_IS

__all__ = [
    "METRICS",
    "RESERVED",
    "ROWS_PER_PART",
    "TRANSFORM",
    "Axis",
    "Choice",
    "Comparison",
    "Metric",
    "PageSelection",
    "Specification",
    "Value",
    "parse_specification",
    "read_specification",
]

Value: TypeAlias = str | int | float | bool
Settings: TypeAlias = tuple[tuple[str, Value], ...]
"""Scenario keys and values."""

Metric: TypeAlias = Literal["plt_ms", "dcl_ms"]
METRICS: tuple[Metric, ...] = get_args(Metric)
"""When a load counts as complete: its load event, or its DOMContentLoaded."""

ROWS_PER_PART = 8192
"""Loads in a part of the store: what an interruption costs at most, some seconds of computing."""

MARGIN_MS = 20.0
"""Mean load times within 20 ms count as equal (PCP thesis, footnote 4 of section 4.4.3.1)."""

RESERVED = frozenset(
    {
        *("sweep", "plan", "row", "number", "page", "run", "scenario", "digest", "source"),
        "transform",
        *("plt_ms", "dcl_ms", "connections", "requests", "bytes", "data_packets", "packets"),
        *("drops", "retransmissions", "timeouts", "tail_losses", "tail_probes", "events"),
        "failure",
        "critical_bytes",
        *(f"critical_{phase}" for phase in CriticalPhases.__struct_fields__),
    }
)
"""Columns of the results, which no axis can be named like."""

TRANSFORM = "transform"
"""Column and axis of what was done to the pages."""


_SECTIONS = frozenset(key["name"].partition(".")[0] for key in scenario_keys())
_KEYS = tuple(key["name"] for key in scenario_keys())
_TOP = (
    *("name", "runs", "seeds", "metric", "profile", "rows_per_part"),
    *("pages", "scenario", "matrix", "compare"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an axis."""

    label: Value
    settings: Settings
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """What varies: a scenario key, the named network, the profile, or named groups of keys."""

    name: str
    choices: tuple[Choice, ...]

    @property
    def keys(self) -> frozenset[str]:
        """The scenario keys that it sets."""
        return frozenset(key for choice in self.choices for key, _ in choice.settings)


@dataclass(frozen=True, slots=True)
class PageSelection:
    """Which pages; see `loadpath.experiments.sweep.pages`."""

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    corpus: Path | None = None
    sharded: bool | None = None
    min_resources: int | None = None
    max_resources: int | None = None
    first: int | None = None
    digests: tuple[tuple[str, str], ...] = ()
    """Page names, and the content that they must have."""
    transforms: tuple[str, ...] = ()
    """What each page is loaded after, `AS_IT_IS` for nothing; empty if it does not vary."""

    @property
    def axis(self) -> Axis | None:
        """The transforms as an axis, which sets no scenario key."""
        if not self.transforms:
            return None
        return Axis(TRANSFORM, tuple(Choice(transform, ()) for transform in self.transforms))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A baseline against variants: labels of some axes; the other axes are its conditions."""

    name: str
    baseline: tuple[tuple[str, Value], ...]
    variants: tuple[tuple[tuple[str, Value], ...], ...]
    margin_ms: float
    metric: Metric


@dataclass(frozen=True, slots=True)
class Specification:
    """A sweep, checked; values as scenarios have them."""

    name: str
    profile: str
    settings: Settings
    axes: tuple[Axis, ...]
    pages: PageSelection
    runs: int
    metric: Metric
    rows_per_part: int
    comparisons: tuple[Comparison, ...]
    folder: Path
    """What relative paths start from."""
    text: str
    """The file, for the record."""

    @property
    def varying(self) -> tuple[Axis, ...]:
        """The axes of pages and of scenarios."""
        axis = self.pages.axis
        return self.axes if axis is None else (axis, *self.axes)

    def resolve(self, choices: Sequence[Choice]) -> Scenario:
        """The scenario of one choice from each axis."""
        profile = next((c.profile for c in choices if c.profile is not None), self.profile)
        settings = [*self.settings, *(pair for choice in choices for pair in choice.settings)]
        return Scenario.resolve(profile, None, [(key, override(value)) for key, value in settings])


def read_specification(path: Path) -> Specification:
    """Read a specification file.

    Raises
    ------
    SpecificationError
        It cannot be read, is not TOML, or says something that is not possible.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecificationError(f"{path}: not UTF-8 at byte {error.start}") from error
    except FileNotFoundError:
        raise hinted(
            SpecificationError(f"there is no specification {path}"),
            "docs/guides/sweeps.md shows what one looks like",
        ) from None
    except OSError as error:
        raise SpecificationError(f"cannot read {path}: {error.strerror}") from error
    return parse_specification(text, origin=str(path), folder=path.parent, name=path.stem)


def parse_specification(text: str, *, origin: str, folder: Path, name: str) -> Specification:
    """As `read_specification`; `name` is the sweep's if the text gives none."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecificationError(f"{origin}: not TOML: {error}") from error
    top = _Table(document, origin, "")
    top.known(_TOP)
    profile = top.text("profile", "pcp")
    settings = _Settings(origin, profile)
    base = settings.read(top.table("scenario"))
    settings.base = base
    axes = _axes(top, settings)
    pages = _pages(top, folder)
    varying = axes if pages.axis is None else (pages.axis, *axes)
    metric = top.choice("metric", METRICS)
    specification = Specification(
        name=_name(top, name),
        profile=profile,
        settings=base,
        axes=axes,
        pages=pages,
        runs=top.integer("runs", 1),
        metric=metric,
        rows_per_part=top.integer("rows_per_part", ROWS_PER_PART, most=10_000_000),
        comparisons=tuple(_comparisons(top, settings, varying, metric)),
        folder=folder,
        text=text,
    )
    # Combinations of the first values, for errors that no single value shows.
    settings.check("scenario", lambda: specification.resolve([axis.choices[0] for axis in axes]))
    return specification


def _name(top: "_Table", default: str) -> str:
    name = top.text("name", default)
    if not name or name.startswith(".") or any(not (c.isalnum() or c in "._-") for c in name):
        raise top.wrong("name", name, "letters, digits, '.', '_' and '-': it names a folder")
    return name


def _pages(top: "_Table", folder: Path) -> PageSelection:
    value = top.values.get("pages")
    if isinstance(value, str | list):
        return PageSelection(include=top.texts("pages"))
    table = top.table("pages")
    table.known(
        (
            *("include", "exclude", "corpus", "sharded"),
            *("min_resources", "max_resources", "first", "digests", TRANSFORM),
        )
    )
    if "include" not in table.values:
        raise hinted(
            SpecificationError(f"{top.origin}: pages: which pages?"),
            'for example pages = ["example:*"], or include = ["graphs/*.json"] in [pages]',
        )
    corpus = table.optional("corpus", table.text)
    return PageSelection(
        include=table.texts("include"),
        exclude=table.texts("exclude") if "exclude" in table.values else (),
        corpus=None if corpus is None else folder / corpus,
        sharded=table.optional("sharded", table.boolean),
        min_resources=table.optional("min_resources", table.integer),
        max_resources=table.optional("max_resources", table.integer),
        first=table.optional("first", table.integer),
        digests=tuple((name, str(digest)) for name, digest in table.table("digests").items()),
        transforms=_transforms(table) if TRANSFORM in table.values else (),
    )


def _transforms(table: "_Table") -> tuple[str, ...]:
    transforms = table.texts(TRANSFORM)
    if not transforms or len(set(transforms)) < len(transforms):
        expected = f"different transforms, as in ['{AS_IT_IS}', 'unshard']"
        raise table.wrong(TRANSFORM, list(transforms), expected)
    return transforms


def _axes(top: "_Table", settings: "_Settings") -> tuple[Axis, ...]:
    axes = []
    matrix = top.table("matrix")
    for name, value in matrix.values.items():
        if name in _SECTIONS or "." in name:
            axes += [settings.key_axis(key, values) for key, values in _flat({name: value})]
        elif name == "profile":
            axes.append(Axis(name, tuple(Choice(p, (), profile=p) for p in matrix.texts(name))))
        elif name == "connectivity":
            axes.append(Axis(name, tuple(map(settings.network, matrix.texts(name)))))
        elif name.lower() in RESERVED | _SECTIONS:  # SQL ignores case.
            error = SpecificationError(f"{top.origin}: matrix.{name}: a column of the results")
            raise hinted(error, "it belongs into [pages]") if name == TRANSFORM else error
        elif isinstance(value, Mapping):
            axes.append(settings.named_axis(name, matrix.table(name)))
        else:
            raise hinted(
                SpecificationError(f"{top.origin}: matrix.{name}: not a scenario key"),
                _did_you_mean(name, [*_KEYS, "connectivity", "profile"])
                or "a group of keys is a table: name = { a = { KEY = VALUE }, b = { ... } }",
            )
    if "seeds" in top.values:
        axes.append(settings.key_axis("random.seed", top.values["seeds"]))
    seen: dict[str, str] = {}
    for axis in axes:
        if not axis.choices:
            raise SpecificationError(f"{top.origin}: matrix.{axis.name}: no values")
        labels = [choice.label for choice in axis.choices]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise SpecificationError(f"{top.origin}: matrix.{axis.name}: {twice!r} is there twice")
        for key in sorted(axis.keys):
            if key in seen:
                raise SpecificationError(
                    f"{top.origin}: matrix: {key} is set by {seen[key]} and by {axis.name}"
                )
            seen[key] = axis.name
        for choice in axis.choices:
            settings.check(f"matrix.{axis.name}", lambda c=choice: settings.with_choice(c))
    # By name, not as written: the same matrix is the same plan.
    return tuple(sorted(axes, key=lambda axis: axis.name))


def _comparisons(
    top: "_Table", settings: "_Settings", axes: Sequence[Axis], metric: Metric
) -> Iterator[Comparison]:
    by_name = {axis.name: axis for axis in axes}
    for name, _ in top.table("compare").items():
        table = top.table("compare").table(name)
        table.known(("baseline", "variants", "margin_ms", "metric"))
        baseline = _labels(table, "baseline", table.values.get("baseline"), by_name, settings)
        if "variants" in table.values:
            listed = table.values["variants"]
            if not isinstance(listed, list) or not listed:
                raise table.wrong("variants", listed, "a list of tables like baseline")
            variants = [_labels(table, "variants", v, by_name, settings) for v in listed]
        elif len(baseline) == 1:
            [(axis, label)] = baseline
            variants = [((axis, c.label),) for c in by_name[axis].choices if c.label != label]
        else:
            raise SpecificationError(f"{table.where('variants')}: which variants?")
        for variant in variants:
            if [a for a, _ in variant] != [a for a, _ in baseline] or variant == baseline:
                raise hinted(
                    SpecificationError(f"{table.where('variants')}: not comparable with baseline"),
                    "a variant has other values of the same keys",
                )
        yield Comparison(
            name=name,
            baseline=baseline,
            variants=tuple(variants),
            margin_ms=table.number("margin_ms", MARGIN_MS),
            metric=table.choice("metric", METRICS) if "metric" in table.values else metric,
        )


def _labels(
    table: "_Table",
    key: str,
    value: object,
    axes: Mapping[str, Axis],
    settings: "_Settings",
) -> tuple[tuple[str, Value], ...]:
    """Axis names and labels, sorted by name."""
    if not isinstance(value, Mapping) or not value:
        raise table.wrong(key, value, "a table of matrix keys, as { http.version = 'http/1.1' }")
    labels = []
    for name, wanted in sorted(_flat(value)):
        axis = axes.get(name)
        if axis is None:
            raise hinted(
                SpecificationError(f"{table.where(key)}: {name} does not vary in [matrix]"),
                "what varies is " + (", ".join(axes) or "nothing"),
            )
        known = [choice.label for choice in axis.choices]
        label = settings.label(name, wanted)
        if label not in known:
            raise hinted(
                SpecificationError(f"{table.where(key)}: {name} has no value {wanted!r}"),
                "its values are " + ", ".join(map(str, known)),
            )
        labels.append((name, known[known.index(label)]))
    return tuple(labels)


class _Settings:
    """Reads scenario keys and values, with the engine's own checks."""

    def __init__(self, origin: str, profile: str) -> None:
        self._origin = origin
        self._profile = profile
        self.base: Settings = ()
        self.check("profile", lambda: Scenario.resolve(profile))

    def check(self, where: str, resolve: Any) -> Any:
        """The engine's error, with the place in the specification."""
        try:
            return resolve()
        except LoadpathError as error:
            message = str(error).removeprefix("override: ").removeprefix("profile: ")
            clear = SpecificationError(f"{self._origin}: {where}: {message}")
            for note in getattr(error, "__notes__", ()):
                clear.add_note(note)
            raise clear from None

    def with_choice(self, choice: Choice) -> Scenario:
        pairs = [*self.base, *choice.settings]
        overrides = [(key, override(value)) for key, value in pairs]
        return Scenario.resolve(choice.profile or self._profile, None, overrides)

    def read(self, table: "_Table") -> Settings:
        """Keys and values of `[scenario]` or of a named choice, as scenarios have them."""
        pairs: list[tuple[str, object]] = []
        for key, value in _flat(table.values):
            if key == "connectivity":
                pairs += self.network(str(value)).settings
            else:
                pairs.append((key, value))
        return self._values(table.path, tuple(dict(pairs).items()))

    def network(self, name: str) -> Choice:
        network = self.check("connectivity", lambda: find_network(name))
        return Choice(network.name, self._values("connectivity", tuple(network_keys(network))))

    def key_axis(self, key: str, values: object) -> Axis:
        where = f"matrix.{key}"
        if not isinstance(values, list):
            raise hinted(
                SpecificationError(f"{self._origin}: {where}: expected a list of values"),
                "what does not vary belongs into [scenario]",
            )
        if "auto" in values:
            raise hinted(
                SpecificationError(f'{self._origin}: {where}: "auto" is not one value'),
                "leave the key out for it, or make named groups of keys of which one lacks it",
            )
        settings = [self._values("matrix", ((key, value),)) for value in values]
        return Axis(key, tuple(Choice(pairs[0][1], pairs) for pairs in settings))

    def named_axis(self, name: str, table: "_Table") -> Axis:
        return Axis(
            name, tuple(Choice(label, self.read(table.table(label))) for label in table.values)
        )

    def label(self, axis: str, value: object) -> object:
        """How the value of an axis is written in the store."""
        if axis == "connectivity":
            return self.check("compare", lambda: find_network(str(value))).name
        if axis not in _KEYS:
            return value
        [(_, label)] = self._values("compare", ((axis, value),))
        return label

    def _values(self, where: str, pairs: Sequence[tuple[str, object]]) -> Settings:
        """The values as the engine has them: units resolved, short names written out."""
        written: list[tuple[str, Value]] = []
        for key, value in pairs:
            if not isinstance(value, str | int | float | bool):
                raise SpecificationError(
                    f"{self._origin}: {where}: {key} = {value!r}: expected one value"
                )
            short = key == "http.version" and isinstance(value, str)
            written.append((key, HTTP_NAMES.get(str(value), value) if short else value))
        scenario = self.check(where, lambda: self.with_choice(Choice("", tuple(written))))
        values = scenario_values(scenario)

        def resolved(key: str, value: Value) -> Value:
            section, _, field = key.partition(".")
            return value if value == "auto" else cast(Value, values[section][field])

        return tuple((key, resolved(key, value)) for key, value in written)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables as dotted keys."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _did_you_mean(name: str, known: Sequence[str]) -> str | None:
    sectionless = [key for key in known if key.endswith(f".{name}")]
    near = sectionless or difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else None


class _Table:
    """A TOML table whose values are read with one clear error each."""

    def __init__(self, values: Mapping[str, Any], origin: str, path: str) -> None:
        self.values = values
        self.origin = origin
        self.path = path

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self.values.items())

    def where(self, key: str) -> str:
        return f"{self.origin}: {f'{self.path}.{key}' if self.path else key}"

    def wrong(self, key: str, value: object, expected: str) -> SpecificationError:
        return SpecificationError(f"{self.where(key)} = {value!r}: expected {expected}")

    def known(self, keys: Sequence[str]) -> None:
        for key in self.values:
            if key not in keys:
                hint = _did_you_mean(key, keys) or "the keys are " + ", ".join(keys)
                if not self.path and (key in _SECTIONS or key in _KEYS):
                    hint = "scenario keys belong into [scenario] or [matrix]"
                raise hinted(SpecificationError(f"{self.where(key)}: unknown key"), hint)

    def table(self, key: str) -> "_Table":
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.wrong(key, value, "a table")
        return _Table(value, self.origin, f"{self.path}.{key}" if self.path else key)

    def optional(self, key: str, read: Any) -> Any:
        return read(key) if key in self.values else None

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, value, "a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values[key]
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.wrong(key, value, "a list of texts")
        return tuple(texts)

    def integer(self, key: str, default: int = 0, *, most: int = 1_000_000) -> int:
        value = self.values.get(key, default)
        if type(value) is not int or not 1 <= value <= most:
            raise self.wrong(key, value, f"a whole number from 1 to {most}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        if type(value) not in (int, float) or not 0 <= value < float("inf"):
            raise self.wrong(key, value, "a number from 0")
        return float(value)

    def boolean(self, key: str) -> bool:
        value = self.values[key]
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def choice(self, key: str, known: Sequence[Metric]) -> Metric:
        value = self.values.get(key, known[0])
        if value not in known:
            raise self.wrong(key, value, "one of " + ", ".join(known))
        return cast(Metric, value)

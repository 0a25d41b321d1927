"""What two page graphs do not have in common, and why."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from loadpath.graphs.canonical import CanonicalGraph, canonical_activities
from loadpath.graphs.graph import Graph, Kind, natural_order

__all__ = ["Change", "Comparison", "Pair", "ParentChange", "compare"]


class Pair(msgspec.Struct, frozen=True):
    """A node of each graph that are the same but for their names.

    `up_to` is what differs: "query" (values of a query, hashes and long numbers in a path) or
    "position" (places in the source, too).
    """

    a: str
    b: str
    up_to: str


class ParentChange(msgspec.Struct, frozen=True):
    """A node of both graphs that waits for something else; parents only in one of the graphs."""

    node: str
    only_a: list[str]
    only_b: list[str]


class Change(msgspec.Struct, frozen=True):
    """A number that differs: `size_bytes` or `server_delay_ms` of a resource, `duration_ms` of a
    computation with all its pieces.
    """

    node: str
    field: str
    a: float | None
    b: float | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two graphs in their canonical form (`loadpath.graphs.canonical`), node by node.

    Attributes
    ----------
    a, b
        Names of the pages.
    same_structure
        Every node has its like, with the same parents.
    nodes_a, nodes_b
        Numbers of nodes.
    only_a, only_b
        Nodes without their like.
    pairs
        Nodes that are the same up to something in their names.
    parents
        Nodes whose parents differ, by their names in A.
    changes
        Numbers that differ, the largest differences of each field first.
    summary
        Sentences that explain the difference.
    """

    a: str
    b: str
    same_structure: bool
    nodes_a: int
    nodes_b: int
    only_a: list[str]
    only_b: list[str]
    pairs: list[Pair]
    parents: list[ParentChange]
    changes: list[Change]
    summary: list[str]


def compare(a: Graph, b: Graph) -> Comparison:
    """Compare the structure of two graphs.

    >>> from loadpath.graphs import read_graph
    >>> page = read_graph("example:figure-3-1")
    >>> compare(page, page).summary
    ['same structure']
    """
    (nodes_a, ids_a), (nodes_b, ids_b) = (canonical_activities(g.data) for g in (a, b))
    pairs = _pairs(nodes_a.keys() - nodes_b.keys(), nodes_b.keys() - nodes_a.keys())
    name_in_a = {pair.b: pair.a for pair in pairs}
    known_as = {name: name_in_a.get(name, name) for name in nodes_b}
    renamed = {
        known_as[name]: frozenset(known_as[parent] for parent in parents)
        for name, parents in nodes_b.items()
    }
    both = _sorted(nodes_a.keys() & renamed.keys())
    only_a, only_b = nodes_a.keys() - renamed.keys(), renamed.keys() - nodes_a.keys()
    parents = [
        ParentChange(
            node=name,
            only_a=_sorted(nodes_a[name] - renamed[name]),
            only_b=_sorted(renamed[name] - nodes_a[name]),
        )
        for name in both
        if nodes_a[name] != renamed[name]
    ]
    name_in_b = {known: name for name, known in known_as.items()}
    same_activities = [(name, ids_a[name], ids_b[name_in_b[name]]) for name in both]
    return Comparison(
        a=a.name,
        b=b.name,
        same_structure=not (only_a or only_b or parents),
        nodes_a=len(nodes_a),
        nodes_b=len(nodes_b),
        only_a=_sorted(only_a),
        only_b=_sorted(only_b),
        pairs=pairs,
        parents=parents,
        changes=_changes(a, b, same_activities),
        summary=_summary(nodes_a, renamed, only_a, only_b, pairs, parents),
    )


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=natural_order)


# Pairing.

VARIABLE = re.compile(r"(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{8,}|[0-9]{6,}")
"""Hashes of contents in hexadecimal (eight digits and more); numbers like times and counters."""


def _without_query(name: str) -> str:
    """The name with values of queries, and what changes from build to build, taken out."""
    words = []
    for word in _without_ordinal(name).split(" "):
        path, mark, query = word.partition("?")
        fields = [re.sub(r"=.*", "=*", f) if "=" in f else "*" for f in query.split("&")]
        words.append(VARIABLE.sub("*", path) + mark + "&".join(fields if mark else ()))
    return " ".join(words)


def _without_position(name: str) -> str:
    return re.sub(r" [0-9]+:[0-9]+$", "", re.sub(r" \+[0-9]+$", "", _without_query(name)))


def _without_ordinal(name: str) -> str:
    return re.sub(r" #[0-9]+(?= |$)", "", name)


def _pairs(only_a: Iterable[str], only_b: Iterable[str]) -> list[Pair]:
    left, right = set(only_a), set(only_b)
    pairs = []
    for up_to, key in (("query", _without_query), ("position", _without_position)):
        alike_a, alike_b = _grouped(left, key), _grouped(right, key)
        for name in _sorted(alike_a.keys() & alike_b.keys()):
            ours, theirs = alike_a[name], alike_b[name]
            # Of different numbers nobody can say which has its like.
            if up_to == "position" and len(ours) != len(theirs):
                continue
            for a, b in zip(ours, theirs, strict=False):
                pairs.append(Pair(a, b, up_to))
                left.discard(a)
                right.discard(b)
    return pairs


def _grouped(names: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in _sorted(names):
        groups.setdefault(key(name), []).append(name)
    return groups


# Numbers.


def _changes(a: Graph, b: Graph, same: Iterable[tuple[str, str, str]]) -> list[Change]:
    durations_a, durations_b = _computation_ms(a), _computation_ms(b)
    changes = []
    for name, id_a, id_b in same:
        ours, theirs = a.activities[id_a], b.activities[id_b]
        if a.kinds[id_a] is Kind.RESOURCE:
            numbers = [
                (field, ours.get(field), theirs.get(field))
                for field in ("size_bytes", "server_delay_ms")
            ]
        else:
            numbers = [("duration_ms", durations_a.get(id_a), durations_b.get(id_b))]
        changes += [Change(name, field, x, y) for field, x, y in numbers if x != y]
    fields = ("size_bytes", "server_delay_ms", "duration_ms")
    changes.sort(key=lambda c: (fields.index(c.field), -abs((c.a or 0) - (c.b or 0))))
    return changes


def _computation_ms(graph: Graph) -> dict[str, float]:
    """Duration of each computation with its later pieces, by the id of its first."""
    durations: dict[str, float] = {}
    first: dict[str, str] = {}
    for id, activity in graph.activities.items():
        if activity["type"] != "evaluation":
            continue
        if "continues" not in activity:
            first[id] = first[id.removesuffix("_0")] = id
            durations[id] = activity["duration_ms"]
    for activity in graph.activities.values():
        name = activity.get("continues")
        if name in first:
            durations[first[name]] += activity["duration_ms"]
    return durations


# Explanation.


def _summary(
    nodes_a: CanonicalGraph,
    nodes_b: CanonicalGraph,
    only_a: Iterable[str],
    only_b: Iterable[str],
    pairs: list[Pair],
    parents: list[ParentChange],
) -> list[str]:
    lines = _appear("A", nodes_a, set(only_a)) + _appear("B", nodes_b, set(only_b))
    gone = set(only_a) | set(only_b)
    moved = [c for c in parents if not gone.issuperset(c.only_a + c.only_b)]
    if moved:
        lines.append(f"{_number(len(moved), 'node')} of both wait for other nodes of both")
    if len(parents) > len(moved):
        count = _number(len(parents) - len(moved), "node")
        lines.append(f"{count} of both differ only by waiting for nodes of one of them")
    if not lines:
        lines.append("same structure")
    for up_to in ("query", "position"):
        alike = sum(pair.up_to == up_to for pair in pairs)
        if alike:
            lines.append(f"{_number(alike, 'node')} the same up to {up_to}")
    return lines


def _appear(side: str, graph: CanonicalGraph, extra: set[str]) -> list[str]:
    """Sentences about nodes of one graph only, each counted where its branch begins."""
    children: dict[str, list[str]] = {}
    for name in _sorted(extra):
        for parent in graph[name] & extra:
            children.setdefault(parent, []).append(name)
    counts: dict[str, Counter[str]] = {}
    seen: set[str] = set()
    for top in _sorted(name for name in extra if not graph[name] & extra):
        below = counts.setdefault(_where(graph[top]), Counter())
        pending = [top]
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                below[name.split(" ")[0]] += 1
                pending += children.get(name, ())
    return [
        f"{_list(below)} {where} {'appears' if below.total() == 1 else 'appear'} only in {side}"
        for where, below in counts.items()
    ]


def _where(parents: frozenset[str]) -> str:
    if not parents:
        return "without a parent"
    first, *others = _sorted(parents)
    return f"below {first}" + (f" and {_number(len(others), 'other')}" if others else "")


KIND_NOUNS: Mapping[str, str] = {
    "parse": "parse chunk",
    "style": "style sheet",
}
"""Nouns for the first words of canonical names, where the word itself is none."""


def _list(counts: Counter[str]) -> str:
    parts = [_number(count, KIND_NOUNS.get(kind, kind)) for kind, count in sorted(counts.items())]
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

"""Which dependencies of a graph follow from how browsers work, and which a page does not keep."""

from collections import defaultdict
from itertools import pairwise

from loadpath.graphs.graph import Kind
from loadpath.testbed.synthetic.plan import Element, Plan

__all__ = ["check_order"]


def check_order(plan: Plan) -> None:
    """Note the dependencies that nothing in the page enforces."""
    kept = _Kept(plan)
    ancestors = kept.ancestors()
    for id in plan.order:
        if id not in plan.reached and not plan.is_marker(id):
            continue
        for parent in plan.graph.parents[id]:
            if parent not in plan.reached and not plan.is_marker(parent):
                continue
            if not ancestors[id] >> plan.place[parent] & 1:
                what = f"{plan.graph.kinds[parent]} before {plan.graph.kinds[id]}"
                if id == plan.graph.load_event:
                    what = f"{plan.graph.kinds[parent]} before the load event"
                plan.note(id, f"not enforced: {what}", parent)


class _Kept:
    """The dependencies that the page keeps."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.graph = plan.graph
        self.dom = str(self.graph.data["dom_content_loaded_event"])
        self.load = self.graph.load_event
        self.main = self.graph.frame_of[self.graph.root]
        self.before: dict[str, set[str]] = defaultdict(set)
        self._hosts()
        for resource in plan.documents:
            self._document(resource)
        self._completion()

    def ancestors(self) -> dict[str, int]:
        """Bit sets, by place in topological order, of what certainly comes before each activity."""
        plan = self.plan
        waiting = dict.fromkeys(plan.order, 0)
        after: dict[str, list[str]] = defaultdict(list)
        for id, parents in self.before.items():
            for parent in parents:
                waiting[id] += 1
                after[parent].append(id)
        found = dict.fromkeys(plan.order, 0)
        ready = [id for id in plan.order if waiting[id] == 0]
        for id in ready:
            for child in after[id]:
                found[child] |= found[id] | 1 << plan.place[id]
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        return found

    def _add(self, parent: str, child: str) -> None:
        # The graph's own order, so that there is no circle.
        if self.plan.place[parent] < self.plan.place[child]:
            self.before[child].add(parent)

    def _hosts(self) -> None:
        plan = self.plan
        for id, host in plan.host.items():
            self._add(host, id)
            if id in plan.pieces and plan.is_nested(id):
                pieces = plan.pieces[plan.first[host]]
                self._add(plan.last_piece(id), pieces[pieces.index(host) + 1])
        for pieces in plan.pieces.values():
            for before, after in pairwise(pieces):
                self._add(before, after)
        for id in plan.order:
            if plan.is_resource(id) and self._is_written(id):
                [first, *_] = plan.evaluations(plan.target(id), Kind.SCRIPT)
                for child in self.graph.children[plan.last_piece(first)]:
                    if child in plan.document_of:
                        self._add(plan.last_piece(first), child)
            if self.graph.kinds[id] is Kind.DOWNLOAD:
                for child in self.graph.children[id]:
                    self._add(id, child)
                self._add(self.graph.activities[id]["resource"], id)
            if plan.is_resource(id):
                for before, after in pairwise(plan.callbacks(id)):
                    self._add(plan.last_piece(before), after)
                for callback in plan.callbacks(id):
                    for held in plan.evaluations(id, Kind.SCRIPT) + plan.evaluations(
                        id, Kind.STYLE
                    ):
                        self._add(plan.last_piece(held), callback)

    def _is_written(self, resource: str) -> bool:
        plan = self.plan
        host = plan.host.get(resource)
        return (
            host is not None
            and plan.is_evaluation(host)
            and plan.element(resource) is Element.SCRIPT
            and plan.is_written(resource)
        )

    def _document(self, resource: str) -> None:
        """What the parser, style sheets and scripts of a document wait for."""
        plan = self.plan
        document = plan.documents[resource]
        sheets: list[str] = []
        scripts: list[str] = []
        deferred: list[str] = []
        for index, chunk in enumerate(document.chunks):
            if index:
                self._add(document.chunks[index - 1], chunk)
            for id in plan.hosted.get(chunk, []):
                for first in self._evaluated(id):
                    if self.graph.kinds[first] is Kind.STYLE:
                        sheets.append(first)
                        continue
                    mode = plan.activities[first].get("blocking", "sync")
                    if mode == "defer":
                        deferred.append(first)
                    elif mode == "sync" and plan.blocks_parser(first, chunk):
                        for sheet in sheets:
                            self._add(plan.last_piece(sheet), first)
                        for script in scripts[-1:]:
                            self._add(plan.last_piece(script), first)
                        scripts.append(first)
                        if index + 1 < len(document.chunks):
                            self._add(plan.last_piece(first), document.chunks[index + 1])
        last = document.chunks[-1]
        ends = [last, *(plan.last_piece(script) for script in scripts[-1:])]
        for script in deferred:
            for end in [*ends, *(plan.last_piece(sheet) for sheet in sheets)]:
                self._add(end, script)
            ends = [plan.last_piece(script)]
        for listener in plan.listeners.get(resource, []):
            if plan.activities[listener].get("event_name") != "readystatechange":
                for end in ends:
                    self._add(end, listener)
        if document.frame == self.main:
            for end in ends:
                self._add(end, self.dom)

    def _evaluated(self, id: str) -> list[str]:
        """Scripts and style sheets that a tag brings about."""
        plan = self.plan
        if plan.is_resource(id):
            id = plan.target(id)
            return plan.evaluations(id, Kind.SCRIPT) + plan.evaluations(id, Kind.STYLE)
        return [id] if id in plan.pieces else []

    def _completion(self) -> None:
        """What the load event waits for: elements and what is certain to come before it."""
        plan = self.plan
        self._add(self.dom, self.load)
        for resource, document in plan.documents.items():
            loads = [
                listener
                for listener in plan.listeners.get(resource, [])
                if plan.activities[listener]["event_name"] == "load"
            ]
            after = [*loads, *plan.callbacks(resource)]
            if document.frame == self.main:
                after = [self.load]
            if after:
                for id in self._held(resource) - set(after):
                    for listener in after:
                        self._add(id, listener)
        for resource, listeners in plan.listeners.items():
            before = self.dom if plan.documents[resource].frame == self.main else None
            for listener in listeners:
                if before is not None and plan.activities[listener]["event_name"] != (
                    "readystatechange"
                ):
                    self._add(before, listener)
                if plan.activities[listener]["event_name"] == "load":
                    if plan.documents[resource].frame == self.main:
                        self._add(self.load, listener)
                before = plan.last_piece(listener)

    def _held(self, document: str) -> set[str]:
        """What a document's load event waits for."""
        held = {document}
        pending = [document]
        while pending:
            for id in self._held_by(pending.pop()):
                if id not in held:
                    held.add(id)
                    pending.append(id)
        return held

    def _held_by(self, id: str) -> list[str]:
        """Of what an activity brings about, what the load event waits for."""
        plan = self.plan
        found = []
        if id in plan.documents:
            found += plan.documents[id].chunks
            main = plan.documents[id].frame == self.main
            found += [
                listener
                for listener in plan.listeners.get(id, [])
                if not main or plan.activities[listener]["event_name"] != "load"
            ]
        if id in plan.pieces:
            found += plan.pieces[id]
        if id in (self.load,):
            return []
        for child in plan.hosted.get(id, []):
            if plan.is_resource(child):
                if plan.is_held(child):
                    found.append(child)
            elif child in plan.pieces and self._is_held(child, id):
                found.append(child)
        return found

    def _is_held(self, child: str, host: str) -> bool:
        kind = self.graph.kinds[child]
        if kind in (Kind.SCRIPT, Kind.STYLE, Kind.SET_UP) or self.plan.is_nested(child):
            return True
        # Asynchronous callbacks hold the load event only where the page was made so.
        return (
            self.plan.is_resource(host) and self.plan.is_held(host)
        ) or child in self.plan.awaited

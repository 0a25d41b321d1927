"""Activities under construction, and the page graph made of them."""

from collections.abc import Iterable
from typing import Any

__all__ = ["Node", "NodeSet"]


class Node:
    """An activity: its fields and what it waits for."""

    __slots__ = ("children", "fields", "id", "parents", "time")

    def __init__(self, identity: str, time: float, fields: dict[str, Any]) -> None:
        self.id = identity
        self.time = time
        self.fields = fields
        self.parents: dict[str, Node] = {}
        self.children: dict[str, Node] = {}

    def __repr__(self) -> str:
        return f"<{self.id} {self.fields.get('url', '')}>"

    @property
    def type(self) -> str:
        """The activity's type."""
        return str(self.fields["type"])

    def after(self, *parents: "Node | None") -> None:
        """Wait for these, too."""
        for parent in parents:
            if parent is not None and parent is not self:
                self.parents[parent.id] = parent
                parent.children[self.id] = self

    def forget(self, parent: "Node") -> None:
        """No longer wait for this one."""
        self.parents.pop(parent.id, None)
        parent.children.pop(self.id, None)


class NodeSet:
    """All activities of a graph, by id, in order of making."""

    def __init__(self) -> None:
        self.by_id: dict[str, Node] = {}

    def add(self, identity: str, time: float, **fields: Any) -> Node:
        """Make an activity; fields that are None are left out."""
        kept = {name: value for name, value in fields.items() if value is not None}
        node = Node(identity, time, kept)
        self.by_id[identity] = node
        return node

    def remove(self, nodes: Iterable[Node]) -> None:
        """Take activities away; whoever waited for them waits for their parents."""
        for node in nodes:
            del self.by_id[node.id]
            for child in list(node.children.values()):
                child.after(*node.parents.values())
                child.forget(node)
            for parent in list(node.parents.values()):
                node.forget(parent)

    def insert_after(self, node: Node, inserted: Node) -> None:
        """What waited for an activity now waits for another one, which is to follow it."""
        for child in list(node.children.values()):
            if child.type not in ("download_chunk", "main_thread"):
                child.forget(node)
                child.after(inserted)

    def children(self) -> dict[str, list[Node]]:
        """Who waits for each activity, in order of recorded times."""
        return {
            identity: sorted(node.children.values(), key=lambda child: child.time)
            for identity, node in self.by_id.items()
        }

    def in_order(self) -> list[Node]:
        """All activities, parents before children; cycles are cut at some point."""
        result: list[Node] = []
        state: set[str] = set()
        for root in self.by_id.values():
            stack = [(root, iter(list(root.parents.values())))] if root.id not in state else []
            state.add(root.id)
            while stack:
                node, parents = stack[-1]
                following = next((p for p in parents if p.id not in state), None)
                if following is None:
                    result.append(node)
                    stack.pop()
                else:
                    state.add(following.id)
                    stack.append((following, iter(list(following.parents.values()))))
        return result

    def drop_backward_edges(self) -> int:
        """Break cycles: remove edges that lead from later to earlier activities, if they close one.

        Returns how many were removed.
        """
        removed = 0
        state: dict[str, int] = {}
        for root in self.by_id.values():
            stack: list[tuple[Node, list[Node]]] = [(root, list(root.parents.values()))]
            if state.get(root.id):
                continue
            state[root.id] = 1
            while stack:
                node, pending = stack[-1]
                if not pending:
                    state[node.id] = 2
                    stack.pop()
                    continue
                parent = pending.pop()
                if state.get(parent.id) == 1:
                    node.forget(parent)
                    removed += 1
                elif not state.get(parent.id):
                    state[parent.id] = 1
                    stack.append((parent, list(parent.parents.values())))
        return removed

    def activities(self) -> list[dict[str, Any]]:
        """The activities as the page graph's JSON has them."""
        children = self.children()
        result = []
        for node in self.by_id.values():
            activity = {"id": node.id} | node.fields
            if children[node.id]:
                activity["children"] = [child.id for child in children[node.id]]
            result.append(activity)
        return result

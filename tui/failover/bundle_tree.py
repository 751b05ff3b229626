"""Namespaces, their bundles and what became of those that were split, with topics below an opened bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct
from rich.style import Style
from rich.text import Text, TextType
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from engine.text import counted
from engine.views.failover.model import BundleNode, BundleTopic, NamespaceNode
from engine.views.reported.model import ReportedLoad
from tui.kit.bindings import Binding
from tui.kit.columns import REPORTED_SIGN
from tui.kit.plain_text import plain_label
from tui.kit.wording import bytes_per_sec, in_out_rate, quantity, safe_name, short_topic, shorten_middle

FEW_TOPICS = 12
"""A bundle that a script selects shows its topics at once if it has no more."""
TOPICS_AT_ONCE = 100
"""How many topics a bundle shows before its last line offers the next ones."""
WIDE_CELLS = 48
"""From this width on labels have words for their numbers."""


class BundleKey(Struct, frozen=True):
    """The identity of a bundle, stable over steps, so that opened nodes stay open."""

    namespace: str
    range_text: str


class More(Struct, frozen=True):
    """The line "... and N more" of a bundle; choosing it lists the next ones."""

    bundle: BundleKey
    listed: int


Entry = NamespaceNode | BundleNode | BundleTopic | More


class BundleTree(Tree[Entry], inherit_bindings=False):
    """Children are made when a node is opened; opened nodes stay open from step to step."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"bundle-tree--number", "bundle-tree--split", "bundle-tree--fresh"}
    DEFAULT_CSS = """
    BundleTree { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Open", show=False),
        Binding("up,k", "cursor_up", "Up", show=False),
        Binding("down,j", "cursor_down", "Down", show=False),
        Binding("right", "open_node", "Open", show=False),
        Binding("left", "close_node", "Close", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("g", "scroll_home", "First line", show=False),
        Binding("G", "scroll_end", "Last line", show=False),
    ]

    namespaces: reactive[tuple[NamespaceNode, ...]] = reactive(())

    @dataclass
    class TopicsWanted(Message):
        """A bundle was opened; the parent answers with ``show_topics``."""

        bundle: BundleKey
        offset: int

    @dataclass
    class TopicChosen(Message):
        """A topic was chosen with enter."""

        topic: str

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__("bundles", name=name, id=id, classes=classes, disabled=disabled)
        self.show_root = False
        self.guide_depth = 2
        self.auto_expand = True
        self._is_narrow = False
        self._closed_bundles: set[BundleKey] = set()
        self._opened_bundles: set[BundleKey] = set()

    def process_label(self, label: TextType) -> Text:
        """Return the label as plain text; Textual's tree would read it as markup."""
        return plain_label(label)

    def watch_namespaces(self, namespaces: tuple[NamespaceNode, ...]) -> None:
        """Write labels where the shape is the same, build nodes where it is not."""
        line = self.cursor_line
        if [node.data.name for node in self.root.children if isinstance(node.data, NamespaceNode)] != [
            namespace.name for namespace in namespaces
        ]:
            self.root.remove_children()
            for namespace in namespaces:
                self.root.add("", data=namespace, expand=True)
        for node, namespace in zip(self.root.children, namespaces, strict=True):
            node.data = namespace
            node.set_label(self._namespace_label(namespace))
            self._fit_bundles(node, namespace.roots)
        self.call_after_refresh(self._restore_cursor, max(line, 0))

    def on_resize(self) -> None:
        """Labels say less where there is little room."""
        if self._is_narrow != (self.size.width < WIDE_CELLS):
            self._is_narrow = not self._is_narrow
            self.watch_namespaces(self.namespaces)

    def _restore_cursor(self, line: int) -> None:
        self.cursor_line = min(line, max(0, self.last_line))

    def _fit_bundles(self, parent: TreeNode[Entry], bundles: tuple[BundleNode, ...]) -> None:
        known = [node.data.range_text for node in parent.children if isinstance(node.data, BundleNode)]
        if known != [bundle.range_text for bundle in bundles]:
            parent.remove_children()
            for bundle in bundles:
                parent.add("", data=bundle)
            if isinstance(parent.data, BundleNode) and self._key_of(parent.data) in self._opened_bundles:
                self._opened_bundles.update(map(self._key_of, bundles))  # who saw topics goes on to see them
        for node, bundle in zip(parent.children, bundles, strict=True):
            key = self._key_of(bundle)
            before = node.data
            node.data = bundle
            node.set_label(self._bundle_label(bundle))
            if bundle.children:
                if isinstance(before, BundleNode) and not before.children:
                    node.remove_children()
                self._fit_bundles(node, bundle.children)
                if key not in self._closed_bundles:
                    node.expand()
            elif key in self._opened_bundles:
                self.post_message(self.TopicsWanted(key, 0))
                node.expand()
            else:
                node.remove_children()
                # After an undone split: the user did not close it, so it opens again with the next split.
                with self.prevent(Tree.NodeCollapsed):
                    node.collapse()

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Entry]) -> None:
        """Make the children of a bundle when it is opened."""
        event.stop()
        bundle = event.node.data
        if not isinstance(bundle, BundleNode):
            return
        key = self._key_of(bundle)
        self._closed_bundles.discard(key)
        if not bundle.children and key not in self._opened_bundles:
            self._opened_bundles.add(key)
            self.post_message(self.TopicsWanted(key, 0))

    def on_tree_node_collapsed(self, event: Tree.NodeCollapsed[Entry]) -> None:
        """Remember that a node was closed on purpose."""
        event.stop()
        bundle = event.node.data
        if isinstance(bundle, BundleNode):
            key = self._key_of(bundle)
            self._opened_bundles.discard(key)
            self._closed_bundles.add(key)

    def on_tree_node_selected(self, event: Tree.NodeSelected[Entry]) -> None:
        """Enter on a topic asks about it; on the last line of a long list it shows more."""
        event.stop()
        entry = event.node.data
        if isinstance(entry, BundleTopic):
            self.post_message(self.TopicChosen(entry.name))
        elif isinstance(entry, More):
            self.post_message(self.TopicsWanted(entry.bundle, entry.listed))

    def show_topics(self, bundle: BundleKey, topics: Sequence[BundleTopic], offset: int, total: int) -> None:
        """List topics below an opened bundle, from ``offset`` on; ``total`` is how many it has."""
        node = self._find(self.root, bundle)
        if node is None:
            return
        kept = [child for child in node.children if isinstance(child.data, BundleTopic)][:offset]
        for child in list(node.children):
            if child not in kept:
                child.remove()
        for topic in topics:
            node.add_leaf(self._topic_label(topic), data=topic)
        listed = offset + len(topics)
        if listed < total:
            node.add_leaf(f"… and {counted(total - listed, 'topic')} more (enter)", data=More(bundle, listed))
        elif total == 0:
            named = isinstance(node.data, BundleNode) and node.data.reported is None
            words = "no topics" if named else "a load report does not name topics"
            node.add_leaf(Text(words, self._part("number")), data=None)

    def mark(self, bundle: BundleKey) -> None:
        """Put the cursor on a bundle and open the nodes above it; do nothing where it does not exist."""
        node = self._find(self.root, bundle)
        if node is not None:
            parent = node.parent
            while parent is not None:
                parent.expand()
                parent = parent.parent
            self.call_after_refresh(self.move_cursor, node)

    def open_few(self, bundle: BundleKey) -> None:
        """Show the topics of a bundle that has only few."""
        node = self._find(self.root, bundle)
        if node is not None and isinstance(node.data, BundleNode) and node.data.topics <= FEW_TOPICS:
            node.expand()

    @staticmethod
    def _key_of(bundle: BundleNode) -> BundleKey:
        return BundleKey(bundle.namespace, bundle.range_text)

    def _find(self, node: TreeNode[Entry], key: BundleKey) -> TreeNode[Entry] | None:
        for child in node.children:
            entry = child.data
            if isinstance(entry, BundleNode) and (entry.namespace, entry.range_text) == (key.namespace, key.range_text):
                return child
            if isinstance(entry, BundleNode | NamespaceNode):
                below = self._find(child, key)
                if below is not None:
                    return below
        return None

    def action_open_node(self) -> None:
        if self.cursor_node is not None:
            self.cursor_node.expand()

    def action_close_node(self) -> None:
        node = self.cursor_node
        if node is None:
            return
        if node.is_expanded and node.children:
            node.collapse()
        elif node.parent is not None and node.parent is not self.root:
            self.move_cursor(node.parent)

    def marked_bundle(self) -> BundleNode | None:
        """The bundle that the cursor is on or in; elsewhere, the one with most messages a second."""
        node = self.cursor_node
        while node is not None:
            if isinstance(node.data, BundleNode) and not node.data.children:
                return node.data
            if isinstance(node.data, BundleNode):
                return _busiest(node.data.children)
            if isinstance(node.data, NamespaceNode):
                return _busiest(node.data.roots)
            node = node.parent
        return _busiest(tuple(root for namespace in self.namespaces for root in namespace.roots))

    def _part(self, name: str) -> Style:
        return self.get_component_rich_style(f"bundle-tree--{name}", partial=True)

    def _namespace_label(self, namespace: NamespaceNode) -> Text:
        numbers = f"  {counted(namespace.bundles, 'bundle')}  {counted(namespace.topics, 'topic')}"
        if namespace.reported is not None:
            numbers = f"  {counted(namespace.bundles, 'bundle')}{load_text(namespace.reported, short=self._is_narrow)}"
        return Text.assemble((safe_name(namespace.name), "bold"), (numbers, self._part("number")))

    def _bundle_label(self, bundle: BundleNode) -> Text:
        style = self._part("split") if bundle.children else self._part("fresh") if bundle.fresh else Style.null()
        tail = f"  {counted(bundle.topics, 'topic')}  {in_out_rate(bundle.msgs_per_sec)}"
        if self._is_narrow:
            tail = f" {bundle.topics:,} · {quantity(bundle.msgs_per_sec)}/s"
        if bundle.reported is not None:
            tail = load_text(bundle.reported, short=self._is_narrow)
        if bundle.children:
            tail = f"  split: {bundle.algorithm}"
        mark = "* " if bundle.fresh and not bundle.children else ""
        return Text.assemble((mark + bundle.range_text, style), (tail, self._part("number")))

    def _topic_label(self, topic: BundleTopic) -> Text:
        rate = f"{quantity(topic.msgs_per_sec)}/s" if self._is_narrow else in_out_rate(topic.msgs_per_sec)
        numbers = f"  {rate}" if self._is_narrow else f"  0x{topic.topic_hash:08x}  {rate}"
        room = self.size.width - 4 * self.guide_depth - len(numbers)
        name = shorten_middle(short_topic(topic.name).rpartition("/")[2], max(12, room))
        return Text.assemble(name, (numbers, self._part("number")))


def load_text(load: ReportedLoad, *, short: bool) -> str:
    """What a load report says of a bundle, with the sign of what was reported, and its broker."""
    owner = f"  {safe_name(load.owner)}" if load.owner else ""
    if short:
        return f" {REPORTED_SIGN}{load.topics:,} · {quantity(load.msgs_per_sec)}/s{owner}"
    rates = f"{in_out_rate(load.msgs_per_sec)}  {bytes_per_sec(load.bytes_per_sec)}"
    return f"  {REPORTED_SIGN} {counted(load.topics, 'topic')}  {rates}{owner}"


def _busiest(bundles: tuple[BundleNode, ...]) -> BundleNode | None:
    busiest: BundleNode | None = None
    for bundle in bundles:
        candidate = _busiest(bundle.children) if bundle.children else bundle
        if candidate is not None and (busiest is None or _rate(candidate) > _rate(busiest)):
            busiest = candidate
    return busiest


def _rate(bundle: BundleNode) -> float:
    return (bundle.msgs_per_sec or 0.0) if bundle.reported is None else bundle.reported.msgs_per_sec

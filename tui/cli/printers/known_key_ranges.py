"""``ranges --keys``: the single slots that each node declares for its share of known keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.keyshared.consistent_sticky import KnownKeyRanges, known_key_slot
from engine.keyshared.key_text import text_of_key
from engine.keyshared.model import RANGE_SIZE
from engine.text import counted
from tui.cli.plain import wrapped
from tui.kit.wording import safe_name

TECHNIQUE: Final = (
    "single slots of known keys: a technique of clients, not a mode of the broker; each node declares the slots of its"
    " share of the keys as STICKY, and all must use one list in one order and one number of keys and of nodes"
)


def known_key_lines(split: KnownKeyRanges, wanted: Sequence[int]) -> list[str]:
    """The label, the summary of all nodes, and the keys of those that are wanted, each with its slot."""
    keys = sum(map(len, split.keys))
    lines = [
        *wrapped(TECHNIQUE),
        f"{counted(keys, 'key')}, {counted(len(split.ranges), 'node')}, {counted(split.size, 'key')} each",
        "",
        *wrapped(
            f"{split.slots:,} of {RANGE_SIZE:,} slots are declared; messages with a key that has none of them wait"
            " until somebody declares its slot"
        ),
    ]
    for node in wanted:
        text = " ".join(f"{known_key_slot(key)}={_name(key)}" for key in split.keys[node])
        lines += ["", f"node {node}", *wrapped(text or "no key is left for it: it cannot join", first="  ", rest="  ")]
    return lines


def known_key_rows(split: KnownKeyRanges, wanted: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Like those of consistent ranges, with the keys besides."""
    for node in wanted:
        pieces = [[piece.start, piece.end] for piece in split.ranges[node]]
        yield {"node": node, "ranges": pieces, "keys": [text_of_key(key) for key in split.keys[node]]}


def known_key_warnings(split: KnownKeyRanges) -> Iterator[str]:
    """What keeps a node from joining or a key from being consumed."""
    if split.shared:
        first = split.shared[0]
        more = f" ({len(split.shared) - 1} more like it)" if len(split.shared) > 1 else ""
        yield (
            f"slot {first.slot}: nodes {first.node} and {first.other} have keys there; the one that starts second is"
            f" refused{more}; put these keys next to each other"
        )
    for node, keys in enumerate(split.keys):
        for key in keys:
            if known_key_slot(key) == 0:
                yield f"{_name(key)} (node {node}): slot 0 counts as 1 from 4.0 on, so its messages reach nobody there"


def _name(key: bytes) -> str:
    return safe_name(text_of_key(key)) if key else '""'

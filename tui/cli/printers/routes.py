"""``explain route`` and ``partitions``: why a message goes to its partition, and what more partitions do to keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from engine.text import counted
from engine.views.producers.answers import GrowthView, KeyGrowth, RouteAnswer
from tui.cli.plain import Align, table, wrapped
from tui.cli.printers.documents import plain_values
from tui.kit.wording import percent, safe_name, shorten_middle

_LABEL_CELLS: Final = 11
BYTES_SHOWN: Final = 64
KEYS_SHOWN: Final = 40
_KEY_CELLS: Final = 30
_KEY_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", "<")
CLIENTS: Final = {
    "JavaStringHash": "Java",
    "Murmur3_32Hash": "Java with Murmur3_32Hash",
    "BoostHash": "Python and C++",
}


def route_lines(answer: RouteAnswer) -> list[str]:
    """The answer first, then every step to it, and the other clients' answers."""
    told = answer.told
    lines = _labelled("partition", f"{told.partition} of 0 to {answer.partitions - 1}")
    lines += _labelled("client", answer.client)
    lines += _labelled("rule", told.sentence)
    if told.key is not None:
        data = told.key.data
        more = f" ... ({len(data)} in all)" if len(data) > BYTES_SHOWN else f" ({len(data)})"
        lines += _labelled("bytes", data[:BYTES_SHOWN].hex(" ") + more if data else "none: the key is empty")
        lines += _labelled("hash", f"{told.key.hashing}: {told.key.raw}, as Pulsar takes it {told.key.value}")
    if told.chosen:
        lines += _labelled("chosen", ", ".join(map(str, told.chosen)))
    for scheme, partition in answer.elsewhere:
        lines += _labelled("else", f"{CLIENTS[scheme]} ({scheme}): {_place(partition, told.partition)}")
    return lines


def _place(partition: int | None, mine: int) -> str:
    if partition is None:
        return "no key at all there, so its router decides"
    return f"partition {partition}" + (", the same" if partition == mine else ", another one")


def route_document(answer: RouteAnswer) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "partition": answer.told.partition,
        "partitions": answer.partitions,
        "client": answer.client,
        "explanation": plain_values(answer.told),
        "elsewhere": dict(answer.elsewhere),
    }


def growth_lines(view: GrowthView) -> list[str]:
    """What moves with each hash, then where clients disagree, then the keys."""
    grows = view.after > view.before
    head = f"from {view.before} to {counted(view.after, 'partition')}" if grows else counted(view.before, "partition")
    lines = [f"{head}, {counted(len(view.keys), 'key')}"]
    if grows:
        rows = [("hash", "keys that move", "of random keys", "")]
        for each in view.schemes:
            share = f" ({percent(each.moved / len(view.keys))})" if view.keys else ""
            moved = f"{each.moved}{share}" if view.keys else ""
            rows.append((each.hashing, moved, percent(each.expected_share), each.clients))
        lines += table(rows, ("<", ">", ">", "<"), indent="  ")
        lines += wrapped("messages of a key that moves lie in two partitions, in no order between them", first="  ")
    disagree = f"{view.disagreeing} of {counted(len(view.keys), 'key')}, " if view.keys else ""
    lines += wrapped(
        f"Java and Python put {disagree}{percent(view.expected_disagreeing)} of random keys into different partitions",
        rest="  ",
    )
    return [*lines, *_keys(view)]


def _keys(view: GrowthView) -> Iterator[str]:
    if not view.keys:
        return
    # Those that tell most come first, in the order given.
    ordered = sorted(view.keys, key=lambda each: not (each.moves or each.disagrees))
    rows = [("key", "Java", "Murmur3", "Python", ""), *(_key_row(each) for each in ordered[:KEYS_SHOWN])]
    yield ""
    yield from table(rows, _KEY_ALIGNS, indent="  ")
    if len(ordered) > KEYS_SHOWN:
        yield f"  and {len(ordered) - KEYS_SHOWN:,} more (--json has them all)"


def _key_row(each: KeyGrowth) -> tuple[str, ...]:
    places = [_change(before, after) for before, after in zip(each.before, each.after, strict=True)]
    name = shorten_middle(safe_name(each.key), _KEY_CELLS) or '""'
    return (name, *places, "clients disagree" if each.disagrees else "")


def _change(before: int | None, after: int | None) -> str:
    if after is None:
        return "no key"
    return str(after) if before == after else f"{before} → {after}"


def growth_document(view: GrowthView) -> dict[str, Any]:
    """The same as plain values; partitions by hashing scheme."""
    names = [each.hashing for each in view.schemes]
    return {
        "from": view.before,
        "to": view.after,
        "schemes": plain_values(view.schemes),
        "disagreeing": view.disagreeing,
        "expected_disagreeing": view.expected_disagreeing,
        "keys": [
            {
                "key": each.key,
                "before": dict(zip(names, each.before, strict=True)),
                "after": dict(zip(names, each.after, strict=True)),
                "moves": each.moves,
                "clients_disagree": each.disagrees,
            }
            for each in view.keys
        ],
    }


def _labelled(label: str, text: str) -> list[str]:
    return wrapped(text, first=f"{label:<{_LABEL_CELLS}}", rest=" " * _LABEL_CELLS)

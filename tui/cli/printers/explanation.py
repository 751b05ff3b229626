"""``explain``: why a partition has its active consumer, sentence by sentence, and the order it was picked from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.failover.explain import FailoverExplanation
from engine.views.details import TopicExplanation
from tui.cli.plain import Align, table, wrapped
from tui.failover.explaining import remarks_of
from tui.kit.wording import safe_name, shorten_middle

NAME_CELLS: Final = 40
ORDER_SHOWN: Final = 12
_LABEL_CELLS: Final = 11
_ALIGNS: Final[tuple[Align, ...]] = (">", "<", ">", "<")


def explanation_lines(told: TopicExplanation) -> list[str]:
    """The answer and its reasons, one labelled sentence each, then the dispatcher's order."""
    lines = _labelled("full name", safe_name(told.topic))
    lines += _labelled("of", f"subscription {safe_name(told.subscription)}")
    for remark in remarks_of(told):
        lines += _labelled(remark.label, remark.text)
    if told.why is not None:
        lines += ["", *_order(told.why)]
    return lines


def _labelled(label: str, text: str) -> list[str]:
    return wrapped(text, first=f"{label:<{_LABEL_CELLS}}", rest=" " * _LABEL_CELLS)


def _order(why: FailoverExplanation) -> Iterator[str]:
    """The sorted list with the active consumer marked; of a long list its head and the surroundings of that one."""
    order = why.choice.order
    yield f"the dispatcher's order: {len(order)}, of which {why.choice.cohort_size} can be active"
    rows = [("#", "consumer", "prio", "")]
    last = -1
    for place in _places(len(order), why.choice.index):
        if place != last + 1:
            rows.append(("", f"… {place - last - 1} more", "", ""))
        last = place
        mark = "active" if place == why.choice.index else "" if place < why.choice.cohort_size else "standby"
        consumer = order[place]
        name = shorten_middle(safe_name(consumer.name), NAME_CELLS)
        rows.append((str(place), name, str(consumer.priority_level), mark))
    if last + 1 < len(order):
        rows.append(("", f"… {len(order) - last - 1} more", "", ""))
    yield from table(rows, _ALIGNS, indent="  ")


def _places(count: int, active: int) -> list[int]:
    if count <= ORDER_SHOWN:
        return list(range(count))
    return sorted({place for place in (0, 1, 2, *range(active - 3, active + 4)) if 0 <= place < count})

"""``explain``: why a partition has its active consumer, sentence by sentence, and the order it was picked from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from engine.admin.interruptions import Interruption
from engine.answer import about, extended
from engine.diagnosis.seen import EXCLUSIVE
from engine.diagnosis.turns import Turn, TurnExplanation
from engine.failover.explain import FailoverExplanation, Rival, rivals_of
from engine.text import counted, listed
from engine.views.failover.explanations import TopicExplanation
from engine.views.reported.bundles import Whereabouts
from engine.views.reported.partition import PartitionReported
from tui.cli.plain import BY_JSON, Align, PageColumn, and_more, labelled, listing, table
from tui.failover.explaining import remarks_of, why_not
from tui.kit.interruptions import anew_parts
from tui.kit.wording import safe_name, shorten_middle

NAME_CELLS: Final = 40
ORDER_SHOWN: Final = 12
TURNS_SHOWN: Final = 200
_ALIGNS: Final[tuple[Align, ...]] = (">", "<", ">", "<")
_TURNS: Final[tuple[PageColumn[Turn], ...]] = (
    ("consumer", "<", lambda turn: shorten_middle(safe_name(turn.consumer), NAME_CELLS)),
    ("permits", ">", lambda turn: f"{turn.permits:,}"),
    ("unacked", ">", lambda turn: f"{turn.unacked:,}"),
    ("why not", "<", lambda turn: "can be next" if turn.why_not is None else turn.why_not.value),
)

FORMAT: Final = "ringside.explain/1"
_BROKER: Final = about("The broker that brokers report to own the topic or its bundle; null where none does.")
_UNLOAD: Final = about("What unloading its bundle interrupts; null where nothing was reported.")


@dataclass(frozen=True, slots=True)
class TopicExplained(TopicExplanation):
    """Why a topic has its active consumer."""

    FORMAT: ClassVar[str] = FORMAT
    KIND: ClassVar[str] = "failover"
    not_active: Annotated[tuple[Rival, ...], about("Everybody else, and why not.")] = ()
    reported: Annotated[
        PartitionReported | None, about("As it was reported; null where no answer lists the consumers.")
    ] = None
    broker: Annotated[str | None, _BROKER] = None
    unload: Annotated[Interruption | None, _UNLOAD] = None


@dataclass(frozen=True, slots=True)
class TurnExplained(TurnExplanation):
    """Who gets the next message of a Shared or Exclusive subscription, as it was seen."""

    FORMAT: ClassVar[str] = FORMAT
    KIND: ClassVar[str] = "turn"
    next: Annotated[tuple[str, ...], about("Those that can be next.")] = ()
    bundle: Annotated[str | None, about("Its bundle's range; null where no answer shows it.")] = None
    broker: Annotated[str | None, _BROKER] = None
    unload: Annotated[Interruption | None, _UNLOAD] = None


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """Where a topic is that nobody has subscribed to."""

    FORMAT: ClassVar[str] = FORMAT
    KIND: ClassVar[str] = "unsubscribed"
    topic: Annotated[str, about("Its full name.")]
    namespace: Annotated[str, about("Its namespace.")]
    bundle: Annotated[str | None, about("Its bundle's range; null where no answer shows it.")]
    broker: Annotated[str | None, _BROKER] = None
    unload: Annotated[Interruption | None, _UNLOAD] = None


def explanation_lines(
    explanation: TopicExplanation | TurnExplanation,
    place: Whereabouts | None = None,
    bundle: str | None = None,
    reported: PartitionReported | None = None,
) -> list[str]:
    """The answer and its reasons, one labelled sentence each, where it is, then the dispatcher's order."""
    if isinstance(explanation, TurnExplanation):
        return _turn_lines(explanation, place, bundle)
    lines = labelled("full name", safe_name(explanation.topic))
    lines += labelled("of", f"subscription {safe_name(explanation.subscription)}")
    nobody = reported.sentence if reported is not None else ""
    lines += labelled("reported", nobody) if nobody else []
    for remark in remarks_of(explanation, others=False):
        lines += labelled("by rule" if nobody and remark.label == "active" else remark.label, remark.text)
    if place is not None:
        lines += _place_lines(place)
    if explanation.why is not None:
        lines += ["", *_order(explanation.why)]
    return lines


def _place_lines(place: Whereabouts) -> list[str]:
    """The broker, and what unloading the bundle interrupts."""
    lines = []
    if place.broker:
        what = "serves the topic" if place.by_look_up else "owns the bundle"
        lines += labelled("broker", f"{safe_name(place.broker)} {what}, as reported")
    unload = place.unload
    again = f"{counted(unload.producers, 'producer')} and {counted(unload.consumers, 'consumer')} connect again"
    said = ", ".join([again, *anew_parts([unload])])
    text = f"of the bundle interrupts {counted(unload.topics, 'reported topic')}: {said}"
    return lines + labelled("unloading", text)


def unsubscribed_lines(topic: str, namespace: str, place: Whereabouts | None, bundle: str | None) -> list[str]:
    """Where a topic is that nobody has subscribed to."""
    lines = labelled("full name", safe_name(topic))
    lines += labelled("of", "no subscription, so nobody consumes it")
    lines += labelled("bundle", f"{safe_name(namespace)}/{bundle}") if bundle else []
    return [*lines, *(_place_lines(place) if place is not None else [])]


def explanation_document(
    explanation: TopicExplanation | TurnExplanation,
    place: Whereabouts | None = None,
    bundle: str | None = None,
    reported: PartitionReported | None = None,
) -> TopicExplained | TurnExplained:
    """The same as a document, with all consumers that are not active or next, and why not."""
    if isinstance(explanation, TurnExplanation):
        able = tuple(turn.consumer for turn in explanation.possible)
        return extended(TurnExplained, explanation, next=able, bundle=bundle, **located(place))
    rivals = rivals_of(explanation.why) if explanation.why is not None else ()
    return extended(TopicExplained, explanation, not_active=rivals, reported=reported, **located(place))


def located(place: Whereabouts | None) -> dict[str, Any]:
    """The members that say where a topic is."""
    return {} if place is None else {"broker": place.broker or None, "unload": place.unload}


def _turn_lines(explanation: TurnExplanation, place: Whereabouts | None, bundle: str | None) -> list[str]:
    lines = labelled("full name", safe_name(explanation.topic))
    lines += labelled(
        "of", f"subscription {safe_name(explanation.subscription)}, of type {explanation.type}, as it was seen"
    )
    lines += labelled("next", _next(explanation))
    if explanation.type != EXCLUSIVE:
        lines += labelled(
            "rule",
            "round robin over the consumers with permits of the best priority level that has any, at most"
            f" {explanation.batch} entries a turn; answers do not show levels, so all count as one here",
        )
    lines += labelled("backlog", counted(explanation.backlog, "message"))
    lines += labelled("bundle", f"{safe_name(explanation.namespace)}/{bundle}") if bundle else []
    lines += _place_lines(place) if place is not None else []
    if explanation.turns:
        lines += ["", *listing(explanation.turns[:TURNS_SHOWN], _TURNS, indent="  ")]
    return [*lines, *and_more(len(explanation.turns) - TURNS_SHOWN, BY_JSON)]


def _next(explanation: TurnExplanation) -> str:
    able = [safe_name(turn.consumer) for turn in explanation.possible]
    if not explanation.turns:
        return "nobody: no consumer is connected"
    if not able:
        return "nobody: " + ("the only consumer cannot" if len(explanation.turns) == 1 else "none of them can")
    if explanation.type == EXCLUSIVE:
        return f"{able[0]}: the only one that may be connected"
    if len(able) == 1:
        return f"{able[0]}, the only one of {counted(len(explanation.turns), 'consumer')} that can"
    return f"one of {len(able)} of {counted(len(explanation.turns), 'consumer')}: {listed(able)}"


def _order(why: FailoverExplanation) -> Iterator[str]:
    """The sorted list with the active consumer marked; of a long list its head and the surroundings of that one."""
    order = why.choice.order
    yield f"the dispatcher's order: {len(order)}, of which {why.choice.cohort_size} can be active"
    reasons = {rival.place: why_not(rival, why) for rival in rivals_of(why)}
    rows = [("#", "consumer", "prio", "why not")]
    last = -1
    for place in _places(len(order), why.choice.index):
        if place != last + 1:
            rows.append(("", f"… {place - last - 1} more", "", ""))
        last = place
        consumer = order[place]
        name = shorten_middle(safe_name(consumer.name), NAME_CELLS)
        rows.append((str(place), name, str(consumer.priority_level), reasons.get(place, "active")))
    if last + 1 < len(order):
        rows.append(("", f"… {len(order) - last - 1} more", "", ""))
    yield from table(rows, _ALIGNS, indent="  ")


def _places(count: int, active: int) -> list[int]:
    if count <= ORDER_SHOWN:
        return list(range(count))
    return sorted({place for place in (0, 1, 2, *range(active - 3, active + 4)) if 0 <= place < count})

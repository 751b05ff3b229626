"""The worst that is wrong with a scalable topic, for lists of everything."""

from __future__ import annotations

from dataclasses import dataclass

from engine.diagnosis.model import Verdict
from engine.text import counted, joined
from engine.views.scalable.model import ScalableView
from engine.views.scalable.words import ids_text


@dataclass(frozen=True, slots=True)
class Trouble:
    verdict: Verdict
    cause: str
    what: str


def trouble_of(view: ScalableView) -> Trouble | None:
    """What somebody has to act on, the worst first; None for nothing."""
    found: list[Trouble] = []
    for row in view.subscriptions:
        for one in row.consumers:
            if one.stuck:
                text = f"{row.name}: {one.name} holds {ids_text(one.stuck)} in a hand-over that never ends"
                found.append(Trouble(Verdict.BLOCKS, "stuck_hand_over", text))
        nobody = [wait for wait in row.waits if wait.reason == "no_consumer"]
        waiting = {wait.segment for wait in row.waits}
        if nobody:
            first = nobody[0]
            text = f"{row.name}: {ids_text(waiting)} wait for {first.ancestor}, which nobody reads"
            found.append(Trouble(Verdict.BLOCKS, "segment_unread", text))
        elif row.unassigned:
            text = f"{row.name}: no consumer is attached to {ids_text(row.unassigned)}"
            found.append(Trouble(Verdict.BLOCKS, "segment_unassigned", text))
        elif waiting:
            rest = sum({wait.ancestor: wait.backlog for wait in row.waits}.values())
            text = f"{row.name}: {ids_text(waiting)} wait until {counted(rest, 'message')} are acknowledged"
            found.append(Trouble(Verdict.SLOWS, "segment_waits", text))
        idle = [one.name for one in row.consumers if one.idle and one.connected]
        if idle:
            text = f"{row.name}: {joined(idle)} {'has' if len(idle) == 1 else 'have'} no segment"
            found.append(Trouble(Verdict.UNEVEN, "consumer_idle", text))
    return min(found, key=lambda one: one.verdict.rank, default=None)

"""From the tables of a whole fleet to one state: a subscription or a namespace, to look at and to change.

Tables have what answers have, so they are opened like answers (``engine.scenarios.opening``): levels, flag, modes and
name indices are inferred from what was recorded, and notes name what the rules do not explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.admin.facts import Snapshot
from engine.admin.inference import infer_priority_levels
from engine.admin.partitions import bounded
from engine.config import FLAG
from engine.errors import InputError
from engine.scenarios.opening import DIFFERS_FROM_RECORD, Opened, open_snapshot, topics_of
from engine.scenarios.subscriptions import FAILOVER, KEY_SHARED, Group, gather
from engine.views.failover.model import Notice

FLAG_OF_LISTS: Final = "flag-of-lists"
SEVERAL_LISTS: Final = "several-consumer-lists"
TOPICS_LEFT_OUT: Final = "topics-left-out"


@dataclass(frozen=True, slots=True)
class FleetPart:
    """What a fleet's tables have of one namespace, or of one subscription in it.

    ``snapshot`` holds the topics of the namespace, each with the subscriptions that are meant. ``listed_flag`` is the
    flag under which the fleet's lists were computed, None where nothing of it is listed. Of
    ``topics_left_out`` topics of the namespace nothing is known.
    """

    snapshot: Snapshot
    listed_flag: bool | None = None
    subscription: str = ""
    topics_left_out: int = 0


def open_fleet_part(part: FleetPart) -> Opened:
    """The part as a state; its notes name what had to be inferred and what differs from the record or from the lists.

    The flag is the reported one, else the one that explains the recorded active consumers, else that of the lists.
    Raises ``InputError`` where nothing of it can be shown. O(t log t) for t partitions.
    """
    snapshot, listed = bounded(part.snapshot), part.listed_flag
    _check(part)
    recorded = snapshot.settings is not None or listed is None or _tells_flag(gather(snapshot, topics_of(snapshot))[0])
    opened = open_snapshot(snapshot, consistent_hashing=None if recorded else listed)
    flag = opened.state.settings.activeConsumerFailoverConsistentHashing
    notes = list(opened.notes)
    if not recorded:
        text = f"no active consumer was recorded to infer {FLAG} from; {_text(flag)} as in the fleet's lists"
        notes.append(Notice(FLAG_OF_LISTS, text))
    elif listed not in (None, flag) and opened.state.subscriptions:
        text = (
            f"the fleet's lists were computed with {FLAG} {_text(not flag)}, which the recorded active consumers "
            f"do not bear out; here it is {_text(flag)} (run the job assign with --set flag={_text(flag)})"
        )
        notes.append(Notice(DIFFERS_FROM_RECORD, text))
    lists = len(opened.state.subscriptions) + len(opened.state.key_subscriptions)
    if part.subscription and lists > 1:
        text = (
            f"the topics of {part.subscription} have {lists} different lists of consumers, so it is shown as {lists} "
            "subscriptions; the fleet's lists add them up"
        )
        notes.append(Notice(SEVERAL_LISTS, text))
    if part.topics_left_out:
        text = f"{part.topics_left_out:,} topics of its namespace without this subscription are left out of the bundles"
        notes.append(Notice(TOPICS_LEFT_OUT, text))
    return replace(opened, notes=tuple(notes))


def _check(part: FleetPart) -> None:
    snapshot = part.snapshot
    if not snapshot.topics and not snapshot.bundles:
        raise InputError(f"{snapshot.source}: the tables have neither topics nor bundles of it")
    if not part.subscription:
        return
    kinds = {subscription.type for facts in snapshot.topics.values() for subscription in facts.subscriptions}
    if kinds.isdisjoint((FAILOVER, KEY_SHARED)):
        listed = ", ".join(sorted(kinds)) or "none"
        raise InputError(
            f"{snapshot.source}: no Failover or Key_Shared subscription to show, only those of type {listed}"
        )


def _tells_flag(groups: Sequence[Group]) -> bool:
    """Whether a recorded active consumer of a partition speaks for one of the two rules."""
    for group in groups:
        actives = {key: active for key, active in group.actives.items() if key[1] >= 0}
        if infer_priority_levels(group.names, actives).rule is not None:
            return True
    return False


def _text(flag: bool) -> str:
    return str(flag).lower()

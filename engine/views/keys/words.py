"""The sentences of the screen "keys": how a mode works, and what keeps keys in order."""

from __future__ import annotations

from collections import Counter
from typing import Final

from engine.cluster.keys.state import KeySubscription, SharingMode
from engine.cluster.state import behaviour_in
from engine.config import CLASSIC_KEY_SHARED, ignored_setting
from engine.keyshared.delivery_state import OrderRule, WaitReason
from engine.keyshared.luck import Luck, Verdict
from engine.keyshared.model import CLASSIC_RING_SLOTS
from engine.keyshared.ring import RingForm, RingSelector
from engine.keyshared.sticky import LegacyStickySelector
from engine.text import counted
from engine.views.failover.model import Notice
from engine.views.keys.model import LuckWord
from engine.views.keys.slice import KeysSlice, fairness

ORDER_RULES: Final = {
    OrderRule.DRAINING_HASHES: "draining hashes: a slot that moved waits until its former consumer has acknowledged",
    OrderRule.RECENTLY_JOINED: "recently joined: a newcomer waits until all that was sent before is acknowledged",
    OrderRule.NONE: "nothing keeps keys in order while consumers come and go",
}
NO_HEIRS: Final = "nobody: its messages would wait"
"""Who inherits a key where no other consumer has its slot, whether others are connected or not."""
REASONS: Final = {
    WaitReason.NO_CONSUMER: "no consumer",
    WaitReason.NO_OWNER: "no owner",
    WaitReason.STOPPED: "all is stopped",
    WaitReason.DRAINING: "draining",
    WaitReason.RECENTLY_JOINED: "newcomer waits",
    WaitReason.DELAYED: "delayed",
    WaitReason.NO_PERMITS: "no permits",
    WaitReason.READ_DUE: "read is due",
    WaitReason.LOOK_AHEAD: "look-ahead is full",
}
VERDICTS: Final[dict[Verdict, LuckWord]] = {
    Verdict.CHANCE: "chance",
    Verdict.CHANCE_OF_POINTS: "chance of the points",
    Verdict.NAMES: "names",
    Verdict.JOIN_ORDER: "join order",
    Verdict.HISTORY: "history",
    Verdict.DECLARED: "declared",
    Verdict.HOT_KEY: "hot key",
    Verdict.CHOSEN_KEYS: "keys",
    Verdict.NOTHING: "nothing to judge",
    Verdict.DEFECT: "defect",
}


_ANSWERS: Final[dict[str, str]] = {
    VERDICTS[Verdict.CHANCE]: "it can be",
    VERDICTS[Verdict.CHANCE_OF_POINTS]: "unlucky points, which the keys follow",
    VERDICTS[Verdict.NOTHING]: "nothing to judge yet",
}


def verdict_text(verdict: str, *, unusual: bool = False) -> str:
    """A verdict as an answer to "uneven by chance?"; chance is only ever possible, never proved.

    ``unusual``: chance seldom gives the busiest consumer so many keys.

    >>> verdict_text("chance"), verdict_text("chance", unusual=True), verdict_text("hot key")
    ('it can be', 'hardly', 'hot key')
    """
    if unusual and verdict == VERDICTS[Verdict.CHANCE]:
        return "hardly"
    return _ANSWERS.get(verdict, verdict)


def shown(name: str) -> str:
    """A name or key for a sentence; an empty one is quoted, so that it is visible."""
    return name or '""'


def form_text(subscription: KeySubscription) -> str:
    """Which form of the selector this is, in few words."""
    selector = subscription.delivery.selector
    if isinstance(selector, RingSelector):
        if selector.form is RingForm.CURRENT:
            bits = "31-bit ring of the classic dispatcher" if selector.slots == CLASSIC_RING_SLOTS else "16-bit ring"
            return f"{bits}, {selector.points} points each"
        return f"31-bit ring, {selector.points} points each, form {selector.form.value}"
    if isinstance(selector, LegacyStickySelector):
        return "declared ranges, end points only"
    if subscription.mode is SharingMode.CONSISTENT_STICKY:
        return f"declared ranges from {subscription.points} points a node"
    return "declared ranges" if subscription.declares else "ranges halved"


def rule_text(subscription: KeySubscription) -> str:
    """How a key finds its consumer, in one sentence."""
    slots = subscription.delivery.selector.slots
    slot = f"hash mod {slots.size:,}" + (f" + {slots.low}" if slots.low else "")
    if slots.low == 0 and slots.folds_zero:
        slot += f", 0 counting as 1, so {slots.occurring:,} slots occur"
    match subscription.mode:
        case SharingMode.CONSISTENT_AUTO_SPLIT:
            return f"slot = {slot}; it goes to the first point at or after it, round the end"
        case SharingMode.AUTO_SPLIT:
            return f"slot = {slot}; a newcomer takes the lower half of the widest range"
        case SharingMode.STICKY:
            return f"slot = {slot}; it goes to whoever declared it, and waits where nobody did"
        case SharingMode.CONSISTENT_STICKY:
            return f"slot = {slot}; every node computes what it declares from points, index and count"


def luck_sentence(luck: Luck) -> str:
    """What is observed, what chance would do, and what explains the difference."""
    if luck.misplaced and not luck.keys:
        return _why(luck)
    if luck.expected_busiest is None or not luck.keys:
        return "no known key has an owner; a sent message makes its key known"
    if len(luck.consumers) < 2:
        declared = luck.verdict is Verdict.DECLARED
        return "the only consumer has every key " + ("whose slot it declared" if declared else "there is")
    busiest = f"busiest {luck.busiest_keys:,} of {luck.keys:,} keys"
    expected = f"chance gives {luck.expected_busiest:.1f} ({luck.busiest_low:,} to {luck.busiest_high:,})"
    return f"{busiest}, {expected}: {_why(luck)}"


def _why(luck: Luck) -> str:
    match luck.verdict:
        case Verdict.HOT_KEY:
            return f"the hottest key carries {luck.hottest_share:.0%} of all messages, and a key goes to one consumer"
        case Verdict.DEFECT:
            count = len(luck.misplaced)
            are = "key is" if count == 1 else "keys are"
            return f"{count:,} {are} served by another consumer than the one that has the slot"
        case Verdict.CHANCE_OF_POINTS:
            widest = max(consumer.share for consumer in luck.consumers)
            return (
                f"the points fell so by chance that one of {len(luck.consumers)} consumers has {widest:.1%} of the "
                "slots, and the keys follow; more points a consumer make shares more even"
            )
        # Only the uneven is unusual: keys that fall more evenly than that need no explanation.
        case Verdict.CHANCE if luck.busiest_keys > luck.busiest_high:
            seldom = f"chance alone is as uneven in at most {100 * luck.probability:.2g}% of all cases"
            return seldom + _share_of_busiest(luck)
        case Verdict.CHANCE if luck.busiest_keys < luck.busiest_low:
            return "keys fall more evenly than chance mostly gives"
    value: str = luck.verdict.value
    return value.partition(": ")[2]


def _share_of_busiest(luck: Luck) -> str:
    """That the busiest consumer has more slots than others, where that fits its keys better than equal shares do."""
    busiest = max(luck.consumers, key=lambda consumer: consumer.keys)
    if luck.probability_by_shares <= luck.probability or busiest.share * len(luck.consumers) <= 1:
        return ""
    return f"; the busiest has {busiest.share:.1%} of the slots, which gives {busiest.expected_keys:.0f} keys"


PARTITIONS_DIFFER: Final = "the partitions have different owners of slots, so only one can be compared with chance"
GAPS: Final = "key-gaps"
GAPS_SERVED: Final = "key-gaps-served"
POINTS_LOST: Final = "key-points-lost"
SHARED_NAMES: Final = "key-shared-names"
CLIENT_SIDE: Final = "key-client-side"
NO_ORDER: Final = "key-no-order"
CLASSIC_IGNORED: Final = "key-classic-ignored"


def key_notices(now: KeysSlice) -> tuple[Notice, ...]:
    """All notices in a fixed order."""
    notices = (
        _classic_ignored(now),
        _client_side(now),
        _gaps(now),
        _gaps_served(now),
        _points_lost(now),
        _names(now),
        _order(now),
    )
    return tuple(notice for notice in notices if notice is not None)


def _classic_ignored(now: KeysSlice) -> Notice | None:
    if not now.state.settings.subscriptionKeySharedUseClassicPersistentImplementation:
        return None
    text = ignored_setting(CLASSIC_KEY_SHARED, behaviour_in(now.state))
    return Notice(CLASSIC_IGNORED, text) if text else None


def _client_side(now: KeysSlice) -> Notice | None:
    if now.subscription.mode is not SharingMode.CONSISTENT_STICKY:
        return None
    text = (
        "consistent sticky ranges are a technique of clients: the broker sees STICKY ranges, and since they may not "
        "overlap, all nodes stop before the number of nodes changes"
    )
    return Notice(CLIENT_SIDE, text)


def _gaps(now: KeysSlice) -> Notice | None:
    gaps = now.gaps
    if not gaps.slot_count or not now.consumers:
        return None
    keys = int((now.known.owners < 0).sum())
    where = ", ".join(map(str, gaps.ranges[:3])) + (", ..." if len(gaps.ranges) > 3 else "")
    slots = counted(gaps.slot_count, "slot", "has", "have")
    return Notice(GAPS, f"{slots} no owner ({where}): {keys:,} of the known keys wait there")


def _gaps_served(now: KeysSlice) -> Notice | None:
    if not isinstance(now.selector, LegacyStickySelector):
        return None
    text = f"Pulsar {now.state.release} keeps only the ends of ranges: a gap between two ranges of one consumer is its"
    return Notice(GAPS_SERVED, text)


def _points_lost(now: KeysSlice) -> Notice | None:
    """Bug pattern K13: in 65,535 slots points meet, and who joined first keeps them."""
    selector = now.selector
    if not isinstance(selector, RingSelector) or not selector.consumers:
        return None
    shares = fairness(now)
    lost = shares.claimed_points - shares.occupied_points
    if not lost or not shares.crowded:
        return None
    share = lost / shares.claimed_points
    return Notice(
        POINTS_LOST,
        f"{lost:,} of {shares.claimed_points:,} points ({share:.0%}) meet others, and who joined first keeps them:"
        " the later a consumer joined, the less it has",
    )


def _names(now: KeysSlice) -> Notice | None:
    """Bug pattern K03: several consumers of one name."""
    doubled = [name for name, count in Counter(consumer.name for consumer in now.consumers).items() if count > 1]
    if not doubled:
        return None
    some = ", ".join(map(repr, doubled[:3])) + (", ..." if len(doubled) > 3 else "")
    if isinstance(now.selector, RingSelector) and now.selector.form.shares_points:
        text = f"one name for several consumers: {some}; in this release they share every point and take turns"
        return Notice(SHARED_NAMES, text)
    return Notice(SHARED_NAMES, f"one name for several consumers: {some}; statistics by name cannot distinguish them")


def _order(now: KeysSlice) -> Notice | None:
    if now.subscription.delivery.terms.order is not OrderRule.NONE or now.subscription.declares:
        return None
    text = "messages of a key can overtake each other here when consumers come and go: out-of-order delivery is allowed"
    return Notice(NO_ORDER, text)

"""The sentences of the screen "keys": how a mode works, and what keeps keys in order."""

from __future__ import annotations

from typing import Final

from engine.cluster.keys.state import KeySubscription, SharingMode
from engine.keyshared.delivery_state import OrderRule
from engine.keyshared.luck import Luck, Verdict
from engine.keyshared.model import CLASSIC_RING_SLOTS
from engine.keyshared.ring import RingForm, RingSelector
from engine.keyshared.sticky import LegacyStickySelector
from engine.keyshared.waits import WaitReason

ORDER_RULES: Final = {
    OrderRule.DRAINING_HASHES: "draining hashes: a slot that moved waits until its former consumer has acknowledged",
    OrderRule.RECENTLY_JOINED: "recently joined: a newcomer waits until all that was sent before is acknowledged",
    OrderRule.NONE: "nothing keeps keys in order while consumers come and go",
}
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
VERDICTS: Final = {
    Verdict.CHANCE: "chance",
    Verdict.CHANCE_OF_POINTS: "chance of the points",
    Verdict.NAMES: "names",
    Verdict.JOIN_ORDER: "join order",
    Verdict.HISTORY: "history",
    Verdict.DECLARED: "declared",
    Verdict.HOT_KEY: "hot key",
    Verdict.CHOSEN_KEYS: "keys",
    Verdict.DEFECT: "defect",
}


def verdict_text(verdict: str) -> str:
    """A verdict as an answer to "is it luck?": chance stays possible however unusual, and is proved by nothing.

    >>> verdict_text("chance"), verdict_text("hot key")
    ('it can be chance', 'hot key')
    """
    return "it can be chance" if verdict == VERDICTS[Verdict.CHANCE] else verdict


def shown(name: str) -> str:
    """A name or key in a sentence; an empty one would leave a hole, so it is quoted."""
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
    if luck.by_chance is None or not luck.keys:
        return "no known key has an owner, so there is nothing to judge"
    if len(luck.consumers) < 2:
        return "one consumer has every key"
    busiest = f"busiest {luck.busiest_keys:,} of {luck.keys:,} keys"
    expected = f"chance gives {luck.by_chance.expected_max:.1f} ({luck.busiest_low:,} to {luck.busiest_high:,})"
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
            widest = max(each.share for each in luck.consumers)
            return (
                f"the points fell so by chance that one of {len(luck.consumers)} consumers has {widest:.1%} of the "
                "slots, and the keys follow; more points a consumer make shares more even"
            )
        # Only the uneven is unusual: keys that fall more evenly than that need no explanation.
        case Verdict.CHANCE if luck.busiest_keys > luck.busiest_high:
            return f"unusual, but chance is as uneven in up to {luck.probability:.2g} of all cases"
        case Verdict.CHANCE if luck.busiest_keys < luck.busiest_low:
            return "keys fall more evenly than chance mostly gives"
    value: str = luck.verdict.value
    return value.partition(": ")[2]

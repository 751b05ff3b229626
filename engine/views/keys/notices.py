"""What to know about a Key_Shared subscription before believing a number: one sentence each, with a stable code."""

from __future__ import annotations

from collections import Counter
from typing import Final

from engine.cluster.keys.state import SharingMode
from engine.keyshared.delivery_state import OrderRule
from engine.keyshared.ring import RingSelector
from engine.keyshared.sticky import LegacyStickySelector
from engine.text import counted
from engine.views.failover.model import Notice
from engine.views.keys.slice import KeysSlice, fairness

GAPS: Final = "key-gaps"
GAPS_SERVED: Final = "key-gaps-served"
POINTS_LOST: Final = "key-points-lost"
SHARED_NAMES: Final = "key-shared-names"
CLIENT_SIDE: Final = "key-client-side"
NO_ORDER: Final = "key-no-order"


def key_notices(now: KeysSlice) -> tuple[Notice, ...]:
    """All notices in a fixed order."""
    found = (_client_side(now), _gaps(now), _gaps_served(now), _points_lost(now), _names(now), _order(now))
    return tuple(notice for notice in found if notice is not None)


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
    if not gaps.slot_count or not now.selector.consumers:
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
    doubled = [name for name, count in Counter(each.name for each in now.selector.consumers).items() if count > 1]
    if not doubled:
        return None
    some = ", ".join(map(repr, doubled[:3])) + (", ..." if len(doubled) > 3 else "")
    if isinstance(now.selector, RingSelector) and now.selector.form.shares_points:
        text = f"one name for several consumers: {some}; in this release they share every point and take turns"
        return Notice(SHARED_NAMES, text)
    return Notice(SHARED_NAMES, f"one name for several consumers: {some}; statistics by name cannot tell them apart")


def _order(now: KeysSlice) -> Notice | None:
    if now.subscription.delivery.terms.order is not OrderRule.NONE or now.subscription.declares:
        return None
    text = "messages of a key can overtake each other here when consumers come and go: out-of-order delivery is allowed"
    return Notice(NO_ORDER, text)

"""The worst of many subscriptions is the same, whether all are diagnosed or only those that can come first."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.diagnosis.causes import slots
from engine.diagnosis.seen import SubscriptionSeen, subscriptions_seen
from engine.diagnosis.why import diagnose, diagnose_all, worst
from tests.engine.diagnosis.answers import consumer, moments

RANGES = ([[0, 20_000]], [[20_001, 65_535]], [[0, 65_535]], [])
FEW = st.sampled_from([0, 0, 0, 1, 5, 40])
RATES = ("dispatchThrottledMsgEventsBySubscriptionLimit", "dispatchThrottledBytesEventsByTopicLimit")


@st.composite
def a_consumer(draw: st.DrawFn, name: str) -> dict[str, Any]:
    slots = [{"hash": 9, "unackMsgs": draw(FEW), "blockedAttempts": draw(FEW)}] if draw(st.booleans()) else []
    return consumer(
        name,
        availablePermits=draw(st.sampled_from([1000, 1000, 0, -3])),
        unackedMessages=draw(FEW),
        msgOutCounter=draw(st.sampled_from([None, 0, 7, 200])),
        blockedConsumerOnUnackedMsgs=draw(st.sampled_from([False, False, False, True])),
        drainingHashes=slots if draw(st.integers(0, 4)) == 0 else [],
        keyHashRangeArrays=draw(st.sampled_from(RANGES)),
        lastConsumedTimestamp=draw(st.sampled_from([0, 1795340880000])),
    )


@st.composite
def a_subscription(draw: st.DrawFn, type_: str) -> dict[str, Any]:
    names = "a" if type_ == "Exclusive" else draw(st.sampled_from(["", "a", "ab", "abc"]))
    quiet = draw(st.booleans())
    waiting = st.just(0) if quiet else FEW
    return {
        "type": type_ if names else draw(st.sampled_from([type_, "None"])),
        "consumers": [draw(a_consumer(name)) for name in names],
        "activeConsumerName": draw(st.sampled_from([None, "a", "b", "gone"]))
        if type_ in ("Failover", "Exclusive")
        else None,
        "keySharedMode": draw(st.sampled_from(["AUTO_SPLIT", "STICKY"])) if type_ == "Key_Shared" else None,
        "msgBacklog": draw(waiting),
        "unackedMessages": draw(waiting),
        "msgInReplay": draw(waiting),
        "msgDelayed": draw(waiting),
        "msgOutCounter": draw(st.sampled_from([0, 7, 200])),
        "blockedSubscriptionOnUnackedMsgs": draw(st.integers(0, 9)) == 0,
        draw(st.sampled_from(RATES)): draw(FEW),
    }


@st.composite
def fleets(draw: st.DrawFn) -> list[SubscriptionSeen]:
    """Some subscriptions on some topics at one or two moments."""
    names = draw(st.lists(st.sampled_from("stuv"), min_size=1, max_size=4, unique=True))
    types = {name: draw(st.sampled_from(["Shared", "Key_Shared", "Failover", "Exclusive"])) for name in names}
    topics = [f"admin/v2/persistent/t/{space}/x{part}/stats" for space in "mn" for part in ("", "-partition-1")]
    result = draw(st.lists(st.sampled_from(topics), min_size=1, max_size=4, unique=True))

    def moment() -> dict[str, Any]:
        return {
            topic: {
                "msgInCounter": draw(st.sampled_from([0, 7, 300])),
                "backlogSize": draw(st.sampled_from([0, 900])),
                "backlogQuotaLimitSize": draw(st.sampled_from([-1, -1, 500])),
                "publishers": [{}] if draw(st.booleans()) else [],
                "subscriptions": {name: draw(a_subscription(type_)) for name, type_ in types.items()},
            }
            for topic in result
        }

    return subscriptions_seen(moments(*(moment() for _ in range(draw(st.integers(1, 2))))))


@settings(max_examples=150, deadline=None)
@given(fleets())
def test_the_worst_is_the_first_of_all(seen: list[SubscriptionSeen]) -> None:
    first, of_all = worst(seen), diagnose_all(seen)[0]
    assert first == of_all
    assert first.ruled_out == of_all.ruled_out


@settings(max_examples=150, deadline=None)
@given(fleets())
def test_quiet_topics_need_not_be_asked(seen: list[SubscriptionSeen]) -> None:
    for each in seen:
        every = SubscriptionSeen(
            each.namespace, each.name, each.dispatchers, each.limits, each.release, each.moments, each.unloaded
        )
        every.__dict__["busy"] = every.dispatchers
        asked, spared = diagnose(every), diagnose(each)
        # A ring takes long to make, so ranges are judged only where something waits.
        assert [cause for cause in asked.causes if cause.id != slots.DIFFER] == [
            cause for cause in spared.causes if cause.id != slots.DIFFER
        ]
        assert {out for out in asked.ruled_out if out.id != slots.DIFFER} == {
            out for out in spared.ruled_out if out.id != slots.DIFFER
        }

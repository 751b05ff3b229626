"""The worst of many subscriptions is the same, whether all are diagnosed or only those that can come first."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings

from engine.diagnosis.causes import slots
from engine.diagnosis.seen import SubscriptionSeen, subscriptions_seen
from engine.diagnosis.why import diagnose, diagnose_all, worst
from tests.engine.diagnosis.answers import consumer, moments
from tests.seeds import by_seed

RANGES = ([[0, 20_000]], [[20_001, 65_535]], [[0, 65_535]], [])
FEW = (0, 0, 0, 1, 5, 40)
RATES = ("dispatchThrottledMsgEventsBySubscriptionLimit", "dispatchThrottledBytesEventsByTopicLimit")
TOPICS = tuple(f"admin/v2/persistent/t/{space}/x{part}/stats" for space in "mn" for part in ("", "-partition-1"))


def a_consumer(rng: Random, name: str) -> dict[str, Any]:
    slots = [{"hash": 9, "unackMsgs": rng.choice(FEW), "blockedAttempts": rng.choice(FEW)}] * rng.randint(0, 1)
    return consumer(
        name,
        availablePermits=rng.choice((1000, 1000, 0, -3)),
        unackedMessages=rng.choice(FEW),
        msgOutCounter=rng.choice((None, 0, 7, 200)),
        blockedConsumerOnUnackedMsgs=rng.choice((False, False, False, True)),
        drainingHashes=slots if rng.randint(0, 4) == 0 else [],
        keyHashRangeArrays=rng.choice(RANGES),
        lastConsumedTimestamp=rng.choice((0, 1795340880000)),
    )


def a_subscription(rng: Random, type_: str) -> dict[str, Any]:
    names = "a" if type_ == "Exclusive" else rng.choice(("", "a", "ab", "abc"))
    waiting = rng.choice(((0,), FEW))
    return {
        "type": type_ if names else rng.choice((type_, "None")),
        "consumers": [a_consumer(rng, name) for name in names],
        "activeConsumerName": rng.choice((None, "a", "b", "gone")) if type_ in ("Failover", "Exclusive") else None,
        "keySharedMode": rng.choice(("AUTO_SPLIT", "STICKY")) if type_ == "Key_Shared" else None,
        "msgBacklog": rng.choice(waiting),
        "unackedMessages": rng.choice(waiting),
        "msgInReplay": rng.choice(waiting),
        "msgDelayed": rng.choice(waiting),
        "msgOutCounter": rng.choice((0, 7, 200)),
        "blockedSubscriptionOnUnackedMsgs": rng.randint(0, 9) == 0,
        rng.choice(RATES): rng.choice(FEW),
    }


def a_fleet(rng: Random) -> list[SubscriptionSeen]:
    """Some subscriptions on some topics at one or two moments."""
    types = {name: rng.choice(("Shared", "Key_Shared", "Failover", "Exclusive")) for name in some(rng, "stuv")}
    topics = some(rng, TOPICS)

    def moment() -> dict[str, Any]:
        return {
            topic: {
                "msgInCounter": rng.choice((0, 7, 300)),
                "backlogSize": rng.choice((0, 900)),
                "backlogQuotaLimitSize": rng.choice((-1, -1, 500)),
                "publishers": [{}] * rng.randint(0, 1),
                "subscriptions": {name: a_subscription(rng, type_) for name, type_ in types.items()},
            }
            for topic in topics
        }

    return subscriptions_seen(moments(*(moment() for _ in range(rng.randint(1, 2)))))


def some(rng: Random, names: Sequence[str]) -> list[str]:
    """One of them at least."""
    return rng.sample(names, rng.randint(1, len(names)))


@settings(max_examples=150, deadline=None)
@given(by_seed(a_fleet))
def test_the_worst_is_the_first_of_all(seen: list[SubscriptionSeen]) -> None:
    first, of_all = worst(seen), diagnose_all(seen)[0]
    assert first == of_all
    assert first.ruled_out == of_all.ruled_out


@settings(max_examples=150, deadline=None)
@given(by_seed(a_fleet))
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


def test_numbers_that_cannot_be_do_not_hide_that_messages_go_out_again() -> None:
    """The first of two quiet subscriptions sends more than came in; so does the second, whose permits are below 0."""
    quiet = dict.fromkeys(("msgBacklog", "unackedMessages", "msgInReplay", "msgDelayed"), 0)

    def moment(out: int, consumers: list[dict[str, Any]]) -> dict[str, Any]:
        subscriptions = {
            "t": {"type": "Failover", "consumers": [], "msgOutCounter": out, **quiet},
            "s": {"type": "Shared", "consumers": consumers, "msgOutCounter": out, **quiet},
        }
        return {TOPICS[0]: {"msgInCounter": 0, "publishers": [], "subscriptions": subscriptions}}

    seen = subscriptions_seen(moments(moment(0, []), moment(200, [consumer("a", availablePermits=-3)])))
    assert (worst(seen).subscription, worst(seen)) == ("s", diagnose_all(seen)[0])

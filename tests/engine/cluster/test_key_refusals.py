"""Every refusal about Key_Shared in one table: its name in Pulsar, its status, the field at fault, the sentence."""

from __future__ import annotations

import pytest

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    Command,
    KillConsumer,
    PassTime,
    RenameConsumer,
    SendKeys,
    SetPriorityLevel,
    SetSetting,
    ShareKeys,
    SubscribeKeyShared,
)
from engine.cluster.decide import decide
from engine.cluster.keys.decide import MAX_MESSAGES, MAX_TIME_MS
from engine.cluster.limits import NAME_LIMIT_BYTES
from engine.cluster.state import ClusterState
from engine.config import BrokerSettings
from tests.engine.cluster.key_states import KEY, key_cluster, shared
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster, refusal

LONG = "x" * (NAME_LIMIT_BYTES + 1)
TOO_LONG = f"'{'x' * 57}...' has more than 65536 bytes in UTF-8, the limit here; choose a shorter one"
NO_SUBSCRIPTION = "there is no Key_Shared subscription 'none'; known: 'orders'"
FAILOVER = "'billing' is of type Failover; this is for Key_Shared"
GONE = "Consumer was not connected: #99 of orders"
MODES = "auto-split, consistent-auto-split, sticky, consistent-sticky"
REPLICA_POINTS = "subscriptionKeySharedConsistentHashingReplicaPoints"

RING = key_cluster("a", "b")
STICKY = after(key_cluster(mode="sticky"), AddConsumer(KEY, "a", 0, ((0, 99), (200, 299))))
NODES = key_cluster("a", mode="consistent-sticky", points=4)
EMPTY = key_cluster()

REFUSED: list[tuple[ClusterState, Command, str, int, str, str]] = [
    (RING, SubscribeKeyShared(LONG, AUDIT), "IllegalArgumentException", 0, "name", TOO_LONG),
    (RING, SubscribeKeyShared("", AUDIT), "NamingException", 0, "name", "Empty subscription name"),
    (RING, SubscribeKeyShared(" ", AUDIT), "NamingException", 0, "name", "Empty subscription name"),
    (RING, SubscribeKeyShared("s", "a/b"), "RestException", 404, "topic", "Topic 'a/b' not found"),
    (RING, SubscribeKeyShared("s", "nothing"), "RestException", 404, "topic", "Topic 'nothing' not found"),
    (RING, SubscribeKeyShared(KEY, AUDIT), "SubscriptionExists", 409, "name", f"'orders' is there already on {AUDIT}"),
    (
        RING,
        SubscribeKeyShared("billing", AUDIT),
        "ConsumerBusy",
        0,
        "subscription_type",
        "Subscription is of different type. Active subscription type of 'Failover' is different than the connecting "
        "consumer's type 'Key_Shared'.",
    ),
    (
        cluster([]),
        SubscribeKeyShared("billing", AUDIT),
        "SubscriptionExists",
        409,
        "name",
        f"'billing' is a Failover subscription of {AUDIT}, and its type stays here; choose another name",
    ),
    (
        cluster(settings=BrokerSettings(subscriptionKeySharedConsistentHashingReplicaPoints=0)),
        SubscribeKeyShared(KEY, AUDIT),
        "InvalidPoints",
        0,
        REPLICA_POINTS,
        f"{REPLICA_POINTS} is 0; a ring needs 1 point or more",
    ),
    (
        RING,
        SetSetting(REPLICA_POINTS, "0"),
        "InvalidPoints",
        0,
        REPLICA_POINTS,
        f"{REPLICA_POINTS} is 0; a ring needs 1 point or more",
    ),
    (RING, AddConsumer(KEY, LONG), "IllegalArgumentException", 0, "name", TOO_LONG),
    (
        RING,
        AddConsumer(KEY, "c", 0, ((0, 9),)),
        "ConsumerBusy",
        0,
        "ranges",
        "Subscription is of different type. Active subscription key_shared mode of 'AUTO_SPLIT' is different than the "
        "connecting consumer's key_shared mode 'STICKY'. (change the mode to sticky first)",
    ),
    (
        EMPTY,
        AddConsumer(KEY, "c", 0, ((0, 9),)),
        "IllegalArgumentException",
        0,
        "ranges",
        "consumers of orders declare no ranges in mode consistent-auto-split; change the mode to sticky first",
    ),
    (
        STICKY,
        AddConsumer(KEY, "c"),
        "IllegalArgumentException",
        0,
        "ranges",
        "Ranges for KeyShared policy must not be empty.",
    ),
    (
        STICKY,
        AddConsumer(KEY, "c", 0, ((9, 0),)),
        "IllegalArgumentException",
        0,
        "ranges",
        "Range end must >= range start.",
    ),
    (
        STICKY,
        AddConsumer(KEY, "c", 0, ((0, 65_536),)),
        "IllegalArgumentException",
        0,
        "ranges",
        "Ranges must be [0, 65535] but provided range is [0, 65536]",
    ),
    (
        STICKY,
        AddConsumer(KEY, "c", 0, ((400, 500), (450, 600))),
        "IllegalArgumentException",
        0,
        "ranges",
        "Ranges for KeyShared policy with overlap between [400, 500] and [450, 600]",
    ),
    (
        NODES,
        AddConsumer(KEY, "c", 0, ((0, 9),)),
        "ConsumerAssign",
        0,
        "ranges",
        "Range conflict with consumer Consumer{consumerId=3, consumerName=a}",
    ),
    (RING, KillConsumer(KEY, 99), "ServerMetadata", 0, "consumer_id", GONE),
    (RING, RenameConsumer(KEY, 99, "z"), "ServerMetadata", 0, "consumer_id", GONE),
    (RING, RenameConsumer(KEY, 3, LONG), "IllegalArgumentException", 0, "name", TOO_LONG),
    (
        RING,
        SetPriorityLevel(KEY, 3, 1),
        "IllegalArgumentException",
        0,
        "priority_level",
        "priority levels play no part in Key_Shared",
    ),
    (RING, ShareKeys("none", "sticky"), "SubscriptionNotFound", 404, "subscription", NO_SUBSCRIPTION),
    (RING, ShareKeys("billing", "sticky"), "NotKeyShared", 0, "subscription", FAILOVER),
    (RING, ShareKeys(KEY, "STICKY"), "UnknownMode", 0, "mode", f"'STICKY' is not a mode; known: {MODES}"),
    (RING, ShareKeys(KEY, ""), "UnknownMode", 0, "mode", f"'' is not a mode; known: {MODES}"),
    (
        RING,
        ShareKeys(KEY, "consistent-sticky"),
        "InvalidPoints",
        0,
        "points",
        "a node needs 1 point or more, not 0",
    ),
    (
        RING,
        ShareKeys(KEY, "consistent-sticky", -1),
        "InvalidPoints",
        0,
        "points",
        "a node needs 1 point or more, not -1",
    ),
    (RING, SendKeys("none", ("k",)), "SubscriptionNotFound", 404, "subscription", NO_SUBSCRIPTION),
    (RING, SendKeys("billing", ("k",)), "NotKeyShared", 0, "subscription", FAILOVER),
    (
        RING,
        SendKeys(KEY, ()),
        "IllegalArgumentException",
        0,
        "keys",
        'name a key to send; an empty one is written ""',
    ),
    (RING, SendKeys(KEY, ("k",), 0), "IllegalArgumentException", 0, "times", "0 times is not a number of messages"),
    (RING, SendKeys(KEY, ("k",), -3), "IllegalArgumentException", 0, "times", "-3 times is not a number of messages"),
    (
        RING,
        SendKeys(KEY, ("k", "l"), MAX_MESSAGES),
        "TooManyMessages",
        0,
        "times",
        "up to 100000 unacknowledged messages are modelled, and these would be 200000",
    ),
    (RING, Acknowledge("none"), "SubscriptionNotFound", 404, "subscription", NO_SUBSCRIPTION),
    (RING, Acknowledge("billing"), "NotKeyShared", 0, "subscription", FAILOVER),
    (RING, Acknowledge(KEY, 99), "ServerMetadata", 0, "consumer_id", GONE),
    (RING, Acknowledge(KEY, 3, None, -1), "IllegalArgumentException", 0, "count", "-1 is not a number of messages"),
    (
        RING,
        PassTime(0),
        "IllegalArgumentException",
        0,
        "duration_ms",
        f"0 is not a duration; wait for 1 to {MAX_TIME_MS} ms",
    ),
]


@pytest.mark.parametrize(
    ("state", "command", "error", "status", "field", "message"),
    REFUSED,
    ids=[f"{at}-{type(row[1]).__name__}" for at, row in enumerate(REFUSED)],
)
def test_a_refusal_has_its_name_status_field_and_sentence(
    state: ClusterState, command: Command, error: str, status: int, field: str, message: str
) -> None:
    refused = refusal(state, command)
    assert (refused.error, refused.status, refused.field) == (error, status, field)
    assert refused.message == message


@pytest.mark.parametrize("command", [SendKeys(KEY, ("hex:0",)), Acknowledge(KEY, None, "hex:0")], ids=repr)
def test_a_key_that_is_no_text_is_refused_and_quoted(command: Command) -> None:
    refused = refusal(RING, command)
    assert "hex:0" in refused.message and refused.field == "key"


def test_a_range_that_overlaps_anothers_is_refused_and_names_the_other() -> None:
    refused = refusal(STICKY, AddConsumer(KEY, "c", 0, ((50, 60),)))
    assert refused.field == "ranges" and "a" in refused.message and "conflict" in refused.message.lower()


def test_time_is_for_whoever_uses_it() -> None:
    refused = refusal(cluster(), PassTime(5))
    assert (refused.error, refused.status) == ("SubscriptionNotFound", 404)
    assert refused.message.startswith("time changes nothing here: ")


def test_points_too_few_for_a_node_are_refused_and_everybody_stays() -> None:
    """A client whose node has no range cannot subscribe, and nobody else may stop for nothing."""
    state = key_cluster(*(f"n{number}" for number in range(463)), mode="auto-split")
    refused = refusal(state, ShareKeys(KEY, "consistent-sticky", 1))
    assert (refused.error, refused.field) == ("IllegalArgumentException", "points")
    assert refused.message.startswith("Ranges for KeyShared policy must not be empty. (all points of node ")
    assert len(shared(after(state, ShareKeys(KEY, "consistent-sticky", 9))).consumers) == 463


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (RING, RenameConsumer(KEY, 3, "a")),
        (RING, ShareKeys(KEY, "consistent-auto-split")),
        (STICKY, ShareKeys(KEY, "sticky", 9)),
        (NODES, ShareKeys(KEY, "consistent-sticky", 4)),
        (RING, Acknowledge(KEY)),
        (RING, Acknowledge(KEY, 3, "k", 2)),
    ],
    ids=["own name", "same mode", "sticky already", "same nodes", "nothing held", "nothing of a key held"],
)
def test_what_changes_nothing_is_accepted_without_events(state: ClusterState, command: Command) -> None:
    assert decide(state, command) == ()


def test_the_limits_of_the_broker_count_key_shared_consumers_too() -> None:
    full = after(RING, SetSetting("maxConsumersPerSubscription", "2"))
    assert refusal(full, AddConsumer(KEY, "c")).message == (
        "Subscription reached max consumers limit (orders has 2, maxConsumersPerSubscription is 2)"
    )
    assert decide(full, RenameConsumer(KEY, 3, "z"))
    lowered = after(RING, SetSetting("maxConsumersPerTopic", "4"))
    assert refusal(lowered, RenameConsumer(KEY, 3, "z")).message.startswith("Topic reached max consumers limit")
    assert refusal(lowered, AddConsumer("billing", "z")).field == "maxConsumersPerTopic"


def test_a_second_subscription_of_one_name_has_a_key_of_its_own() -> None:
    state = after(RING, SubscribeKeyShared(KEY, ORDERS))
    assert [subscription.key for subscription in state.key_subscriptions] == ["orders", "orders#2"]
    assert after(state, AddConsumer("orders#2", "x")).key_subscriptions[1].consumers[0].name == "x"

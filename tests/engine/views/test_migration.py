"""What becomes of a classic topic that is migrated, against the recording of a real migration."""

from __future__ import annotations

import json
from typing import Any

from engine.admin.facts import ConsumerFacts, Snapshot, SubscriptionFacts, TopicFacts
from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.routing.clients import JAVA_DEFAULT, KeyRouting
from engine.scenarios.synthetic import synthetic_keys
from engine.views.scalable.migration import (
    ClassicTopic,
    MigrationView,
    classic_topic,
    classic_topic_of,
    known_keys_of,
    migration_points,
    migration_view,
    routing_of,
)
from tests.engine.scalable import scenes

TOPIC = "persistent://ring/migrate/orders"
V5 = KeyRouting("java", "Murmur3_32Hash")
"""As v5 clients choose partitions of a topic that is not migrated yet."""


def view_of(topic: ClassicTopic, keys: tuple[bytes, ...] = (), routing: KeyRouting = V5) -> MigrationView:
    view = migration_view(topic, keys, routing)
    assert isinstance(view, MigrationView), view
    return view


def steps() -> dict[str, Any]:
    return {step["do"]: step for step in scenes.scene("migrate")["scenario"]["steps"]}


def test_segments_and_keys_are_those_of_the_recorded_migration() -> None:
    recorded = steps()
    keys = recorded["produce to the old name with the v5 client"]["keys"]
    view = view_of(ClassicTopic(TOPIC, 3, None, ()), tuple(key.encode() for key in keys))
    assert [row.partition for row in view.keys] == recorded["produce to the old name with the v5 client"]["segments"]
    assert [row.segment for row in view.keys] == recorded["produce after it"]["segments"]
    old = view_of(ClassicTopic(TOPIC, 3, None, ()), tuple(key.encode() for key in keys), JAVA_DEFAULT)
    ids = recorded["classic consumer and producer"]["ids"]
    assert [row.partition for row in old.keys] == [int(one.rpartition(":")[2]) for one in ids]
    active = [[one.start, one.end, one.id, one.buckets] for one in view.segments if one.state == "ACTIVE"]
    assert active == recorded["migrate"]["active"]
    assert [one.id for one in view.segments if one.state == "SEALED"] == recorded["migrate"]["sealed"]
    assert [one.topic for one in view.segments][2:4] == [
        f"{TOPIC}-partition-2",
        "segment://ring/migrate/orders/0000-5554-3",
    ]


def partition(index: int, **consumers: str) -> TopicFacts:
    listed = tuple(ConsumerFacts(name=name, client_version=version) for name, version in consumers.items())
    group = SubscriptionFacts("sub", "Failover", consumers=listed, msg_backlog_entries=5 + index)
    numbers = (None,) * 6
    return TopicFacts(f"{TOPIC}-partition-{index}", "persistent", "ring/migrate", index, *numbers, 1, (group,), "", "")


def test_who_is_connected_refuses_it_in_the_recorded_words() -> None:
    topics = [partition(index, old="Pulsar-Java-v4.0.7", new="Pulsar-Java-v5.0.1") for index in range(3)]
    before = classic_topic(Snapshot("", {one.name: one for one in topics}), TOPIC)
    assert before is not None
    view = view_of(before)
    assert view.connections == 9
    recorded = steps()["migrate while they are attached"]["calls"][0]["answer"]["reason"]
    assert view.refused == recorded.replace("6 legacy", "9 legacy")
    assert [(one.role, one.name, one.connections, one.classic) for one in view.clients] == [
        ("consumer", "new", 3, None),
        ("consumer", "old", 3, True),
        ("producer", None, 3, None),
    ]
    (group,) = view.subscriptions
    assert (group.backlog, group.consumers, group.idle) == (18, 2, 0)
    bad = [point.label for point in migration_points(view) if point.bad]
    assert bad == ["no way back", "refused now"]


def test_more_consumers_than_segments_and_buckets_would_be_idle() -> None:
    names = {f"c{number}": "" for number in range(9)}
    before = classic_topic(Snapshot("", {f"{TOPIC}-partition-0": partition(0, **names)}), TOPIC)
    assert before is not None
    (group,) = view_of(before).subscriptions
    assert (group.consumers, group.idle) == (9, 5)


def test_a_topic_of_the_simulation_has_its_consumers_and_known_keys() -> None:
    timeline = Timeline.start(ClusterState(), 0, "a test")
    for line in ("topic add t/n/x partitions 4", "producer add count 2 on t/n/x", "producer send #0 key k times 3"):
        command = parse_command(line, timeline.state)
        assert isinstance(command, Command), (line, command)
        timeline, refused = timeline.submit(command)
        assert refused is None, (line, refused)
    name = "persistent://t/n/x"
    before = classic_topic_of(timeline.state, name)
    assert before is not None
    assert (before.partitions, before.producers) == (4, 8)
    keys = known_keys_of(timeline.state, name)
    assert keys == (b"k",)
    assert len(view_of(before, keys).keys) == 1
    assert classic_topic_of(timeline.state, "persistent://t/n/y") is None


def test_keys_find_their_partition_as_the_subscription_says() -> None:
    state = synthetic_keys(4, 2, partitions=4, routing=V5).state
    (shared,) = state.key_subscriptions
    (name,) = shared.topics
    assert routing_of(state, name) is shared.routing
    before = classic_topic_of(state, name)
    assert before is not None
    rows = view_of(before, tuple(shared.keys), routing_of(state, name)).keys
    assert [row.partition for row in rows] == [shared.partition_of(key) for key in shared.keys]
    assert routing_of(ClusterState(), name) == JAVA_DEFAULT


def test_what_cannot_be_migrated() -> None:
    for name in ("non-persistent://t/n/x", f"{TOPIC}-partition-1", "topic://t/n/x"):
        refused = migration_view(ClassicTopic(name, 3, None, ()))
        assert isinstance(refused, Rejection), name
    assert isinstance(migration_view(ClassicTopic(TOPIC, 65537, None, ())), Rejection)


def test_the_view_is_plain_json() -> None:
    from engine.documents import document

    assert (
        json.loads(json.dumps(document(view_of(ClassicTopic(TOPIC, 0, None, ())))))["becomes"]
        == "topic://ring/migrate/orders"
    )

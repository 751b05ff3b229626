"""Key_Shared in what is written down: the fold of events, journals, and states from before there were any."""

from __future__ import annotations

import json
import zlib

import pytest

from engine.cluster.commands import Acknowledge, AddConsumer, KillConsumer, PassTime, RemoveTopic, SendKeys, ShareKeys
from engine.cluster.journal.lines import header_line, read_lines, step_line
from engine.cluster.keys.evolve import folded
from engine.cluster.keys.state import (
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyEvent,
    KeyIntervalsSeen,
    KeysAcknowledged,
    KeysPublished,
    KeysSeen,
    KeySubscription,
    KeySubscriptionCreated,
    KeyTimePassed,
)
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from tests.engine.cluster.key_states import KEY, key_cluster, shared
from tests.engine.cluster.support import AUDIT, after, cluster
from tests.journal_bytes import parse_state, serialise_state

HALVES = (("subscriptionKeySharedUseConsistentHashing", "false"),)


def busy() -> ClusterState:
    return after(
        key_cluster("a", "b"),
        SendKeys(KEY, ("k", "", "hex:00ff"), 3),
        Acknowledge(KEY, None, None, 2),
        PassTime(20),
        KillConsumer(KEY, 3),
        ShareKeys(KEY, "consistent-sticky", 5),
        AddConsumer(KEY, "c"),
    )


def sealed(entry: dict[str, object]) -> bytes:
    """A line as journals have it: the check sum of what stands before it at the end."""
    body = json.dumps(entry).encode()[:-1]
    return body + b',"~":"%08x"}\n' % zlib.crc32(body)


def test_a_state_reads_back_with_everything_that_is_folded_from_its_events() -> None:
    state = busy()
    again = parse_state(serialise_state(state))
    assert again == state
    for name in ("delivery", "keys", "sent", "now_ms", "declares", "points"):
        assert getattr(shared(again), name) == getattr(shared(state), name), name


def test_a_state_from_before_there_was_key_shared_opens_without_any() -> None:
    plain = json.loads(serialise_state(cluster()))
    del plain["key_subscriptions"]
    assert parse_state(json.dumps(plain).encode()) == cluster()


def test_a_journal_whose_header_is_older_opens_and_goes_on() -> None:
    timeline = Timeline.start(cluster(), 3, "older")
    timeline, _ = timeline.submit(AddConsumer("billing", "d"))
    lines = [header_line(timeline), *map(step_line, timeline.log)]
    header = json.loads(lines[0])
    del header["~"], header["state"]["key_subscriptions"]
    result = read_lines(b"".join([sealed(header), *lines[1:]]), "older")
    assert not result.problems
    assert result.timeline.state == timeline.state


def test_a_journal_of_key_shared_steps_reads_back() -> None:
    timeline = Timeline.start(key_cluster("a"), 3, "keys")
    for command in (SendKeys(KEY, ("k",)), AddConsumer(KEY, "b"), ShareKeys(KEY, "sticky"), PassTime(5)):
        timeline, refusal = timeline.submit(command)
        assert refusal is None
    lines = read_lines(b"".join([header_line(timeline), *map(step_line, timeline.log)]), "keys")
    assert not lines.problems
    assert lines.timeline.state == timeline.state


def test_a_subscription_goes_with_its_last_topic() -> None:
    state = busy()
    assert after(state, RemoveTopic(AUDIT)).key_subscriptions == ()
    assert parse_state(serialise_state(state)).key_subscriptions == state.key_subscriptions


BEGINNING: tuple[KeyEvent, ...] = (
    KeySubscriptionCreated("s", "s", "t/n", ("x",)),
    KeyDispatcherStarted("s", False, 0, False, "4.2.4", HALVES),
    KeyConsumerJoined("s", 1, "a"),
    KeyConsumerJoined("s", 2, "b"),
)

OBJECTIONS: list[tuple[KeyEvent, str]] = [
    (KeySubscriptionCreated("s", "s", "t/n", ("x",)), "subscription 's' exists"),
    (
        KeyDispatcherStarted("s", False, 0, False, "4.2.4", ()),
        "consumers of 's' are connected, so its dispatcher stays",
    ),
    (KeyConsumerJoined("s", 1, "a"), "consumer 1 of 's' is connected"),
    (KeyConsumerLeft("s", 9), "consumer 9 of 's' is not connected"),
    (KeysAcknowledged("s", 9, (0,)), "consumer 9 of 's' is not connected"),
    (KeyIntervalsSeen("s", ()), "intervals ascend to 65536, the range size"),
    (KeyIntervalsSeen("s", ((9, 1), (9, 2))), "intervals ascend to 65536, the range size"),
    (KeyIntervalsSeen("s", ((0, 1), (65_536, 2))), "intervals ascend to 65536, the range size"),
    (KeyIntervalsSeen("s", ((9, 1), (65_535, 2))), "intervals ascend to 65536, the range size"),
    (KeyIntervalsSeen("s", ((9, 1), (65_536, 1))), "each connected consumer has one interval"),
    (KeysSeen("s", (("k", -1),)), "a key has no negative number of messages"),
    (KeyTimePassed("s", -1), "time does not run backwards"),
]


@pytest.mark.parametrize(("event", "reason"), OBJECTIONS, ids=repr)
def test_an_event_that_cannot_follow_is_named(event: KeyEvent, reason: str) -> None:
    assert folded((*BEGINNING, event)) == reason


@pytest.mark.parametrize("event", [KeysSeen("s", (("hex:0", 1),)), KeysPublished("s", ("hex:0",))], ids=repr)
def test_a_key_that_is_no_text_cannot_have_been_seen(event: KeyEvent) -> None:
    assert "hex:0" in str(folded((*BEGINNING, event)))


def test_a_dispatcher_that_cannot_be_made_cannot_have_started() -> None:
    created = BEGINNING[0]
    replica = (("subscriptionKeySharedConsistentHashingReplicaPoints", "0"),)
    for start, piece in (
        (KeyDispatcherStarted("s", False, 0, False, "four", ()), "four"),
        (KeyDispatcherStarted("s", False, 0, False, "4.2.4", (("noSuchSetting", "1"),)), "noSuchSetting"),
        (KeyDispatcherStarted("s", False, 0, False, "4.2.4", replica), "needs 1 point or more"),
        (KeyDispatcherStarted("s", False, 5, False, "4.2.4", ()), "only where consumers declare ranges"),
        (KeyDispatcherStarted("s", True, -1, False, "4.2.4", ()), "a node has 1 or more"),
    ):
        assert piece in str(folded((created, start)))
    assert folded(()) == folded(BEGINNING[1:]) == "a Key_Shared subscription begins with its creation"


def test_intervals_that_were_seen_replace_the_halves_and_decide_who_gets_what() -> None:
    result = folded((*BEGINNING, KeyIntervalsSeen("s", ((100, 2), (65_536, 1)))))
    assert isinstance(result, KeySubscription)
    owner = result.delivery.selector.owner
    assert [owner(1), owner(100), owner(101), owner(65_535)] == [2, 2, 1, 1]
    ring = folded((BEGINNING[0], *BEGINNING[2:], KeyIntervalsSeen("s", ((100, 2), (65_536, 1)))))
    assert ring == "'s' does not halve ranges"

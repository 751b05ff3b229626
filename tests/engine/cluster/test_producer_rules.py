"""Commands about producers: what they lead to, what is refused in whose words, and what is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from engine.cluster.commands import (
    AddProducers,
    CloseProducer,
    Command,
    FailPartition,
    PassTime,
    ProducerCommand,
    RecoverPartition,
    RemoveTopic,
    RepartitionTopic,
    SendByProducers,
    SetProducerRate,
    SetSetting,
)
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve, objection
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.journal.codec import event_from_plain, state_from_plain, state_to_plain
from engine.cluster.journal.plain import encode, to_plain
from engine.cluster.producers.evolve import folded_producers, refolded_producers
from engine.cluster.producers.state import (
    PartitionFailed,
    ProducerClosed,
    ProducerLimitChanged,
    ProducerPartitionsGrown,
    ProducerPlan,
    ProducersAdded,
    ProducersSeen,
    ProducersSent,
    ProducerTimePassed,
    Tally,
)
from engine.cluster.state import ClusterState, dispatched_load
from engine.compare.verdict import evenness
from engine.errors import InputError, Rejection
from engine.names import namespace_of
from engine.producer_limit import ProducerLimit
from tests.engine.cluster.commands_strategy import any_text
from tests.engine.cluster.producer_states import producers_of, timeline_after
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster, refusal
from tests.journal_bytes import parse_command_json, parse_state, serialise_command, serialise_state

LAZY = f"producer add count 3 lazy batching off on {ORDERS}"


def add(**how: Any) -> AddProducers:
    return AddProducers(ORDERS, ProducerPlan(**how))


REFUSED: list[tuple[Command, str, str, str]] = [
    (AddProducers("nowhere", ProducerPlan()), "RestException", "topic", "not found"),
    (AddProducers("", ProducerPlan()), "IllegalArgumentException", "", "topic"),
    (AddProducers(AUDIT, ProducerPlan()), "RestException", "topic", "Topic is not partitioned topic"),
    (AddProducers(f"{ORDERS}-partition-1", ProducerPlan()), "RestException", "topic", "is a partition"),
    (add(count=0), "IllegalArgumentException", "count", "0 is not a number of producers"),
    (add(count=10_001), "TooManyProducers", "count", "up to 10000 producers"),
    (add(client="go"), "IllegalArgumentException", "client", "'go' is none of java, python, cpp"),
    (add(router="hash"), "IllegalArgumentException", "router", "none of round-robin, single, partial"),
    (add(access_mode="Mine"), "IllegalArgumentException", "accessMode", "none of Shared, Exclusive"),
    (add(hashing="MD5"), "UnknownValue", "hashingScheme", "MD5 is not a hash of java"),
    (add(client="python", hashing="Murmur3_32Hash"), "UnknownValue", "hashingScheme", "is not a hash of"),
    (add(name="  "), "IllegalArgumentException", "producerName", "producerName cannot be blank"),
    (add(max_pending_messages=-1), "IllegalArgumentException", "maxPendingMessages", "needs to be >= 0"),
    (add(router="partial"), "IllegalArgumentException", "numPartitionsLimit", "greater than or equal to 1"),
    (add(router="partial", limit=-2), "IllegalArgumentException", "numPartitionsLimit", "greater than or equal to 1"),
    (add(router="partial", limit=7), "LimitAbovePartitions", "numPartitionsLimit", "a limit of 7 is above the 6"),
    (add(router="single", limit=2), "IllegalArgumentException", "numPartitionsLimit", "belongs to the router partial"),
    (add(router="partial", limit=2, client="cpp"), "IllegalArgumentException", "messageRouter", "Java client"),
    (SendByProducers(ORDERS), "ProducersNotFound", "topic", "producer add"),
    (CloseProducer(ORDERS, 0), "ProducersNotFound", "topic", "producer add"),
    (FailPartition(ORDERS, 0), "ProducersNotFound", "topic", "producer add"),
    (PassTime(10), "SubscriptionNotFound", "duration_ms", "no producer"),
]


@pytest.mark.parametrize(("command", "error", "field", "piece"), REFUSED, ids=lambda each: repr(each)[:60])
def test_what_nobody_can_ask_is_refused_by_name_and_changes_nothing(
    command: Command, error: str, field: str, piece: str
) -> None:
    result = refusal(cluster(), command)
    assert result.error == error and piece in result.message
    assert result.field == field or not field


@pytest.mark.parametrize(
    ("command", "error", "field", "piece"),
    [
        (SendByProducers(ORDERS, 3), "ProducerNotFound", "producer", "known: 0 to 2"),
        (SendByProducers(ORDERS, 0, None, 0), "IllegalArgumentException", "times", "0 times"),
        (SendByProducers(ORDERS, 0, None, -1), "IllegalArgumentException", "times", "-1 times"),
        (SendByProducers(ORDERS, None, None, 3_334), "TooManyMessages", "times", "up to 10000"),
        (SendByProducers(ORDERS, 0, "k", 1, -1), "IllegalArgumentException", "sizeBytes", "below 0"),
        (SetProducerRate(ORDERS, 9, 1.0), "ProducerNotFound", "producer", "no producer 9"),
        (SetProducerRate(ORDERS, 0, 1e10), "IllegalArgumentException", "msgs_per_sec", "1e+10 messages/s"),
        (SetProducerRate(ORDERS, 0, float("nan")), "IllegalArgumentException", "msgs_per_sec", "0 to 1e+09"),
        (SetProducerRate(ORDERS, None, 1.0, -1), "IllegalArgumentException", "size_bytes", "-1 is not a size"),
        (SetProducerRate(ORDERS, 0, 1.0, 1, None, 10_001), "IllegalArgumentException", "keys", "0 to 10000"),
        (SetProducerRate(ORDERS, 0, 1.0, 1, "k", 2), "IllegalArgumentException", "keys", "not both"),
        (CloseProducer(ORDERS, 9), "ProducerNotFound", "producer", "no producer 9"),
        (FailPartition(ORDERS, 6), "IllegalArgumentException", "partition", "the topic has 0 to 5"),
        (RecoverPartition(ORDERS, -1), "IllegalArgumentException", "partition", "no partition -1"),
        (RepartitionTopic(ORDERS, 5), "NotSupportedException", "partitions", "not support shrink topic partitions"),
        (add(access_mode="Exclusive"), "ProducerFenced", "accessMode", "Topic has existing shared producers"),
        (add(name="standalone-0-1"), "ProducerBusy", "producerName", "is already connected to topic"),
    ],
    ids=lambda each: repr(each)[:50],
)
def test_refusals_where_there_are_producers(command: Command, error: str, field: str, piece: str) -> None:
    state = timeline_after(LAZY, "producer send all times 6").state
    result = refusal(state, command)
    assert (result.error, result.field) == (error, field) and piece in result.message


def test_more_than_is_modelled_is_refused_before_it_takes_the_memory() -> None:
    """Objects of eager producers, pairs of lazy ones, and growth that would make either too many."""
    wide = cluster(partitions=3000)
    assert refusal(wide, add(count=67)).error == "TooManyProducers"
    assert refusal(wide, add(count=667, lazy=True)).error == "TooManyProducers"
    state = after(wide, add(count=60))
    grown = refusal(state, RepartitionTopic(ORDERS, 4000))
    assert (grown.error, grown.field) == ("TooManyProducers", "partitions")
    assert not isinstance(decide(state, RepartitionTopic(ORDERS, 3100)), Rejection)


def test_some_that_are_refused_do_not_keep_the_others_out() -> None:
    """Two exclusive ones: the broker lets the first in and fences the second, which is reported and not kept."""
    topic = producers_of(timeline_after(f"producer add count 2 access exclusive on {ORDERS}"))
    assert (topic.tally.created, topic.tally.refused) == (1, 1)
    assert "Topic has an existing exclusive producer" in topic.tally.error
    assert [producer.state for producer in topic.producers.producers] == ["Ready"]


@pytest.mark.parametrize(
    "command",
    [CloseProducer(ORDERS, 1), FailPartition(ORDERS, 2), RecoverPartition(ORDERS, 0), RepartitionTopic(ORDERS, 6)],
    ids=repr,
)
def test_what_is_so_already_is_accepted_without_events(command: Command) -> None:
    assert decide(timeline_after(LAZY, "producer close #1", "partition fail 2").state, command) == ()


def test_growing_the_topic_is_seen_by_its_producers_and_by_no_others() -> None:
    other = f"{AUDIT}-2"
    timeline = timeline_after(f"topic add {other} partitions 2", LAZY, f"producer add on {other}")
    before = timeline.state.producer_topics
    timeline = timeline.submit(RepartitionTopic(ORDERS, 9))[0]
    mine, theirs = timeline.state.producer_topics
    assert (mine.partitions, theirs.partitions) == (9, 2) and theirs is before[1]
    assert mine.happened[-1] == ProducerPartitionsGrown(ORDERS, 9)
    assert [producer.partitions for producer in mine.producers.producers] == [6, 6, 6]
    waited = timeline.submit(PassTime(60_000))[0]
    assert [producer.partitions for producer in waited.state.producer_topics[0].producers.producers] == [9, 9, 9]
    assert waited.state.producer_topics[1].now_ms == 60_000


def test_the_limit_of_producers_is_that_of_the_setting_from_the_moment_it_has() -> None:
    timeline = timeline_after(LAZY)
    assert producers_of(timeline).producers.topic.limit.most == 0
    timeline = timeline.submit(SetSetting("maxProducersPerTopic", "1"))[0]
    assert producers_of(timeline).happened[-1] == ProducerLimitChanged(ORDERS, 1)
    assert producers_of(timeline).tally == Tally()
    # Three lazy producers are at one partition each and stay; eager ones, which open all six, are refused.
    refused = refusal(timeline.state, add(count=2))
    assert (refused.error, refused.field) == ("ProducerBusy", "maxProducersPerTopic")
    assert len(producers_of(timeline).producers.producers) == 3
    timeline = timeline.submit(SetSetting("maxProducersPerTopic", "0"))[0]
    assert producers_of(timeline.submit(add(count=2))[0]).tally.created == 2


def test_producers_that_come_later_meet_the_limit_that_holds_by_then() -> None:
    limited = after(cluster(), SetSetting("maxProducersPerTopic", "2"))
    state = after(limited, add(count=4))
    (topic,) = state.producer_topics
    assert (topic.tally.created, topic.tally.refused, topic.producers.topic.limit.most) == (2, 2, 2)
    assert [len(there) for there in topic.producers.topic.connected] == [2] * 6
    assert parse_state(serialise_state(state)).producer_topics[0].producers == topic.producers


def test_one_who_was_refused_draws_anew_at_the_next_attempt() -> None:
    limited = after(cluster(), SetSetting("maxProducersPerTopic", "1"))
    (topic,) = after(limited, add(count=40, lazy=True)).producer_topics
    assert topic.tally.created == 6 == len({at for at, there in enumerate(topic.producers.topic.connected) if there})


def test_settings_that_always_held_leave_out_who_would_have_been_refused() -> None:
    state = timeline_after("producer add count 4", "producer send all", "producer close #3").state
    settings = structs.replace(state.settings, maxProducersPerTopic=2)
    (topic,) = refolded_producers(state, settings)
    assert len(topic.producers.producers) == 2
    assert [type(event).__name__ for event in topic.happened] == [
        "ProducersSeen", "ProducerLimitChanged", "ProducersAdded", "ProducersSent"
    ]  # fmt: skip
    assert refolded_producers(state, state.settings) is state.producer_topics


def test_deleting_the_topic_takes_its_producers_along() -> None:
    state = after(timeline_after(LAZY).state, RemoveTopic(ORDERS))
    assert state.producer_topics == ()


def test_undo_and_redo_give_the_same_state_without_folding_anew() -> None:
    timeline = timeline_after(LAZY, "producer send all times 3", "partition fail 1")
    back = timeline.undo().undo()
    assert producers_of(back).tally.created == 3
    assert back.redo().redo().state == timeline.state
    assert producers_of(back.redo().redo()).producers is producers_of(timeline).producers


def test_only_what_happened_is_written_down_and_it_is_all_that_counts() -> None:
    timeline = timeline_after(LAZY, "producer send #0 key k times 2", "producer close #2")
    topic = producers_of(timeline)
    bare = replace(topic, keys={}, results={}, recent=())
    assert bare == topic
    plain = state_to_plain(timeline.state)["producer_topics"]
    assert [event["type"] for event in plain[0]] == [
        "ProducersSeen",
        "ProducersAdded",
        "ProducersSent",
        "ProducerClosed",
    ]
    read = parse_state(serialise_state(timeline.state)).producer_topics[0]
    assert (read.producers, read.keys, read.results) == (topic.producers, topic.keys, topic.results)


def test_a_state_from_before_there_were_producers_reads_as_one_without() -> None:
    plain = state_to_plain(cluster())
    del plain["producer_topics"]
    assert parse_state(encode(plain)) == cluster()


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([], "begin with it"),
        ([ProducerClosed(ORDERS, 0)], "begin with it"),
        ([ProducersSeen(ORDERS, 0, 3, 0)], "at least 1 partition"),
        ([ProducersSeen(ORDERS, 6, 0, 0)], "brokers"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducersSeen(ORDERS, 6, 3, 0)], "count already"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducerClosed(ORDERS, 0)], "has no producer 0"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducersSent(ORDERS, 4)], "has no producer 4"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducersSent(ORDERS, None, None, -1)], "no negative"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducersAdded(ORDERS, ProducerPlan(client="go"))], "none of java"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducersAdded(ORDERS, ProducerPlan(count=-1))], "below 0"),
        ([ProducersSeen(ORDERS, 6, 3, 0), PartitionFailed(ORDERS, 6)], "has no partition 6"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducerPartitionsGrown(ORDERS, 5)], "cannot lose partitions"),
        ([ProducersSeen(ORDERS, 6, 3, 0), ProducerTimePassed(ORDERS, -1)], "does not run backwards"),
    ],
)
def test_a_history_that_cannot_be_says_why(events: list[Any], reason: str) -> None:
    producers = folded_producers(events)
    assert isinstance(producers, str) and reason in producers
    plain = state_to_plain(cluster()) | {"producer_topics": [[to_plain(event, tagged=True) for event in events]]}
    with pytest.raises(InputError, match=r"\$\.producer_topics\[0\]"):
        state_from_plain(plain)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (ProducersSeen(ORDERS, 5, 3, 0), "has 6 partitions, not 5"),
        (ProducersSeen(AUDIT, 1, 3, 0), "no partitioned topic"),
        (ProducersSeen("persistent://t/n/x", 1, 3, 0), "no partitioned topic"),
        (ProducerClosed(ORDERS, 0), "no producers of"),
        (ProducerPartitionsGrown(ORDERS, 9), "by that of their topic only"),
        (ProducerLimitChanged(ORDERS, 9), "by that of the setting"),
    ],
)
def test_an_event_from_outside_that_does_not_fit_is_kept_out(event: Any, reason: str) -> None:
    assert reason in objection(cluster(), event)
    assert event_from_plain(to_plain(event, tagged=True), "a test") == event


def test_states_share_what_an_event_does_not_touch() -> None:
    timeline = timeline_after(LAZY)
    before = timeline.state
    now = evolve(before, ProducersSent(ORDERS, 1))
    assert now.topics is before.topics and now.subscriptions is before.subscriptions
    mine, then = producers_of(timeline_after(LAZY)).producers, now.producer_topics[0].producers
    assert then.producers[0] is before.producer_topics[0].producers.producers[0]
    assert len(mine.producers) == len(then.producers)


def producer_commands() -> st.SearchStrategy[ProducerCommand]:
    """All of them with arguments of any kind that a line can carry."""
    text, number = any_text(), st.integers(-5, 10**6)
    plans = st.builds(
        ProducerPlan,
        count=number,
        name=st.none() | text,
        lazy=st.booleans(),
        router=text | st.sampled_from(["partial", "single", "round-robin"]),
        limit=number,
        allow_limit_above=st.booleans(),
        client=text,
        access_mode=text,
        hashing=st.none() | text,
        batching=st.none() | st.booleans(),
        max_pending_messages=number,
        max_pending_messages_across_partitions=number,
    )
    who = st.integers(0, 10**6)
    return st.one_of(
        st.builds(AddProducers, text, plans),
        st.builds(SendByProducers, text, st.none() | who, st.none() | text, number, number),
        st.builds(
            SetProducerRate, text, st.none() | who, st.floats(0, allow_infinity=False), number, st.none() | text, number
        ),
        st.builds(CloseProducer, text, who),
        st.builds(FailPartition, text, number),
        st.builds(RecoverPartition, text, number),
    )


@given(command=producer_commands())
def test_a_printed_command_reads_back_as_itself_anywhere(command: ProducerCommand) -> None:
    line = command_text(command)
    assert "\n" not in line and line.isprintable()
    assert parse_command(line, ClusterState()) == command
    assert parse_command_json(serialise_command(command)) == command


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("producer add", AddProducers(ORDERS, ProducerPlan())),
        (
            "producer add count 9 lazy partial 3 above",
            add(count=9, lazy=True, router="partial", limit=3, allow_limit_above=True),
        ),
        (
            "producer add client python named py batching on on orders",
            AddProducers("orders", ProducerPlan(client="python", name="py", batching=True)),
        ),
        ("producer send all", SendByProducers(ORDERS)),
        ('producer send #1 key "" times 3 size 7', SendByProducers(ORDERS, 1, "", 3, 7)),
        ("producer send standalone-0-2", SendByProducers(ORDERS, 2)),
        ("producer rate all 200", SetProducerRate(ORDERS, None, 200.0)),
        ("producer rate #1 0.5 size 7 keys 12", SetProducerRate(ORDERS, 1, 0.5, 7, None, 12)),
        ('producer rate standalone-0-2 3 key ""', SetProducerRate(ORDERS, 2, 3.0, key="")),
        ("producer close standalone-0-0", CloseProducer(ORDERS, 0)),
        ("partition fail 3", FailPartition(ORDERS, 3)),
        (f"partition recover 3 on {ORDERS}", RecoverPartition(ORDERS, 3)),
    ],
)
def test_a_line_is_read(line: str, command: Command) -> None:
    assert parse_command(line, timeline_after(LAZY).state) == command


@pytest.mark.parametrize(
    ("line", "error", "piece"),
    [
        ("producer", "SyntaxError", "add, send, rate or close is missing"),
        ("producer sing", "SyntaxError", "'sing'"),
        ("producer add count", "SyntaxError", "N is missing"),
        ("producer add count many", "SyntaxError", "whole number"),
        ("producer add lazy lazy", "SyntaxError", "'lazy' is given twice"),
        ("producer add batching maybe", "SyntaxError", "on or off"),
        ("producer add eager", "SyntaxError", "'eager' is too much"),
        ("producer send", "SyntaxError", "NAME|#N|all is missing"),
        ("producer send nobody", "ProducerNotFound", "no producer is named 'nobody'"),
        ("producer close standalone-0-9", "ProducerNotFound", "did you mean standalone-0-"),
        ("partition break 3", "SyntaxError", "write partition fail or recover, not 'break'"),
        ("partition fail", "SyntaxError", "N is missing"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(line: str, error: str, piece: str) -> None:
    command = parse_command(line, timeline_after(LAZY).state)
    assert isinstance(command, Rejection) and command.error == error and piece in command.message


def test_which_topic_is_meant_is_asked_where_several_could_be() -> None:
    state = after(cluster(), RepartitionTopic(ORDERS, 8))
    assert parse_command("producer add", state) == AddProducers(ORDERS, ProducerPlan())
    two = timeline_after(f"topic add {AUDIT}-2 partitions 2", start=state).state
    asked = parse_command("producer add", two)
    assert isinstance(asked, Rejection) and "say on TOPIC" in asked.message
    both = timeline_after(f"producer add on {AUDIT}-2", f"producer add on {ORDERS}", start=two).state
    assert parse_command("producer send all", both, ORDERS) == SendByProducers(ORDERS)
    assert parse_command("producer send all", both, f"{AUDIT}-2") == SendByProducers(f"{AUDIT}-2")


def test_equal_names_are_distinguished_by_numbers() -> None:
    state = timeline_after(f"producer add named x on {ORDERS}", "producer close #0", "producer add named x").state
    command = parse_command("producer send x", state)
    assert isinstance(command, Rejection) and command.error == "AmbiguousProducer" and "#0, #1" in command.message
    assert command_text(SendByProducers(ORDERS, 1), state) == "producer send #1"


def test_a_policy_of_the_namespace_goes_before_the_setting_and_is_kept() -> None:
    limited = structs.replace(cluster(), producer_policies={namespace_of(ORDERS): 2})
    state = after(after(limited, SetSetting("maxProducersPerTopic", "1")), add(count=4))
    (topic,) = state.producer_topics
    assert (topic.tally.created, topic.producers.topic.limit) == (2, ProducerLimit(2, "namespace policy"))
    assert parse_state(serialise_state(state)) == state
    own = structs.replace(limited, producer_policies={namespace_of(ORDERS): 2, ORDERS: 3})
    assert after(own, add(count=4)).producer_topics[0].tally.created == 3
    with pytest.raises(InputError, match="takes -1 producers"):
        state_from_plain(state_to_plain(structs.replace(limited, producer_policies={ORDERS: -1})))


def test_the_rate_of_producers_is_the_traffic_of_partitions_and_of_consumers() -> None:
    timeline = timeline_after("producer add batching off", "producer rate #0 60 size 100")
    state = timeline.state
    load = state.loads[f"{ORDERS}-partition-3"]
    assert (load.msg_rate_in, load.msg_rate_out) == (10.0, 10.0)
    assert (load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec) == (1_000.0, 1_000.0)
    billing = next(one for one in state.subscriptions if ORDERS in one.topics)
    even = evenness(structs.replace(state, subscriptions=(billing,)), billing)
    assert even.busiest_msgs_per_sec >= 60.0 / len(billing.consumers)
    assert dispatched_load(state, billing, f"{ORDERS}-partition-0").msg_rate_out == 10.0
    # The same again is no step, and undo takes the traffic back.
    assert decide(state, SetProducerRate(ORDERS, 0, 60.0)) == ()
    assert timeline.undo().state.loads == timeline_after("producer add batching off").state.loads
    assert parse_state(serialise_state(state)) == state
    grown = timeline.submit(RepartitionTopic(ORDERS, 12))[0].submit(PassTime(60_000))[0].state
    assert grown.loads[f"{ORDERS}-partition-11"].msg_rate_in == 5.0
    closed = after(state, CloseProducer(ORDERS, 0))
    assert closed.loads[f"{ORDERS}-partition-3"].msg_rate_in == 0.0


def test_a_limit_that_is_lifted_lets_a_rate_through() -> None:
    lines = ("producer add lazy batching off", "producer add batching off", "set maxProducersPerTopic 1")
    timeline = timeline_after(*lines, "producer rate #0 60")
    total = sum(load.msg_rate_in for name, load in timeline.state.loads.items() if name.startswith(ORDERS))
    assert total == pytest.approx(10.0)
    lifted = timeline.submit(SetSetting("maxProducersPerTopic", "0"))[0].state
    assert sum(load.msg_rate_in for name, load in lifted.loads.items() if name.startswith(ORDERS)) == pytest.approx(60)

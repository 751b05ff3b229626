"""Scalable topics in the simulation: commands, time, undo, the journal, and what recordings of a broker say of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cluster.commands import (
    AcknowledgeSegments,
    AddTopic,
    Command,
    JoinSegments,
    SendToSegments,
    SetSegmentRate,
)
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.limits import MAX_MSGS_PER_SEC, NAME_LIMIT_BYTES
from engine.cluster.scalable.decide import add_scalable_topic, decide_scalable
from engine.cluster.scalable.events import (
    LONGEST_MS,
    ScalableCreated,
    ScalableRemoved,
    ScalableTimePassed,
    ScalableTopicEvent,
    SegmentSplit,
)
from engine.cluster.scalable.evolve import (
    LATEST_MS,
    begun_topic,
    scalable_event_objection,
    stepped,
    with_scalable_event,
)
from engine.cluster.scalable.group import Group
from engine.cluster.scalable.opening import seen_event, statistics_of
from engine.cluster.scalable.running import Running
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.errors import InputError, Rejection
from engine.scalable.model import RING_SIZE
from engine.scenarios.opening import open_moments
from tests.engine.scalable.scenes import moments_of
from tests.journal_bytes import parse_state, serialise_state

TOPIC = "topic://t/n/x"


def after(*lines: str, timeline: Timeline | None = None) -> Timeline:
    reached = timeline or Timeline.start(ClusterState(), 0, "a test")
    for line in lines:
        command = parse_command(line, reached.state)
        assert isinstance(command, Command), (line, command)
        reached, refused = reached.submit(command)
        assert refused is None, (line, refused)
    return reached


def refusal(line: str, timeline: Timeline) -> tuple[str, int]:
    """The name and the status of a refusal, "" and 0 for none."""
    command = parse_command(line, timeline.state)
    refused = command if isinstance(command, Rejection) else timeline.submit(command)[1]
    return ("", 0) if refused is None else (refused.error, refused.status)


def running(timeline: Timeline) -> Running:
    return timeline.state.scalable_topics[0].running


def group(timeline: Timeline, name: str = "s") -> Group:
    return running(timeline).groups[name]


def reads(timeline: Timeline, name: str = "s") -> dict[int, tuple[str, ...]]:
    return {one: attachment.names for one, attachment in sorted(group(timeline, name).attached.items())}


KEYS = "segment send k1 k2 k3 k4 k5 k6 k7 k8"
ONE = (f"topic add {TOPIC} segments 1", "consumer join a to s")


def test_a_split_blocks_its_children_until_the_parent_is_acknowledged_and_seen_drained() -> None:
    split = after(*ONE, "segment send k times 7", "segment split 0")
    assert group(split).coordinator.blocked == (1, 2)
    assert reads(split) == {0: ("a",)}
    waited = after("wait 7000", timeline=split)
    assert group(waited).coordinator.blocked == (1, 2)
    acknowledged = after("consumer ack a", timeline=waited)
    assert group(acknowledged).coordinator.blocked == (1, 2)
    # The controller looks 2, 6, 14 and 30 s after the split.
    assert group(after("wait 6999", timeline=acknowledged)).coordinator.blocked == (1, 2)
    drained = after("wait 7000", timeline=acknowledged)
    assert group(drained).coordinator.blocked == ()
    assert reads(drained) == {1: ("a",), 2: ("a",)}


def test_pruning_frees_children_before_the_drain_check_looks_again() -> None:
    """As recorded: pruning comes by the minute, and the check after 30 s is followed by one after 62 s."""
    timeline = after(*ONE, "segment send k", "segment split 0", "wait 31000", "consumer ack a")
    assert group(after("wait 28999", timeline=timeline)).coordinator.blocked == (1, 2)
    pruned = after("wait 29000", timeline=timeline)
    assert group(pruned).coordinator.blocked == ()
    assert list(running(pruned).layout.segments) == [1, 2]


def test_what_is_sent_meanwhile_goes_to_the_children_and_waits_there() -> None:
    timeline = after(*ONE, "segment send k", "segment split 0", "segment send k times 3")
    (child,) = [one for one in (1, 2) if group(timeline).backlog(one)]
    assert (group(timeline).backlog(child), group(timeline).unacked(child), group(timeline).unacked(0)) == (3, 0, 1)


def test_keys_go_to_buckets_and_keyless_messages_to_bucket_0() -> None:
    timeline = after(*ONE, "consumer join b to s", KEYS, "segment send keyless times 9")
    held = group(timeline).held[0]
    assert sum(held.values()) == 17
    assert held["a", 0] >= 9
    assert {name for name, _ in held} == {"a", "b"}


def test_a_newcomer_is_refused_while_messages_are_unacknowledged_and_leaves_after_30_s() -> None:
    timeline = after(*ONE, "segment send k", "consumer join b to s")
    assert reads(timeline) == {0: ("a",)}
    assert group(after("wait 29999", timeline=timeline)).names == ("a", "b")
    gone = after("wait 30000", timeline=timeline)
    assert group(gone).names == ("a",)
    assert [one.what for one in running(gone).log if one.by_itself] == ["refused"]
    soon = after("wait 4000", "consumer ack a", timeline=timeline)
    assert reads(soon) == {0: ("a", "b")}


def test_a_hand_over_that_waits_for_55_s_never_ends_until_its_consumer_closes() -> None:
    """Both consumers were here before, so they wait for ever and are not thrown out."""
    timeline = after(f"topic add {TOPIC} segments 3", *(f"consumer join {name} to s" for name in "abc"), KEYS)
    assert reads(timeline) == {0: ("a",), 1: ("b",), 2: ("c",)}
    moving = after("consumer close a", timeline=timeline)
    leaving = {one: set(each.leaving) for one, each in group(moving).attached.items() if each.leaving}
    assert leaving == {1: {"b"}, 2: {"c"}}
    in_time = after("wait 22000", "consumer ack all", timeline=moving)
    assert reads(in_time) == {0: ("b",), 1: ("c",), 2: ("b",)}
    late = after("wait 55000", "consumer ack all", timeline=moving)
    assert {one: set(each.stuck) for one, each in group(late).attached.items()} == {0: set(), 1: {"b"}, 2: {"c"}}
    sent = after(KEYS, timeline=late)
    assert (group(sent).unacked(1), group(sent).backlog(1) > 0) == (0, True)
    freed = after("consumer close b", timeline=sent)
    assert reads(freed)[1] == ("c",)
    assert group(freed).unacked(1) == group(freed).backlog(1)


def test_a_lost_connection_keeps_its_segments_for_the_grace_period() -> None:
    timeline = after(
        f"topic add {TOPIC} segments 2", "consumer join a to s", "consumer join b to s", "segment send k1 k2 k3"
    )
    lost = after("consumer lose b", timeline=timeline)
    assert reads(lost) == {0: ("a",)}
    assert reads(after("wait 59999", timeline=lost)) == {0: ("a",)}
    expired = after("wait 60000", timeline=lost)
    assert reads(expired) == {0: ("a",), 1: ("a",)}
    back = after("wait 10000", "consumer join b to s", timeline=lost)
    assert reads(back) == reads(timeline)
    assert group(back).backlog(1) == group(timeline).backlog(1)


def test_a_controller_forgets_what_is_drained_with_the_last_close_and_not_with_the_last_lost_connection() -> None:
    drained = after(*ONE, KEYS, "segment split 0", "consumer join late to t", "wait 2000")
    assert (reads(drained), reads(drained, "t")) == ({0: ("a",)}, {1: ("late",), 2: ("late",)})
    closed = after("consumer close late of t", timeline=drained)
    assert (reads(closed, "t"), group(closed, "t").coordinator.blocked) == ({}, ())
    assert group(after("segment split 1", timeline=closed), "t").coordinator.blocked == ()
    back = after("consumer join b to t", timeline=closed)
    assert (reads(back, "t"), group(back, "t").coordinator.blocked) == ({0: ("b",)}, (1, 2))
    assert reads(after("wait 2000", timeline=back), "t") == {1: ("b",), 2: ("b",)}
    expired = after("consumer lose late of t", "wait 60000", timeline=drained)
    assert 0 in running(expired).layout.segments, "the other subscription has a backlog"
    assert group(expired, "t").names == ()
    assert reads(after("consumer join b to t", timeline=expired), "t") == {1: ("b",), 2: ("b",)}


def test_the_kind_of_a_subscription_is_that_of_its_consumers() -> None:
    """A broker prints QUEUE for one that nobody consumes."""
    left = after(*ONE, KEYS, "consumer close a of s")
    queue = after("consumer join q queue to s", timeline=left)
    assert (group(queue).kind, group(queue).backlog(0)) == ("QUEUE", 8)
    assert refusal("consumer join b checkpoint to s", queue) == ("IllegalArgumentException", 409)
    again = after("consumer close q of s", "consumer join b to s", timeline=queue)
    assert (group(again).kind, group(again).backlog(0)) == ("STREAM", 8)
    assert group(again).numbers == {"a": 0, "q": 1, "b": 2}


def test_the_fifth_consumer_of_an_idle_segment_rebuckets_it() -> None:
    timeline = after(*ONE, *(f"consumer join {name} to s" for name in "bcd"))
    assert [one.buckets for one in running(timeline).layout.active()] == [4]
    more = after("consumer join e to s", timeline=timeline)
    assert [(one.segment_id, one.buckets) for one in running(more).layout.active()] == [(1, 8)]
    # Nobody reads the successor until the predecessor is known to be drained.
    assert group(more).coordinator.blocked == (1,)
    assert reads(after("wait 2000", timeline=more)) == {1: tuple("abcde")}


def test_traffic_splits_once_its_record_is_written_and_merges_when_it_is_cold() -> None:
    timeline = after(*ONE, "segment rate all 25000", "wait 60000")
    assert len(running(timeline).layout.active()) == 2
    assert running(timeline).log[-1].reason == "msgRateIn"
    later = after("wait 180000", timeline=timeline)
    assert len(running(later).layout.active()) == 4
    assert [round(each.msg_rate_in) for each in running(later).rates.values()] == [6250] * 4
    # Four records are written within ten seconds, are cold 300 s later, and each merge waits 300 s for the next.
    cold = after("segment rate all 0", "wait 3600000", timeline=later)
    assert len(running(cold).layout.active()) == 1


def test_at_max_segments_a_group_is_blocked() -> None:
    timeline = after(f"topic add {TOPIC} segments 64", "segment rate all 640000", "wait 60000")
    assert running(timeline).blocked_reason == ""
    group_of = after(*(f"consumer join c-{at} checkpoint to s" for at in range(65)), timeline=timeline)
    assert running(group_of).blocked_reason == "max_segments"


def test_undo_and_scrubbing_give_the_same_states_again() -> None:
    timeline = after(*ONE, "segment send k", "segment split 0", "consumer ack a", "wait 2000")
    states = [timeline.state_at(step) for step in range(timeline.length + 1)]
    assert timeline.go_to(4).state == states[4]
    assert running(timeline.go_to(4)) == states[4].scalable_topics[0].running
    assert running(timeline.go_to(timeline.length)) == running(timeline)


@pytest.mark.parametrize(
    "line",
    [
        "segment split 1", "segment merge 0 1", "segment rebucket 0 8", "segment rate all 100",
        "segment rate 0 100 out 7.5 size 9", "segment send k", "segment send 'to' times 3",
        "segment send keyless times 4", "consumer join 'a b' checkpoint to q", "consumer join z queue to q",
        "consumer close a of s", "consumer lose a of s", "consumer ack all count 3 of s",
    ],
)  # fmt: skip
def test_a_line_reads_back_from_its_own_text(line: str) -> None:
    state = after(f"topic add {TOPIC} segments 2", "consumer join a to s").state
    command = parse_command(line, state)
    assert isinstance(command, Command), command
    for known in (state, None):
        assert parse_command(command_text(command, known), state) == command


@pytest.mark.parametrize(
    ("line", "error", "status"),
    [
        ("segment split 9", "IllegalArgumentException", 0),
        ("segment merge 0 0", "IllegalArgumentException", 0),
        ("segment rebucket 0 0", "IllegalArgumentException", 0),
        ("segment rebucket 0 4", "IllegalArgumentException", 0),
        ("segment rate 7 1", "IllegalArgumentException", 0),
        ("segment rate all 99999999999", "IllegalArgumentException", 0),
        ("segment send k times 0", "IllegalArgumentException", 0),
        ("segment split 0 on topic://t/n/other", "NotFoundException", 404),
        ("segment shrink 0", "SyntaxError", 0),
        ("consumer join a to s", "ConsumerBusyException", 409),
        ("consumer join z queue to s", "IllegalArgumentException", 409),
        ("consumer join '' to s", "IllegalArgumentException", 0),
        ("consumer close z of s", "ConsumerNotFound", 404),
        ("consumer ack all of other", "SubscriptionNotFound", 404),
        (f"topic add {TOPIC}", "ConflictException", 409),
        ("topic add topic://t/n/big segments 65537", "IllegalArgumentException", 412),
        ("topic remove topic://t/n/other", "NotFoundException", 404),
        ("wait 604800001", "IllegalArgumentException", 0),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(line: str, error: str, status: int) -> None:
    timeline = after(*ONE)
    assert refusal(line, timeline) == (error, status)


@pytest.mark.parametrize(
    ("last", "beyond"),
    [
        (SetSegmentRate(TOPIC, None, MAX_MSGS_PER_SEC, 0.0, 1), SetSegmentRate(TOPIC, None, 1.1e9, 0.0, 1)),
        (SetSegmentRate(TOPIC, None, 0.0, MAX_MSGS_PER_SEC, 1), SetSegmentRate(TOPIC, None, 0.0, 1.1e9, 1)),
        (SetSegmentRate(TOPIC, None, 1.0, 1.0, 0), SetSegmentRate(TOPIC, None, 1.0, 1.0, -1)),
        (SetSegmentRate(TOPIC, None, 1.0, 1.0, 2**30), SetSegmentRate(TOPIC, None, 1.0, 1.0, 2**30 + 1)),
        (SendToSegments(TOPIC, (), 1), SendToSegments(TOPIC, (), 0)),
        (SendToSegments(TOPIC, (), 10**9), SendToSegments(TOPIC, (), 10**9 + 1)),
        (AcknowledgeSegments(TOPIC, "s", "a", 0), AcknowledgeSegments(TOPIC, "s", "a", -1)),
        (AddTopic("topic://t/n/y", 0), AddTopic("topic://t/n/y", -1)),
        (AddTopic("topic://t/n/y", RING_SIZE), AddTopic("topic://t/n/y", RING_SIZE + 1)),
        (JoinSegments(TOPIC, "s", "b"), JoinSegments(TOPIC, "full", "b")),
        (JoinSegments(TOPIC, "s", "b" * NAME_LIMIT_BYTES), JoinSegments(TOPIC, "s", "b" * (NAME_LIMIT_BYTES + 1))),
    ],
    ids=lambda command: type(command).__name__,
)
def test_limits_belong_to_what_is_allowed(last: Command, beyond: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.cluster.scalable.decide.MAX_CONSUMERS", 2)
    state = after(*ONE, "consumer join c to full", "consumer join d to full").state
    assert not isinstance(decided(state, last), Rejection)
    assert isinstance(decided(state, beyond), Rejection)


def decided(state: ClusterState, command: Command) -> object:
    return add_scalable_topic(state, command) if isinstance(command, AddTopic) else decide_scalable(state, command)  # type: ignore[arg-type]


def test_a_topic_without_a_number_of_segments_has_one() -> None:
    assert decided(ClusterState(), AddTopic(TOPIC, 0)) == (ScalableCreated(TOPIC, 1),)


@pytest.mark.parametrize(
    ("event", "possible"),
    [
        (ScalableCreated(TOPIC), False),
        (ScalableCreated("topic://t/n/y"), True),
        (ScalableCreated("topic://t/n/y", RING_SIZE + 1), False),
        (SegmentSplit(TOPIC, 0), True),
        (SegmentSplit(TOPIC, 9), False),
        (SegmentSplit("topic://t/n/y", 0), False),
        (ScalableTimePassed(TOPIC, 65_000), False),
        (ScalableTimePassed(TOPIC, 65_001), True),
        (ScalableTimePassed(TOPIC, 65_000 + LONGEST_MS), True),
        (ScalableTimePassed(TOPIC, 65_001 + LONGEST_MS), False),
        (ScalableRemoved(TOPIC), True),
        (ScalableRemoved("topic://t/n/y"), False),
    ],
)
def test_events_of_a_journal_follow_the_state_or_are_refused(event: ScalableTopicEvent, possible: bool) -> None:
    state = after(*ONE, "wait 5000").state
    assert (scalable_event_objection(state, event) == "") is possible
    if possible:
        assert with_scalable_event(state, event).scalable_topics != state.scalable_topics


def test_an_event_changes_its_own_topic() -> None:
    two = after(*ONE, "topic add topic://t/n/y segments 1").state
    split = with_scalable_event(two, SegmentSplit(TOPIC, 0))
    assert [len(one.running.layout.active()) for one in split.scalable_topics] == [2, 1]
    assert split.scalable_topics[1] is two.scalable_topics[1]


@pytest.mark.parametrize(("now_ms", "possible"), [(-1, False), (0, True), (LATEST_MS - 1, True), (LATEST_MS, False)])
def test_times_of_what_was_seen_have_bounds(now_ms: int, possible: bool) -> None:
    facts = running(after(*ONE))
    seen = seen_event(TOPIC, facts.layout, statistics_of(facts), facts.clocks, now_ms=now_ms, max_buckets=8)
    topic = begun_topic(seen)
    assert isinstance(topic, ScalableTopic) is possible
    if isinstance(topic, ScalableTopic):
        late = ScalableTimePassed(TOPIC, LATEST_MS)
        assert isinstance(stepped(topic.running, late), Rejection)


def test_a_state_is_the_same_after_the_journal_and_a_damaged_one_is_refused() -> None:
    state = after(*ONE, "segment send k", "segment split 0", "wait 5000").state
    data = serialise_state(state)
    again = parse_state(data)
    assert again == state
    assert again.scalable_topics[0].running == state.scalable_topics[0].running
    with pytest.raises(InputError, match="Segment not found: 7"):
        parse_state(data.replace(b'"segment":0', b'"segment":7'))


# recordings


def test_a_recorded_topic_is_the_same_after_the_journal(tmp_path: Path) -> None:
    opened = open_moments(moments_of(tmp_path, "order"))
    assert len(opened.state.scalable_topics) == 1
    again = parse_state(serialise_state(opened.state))
    assert again.scalable_topics[0].running == opened.state.scalable_topics[0].running


@pytest.mark.parametrize(
    ("whole", "spoilt"), [(r"\"start\":0,", r"\"start\":70000,"), ("ACTIVE", "BROKEN"), (r"{\"segments", "{")]
)
def test_answers_in_a_journal_that_cannot_be_are_refused(tmp_path: Path, whole: str, spoilt: str) -> None:
    data = serialise_state(open_moments(moments_of(tmp_path, "order")).state).decode()
    assert whole in data
    with pytest.raises(InputError):
        parse_state(data.replace(whole, spoilt).encode())


@pytest.mark.parametrize("scene", ["manual", "order", "holdup", "auto-load", "migrate"])
def test_at_every_recorded_moment_the_simulation_begins_with_what_was_printed(tmp_path: Path, scene: str) -> None:
    """Backlogs, and what waits."""
    compared = 0
    for moment in moments_of(tmp_path, scene):
        for topic in open_moments([moment]).state.scalable_topics if moment.snapshot.scalable else ():
            facts = moment.snapshot.scalable[topic.topic]
            assert facts.statistics is not None
            ours = statistics_of(topic.running)
            assert {int(one) for one in ours.layout.segments} == set(topic.running.layout.segments)
            for name, printed in facts.statistics.subscriptions.items():
                if name.startswith("reader-"):
                    continue
                mine = ours.subscriptions[name]
                waits = {one for one, each in printed.segments.items() if each.blocked}
                assert {one for one, each in mine.segments.items() if each.blocked} == waits, (moment.at_ms, name)
                if name in topic.running.groups and topic.running.groups[name].kind != "CHECKPOINT":
                    assert mine.msgBacklog == printed.msgBacklog, (moment.at_ms, name)
                    compared += 1
    assert compared


def test_a_removed_topic_is_gone_until_the_step_is_undone_and_the_journal_knows_it() -> None:
    timeline = after(*ONE, f"topic remove {TOPIC}")
    assert timeline.state.scalable_topics == ()
    assert refusal(f"topic remove {TOPIC}", timeline) == ("NotFoundException", 404)
    assert refusal(f"segment split 0 on {TOPIC}", timeline) == ("NotFoundException", 404)
    assert parse_state(serialise_state(timeline.state), "a test") == timeline.state
    earlier = timeline.go_to(timeline.cursor - 1)
    assert reads(earlier) == {0: ("a",)}
    again = after(f"topic add {TOPIC} segments 3", timeline=timeline)
    assert len(running(again).layout.segments) == 3


def test_everybody_acknowledges_what_each_holds() -> None:
    timeline = after(
        f"topic add {TOPIC} segments 2", "consumer join a to s", "consumer join b to s", "segment send k times 3"
    )
    assert sum(group(timeline).unacked_by_name().values()) == 3
    done = after("consumer ack all", timeline=timeline)
    assert group(done).unacked_by_name() == {}
    assert running(done).log[-1].count == 3

"""What brokers reported beside what is computed: the numbers of recordings, and what a step leaves behind."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import Opened, open_moments, open_path
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.model import DashboardView
from engine.views.keys.model import KeysView
from engine.views.keys.view import keys_view
from engine.views.reported.model import CONSUMER_LIMIT, DRAINING, NO_PERMITS, SUBSCRIPTION_LIMIT, ReportedView
from engine.views.reported.view import Reported, keys_with_reported, subject_of, with_reported
from tests.engine.diagnosis.answers import consumer, moments, stats, stats_path
from tests.engine.diagnosis.samples import HEALTHY, dump

DRAINING_ALONE = Path(__file__).parents[2] / "recordings" / "c-keyshared-draining" / "05-stats.json.gz"


def opened_draining() -> Opened:
    """The fifth answers of a recording alone, about a topic of this name."""
    answer = b'{"persistent://t/n/x": %s}' % gzip.decompress(DRAINING_ALONE.read_bytes())
    return open_moments(read_moments(AnswerFile("x.json", answer)))


def main_view(found: Opened, *lines: str) -> DashboardView:
    timeline = stepped(found, *lines)
    view = dashboard_view(timeline)
    subject = subject_of(timeline, view.status.subscription)
    assert subject is not None
    reported = Reported(found.seen)
    return with_reported(view, reported, reported.last, subject)


def keys_shown(found: Opened, *lines: str) -> KeysView:
    timeline = stepped(found, *lines)
    key = timeline.state.key_subscriptions[0].key
    subject = subject_of(timeline, key)
    assert subject is not None
    reported = Reported(found.seen)
    return keys_with_reported(keys_view(timeline, key), reported, reported.last, subject)


def stepped(found: Opened, *lines: str) -> Timeline:
    timeline = Timeline.start(found.state)
    for line in lines:
        command = parse_command(line, timeline.state, None)
        assert isinstance(command, Command)
        timeline, refused = timeline.submit(command)
        assert refused is None
    return timeline


def reported_of(view: DashboardView | KeysView) -> ReportedView:
    assert view.reported is not None
    return view.reported


def obstacles(view: DashboardView | KeysView) -> list[tuple[str, ...]]:
    return [row.reported.obstacles for row in view.consumers if row.reported]


def opened_from(*found: dict[str, object]) -> Opened:
    return open_moments(moments(*({stats_path(): each} for each in found)))


@pytest.fixture
def draining() -> KeysView:
    return keys_shown(opened_draining())


def test_the_sums_of_a_blocked_key_shared_subscription(draining: KeysView) -> None:
    seen = reported_of(draining)
    assert (seen.backlog, seen.unacked, seen.in_replay, seen.draining_slots) == (200, 127, 73, 73)
    assert (seen.type, seen.dispatchers, seen.blocked_dispatchers, seen.computed_from) == ("Key_Shared", 1, 0, 0)


def test_who_waits_for_whom(draining: KeysView) -> None:
    names = [row.name for row in draining.consumers]
    pairs = [
        (names[pair.owner], names[pair.holder], pair.slots, pair.blocked_attempts)
        for pair in reported_of(draining).pairs
    ]
    assert pairs == [("d-b", "d-a", 37, 913), ("d-c", "d-a", 36, 1023)]
    worst = reported_of(draining).waits[0]
    assert (worst.slot, worst.blocked_attempts, names[worst.owner], names[worst.holder]) == (31179, 50, "d-c", "d-a")
    assert sum(wait.unacked for wait in reported_of(draining).waits) == 73


def test_the_rows_have_what_was_reported_of_each(draining: KeysView) -> None:
    rows = {row.name: row.reported for row in draining.consumers}
    assert all(rows.values())
    reported = {name: (each.permits, each.unacked, each.obstacles) for name, each in rows.items() if each is not None}
    assert reported == {"d-a": (873, 127, ()), "d-b": (1000, 0, (DRAINING,)), "d-c": (1000, 0, (DRAINING,))}
    assert set(reported_of(draining).marks) == {
        wait.slot for wait in reported_of(draining).waits if wait.blocked_attempts
    }


def test_without_a_time_the_latest_time_in_the_answers_is_a_bound(draining: KeysView) -> None:
    time = reported_of(draining).time
    assert (time.at_ms, time.not_before_ms, time.moment, time.moments) == (-1, 1_795_258_955_109, 1, 1)


def test_a_step_leaves_what_was_reported_behind() -> None:
    view = keys_shown(opened_draining(), "add z to sub")
    assert reported_of(view).computed_from == 1
    assert [row.reported for row in view.consumers] == [None] * 4
    assert reported_of(view).consumers == ()


def test_an_active_consumer_without_permits_has_the_backlog_waiting(tmp_path: Path) -> None:
    view = main_view(open_path(dump("failover-active-no-permits-a", tmp_path)))
    rows = {row.name: row.reported for row in view.consumers}
    active, standby = rows["app-1"], rows["app-2"]
    assert active is not None and standby is not None
    assert (active.obstacles, active.waiting, active.active) == ((NO_PERMITS,), 258, 1)
    assert (standby.obstacles, standby.waiting, standby.active) == ((), 0, 0)
    assert len(reported_of(view).blocked_topics.names) == len(reported_of(view).marks) == 1
    assert reported_of(view).time.at_ms > 0 and reported_of(view).time.moments == 2


def test_limits_of_unacknowledged_messages_are_distinguished() -> None:
    of_one = opened_from(
        stats("Key_Shared", [consumer("a", blockedConsumerOnUnackedMsgs=True, unackedMessages=5), consumer("b")])
    )
    of_all = opened_from(stats("Key_Shared", [consumer("a"), consumer("b")], blockedSubscriptionOnUnackedMsgs=True))
    assert [row.reported.obstacles for row in keys_shown(of_one).consumers if row.reported] == [(CONSUMER_LIMIT,), ()]
    assert [row.reported.obstacles for row in keys_shown(of_all).consumers if row.reported] == [
        (SUBSCRIPTION_LIMIT,)
    ] * 2
    assert reported_of(keys_shown(of_all)).blocked_dispatchers == 1
    assert reported_of(keys_shown(opened_from(stats("Key_Shared", [consumer("a")])))).blocked_dispatchers is None


def test_no_permits_is_no_obstacle_where_nothing_can_be_sent() -> None:
    idle = opened_from(stats("Failover", [consumer("a", availablePermits=0)], activeConsumerName="a"))
    busy = opened_from(stats("Failover", [consumer("a", availablePermits=0)], activeConsumerName="a", msgBacklog=7))
    assert obstacles(main_view(idle)) == [()]
    assert obstacles(main_view(busy)) == [(NO_PERMITS,)]


def test_namesakes_have_their_own_numbers() -> None:
    first = consumer("a", availablePermits=1, connectedSince="2026-11-21T11:02:34.1Z", address="/1")
    second = consumer("a", availablePermits=2, connectedSince="2026-11-21T11:02:34.2Z", address="/2")
    view = keys_shown(opened_from(stats("Key_Shared", [second, first])))
    assert [(row.consumer_id, row.reported.permits) for row in view.consumers if row.reported] == [(0, 1), (1, 2)]


def test_partitions_are_summed() -> None:
    answers = {
        stats_path(at): stats(
            "Failover", [consumer("a", availablePermits=10), consumer("b")], activeConsumerName="a", msgBacklog=5
        )
        for at in range(3)
    }
    view = main_view(open_moments(moments(answers)))
    assert [(row.reported.permits, row.reported.waiting) for row in view.consumers if row.reported] == [
        (30, 15),
        (3000, 0),
    ]
    assert (reported_of(view).backlog, reported_of(view).dispatchers) == (15, 3)


def test_what_the_simulation_made_has_nothing_reported() -> None:
    result = opened_draining()
    timeline = stepped(result, "subscribe orders to persistent://t/n/x")
    assert subject_of(timeline, "sub") is not None
    assert subject_of(timeline, "orders") is None


@pytest.mark.parametrize("name", [name for name in HEALTHY if "few-keys" not in name and "catching-up" not in name])
def test_healthy_subscriptions_have_nobody_blocked(name: str, tmp_path: Path) -> None:
    result = open_path(dump(name, tmp_path))
    reported = Reported(result.seen)
    timeline = Timeline.start(result.state)
    for subscription in (*result.state.subscriptions, *result.state.key_subscriptions):
        subject = subject_of(timeline, subscription.key)
        assert subject is not None
        view = reported.view(reported.last, subject)
        assert view is not None
        assert [row.obstacles for row in view.consumers if DRAINING in row.obstacles] == []
        assert view.blocked_dispatchers == 0


def test_a_view_is_made_once() -> None:
    result = opened_draining()
    reported = Reported(result.seen)
    subject = subject_of(Timeline.start(result.state), "sub")
    assert subject is not None
    assert reported.view(0, subject) is reported.view(0, subject)

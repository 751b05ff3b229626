"""The list of everything: each row equals what its own screen says, and what is unknown is not 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.admin.moments import read_moments
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.timeline import Timeline
from engine.diagnosis.model import Verdict
from engine.diagnosis.seen import subscriptions_seen
from engine.diagnosis.why import diagnose_all
from engine.scenarios.opening import Opened, open_moments
from engine.scenarios.synthetic import synthetic_producers
from engine.views.failover.dashboard import dashboard_view
from engine.views.keys.view import keys_view
from engine.views.listing import Listing, listing
from engine.views.reported.subscription import reported_only
from engine.views.reported.view import Reported
from tests.engine.scalable.scenes import moments_of
from tests.engine.scenarios.recordings import RECORDINGS


def listed(opened: Opened) -> tuple[Timeline, Listing]:
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    reported = Reported(opened.seen)
    seen = reported.subscriptions(reported.last)
    others = reported_only(reported, reported.last, timeline.initial)
    return timeline, listing(timeline, others, seen, diagnose_all(seen.values()))


def recording(name: str) -> Opened:
    return open_moments(read_moments(str(RECORDINGS / name)))


@pytest.fixture(scope="module")
def inventory() -> tuple[Timeline, Listing]:
    return listed(recording("f-inventory-2"))


def test_everything_that_can_be_shown_has_one_row(inventory: tuple[Timeline, Listing]) -> None:
    timeline, whole = inventory
    keys = [subscription.key for subscription in timeline.state.subscriptions]
    keys += [subscription.key for subscription in timeline.state.key_subscriptions]
    reported = Reported(recording("f-inventory-2").seen)
    keys += [subject.key for subject in reported_only(reported, reported.last, timeline.initial)]
    assert sorted(row.key for row in whole.rows) == sorted(keys)
    assert len(whole.rows) == 74


def test_failover_rows_say_what_their_screens_say(inventory: tuple[Timeline, Listing]) -> None:
    timeline, whole = inventory
    rows = {row.key: row for row in whole.rows}
    for place, subscription in enumerate(timeline.state.subscriptions):
        view, row = dashboard_view(timeline, subscription=place), rows[subscription.key]
        assert row.consumers == len(view.consumers)
        assert row.idle == sum(not each.active_partitions and not each.standby for each in view.consumers)
        assert {share.number: share.items for share in row.shares} == {
            each.colour: each.active_partitions for each in view.consumers if each.active_partitions
        }


def test_key_shared_rows_say_what_their_screens_say(inventory: tuple[Timeline, Listing]) -> None:
    timeline, whole = inventory
    rows = {row.key: row for row in whole.rows}
    for subscription in timeline.state.key_subscriptions:
        view = keys_view(timeline, subscription.key)
        assert {share.number for share in rows[subscription.key].shares} == {each.colour for each in view.consumers}


def test_the_worst_come_first(inventory: tuple[Timeline, Listing]) -> None:
    ranks = [Verdict(row.verdict).rank for row in inventory[1].rows]
    assert ranks == sorted(ranks)


def test_a_row_of_a_part_of_a_subscription_has_the_backlog_of_that_part(inventory: tuple[Timeline, Listing]) -> None:
    _, whole = inventory
    seen = subscriptions_seen(read_moments(str(RECORDINGS / "f-inventory-2")))
    in_all = {(each.namespace, each.name): each.backlog for each in seen}
    of_rows: dict[tuple[str, str], int] = {}
    for row in whole.rows:
        name = row.namespace, row.subscription
        of_rows[name] = of_rows.get(name, 0) + (row.backlog or 0)
    assert of_rows == {name: in_all[name] for name in of_rows}


def test_what_blocks_is_named_with_its_sentence() -> None:
    _, whole = listed(recording("c-keyshared-draining"))
    first = whole.rows[0]
    assert (first.type, first.verdict, first.cause) == ("Key_Shared", "slows", "slow_consumer")
    assert first.what


def test_without_reports_verdict_and_backlog_are_unknown() -> None:
    timeline, _ = listed(recording("pip392-flag-on"))
    rows = listing(timeline).rows
    assert [(row.verdict, row.backlog, row.out_msgs_per_sec) for row in rows] == [(None, None, None)] * len(rows)
    assert rows[0].idle is not None


def test_topics_with_producers_are_listed_too() -> None:
    opened = synthetic_producers(ProducerPlan(count=3), 12, seed=1)
    _, whole = listed(opened)
    (row,) = whole.rows
    assert (row.type, row.subscription, row.consumers, row.topics) == ("Producers", "", 3, 1)
    assert (row.verdict, row.idle, row.backlog, row.busiest_over_average) == (None, None, None, None)


def test_recordings_have_no_row_twice() -> None:
    for name in ("a-failover-8p-hash", "c-keyshared-sticky", "g-two-brokers", "v2.11.0-c-keyshared-ring"):
        _, whole = listed(recording(name))
        keys = [row.key for row in whole.rows]
        assert len(keys) == len(set(keys)), name


def test_a_scalable_topic_is_one_row_and_its_segments_are_none(tmp_path: Path) -> None:
    _, whole = listed(open_moments(moments_of(tmp_path, "holdup")))
    (row,) = whole.rows
    assert (row.key, row.type, row.verdict, row.backlog) == ("topic://ring/holdup/orders", "Scalable", "slows", 87)
    assert row.out_msgs_per_sec == 0


def test_partitions_of_before_a_migration_are_in_the_row_of_the_scalable_topic(tmp_path: Path) -> None:
    _, whole = listed(open_moments(moments_of(tmp_path, "migrate")))
    rows = [row for row in whole.rows if row.namespace == "ring/migrate"]
    assert [(row.key, row.type, row.subscription) for row in rows] == [
        ("topic://ring/migrate/orders", "Scalable", "sub")
    ]


def test_an_unknown_backlog_is_listed_behind_what_waits_and_before_nothing(tmp_path: Path) -> None:
    def answer(**members: object) -> dict[str, object]:
        return {"type": "Shared", "consumers": [{"consumerName": "c", "availablePermits": 9}], **members}

    subscriptions = {"none": answer(msgBacklog=0), "unknown": answer(), "some": answer(msgBacklog=5)}
    (tmp_path / "stats.json").write_text(json.dumps({"persistent://t/n/x": {"subscriptions": subscriptions}}))
    opened = open_moments(read_moments(str(tmp_path)))
    reported = Reported(opened.seen)
    timeline = Timeline.start(opened.state, 0, "")
    others = reported_only(reported, reported.last, timeline.initial)
    whole = listing(timeline, others, reported.subscriptions(reported.last))  # without verdicts, which come first
    assert [row.subscription for row in whole.rows] == ["some", "unknown", "none"]

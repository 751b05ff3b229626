"""What statistics lack is unknown in verdicts, sums, losses and splits, and never 0."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from engine.admin.files import AnswerFile
from engine.admin.snapshot import read_answers
from engine.cluster.bundles import RATES_UNKNOWN
from engine.cluster.commands import KillConsumer, SplitBundle
from engine.cluster.decide import decide
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.compare.heirs import losses
from engine.compare.verdict import preview
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, RANGE_EQUALLY_DIVIDE
from engine.errors import Rejection
from engine.scenarios.opening import open_snapshot
from engine.views.comparing.difference import difference_view
from engine.views.failover.dashboard import partitions_of
from engine.views.failover.splits import split_preview
from engine.views.failover.tree import namespace_nodes

NAMES: Final = [f"persistent://acme/shop/orders-partition-{at}" for at in range(4)]
BUNDLES: Final = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}


def partition(**without: bool) -> dict[str, Any]:
    """Statistics of a partition with two consumers; members that are named are left out of it."""
    consumers = [{"consumerName": name, "availablePermits": 9, "unackedMessages": 3} for name in ("a", "b")]
    lane = {"type": "Failover", "activeConsumerName": "a", "msgBacklog": 7, "msgRateOut": 5.0,
            "msgThroughputOut": 50.0, "unackedMessages": 0, "consumers": consumers}  # fmt: skip
    topic = {"msgRateIn": 5.0, "msgRateOut": 5.0, "msgThroughputIn": 50.0, "msgThroughputOut": 50.0}
    for member in without:
        topic.pop(member, None)
        lane.pop(member, None)
        for consumer in consumers:
            consumer.pop(member, None)
    return {**topic, "subscriptions": {"lane": lane}}


def state(*lacking: dict[str, bool]) -> ClusterState:
    """Four partitions, of which the first ones lack what is said."""
    each = [*lacking, *({} for _ in range(4 - len(lacking)))]
    topics = {name: partition(**without) for name, without in zip(NAMES, each, strict=True)}
    files = (
        AnswerFile("stats.json", json.dumps(topics).encode()),
        AnswerFile("acme%2Fshop-bundles.json", json.dumps(BUNDLES).encode()),
    )
    return open_snapshot(read_answers(*files)).state


WITHOUT_RATES: Final = {"msgRateOut": True, "msgThroughputOut": True}


@pytest.mark.parametrize(
    ("lacking", "rates", "at_risk"), [((), (20.0, 200.0), 24), ((WITHOUT_RATES,) * 4, (None, None), 24)]
)
def test_a_verdict_knows_no_rate_that_statistics_lack(
    lacking: tuple[dict[str, bool], ...], rates: tuple[float | None, float | None], at_risk: int
) -> None:
    now = state(*lacking)
    (lane,) = now.subscriptions
    gone = next(consumer for consumer in lane.consumers if consumer.name == "a")
    verdict = preview(now, KillConsumer(lane.key, gone.consumer_id), lane.key)
    assert not isinstance(verdict, Rejection)
    assert (verdict.moved, verdict.msgs_per_sec, verdict.bytes_per_sec) == (4, *rates)
    assert verdict.unacked_at_risk == at_risk
    assert (verdict.before.max_over_mean_rate is None) is bool(lacking)


def test_unacknowledged_messages_that_no_answer_has_are_unknown() -> None:
    timeline = Timeline.start(state({"unackedMessages": True}))
    consumers = timeline.state.subscriptions[0].consumers
    rows = [row for one in consumers for row in partitions_of(timeline, 0, one.consumer_id)]
    assert {row.name: row.unacked_messages for row in rows} == {NAMES[0]: None} | dict.fromkeys(NAMES[1:], 6)


def test_sums_of_a_difference_are_unknown_where_one_number_is() -> None:
    whole, lacking = state(), state(WITHOUT_RATES)
    for before, expected in ((whole, False), (lacking, True)):
        (lane,) = before.subscriptions
        consumer = next(one for one in lane.consumers if one.name == "a")
        events = decide(before, KillConsumer(lane.key, consumer.consumer_id))
        assert not isinstance(events, Rejection)
        after = preview_state(before, consumer.consumer_id)
        sums = difference_view(before, after, ("A", "B"), one_history=True).sums
        assert (sums.max_over_mean_rate is None) is expected


def preview_state(now: ClusterState, consumer: int) -> ClusterState:
    from engine.compare.verdict import carried_out

    after = carried_out(now, KillConsumer(now.subscriptions[0].key, consumer))
    assert not isinstance(after, Rejection)
    return after


def test_losses_have_no_messages_where_rates_are_unknown() -> None:
    now = state(WITHOUT_RATES)
    failures = losses(now, now.subscriptions[0])
    assert [loss.after.msgs_per_sec for loss in failures] == [None, None]
    assert all(loss.msgs_per_sec is not None for loss in losses(state(), state().subscriptions[0]))


def test_a_split_by_rates_that_are_unknown_is_refused_and_others_have_no_shares() -> None:
    now = state(WITHOUT_RATES)
    view = split_preview(now, "acme/shop", "0x00000000_0xffffffff")
    by_name = {option.algorithm: option for option in view.options if not option.as_proposed}
    flow, middle = by_name[FLOW_OR_QPS_EQUALLY_DIVIDE], by_name[RANGE_EQUALLY_DIVIDE]
    assert (view.msgs_per_sec, flow.pieces, flow.cuts) == (None, (), ())
    assert flow.refusal is not None
    assert [piece.rate_share for piece in middle.pieces] == [None, None]
    assert sum(piece.topics for piece in middle.pieces) == 4
    refused = decide(now, SplitBundle("acme/shop", "0x00000000_0xffffffff", FLOW_OR_QPS_EQUALLY_DIVIDE))
    assert isinstance(refused, Rejection)
    known = split_preview(state(), "acme/shop", "0x00000000_0xffffffff")
    assert known.msgs_per_sec == 40.0
    assert RATES_UNKNOWN not in {option.refusal.error for option in known.options if option.refusal is not None}


def test_topics_that_only_a_look_up_names_have_no_rate() -> None:
    owners = dict.fromkeys(NAMES, "pulsar://b-0:6650")
    now = open_snapshot(read_answers(AnswerFile("x.json", json.dumps(owners).encode()))).state
    assert [node.msgs_per_sec for node in namespace_nodes(None, now)] == [None]

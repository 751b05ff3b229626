"""A word is a subscription, else a topic, else a consumer."""

from __future__ import annotations

from engine.diagnosis.seen import subscriptions_seen
from engine.diagnosis.why import selected
from engine.errors import Rejection
from tests.engine.diagnosis.answers import consumer, moments, stats

SEEN = subscriptions_seen(moments({
    "admin/v2/persistent/t/n/orders-partition-0/stats": stats("Shared", [consumer("a")]),
    "admin/v2/persistent/t/n/orders-partition-1/stats": stats("Shared", [consumer("b")]),
    "admin/v2/persistent/t/m/s/stats": stats("Shared", [consumer("orders")]),
}))  # fmt: skip


def topics(word: str) -> list[tuple[str, ...]]:
    selection = selected(SEEN, word)
    assert not isinstance(selection, Rejection), selection
    return [tuple(dispatcher.topic.rpartition("/")[2] for dispatcher in seen.dispatchers) for seen in selection]


def test_the_name_of_a_subscription_comes_before_those_of_topics_and_consumers() -> None:
    assert topics("s") == [("orders-partition-0", "orders-partition-1"), ("s",)]
    assert topics("orders") == [("orders-partition-0", "orders-partition-1")]
    assert topics("b") == [("orders-partition-0", "orders-partition-1")]


def test_a_partition_is_taken_alone() -> None:
    assert topics("persistent://t/n/orders-partition-1") == topics("orders-partition-1") == [("orders-partition-1",)]
    assert topics("persistent://t/n/orders") == [("orders-partition-0", "orders-partition-1")]


def test_a_name_that_nothing_has_is_refused_with_near_ones() -> None:
    selection = selected(SEEN, "order")
    assert isinstance(selection, Rejection)
    assert "orders" in selection.message


def test_near_are_names_of_subscriptions_topics_without_their_namespace_and_consumers() -> None:
    seen = subscriptions_seen(moments({
        "admin/v2/persistent/t/n/invoices/stats": stats("Shared", [consumer("worker-7")]),
    }))  # fmt: skip
    for word, near in (("invoice", "invoices"), ("worker-8", "worker-7")):
        selection = selected(seen, word)
        assert isinstance(selection, Rejection)
        assert f" {near}?" in selection.message

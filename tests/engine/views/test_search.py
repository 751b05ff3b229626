"""Finding by a part of a name: what is found, at which place, and how much of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.cluster.state import ClusterState, Subscription
from engine.cluster.tables.texts import Texts
from engine.cluster.tables.topics import Topic
from engine.failover.model import Consumer
from engine.views.search import SearchIndex
from tests.tui.screens_under_test import cluster


@given(st.lists(st.text("abAÄß/", max_size=5), max_size=30), st.text("abBÄ/", max_size=3), st.integers(0, 9))
def test_texts_that_contain_a_part(texts: list[str], part: str, limit: int) -> None:
    """Letters of ASCII may differ in case, others may not; no part reaches into the next text."""

    def lower(text: str) -> str:
        return "".join(each.lower() if each.isascii() else each for each in text)

    expected = [at for at, text in enumerate(texts) if lower(part) in lower(text)]
    if part:
        assert Texts.of(texts).containing(part, limit) == expected[:limit]


def test_every_text_contains_nothing() -> None:
    assert Texts.of(["a", "b", "c"]).containing("", 2) == [0, 1]


def two() -> ClusterState:
    """Two subscriptions; the second one has another topic besides, and a consumer of the same name."""
    first = cluster(("a-0", "a-1"), topics=3)
    (billing,) = first.subscriptions
    other = Topic("persistent://shop/orders/returns", 4)
    topics = (*first.topics.values(), other)
    audit = Subscription(
        "audit", "audit", billing.namespace, (billing.topics[0], other.name), (Consumer(7, "a-0"), Consumer(8, "z"))
    )
    return replace(first, topics={topic.name: topic for topic in topics}, loads={}, subscriptions=(billing, audit))


def matches(part: str, shown: int = 0, limit: int = 200) -> list[tuple[str, str, int, int]]:
    search_index = SearchIndex(two(), ("billing", "audit"))
    return [
        (consumer.kind, consumer.name, consumer.place, consumer.consumer_id)
        for consumer in search_index.find(part, shown, limit)
    ]


def test_namesakes_are_found_in_each_subscription_with_their_ids() -> None:
    assert matches("A-0") == [("consumer", "a-0", 0, 0), ("consumer", "a-0", 1, 7)]


def test_a_topic_is_found_where_it_is_shown_else_where_it_is() -> None:
    assert matches("order-0")[0] == ("topic", "persistent://shop/orders/order-0", 0, -1)
    assert matches("order-0", shown=1)[0] == ("topic", "persistent://shop/orders/order-0", 1, -1)
    assert matches("order-1", shown=1) == [("topic", "persistent://shop/orders/order-1", 0, -1)]
    assert matches("returns")[0][2] == 1


def test_a_partition_that_there_is_is_found_by_its_name() -> None:
    name = "persistent://shop/orders/returns-partition-3"
    assert matches("RETURNS-partition-3") == [("topic", name, 1, -1)]
    assert matches("returns-partition-4") == matches("returns-partition-999999999") == []


def test_so_many_of_each_kind() -> None:
    assert [kind for kind, *_ in matches("", limit=1)] == ["subscription", "consumer", "topic"]
    assert matches("nowhere") == []
    assert len(matches("")) == 2 + 4 + 4


def test_a_topic_of_no_subscription_has_no_place() -> None:
    state = replace(two(), subscriptions=())
    assert [each.place for each in SearchIndex(state, ()).find("returns")] == [-1]

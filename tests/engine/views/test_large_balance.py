"""A large state begins a simulation with the same topics, in the same order, as a small one."""

from __future__ import annotations

from dataclasses import replace

from engine.balance.start import BalanceStart
from engine.balance.topic_columns import TopicColumns
from engine.cluster.state import ClusterState, Topic
from engine.cluster.topic_table import TopicTable
from engine.scenarios.synthetic import synthetic_state
from engine.views.balance import curve_of, start_of_state
from engine.views.balance_model import BalanceQuestion
from engine.views.large_balance import large_balance_topics

NAMESPACE = "public/default"
NAMES = (
    "persistent://public/default/zebra",
    "persistent://public/default/Ä-ümlaut",
    "persistent://public/default/a",
    "non-persistent://public/default/a",
    "persistent://public/default/a-10",
    "persistent://public/default/\U0001f600",
    "persistent://public/default/\uffee",
)


def small() -> ClusterState:
    """Topics with and without statistics, partitioned or not, of both domains, listed in no order."""
    state = synthetic_state(40, 2, 3, seed=5).state
    more = {name: Topic(name, partitions) for partitions, name in enumerate(NAMES)}
    return replace(state, topics={**more, **state.topics})


def large(state: ClusterState) -> ClusterState:
    return replace(state, topics=TopicTable.of(state.topics))


def test_the_start_of_a_large_state_is_that_of_a_small_one() -> None:
    for growth in (1.0, 1.1):
        question = BalanceQuestion(growth_per_cycle=growth)
        plain, columns = (start_of_state(each, NAMESPACE, question) for each in (small(), large(small())))
        assert isinstance(plain, BalanceStart) and isinstance(columns, BalanceStart)
        assert isinstance(columns.topics, TopicColumns) and len(plain.topics) > 90
        assert replace(columns, topics=tuple(columns.topics)) == plain


def test_a_namespace_without_topics_begins_the_same() -> None:
    state = small()
    state = replace(state, namespaces={**state.namespaces, "t/empty": state.namespaces[NAMESPACE]})
    plain, columns = (start_of_state(each, "t/empty", BalanceQuestion()) for each in (state, large(state)))
    assert isinstance(plain, BalanceStart) and isinstance(columns, BalanceStart)
    assert replace(columns, topics=tuple(columns.topics)) == plain


def test_the_curve_of_a_large_state_is_that_of_a_small_one() -> None:
    plain, columns = (curve_of(each, NAMESPACE, "0x00000000_0x40000000") for each in (small(), large(small())))
    assert str(plain.problems) == str(columns.problems)  # type: ignore[union-attr]
    assert tuple(columns.points) == plain.points  # type: ignore[union-attr]
    assert tuple(columns.idle) == plain.idle  # type: ignore[union-attr]


def test_a_name_that_a_table_cannot_hold_is_answered_topic_by_topic() -> None:
    state = small()
    state = replace(state, topics={**state.topics, "persistent://public/default/nul\0": Topic("nul\0", 0)})
    assert large_balance_topics(large(state), NAMESPACE, 1.0) is None
    assert large_balance_topics(small(), NAMESPACE, 1.0) is None

"""Why a topic goes where it goes, in words: what brokers do not count is not promised."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.cluster.tables.topics import Load
from engine.cluster.timeline import Timeline
from engine.views.failover.dashboard import topic_explanation
from engine.views.failover.explanations import TopicExplanation
from tests.engine.views.states import cluster, topic_name
from tui.failover.explaining import remarks_of


@pytest.mark.parametrize(("load", "number"), [(Load(backlog_entries=40), "40"), (Load(unacked_messages=7), "7")])
def test_what_may_come_twice_is_bounded_by_the_backlog_where_brokers_count_nothing(load: Load, number: str) -> None:
    name = topic_name("orders-partition-0")
    state = replace(cluster(["a", "b"], {"orders": 1}), loads={name: load})
    explanation = topic_explanation(Timeline.start(state), 0, name)
    assert isinstance(explanation, TopicExplanation)
    [moment] = [remark.text for remark in remarks_of(explanation, others=False) if remark.text.startswith("+1,000 ms")]
    assert number in moment.split()
    [short] = [remark.text for remark in remarks_of(explanation, others=True) if remark.label == "how"]
    assert number in short.split()

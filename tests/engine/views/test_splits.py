"""A split before it is made is what the model then makes of it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.cluster.grammar.reading import parse_command
from engine.cluster.timeline import Timeline
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, RANGE_EQUALLY_DIVIDE, SPLIT_ALGORITHMS
from engine.scenarios.embedded import embedded
from engine.views.failover.dashboard import dashboard_view, topics_of_bundle
from engine.views.failover.splits import split_preview, split_topics
from tests.engine.views.states import NAMESPACE, cluster

RANGE = "0x00000000_0x40000000"
FLOWING = "ring/ddflowmsgrate4x60"


def test_B15_all_algorithms_stand_side_by_side_and_the_default_is_marked() -> None:
    view = split_preview(cluster(["a"], {"x": 60}), NAMESPACE, RANGE)
    assert [option.algorithm for option in view.options if not option.as_proposed] == list(SPLIT_ALGORITHMS)
    assert [option.algorithm for option in view.options if option.is_default] == [RANGE_EQUALLY_DIVIDE]


def test_B11_each_piece_tells_its_topics_and_its_traffic_before_anything_is_split() -> None:
    timeline = Timeline.start(cluster(["a"], {f"topic-{at}": 1 for at in range(80)}))
    view = split_preview(timeline.state, NAMESPACE, RANGE)
    listed = topics_of_bundle(timeline, NAMESPACE, RANGE)
    assert tuple(view.topic_names) == tuple(topic.name for topic in listed) and view.topics == len(listed)
    assert [*view.topic_hashes] == sorted(view.topic_hashes)
    assert view.msgs_per_sec == pytest.approx(sum(view.topic_msgs_per_sec))
    for option in view.options:
        if option.pieces:
            assert sum(piece.topics for piece in option.pieces) == view.topics
            assert sum(piece.rate_share for piece in option.pieces) == pytest.approx(1)
            assert [piece.lower for piece in option.pieces] == [view.lower, *option.cuts]
            for piece in option.pieces:
                inside = topics_of_bundle(timeline, NAMESPACE, piece.range_text)
                assert piece.topics == len(inside)
                assert piece.msgs_per_sec == pytest.approx(sum(topic.msgs_per_sec for topic in inside))
                rows = [row for row in split_topics(view, option) if row.goes_to == piece.range_text]
                assert {row.topic for row in rows} == {topic.name.rpartition("/")[2] for topic in inside}
        rates = [row.msgs_per_sec for row in split_topics(view, option)]
        assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("scene", ["flow-split", "pip392"])
def test_the_command_text_makes_exactly_the_cuts_that_were_shown(scene: str) -> None:
    timeline = Timeline.start(embedded(scene).state)
    namespace = next(iter(timeline.state.namespaces))
    for root in dashboard_view(timeline).namespaces[0].roots:
        for option in split_preview(timeline.state, namespace, root.range_text).options:
            assert bool(option.command_text) == bool(option.admin_line)
            if not option.command_text:
                continue
            after, rejection = timeline.submit(parse_command(option.command_text, timeline.state))  # type: ignore[arg-type]
            assert rejection is None
            (result,) = after.state.namespaces[namespace].splits
            assert (result.lower, result.upper, result.cuts) == (root.lower, root.upper, option.cuts)
            node = next(each for each in dashboard_view(after).namespaces[0].roots if each.lower == root.lower)
            shown = [(child.range_text, child.topics, pytest.approx(child.msgs_per_sec)) for child in node.children]
            assert shown == [(piece.range_text, piece.topics, piece.msgs_per_sec) for piece in option.pieces]


def test_the_cuts_by_flow_are_those_the_recorded_broker_made() -> None:
    timeline = Timeline.start(embedded("flow-split").state)
    for parent, cut in (("0xc0000000_0xffffffff", "0xe71b282a"), (RANGE, "0x23b8ec31")):
        view = split_preview(timeline.state, FLOWING, parent)
        (option,) = [option for option in view.options if option.is_default]
        assert option.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE and option.cut_texts == (cut,)
        assert max(piece.msgs_per_sec for piece in option.pieces) <= 40 < view.msgs_per_sec


def test_flow_asked_for_by_name_is_refused_while_another_algorithm_is_the_default() -> None:
    state = replace(cluster(["a"], {f"topic-{at}": 1 for at in range(80)}, rate=500.0), release="4.2.4")
    view = split_preview(state, NAMESPACE, RANGE)
    (option,) = [
        option for option in view.options if option.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE and not option.as_proposed
    ]
    assert option.refusal is not None and option.refusal.error == "ClassCastException" and option.status == 500
    assert option.cuts and "specified_positions_divide" in option.admin_line, "the same cuts can be given as positions"
    command = parse_command(option.command_text, state)
    after, rejection = Timeline.start(state).submit(command)  # type: ignore[arg-type]
    assert rejection is None and after.state.namespaces[NAMESPACE].splits[0].cuts == option.cuts


def test_flow_by_name_and_its_command_in_5_0() -> None:
    state = replace(cluster(["a"], {f"topic-{at}": 1 for at in range(80)}, rate=500.0), release="5.0.1")
    view = split_preview(state, NAMESPACE, RANGE)
    (option,) = [
        option for option in view.options if option.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE and not option.as_proposed
    ]
    assert option.refusal is None and option.status == 204
    assert option.admin_line.endswith(f"-san {FLOW_OR_QPS_EQUALLY_DIVIDE}")


def test_LARGEST_is_found_and_named_by_its_range() -> None:
    timeline = Timeline.start(cluster(["a"], {f"topic-{at}": 1 for at in range(30)}))
    view = split_preview(timeline.state, NAMESPACE, "LARGEST")
    most = max(dashboard_view(timeline).namespaces[0].roots, key=lambda root: root.topics)
    assert view.topics == most.topics and view.problem is None


@pytest.mark.parametrize(
    ("namespace", "range_text"), [("no/where", RANGE), (NAMESPACE, "0x00000000_0x10000000"), (NAMESPACE, "half")]
)
def test_what_is_no_bundle_gives_the_reason_and_nothing_else(namespace: str, range_text: str) -> None:
    view = split_preview(cluster(["a"], {"x": 4}), namespace, range_text)
    assert view.problem is not None and view.options == () and view.topics == 0


def test_a_bundle_without_topics_has_no_shares_to_tell() -> None:
    view = split_preview(cluster([], {}), NAMESPACE, RANGE)
    (half,) = [option for option in view.options if option.algorithm == RANGE_EQUALLY_DIVIDE]
    assert [piece.rate_share for piece in half.pieces] == [0.0, 0.0] and view.topics == 0

"""B11, B15: every algorithm side by side, before anybody splits."""

from __future__ import annotations

import pytest

from engine.bundles.boundaries import FULL_UPPER_BOUND, NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import SplitPlan
from engine.bundles.preview import SplitPreview, preview_all
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, SPLIT_ALGORITHMS, BrokerSettings, behaviour_of
from engine.errors import Rejection
from tests.releases import known

WHOLE = NamespaceBundles("t/n", (0, FULL_UPPER_BOUND))
SETTINGS = BrokerSettings(loadBalancerNamespaceBundleMaxMsgRate=1000)
BUSY = [TopicLoad(f"persistent://t/n/{h}", h, 700.0) for h in (10, 30, 50)]


def preview(*arguments: object, **named: object) -> dict[str, SplitPreview]:
    lines = preview_all(*arguments, **named)  # type: ignore[arg-type]
    assert isinstance(lines, tuple), lines
    assert [line.algorithm for line in lines] == [*SPLIT_ALGORITHMS, FLOW_OR_QPS_EQUALLY_DIVIDE]
    assert [line.as_proposed for line in lines] == [False] * 4 + [True]
    return {line.algorithm + (" as proposed" if line.as_proposed else ""): line for line in lines}


def cuts(line: SplitPreview) -> tuple[int, ...] | None:
    assert isinstance(line.plan, SplitPlan), line.plan
    return line.plan.cuts


def test_B15_the_largest_bundle_is_shown_with_every_algorithm() -> None:
    lines = preview(WHOLE, "LARGEST", BUSY, SETTINGS)
    assert [cuts(line) for line in lines.values()] == [(0x7FFFFFFF,), (20,), (20,), (21, 41), (20,)]


def test_B11_the_useless_half_is_seen_beforehand() -> None:
    line = preview(WHOLE, str(WHOLE[0]), BUSY, SETTINGS)["range_equally_divide"]
    assert isinstance(line.plan, SplitPlan)
    assert [len(child.topics) for child in line.plan.children] == [3, 0]
    assert [child.msgs_per_sec for child in line.plan.children] == [2100.0, 0.0]


def test_the_flow_line_has_a_plan_and_what_a_broker_would_answer() -> None:
    """Before 5.0 it fails by name while another algorithm is the default; its cuts can be had as positions."""
    line = preview(WHOLE, "LARGEST", BUSY, SETTINGS, behaviour=known("4.2.4"))[FLOW_OR_QPS_EQUALLY_DIVIDE]
    assert line.refusal is not None
    assert line.refusal.status == 500
    assert isinstance(line.plan, SplitPlan)
    assert line.command.endswith("-san specified_positions_divide -sb 21,41")


def test_the_flow_line_is_asked_by_name_where_it_is_the_default() -> None:
    settings = BrokerSettings(
        defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE, loadBalancerNamespaceBundleMaxMsgRate=1000
    )
    line = preview(WHOLE, "LARGEST", BUSY, settings)[FLOW_OR_QPS_EQUALLY_DIVIDE]
    assert line.refusal is None
    assert line.command.endswith("-san flow_or_qps_equally_divide")


def test_positions_are_those_given_or_a_proposal_that_says_whence() -> None:
    name = "specified_positions_divide"
    given = preview(WHOLE, "LARGEST", BUSY, SETTINGS, positions=[44])[name]
    assert (given.positions_from, cuts(given)) == ("given", (44,))
    assert preview(WHOLE, "LARGEST", BUSY, SETTINGS)[name].positions_from == "topic count"
    on_the_edge = [TopicLoad(f"persistent://t/n/{i}", 0, 1.0) for i in range(2)]
    middle = preview(WHOLE, "LARGEST", on_the_edge, SETTINGS)[name]
    assert (middle.positions_from, cuts(middle)) == ("middle", (0x7FFFFFFF,))


def test_a_line_that_is_refused_leaves_the_others() -> None:
    on_the_edge = [TopicLoad(f"persistent://t/n/{i}", 0, 1.0) for i in range(2)]
    lines = preview(WHOLE, "LARGEST", on_the_edge, SETTINGS)
    refused = lines["topic_count_equally_divide"]
    assert isinstance(refused.plan, Rejection)
    assert (refused.plan, refused.command) == (refused.refusal, "")
    assert isinstance(lines["range_equally_divide"].plan, SplitPlan)


def test_a_proposed_cut_outside_the_bundle_is_refused() -> None:
    bundles = NamespaceBundles("t/n", (0, 256, 512, FULL_UPPER_BOUND))
    topics = [TopicLoad(f"persistent://t/n/{h}", h, rate) for h, rate in ((300, 5000.0), (400, 10.0))]
    line = preview(bundles, "0x00000100_0x00000200", topics, SETTINGS)["flow_or_qps_equally_divide as proposed"]
    assert isinstance(line.plan, Rejection)


def test_a_bundle_that_does_not_exist_has_no_preview() -> None:
    answer = preview_all(WHOLE, "0x00000000_0x80000000", BUSY, SETTINGS)
    assert isinstance(answer, Rejection)
    assert answer.status == 412


def test_B01_a_lone_topic_is_not_split_by_any_algorithm_that_looks_at_topics() -> None:
    lines = preview(WHOLE, "LARGEST", BUSY[:1], SETTINGS)
    assert [cuts(lines[name]) for name in SPLIT_ALGORITHMS[1:]] == [None, None, None]
    assert [lines[name].command for name in SPLIT_ALGORITHMS[1:]] == ["", "", ""]


def test_only_the_line_of_positions_has_positions_and_says_whence() -> None:
    lines = preview(WHOLE, "LARGEST", BUSY, SETTINGS, positions=[44])
    seen = {name: (line.positions_from, getattr(line.plan, "positions", None)) for name, line in lines.items()}
    assert seen.pop("specified_positions_divide") == ("given", (44,))
    assert set(seen.values()) == {("", ())}


def test_positions_on_the_top_of_the_bundle_are_replaced_by_its_middle() -> None:
    at_the_top = [TopicLoad(f"persistent://t/n/{i}", FULL_UPPER_BOUND, 1.0) for i in range(2)]
    middle = preview(WHOLE, "LARGEST", at_the_top, SETTINGS)["specified_positions_divide"]
    assert (middle.positions_from, cuts(middle)) == ("middle", (0x7FFFFFFF,))


def test_the_proposed_rule_can_be_had_as_positions_where_it_changes_something() -> None:
    line = preview(WHOLE, "LARGEST", BUSY, SETTINGS)["flow_or_qps_equally_divide as proposed"]
    assert isinstance(line.plan, SplitPlan)
    assert (line.plan.cuts, line.plan.unload, line.plan.positions) == ((20,), False, ())
    assert line.command.endswith(" -san specified_positions_divide -sb 20")
    idle = [TopicLoad(f"persistent://t/n/{h}", h) for h in (10, 30)]
    assert preview(WHOLE, "LARGEST", idle, SETTINGS)["flow_or_qps_equally_divide as proposed"].command == ""


def test_a_release_without_flow_refuses_it_by_name() -> None:
    old = behaviour_of("2.11.0")
    assert not isinstance(old, Rejection)
    lines = preview(WHOLE, "LARGEST", BUSY, SETTINGS, old)
    refusals = {name: line.refusal.status if line.refusal else None for name, line in lines.items()}
    assert refusals.pop(FLOW_OR_QPS_EQUALLY_DIVIDE) == 412
    assert set(refusals.values()) == {None}


@pytest.mark.parametrize(
    ("version", "manager", "status"),
    [
        ("4.2.4", "modular", None),
        ("4.2.4", "extensible", 500),
        ("5.0.1", "modular", None),
        ("5.0.1", "extensible", None),
    ],
)
def test_nothing_to_split_is_refused_by_the_extensible_load_manager_of_older_releases_only(
    version: str, manager: str, status: int | None
) -> None:
    asked = {"load_manager": manager, "behaviour": known(version)}
    line = preview(WHOLE, "LARGEST", BUSY[:1], SETTINGS, **asked)["topic_count_equally_divide"]
    assert (line.refusal.status if line.refusal else None) == status

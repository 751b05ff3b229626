"""Inferred priority levels explain what was observed, with the largest first cohort that does."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.admin.inference import infer_priority_levels
from engine.failover.choose import Rule, choose, sort_consumers
from engine.failover.model import Consumer

_TOPIC = "persistent://t/n/x"
_CONSUMERS = st.lists(
    st.tuples(st.text(alphabet="abcxyz\U00010000\uffff", max_size=3), st.integers(0, 3)), min_size=1, max_size=6
)


@settings(max_examples=100, deadline=None)
@given(_CONSUMERS, st.booleans())
def test_inferred_levels_give_the_same_order_and_the_same_actives(
    consumers: list[tuple[str, int]], consistent_hashing: bool
) -> None:
    order = sort_consumers([Consumer(place, name, level) for place, (name, level) in enumerate(consumers)])
    topics = [(f"{_TOPIC}-partition-{index}", index) for index in range(8)]
    actives = {}
    for topic, index in topics:
        choice = choose(order, topic, index, consistent_hashing=consistent_hashing)
        assert choice is not None
        actives[topic, index] = choice.active.name
    names = [consumer.name for consumer in order]
    rule = Rule.RING if consistent_hashing else Rule.MODULO
    inferred = infer_priority_levels(names, actives, [rule])
    assert inferred.rule is rule
    assert inferred.basis != "contradiction"
    again = tuple(map(Consumer, range(len(names)), names, inferred.levels))
    assert [consumer.name for consumer in sort_consumers(again)] == names
    for topic, index in topics:
        choice = choose(again, topic, index, consistent_hashing=consistent_hashing)
        assert choice is not None
        assert choice.active.name == actives[topic, index]


def test_a_descent_in_name_order_begins_a_level() -> None:
    assert infer_priority_levels(["b", "c", "a", "a", "B"], {}).levels == (0, 0, 1, 1, 2)


def test_names_are_compared_by_utf_16_unit() -> None:
    """A supplementary character sorts before U+FFFF, so this order needs one level only."""
    assert infer_priority_levels(["\U00010000", "\uffff"], {}).levels == (0, 0)
    assert infer_priority_levels(["\uffff", "\U00010000"], {}).levels == (0, 1)


def test_actives_that_no_levels_explain_are_a_contradiction() -> None:
    seen = {(f"{_TOPIC}-partition-0", 0): "b", (f"{_TOPIC}-partition-1", 1): "a"}
    inferred = infer_priority_levels(["a", "b"], seen, [Rule.MODULO])
    assert (inferred.basis, inferred.rule, inferred.levels) == ("contradiction", None, (0, 0))


def test_the_first_connected_needs_no_levels() -> None:
    inferred = infer_priority_levels(["a", "b"], {(_TOPIC, -1): "a"}, [Rule.FIRST_CONNECTED])
    assert (inferred.basis, inferred.rule) == ("order", Rule.FIRST_CONNECTED)


def test_nobody_connected_has_no_levels() -> None:
    assert infer_priority_levels([], {}).levels == ()


def test_a_list_that_counts_up_is_no_brokers_and_is_one_level() -> None:
    """Brokers compare names as texts, so for them app-10 stands before app-9."""
    names = [f"app-{number}" for number in range(12)]
    inferred = infer_priority_levels(names, {})
    assert (inferred.basis, inferred.levels) == ("no broker's order", (0,) * 12)
    assert infer_priority_levels(sorted(names), {}).basis == "order"


def test_two_runs_that_do_not_count_on_are_levels() -> None:
    """Each level of a broker begins anew: app-0 and app-10 before app-5 are primaries before a standby."""
    assert infer_priority_levels(["app-0", "app-10", "app-5", "app-1"], {}).levels == (0, 0, 0, 1)
    assert infer_priority_levels(["b", "a"], {}).levels == (0, 1)


def test_a_list_that_would_need_many_levels_is_one() -> None:
    names = ["k", "c", "m", "b", "x", "a", "z", "d", "y"]
    inferred = infer_priority_levels(names, {})
    assert (inferred.basis, inferred.levels) == ("no broker's order", (0,) * 9)


def test_actives_decide_between_levels_and_a_list_in_no_brokers_order() -> None:
    """A list that counts up: with actives of its first ten only these are a level before the others, with actives of
    all twelve sorted by name it is one level."""
    names = [f"app-{number}" for number in range(12)]
    for cohort, basis in ((names[:10], "order"), (sorted(names), "no broker's order")):
        seen = {(f"{_TOPIC}-partition-{at}", at): cohort[at % len(cohort)] for at in range(24)}
        inferred = infer_priority_levels(names, seen, [Rule.MODULO])
        assert (inferred.basis, inferred.rule) == (basis, Rule.MODULO)
        assert inferred.levels.count(0) == len(cohort)

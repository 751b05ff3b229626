"""Made-up producers: a wrong number is named."""

from __future__ import annotations

import pytest

from engine.cluster.journal.invariants import faults
from engine.cluster.producers.state import ProducerPlan
from engine.errors import InputError
from engine.scenarios.script.model import StartProducers
from engine.scenarios.script.run import Script, parse_script, run_script
from engine.scenarios.selecting import Selection, resolve_selection
from engine.scenarios.synthetic import synthetic_producers

START = "new producers 3 partitions 6 start lazy batching off\n"


def script(text: str) -> Script:
    result = parse_script(text, "demo.ringside")
    assert isinstance(result, Script), result
    return result


def test_equal_arguments_give_equal_states_and_another_seed_other_draws() -> None:
    plan = ProducerPlan(count=5, lazy=True)
    one, same, other = (synthetic_producers(plan, 40, seed=seed) for seed in (3, 3, 4))
    assert one.state == same.state and not faults(one.state)
    first, second = (
        [set(producer.started) for producer in opened.state.producer_topics[0].producers.producers]
        for opened in (one, other)
    )
    assert first != second


@pytest.mark.parametrize("count", [0, 1, 7])
def test_as_many_producers_as_wanted_on_one_topic_without_subscriptions(count: int) -> None:
    opened = synthetic_producers(ProducerPlan(count=count), 4, brokers=2)
    (topic,) = opened.state.producer_topics
    assert len(topic.producers.producers) == count and topic.producers.brokers == 2
    assert opened.state.subscriptions == () and len(opened.state.topics) == 1


@pytest.mark.parametrize(
    ("plan", "how", "message"),
    [
        (ProducerPlan(count=-1), {}, "producers is -1: give 0 to"),
        (ProducerPlan(count=10_001), {}, "producers is 10001"),
        (ProducerPlan(), {"partitions": 0}, "partitions is 0: give 1 to 100000"),
        (ProducerPlan(), {"brokers": 0}, "brokers is 0: give 1 to"),
        (ProducerPlan(count=-1), {"partitions": 0}, "; partitions is 0"),
        (ProducerPlan(router="partial"), {}, "numPartitionsLimit: numPartitionsLimit should be greater"),
        (ProducerPlan(router="partial", limit=13), {}, "numPartitionsLimit: a limit of 13 is above the 12 partitions"),
        (ProducerPlan(client="go"), {}, "client: 'go' is none of java, python, cpp"),
        (ProducerPlan(count=0, client="go"), {}, "client: 'go' is none of"),
        (ProducerPlan(), {"release": "1.0"}, "Pulsar 1.0 is"),
        (ProducerPlan(), {"seed": -1}, "seed is -1"),
    ],
)
def test_numbers_out_of_their_limits_are_named(plan: ProducerPlan, how: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        synthetic_producers(plan, **how)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_start_says_all_of_a_plan_in_any_order() -> None:
    result = script(
        "new brokers 2 limit 3 producers 9 above on router partial start lazy client java batching on partitions 2"
        " seed 5 release 4.0.7\nproducer send all"
    )
    plan = ProducerPlan(9, None, lazy=True, router="partial", limit=3, allow_limit_above=True, batching=True)
    assert result.start == StartProducers(plan, 2, 2, 5, "4.0.7")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("new producers", "'producers' has no value"),
        ("new producers many", "producers 'many' is not understood"),
        ("new producers 3 start slowly", "start 'slowly' is not understood"),
        ("new producers 3 consumers 2", "consumers '2' is not understood"),
        ("new producers 3 batching maybe", "batching 'maybe'"),
    ],
)
def test_a_start_that_is_not_understood_says_how_it_is_written(text: str, reason: str) -> None:
    problems = parse_script(text, "demo.ringside")
    assert not isinstance(problems, Script)
    assert reason in problems[0].reason and "write new producers 100" in problems[0].reason


def test_a_producer_is_selected_by_its_name_or_its_number() -> None:
    (*_, (last, timeline)) = run_script(script(START + "select standalone-0-2\nselect #1\nselect nobody"))
    assert last.rejection is not None and "not a producer of" in last.rejection.message
    assert resolve_selection(timeline, "standalone-0-2") == Selection("producer", consumer_id=2)
    assert resolve_selection(timeline, "#1") == Selection("producer", consumer_id=1)

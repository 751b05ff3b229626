"""``expect`` lines: a member of a document that is so is silent, any other says what is there instead."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.scenarios.script.expectations import parse_expectation, unmet
from engine.scenarios.script.run import Script, parse_script, run_script
from tests.engine.views.key_states import after

FLOW = "ring/ddflowmsgrate4x60"
FAILOVER = "new topics 10 consumers 2\n"
PRODUCERS = "new producers 3 partitions 6 start lazy batching off\n"
SPLIT = FAILOVER + "split public/default/0x00000000_0x40000000 range_equally_divide\n"
BOTH = "new topics 2 partitions 4 consumers 2\nproducer add count 2 on topic-0\n"
QUARTER = "namespaces[public/default][0x00000000_0x40000000]"
HALF = "namespaces[public/default][0x00000000_0x20000000]"
KEYS = [f"k{number}" for number in range(30)]
SENT = f"send {' '.join(KEYS)}"
BUSY = after("share auto-split", "add a", "add b", SENT, "add c", SENT)
GAP = after("share sticky", "add a ranges 0-9999", "send k1 k2 k3")


def failures(text: str) -> list[str]:
    script = parse_script(text, "demo.ringside")
    assert isinstance(script, Script), script
    return [failure.reason for step, _ in run_script(script) for failure in step.failures]


@pytest.mark.parametrize(
    ("start", "expectation"),
    [
        (FAILOVER, "partitions[topic-3-partition-0].active_consumer = billing-0"),
        (FAILOVER, "consumers[billing-0].active_partitions = 10"),
        (FAILOVER, "consumers[billing-1].active_partitions<1"),
        (FAILOVER, "consumers[1].name = billing-1"),
        (FAILOVER, "consumers[-1].standby = false"),
        (FAILOVER, "consumers.standby = false"),
        (FAILOVER, "consumers.name has billing-1"),
        (FAILOVER, "consumers[active_partitions=0] = 1"),
        (FAILOVER, "consumers != 3"),
        (FAILOVER, "notices = 0"),
        (FAILOVER, "totals.max_over_mean_rate > 1.9"),
        (FAILOVER, "events[-1].moved = 0"),
        (FAILOVER, "events[0].verdict.moved = none"),
        (FAILOVER, f"{QUARTER}.msgs_per_sec >= 0"),
        (FAILOVER, "status.rule = modulo"),
        (FAILOVER, "status.rule != ring"),
        (SPLIT, f"{QUARTER}.children = 2"),
        (SPLIT, f"{HALF}.children = 0"),
        (PRODUCERS, "producers[2].known = 6"),
        (PRODUCERS, "producers[standalone-0-1].opened = 1"),
        (PRODUCERS, "statistics.by_position.entries > 0"),
        (PRODUCERS, "notices.code has producers-by-position"),
        (PRODUCERS, "route #0 order-1: partition = 0"),
        (PRODUCERS, "namespaces[public/default].bundles = 32"),
        (BOTH, "totals.ready = 2"),
        (BOTH, "totals.consumers = 2"),
        ("scene flow-split\n", f"forecast {FLOW}: next_split.range_text = 0x00000000_0x40000000"),
        ("scene flow-split\n", f"forecast {FLOW}: trees[configured=true].splits = 2"),
        ("scene flow-split\n", f"forecast {FLOW}: next_split.children = 2"),
        (FAILOVER, "forecast public/default: next_split = none"),
    ],
)
def test_an_expectation_that_holds_is_silent(start: str, expectation: str) -> None:
    assert failures(f"{start}expect {expectation}") == []


@pytest.mark.parametrize(
    ("start", "expectation", "reason"),
    [
        (FAILOVER, "partitions[topic-3-partition-0].active_consumer = billing-1", "it is billing-0"),
        (FAILOVER, "partitions[nowhere].active_consumer = billing-1", "no row of partitions is called 'nowhere'"),
        (FAILOVER, "consumers[billing-0].active_partitions = 9", "it is 10"),
        (FAILOVER, "consumers[billing-0].ring_share > 0.9", "it is 0."),
        (FAILOVER, "consumers[billing-0].slots = 3", "consumers[billing-0] has no slots (it has consumer_id, "),
        (FAILOVER, "consumers[2].name = billing-2", "no row of consumers is called '2'"),
        (FAILOVER, "consumers.active_partitions = 3", "it is 2"),
        (FAILOVER, "consumers[0].name > 3", "it is billing-0"),
        (FAILOVER, "consumers.name = billing-0", "it is billing-0, billing-1"),
        (FAILOVER, "notices.code has names-collide", "it has none"),
        (FAILOVER, "notices.code = names-collide", "it is none"),
        (FAILOVER, "totals.consumers <= 1", "it is 2"),
        (FAILOVER, "totals.broker_producers = 0", "totals has no broker_producers"),
        (FAILOVER, "key a: consumer = b", "nothing is shown that keys go to"),
        (FAILOVER, "route #0 a: partition = 0", "0 producers are called '#0'"),
        (FAILOVER, "forecast no/where: bundles = 3", "no namespace 'no/where'"),
        (FAILOVER, f"{HALF}.topics = 1", "no row of namespaces[public/default] is called"),
        (SPLIT, f"{QUARTER}.children = 0", "it is 2"),
        (PRODUCERS, "producers[9].opened = 1", "no row of producers is called '9'"),
        (PRODUCERS, "route #0 order-1: partition = 1", "it is 0"),
        ("scene flow-split\n", f"forecast {FLOW}: next_split.cycle > 1", "it is 1"),
        (FAILOVER, "migration k: keys[k].segment = 70", "it is "),
    ],
)
def test_an_expectation_that_does_not_hold_says_what_is_there(start: str, expectation: str, reason: str) -> None:
    (failure,) = failures(f"{start}expect {expectation}")
    assert f"expected {expectation}, but" in failure and reason in failure


@pytest.mark.parametrize(
    ("timeline", "text", "reason"),
    [
        (BUSY, "status.mode = auto-split", ""),
        (BUSY, "consumers[b].slots = 16384", ""),
        (BUSY, "luck.verdict = chance", ""),
        (BUSY, "luck.verdict = chance of the points", "it is chance"),
        (BUSY, "key hex:0: consumer = a", "hex:0"),
        (GAP, "key k1: consumer = none", ""),
        (GAP, "key k1: consumer = a", "it is none"),
        (GAP, "key k1: partition = 0", "it is none"),
        (GAP, "totals.unowned_slots = 55536", ""),
        (GAP, "waits[keys=k1].holders = 0", ""),
        (GAP, "waits[keys=k9] = 0", ""),
        (after("add a", "add a"), "consumers[a].slots = 1", "2 rows of consumers are called 'a'"),
    ],
)
def test_expectations_of_keys(timeline: object, text: str, reason: str) -> None:
    expectation = parse_expectation(text)
    assert not isinstance(expectation, Rejection), expectation
    there = unmet(expectation, timeline)  # type: ignore[arg-type]
    assert (there == "") is (reason == "") and reason in there


@pytest.mark.parametrize(
    "text",
    [
        "",
        "totals",
        "totals.idle",
        "totals ~ 3",
        "totals < many",
        "rows[ = 3",
        "refused A B",
        "key a: = 3",
        "Totals = 3",
    ],
)
def test_what_cannot_be_read_says_how_it_is_written(text: str) -> None:
    assert "write expect" in str(parse_expectation(text))

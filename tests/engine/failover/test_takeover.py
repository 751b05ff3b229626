"""The hand-over between two active consumers: its moments, and what is the same whoever leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.config import behaviour_of
from engine.failover.choose import choose
from engine.failover.model import Consumer
from engine.failover.state import Terms
from engine.failover.takeover import MANY_CHANGES, Takeover, TakeoverEvent, takeover

TOPIC = "persistent://t/n/orders-partition-3"
A, B, C = (Consumer(number, name) for number, name in enumerate("abc"))


def moments(found: Takeover | None) -> list[tuple[int, str, int | None]]:
    assert found is not None
    return [(step.at_ms, step.event.name, step.count) for step in found.steps]


def test_a_standby_takes_over_after_the_delay_and_gets_again_what_was_in_flight() -> None:
    result = takeover(Terms(TOPIC, 0), [A, B, C], [B, C], 7)
    assert result is not None and (result.previous, result.active, result.duration_ms) == (A, B, 1000)
    assert moments(result) == [
        (0, "CHOSEN", 0),
        (0, "READ_CANCELLED", 0),
        (0, "WAITS", 1000),
        (1000, "REWOUND", 7),
        (1000, "NOTIFIED", 2),
        (1000, "READS", 0),
    ]


def test_without_a_delay_everything_happens_at_once() -> None:
    result = takeover(Terms(TOPIC, 0, delay_ms=0), [A, B], [B], 0)
    assert result is not None and result.duration_ms == 0
    assert TakeoverEvent.WAITS not in {step.event for step in result.steps}
    assert (0, "REWOUND", 0) in moments(result)


def test_how_much_is_sent_again_is_unknown_where_no_answer_counts_it() -> None:
    unknown, none = (takeover(Terms(TOPIC, 0), [A, B], [B], count) for count in (None, 0))
    assert unknown is not None and none is not None
    again = [step.count for step in unknown.steps if step.event is TakeoverEvent.REWOUND]
    assert again == [None]
    assert [(step.at_ms, step.event) for step in unknown.steps] == [(step.at_ms, step.event) for step in none.steps]


def test_a_non_persistent_topic_rewinds_nothing_and_notifies_from_5_0_only() -> None:
    topic = "non-persistent://t/n/orders-partition-3"
    notices = {}
    for release in ("4.2.4", "5.0.0"):
        terms = Terms(topic, 0, persistent=False, behaviour=behaviour_of(release))
        notices[release] = moments(takeover(terms, [A, B], [B], 7))
    assert notices == {"4.2.4": [(0, "CHOSEN", 0)], "5.0.0": [(0, "CHOSEN", 0), (0, "NOTIFIED", 1)]}


def test_a_newcomer_that_sorts_first_takes_over_and_hears_of_it_twice() -> None:
    """The hand-over notifies everybody; a newcomer that stays a standby hears of it at once instead."""
    result = takeover(Terms(TOPIC, 0), [B, C], [B, C, A], 1)
    assert result is not None and (result.previous, result.active) == (B, A)
    assert (1000, "NOTIFIED", 3) in moments(result)
    assert takeover(Terms(TOPIC, 1), [A, B], [A, B, C], 1) is None


def test_nobody_takes_over_from_nobody_or_among_crowds() -> None:
    crowd = [Consumer(10 + number, f"Z{number}") for number in range(MANY_CHANGES + 1)]
    assert takeover(Terms(TOPIC, 0), [], [A], 1) is None
    assert takeover(Terms(TOPIC, 0), [A], [], 1) is None
    assert takeover(Terms(TOPIC, 0), [*crowd, A], [A], 1) is None
    assert takeover(Terms(TOPIC, 0), [*crowd[1:], A], [A], 1) is not None


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=6, unique=True),
    st.integers(0, 5),
    st.integers(0, 9),
    st.integers(-1, 40),
    st.booleans(),
    st.integers(0, 3000),
)
def test_the_heir_is_the_one_the_rule_chooses(
    names: list[str], leaving: int, unacked: int, index: int, ring: bool, delay_ms: int
) -> None:
    consumers = [Consumer(number, name) for number, name in enumerate(names)]
    left = [consumer for number, consumer in enumerate(consumers) if number != leaving % len(consumers)]
    terms = Terms(TOPIC, index, consistent_hashing=ring, delay_ms=delay_ms)
    was, now = (choose(some, TOPIC, index, consistent_hashing=ring) for some in (consumers, left))
    assert was is not None and now is not None
    result = takeover(terms, consumers, left, unacked)
    if was.active == now.active:
        assert result is None
        return
    assert result is not None and (result.previous, result.active) == (was.active, now.active)
    assert result.duration_ms == delay_ms
    assert [step.at_ms for step in result.steps] == sorted(step.at_ms for step in result.steps)
    assert [step.count for step in result.steps if step.event is TakeoverEvent.REWOUND] == [unacked]
    assert result.steps[-1].event is TakeoverEvent.READS and result.steps[-1].consumer == now.active

"""A flow split is accepted within the recorded rates exactly when some rates in between give it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bundles.algorithms import FlowLimits
from engine.bundles.bulk_splits import flow_or_qps_equally_divide
from engine.bundles.loads import TopicLoad
from tests.lab.bundles.flow_rates import CUT_OFF, Window, reachable, windows

LIMITS = FlowLimits(10, 1000, 10)
_RATE = st.floats(min_value=0.5, max_value=9.0, allow_nan=False)


def _load(name: str, position: int, msgs: float, octets: float) -> TopicLoad:
    return TopicLoad(name, position, msgs, 0.0, octets, 0.0)


def _cut(value: float) -> float:
    return int(value * 1000) / 1000


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(_RATE, _RATE, st.floats(0.0, 1.0)), min_size=2, max_size=7))
def test_the_true_rates_always_lie_within_what_was_recorded_around_them(
    rates: list[tuple[float, float, float]],
) -> None:
    """For any rates of the broker between two recordings the split that it made is reachable."""
    before, after, true = {}, {}, []
    for place, (one, other, share) in enumerate(rates):
        name, position = f"persistent://t/n/{place}", 100 * place + 7
        between = one + (other - one) * share
        before[name] = _load(name, position, _cut(one), _cut(one * 90))
        after[name] = _load(name, position, _cut(other), _cut(other * 90))
        true.append(_load(name, position, between, between * 90))
    cuts = flow_or_qps_equally_divide(true, LIMITS) or ()
    assert reachable(windows(before, after), LIMITS, cuts)


@settings(max_examples=100, deadline=None)
@given(st.lists(_RATE, min_size=2, max_size=6), st.sets(st.integers(1, 5)))
def test_rates_that_are_known_exactly_reach_exactly_one_split(rates: list[float], places: set[int]) -> None:
    topics = tuple(
        Window(f"t{place}", 100 * place, rate, rate, rate * 90, rate * 90) for place, rate in enumerate(rates)
    )
    loads = [_load(window.name, window.hash, window.low_msgs, window.low_bytes) for window in topics]
    expected = flow_or_qps_equally_divide(loads, LIMITS) or ()
    asked = tuple(100 * place - 49 for place in sorted(places) if place < len(rates))
    assert reachable(topics, LIMITS, expected)
    assert reachable(topics, LIMITS, asked) == (asked == tuple(expected))


def test_a_cut_that_is_in_the_middle_of_no_two_topics_is_never_reachable() -> None:
    topics = (Window("a", 10, 9.0, 9.0, 0.0, 0.0), Window("b", 20, 9.0, 9.0, 0.0, 0.0))
    assert reachable(topics, LIMITS, [16])
    assert not reachable(topics, LIMITS, [15])


def test_two_thousandths_decide_when_a_limit_is_met_exactly() -> None:
    """Recorded 5.000 and 5.999: together 10.999, and with what was cut off 11, the gate of 10 plus 10 %."""
    loads = {name: _load(name, at, rate, 0.0) for name, at, rate in (("a", 10, 5.0), ("b", 20, 5.999))}
    topics = windows(loads, {})
    assert reachable(topics, LIMITS, [])
    assert reachable(topics, LIMITS, [16])
    assert topics[0].high_msgs == 5.0 + 2 * CUT_OFF


@settings(max_examples=100, deadline=None)
@given(st.lists(_RATE, min_size=2, max_size=7))
def test_rates_that_were_rounded_up_are_covered_too(rates: list[float]) -> None:
    """Whether a reader cut or rounded the third decimal, the split that the exact rates give is reachable."""
    true = [_load(f"t{place}", 100 * place, rate, rate * 90) for place, rate in enumerate(rates)]
    recorded = [_load(t.name, t.hash, round(t.msgs_per_sec, 3), round(t.bytes_per_sec, 3)) for t in true]
    cuts = flow_or_qps_equally_divide(true, LIMITS) or ()
    assert reachable(windows({load.name: load for load in recorded}, {}), LIMITS, cuts)


def test_a_limit_that_only_rounding_passed_is_not_taken_for_passed() -> None:
    """4.9996 and 5.0 are 9.9996, but written as 5.0 and 5.0 they would be ten: a limit of 9.9997 cuts or not."""
    loads = {name: _load(name, at, rate, 0.0) for name, at, rate in (("a", 10, 5.0), ("b", 20, 5.0), ("c", 30, 9.0))}
    limits = FlowLimits(9.9997, 1000, 0)  # type: ignore[arg-type]
    assert reachable(windows(loads, {}), limits, [26])


def test_idle_topics_take_no_part() -> None:
    loads = {name: _load(name, at, rate, 0.0) for name, at, rate in (("a", 10, 9.0), ("idle", 15, 0.0), ("b", 20, 9.0))}
    assert [window.name for window in windows(loads, loads)] == ["a", "b"]

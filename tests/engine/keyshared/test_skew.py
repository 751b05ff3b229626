"""Keys of different weight, in exact parts; and the seconds until a stuck consumer starves all others, by hand."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

from engine.keyshared.delivery_state import DeliveryTerms
from engine.keyshared.model import Selector, owner_of_key
from engine.keyshared.skew import starvation_of, worst_starvation, zipf_counts
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import sticky

ALPHABET = [bytes([letter]) for letter in b"abcdefghij"]


@pytest.mark.parametrize("messages", [0, 1, 2, 9, 10, 11, 1000, 12_345])
@pytest.mark.parametrize("exponent", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_parts_are_whole_add_up_and_go_to_the_largest_remainders(messages: int, exponent: int, count: int) -> None:
    keys = ALPHABET[:count]
    whole = sum(Fraction(1, rank**exponent) for rank in range(1, count + 1))
    exact = [messages * Fraction(1, rank**exponent) / whole for rank in range(1, count + 1)]
    counts = [part.numerator // part.denominator for part in exact]
    left = messages - sum(counts)
    for at in sorted(range(count), key=lambda at: (counts[at] - exact[at], at))[:left]:
        counts[at] += 1
    assert zipf_counts(keys, messages, float(exponent)) == dict(zip(keys, counts, strict=True))


def test_without_an_exponent_it_is_one_and_without_keys_there_are_no_parts() -> None:
    assert zipf_counts(ALPHABET[:3], 11) == {b"a": 6, b"b": 3, b"c": 2}
    assert zipf_counts(ALPHABET[:4], 3, 0.0) == {b"a": 1, b"b": 1, b"c": 1, b"d": 0}
    assert zipf_counts([], 0) == {}


def halves() -> Selector:
    return sticky(sticky_selector(), ((0, 32_767),), ((32_768, 65_535),))


def key_at(number: int, place: int = 0) -> bytes:
    return [key for key in ALPHABET if owner_of_key(halves(), key) == number][place]


def test_a_stuck_consumer_fills_its_permits_and_then_the_replay_queue() -> None:
    rates = {key_at(1): 2.0, key_at(1, 1): 3.0, key_at(2): 15.0}
    terms = DeliveryTerms(max_unacked=100, look_ahead_per_consumer=50)
    found = starvation_of(halves(), rates, 1, terms)
    assert (found.consumer_id, found.msgs_per_sec, found.share, found.replay_limit) == (1, 5.0, 0.25, 100)
    assert found.seconds == (100 + 100) / 5
    assert worst_starvation(halves(), rates, terms) == starvation_of(halves(), rates, 2, terms)
    one = DeliveryTerms(max_unacked=1, look_ahead_per_consumer=1)
    assert starvation_of(halves(), {key_at(1): 0.5}, 1, one).seconds == (1 + 2) / 0.5


def test_a_consumer_starves_nobody_without_rates_permits_or_a_limit() -> None:
    rates = {key_at(1): 1.0}
    limited = DeliveryTerms(max_unacked=10)
    endless = DeliveryTerms(max_unacked=10, look_ahead_per_consumer=0, look_ahead=0, unacked_per_consumer=0, unacked=0)
    assert starvation_of(halves(), rates, 1, limited).seconds == 10 + 4000
    assert starvation_of(halves(), rates, 1, DeliveryTerms()).seconds == inf
    assert (starvation_of(halves(), rates, 1, endless).seconds, endless.look_ahead_limit(2)) == (inf, None)
    for quiet in (starvation_of(halves(), rates, 2, limited), starvation_of(halves(), {key_at(1): 0.0}, 1, limited)):
        assert (quiet.msgs_per_sec, quiet.share, quiet.seconds) == (0.0, 0.0, inf)


def test_of_equally_bad_consumers_the_first_to_join_is_the_worst() -> None:
    worst = worst_starvation(halves(), {key_at(1): 4.0, key_at(2): 4.0}, DeliveryTerms(max_unacked=10))
    assert worst is not None and worst.consumer_id == 1

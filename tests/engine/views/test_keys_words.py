"""Every reason to wait, order rule and verdict has its words on the screen."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from engine.keyshared.delivery_state import OrderRule
from engine.keyshared.luck import Luck, Verdict, luck_of
from engine.keyshared.model import Consumer
from engine.keyshared.waits import WaitReason
from engine.views.keys.words import ORDER_RULES, REASONS, VERDICTS, luck_sentence, verdict_text
from tests.engine.keyshared.selectors import auto_split, ring


def test_no_reason_rule_or_verdict_is_without_words() -> None:
    assert set(REASONS) == set(WaitReason)
    assert set(ORDER_RULES) == set(OrderRule)
    assert set(VERDICTS) == set(Verdict)


def of(keys: range, *, points: int = 100, hot: int = 1) -> Luck:
    counts: dict[bytes, float] = {f"k-{number}".encode(): 1 for number in keys}
    return luck_of(ring(["a", "b", "c", "d"], points=points), counts | {b"k-0": hot})


def test_uneven_points_are_said_to_be_that_and_not_the_chance_of_keys() -> None:
    luck = of(range(1_000), points=3)
    assert VERDICTS[luck.verdict] == "chance of the points"
    share = max(each.share for each in luck.consumers)
    assert luck_sentence(luck) == (
        f"busiest {luck.busiest_keys} of 1,000 keys, chance gives 266.4 (256 to 281): the points fell so by chance that"
        f" one of 4 consumers has {share:.1%} of the slots, and the keys follow; more points a consumer make shares"
        " more even"
    )


def test_what_chance_seldom_gives_is_not_said_to_be_what_it_gives() -> None:
    for number in range(20, 400, 10):
        luck = of(range(number))
        told = luck_sentence(luck)
        if luck.verdict is Verdict.CHANCE:
            above, below = luck.busiest_keys > luck.busiest_high, luck.busiest_keys < luck.busiest_low
            assert ("unusual" in told) is above
            assert verdict_text("chance") == "it can be chance"  # true of both
            assert ("spread as unevenly as this" in told) is not (above or below)


@pytest.mark.parametrize("each", [6, 25, 400])
def test_perfectly_even_keys_are_not_called_unusual(each: int) -> None:
    selector = auto_split().join_all([Consumer(number, name) for number, name in enumerate("abcd")])
    room, keys = Counter[int](), {}
    for number in count():
        key = f"k-{number}".encode()
        owner = selector.owner(selector.slots.slot_of_key(key))
        assert owner is not None
        if room[owner] < each:
            room[owner] += 1
            keys[key] = 1.0
        if room.total() == 4 * each:
            break
    luck = luck_of(selector, keys)
    assert [one.keys for one in luck.consumers] == [each] * 4
    assert luck.verdict is Verdict.CHANCE
    assert luck.probability == 1.0
    assert "unusual" not in luck_sentence(luck)


def test_each_other_verdict_says_what_it_rests_on() -> None:
    assert luck_sentence(of(range(9), hot=90)).endswith(
        "the hottest key carries 92% of all messages, and a key goes to one consumer"
    )
    wrong = luck_of(ring(["a", "b"]), {b"k": 1}, received={b"k": 9})
    assert VERDICTS[wrong.verdict] == "defect"
    assert luck_sentence(wrong) == "1 key is served by another consumer than the one that has the slot"
    assert luck_sentence(luck_of(ring(), {b"k": 1})) == "no known key has an owner, so there is nothing to judge"
    assert luck_sentence(luck_of(auto_split(), {})) == "no known key has an owner, so there is nothing to judge"
    assert luck_sentence(luck_of(ring(["a"]), {b"k": 1})) == "one consumer has every key"

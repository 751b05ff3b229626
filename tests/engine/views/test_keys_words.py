"""Every reason to wait, order rule and verdict has its words on the screen."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from engine.keyshared.delivery_state import OrderRule, WaitReason
from engine.keyshared.luck import Luck, Verdict, luck_of
from engine.keyshared.model import Consumer
from engine.views.keys.view import keys_view
from engine.views.keys.words import ORDER_RULES, REASONS, VERDICTS, luck_sentence, verdict_text
from tests.engine.keyshared.selectors import auto_split, ring
from tests.engine.views.key_states import KEY, after


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
    share = max(consumer.share for consumer in luck.consumers)
    assert luck_sentence(luck) == (
        f"busiest {luck.busiest_keys} of 1,000 keys, chance gives 266.4 (256 to 281): the points fell so by chance that"
        f" one of 4 consumers has {share:.1%} of the slots, and the keys follow; more points a consumer make shares"
        " more even"
    )


def test_what_chance_seldom_gives_is_not_said_to_be_what_it_gives() -> None:
    for number in range(20, 400, 10):
        luck = of(range(number))
        sentence = luck_sentence(luck)
        if luck.verdict is Verdict.CHANCE:
            above, below = luck.busiest_keys > luck.busiest_high, luck.busiest_keys < luck.busiest_low
            assert (f"at most {100 * luck.probability:.2g}% of all cases" in sentence) is above
            assert (verdict_text("chance", unusual=above) == "it can be") is not above
            assert ("spread as unevenly as this" in sentence) is not (above or below)


def test_the_share_of_the_busiest_is_named_where_it_explains_its_keys() -> None:
    luck = of(range(1_000))
    busiest = max(luck.consumers, key=lambda consumer: consumer.keys)
    assert luck.verdict is Verdict.CHANCE and luck.busiest_keys > luck.busiest_high
    assert luck.probability_by_shares > luck.probability
    share = f"{busiest.share:.1%} of the slots, which gives {busiest.expected_keys:.0f} keys"
    assert luck_sentence(luck).endswith(share)


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
    assert [consumer.keys for consumer in luck.consumers] == [each] * 4
    assert luck.verdict is Verdict.CHANCE
    assert luck.probability == 1.0
    assert "of all cases" not in luck_sentence(luck)


def test_each_other_verdict_says_what_it_rests_on() -> None:
    assert luck_sentence(of(range(9), hot=90)).endswith(
        "the hottest key carries 92% of all messages, and a key goes to one consumer"
    )
    wrong = luck_of(ring(["a", "b"]), {b"k": 1}, received={b"k": 9})
    assert VERDICTS[wrong.verdict] == "defect"
    assert luck_sentence(wrong) == "1 key is served by another consumer than the one that has the slot"
    assert luck_sentence(luck_of(ring(), {b"k": 1})) == "no known key has an owner; a sent message makes its key known"
    assert luck_sentence(luck_of(auto_split(), {})) == "no known key has an owner; a sent message makes its key known"
    assert luck_sentence(luck_of(ring(["a"]), {b"k": 1})) == "the only consumer has every key there is"


def notices_of(*lines: str) -> dict[str, str]:
    return {notice.code: notice.text for notice in keys_view(after(*lines), KEY).notices}


def test_an_ordinary_ring_has_nothing_to_tell() -> None:
    assert notices_of("add a", "add b", "send k") == {}


def test_consistent_sticky_ranges_are_said_to_be_a_technique_of_clients() -> None:
    assert notices_of("share consistent-sticky points 4", "add a") == {
        "key-client-side": "consistent sticky ranges are a technique of clients: the broker sees STICKY ranges, and "
        "since they may not overlap, all nodes stop before the number of nodes changes"
    }


def test_gaps_are_counted_with_the_known_keys_in_them() -> None:
    result = notices_of("share sticky", "add a ranges 0-9,20-29,40-49,60-65535", "send k-1")
    assert result == {"key-gaps": "30 slots have no owner ([10,19], [30,39], [50,59]): 0 of the known keys wait there"}
    most = notices_of("share sticky", "add a ranges 0-9", "send k-1 k-2")
    assert most == {"key-gaps": "65,526 slots have no owner ([10,65535]): 2 of the known keys wait there"}
    assert "key-gaps" not in notices_of("share sticky")


def test_a_release_that_serves_gaps_says_so() -> None:
    result = notices_of("release 4.0.0", "share sticky", "add a ranges 0-9,20-29")
    assert result["key-gaps-served"] == (
        "Pulsar 4.0.0 keeps only the ends of ranges: a gap between two ranges of one consumer is its"
    )
    assert result["key-gaps"].startswith("65,506 slots have no owner ([30,65535])")
    assert "key-gaps-served" not in notices_of("release 4.0.7", "share sticky", "add a ranges 0-9,20-29")


def test_K13_points_that_meet_are_reported_where_join_order_decides() -> None:
    crowded = ("set subscriptionKeySharedConsistentHashingReplicaPoints 20000", "add a", "add b")
    result = notices_of(*crowded)
    assert result["key-points-lost"].endswith(
        "meet others, and who joined first keeps them: the later a consumer joined, the less it has"
    )
    assert "of 40,000 points" in result["key-points-lost"]
    assert "key-points-lost" not in notices_of("add a", "add b")


def test_K03_one_name_for_several_is_reported_with_what_it_does_in_the_release() -> None:
    assert notices_of("add a", "add a", 'add ""', 'add ""', "add b")["key-shared-names"] == (
        "one name for several consumers: 'a', ''; statistics by name cannot distinguish them"
    )
    assert notices_of("release 2.11.0", "add a", "add a")["key-shared-names"] == (
        "one name for several consumers: 'a'; in this release they share every point and take turns"
    )


def test_out_of_order_delivery_is_reported_where_it_can_happen() -> None:
    lines = ("subscribe loose to persistent://t/n/orders unordered",)
    notices = {notice.code: notice.text for notice in keys_view(after(*lines), "loose").notices}
    assert notices["key-no-order"] == (
        "messages of a key can overtake each other here when consumers come and go: out-of-order delivery is allowed"
    )

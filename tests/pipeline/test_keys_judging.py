"""A folded trace is judged as its keys one by one are: the same loads, the same odds, the same verdict."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from engine.config import CURRENT, BrokerSettings
from engine.hashing import murmur3_32
from engine.keyshared.folded import FoldedKeys, HotKey, luck_of_folded
from engine.keyshared.luck import luck_of
from engine.keyshared.model import Consumer
from engine.keyshared.policies import KeyPolicy, selector_of, slot_space
from engine.views.fleet.tables import KEY_LOADS, KEY_SPREADS
from pipeline.jobs.keys_judging import load_rows, spread_row

SETTINGS = BrokerSettings()
GAPPED = (
    Consumer(0, "a", ((0, 9_999), (20_000, 29_999))),
    Consumer(1, "b", ((10_000, 14_999),)),
    Consumer(2, "a", ((55_000, 65_535),)),
)


def folded(counts: dict[bytes, int], policy: KeyPolicy) -> FoldedKeys:
    """The keys as the tasks fold them, slot by slot."""
    function = slot_space(policy, SETTINGS, CURRENT)
    keys: Counter[int] = Counter()
    msgs: Counter[int] = Counter()
    for key, count in counts.items():
        keys[function.slot_of_key(key)] += 1
        msgs[function.slot_of_key(key)] += count
    slots = sorted(keys)
    number, carried = ([each[slot] for slot in slots] for each in (keys, msgs))
    return FoldedKeys(*(np.array(each, dtype=np.int64) for each in (slots, number, number, carried)))


def judged(
    counts: dict[bytes, int], policy: KeyPolicy, consumers: tuple[Consumer, ...]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    hottest = sorted(counts, key=lambda key: (-counts[key], key))[:20]
    hot = [HotKey(key, murmur3_32(key), counts[key]) for key in hottest]
    selector = selector_of(policy, consumers, SETTINGS, CURRENT)
    assert selector is not None and not isinstance(selector, str)
    luck = luck_of_folded(selector, folded(counts, policy), hot)
    names = [consumer.name for consumer in consumers]
    spread = dict(zip(KEY_SPREADS.names[4:], spread_row(luck, sum(counts.values())), strict=True))
    return [dict(zip(KEY_LOADS.names[4:], row, strict=True)) for row in load_rows(names, luck)], spread


@pytest.mark.parametrize("policy", KeyPolicy, ids=lambda each: each.value)
@pytest.mark.parametrize("seed", range(3))
def test_a_fold_gives_what_the_keys_give(policy: KeyPolicy, seed: int) -> None:
    chance = random.Random(seed)
    counts = {f"key-{chance.random()}".encode(): int(chance.paretovariate(0.8)) for _ in range(300)}
    loads, spread = judged(counts, policy, GAPPED)
    selector = selector_of(policy, GAPPED, SETTINGS, CURRENT)
    assert selector is not None and not isinstance(selector, str)
    luck = luck_of(selector, counts)
    assert [(row["consumer"], row["keys"], row["msgs"], row["likely_low"], row["likely_high"]) for row in loads] == [
        (consumer.name, each.keys, each.messages, each.likely_low, each.likely_high)
        for consumer, each in zip(GAPPED, luck.consumers, strict=True)
    ]
    assert [row["expected_keys"] for row in loads] == pytest.approx(
        [consumer.expected_keys for consumer in luck.consumers]
    )
    assert spread["ownerless_keys"] == luck.ownerless_keys
    assert spread["ownerless_msgs"] == sum(counts.values()) - luck.messages
    assert spread["expected_busiest_keys"] == pytest.approx(luck.expected_busiest)
    assert (spread["likely_busiest_low"], spread["likely_busiest_high"]) == (luck.busiest_low, luck.busiest_high)
    for name in ("probability", "probability_by_shares"):
        assert spread[name] == pytest.approx(getattr(luck, name))
    assert spread["busiest_over_average"] == pytest.approx(luck.time_over_ideal)
    assert spread["best_busiest_over_average"] == pytest.approx(luck.best_time_over_ideal)
    assert spread["best_busiest_over_average"] <= spread["busiest_over_average"] + 1e-9
    assert spread["verdict"] == luck.verdict.name


def test_K11_a_hot_key_of_nobody_makes_no_placement_worse() -> None:
    """Its messages wait, whatever they are; the keys that are served could lie evenly."""
    selector = selector_of(KeyPolicy.STICKY, GAPPED, SETTINGS, CURRENT)
    assert selector is not None and not isinstance(selector, str)
    names = [f"key-{number}".encode() for number in range(400)]
    waiting = next(key for key in names if selector.owner(selector.slots.slot_of_key(key)) is None)
    counts = dict.fromkeys(names, 1) | {waiting: 10_000}
    _, spread = judged(counts, KeyPolicy.STICKY, GAPPED)
    luck = luck_of(selector, counts)
    assert spread["ownerless_msgs"] > 10_000
    assert spread["best_busiest_over_average"] == luck.best_time_over_ideal == 1.0
    assert spread["verdict"] == luck.verdict.name != "HOT_KEY"
    assert luck.hottest_key != waiting

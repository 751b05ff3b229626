"""``TransferShedder`` at the edges of its times, and what it remembers, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import (
    PublishedLoad,
    TransferDecision,
    TransferMemory,
    TransferView,
    shed_transfer,
)

MINUTE_MS = 60_000
NOW_MS = 100 * MINUTE_MS
SETTINGS = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=0)


def view(*loads: float, at_ms: int = NOW_MS, bundles: int = 2) -> TransferView:
    """Brokers b:0, b:1 … with these loads and 1000 bytes/s for each hundredth, in so many bundles."""
    published = tuple(
        PublishedLoad(f"b:{number}", load, 1e5 * load, 1e5 * load, 0.0, at_ms) for number, load in enumerate(loads)
    )
    top = {
        each.broker: tuple(
            BundleStats(f"t/n/{each.broker}-{place}", throughput_in_bytes_per_sec=each.bytes_per_sec / bundles)
            for place in range(bundles)
        )
        for each in published
    }
    return TransferView(published, tuple(each.broker for each in published), top, NOW_MS)


def test_a_bundle_is_left_alone_until_the_grace_period_is_over() -> None:
    grace_ms = SETTINGS.loadBalancerSheddingGracePeriodMinutes * MINUTE_MS
    times = {"older": NOW_MS - grace_ms - 1, "just": NOW_MS - grace_ms, "younger": NOW_MS - grace_ms + 1}
    kept = TransferMemory(hits=3, recent_bundles=times, recent_brokers={"b:0": 5}).within_grace(NOW_MS, SETTINGS)
    assert kept == TransferMemory(
        3, recent_bundles={n: times[n] for n in ("just", "younger")}, recent_brokers={"b:0": 5}
    )


def test_an_unload_is_remembered_of_its_bundle_and_its_source() -> None:
    before = TransferMemory(recent_bundles={"x": 1}, recent_brokers={"b:9": 2})
    after = before.after_unload(TransferDecision("t/n/0x0", "b:1", "b:2", "Overloaded"), 7)
    assert after == TransferMemory(recent_bundles={"x": 1, "t/n/0x0": 7}, recent_brokers={"b:9": 2, "b:1": 7})


@pytest.mark.parametrize(("age_ms", "counts"), [(0, True), (1, False)])
def test_a_load_as_old_as_its_time_to_live_still_counts(age_ms: int, counts: bool) -> None:
    limit_ms = SETTINGS.loadBalancerBrokerLoadDataTTLInSeconds * 1000
    memory, cycle = shed_transfer(TransferMemory(), view(0.9, 0.1, at_ms=NOW_MS - limit_ms - age_ms), SETTINGS)
    assert (cycle.skip, memory.mean) == ((None, 0.5) if counts else ("OutDatedData", 0.0))


@pytest.mark.parametrize(("waited_ms", "skip"), [(0, None), (-1, "CoolDown")])
def test_a_broker_cools_down_until_a_report_is_exactly_the_delay_later(waited_ms: int, skip: str | None) -> None:
    delay_ms = SETTINGS.loadBalanceSheddingDelayInSeconds * 1000
    memory = TransferMemory(recent_brokers={"b:1": NOW_MS - delay_ms - waited_ms, "gone:1": 0})
    after, cycle = shed_transfer(memory, view(0.9, 0.1), SETTINGS)
    assert (cycle.skip, cycle.blamed) == (skip, "b:1" if skip else None)
    assert after.recent_brokers == ({"gone:1": 0} if skip is None else memory.recent_brokers)


def test_a_skip_says_what_every_pair_lacked() -> None:
    """Of four brokers the fullest has reported no bundle, two others one each."""
    seen = view(0.0, 0.1, 0.8, 0.9)
    top = {**seen.top, "b:3": (), "b:2": seen.top["b:2"][:1], "b:1": seen.top["b:1"][:1]}
    memory, cycle = shed_transfer(TransferMemory(), replace(seen, top=top), SETTINGS)
    assert [(pair.fuller, pair.outcome) for pair in cycle.pairs] == [
        ("b:3", "no-bundles-reported"), ("b:2", "one-bundle"), ("b:1", "one-bundle"),
    ]  # fmt: skip
    assert (cycle.skip, memory.hits) == ("NoLoadData", 1)
    few = {**top, "b:3": seen.top["b:3"][:1]}
    assert shed_transfer(TransferMemory(), replace(seen, top=few), SETTINGS)[1].skip == "NoBundles"


def test_a_cycle_that_acts_begins_to_count_anew() -> None:
    memory, cycle = shed_transfer(TransferMemory(hits=2), view(0.9, 0.1, bundles=4), SETTINGS)
    assert (memory.hits, cycle.skip, cycle.decisions[0].source) == (0, None, "b:0")
    waiting = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=3)
    assert shed_transfer(TransferMemory(hits=2), view(0.9, 0.1), waiting)[0].hits == 3
    assert shed_transfer(TransferMemory(hits=2), view(0.5, 0.5), waiting)[0].hits == 0

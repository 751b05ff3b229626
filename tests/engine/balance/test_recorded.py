"""A recorded cluster of two 4.2.4 brokers, report by report: attempts and stored averages of its leader, all of them.

``recorded/modular-range.jsonl`` has the load reports in the order they were written, the bundle lists, the averages as
stored, and each line of the leader's log about an attempt ("splitting") or a parent that was gone ("removed").
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.balance.limits import BundleStats
from engine.balance.splitting.forecast import simulate
from engine.balance.splitting.modular import BrokerReport, visiting_order
from engine.balance.splitting.start import balance_start
from engine.bundles.boundaries import NamespaceBundles, namespace_bundles
from engine.bundles.loads import topic_load
from engine.config import BrokerSettings
from engine.errors import Rejection
from tests.lab.balance.reading_order import EVER, Agreement, Events, best_order
from tests.lab.balance.replay import (
    AveragesStored,
    BundlesChanged,
    ModularEvent,
    ReportWritten,
    replay_modular,
)

LINES = [json.loads(line) for line in (Path(__file__).parent / "recorded" / "modular-range.jsonl").open()]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [line for line in LINES if line["kind"] == kind]


@cache
def settings() -> BrokerSettings:
    result = BrokerSettings()
    for name, text in of_kind("settings")[0]["settings"].items():
        changed = result.with_setting(name, text)
        assert not isinstance(changed, Rejection), changed
        result = changed
    return result


def event(line: dict[str, Any]) -> ModularEvent | None:
    if line["kind"] == "report":
        stats = tuple(BundleStats(name, *numbers) for name, numbers in line["bundles"].items())
        return ReportWritten(line["at_ms"], BrokerReport(line["broker"], stats))
    if line["kind"] == "bundles":
        bundles = namespace_bundles(line["namespace"], line["boundaries"])
        assert isinstance(bundles, NamespaceBundles), bundles
        return BundlesChanged(line["at_ms"], bundles)
    return AveragesStored(line["at_ms"]) if line["kind"] == "stored" else None


EVENTS = [found for line in LINES if (found := event(line)) is not None]


def test_all_29_attempts_and_drops_of_the_leader_are_predicted() -> None:
    steps = replay_modular(EVENTS, settings())
    foretold = Counter(("attempt", bundle) for step in steps for bundle, _ in step.attempted)
    foretold += Counter(("dropped", bundle) for step in steps for bundle in step.dropped)
    logged = Counter((key, line[key]) for line in of_kind("log") for key in ("attempt", "dropped") if key in line)
    assert foretold == logged
    assert logged.total() == 29


def test_all_59_stored_averages_come_out_with_their_samples() -> None:
    stored = [step for step in replay_modular(EVENTS, settings()) if step.decision is None]
    compared = 0
    for step, line in zip(stored, of_kind("stored"), strict=True):
        for bundle, (topics, samples, long_rate, short_rate) in line["averages"].items():
            data = step.averages[bundle]
            assert (data.topics, data.long_term.num_samples) == (topics, samples)
            assert data.long_term.msg_rate_in == pytest.approx(long_rate, rel=1e-12)
            assert data.short_term.msg_rate_in == pytest.approx(short_rate, rel=1e-12)
            compared += 1
    assert compared == 59


def averages_that_agree(events: Sequence[ModularEvent]) -> int:
    stored = [step for step in replay_modular(events, settings()) if step.decision is None]
    return sum(
        step.averages[bundle].long_term.num_samples == samples
        and step.averages[bundle].long_term.msg_rate_in == pytest.approx(rate, rel=1e-12)
        for step, line in zip(stored, of_kind("stored"), strict=True)
        for bundle, (_, samples, rate, _) in line["averages"].items()
    )


def test_an_order_that_was_turned_round_is_found_again() -> None:
    """Two reports of one moment in the wrong order cost averages; the search turns them back and nothing else."""

    def agreement(events: Events) -> Agreement:
        return Agreement(averages_that_agree(events), *EVER)

    assert best_order(tuple(EVENTS), agreement, 59) == (tuple(EVENTS), 0)
    first, second = [place for place, found in enumerate(EVENTS) if isinstance(found, ReportWritten)][6:8]
    turned = list(EVENTS)
    turned[first] = replace(EVENTS[second], at_ms=EVENTS[first].at_ms)
    turned[second] = replace(EVENTS[first], at_ms=EVENTS[second].at_ms)
    assert averages_that_agree(turned) < 59
    order, changes = best_order(tuple(turned), agreement, 59)
    assert (averages_that_agree(order), changes) == (59, 1)


def test_reports_list_their_bundles_in_the_order_of_a_java_map() -> None:
    for line in of_kind("report"):
        assert list(visiting_order(list(line["bundles"]))) == list(line["bundles"])


def test_one_sample_fewer_would_show() -> None:
    """Without the last report before the first storing the samples differ, so the comparison can fail."""
    storing = next(place for place, found in enumerate(EVENTS) if isinstance(found, AveragesStored))
    last = max(place for place, found in enumerate(EVENTS[:storing]) if isinstance(found, ReportWritten))
    less = [found for place, found in enumerate(EVENTS) if place != last]
    stored = next(step for step in replay_modular(less, settings()) if step.decision is None)
    recorded = of_kind("stored")[0]["averages"]
    assert any(stored.averages[bundle].long_term.num_samples != entry[1] for bundle, entry in recorded.items())


def test_the_simulation_splits_the_bundle_of_thirty_topics_as_the_cluster_did() -> None:
    """From the same two bundles and topic names, five splits in all, at the same boundaries, whatever the times."""
    start = balance_start(
        NamespaceBundles("ring/topics", (0, 0x80000000, 0xFFFFFFFF)),
        [topic_load(f"persistent://ring/topics/topic-{place}", 0.5) for place in range(30)],
        ["127.0.0.1:43053", "127.0.0.1:46295"],
        settings(),
    )
    assert not isinstance(start, Rejection), start
    balance = simulate(start, 6)
    assert not isinstance(balance, Rejection), balance
    last = [line for line in of_kind("bundles") if line["namespace"] == "ring/topics"][-1]
    assert [f"0x{boundary:08x}" for boundary in balance.bundles.boundaries] == last["boundaries"]


def test_a_report_read_together_with_a_newer_one_samples_the_newer_one_twice() -> None:
    """Of two reports within milliseconds the leader may see both at once: the older numbers are not sampled at all."""
    name = "t/n/0x00000000_0xffffffff"

    def report(broker: str, rate: float) -> BrokerReport:
        return BrokerReport(broker, (BundleStats(name if broker == "b" else "t/m/0x0_0x9", 1, msg_rate_in=rate),))

    before = ReportWritten(0, report("b", 10.0))
    apart = [before, ReportWritten(5, report("a", 1.0)), ReportWritten(6, report("b", 40.0))]
    together = [before, ReportWritten(5, report("a", 1.0), (report("b", 40.0),)), apart[2]]
    rates = [
        replay_modular(events, BrokerSettings())[-1].averages[name].long_term.msg_rate_in
        for events in (apart, together)
    ]
    assert rates == [(10 + 10 + 40) / 3, (10 + 40 + 40) / 3]

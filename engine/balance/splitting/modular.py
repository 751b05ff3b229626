"""Which bundles the modular load manager chooses to split by itself: ``BundleSplitterTask``, run by the leader.

It runs whenever any broker's load report is written, over the last reports of all brokers. Topics and sessions are the
reported numbers, rates are the long-term averages, so a burst chooses nothing until the average has moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.balance.averages import TimeAverageMessageData
from engine.balance.limits import BundleStats, SplitReason, exceeded_limit
from engine.config import BrokerSettings
from engine.hashing import java_string_hash

ModularOutcome = Literal["chosen", "too-few-topics", "below-limits", "namespace-full", "bundle-count-unreadable"]
NoRun = Literal["switched-off", "not-leader", "one-broker"]


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """The last load report of one broker: its id (``host:webport``) and its bundles in the order of the report."""

    broker: str
    bundles: tuple[BundleStats, ...]


@dataclass(frozen=True, slots=True)
class ModularObservation:
    """What the leader knows when it decides.

    ``reports`` in visiting order (:func:`visiting_order`); ``long_term`` by full bundle name, a bundle without one has
    no traffic; ``bundle_counts`` by namespace, a missing one cannot be read.
    """

    reports: tuple[BrokerReport, ...]
    long_term: Mapping[str, TimeAverageMessageData]
    bundle_counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ModularVerdict:
    """What became of one reported bundle, and the first limit it is above ("Unknown": none, or not looked at)."""

    bundle: str
    broker: str
    outcome: ModularOutcome
    reason: SplitReason = "Unknown"


@dataclass(frozen=True, slots=True)
class ModularDecision:
    """One verdict for each reported bundle, in visiting order."""

    verdicts: tuple[ModularVerdict, ...]

    @property
    def chosen(self) -> dict[str, str]:
        """Bundle to broker. Of a bundle that two brokers report the later one is recorded."""
        return {verdict.bundle: verdict.broker for verdict in self.verdicts if verdict.outcome == "chosen"}

    @property
    def full_namespaces(self) -> tuple[str, ...]:
        """The namespaces whose cap kept a bundle from being split, each once however many bundles it has there."""
        full = (verdict.bundle for verdict in self.verdicts if verdict.outcome == "namespace-full")
        return tuple(dict.fromkeys(bundle.rpartition("/")[0] for bundle in full))


def modular_decision(observation: ModularObservation, settings: BrokerSettings) -> ModularDecision:
    """The bundles the leader would split now. O(reported bundles).

    A bundle with fewer than two topics is passed over; one above a limit (:func:`exceeded_limit`) is chosen while its
    namespace has fewer bundles than ``loadBalancerNamespaceMaximumBundles``, those chosen before it counted. So which
    bundles win under the cap depends on the order of visiting. A bundle that two brokers report (the report of one was
    written before it moved) takes two places under the cap. A report older than a split still names the parent; what is
    chosen so is dropped later, when the namespace turns out not to have that bundle any more (#25031).

    >>> names = ("t/n/0x00000000_0x80000000", "t/n/0x80000000_0xffffffff")
    >>> halves = tuple(BundleStats(name, topics=1001) for name in names)
    >>> observation = ModularObservation((BrokerReport("b:8080", halves),), {}, {"t/n": 2})
    >>> decision = modular_decision(observation, BrokerSettings(loadBalancerNamespaceMaximumBundles=3))
    >>> decision.chosen, decision.full_namespaces
    ({'t/n/0x00000000_0x80000000': 'b:8080'}, ('t/n',))
    """
    extra: dict[str, int] = {}
    verdicts: list[ModularVerdict] = []
    for report in observation.reports:
        for stats in report.bundles:
            outcome, reason = _judge(stats, extra.get(stats.namespace, 0), observation, settings)
            if outcome == "chosen":
                extra[stats.namespace] = extra.get(stats.namespace, 0) + 1
            verdicts.append(ModularVerdict(stats.bundle, report.broker, outcome, reason))
    return ModularDecision(tuple(verdicts))


def _judge(
    stats: BundleStats, extra: int, observation: ModularObservation, settings: BrokerSettings
) -> tuple[ModularOutcome, SplitReason]:
    if stats.topics < 2:
        return "too-few-topics", "Unknown"
    average = observation.long_term.get(stats.bundle)
    rate, throughput = (0.0, 0.0) if average is None else (average.msgs_per_sec, average.bytes_per_sec)
    reason = exceeded_limit(stats, rate, throughput, settings)
    if reason == "Unknown":
        return "below-limits", reason
    count = observation.bundle_counts.get(stats.namespace)
    if count is None:
        return "bundle-count-unreadable", reason
    full = count + extra >= settings.loadBalancerNamespaceMaximumBundles
    return ("namespace-full" if full else "chosen"), reason


def why_no_run(settings: BrokerSettings, *, is_leader: bool, known_brokers: int) -> NoRun | None:
    """Why a broker does not decide at all (``ModularLoadManagerImpl.checkNamespaceBundleSplit``); None when it does.

    A cluster of one broker never splits by itself.

    >>> why_no_run(BrokerSettings(), is_leader=True, known_brokers=1)
    'one-broker'
    """
    if not settings.loadBalancerAutoBundleSplitEnabled:
        return "switched-off"
    if not is_leader:
        return "not-leader"
    return None if known_brokers > 1 else "one-broker"


def buckets_for(brokers: int) -> int:
    """Buckets of a ``ConcurrentHashMap`` with so many keys: 16, doubled when three quarters of them are reached.

    >>> buckets_for(11), buckets_for(12)
    (16, 32)
    """
    buckets = 16
    while brokers >= buckets * 3 // 4:
        buckets *= 2
    return buckets


def visiting_order(brokers: Sequence[str], buckets: int | None = None) -> tuple[str, ...]:
    """Broker ids in the order of Java's ``ConcurrentHashMap``, which holds the reports; input in order of arrival.

    By bucket, ``(h ^ (h >>> 16)) mod buckets`` of the id's ``String.hashCode``; 16 buckets, doubled when three quarters
    of them are reached. Ids of one bucket stay in order of arrival; with 12 brokers and more Java may turn them round
    while it doubles, which is not modelled. O(n log n). ``buckets`` is for some of the ids of a larger map.

    ``"b"`` is 98, so bucket 2; ``"a"`` 97, bucket 1; ``"p"`` 112, bucket 0:

    >>> visiting_order(["b", "a", "p"])
    ('p', 'a', 'b')
    """
    size = buckets_for(len(brokers)) if buckets is None else buckets
    return tuple(sorted(dict.fromkeys(brokers), key=lambda broker: _spread(broker) % size))


@lru_cache(maxsize=8192)
def _spread(broker: str) -> int:
    # The top bit, which this hash lacks, would reach bit 15 only: no matter below 32768 buckets.
    code = java_string_hash(broker)
    return code ^ (code >> 16)

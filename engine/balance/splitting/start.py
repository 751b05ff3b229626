"""What a simulation of balancing over time starts from, checked: the good kept, the bad named and counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.balance.averages import BundleData
from engine.balance.limits import bandwidth_finding
from engine.balance.settings import BalanceSettings
from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.columns import equal_hash_findings
from engine.bundles.loads import TopicLoad, check_loads, topic_load
from engine.bundles.plan import LoadManager
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection

CHANGE_EVENTS: Final = "__change_events"
"""The system topic each namespace has while topic policies are on (Pulsar's default)."""


def check_topics(
    topics: Iterable[BalancedTopic | TopicLoad],
) -> tuple[tuple[BalancedTopic, ...], tuple[Rejection, ...]]:
    """The topics that can be used, in their order, and a refusal for each that cannot.

    Set aside are those whose rates are NaN, negative or infinite, whose growth or sessions are, or that come twice.

    A broker never reports such rates; a comparison with NaN is false, so Pulsar would never act on one.

    >>> good, bad = check_topics([TopicLoad("a", 1, 5.0), TopicLoad("b", 2, float("nan")), TopicLoad("a", 1, 5.0)])
    >>> len(good), [refusal.field for refusal in bad]
    (1, ['topics[1].msg_rate_in', 'topics[2].name'])
    """
    listed = [BalancedTopic(given) if isinstance(given, TopicLoad) else given for given in topics]
    good, bad = check_loads([topic.load for topic in listed], lambda place: _further_numbers(listed[place]))
    return tuple(listed[place] for place in good), bad


def _further_numbers(topic: BalancedTopic) -> list[tuple[str, float]]:
    return [(name, getattr(topic, name)) for name in ("growth_per_cycle", "producers", "consumers")]


@dataclass(frozen=True, slots=True)
class BalanceStart:
    """A namespace, its brokers and the rules, at cycle 0. Build it with :func:`balance_start`.

    ``owners``: bundle to broker, where one is known; the others go to the brokers in turn. ``averages``: what the
    leader has already, by full bundle name (modular). ``first_rate_factor``: the first rates of a bundle just unloaded
    are the true ones times this, because producers that reconnect send what they had queued; 1.0 is no such effect.
    ``problems``: what was wrong with the input or is odd about the settings; ``bad_topics`` were left out.
    """

    bundles: NamespaceBundles
    topics: TopicColumns
    brokers: tuple[str, ...]
    settings: BrokerSettings
    intervals: BalanceSettings
    load_manager: LoadManager = "modular"
    behaviour: ReleaseBehaviour = CURRENT
    owners: Mapping[str, str] = field(default_factory=dict)
    averages: Mapping[str, BundleData] = field(default_factory=dict)
    first_rate_factor: float = 1.0
    problems: tuple[Rejection, ...] = ()
    bad_topics: int = 0


def balance_start(
    bundles: NamespaceBundles,
    topics: Iterable[BalancedTopic | TopicLoad],
    brokers: Sequence[str],
    settings: BrokerSettings,
    *,
    intervals: BalanceSettings | None = None,
    load_manager: LoadManager = "modular",
    behaviour: ReleaseBehaviour = CURRENT,
    owners: Mapping[str, str] | None = None,
    averages: Mapping[str, BundleData] | None = None,
    first_rate_factor: float = 1.0,
    change_events: bool = True,
) -> BalanceStart | Rejection:
    """Checked input of a simulation. ``owners`` goes by range text; ``brokers`` are ids, ``host:webport``.

    With ``change_events`` the namespace gets its system topic ``__change_events``, idle, unless it is listed already:
    it counts as a topic, so a bundle with one user topic and this one is splittable.

    Refused: no brokers, a broker twice, an interval of 0, a factor that is no positive number, an owner that is no
    broker, the simple load manager (it does not split by itself). Bad topics are left out and counted.

    >>> whole = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
    >>> start = balance_start(whole, [topic_load("persistent://t/n/x", -1.0)], ["b:1"], BrokerSettings())
    >>> [topic.load.name for topic in start.topics], start.bad_topics
    (['persistent://t/n/__change_events'], 1)
    >>> balance_start(whole, [], [], BrokerSettings()).field
    'brokers'
    """
    given = intervals or BalanceSettings()
    refusal = given.check() or _refuse(brokers, load_manager, owners or {}, first_rate_factor)
    if refusal is not None:
        return refusal
    kept, bad = _kept(topics)
    system = BalancedTopic(topic_load(f"persistent://{bundles.namespace}/{CHANGE_EVENTS}"))
    if change_events and not kept.has(system.load):
        kept = kept.with_topic(system)
    overflow = bandwidth_finding(settings)
    problems = (
        *bad,
        *equal_hash_findings(kept.loads),
        *((overflow,) if overflow is not None else ()),
    )
    return BalanceStart(
        bundles,
        kept,
        tuple(brokers),
        settings,
        given,
        load_manager,
        behaviour,
        owners or {},
        averages or {},
        first_rate_factor,
        problems,
        len(bad),
    )


def _kept(topics: Iterable[BalancedTopic | TopicLoad]) -> tuple[TopicColumns, tuple[Rejection, ...]]:
    if isinstance(topics, TopicColumns) and topics.usable.all():
        return topics, ()
    good, bad = check_topics(topics)
    return TopicColumns.of(good), bad


def _refuse(
    brokers: Sequence[str], load_manager: LoadManager, owners: Mapping[str, str], factor: float
) -> Rejection | None:
    if not brokers:
        message = "0 brokers own no bundle and split none: give at least one"
        return Rejection("NoBrokers", message, field="brokers")
    if len(set(brokers)) != len(brokers):
        return Rejection("DuplicateBroker", "a broker is given twice: each id may come once", field="brokers")
    if load_manager == "simple":
        message = "the simple load manager is not simulated: give modular or extensible"
        return Rejection("NotModelled", message, field="load_manager")
    if not (math.isfinite(factor) and factor > 0):
        message = f"{factor} is no factor for the first rates after an unload: 1.0 means none"
        return Rejection("IllegalArgumentException", message, field="first_rate_factor")
    strangers = sorted(set(owners.values()) - set(brokers))
    if strangers:
        message = f"{strangers[0]} owns a bundle but is not among the brokers"
        return Rejection("UnknownBroker", message, field="owners")
    return None

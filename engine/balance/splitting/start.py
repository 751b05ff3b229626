"""What a simulation of balancing over time starts from, checked: the good kept, the bad named and counted."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.balance.averages import BundleData
from engine.balance.limits import bandwidth_finding
from engine.balance.settings import BalanceSettings
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.columns import LoadColumns, equal_hash_findings
from engine.bundles.loads import RATE_FIELDS, TopicLoad, check_loads, topic_load
from engine.bundles.plan import LoadManager
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.memo import Computed

HIGHEST_RATE: Final = 1e300
CHANGE_EVENTS: Final = "__change_events"
"""The system topic each namespace has while topic policies are on (Pulsar's default)."""


@dataclass(frozen=True, slots=True)
class BalancedTopic:
    """One topic over time: its load at the start, its sessions, and by what its traffic is multiplied.

    ``growth_per_cycle`` 1.1 is ten percent more at each full interval; ``steps`` are (interval, factor) pairs: from
    that interval on, counted from 0, the starting traffic times ``factor`` instead of times 1.
    """

    load: TopicLoad
    producers: int = 0
    consumers: int = 0
    growth_per_cycle: float = 1.0
    steps: tuple[tuple[int, float], ...] = ()

    @property
    def is_steady(self) -> bool:
        """Whether the traffic is the same in every interval."""
        return self.growth_per_cycle == 1.0 and not self.steps

    def load_at(self, interval: int) -> TopicLoad:
        """The topic's load after that many full intervals.

        >>> topic = BalancedTopic(TopicLoad("persistent://t/n/x", 7, 10.0), growth_per_cycle=2.0, steps=((3, 0.5),))
        >>> [topic.load_at(interval).msg_rate_in for interval in range(5)]
        [10.0, 20.0, 40.0, 40.0, 80.0]
        """
        return self.load if self.is_steady else scaled(self.load, self.factor_at(interval))

    def factor_at(self, interval: int) -> float:
        """By what the traffic is multiplied after that many full intervals."""
        stepped = [factor for start, factor in sorted(self.steps) if start <= interval]
        return (stepped[-1] if stepped else 1.0) * _power(self.growth_per_cycle, interval)


class ListedTopics(Computed[BalancedTopic]):
    """Topics in listing order, each with its own name, in columns (see ``load_columns``)."""

    __slots__ = ()

    loads: LoadColumns

    @property
    @abstractmethod
    def usable(self) -> NDArray[np.bool_]:
        """Whether all numbers of each are finite and 0 or above: (n,)."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> ListedTopics:
        """Those at these places."""

    @abstractmethod
    def has(self, topic: TopicLoad) -> bool:
        """Whether a topic of this name is among them."""

    @abstractmethod
    def with_topic(self, topic: BalancedTopic) -> ListedTopics:
        """These, and one more behind them."""


def _power(base: float, exponent: int) -> float:
    # Growth that leaves what floats can hold stays at a number that still can be added up.
    try:
        return min(base**exponent, HIGHEST_RATE)
    except OverflowError:
        return HIGHEST_RATE


def scaled(load: TopicLoad, factor: float) -> TopicLoad:
    """A load with all four rates times a factor, each at most ``HIGHEST_RATE``."""
    if factor == 1.0:
        return load
    return replace(load, **{name: min(getattr(load, name) * factor, HIGHEST_RATE) for name in RATE_FIELDS})


@dataclass(frozen=True, slots=True)
class CheckedTopics:
    """Topics that can be used, in their order, and one refusal for each that cannot."""

    good: tuple[BalancedTopic, ...]
    bad: tuple[Rejection, ...]


def check_topics(topics: Iterable[BalancedTopic | TopicLoad]) -> CheckedTopics:
    """Set aside topics whose rates are NaN, negative or infinite, whose growth or sessions are, or that come twice.

    A broker never reports such rates; a comparison with NaN is false, so Pulsar would never act on one.

    >>> checked = check_topics([TopicLoad("a", 1, 5.0), TopicLoad("b", 2, float("nan")), TopicLoad("a", 1, 5.0)])
    >>> len(checked.good), [bad.field for bad in checked.bad]
    (1, ['topics[1].msg_rate_in', 'topics[2].name'])
    """
    listed = [BalancedTopic(given) if isinstance(given, TopicLoad) else given for given in topics]
    good, bad = check_loads([topic.load for topic in listed], lambda place: _further_numbers(listed[place]))
    return CheckedTopics(tuple(listed[place] for place in good), bad)


def _further_numbers(topic: BalancedTopic) -> list[tuple[str, float]]:
    steps = [(f"steps[{at}]", factor) for at, (_, factor) in enumerate(topic.steps)]
    growth = ("growth_per_cycle", topic.growth_per_cycle)
    return [growth, *steps, ("producers", topic.producers), ("consumers", topic.consumers)]


@dataclass(frozen=True, slots=True)
class BalanceStart:
    """A namespace, its brokers and the rules, at cycle 0. Build it with :func:`balance_start`.

    ``owners``: bundle to broker, where one is known; the others go to the brokers in turn. ``averages``: what the
    leader has already, by full bundle name (modular). ``first_rate_factor``: the first rates of a bundle just unloaded
    are the true ones times this, because producers that reconnect send what they had queued; 1.0 is no such effect.
    ``problems``: what was wrong with the input or is odd about the settings; ``bad_topics`` were left out.
    """

    bundles: NamespaceBundles
    topics: Sequence[BalancedTopic]
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
    if change_events:
        kept = _with(kept, system)
    overflow = bandwidth_finding(settings)
    problems = (
        *bad,
        *equal_hash_findings(kept.loads if isinstance(kept, ListedTopics) else [topic.load for topic in kept]),
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


def _kept(topics: Iterable[BalancedTopic | TopicLoad]) -> tuple[Sequence[BalancedTopic], tuple[Rejection, ...]]:
    if isinstance(topics, ListedTopics):
        usable = topics.usable
        if usable.all():
            return topics, ()
        return topics.take(np.flatnonzero(usable)), check_topics(topics).bad
    checked = check_topics(topics)
    return checked.good, checked.bad


def _with(topics: Sequence[BalancedTopic], system: BalancedTopic) -> Sequence[BalancedTopic]:
    if isinstance(topics, ListedTopics):
        return topics if topics.has(system.load) else topics.with_topic(system)
    listed = any(topic.load.name == system.load.name for topic in topics)
    return topics if listed else (*topics, system)


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

"""The publishers of a partitioned topic added up: by name where the broker knows that they belong together, else by
their position in each partition's list.

Source: ``TopicStatsImpl`` (``addPublisher``, ``getPublishers``, ``add``), ``PublisherStatsImpl.add``; PIP-79, #12401.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Final, TypeVar

from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.hashing import utf16_order

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    _Record = TypeVar("_Record", bound=DataclassInstance)

_RULE: Final = "added by"


def _earliest(total: int, new: int) -> int:
    return min(total, new) if total and new else max(total, new)


def summed(start: float = 0) -> Any:
    """A number that is added up in the order of the partitions."""
    # Not ``sum``: from Python 3.12 on it rounds once at the end, and Pulsar rounds after each addition.
    return field(default=start, metadata={_RULE: lambda first, values: reduce(operator.add, values, first)})


def largest() -> Any:
    """The largest of the values, from 0 on."""
    return field(default=0, metadata={_RULE: lambda first, values: max(first, *values)})


def earliest() -> Any:
    """The smallest time that is known; 0 means unknown."""
    return field(default=0, metadata={_RULE: lambda first, values: reduce(_earliest, values, first)})


def newest(start: Any) -> Any:
    """The value of the partition added last, whatever it is."""
    return field(default=start, metadata={_RULE: lambda _, values: values[-1]})


def any_of() -> Any:
    """True as soon as one value is."""
    return field(default=False, metadata={_RULE: lambda first, values: first or any(values)})


def all_of() -> Any:
    """True as long as every value is; the empty record is true."""
    return field(default=True, metadata={_RULE: lambda first, values: first and all(values)})


def added_up(start: _Record, records: Sequence[_Record]) -> _Record:
    """The aggregate of records added to one another in their order, each field by its rule.

    Linear in records times fields. A field at a time, so that no record is made for every sum on the way.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Seen:
    ...     msgs: int = summed()
    ...     since_ms: int = earliest()
    ...     owner: str = ""
    >>> added_up(Seen(), [Seen(2, 0, "b1"), Seen(3, 9, "b2")])
    Seen(msgs=5, since_ms=9, owner='')
    """
    if not records:
        return start
    rules, values = _rules(type(start))
    columns = zip(*map(values, records), strict=True)
    return type(start)(
        *[rule(first, column) for rule, first, column in zip(rules, values(start), columns, strict=True)]
    )


@cache
def _rules(
    record: type[DataclassInstance],
) -> tuple[tuple[Callable[[Any, Sequence[Any]], Any], ...], Callable[[object], tuple[Any, ...]]]:
    """The rule of each field, from its value at the start and those to be added, and what gets a record's values.

    Records have two fields at least.
    """
    known = fields(record)
    rules = tuple(field.metadata.get(_RULE, _start) for field in known)
    return rules, operator.attrgetter(*(field.name for field in known))


def _start(first: Any, _: Sequence[Any]) -> Any:
    return first


def plain_mean(values: Iterable[float]) -> float:
    """The mean of values that come one after another, see ``mean_with``; 0.0 of none."""
    mean = 0.0
    for count, value in enumerate(values, 1):
        mean = mean_with(mean, value, count)
    return mean


def mean_with(mean: float, new: float, count: int) -> float:
    """The plain mean after the ``count``-th value, from the mean before it: not weighted by messages.

    Over partitions this makes a mean of means, and an idle partition (0.0) pulls it down. It is computed the way
    Pulsar does, rounding included.

    >>> mean_with(1.0, 5.0, 2)
    3.0
    """
    return (mean * (count - 1) + new) / count


@dataclass(frozen=True, slots=True)
class PublisherStats:
    """One publisher of a partition, or one entry of the aggregate.

    ``supports_partial_producer`` puts it in the named group, see ``flag_shown``. ``average_msg_size_bytes`` is the mean
    over the publisher's messages; in the aggregate it is the plain mean over the ``count`` publishers added. Other
    facts of a publisher (address, id, version) are not added up and stay unset in the aggregate.
    """

    producer_name: str | None = None
    supports_partial_producer: bool = False
    msg_rate_in_msgs_per_sec: float = summed(0.0)
    msg_throughput_in_bytes_per_sec: float = summed(0.0)
    average_msg_size_bytes: float = 0.0
    count: int = 0

    def of(self, publishers: Sequence[PublisherStats]) -> PublisherStats:
        """An entry with this name and flag, and the sum of publishers in their order."""
        return replace(
            added_up(self, publishers),
            average_msg_size_bytes=plain_mean(publisher.average_msg_size_bytes for publisher in publishers),
            count=len(publishers),
        )


@dataclass(frozen=True, slots=True)
class PublisherGroups:
    """The two groups of publishers of one partition or of an aggregate.

    ``unnamed`` in the order in which they were added, ``named`` with one entry for each name, in no order of meaning.
    """

    unnamed: tuple[PublisherStats, ...] = ()
    named: tuple[PublisherStats, ...] = ()

    def listed(self) -> tuple[PublisherStats, ...]:
        """The list Pulsar shows: the unnamed group sorted by name (Java's text order, no name last), then the named.

        >>> group = grouped([PublisherStats("b"), PublisherStats(None), PublisherStats("a")])
        >>> [publisher.producer_name for publisher in group.listed()]
        ['a', 'b', None]
        """
        return (*sorted(self.unnamed, key=_by_name), *sorted(self.named, key=_by_name))


def flag_shown(settings: BrokerSettings, *, client_supports_partial_producer: bool) -> bool:
    """Whether a broker's statistics mark a publisher as supporting partial producers.

    It takes both: the client's feature flag and ``aggregatePublisherStatsByProducerName``, which is off by default. So
    by default every publisher is in the unnamed group.

    >>> flag_shown(BrokerSettings(), client_supports_partial_producer=True)
    False
    """
    return settings.aggregatePublisherStatsByProducerName and client_supports_partial_producer


def grouped(publishers: Iterable[PublisherStats]) -> PublisherGroups:
    """The groups of one partition, from its publishers in the order they were added.

    A publisher with the flag and a name is named; a later one of the same name **replaces** the earlier. Every other is
    unnamed and loses its flag.

    >>> twice = grouped([PublisherStats("a", True, 1.0), PublisherStats("a", True, 2.0), PublisherStats(None, True)])
    >>> [publisher.msg_rate_in_msgs_per_sec for publisher in twice.named], twice.unnamed[0].supports_partial_producer
    ([2.0], False)
    """
    unnamed: list[PublisherStats] = []
    named: dict[str, PublisherStats] = {}
    for publisher in publishers:
        if publisher.supports_partial_producer and publisher.producer_name is not None:
            named[publisher.producer_name] = publisher
        else:
            flagged = publisher.supports_partial_producer
            unnamed.append(replace(publisher, supports_partial_producer=False) if flagged else publisher)
    return PublisherGroups(tuple(unnamed), tuple(named.values()))


def aggregate_publishers(
    partitions: Iterable[PublisherGroups], behaviour: ReleaseBehaviour = CURRENT
) -> PublisherGroups:
    """The publishers of all partitions added up, partitions in the order given; linear but for sorting each list.

    Named publishers meet by name. Unnamed ones meet by position: the i-th of each partition's sorted list makes the
    i-th entry, which has no name and can mix different producers. Before #18807 they were added too often, see
    ``_plus_repeatedly``.

    >>> one, two = grouped([PublisherStats("a", False, 1.0)]), grouped([PublisherStats("b", False, 2.0)])
    >>> [(entry.producer_name, entry.msg_rate_in_msgs_per_sec) for entry in aggregate_publishers([one, two]).listed()]
    [(None, 3.0)]
    """
    all_partitions = tuple(partitions)
    named: dict[str | None, list[PublisherStats]] = {}
    for partition in all_partitions:
        for publisher in partition.named:
            named.setdefault(publisher.producer_name, []).append(publisher)
    unnamed = [
        PublisherStats().of([all_partitions[at].unnamed[place] for at, place in entry])
        for entry in unnamed_entries(all_partitions, behaviour)
    ]
    entries = [PublisherStats(name, supports_partial_producer=True).of(those) for name, those in named.items()]
    return PublisherGroups(tuple(unnamed), tuple(entries))


def unnamed_entries(
    partitions: Sequence[PublisherGroups], behaviour: ReleaseBehaviour = CURRENT
) -> list[list[tuple[int, int]]]:
    """Which publishers make each unnamed entry of the aggregate, in the order they are added to it.

    A publisher is identified by the place of its partition and its own place in that partition's unnamed group.

    >>> two = grouped([PublisherStats("b"), PublisherStats("a")])
    >>> unnamed_entries([two, grouped([PublisherStats("c")])])
    [[(0, 1), (1, 0)], [(0, 0)]]
    """
    entries: list[list[tuple[int, int]]] = []
    for at, partition in enumerate(partitions):
        places = range(len(partition.unnamed))
        if behaviour.unnamed_publishers == "added-once":
            in_order = sorted(places, key=lambda place: _by_name(partition.unnamed[place]))
            _plus_once(entries, [(at, place) for place in in_order])
        else:
            _plus_repeatedly(entries, [(at, place) for place in places])
    return entries


def _plus_once(entries: list[list[tuple[int, int]]], new: Sequence[tuple[int, int]]) -> None:
    """Add each publisher to the entry of its position; missing entries are made. Changes ``entries``."""
    entries.extend([] for _ in range(len(entries), len(new)))
    for entry, publisher in zip(entries, new, strict=False):
        entry.append(publisher)


def _plus_repeatedly(entries: list[list[tuple[int, int]]], new: Sequence[tuple[int, int]]) -> None:
    """The rule until #18807: with u publishers, u times over, all are added. Changes ``entries``; quadratic in u.

    In each round they become new entries unless there are exactly u already. So rates come out u times too large, and
    partitions with different numbers of publishers make the list grow.
    """
    for _ in new:
        if len(entries) == len(new):
            _plus_once(entries, new)
        else:
            entries.extend([publisher] for publisher in new)


def _by_name(publisher: PublisherStats) -> tuple[bool, bytes]:
    name = publisher.producer_name
    return name is None, utf16_order(name or "")

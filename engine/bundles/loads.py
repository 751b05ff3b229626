"""The input of a split: topics with hash and traffic, and the largest or hottest bundle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.errors import Rejection
from engine.hashing import crc32_hash
from engine.names import PERSISTENT, TopicName, parse_topic_name

RATE_FIELDS: Final = (
    "msg_rate_in",
    "msg_rate_out",
    "throughput_in_bytes_per_sec",
    "throughput_out_bytes_per_sec",
)


class BothWays:
    """Something with these four rates, in msg/s and bytes/s."""

    __slots__ = ()

    msg_rate_in: float
    msg_rate_out: float
    throughput_in_bytes_per_sec: float
    throughput_out_bytes_per_sec: float

    @property
    def msgs_per_sec(self) -> float:
        """In plus out (``totalMsgRate``)."""
        return self.msg_rate_in + self.msg_rate_out

    @property
    def bytes_per_sec(self) -> float:
        """In plus out (``totalMsgThroughput``)."""
        return self.throughput_in_bytes_per_sec + self.throughput_out_bytes_per_sec


class TopicLoad(BothWays, Struct, frozen=True):
    """One topic (or one partition) of a namespace: complete name, CRC-32 of it, current traffic.

    ``has_stats`` False: it exists in the metadata only (a partition nobody opened), so it counts as a topic and not as
    traffic.
    """

    name: str
    hash: int
    msg_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    throughput_in_bytes_per_sec: float = 0.0
    throughput_out_bytes_per_sec: float = 0.0
    has_stats: bool = True


def topic_load(
    name: str,
    msg_rate_in: float = 0.0,
    msg_rate_out: float = 0.0,
    throughput_in_bytes_per_sec: float = 0.0,
    throughput_out_bytes_per_sec: float = 0.0,
    *,
    has_stats: bool = True,
) -> TopicLoad:
    """A topic's load with the hash of its complete name; rates in msg/s, throughput in bytes/s."""
    return TopicLoad(
        name,
        crc32_hash(name),
        msg_rate_in,
        msg_rate_out,
        throughput_in_bytes_per_sec,
        throughput_out_bytes_per_sec,
        has_stats,
    )


class BundleAverage(Struct, frozen=True):
    """The modular load manager's stored data of a bundle: last topic count, long-term throughput in bytes/s."""

    topics: int
    throughput_in_bytes_per_sec: float
    throughput_out_bytes_per_sec: float


def with_partitions(topics: Sequence[TopicLoad], partitions: Iterable[str]) -> tuple[TopicLoad, ...]:
    """A listing with the partitions that only the metadata knows appended, without statistics, each name once.

    So partitions that nobody has opened count for ``topic_count_equally_divide``, and not for traffic.
    """
    known = {topic.name for topic in topics}
    missing = dict.fromkeys(name for name in partitions if name not in known)
    return (*topics, *(topic_load(name, has_stats=False) for name in missing))


def find_topic(bundles: NamespaceBundles, name: TopicName) -> BundleRange | Rejection:
    """The bundle the broker's look-up finds for a topic (``NamespaceBundles.findBundle``), its defect included.

    Refused: a topic of another namespace (IllegalArgumentException), a hash that is in no bundle or is 0xffffffff
    (IndexOutOfBoundsException).
    """
    if name.namespace != bundles.namespace:
        message = f"{name} is not in namespace {bundles.namespace}"
        return Rejection("IllegalArgumentException", message, field="topic")
    return bundles.pulsar_find(crc32_hash(name.complete))


def bundle_of_topic(bundles: NamespaceBundles, topic: str) -> BundleRange | None:
    """The bundle that includes a topic, None for a topic of another namespace, a bad name or a hash in no bundle."""
    name = parse_topic_name(topic)
    if isinstance(name, Rejection) or name.namespace != bundles.namespace:
        return None
    bundle = bundles.find(crc32_hash(name.complete))
    return bundle if isinstance(bundle, BundleRange) else None


def largest_bundle(bundles: NamespaceBundles, topics: Iterable[TopicLoad]) -> BundleRange | None:
    """The bundle with most persistent topics; of equals, the one that first *reached* the count. None without topics.

    So the order of the topics counts (``getBundleWithHighestTopics``).

    >>> two = NamespaceBundles("t/n", (0, 100, 0xFFFFFFFF))
    >>> listed = [TopicLoad("persistent://t/n/" + n, h) for n, h in (("a", 200), ("b", 5), ("c", 6), ("d", 300))]
    >>> str(largest_bundle(two, listed))
    '0x00000000_0x00000064'
    """
    counts: dict[int, int] = {}
    best: int | None = None
    for topic in topics:
        if topic.name.partition("://")[0].lower() != PERSISTENT:
            continue
        index = bundles.index_of(topic.hash)
        if index < 0:
            continue
        counts[index] = counts.get(index, 0) + 1
        if best is None or counts[index] > counts[best]:
            best = index
    return None if best is None else bundles[best]


def hottest_bundle(bundles: NamespaceBundles, averages: Mapping[str, BundleAverage]) -> BundleRange | None:
    """The bundle with the highest long-term throughput, of equals the first; None if no bundle with topics is stored.

    ``averages`` is by range text. A bundle without traffic can win, one without topics cannot
    (``getBundleWithHighestThroughput``). Only bundles a broker reported are there, so one without an owner never wins.
    """
    best: BundleRange | None = None
    highest = -1.0
    for bundle in bundles:
        average = averages.get(str(bundle))
        if average is None or average.topics <= 0:
            continue
        throughput = average.throughput_in_bytes_per_sec + average.throughput_out_bytes_per_sec
        if throughput > highest:
            best, highest = bundle, throughput
    return best


def averages_of(bundles: NamespaceBundles, topics: Sequence[TopicLoad]) -> dict[str, BundleAverage]:
    """Stand-in for stored averages: the current throughput of the topics, summed in their order, bundle by bundle."""
    sums: dict[int, list[float]] = {}
    for topic in topics:
        index = bundles.index_of(topic.hash)
        if index >= 0:
            entry = sums.setdefault(index, [0, 0.0, 0.0])
            entry[0] += 1
            entry[1] += topic.throughput_in_bytes_per_sec
            entry[2] += topic.throughput_out_bytes_per_sec
    return {str(bundles[index]): BundleAverage(int(count), tin, tout) for index, (count, tin, tout) in sums.items()}


def check_loads(
    loads: Sequence[TopicLoad], further: Callable[[int], Iterable[tuple[str, float]]] | None = None
) -> tuple[tuple[int, ...], tuple[Rejection, ...]]:
    """The indices of usable loads, and a refusal for each other one: a bad number, or a repeated name.

    Rates must be finite and at least 0, and so must the ``further`` numbers, by name, of the topic at an index.

    >>> good, bad = check_loads([TopicLoad("a", 1, 5.0), TopicLoad("b", 2, float("nan")), TopicLoad("a", 1, 5.0)])
    >>> good, [problem.field for problem in bad]
    ((0,), ['topics[1].msg_rate_in', 'topics[2].name'])
    """
    good: dict[str, int] = {}
    bad: list[Rejection] = []
    for place, load in enumerate(loads):
        numbers = [(name, getattr(load, name)) for name in RATE_FIELDS]
        wrong = [
            (name, value)
            for name, value in (*numbers, *(further(place) if further else ()))
            if not math.isfinite(value) or value < 0
        ]
        if wrong:
            name, value = wrong[0]
            message = f"{name} of {load.name} is {value}: it has to be a finite number, 0 or above"
            bad.append(Rejection("IllegalArgumentException", message, field=f"topics[{place}].{name}"))
        elif load.name in good:
            message = f"{load.name} is given twice; the first one counts"
            bad.append(Rejection("DuplicateTopic", message, field=f"topics[{place}].name"))
        else:
            good[load.name] = place
    return tuple(good.values()), tuple(bad)

"""Bundles of a namespace: their boundaries, where the four split algorithms cut, and how topics are spread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

TOP = 0xFFFFFFFF
ALGORITHMS = (
    "range_equally_divide",
    "topic_count_equally_divide",
    "specified_positions_divide",
    "flow_or_qps_equally_divide",
)


class Placed(NamedTuple):
    """A topic or partition: its place, and its traffic (messages and bytes a second, in and out) or None."""

    name: str
    place: int
    rates: tuple[float, float, float, float] | None


def holds(lower: int, upper: int, place: int) -> bool:
    """Whether a bundle has a hash: its lower end belongs to it, its upper one only at the very top."""
    return lower <= place < upper or place == upper == TOP


def text_of(lower: int, upper: int) -> str:
    """A range as Pulsar writes it."""
    return f"0x{lower:08x}_0x{upper:08x}"


def target(boundaries: Sequence[int], text: str, topics: Sequence[Placed]) -> tuple[int, int] | None:
    """The bundle that a range text, ``LARGEST`` or ``HOT`` means; ``topics`` in listing order."""
    bundles = list(pairwise(boundaries))
    if text == "LARGEST":
        counts = dict.fromkeys(bundles, 0)
        best = None
        for topic in topics:
            if topic.name.startswith("persistent://"):
                home = next(bundle for bundle in bundles if holds(*bundle, topic.place))
                counts[home] += 1
                if best is None or counts[home] > counts[best]:
                    best = home
        return best
    if text == "HOT":
        best, most = None, -1.0
        for bundle in bundles:
            inside = [topic.rates or (0, 0, 0, 0) for topic in topics if holds(*bundle, topic.place)]
            traffic = sum(rates[2] for rates in inside) + sum(rates[3] for rates in inside)
            if inside and traffic > most:
                best, most = bundle, traffic
        return best
    lower, upper = (int(part, 16) for part in text.split("_"))
    return (lower, upper) if (lower, upper) in bundles else None


def cuts(
    bundle: tuple[int, int],
    algorithm: str,
    positions: Sequence[int],
    topics: Sequence[Placed],
    limits: tuple[int, int, int],
) -> list[int]:
    """Where an algorithm cuts a bundle, nothing for no cut; ``topics`` of the whole namespace in listing order.

    ``limits``: messages a second, megabytes of 2^20 a second, threshold in percent.
    """
    lower, upper = bundle
    if algorithm == "range_equally_divide":
        return [lower + (upper - lower) // 2]
    inside = [topic for topic in topics if holds(lower, upper, topic.place)]
    if len(inside) <= 1:
        return []
    if algorithm == "topic_count_equally_divide":
        places = sorted(topic.place for topic in inside)
        first, second = places[max(len(places) // 2 - 1, 0)], places[len(places) // 2]
        return [first + (second - first) // 2]
    if algorithm == "specified_positions_divide":
        return [position for position in sorted(positions) if lower < position < upper]
    return _flow(inside, *limits)


def _flow(inside: Sequence[Placed], max_rate: int, max_megabytes: int, percent: int) -> list[int]:
    max_bytes, factor = max_megabytes * 2**20, 1 + percent / 100
    places: list[int] = []
    load: dict[int, tuple[float, float]] = {}
    total_rate = total_bytes = 0.0
    for topic in inside:
        if topic.rates is None:
            continue
        rate, size = topic.rates[0] + topic.rates[1], topic.rates[2] + topic.rates[3]
        if rate > 0 or size > 0:
            places.append(topic.place)
            load[topic.place] = (rate, size)
            total_rate += rate
            total_bytes += size
    if len(load) < 2 or (total_rate < max_rate * factor and total_bytes < max_bytes * factor):
        return []
    places.sort()
    rate, size = load[places[0]]
    result = []
    for at in range(1, len(places)):
        more_rate, more_size = load[places[at]]
        if rate + more_rate > max_rate or size + more_size > max_bytes:
            result.append(places[at - 1] + (places[at] - places[at - 1]) // 2 + 1)
            rate, size = more_rate, more_size
        else:
            rate, size = rate + more_rate, size + more_size
    return result


def renewed(boundaries: Sequence[int], bundle: tuple[int, int], cut: Sequence[int]) -> list[int] | None:
    """The boundaries after a split; None where Pulsar refuses it or never answers."""
    lower, upper = bundle
    if upper - lower <= 1 or not cut or len(set(cut)) != len(cut):
        return None
    if min(cut) <= lower or max(cut) >= upper:
        return None
    return sorted([*boundaries, *cut])


def default_boundaries(count: int) -> list[int]:
    """Those of so many equal bundles."""
    return [place * (2**32 // count) for place in range(count)] + [TOP]

"""How uneven a subscription is: against what each consumer can get at all."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.failover.bulk_policies import Policy
from engine.views.fleet.tables import CONSUMER_LOADS, SUBSCRIPTION_LOADS
from pipeline.transforms.loads import consumer_loads, consumers_of, subscription_loads
from pipeline.transforms.owners import HELD
from pipeline.transforms.units import UNITS

RATE = 2.5
"""Messages/s of every partition."""


@dataclass(frozen=True)
class Unit:
    """A list of consumers, how many partitions each has, and how many each had before; the last number is nobody's."""

    subscription: str
    names: tuple[str, ...]
    held: tuple[int, ...]
    before: tuple[int, ...]


def loads_of(spark: SparkSession, units: Sequence[Unit]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of both tables with the flag off, which is in force in cluster ``c``."""
    lists, held = [], []
    for number, unit in enumerate(units):
        names, levels = list(unit.names), [0] * len(unit.names)
        lists.append((number, "c", "t/n", unit.subscription, number, *(names, levels) * 2))
        after = [place for place, count in enumerate(unit.held) for _ in range(count)]
        before = [place for place, count in enumerate(unit.before) for _ in range(count)]
        for (now, was), count in Counter(zip(after, before, strict=True)).items():
            new, old = (place if place < len(names) else -1 for place in (now, was))
            held.append((number, old, new, now != was, None, None, f"topic-{number}", count, *[RATE * 1e6 * count] * 2))
    consumers = consumers_of(
        spark.createDataFrame(lists, UNITS.ddl), spark.createDataFrame(held, HELD.ddl), [Policy.FLAG_OFF]
    )
    both = consumer_loads(consumers), subscription_loads(consumers, [])
    result = tuple(
        sorted((row.asDict() for row in frame.collect()), key=lambda row: row["subscription"]) for frame in both
    )
    assert [frame.columns for frame in both] == [[*CONSUMER_LOADS.names], [*SUBSCRIPTION_LOADS.names]]
    return result[0], result[1]


def unit(subscription: str, names: str, *held: int) -> Unit:
    """Nothing has moved."""
    return Unit(subscription, tuple(names), (*held, 0), (*held, 0))


def test_the_busiest_is_measured_against_the_topics_it_reads(spark: SparkSession) -> None:
    everyone = tuple(f"c-{number}" for number in range(10))
    # Ten consumers of 100 partitions, one of which a single partition lost for a moment: that is nearly even.
    lost = [(everyone, (9, *[10] * 9, 0)), (everyone[1:], (1, *[0] * 8, 0))]
    units = [
        unit("busy", "ab", 3, 1), unit("busy", "c", 8), unit("apart", "a", 4), unit("apart", "b", 9),
        unit("nobody", "", 0), unit("still", "ab", 0, 0), *(Unit("lost", *each, each[1]) for each in lost),
        unit("twins", "baa", 1, 2, 4), unit("twins", "a", 8),
    ]  # fmt: skip
    consumers, found = loads_of(spark, units)
    rows = {row["subscription"]: row for row in found}
    busy = rows["busy"]
    assert (busy["busiest_over_average"], busy["busiest_over_average_rate"]) == (1.5, 2)
    assert (busy["max_partitions"], busy["mean_partitions"], busy["spare_msg_rate"]) == (8, 4, RATE)
    assert (busy["worst_topic"], busy["worst_consumers"], busy["worst_active"], busy["lists"]) == ("topic-0", 2, 2, 2)
    assert (rows["apart"]["busiest_over_average"], rows["apart"]["idle"]) == (1, 0)
    assert (rows["lost"]["consumers"], rows["lost"]["busiest_over_average"]) == (10, pytest.approx(11 / (9.9 + 1 / 9)))
    assert {name for name, row in rows.items() if row["improvable"]} == {"busy", "twins"}
    for name, count in (("nobody", 0), ("still", 2)):
        empty = rows[name]
        assert (empty["partitions"], empty["consumers"], empty["idle"], empty["lists"]) == (0, count, count, 1)
        assert (empty["mean_partitions"], empty["max_partitions"], empty["mean_msg_rate_out"]) == (0, 0, 0)
        assert {empty[key] for key in ("busiest_over_average_rate", "busiest_over_average", "worst_topic")} == {None}
    assert all(row["in_force"] and row["policy"] == "flag_off" for row in found)
    twins = [(row["consumer"], row["partitions"]) for row in consumers if row["subscription"] == "twins"]
    assert twins == [("a", 10), ("a", 4), ("b", 1)], "equal names are the first and the second in every list"


def random_units(seed: int) -> list[Unit]:
    chance = random.Random(seed)
    units = []
    for subscription in range(25):
        for _ in range(chance.randint(1, 4)):
            names = tuple(chance.sample("abcdefgh", k=chance.randint(1, 6)))
            held = [chance.randrange(9) for _ in (*names, None)]
            before = list(held)
            for _ in range(chance.randrange(5)):
                one, other = chance.sample(range(len(held)), k=2)
                given = min(1, before[one])
                before[one], before[other] = before[one] - given, before[other] + given
            units.append(Unit(f"s-{subscription:02}", names, tuple(held), tuple(before)))
    return units


def test_random_subscriptions_have_the_loads_of_a_plain_count(spark: SparkSession) -> None:
    units = random_units(5)
    consumers, found = loads_of(spark, units)
    counted: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0.0, 0]))
    spare: dict[str, float] = defaultdict(float)
    for each in units:
        mean = sum(each.held[:-1]) / len(each.names)
        for name, held, before in zip((*each.names, ""), each.held, each.before, strict=True):
            entry = counted[each.subscription][name]
            entry[0] += held
            entry[1] += before
            entry[2] += mean if name else 0
            entry[3] += math.ceil(mean) if name else 0
            spare[each.subscription] += RATE * max(mean - held, 0) if name else 0
    assert {(row["subscription"], row["consumer"]): row["partitions"] for row in consumers} == {
        (subscription, name): entry[0] for subscription, of in counted.items() for name, entry in of.items() if name
    }
    for row in found:
        of = counted[row["subscription"]]
        own = {name: entry for name, entry in of.items() if name}
        held = [entry[0] for entry in own.values()]
        assert row["partitions"] == sum(entry[0] for entry in of.values())
        assert (row["consumers"], row["idle"], row["max_partitions"]) == (len(own), held.count(0), max(held))
        assert row["least_moved"] == sum(max(before - now, 0) for now, before, *_ in of.values()) <= row["moved"]
        over_even = [now / even for now, _, even, _ in own.values() if even]
        assert row["busiest_over_average"] == (pytest.approx(max(over_even)) if over_even else None)
        assert row["improvable"] == any(now > whole for now, _, _, whole in own.values())
        assert row["spare_msg_rate"] == pytest.approx(spare[row["subscription"]], abs=1e-5)
        assert row["spare_msg_rate"] <= RATE * sum(held)
        assert row["mean_msg_rate_out"] == pytest.approx(RATE * sum(held) / len(own))

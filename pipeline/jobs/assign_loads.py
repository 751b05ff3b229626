"""Loads of consumers and subscriptions, from the sums of all tasks, some subscriptions at a time.

A consumer that is in several units of one subscription is one consumer. Equal names in one list are different
consumers: the first, the second …. Topics of one subscription name may have different consumers, and a consumer cannot
get partitions of a topic that it does not read. So besides max/mean a consumer is compared with its even share: the
sum, over all lists it is in, of their mean.

Example: ``a`` and ``b`` read four partitions, of which ``a`` has three; ``c`` alone reads eight others. Max/mean is 2:
eight over a mean of four. But ``c`` has its even share, and ``a`` has 3 where 2 are even: max/even is 1.5.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.failover.bulk_policies import Places, Policy
from pipeline.batches import begins_of, codes_of, whole_groups
from pipeline.runs import Draft
from pipeline.schemas import CONSUMER_LOADS, SUBSCRIPTION_LOADS, Table
from pipeline.storage import for_arrow
from pipeline.transforms.subscriptions import SUBSCRIPTION
from pipeline.transforms.units import NOW, UNITS_TOGETHER, FleetUnits, SlotSums

Values = NDArray[Any]
_ROWS_TOGETHER: Final = 1 << 16
_READ: Final = (*SUBSCRIPTION, "topic", "start", "end", "names", "new_names")


@dataclass
class Totals:
    """The totals of all subscriptions by policy, and of those of them that are in force."""

    policies: Sequence[Policy]
    _sums: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _worst: dict[str, float] = field(default_factory=dict)

    def add(self, subscriptions: Any) -> None:
        """Add rows of ``subscription_loads``."""
        named = {policy.value: pc.equal(subscriptions["policy"], policy.value) for policy in self.policies}
        for name, chosen in {**named, _IN_FORCE: subscriptions["in_force"]}.items():
            rows = subscriptions.filter(chosen)
            self._sums[name].update({column: pc.sum(rows[column]).as_py() or 0 for column in _SUMMED})
            worst = pc.max(rows["max_over_even"]).as_py()
            if worst is not None:
                self._worst[name] = max(worst, self._worst.get(name, worst))

    def of(self, policy: Policy) -> dict[str, object]:
        """What the summary says of a policy."""
        sums = {column: self._sums[policy.value][column] for column in _SUMMED}
        return {**sums, "worst_max_over_even": self._worst.get(policy.value)}

    @property
    def now(self) -> dict[str, object]:
        return {"idle": self._sums[_IN_FORCE]["idle"], "worst_max_over_even": self._worst.get(_IN_FORCE)}


_SUMMED: Final = ("partitions", "idle", "moved", "least_moved")
_IN_FORCE: Final = "in force"


def write_loads(draft: Draft, fleet: FleetUnits, sums: SlotSums, totals: Totals) -> None:
    """Write ``consumer_loads`` and ``subscription_loads``, some thousand units with their subscriptions at a time."""
    waiting: dict[Table, list[Any]] = {CONSUMER_LOADS: [], SUBSCRIPTION_LOADS: []}
    with draft.writer() as parts:
        for units in _whole_subscriptions(fleet):
            names = units["names" if units["new_names"].null_count else "new_names"].combine_chunks()
            flag = np.array([fleet.rules[cluster][1] for cluster in units["cluster"].to_pylist()])
            columns = [units[name].combine_chunks() for name in (*SUBSCRIPTION, "topic")]
            loads = Loads(columns, names, flag)
            slots = units["start"][0].as_py(), units["end"][-1].as_py()
            by_policy = {policy: sums.of(policy.value, *slots) for policy in totals.policies}
            rows = loads.tables(totals.policies, by_policy, sums.of(NOW, *slots)[0])
            totals.add(rows[1])
            for (table, held), more in zip(waiting.items(), rows, strict=True):
                held.append(more)
                # Each call writes a row group, of which a reader wants few.
                if sum(each.num_rows for each in held) >= _ROWS_TOGETHER:
                    parts.write(table, pa.concat_tables(held))
                    held.clear()
        for table, held in waiting.items():
            if held:
                parts.write(table, pa.concat_tables(held))


def _whole_subscriptions(fleet: FleetUnits) -> Iterator[Any]:
    """The rows of ``UNITS`` some thousand at a time, those of a subscription together."""
    with pq.ParquetFile(for_arrow(fleet.file)) as parquet:
        batches = parquet.iter_batches(UNITS_TOGETHER, columns=list(_READ))
        yield from whole_groups(batches, SUBSCRIPTION, rows_together=UNITS_TOGETHER)


class Loads:
    """Some whole subscriptions with all their units, in order; numbers their consumers by subscription and name.

    ``lists``: the names of each unit's consumers. In numpy, some 200 bytes for each consumer of a list.
    """

    def __init__(self, units: Sequence[Any], lists: Any, flag: NDArray[np.bool_]) -> None:
        """Arrow arrays of (units,): those of ``SUBSCRIPTION`` and the first topic; ``flag``: whether consistent hashing
        is in force for each."""
        *subscriptions, self._topics = units
        self._flag, self._sizes = flag, pc.list_value_length(lists).to_numpy().astype(np.int64)
        keys = np.array([codes_of(column)[1] for column in subscriptions])
        begins = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
        self._subscription = np.cumsum(begins) - 1
        """The subscription of each unit."""
        self._keys = [column.take(pa.array(np.flatnonzero(begins))) for column in subscriptions]
        self._lists = np.bincount(self._subscription)
        # From here on for every consumer of a list: its unit, and its slot, where each unit ends with that of nobody.
        names = lists.flatten()
        self._unit = np.repeat(np.arange(len(flag)), self._sizes)
        self._slot = np.arange(len(names)) + self._unit
        self._nobody = np.cumsum(self._sizes + 1) - 1
        texts, code = codes_of(names)
        rank = np.empty(len(texts), dtype=np.int64)
        rank[np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)] = np.arange(len(texts))
        name, number = rank[code], _number_of_equals(self._unit * len(texts) + code)
        several = int(number.max(initial=0)) + 1
        whole = (self._subscription[self._unit] * len(texts) + name) * several + number
        _, first, self._consumer = np.unique(whole, return_index=True, return_inverse=True)
        self._names = names.take(pa.array(first))
        self._whose = self._subscription[self._unit[first]]
        """The subscription of each different consumer."""

    def tables(self, policies: Sequence[Policy], sums: Mapping[Policy, Values], now: Values) -> tuple[Any, Any]:
        """The rows of ``consumer_loads`` and of ``subscription_loads``: by subscription, policy and name.

        ``sums``: (sums, slots) of each policy; ``now``: (slots,) partitions under the rule in force. O(slots).
        """
        pairs = [(self._consumers(policy, sums[policy]), self._rows(policy, sums[policy], now)) for policy in policies]
        orders = [np.argsort(np.tile(of, len(pairs)), kind="stable") for of in (self._whose, range(len(self._lists)))]
        consumers, subscriptions = zip(*pairs, strict=True)
        return pa.concat_tables(consumers).take(pa.array(orders[0])), pa.concat_tables(subscriptions).take(
            pa.array(orders[1])
        )

    def _consumers(self, policy: Policy, sums: Values) -> Any:
        held, _, rates, throughputs = (self._by_consumer(row[self._slot]) for row in sums)
        columns = [*_repeated(self._keys, self._whose, policy), self._names, held.astype(np.int64), rates, throughputs]
        return pa.table(columns, names=list(CONSUMER_LOADS.names))

    def _rows(self, policy: Policy, sums: Values, now: Values) -> Any:
        held, moved, rates, _ = (self._by_consumer(row[self._slot]) for row in sums)
        nobody_held, nobody_moved, nobody_now = (self._by_units(row[self._nobody]) for row in (sums[0], sums[1], now))
        shares = self._of_units(sums[0]) / np.maximum(self._sizes, 1)
        even = self._by_consumer(shares[self._unit])
        over_even = np.divide(held, even, out=np.full(len(held), -1.0), where=even > 0)
        consumers = np.bincount(self._whose, minlength=len(self._lists))
        most, most_rate = self._most(held), self._most(rates)
        mean, mean_rate = (self._total(values) / np.maximum(consumers, 1) for values in (held, rates))
        gaps = self._total(np.maximum(self._by_consumer(now[self._slot]) - held, 0))
        on = self._by_units(self._flag) > self._lists / 2
        mean_rates = self._of_units(sums[2]) / np.maximum(self._sizes, 1)
        # Messages/s that an even spread in each unit would give to less busy consumers.
        spare = np.bincount(self._unit, np.maximum(mean_rates[self._unit] - sums[2][self._slot], 0), len(self._sizes))
        topic, of_topic = self._worst(over_even, sums[0], shares)
        columns = [
            *_repeated(self._keys, np.arange(len(self._lists)), policy),
            (self._total(held) + nobody_held).astype(np.int64), consumers, self._total(held == 0).astype(np.int64),
            most.astype(np.int64), mean, _ratio(most, mean), most_rate, mean_rate, _ratio(most_rate, mean_rate),
            (self._total(moved) + nobody_moved).astype(np.int64),
            (gaps + np.maximum(nobody_now - nobody_held, 0)).astype(np.int64),
            _ratio(self._most(over_even, least=-1.0), np.ones(len(self._lists))),
            on == (policy is Policy.FLAG_ON), self._lists, self._by_units(spare),
            topic, *of_topic,
        ]  # fmt: skip
        return pa.table(columns, names=list(SUBSCRIPTION_LOADS.names))

    def _worst(self, over_even: Values, held: Values, shares: Values) -> tuple[Any, list[Any]]:
        """The list in which a consumer has the most times its even share: its first topic, its consumers, and those of
        them that have a partition; empty where there is nothing to share."""
        own = held[self._slot]
        here = np.divide(own, shares[self._unit], out=np.zeros(len(own)), where=shares[self._unit] > 0)
        of_entry = self._subscription[self._unit]
        order = np.lexsort((-here, -over_even[self._consumer], of_entry))
        first = order[begins_of(of_entry[order])]
        first = first[over_even[self._consumer[first]] >= 0]
        worst = np.full(len(self._lists), -1, dtype=np.int64)
        worst[of_entry[first]] = self._unit[first]
        mask = worst < 0
        active = np.bincount(self._unit, own > 0, len(self._sizes)).astype(np.int64)
        return self._topics.take(pa.array(worst, mask=mask)), [
            pa.array(values[worst], mask=mask) for values in (self._sizes, active)
        ]

    def _by_consumer(self, values: Values) -> Values:
        """The sum of each different consumer, of values for every consumer of a list."""
        return np.bincount(self._consumer, values, len(self._whose))

    def _total(self, values: Values) -> Values:
        return np.bincount(self._whose, values, len(self._lists))

    def _most(self, values: Values, least: float = 0.0) -> Values:
        most = np.full(len(self._lists), least)
        np.maximum.at(most, self._whose, values)
        return most

    def _of_units(self, sums: Values) -> Values:
        """The sum over the consumers of each unit, without what nobody has."""
        return np.bincount(self._unit, sums[self._slot], len(self._sizes))

    def _by_units(self, values: Values) -> Values:
        """The sum of each subscription, of values for its units."""
        return np.bincount(self._subscription, values, len(self._lists))


def _number_of_equals(values: Places) -> Places:
    """For each value how many equal ones are before it.

    >>> _number_of_equals(np.array([7, 9, 7])).tolist()
    [0, 0, 1]
    """
    order = np.argsort(values, kind="stable")
    begins = np.append(True, np.diff(values[order]) != 0)[: len(values)]
    place = np.arange(len(values))
    numbers = np.empty(len(values), dtype=np.int64)
    numbers[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return numbers


def _repeated(keys: Sequence[Any], subscription: Places, policy: Policy) -> list[Any]:
    """The columns of the subscription and the policy."""
    count = len(subscription)
    places = pa.array(subscription)
    return [*(key.take(places) for key in keys), pa.repeat(policy.value, count)]


def _ratio(values: Values, means: Values) -> Any:
    """The quotients, empty where there is nothing to share."""
    nothing = (means == 0) | (values < 0)
    return pa.array(np.divide(values, means, out=np.zeros(len(values)), where=~nothing), mask=nothing)

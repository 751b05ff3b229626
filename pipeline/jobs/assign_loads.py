"""Loads of consumers and subscriptions, from the sums of all tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.failover.bulk import ConsumerList, Key, numbered, slots_of
from engine.failover.bulk_policies import Policy
from pipeline.reading.rows import Row
from pipeline.transforms.owners import NOW, SUMMED, OwnerAccount

_EVEN: Final = len(SUMMED) + 1
"""The row after the sums and the partitions now: the even share of each consumer."""


class LoadSums:
    """Sums by policy and slot; a consumer that is in several units of one subscription is one consumer.

    Equal names in one list are different consumers: the first, the second …. Topics of one subscription name may have
    different consumers, and a consumer cannot get partitions of a topic that it does not read. So besides max/mean a
    consumer is compared with its even share: the sum, over all lists it is in, of their mean.

    Example: ``a`` and ``b`` read four partitions, of which ``a`` has three; ``c`` alone reads eight others. Max/mean is
    2: eight over a mean of four. But ``c`` has its even share, and ``a`` has 3 where 2 are even: max/even is 1.5.

    In the driver's memory, 32 bytes for each consumer of a list and policy: it grows with lists of consumers, not with
    topics.
    """

    def __init__(
        self,
        keys: Sequence[Key],
        lists: Sequence[ConsumerList],
        policies: Sequence[Policy],
        flag: NDArray[np.bool_],
    ) -> None:
        """``flag``: (units,), whether consistent hashing is in force for each."""
        self._keys, self._lists, self._policies, self._flag = keys, lists, policies, flag
        self._slots = slots_of(lists)
        size = int(self._slots.start[-1])
        self._sums = {policy: np.zeros((len(SUMMED), size)) for policy in policies}
        self._now = np.zeros((1, size))

    def add(self, account: OwnerAccount) -> None:
        """Add what one task counted."""
        for sums, name in ((self._now, NOW), *((sums, policy.value) for policy, sums in self._sums.items())):
            if name in account.sums:
                slots, values = account.sums[name].arrays()
                sums[:, slots] += values

    def consumer_rows(self) -> Iterator[Row]:
        """Rows of ``consumer_loads`` by namespace, subscription, policy and name, without what has no owner."""
        for (namespace, subscription), units in self._by_subscription().items():
            for policy in self._policies:
                for (name, _), sums in sorted(self._of(units, policy)[0].items()):
                    yield (
                        namespace, subscription, policy.value, policy.what_if, name, int(sums[0]), float(sums[2]),
                        float(sums[3]),
                    )  # fmt: skip

    def subscription_rows(self) -> list[Row]:
        """Rows of ``subscription_loads``."""
        return [
            self._subscription_row(key, units, policy)
            for key, units in self._by_subscription().items()
            for policy in self._policies
        ]

    def _by_subscription(self) -> dict[tuple[str, str], list[int]]:
        units: dict[tuple[str, str], list[int]] = defaultdict(list)
        for unit, (namespace, subscription, _, _) in enumerate(self._keys):
            units[namespace, subscription].append(unit)
        return units

    def _of(self, units: Sequence[int], policy: Policy) -> tuple[dict[tuple[str, int], Any], Any]:
        """The sums of each consumer of some units, its even share as the last value; and the sums without an owner."""
        sums = np.concatenate((self._sums[policy], self._now))
        members: dict[tuple[str, int], Any] = defaultdict(lambda: np.zeros(_EVEN + 1))
        nobody = np.zeros(_EVEN)
        for unit in units:
            start, names = int(self._slots.start[unit]), numbered(self._lists[unit].names)
            held = sums[:, start : start + len(names)]
            even = held[0].sum() / max(len(names), 1)
            for place, name in enumerate(names):
                members[name] += np.append(held[:, place], even)
            nobody += sums[:, int(self._slots.nobody[unit])]
        return members, nobody

    def _subscription_row(self, key: tuple[str, str], units: Sequence[int], policy: Policy) -> Row:
        members, nobody = self._of(units, policy)
        table = np.array(list(members.values())).reshape(-1, _EVEN + 1)
        held, rates, now = table[:, 0], table[:, 2], table[:, _EVEN - 1]
        partitions = int(held.sum() + nobody[0])
        count = len(members)
        mean, mean_rate = (held.sum() / count, rates.sum() / count) if count else (0.0, 0.0)
        gaps = np.maximum(np.append(now, nobody[_EVEN - 1]) - np.append(held, nobody[0]), 0)
        moved = int(table[:, 1].sum() + nobody[1])
        in_force = Policy.FLAG_ON if self._flag[list(units)].mean() > 0.5 else Policy.FLAG_OFF
        return (
            *key, policy.value, policy.what_if, partitions, count, int((held == 0).sum()),
            int(held.max(initial=0)), float(mean), float(held.max() / mean) if mean else None,
            float(rates.max(initial=0)), float(mean_rate), float(rates.max() / mean_rate) if mean_rate else None,
            moved, int(gaps.sum()), _times_even(held, table[:, _EVEN]), policy is in_force, len(units),
            float(sum(self._lost_rate(unit, policy) for unit in units)),
        )  # fmt: skip

    def _lost_rate(self, unit: int, policy: Policy) -> float:
        """Messages/s that the other consumers of a unit could take at the rate of its busiest one."""
        start, count = int(self._slots.start[unit]), len(self._lists[unit].names)
        rates = self._sums[policy][2, start : start + count]
        return float(count * rates.max() - rates.sum()) if count else 0.0


def _times_even(held: Any, even: Any) -> float | None:
    """How many times its even share the busiest consumer has; None where there is nothing to share."""
    shared = even > 0
    return float((held[shared] / even[shared]).max()) if shared.any() else None

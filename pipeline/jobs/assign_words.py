"""The rows of ``assignments`` as Arrow writes them best: names as dictionaries, so that each is written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.failover.choose import rule_in_force
from pipeline.choosing import Change, Choice
from pipeline.lists import ConsumerList
from pipeline.policies import WHAT_IF_RULE, Policy
from pipeline.schemas import ASSIGNMENTS

_RULES: Final = ("modulo", "ring", "first-connected", WHAT_IF_RULE)
FEW_WORDS: Final = (
    "subscription", "namespace", "policy", "rule", "active_consumer", "active_before", "partition_index",
)  # fmt: skip
"""Columns of ``assignments`` with few different values."""


class Words:
    """Makes the texts of the result out of slots."""

    def __init__(self, change: Change) -> None:
        self._same = change.old is change.new
        self._old = _Names(change.old.lists)
        self._new = self._old if self._same else _Names(change.new.lists)
        self._old_slots = change.old_slots
        self._policies = pa.array([policy.value for policy in Policy], pa.string())
        self._rules = pa.array(_RULES, pa.string())
        self._rules_of_units = change.old.rules

    def before_names(self, unit: NDArray[np.int64], places: NDArray[np.int64]) -> Any:
        """The names of consumers by their place before the change: dictionaries."""
        return self._old.of(self._old_slots.of(unit, places))

    def rows(
        self, table: Any, unit: NDArray[np.int64], index: NDArray[np.int64], policy: Policy, choice: Choice
    ) -> Any:
        """The rows of one policy."""
        count = len(unit)
        after = self._new.of(choice.after)
        unmoved = self._same and choice.after is choice.before
        moved = np.zeros(count, dtype=bool) if unmoved else choice.after != choice.before
        named = np.full(count, list(Policy).index(policy), dtype=np.int32)
        columns = {
            "policy": pa.DictionaryArray.from_arrays(named, self._policies),
            "rule": pa.DictionaryArray.from_arrays(self._rule(policy, unit, index), self._rules),
            "what_if": pa.repeat(policy.what_if, count),
            "active_consumer": after,
            "active_before": after if unmoved else self.before_names(unit, choice.before_place),
            "moved": pa.array(moved),
        }
        arrays = [columns[name] if name in columns else table[name] for name in ASSIGNMENTS.names]
        return pa.Table.from_arrays(arrays, names=list(ASSIGNMENTS.names))

    def _rule(self, policy: Policy, unit: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int32]:
        if policy.what_if:
            return np.full(len(index), _RULES.index(WHAT_IF_RULE), dtype=np.int32)
        on, rules = policy is Policy.FLAG_ON, self._rules_of_units
        # (releases, 2): the rule of a topic without partitions, and of a partition.
        of_release = np.array(
            [
                [_RULES.index(rule_in_force(place, consistent_hashing=on, behaviour=each).value) for place in (-1, 0)]
                for each in rules.releases
            ],
            dtype=np.int32,
        )
        found: NDArray[np.int32] = of_release[rules.release[unit], (index >= 0).astype(np.int64)]
        return found


class _Names:
    """The name of each slot. A dictionary may hold a name once only, and should hold none that is not needed."""

    def __init__(self, lists: Sequence[ConsumerList]) -> None:
        numbers: dict[str, int] = {}
        of_slot = [
            -1 if name is None else numbers.setdefault(name, len(numbers))
            for each in lists
            for name in (*each.names, None)
        ]
        self._number = np.array(of_slot, dtype=np.int32)
        self._names = pa.array(list(numbers), pa.string())

    def of(self, slots: NDArray[np.int64]) -> Any:
        """(n,) names as a dictionary array, empty for nobody. O(n + names)."""
        numbers = self._number[slots]
        nobody = numbers < 0
        used = np.zeros(len(self._names) + 1, dtype=bool)
        used[numbers] = True
        used[-1] = False
        codes = (np.cumsum(used) - 1).astype(np.int32)[numbers]
        indices = pa.array(codes, mask=nobody) if nobody.any() else pa.array(codes)
        return pa.DictionaryArray.from_arrays(indices, self._names.take(pa.array(np.flatnonzero(used))))

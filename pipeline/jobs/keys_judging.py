"""What each consumer gets in every mode, from folded traces, and what chance would give it.

A subscription is judged by one task, which has all of its slots and hot keys, and its consumers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from engine.errors import Problem
from engine.keyshared.folded import FoldedKeys, HotKey, inseparable_keys, luck_of_folded
from engine.keyshared.keys import text_of_key
from engine.keyshared.luck import Luck
from engine.keyshared.model import Consumer, SlotSpace
from engine.keyshared.policies import KeyPolicy, selector_of, slot_space
from engine.views.fleet.tables import HOT_KEYS, INSEPARABLE, KEY_LOADS, KEY_SLOTS, KEY_SPREADS, QUARANTINE
from pipeline.batches import codes_of, runs, same_text
from pipeline.blocks import accounts_in, joined, opened, received
from pipeline.clusters import ByCluster
from pipeline.jobs.keys_folding import FOLDED, HOTTEST, LISTS, FoldAccount, KeyRules, summed
from pipeline.reading.consumer_lists import KeyLists
from pipeline.reading.rows import NOTE, Row, quarantine_row
from pipeline.reading.trace_rows import SPACE_SEPARATOR
from pipeline.runs import Parts

_SENT: Final = (FOLDED, HOTTEST, LISTS)
_ADVICE: Final = "name them with --consumers, --consumers-from or --tables"


class ModeAccount(msgspec.Struct):
    """The subscriptions in one mode: the most uneven one, and how many have which verdict. Without keys none has one,
    since nothing is uneven."""

    worst: float | None = None
    verdicts: dict[str, int] = {}

    def add(self, other: ModeAccount) -> None:
        self.worst = max((worst for worst in (self.worst, other.worst) if worst), default=None)
        for verdict, count in other.verdicts.items():
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + count


class JudgeAccount(msgspec.Struct):
    """The accounts of folding tasks among the blocks of one judging task, and its own by mode."""

    folds: list[FoldAccount] = []
    modes: dict[str, ModeAccount] = {}


@dataclass(frozen=True)
class Judge:
    """The work of the judging tasks, inside a data source: takes all blocks of some parts, writes what they come to.

    ``functions`` are the slot spaces of ``policies``, ``given`` the lists that the user gave, ``top`` limits hot keys.
    """

    policies: tuple[KeyPolicy, ...]
    rules: ByCluster[KeyRules]
    functions: tuple[SlotSpace, ...]
    given: KeyLists
    top: int

    def __call__(self, batches: Iterator[Any], parts: Parts) -> JudgeAccount:
        blocks = received(batches)
        account = JudgeAccount(accounts_in(blocks, FoldAccount))
        for number in sorted({name.partition(" ")[0] for name in blocks}):
            own = {table: [opened(block) for block in blocks.pop(f"{number} {table.name}", ())] for table in _SENT}
            part = _Part(self, account, by_space(own[FOLDED]), _hottest(own[HOTTEST], self.top), _lists(own[LISTS]))
            part.judge()
            for table, rows in part.rows.items():
                parts.write(table, table.columns_of(rows))
            for slots in part.slots():
                parts.write(KEY_SLOTS, slots)
        return account


def by_space(parts: Sequence[Any]) -> dict[str, dict[int, FoldedKeys]]:
    """Merge ``FOLDED`` tables: space -> number of the slot function -> sums. O(n log n)."""
    folds: dict[str, dict[int, FoldedKeys]] = defaultdict(dict)
    if not parts:
        return folds
    table = joined(parts, ("space",))
    names, spaces = codes_of(table["space"])
    functions, slots = (table[name].to_numpy().astype(np.int64) for name in ("function", "slot"))
    # As narrow as possible: small codes need no sort.
    width, bits = int(functions.max()) + 1, max(int(slots.max()), 1).bit_length()
    code = ((spaces * width + functions) << bits) | slots
    code, *sums = summed(code, *(table[name].to_numpy() for name in ("keys", "rows", "msgs")))
    for begin, end in runs(code >> bits):
        number, function = divmod(int(code[begin]) >> bits, width)
        columns = (code[begin:end] & ((1 << bits) - 1), *(values[begin:end] for values in sums))
        folds[names[number]][function] = FoldedKeys(*columns)
    return folds


def _hottest(tables: Iterable[Any], top: int) -> dict[str, list[HotKey]]:
    heaviest: dict[str, list[tuple[int, bytes, int]]] = defaultdict(list)
    for table in tables:
        for space, key, hash_value, msgs in zip(*(column.to_pylist() for column in table.columns), strict=True):
            heaviest[space].append((-msgs, key, hash_value))
    return {
        space: [HotKey(key, hash_value, -msgs) for msgs, key, hash_value in sorted(keys)[:top]]
        for space, keys in heaviest.items()
    }


_Lists = dict[str, tuple[tuple[Consumer, ...] | None, int]]
"""The consumers of each space, None where the user lists them, and how many lists its topics have."""


def _lists(tables: Iterable[Any]) -> _Lists:
    lists: _Lists = {}
    for table in tables:
        for space, names, count in zip(*(column.to_pylist() for column in table.columns), strict=True):
            if names is not None:
                lists[space] = (tuple(Consumer(place, name) for place, name in enumerate(names)), count)
            else:
                lists.setdefault(space, (None, 0))
    return lists


@dataclass
class _Part:
    """Subscriptions that are judged together, and the rows about them."""

    plan: Judge
    account: JudgeAccount
    folds: Mapping[str, Mapping[int, FoldedKeys]]
    hottest: Mapping[str, list[HotKey]]
    lists: _Lists
    rows: dict[Any, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def judge(self) -> None:
        """Every subscription in every mode, in the order of names."""
        known = self.folds.keys() | {space for space, (names, _) in self.lists.items() if names is not None}
        named = {tuple(space.split(SPACE_SEPARATOR)[1:]) for space in known}
        named |= {("", subscription) for _, subscription in named}
        # What the user lists is a subscription of its own only where neither traces nor tables have its name.
        alone = {space for space in self.lists if tuple(space.split(SPACE_SEPARATOR)[1:]) not in named}
        spaces = sorted(known | alone)
        for space in spaces:
            self._judge(space)

    def _judge(self, space: str) -> None:
        plan, words = self.plan, space.split(SPACE_SEPARATOR, 2)
        rules = plan.rules.of(words[0])
        folds, hottest = self.folds.get(space, {}), self.hottest.get(space, [])
        consumers = self._consumers(space)
        msgs = int(next(iter(folds.values())).msgs.sum()) if folds else 0
        self.rows[HOT_KEYS] += [
            (*words, rank, text_of_key(hot.key), hot.hash, *_of_all(hot.msgs, msgs))
            for rank, hot in enumerate(hottest, 1)
        ]
        for number, fold in folds.items():
            function = plan.functions[number]
            self.rows[INSEPARABLE] += [
                (*words, space_words(function), keys.slot, keys.keys, [text_of_key(hot.key) for hot in keys.hot],
                 *_of_all(keys.msgs, msgs), keys.reason)
                for keys in inseparable_keys(function, fold, hottest, consumers=len(consumers or ()), most=plan.top)
            ]  # fmt: skip
        if consumers is None:
            self._note(space, "its consumers are unknown, so only its slots and keys are shown")
            return
        for policy in plan.policies:
            selector = selector_of(policy, consumers, rules.settings, rules.behaviour)
            if isinstance(selector, str):
                self._note(space, f"{policy.value}: {selector}")
            elif selector is not None:
                function = slot_space(policy, rules.settings, rules.behaviour)
                fold = folds.get(plan.functions.index(function)) or FoldedKeys.nothing()
                luck = luck_of_folded(selector, fold, hottest)
                about = (*words, policy.value)
                names = [consumer.name for consumer in selector.consumers]
                self.rows[KEY_LOADS] += [(*about, *row) for row in load_rows(names, luck)]
                self.rows[KEY_SPREADS].append((*about, *spread_row(luck, msgs)))
                mode = ModeAccount(
                    luck.time_over_ideal if luck.messages else None, {luck.verdict.name: 1} if luck.keys else {}
                )
                self.account.modes.setdefault(policy.value, ModeAccount()).add(mode)

    def _consumers(self, space: str) -> tuple[Consumer, ...] | None:
        """The consumers of a subscription, None where they are unknown."""
        _, namespace, subscription = space.split(SPACE_SEPARATOR, 2)
        given = self.plan.given
        if (namespace, subscription) in given:
            return given[namespace, subscription]
        listed, count = self.lists.get(space, (None, 0))
        if count > 1:
            reason = f"its topics have {count:,} different lists of consumers; that of the first topic by name is used"
            self._note(space, reason, "name the consumers that are meant with --consumers-from")
        return listed if listed is not None else given.get(("", subscription), given.get(("", "")))

    def _note(self, space: str, sentence: str, advice: str = _ADVICE) -> None:
        cluster, _, subscription = space.partition(SPACE_SEPARATOR)
        name = subscription.replace(SPACE_SEPARATOR, "/").strip("/") or "the trace"
        row = quarantine_row(Problem(name, "$", sentence, advice), "consumer_lists", 0, NOTE)
        self.rows[QUARANTINE].append((cluster, "keys", *row))

    def slots(self) -> Iterator[Any]:
        """Rows of ``key_slots``, by subscription and slot function."""
        for space, folds in sorted(self.folds.items()):
            for number, fold in sorted(folds.items()):
                texts = (*space.split(SPACE_SEPARATOR, 2), space_words(self.plan.functions[number]))
                columns = [same_text(text, len(fold.slots)) for text in texts]
                columns += [pa.array(values) for values in (fold.slots, fold.keys, fold.rows, fold.msgs)]
                yield pa.Table.from_arrays(columns, names=list(KEY_SLOTS.names))


def load_rows(names: Sequence[str], luck: Luck) -> Iterator[Row]:
    """Rows of ``key_loads``, without subscription and mode."""
    for place, (name, lot) in enumerate(zip(names, luck.consumers, strict=True)):
        likely = lot.expected_keys, lot.likely_low, lot.likely_high
        yield (name, place, lot.share, lot.keys, int(lot.messages), *likely)


def spread_row(luck: Luck, msgs: int) -> Row:
    """The row of ``key_spreads``, without subscription and mode; ``msgs`` are those of all keys."""
    likely = (luck.busiest_low, luck.busiest_high) if luck.expected_busiest is not None else (None, None)
    ratios = (luck.time_over_ideal, luck.best_time_over_ideal) if luck.messages else (None, None)
    return (
        len(luck.consumers), luck.keys, int(luck.messages), luck.ownerless_keys, msgs - int(luck.messages),
        luck.busiest_keys, luck.expected_busiest, *likely, luck.probability, luck.probability_by_shares, luck.idle,
        luck.expected_idle, *ratios, luck.verdict.name,
    )  # fmt: skip


def space_words(function: SlotSpace) -> str:
    """A slot space as text in a table.

    >>> space_words(SlotSpace(1, 65_535))
    '1..65535'
    """
    return f"{function.low}..{function.high}"


def _of_all(msgs: int, whole: int) -> tuple[int, float, int]:
    """Messages, their share, and the largest number of consumers of whose even share they are no more."""
    return msgs, msgs / whole if whole else 0.0, whole // msgs if msgs else 0

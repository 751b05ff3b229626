"""What each consumer gets in every mode, from folded traces, and what chance would give it.

A subscription is judged by one task, which has all of its slots and hot keys, and its consumers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from engine.config import BrokerSettings, ReleaseBehaviour
from engine.errors import Problem
from engine.keyshared.bulk import consumer_loads, slot_owners
from engine.keyshared.chance import Spread, equal_shares, expected_spread
from engine.keyshared.keys import text_of_key
from engine.keyshared.luck import LIKELY_BETWEEN, Weights, consumers_of, odds_of, verdict_of
from engine.keyshared.model import Consumer, Selector, SlotSpace
from engine.keyshared.ownership import Placement, slots_by_consumer
from engine.keyshared.policies import KeyPolicy, selector_of, slot_space
from pipeline.batches import codes_of, runs
from pipeline.blocks import accounts_in, joined, opened, received
from pipeline.jobs.keys_tasks import FOLDED, HOTTEST, LISTS, FoldAccount, folded
from pipeline.reading.consumer_lists import KeyLists
from pipeline.reading.rows import NOTE, Row, quarantine_row
from pipeline.reading.trace_rows import SPACE_SEPARATOR
from pipeline.schemas import HOT_KEYS, INSEPARABLE, KEY_LOADS, KEY_QUARANTINE, KEY_SLOTS, KEY_SPREADS
from pipeline.sink import Parts

EXACT_SPACES: Final = 20
"""With more subscriptions in a part the expected spread is simulated with a seed: an exact one takes tenths of a second
each."""


@dataclass(frozen=True)
class Folded:
    """The slots of one space under one slot function, ascending: four (n,) int64 arrays."""

    slots: Any
    keys: Any
    rows: Any
    msgs: Any


@dataclass(frozen=True, slots=True)
class HotKey:
    """One of the heaviest keys of a space."""

    key: bytes
    hash: int
    msgs: int


def space_words(function: SlotSpace) -> str:
    """A slot space as text in a table.

    >>> space_words(SlotSpace(1, 65_535))
    '1..65535'
    """
    return f"{function.low}..{function.high}"


def by_space(parts: Sequence[Any]) -> dict[str, dict[int, Folded]]:
    """Merge the ``folded`` tables of all tasks: space -> number of the slot function -> sums. O(n log n)."""
    folds: dict[str, dict[int, Folded]] = {}
    if not parts:
        return folds
    table = joined(parts, ("space",))
    names, spaces = codes_of(table["space"])
    functions, slots = (table[name].to_numpy().astype(np.int64) for name in ("function", "slot"))
    # As narrow as possible: small codes need no sort.
    width, bits = int(functions.max()) + 1, max(int(slots.max()), 1).bit_length()
    code = ((spaces * width + functions) << bits) | slots
    code, *sums = folded(code, *(table[name].to_numpy() for name in ("keys", "rows", "msgs")))
    for begin, end in runs(code >> bits):
        number, function = divmod(int(code[begin]) >> bits, width)
        fold = Folded(code[begin:end] & ((1 << bits) - 1), *(values[begin:end] for values in sums))
        folds.setdefault(names[number], {})[function] = fold
    return folds


@dataclass(frozen=True)
class Judge:
    """The modes to compute, and what a selector depends on."""

    policies: tuple[KeyPolicy, ...]
    settings: BrokerSettings
    behaviour: ReleaseBehaviour
    functions: tuple[SlotSpace, ...]
    exact: bool | None = None

    def function_of(self, policy: KeyPolicy) -> int:
        """The number of the slot function of a mode."""
        return self.functions.index(slot_space(policy, self.settings, self.behaviour))

    def space_rows(
        self, space: str, folds: Mapping[int, Folded], hottest: Sequence[HotKey], consumers: Sequence[Consumer]
    ) -> tuple[list[Row], list[Row], list[str]]:
        """Rows of ``key_loads`` and ``key_spreads`` of one subscription, and sentences why a broker refuses a mode."""
        loads: list[Row] = []
        spreads: list[Row] = []
        refused: list[str] = []
        words = tuple(space.split(SPACE_SEPARATOR, 1))
        for policy in self.policies:
            selector = selector_of(policy, consumers, self.settings, self.behaviour)
            if isinstance(selector, str):
                refused.append(f"{policy.value}: {selector}")
            elif selector is not None:
                fold = folds.get(self.function_of(policy), _NOTHING)
                of_consumers, spread = self._judge(policy, selector, fold, hottest)
                loads += [(*words, *row) for row in of_consumers]
                spreads.append((*words, *spread))
        return loads, spreads, refused

    def _judge(
        self, policy: KeyPolicy, selector: Selector, fold: Folded, hottest: Sequence[HotKey]
    ) -> tuple[list[Row], Row]:
        """The same rows for one mode, without the names of the subscription."""
        owners = slot_owners(selector)
        msgs = consumer_loads(owners, fold.slots, fold.msgs.astype(np.float64))
        keys = consumer_loads(owners, fold.slots, fold.keys.astype(np.float64))
        placement = _placement(selector, keys.weight, msgs.weight, int(keys.unowned_weight))
        # Keys without an owner load no consumer, however hot they are.
        served_hot = owners.look_up(np.array([selector.slots.slot(h.hash) for h in hottest], dtype=np.int64)) >= 0
        most_of_a_key = max((h.msgs for h, has in zip(hottest, served_hot.tolist(), strict=True) if has), default=0)
        weights = Weights(int(keys.weight.sum()), float(msgs.weight.sum()), float(most_of_a_key))
        odds = odds_of(placement)
        lucks = consumers_of(placement)
        names = [consumer.name for consumer in selector.consumers]
        loads = [
            (policy.value, name, place, luck.share, luck.keys, int(luck.messages), luck.expected_keys,
             luck.likely_low, luck.likely_high)
            for place, (name, luck) in enumerate(zip(names, lucks, strict=True))
        ]  # fmt: skip
        count, served, carried = len(names), sum(placement.keys), sum(placement.messages)
        chance = expected_spread(served, equal_shares(count), exact=self.exact) if count else None
        most = max(placement.messages, default=0.0)
        spread = (
            policy.value, count, served, int(carried), placement.ownerless, int(msgs.unowned_weight),
            max(placement.keys, default=0), *_expected(chance), odds.equal, odds.by_shares,
            sum(not keys for keys in placement.keys), chance.expected_idle if chance else None,
            most * count / carried if carried else None,
            max(1.0, weights.hottest * count / carried) if carried else None,
            verdict_of(selector, placement, odds, weights).name,
        )  # fmt: skip
        return loads, spread


_EMPTY: Final = np.zeros(0, dtype=np.int64)
_NOTHING: Final = Folded(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


def _expected(chance: Spread | None) -> tuple[float | None, int | None, int | None, bool | None]:
    if chance is None:
        return None, None, None, None
    low, high = (chance.quantile(level) for level in LIKELY_BETWEEN)
    return chance.expected_max, low, high, chance.exact


def _placement(selector: Selector, keys: Any, msgs: Any, ownerless: int) -> Placement:
    owned = slots_by_consumer(selector)
    ids = tuple(consumer.consumer_id for consumer in selector.consumers)
    sizes = [sum(piece.count for piece in owned.get(number, ())) for number in ids]
    whole = sum(sizes)
    return Placement(
        ids=ids,
        shares=tuple(size / whole if whole else 0.0 for size in sizes),
        keys=tuple(int(count) for count in keys),
        messages=tuple(float(count) for count in msgs),
        ownerless=ownerless,
        misplaced=(),
    )


class ModeAccount(msgspec.Struct):
    """The subscriptions in one mode: the most uneven one, and how many have which verdict. Without keys none has one,
    since nothing is uneven."""

    worst: float | None = None
    verdicts: dict[str, int] = {}

    def add(self, worst: float | None, verdicts: Mapping[str, int]) -> None:
        self.worst = max((each for each in (self.worst, worst) if each), default=None)
        for verdict, count in verdicts.items():
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + count


class JudgeAccount(msgspec.Struct):
    """The accounts of folding tasks among the blocks of one judging task, and its own by mode."""

    folds: list[FoldAccount] = []
    modes: dict[str, ModeAccount] = {}


@dataclass(frozen=True)
class JudgeWork:
    """The work of the judging tasks, inside a data source: takes all blocks of some parts, writes what they come to.

    ``given``: the lists that the user gave. ``judge`` is for parts with few subscriptions.
    """

    judge: Judge
    given: KeyLists
    top: int

    def __call__(self, batches: Iterator[Any], parts: Parts) -> JudgeAccount:
        blocks = received(batches)
        account = JudgeAccount(accounts_in(blocks, FoldAccount))
        for number in sorted({name.partition(" ")[0] for name in blocks}):
            own = {table: [opened(block) for block in blocks.pop(f"{number} {table.name}", ())] for table in _SENT}
            part = _Part(self, by_space(own[FOLDED]), _hottest(own[HOTTEST], self.top), _lists(own[LISTS]))
            part.judge()
            for table, rows in part.rows.items():
                parts.write(table, table.columns_of(rows))
            for slots in part.slots():
                parts.write(KEY_SLOTS, slots)
            for policy, mode in part.modes.items():
                account.modes.setdefault(policy, ModeAccount()).add(mode.worst, mode.verdicts)
        return account


_SENT: Final = (FOLDED, HOTTEST, LISTS)
_ADVICE: Final = "name them with consumers=, consumers-from= or tables="


def _hottest(tables: Iterable[Any], top: int) -> dict[str, list[HotKey]]:
    heaviest: dict[str, list[tuple[int, bytes, int]]] = defaultdict(list)
    for table in tables:
        for space, key, hash_value, msgs in zip(*(column.to_pylist() for column in table.columns), strict=True):
            heaviest[space].append((-msgs, bytes.fromhex(key), hash_value))
    return {
        space: [HotKey(key, hash_value, -msgs) for msgs, key, hash_value in sorted(keys)[:top]]
        for space, keys in heaviest.items()
    }


def _lists(tables: Iterable[Any]) -> dict[str, tuple[tuple[Consumer, ...] | None, int]]:
    """The consumers of each space, None where the user lists them, and how many lists its topics have."""
    lists: dict[str, tuple[tuple[Consumer, ...] | None, int]] = {}
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

    work: JudgeWork
    folds: Mapping[str, Mapping[int, Folded]]
    hottest: Mapping[str, list[HotKey]]
    lists: Mapping[str, tuple[tuple[Consumer, ...] | None, int]]
    rows: dict[Any, list[Row]] = field(default_factory=lambda: defaultdict(list))
    modes: dict[str, ModeAccount] = field(default_factory=lambda: defaultdict(ModeAccount))

    def judge(self) -> None:
        """Every subscription in every mode, in the order of names."""
        named = {space.partition(SPACE_SEPARATOR)[2] for space in self.folds}
        # A list without a namespace is a subscription of its own only where no trace has its name.
        alone = {space for space in self.lists if space[:1] != SPACE_SEPARATOR or space[1:] not in named}
        spaces = sorted(self.folds.keys() | alone)
        judge = self.work.judge if len(spaces) <= EXACT_SPACES else replace(self.work.judge, exact=False)
        for space in spaces:
            self._judge(space, judge)

    def _judge(self, space: str, judge: Judge) -> None:
        folds, hottest = self.folds.get(space, {}), self.hottest.get(space, [])
        consumers = self._consumers(space)
        msgs = int(next(iter(folds.values())).msgs.sum()) if folds else 0
        self.rows[HOT_KEYS] += hot_rows(space, hottest, msgs)
        for number, fold in folds.items():
            self.rows[INSEPARABLE] += inseparable_rows(
                space, judge.functions[number], fold, hottest, consumers=len(consumers or ()), top=self.work.top
            )
        if consumers is None:
            self._note(space, "its consumers are unknown, so only its slots and keys are shown", _ADVICE)
            return
        loads, spreads, refused = judge.space_rows(space, folds, hottest, consumers)
        self.rows[KEY_LOADS] += loads
        self.rows[KEY_SPREADS] += spreads
        for sentence in refused:
            self._note(space, sentence, _ADVICE)
        for row in spreads:
            spread = dict(zip(KEY_SPREADS.names, row, strict=True))
            verdicts = {spread["verdict"]: 1} if spread["keys"] else {}
            self.modes[spread["policy"]].add(spread["max_over_mean"], verdicts)

    def _consumers(self, space: str) -> tuple[Consumer, ...] | None:
        """The consumers of a subscription, None where they are unknown."""
        namespace, _, subscription = space.partition(SPACE_SEPARATOR)
        given = self.work.given
        if (namespace, subscription) in given:
            return given[namespace, subscription]
        listed, count = self.lists.get(space, (None, 0))
        if count > 1:
            reason = f"its topics have {count:,} different lists of consumers; that of the first topic by name is used"
            self._note(space, reason, "name the consumers that are meant with consumers-from=")
        return listed if listed is not None else given.get(("", subscription), given.get(("", "")))

    def _note(self, space: str, sentence: str, advice: str) -> None:
        name = space.replace(SPACE_SEPARATOR, "/").strip("/") or "the trace"
        self.rows[KEY_QUARANTINE].append(
            quarantine_row(Problem(name, "$", sentence, advice), "consumer_lists", 0, NOTE)
        )

    def slots(self) -> Iterator[Any]:
        """Rows of ``key_slots``, by subscription and slot function."""
        for space, folds in sorted(self.folds.items()):
            namespace, _, subscription = space.partition(SPACE_SEPARATOR)
            for number, fold in sorted(folds.items()):
                count = len(fold.slots)
                texts = (namespace, subscription, space_words(self.work.judge.functions[number]))
                columns = [pa.repeat(pa.scalar(text), count).dictionary_encode() for text in texts]
                columns += [pa.array(values) for values in (fold.slots, fold.keys, fold.rows, fold.msgs)]
                yield pa.Table.from_arrays(columns, names=list(KEY_SLOTS.names))


def hot_rows(space: str, hottest: Sequence[HotKey], msgs: int) -> list[Row]:
    """Rows of ``hot_keys``, the heaviest first."""
    words = space.split(SPACE_SEPARATOR, 1)
    return [
        (*words, rank, text_of_key(hot.key), hot.hash, hot.msgs, hot.msgs / msgs if msgs else 0.0,
         _even_up_to(hot.msgs, msgs))
        for rank, hot in enumerate(hottest, 1)
    ]  # fmt: skip


def inseparable_rows(
    space: str, function: SlotSpace, fold: Folded, hottest: Sequence[HotKey], *, consumers: int, top: int
) -> list[Row]:
    """Rows of ``inseparable_keys``: slots above the even share of ``consumers``, and slots with several hot keys.

    At most ``top`` of the first kind, the heaviest. O(n + top log top).
    """
    words = space.split(SPACE_SEPARATOR, 1)
    whole = int(fold.msgs.sum())
    inside: dict[int, list[HotKey]] = {}
    for key in hottest:
        inside.setdefault(function.slot(key.hash), []).append(key)
    above = np.flatnonzero(fold.msgs * max(consumers, 2) > whole)
    above = above[np.lexsort((fold.slots[above], -fold.msgs[above]))][:top]
    chosen = dict.fromkeys(fold.slots[above].tolist())
    meeting = [slot for slot, keys in sorted(inside.items()) if len(keys) > 1 and slot not in chosen]
    rows: list[Row] = []
    for slot in (*chosen, *meeting):
        at = int(np.searchsorted(fold.slots, slot))
        hot, msgs = inside.get(slot, []), int(fold.msgs[at])
        alone = bool(hot) and hot[0].msgs * max(consumers, 2) > whole
        reason = "hot keys meet" if slot not in chosen else "one key" if alone else "one slot"
        rows.append(
            (*words, space_words(function), slot, int(fold.keys[at]), [text_of_key(key.key) for key in hot], msgs,
             msgs / whole if whole else 0.0, _even_up_to(msgs, whole), reason)
        )  # fmt: skip
    return rows


def _even_up_to(msgs: int, whole: int) -> int:
    """The largest number of consumers for which ``msgs`` is at most the even share of one."""
    return whole // msgs if msgs else 0

"""The job ``keys``: slots and owners of traced keys in every mode of Key_Shared, hot keys, and what chance explains.

A trace is folded to slots once per slot function (the ring's slots are not those of the other selectors); all modes
are then look-ups on at most 65,536 rows per subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.admin.inference import RulesInForce, rules_in_force
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.errors import InputError, Problem
from engine.keyshared.model import Consumer
from engine.keyshared.policies import KeyPolicy, key_policies_of, slot_space
from pipeline.blocks import WritingTasks, read_by_engine, readers_of
from pipeline.broker_groups import broker_groups, settings_of
from pipeline.jobs.keys_judging import (
    EXACT_SPACES,
    Folded,
    HotKey,
    Judge,
    by_space,
    hot_rows,
    inseparable_rows,
    space_words,
)
from pipeline.jobs.keys_tasks import FOLDED, HOTTEST, FoldAccount, FoldWork, ReadTraces
from pipeline.jobs.options import OWN, check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.reading.consumer_lists import KeyLists, consumers_of_tables, read_key_consumers
from pipeline.reading.files import deal, time_of_files
from pipeline.reading.rows import BAD, NOTE, Row, quarantine_row
from pipeline.reading.trace_rows import SPACE_SEPARATOR
from pipeline.reading.traces import TracePiece, find_traces, has_traces
from pipeline.schemas import (
    FILES,
    HOT_KEYS,
    INSEPARABLE,
    KEY_LOADS,
    KEY_QUARANTINE,
    KEY_SLOTS,
    KEY_SPREADS,
    parts_of,
)
from pipeline.sink import write_by_engine
from pipeline.stamps import Stamp, time_of_table
from pipeline.storage import Place, Setting, for_arrow, place_of, settings_of_session
from pipeline.tables import rows_of
from pipeline.writing import Draft, replacing, write_json, write_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "keys"
_BYTES_PER_TASK: Final = 32 * 1024**2
_WRITTEN: Final = (KEY_SLOTS, KEY_LOADS, KEY_SPREADS, HOT_KEYS, INSEPARABLE, KEY_QUARANTINE)


@dataclass(frozen=True)
class KeyOptions:
    """The job's own options: ``modes`` (all), ``top`` (hot keys of each subscription, 20), ``pulsar`` (a release, else
    the newest that brokers reported), and broker settings by their exact names.

    The consumers come from ``consumers`` (a number, or names with commas, for every subscription), ``consumers-from``
    (a file), or ``tables`` (an import; default: the tables under OUT). ``problems`` are rows of the quarantine about
    them.
    """

    policies: tuple[KeyPolicy, ...]
    top: int
    lists: KeyLists
    settings: BrokerSettings
    rules: RulesInForce
    problems: tuple[Row, ...] = ()
    snapshot_time: datetime | None = None

    @property
    def behaviour(self) -> ReleaseBehaviour:
        """The release whose rules are in force."""
        return self.rules.behaviour

    def consumers_of(self, space: str) -> tuple[Consumer, ...] | None:
        """The consumers of a subscription, None where they are unknown."""
        namespace, _, subscription = space.partition(SPACE_SEPARATOR)
        keys = ((namespace, subscription), ("", subscription), ("", ""))
        return next((self.lists[key] for key in keys if key in self.lists), None)


def read_options(given: Mapping[str, str], target: Place, setting: Setting | None = None) -> KeyOptions:
    """Read the options; ``setting`` looks up those of Spark. Raises ``InputError`` for a bad value."""
    check_options(JOB, given)
    own = {name: value for name, value in given.items() if name in OWN[JOB]}
    tables = place_of(own["tables"], setting).absolute() if "tables" in own else target
    settings = settings_of(tables, {name: value for name, value in given.items() if name not in own})
    rules = rules_in_force([], broker_groups(tables).releases.get("", ()), given_release=release_of(own))
    top = own.get("top", "20")
    if int(top) == 0:
        raise InputError(f"top is a number of keys from 1 to 10000, not {top!r}")
    lists, several = consumers_of_tables(tables)
    problems: list[Row] = []
    if own.get("consumers"):
        lists[("", "")] = _consumers(own["consumers"])
    if own.get("consumers-from"):
        given_lists, problems = read_key_consumers(Path(own["consumers-from"]))
        lists |= given_lists
        several = {key: count for key, count in several.items() if key not in given_lists}
    when = time_of_table(tables / FILES.name)
    problems += [_one_list_of(key, count) for key, count in sorted(several.items())]
    return KeyOptions(key_policies_of(own.get("modes", "all")), int(top), lists, settings, rules, tuple(problems), when)


def _one_list_of(key: tuple[str, str], count: int) -> Row:
    reason = f"its topics have {count:,} different lists of consumers; that of the first topic by name is used"
    problem = Problem("/".join(key), "$", reason, "name the consumers that are meant with consumers-from=")
    return quarantine_row(problem, "consumer_lists", 0, NOTE)


def _consumers(text: str) -> tuple[Consumer, ...]:
    if text.strip().isdecimal():
        if not 1 <= int(text) <= 65_536:
            raise InputError(f"consumers is a number from 1 to 65536 or a list of names, not {text}")
        names = [f"consumer-{number}" for number in range(int(text))]
    else:
        names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(Consumer(place, name) for place, name in enumerate(names))


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Fold the key traces at or below ``source`` (Parquet, CSV, JSON lines; ``pipeline.reading.trace_rows``).

    Key_Shared subscriptions of an import that have no trace get only their shares of the slots. Raises ``InputError``
    when there is neither a trace nor such a subscription, or for a bad option.
    """
    asked = read_options(options.settings, target, settings_of_session(spark))
    pieces: list[TracePiece] = []
    problems: list[Problem] = []
    if not any(key[1] for key in asked.lists) or has_traces(source):
        pieces, problems = find_traces(source, target)
    stamp = Stamp(options.run_id, asked.snapshot_time or time_of_files(source, {piece.name for piece in pieces}))
    with replacing(target, JOB, stamp) as draft, spark_faults(JOB):
        this = _Keys(spark, draft, asked, [quarantine_row(problem, "key_events", 0, BAD) for problem in problems])
        this.fold(pieces)
        options.say(f"keys: {this.account['good']:,} rows of traces, {this.account['keys']:,} keys")
        this.judge()
        this.write()
        summary = _summary(this, pieces)
        write_json(draft.folder, f"{JOB}.json", summary)
    return JobResult(JOB, summary)


@dataclass
class _Keys:
    """One run: the folded traces, and the rows to write."""

    spark: SparkSession
    draft: Draft
    asked: KeyOptions
    quarantine: list[Row]
    account: Counter[str] = field(default_factory=Counter)
    folds: dict[str, dict[int, Folded]] = field(default_factory=dict)
    hottest: dict[str, list[HotKey]] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        asked = self.asked
        spaces = [slot_space(policy, asked.settings, asked.behaviour) for policy in asked.policies]
        self.functions = tuple(dict.fromkeys(spaces))
        self.quarantine += asked.problems

    def fold(self, pieces: Sequence[TracePiece]) -> None:
        """Read the trace, merge equal keys and fold them to slots: one pass for all modes."""
        if not pieces:
            return
        tasks = WritingTasks.over(sum(piece.size_bytes for piece in pieces), _BYTES_PER_TASK)
        read = ReadTraces(tasks.parts, self.asked.behaviour.keyless_messages == "spread")
        shares = deal(pieces)
        blocks = read_by_engine(self.spark, shares, read, tasks.count)
        fold = FoldWork(self.functions, self.asked.top)
        accounts = write_by_engine(blocks, self.draft, fold, FoldAccount, aside=(FOLDED, HOTTEST))
        readers = readers_of(accounts, len(shares))
        for account in accounts:
            self.account.update(folded_rows=account.rows, keys=account.keys)
        for reader in readers:
            self.account.update(rows=reader.rows, good=reader.good)
        self.quarantine += sorted((tuple(row) for reader in readers for row in reader.quarantine), key=repr)
        self._check()
        self._load(self.draft.aside("tables"))

    def _check(self) -> None:
        account = self.account
        account["quarantined"] = sum(row[5] for row in self.quarantine if row[4] == "key_events")
        assert account["rows"] == account["good"] + account["quarantined"], f"rows of a trace were lost: {account}"
        assert account["good"] == account["folded_rows"], f"rows were lost between reading and folding: {account}"

    def _load(self, folder: Place) -> None:
        columns = list(FOLDED.names)
        parts = (for_arrow(part) for part in parts_of(folder / FOLDED.name))
        self.folds = by_space([pq.read_table(part, columns=columns, read_dictionary=["space"]) for part in parts])
        heaviest: dict[str, list[tuple[int, bytes, int]]] = {}
        for space, key, hash_value, msgs in rows_of(folder / HOTTEST.name, *HOTTEST.names):
            heaviest.setdefault(space, []).append((-msgs, bytes.fromhex(key), hash_value))
        self.hottest = {
            space: [HotKey(key, hash_value, -msgs) for msgs, key, hash_value in sorted(keys)[: self.asked.top]]
            for space, keys in heaviest.items()
        }

    def judge(self) -> None:
        """Every subscription in every mode, in the order of names."""
        asked = self.asked
        listed = {SPACE_SEPARATOR.join(key) for key in asked.lists if key[1]}
        named = {space.partition(SPACE_SEPARATOR)[2] for space in self.folds}
        # A list without a namespace is a subscription of its own only where no trace has its name.
        spaces = set(self.folds) | {space for space in listed if space[:1] != SPACE_SEPARATOR or space[1:] not in named}
        exact = None if len(spaces) <= EXACT_SPACES else False
        judge = Judge(asked.policies, asked.settings, asked.behaviour, self.functions, exact)
        self.rows = {table.name: [] for table in _WRITTEN}
        for space in sorted(spaces):
            folds, hottest = self.folds.get(space, {}), self.hottest.get(space, [])
            consumers = asked.consumers_of(space)
            msgs = int(next(iter(folds.values())).msgs.sum()) if folds else 0
            self.rows[HOT_KEYS.name] += hot_rows(space, hottest, msgs)
            for number, fold in folds.items():
                self.rows[INSEPARABLE.name] += inseparable_rows(
                    space, self.functions[number], fold, hottest, consumers=len(consumers or ()), top=asked.top
                )
            if consumers is None:
                self._note(space, "its consumers are unknown, so only its slots and keys are shown")
                continue
            loads, spreads, refused = judge.space_rows(space, folds, hottest, consumers)
            self.rows[KEY_LOADS.name] += loads
            self.rows[KEY_SPREADS.name] += spreads
            for sentence in refused:
                self._note(space, sentence)

    def _note(self, space: str, sentence: str) -> None:
        name = space.replace(SPACE_SEPARATOR, "/").strip("/") or "the trace"
        advice = "name them with consumers=, consumers-from= or tables="
        self.quarantine.append(quarantine_row(Problem(name, "$", sentence, advice), "consumer_lists", 0, NOTE))

    def write(self) -> None:
        for table in (KEY_LOADS, KEY_SPREADS, HOT_KEYS, INSEPARABLE):
            self.draft.write(table, self.rows[table.name])
        self.draft.write(KEY_QUARANTINE, self.quarantine)
        write_part(KEY_SLOTS, self.draft.table(KEY_SLOTS), self._slots(), stamp=self.draft.stamp)
        self.draft.fill(KEY_SLOTS)

    def _slots(self) -> Iterator[Any]:
        """Rows of ``key_slots``, by subscription and slot function."""
        for space, folds in sorted(self.folds.items()):
            namespace, _, subscription = space.partition(SPACE_SEPARATOR)
            for number, fold in sorted(folds.items()):
                count = len(fold.slots)
                texts = (namespace, subscription, space_words(self.functions[number]))
                columns = [pa.repeat(pa.scalar(text), count).dictionary_encode() for text in texts]
                columns += [pa.array(values) for values in (fold.slots, fold.keys, fold.rows, fold.msgs)]
                yield pa.Table.from_arrays(columns, names=list(KEY_SLOTS.names))


def _summary(this: _Keys, pieces: Sequence[TracePiece]) -> dict[str, object]:
    spreads = [dict(zip(KEY_SPREADS.names, row, strict=True)) for row in this.rows[KEY_SPREADS.name]]
    modes = {
        policy.value: {
            "worst_max_over_mean": max(
                (row["max_over_mean"] for row in spreads if row["policy"] == policy.value and row["max_over_mean"]),
                default=None,
            ),
            # A subscription without keys is not uneven, so it has no verdict.
            "verdicts": dict(
                sorted(
                    Counter(row["verdict"] for row in spreads if row["policy"] == policy.value and row["keys"]).items()
                )
            ),
        }
        for policy in this.asked.policies
    }
    return {
        "job": JOB,
        "tables": this.draft.rows(*_WRITTEN),
        "rows_in": this.account["rows"],
        "rows_out": this.account["good"],
        "quarantined": this.account["quarantined"],
        "keys": this.account["keys"],
        "files": len({piece.name for piece in pieces}),
        "modes": modes,
        "release": this.asked.behaviour.label,
        "release_basis": this.asked.rules.release_basis.value,
    }

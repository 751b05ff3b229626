"""The job ``keys``: slots and owners of traced keys in every mode of Key_Shared, hot keys, and what chance explains.

A trace is folded to slots once per slot function (the ring's slots are not those of the other selectors); all modes
are then look-ups on at most 65,536 rows per subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.admin.inference import rules_in_force
from engine.errors import InputError, Problem
from engine.keyshared.model import Consumer
from engine.keyshared.policies import KeyPolicy, key_policies_of, slot_space
from engine.views.fleet.tables import (
    CONSUMER_SETS,
    HOT_KEYS,
    INSEPARABLE,
    KEY_LOADS,
    KEY_SLOTS,
    KEY_SPREADS,
    QUARANTINE,
    SUBSCRIPTIONS,
)
from pipeline.blocks import BLOCKS, WritingTasks, read_by_engine, readers_of
from pipeline.clusters import ByCluster, Reported, clusters_of_tables, reported
from pipeline.jobs.keys_folding import LISTS, FoldTraces, KeyRules, ReadTraces, Spaces, send_lists
from pipeline.jobs.keys_judging import Judge, JudgeAccount, ModeAccount
from pipeline.jobs.options import broker_settings, check_options, own_options, release_of
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.consumer_lists import KeyLists, has_key_shared, read_key_consumers
from pipeline.reading.files import deal, last_moment
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.reading.trace_rows import SPACE_SEPARATOR
from pipeline.reading.traces import TracePiece, find_traces, has_traces
from pipeline.runs import Draft
from pipeline.sink import write_by_engine
from pipeline.storage import Place, Setting, place_of, settings_of_session
from pipeline.tables import Tables, tables_at, tables_if_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "keys"
_BYTES_PER_TASK: Final = 32 * 1024**2
_TOPICS_PER_TASK: Final = 20_000
"""Subscriptions of so many topics are judged by one task; how many these are is known only after counting."""
_WRITTEN: Final = (KEY_SLOTS, KEY_LOADS, KEY_SPREADS, HOT_KEYS, INSEPARABLE, QUARANTINE)


@dataclass(frozen=True)
class KeyOptions:
    """``given`` are the consumers that options name, ``problems`` rows of the quarantine about them; others come from
    ``tables``.
    """

    policies: tuple[KeyPolicy, ...]
    top: int
    given: KeyLists
    tables: Tables
    rules: ByCluster[KeyRules]
    problems: tuple[Row, ...] = ()


def read_options(given: Mapping[str, str], target: Place | Tables, setting: Setting | None = None) -> KeyOptions:
    """Read the options; ``setting`` looks up those of Spark. Raises ``InputError`` for a bad value."""
    check_options(JOB, given)
    own = own_options(JOB, given)
    tables = tables_at(place_of(own["tables"], setting).absolute()) if "tables" in own else tables_if_there(target)
    settings = broker_settings(JOB, given)

    def rules_of(known: Reported, cluster: str) -> KeyRules:
        shown = known.inferred.get(cluster)
        rules = rules_in_force([], known.releases.get(cluster, ()), given_release=release_of(own), inferred=shown)
        return KeyRules(known.settings_of(cluster, settings, rules.behaviour), rules)

    rules = reported(tables).each(rules_of)
    top = own.get("top", "20")
    if int(top) == 0:
        raise InputError(f"top is a number of keys from 1 to 10000, not {top!r}")
    given_lists: KeyLists = {}
    problems: list[Row] = []
    if own.get("consumers"):
        given_lists[("", "")] = _consumers(own["consumers"])
    if own.get("consumers-from"):
        of_file, problems = read_key_consumers(Path(own["consumers-from"]))
        given_lists |= of_file
    policies = key_policies_of(own.get("modes", "all"))
    return KeyOptions(policies, int(top), given_lists, tables, rules, tuple(problems))


def _consumers(text: str) -> tuple[Consumer, ...]:
    if text.strip().isdecimal():
        if not 1 <= int(text) <= 65_536:
            raise InputError(f"consumers is a number from 1 to 65536 or a list of names, not {text}")
        names = [f"consumer-{number}" for number in range(int(text))]
    else:
        names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(Consumer(place, name) for place, name in enumerate(names))


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Fold the key traces at or below ``source`` (Parquet, CSV, JSON lines; ``pipeline.reading.trace_rows``).

    Key_Shared subscriptions of an import that have no trace get only their shares of the slots. Raises ``InputError``
    when there is neither a trace nor such a subscription, for half an import, or for a bad option.
    """
    asked = read_options(options.settings, target, settings_of_session(spark))
    if asked.tables.has(SUBSCRIPTIONS):
        asked.tables.need(SUBSCRIPTIONS, CONSUMER_SETS)
    pieces: list[TracePiece] = []
    problems: list[Problem] = []
    listed = any(subscription for _, subscription in asked.given) or has_key_shared(asked.tables)
    traces = None if isinstance(source, Tables) else source
    if traces is not None and (not listed or has_traces(traces)):
        pieces, problems = find_traces(traces, target.root if isinstance(target, Draft) else target)
        clusters = clusters_of_tables(asked.tables)
        pieces = [replace(piece, cluster=clusters.of(piece.name)) for piece in pieces]
    when = asked.tables.snapshot_time or last_moment(pieces)
    with options.writing(JOB, source, target, when) as draft:
        quarantine = [quarantine_row(problem, "key_events", 0, BAD) for problem in problems]
        this = _Keys(spark, draft, asked, [*quarantine, *asked.problems])
        this.judge(pieces)
        options.say(f"keys: {this.account['good']:,} rows of traces, {this.account['keys']:,} keys")
        summary = _summary(this, pieces)
        draft.write_json(f"{JOB}.json", summary)
    return JobResult(JOB, summary)


@dataclass
class _Keys:
    """One run."""

    spark: SparkSession
    draft: Draft
    asked: KeyOptions
    quarantine: list[Row]
    account: Counter[str] = field(default_factory=Counter)
    modes: dict[str, ModeAccount] = field(default_factory=dict)

    def judge(self, pieces: Sequence[TracePiece]) -> None:
        """Read and fold the trace in one pass for all modes, and judge every subscription."""
        asked = self.asked
        folding = WritingTasks.over(sum(piece.size_bytes for piece in pieces), _BYTES_PER_TASK)
        topics = asked.tables.check(SUBSCRIPTIONS)
        judging = max(folding, WritingTasks.over(topics, _TOPICS_PER_TASK), key=lambda tasks: tasks.count)
        spaces = Spaces(judging.parts, frozenset(name for _, name in asked.given if name))
        every = [*asked.rules.values.values(), asked.rules.default]
        functions = tuple(
            dict.fromkeys(
                slot_space(policy, rules.settings, rules.behaviour) for rules in every for policy in asked.policies
            )
        )
        shares = deal(pieces)
        blocks = self._lists(spaces)
        if pieces:
            read = ReadTraces(folding.parts, asked.rules)
            fold = FoldTraces(functions, asked.top, spaces)
            blocks.append(read_by_engine(self.spark, shares, read, folding.count).mapInArrow(fold, BLOCKS))
        accounts: list[JudgeAccount] = []
        if blocks:
            rows = reduce(type(blocks[0]).unionByName, blocks).repartition(judging.count, "part")
            judge = Judge(asked.policies, asked.rules, functions, asked.given, asked.top)
            accounts = write_by_engine(rows, self.draft, judge, JudgeAccount)
        self._take(accounts, len(shares))
        clusters = {piece.name: piece.cluster for piece in pieces}
        self.draft.write(QUARANTINE, [(clusters.get(row[0], ""), JOB, *row) for row in self.quarantine])
        self.draft.fill(*_WRITTEN)

    def _lists(self, spaces: Spaces) -> list[DataFrame]:
        """Blocks of the subscriptions that have consumers in tables, and of those that the user lists."""
        from pyspark.sql import functions as fn  # noqa: PLC0415

        from pipeline.transforms.subscriptions import SUBSCRIPTION, key_shared_lists  # noqa: PLC0415

        listed = [(SPACE_SEPARATOR.join(("", *key)), None, 0) for key in self.asked.given if key[1]]
        frames = [self.spark.createDataFrame(listed, LISTS.ddl)] if listed else []
        if self.asked.tables.has(SUBSCRIPTIONS):
            tables = (self.asked.tables.load(self.spark, table) for table in (SUBSCRIPTIONS, CONSUMER_SETS))
            space = fn.concat_ws(SPACE_SEPARATOR, *SUBSCRIPTION).alias("space")
            frames.append(key_shared_lists(*tables).select(space, "names", "lists"))
        return [frame.mapInArrow(partial(send_lists, spaces=spaces), BLOCKS) for frame in frames]

    def _take(self, accounts: Sequence[JudgeAccount], shares: int) -> None:
        folds = [fold for account in accounts for fold in account.folds]
        readers = readers_of(folds, shares)
        account = self.account
        for fold in folds:
            account.update(folded_rows=fold.rows, keys=fold.keys)
        for reader in readers:
            account.update(rows=reader.rows, good=reader.good)
        self.quarantine += sorted((tuple(row) for reader in readers for row in reader.quarantine), key=repr)
        account["quarantined"] = sum(row[5] for row in self.quarantine if row[4] == "key_events")
        assert account["rows"] == account["good"] + account["quarantined"], f"rows of a trace were lost: {account}"
        assert account["good"] == account["folded_rows"], f"rows were lost between reading and folding: {account}"
        for judged in accounts:
            for policy, mode in judged.modes.items():
                self.modes.setdefault(policy, ModeAccount()).add(mode)


def _summary(this: _Keys, pieces: Sequence[TracePiece]) -> dict[str, object]:
    modes = {policy.value: this.modes.get(policy.value, ModeAccount()) for policy in this.asked.policies}
    return {
        "job": JOB,
        "tables": this.draft.sizes(*_WRITTEN),
        "rows_in": this.account["rows"],
        "rows_out": this.account["good"],
        "quarantined": this.account["quarantined"],
        "keys": this.account["keys"],
        "files": len({piece.name for piece in pieces}),
        "modes": {
            name: {"worst_busiest_over_average": mode.worst, "verdicts": dict(sorted(mode.verdicts.items()))}
            for name, mode in modes.items()
        },
        "rules": {
            cluster: {"release": rules.behaviour.label, "release_basis": rules.in_force.release_basis.value}
            for cluster, rules in sorted((this.asked.rules.values or {"": this.asked.rules.default}).items())
        },
    }

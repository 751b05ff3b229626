"""The job ``bundles``: topics to bundles, what each bundle and broker carries, what would be split and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow.parquet as pq

from engine.balance.splitting.modular import visiting_order
from engine.config import DEFAULTS, BrokerSettings
from engine.errors import InputError, Rejection
from pipeline.bundling import Topics
from pipeline.jobs import dealing
from pipeline.jobs.bundle_tasks import (
    WRITTEN,
    BundleAccount,
    BundlePlan,
    BundleTask,
    bundler,
    bundles_of_blocks,
    sender,
)
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.pieces import Piece, deal_pieces, pieces_of
from pipeline.reading.rows import Row
from pipeline.schemas import (
    BROKER_LOADS,
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    LISTED,
    SETTINGS,
    SUBSCRIPTIONS,
    TOPICS,
    check_folder,
    parts_of,
)
from pipeline.stamps import Stamp
from pipeline.storage import Place, for_arrow
from pipeline.tables import need_tables
from pipeline.topic_blocks import READ, Share, blocks_of
from pipeline.transforms.keys import parts_together
from pipeline.writing import Draft, ensure_part, keep_only, move_part, replacing, write_json, write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "bundles"
_DRIVER_TASK: Final = 999_999


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """From the tables ``topics``, ``subscriptions``, ``listed``, ``bundles`` and ``bundle_reports`` under ``source``.

    Options are broker settings by their exact names, on top of what the brokers said themselves, and ``listed``
    (``false``: count loaded topics only). Raises ``InputError`` for a missing table or a setting that is none.
    """
    need_tables(source, (TOPICS, SUBSCRIPTIONS, LISTED, BUNDLES, BUNDLE_REPORTS))
    settings = settings_of(source, options.settings)
    with replacing(target, JOB) as draft, spark_faults(JOB):
        folder = draft.aside("staged")
        for table in WRITTEN:
            (folder / table.name).mkdir()
        stamp = options.stamp_of(source)
        plan = plan_of(source, settings, folder, stamp)
        listed = options.settings.get("listed", "true") != "false"
        pieces = {table.name: pieces_of(table, source) for table in READ if listed or table is not LISTED}
        answers = _answers(spark, plan, pieces)
        accounts = [msgspec.msgpack.decode(each, type=BundleAccount) for each in answers]
        accounts.append(_without_topics(plan, {name for each in accounts for name in each.namespaces}))
        nowhere = sum(each.nowhere for each in accounts)
        options.say(f"bundles: {sum(each.rows for each in accounts) - nowhere:,} topics placed")
        if nowhere:
            options.say(
                f"bundles: {nowhere:,} topics belong to namespaces whose bundles no answer lists; save what"
                " 'pulsar-admin namespaces bundles' prints for each, and import again"
            )
        _collect(draft, folder, accounts)
        write_rows(BROKER_LOADS, draft.table(BROKER_LOADS), _broker_rows(accounts), stamp)
        summary = _summary(draft, accounts, settings)
        write_json(draft.folder, f"{JOB}.json", summary)
    return JobResult(JOB, summary)


def _answers(spark: SparkSession, plan: BundlePlan, pieces: Mapping[str, Sequence[Piece]]) -> list[bytes]:
    """The accounts of all judging tasks: the driver alone for a small fleet."""
    rows = sum(piece.rows for each in pieces.values() for piece in each)
    small = rows <= dealing.SMALL_ROWS
    cores = 1 if small else dealing.tasks_for(spark, rows)
    shares = [Share(name, tuple(run)) for name, each in pieces.items() for run in deal_pieces(each, cores)]
    if small:
        blocks = (block for share in shares for _, block in blocks_of(share, 1))
        return [bundles_of_blocks(plan, blocks, 0)]
    sent = spark.range(0, len(shares), 1, len(shares)).mapInArrow(sender(shares, cores), "part int, block binary")
    answers = parts_together(sent, cores).mapInArrow(bundler(plan), "account binary").collect()
    return [bytes(row.account) for row in answers]


def settings_of(source: Place, given: Mapping[str, str]) -> BrokerSettings:
    """The brokers' own settings, with those given on top. Raises ``InputError`` for a name or value that is none."""
    settings = BrokerSettings()
    told: dict[str, str] = {}
    for part in parts_of(source / SETTINGS.name):
        table = pq.read_table(for_arrow(part), columns=["name", "value"])
        told |= dict(zip(table["name"].to_pylist(), table["value"].to_pylist(), strict=True))
    for name, value in told.items():
        changed = settings.with_setting(name, value) if name in DEFAULTS else settings
        settings = settings if isinstance(changed, Rejection) else changed
    for name, value in given.items():
        if name == "listed":
            continue
        changed = settings.with_setting(name, value)
        if isinstance(changed, Rejection):
            raise InputError(str(changed))
        settings = changed
    return replace(settings)


def plan_of(source: Place, settings: BrokerSettings, folder: Place, stamp: Stamp) -> BundlePlan:
    """What the tasks need of the small tables under ``source``; they write below ``folder``."""
    boundaries: dict[str, list[int]] = {}
    for part in parts_of(source / BUNDLES.name):
        rows = pq.read_table(for_arrow(part), columns=["namespace", "position", "lower", "upper"]).to_pydict()
        for namespace, position, lower, upper in zip(*rows.values(), strict=True):
            # Positions ascend in each namespace; the last upper bound is the end of the list.
            bounds = boundaries.setdefault(namespace, [lower])
            assert len(bounds) == position + 1, f"the bundles of {namespace} are out of order"
            bounds.append(upper)
    owners, brokers = _owners(source)
    return BundlePlan(boundaries, owners, visiting_order(brokers), settings, folder, stamp)


def _owners(source: Place) -> tuple[dict[str, str], list[str]]:
    """Owner by full bundle name: of two brokers that report it the one whose report is newer, then by name."""
    updated: dict[str, int] = {}
    for part in parts_of(source / BROKERS.name):
        rows = pq.read_table(for_arrow(part), columns=["broker", "last_update_ms"]).to_pydict()
        for broker, when in zip(*rows.values(), strict=True):
            updated[broker] = max(when, updated.get(broker, 0))
    best: dict[str, tuple[int, str]] = {}
    for part in parts_of(source / BUNDLE_REPORTS.name):
        rows = pq.read_table(for_arrow(part), columns=["bundle", "broker"]).to_pydict()
        for bundle, broker in zip(*rows.values(), strict=True):
            claim = (updated.get(broker, 0), broker)
            best[bundle] = max(best.get(bundle, claim), claim)
    return {bundle: broker for bundle, (_, broker) in best.items()}, sorted(updated)


def _without_topics(plan: BundlePlan, seen: set[str]) -> BundleAccount:
    """Namespaces of which nobody named a topic have bundles all the same."""
    names = sorted(plan.boundaries.keys() - seen)
    nothing = np.zeros(0, dtype=np.int64)
    task = BundleTask(plan, _DRIVER_TASK)
    if names:
        task.judge(names, Topics(nothing, nothing, nothing.astype(bool), np.zeros((6, 0))), None)
    return task.run(iter(()))


def _collect(draft: Draft, folder: Place, accounts: list[BundleAccount]) -> None:
    for table in WRITTEN:
        keep_only(folder / table.name, {name for each in accounts for name in each.parts.get(table.name, ())})
        place = draft.table(table)
        for part in parts_of(folder / table.name):
            move_part(part, place)
        ensure_part(table, place)


def _broker_rows(accounts: list[BundleAccount]) -> list[Row]:
    sums: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for each in accounts:
        for broker, values in each.brokers.items():
            sums[broker] = sums.get(broker, np.zeros(8)) + np.array(values)
    return [
        (broker or None, *(int(value) for value in values[:4]), *(float(value) for value in values[4:]))
        for broker, values in sorted(sums.items())
    ]


def _summary(draft: Draft, accounts: list[BundleAccount], settings: BrokerSettings) -> dict[str, object]:
    tables = {table.name: check_folder(table, draft.folder / table.name) for table in (*WRITTEN, BROKER_LOADS)}
    placed = sum(each.rows for each in accounts)
    assert tables["bundle_topics"] == placed, "rows were lost between writing and reading"
    outcomes = Counter[str]()
    for each in accounts:
        outcomes.update(each.outcomes)
    changed = {name: settings.text_of(name) for name, default in DEFAULTS.items() if getattr(settings, name) != default}
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": placed,
        "topics_in_no_bundle": sum(each.nowhere for each in accounts),
        "topics_told_elsewhere": sum(each.elsewhere for each in accounts),
        "outcomes": dict(sorted(outcomes.items())),
        "settings": changed,
    }

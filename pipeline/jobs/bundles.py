"""The job ``bundles``: the bundles of topics, the loads of bundles and brokers, and where bundles would be split."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from engine.balance.splitting.modular import visiting_order
from engine.config import DEFAULTS, BrokerSettings
from pipeline.broker_groups import reported_release, settings_of
from pipeline.jobs.options import OWN, release_of
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.reading.rows import Row
from pipeline.schemas import (
    BROKER_LOADS,
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    LISTED,
    TOPICS,
)
from pipeline.sink import write_by_engine
from pipeline.storage import Place
from pipeline.tables import load, need_tables, rows_of
from pipeline.transforms.bundle_topics import by_namespace
from pipeline.transforms.bundles import WRITTEN, BundleAccount, BundleWork
from pipeline.writing import Draft, replacing, write_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "bundles"


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Read the tables ``topics``, ``listed``, ``bundles`` and ``bundle_reports`` under ``source``.

    Options are broker settings by their exact names, which override those that brokers reported, ``listed`` (``false``:
    count loaded topics only), and ``pulsar`` (a release; default: the one that all brokers reported). Raises
    ``InputError`` for a missing table or an unknown setting.
    """
    need_tables(source, (TOPICS, LISTED, BUNDLES, BUNDLE_REPORTS))
    behaviour = release_of(options.settings) or reported_release(source)
    given = {name: value for name, value in options.settings.items() if name not in OWN[JOB]}
    settings = settings_of(source, given, behaviour)
    with replacing(target, JOB, options.stamp_of(source)) as draft, spark_faults(JOB):
        brokers = rows_of(source / BROKERS.name, "broker", "last_update_ms")
        # Of several entries about a broker the last, the latest, counts.
        updated_ms = dict(sorted((name, updated or 0) for name, updated in brokers))
        work = BundleWork({name: updated_ms[name] for name in visiting_order([*updated_ms])}, settings, behaviour)
        listed = None if options.settings.get("listed") == "false" else load(spark, source, LISTED)
        topics, bundles, reports = (load(spark, source, table) for table in (TOPICS, BUNDLES, BUNDLE_REPORTS))
        rows = by_namespace(topics, listed, bundles, reports)
        accounts = write_by_engine(rows, draft, work, BundleAccount)
        nowhere = sum(account.nowhere for account in accounts)
        options.say(f"bundles: {sum(account.rows for account in accounts) - nowhere:,} topics placed")
        if nowhere:
            options.say(
                f"bundles: {nowhere:,} topics belong to namespaces whose bundles no answer lists; save what"
                " 'pulsar-admin namespaces bundles' prints for each, and import again"
            )
        draft.fill(*WRITTEN)
        draft.write(BROKER_LOADS, _broker_rows(accounts))
        summary = _summary(draft, accounts, settings) | {"release": behaviour.label}
        write_json(draft.folder, f"{JOB}.json", summary)
    return JobResult(JOB, summary)


def _broker_rows(accounts: list[BundleAccount]) -> list[Row]:
    sums: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for account in accounts:
        for broker, values in account.brokers.items():
            sums[broker] = sums.get(broker, np.zeros(8)) + np.array(values)
    return [
        (broker or None, *(int(value) for value in values[:4]), *(float(value) for value in values[4:]))
        for broker, values in sorted(sums.items())
    ]


def _summary(draft: Draft, accounts: list[BundleAccount], settings: BrokerSettings) -> dict[str, object]:
    tables = draft.rows(*WRITTEN, BROKER_LOADS)
    placed = sum(account.rows for account in accounts)
    assert tables["bundle_topics"] == placed, "rows were lost between writing and reading"
    outcomes = Counter[str]()
    for account in accounts:
        outcomes.update(account.outcomes)
    changed = {name: settings.text_of(name) for name, default in DEFAULTS.items() if getattr(settings, name) != default}
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": placed,
        "topics_in_no_bundle": sum(account.nowhere for account in accounts),
        "topics_told_elsewhere": sum(account.elsewhere for account in accounts),
        "outcomes": dict(sorted(outcomes.items())),
        "settings": changed,
    }

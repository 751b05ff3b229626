"""The job ``bundles``: the bundles of topics, the loads of bundles and brokers, and where bundles would be split."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from engine.balance.splitting.modular import visiting_order
from engine.config import DEFAULTS, BrokerSettings
from engine.views.fleet.tables import (
    BROKER_LOADS,
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    LISTED,
    TOPICS,
)
from pipeline.clusters import ByCluster, Reported, reported
from pipeline.jobs.options import broker_settings, release_of
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.rows import Row
from pipeline.runs import Draft
from pipeline.sink import write_by_engine
from pipeline.stamps import since_1970_ms
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.bundle_topics import by_namespace
from pipeline.transforms.bundles import WRITTEN, Brokers, BundleAccount, BundleWork

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "bundles"


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Read the tables ``topics``, ``listed``, ``bundles`` and ``bundle_reports`` under ``source``.

    Raises ``InputError`` for a missing table or an unknown setting.
    """
    tables = tables_at(source)
    brokers = _brokers(tables, options.settings)
    with options.writing(JOB, tables, target) as draft:
        listed = None if options.settings.get("listed") == "false" else tables.load(spark, LISTED)
        topics, bundles, reports = (tables.load(spark, table) for table in (TOPICS, BUNDLES, BUNDLE_REPORTS))
        rows = by_namespace(topics, listed, bundles, reports)
        accounts = write_by_engine(rows, draft, BundleWork(brokers), BundleAccount)
        nowhere = sum(account.nowhere for account in accounts)
        options.say(f"bundles: {sum(account.rows for account in accounts) - nowhere:,} topics placed")
        if nowhere:
            options.say(
                f"bundles: {nowhere:,} topics belong to namespaces whose bundles no answer lists; save what"
                " 'pulsar-admin namespaces bundles' prints for each, and import again"
            )
        draft.fill(*WRITTEN)
        draft.write(BROKER_LOADS, _broker_rows(accounts))
        summary = _summary(draft, accounts, brokers)
        draft.write_json(f"{JOB}.json", summary)
    return JobResult(JOB, summary)


def _brokers(source: Tables, given: Mapping[str, str]) -> ByCluster[Brokers]:
    """The brokers, release and settings of each cluster. Raises ``InputError`` for an unknown given one."""
    release = release_of(given)
    settings = broker_settings(JOB, given)
    updated: dict[str, dict[str, int]] = defaultdict(dict)
    for cluster, name, at in source.rows(BROKERS, "cluster", "broker", "last_update"):
        # Of several entries about a broker the latest counts.
        updated[cluster][name] = max(since_1970_ms(at), updated[cluster].get(name, 0))

    def brokers(known: Reported, cluster: str) -> Brokers:
        behaviour = release or known.release_of(cluster)
        own = updated[cluster] if known.releases else {}
        visited = {name: own[name] for name in visiting_order([*own])}
        return Brokers(visited, known.settings_of(cluster, settings, behaviour), behaviour)

    return reported(source).each(brokers)


def _broker_rows(accounts: list[BundleAccount]) -> list[Row]:
    sums: dict[tuple[str, str], NDArray[np.float64]] = {}
    for account in accounts:
        for owner, values in account.brokers.items():
            sums[owner] = sums.get(owner, np.zeros(len(values))) + np.array(values)
    rows: list[Row] = []
    for (cluster, broker), own in sorted(sums.items()):
        counts, unknown = own[:4].astype(np.int64).tolist(), own[8:].astype(np.int64).tolist()
        # Of a rate that no topic has nothing is known.
        known = zip(own[4:8].tolist(), unknown, strict=True)
        rates = [None if 0 < lacking == counts[1] else rate for rate, lacking in known]
        rows.append((cluster, broker or None, *counts, *rates, *unknown))
    return rows


def _summary(draft: Draft, accounts: list[BundleAccount], brokers: ByCluster[Brokers]) -> dict[str, object]:
    tables = draft.sizes(*WRITTEN, BROKER_LOADS)
    placed = sum(account.rows for account in accounts)
    assert tables["bundle_topics"] == placed, "rows were lost between writing and reading"
    outcomes = Counter[str]()
    for account in accounts:
        outcomes.update(account.outcomes)
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": placed,
        "topics_in_no_bundle": sum(account.nowhere for account in accounts),
        "topics_told_elsewhere": sum(account.elsewhere for account in accounts),
        "outcomes": dict(sorted(outcomes.items())),
        "rules": {
            cluster: {"release": each.behaviour.label, "settings": _changed(each.settings)}
            for cluster, each in sorted((brokers.values or {"": brokers.default}).items())
        },
    }


def _changed(settings: BrokerSettings) -> dict[str, str]:
    return {name: settings.text_of(name) for name, default in DEFAULTS.items() if getattr(settings, name) != default}

"""The summary of a fleet as figures to be watched from one run to the next."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from engine.views.fleet.summary import FleetSummary
from engine.views.metrics import Family, Sample

_TOTALS: Final = {
    "topics": "topics with statistics, partitions counted one by one",
    "namespaces": "namespaces",
    "subscriptions": "subscriptions, those of every partition counted",
    "consumers": "consumers",
    "publishers": "producers",
    "brokers": "brokers",
    "bundles": "bundles",
    "msg_rate_in": "messages a second in",
    "msg_rate_out": "messages a second out",
    "msg_throughput_in": "bytes a second in",
    "msg_throughput_out": "bytes a second out",
    "storage_size_bytes": "bytes stored",
    "backlog_size_bytes": "bytes of backlog",
}


def fleet_families(summary: FleetSummary) -> tuple[Family, ...]:
    """All figures of a summary; those that no job counted are left out."""
    return tuple(family for family in _families(summary) if family.samples)


def _families(summary: FleetSummary) -> Iterable[Family]:
    if summary.snapshot_time is not None:
        moment = datetime.fromisoformat(summary.snapshot_time).timestamp()
        labels = (("run_id", summary.run_id),)
        yield Family("ringside_fleet_snapshot_seconds", "the moment of the latest answer", (Sample(moment, labels),))
    for name, meaning in _TOTALS.items():
        yield _single(name, meaning, getattr(summary.totals, name))
    yield _single("jobs_failed", "jobs of the last run that could not be finished", len(summary.failed))
    if "import" in summary.jobs:
        yield _single("records", "records that were read", summary.records.read)
        yield _single("records_bad", "records that were set aside as bad", summary.records.bad)
    if "assign" in summary.jobs:
        yield _single("idle_consumers", "consumers that get nothing under the rule in force", summary.now.idle)
        if summary.now.worst_max_over_even is not None:
            yield _single(
                "worst_max_over_even", "the most times its even share that a consumer has",
                summary.now.worst_max_over_even,
            )  # fmt: skip
        yield _single("reported_active_consumers", "active consumers that were reported", summary.agreement.reported)
        agreeing = summary.agreement.agreeing
        yield _single("agreeing_active_consumers", "reported ones that the rules in force give as well", agreeing)
    if "balance" in summary.jobs:
        balance = summary.balance
        yield _single("max_broker_usage", "weighted usage of the fullest broker, a share", balance.max_usage)
        yield _single("unloads", "bundles that load balancers unload in all cycles ahead", balance.unloads)
        yield _single("next_unloads", "bundles that they unload in the next cycle", balance.next_unloads)
        yield _single("bundle_loops", "bundles that come back to a broker they had left", balance.loops)
    yield Family(
        "ringside_fleet_findings", "what the doctor found",
        tuple(Sample(each.count, (("rule", each.rule), ("severity", each.severity))) for each in summary.findings),
    )  # fmt: skip
    yield Family(
        "ringside_fleet_set_aside", "rows that were set aside",
        tuple(
            Sample(each.rows, (("job", each.source), ("table", each.table), ("kind", each.kind)))
            for each in summary.quarantine
        ),
    )  # fmt: skip
    uneven = [
        ((("namespace", each.namespace), ("subscription", each.subscription), ("type", each.type)), each)
        for each in summary.worst_subscriptions
    ]
    yield Family(
        "ringside_fleet_max_over_even", "the most times its even share that a consumer of these subscriptions has",
        tuple(Sample(each.max_over_even, labels) for labels, each in uneven if each.max_over_even is not None),
    )  # fmt: skip
    yield Family(
        "ringside_fleet_lost_msg_rate", "messages a second that the other consumers of these subscriptions could take",
        tuple(Sample(each.lost_msg_rate, labels) for labels, each in uneven),
    )  # fmt: skip


def _single(name: str, meaning: str, value: float) -> Family:
    return Family(f"ringside_fleet_{name}", meaning, (Sample(value),))

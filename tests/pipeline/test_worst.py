"""The order of the worst subscriptions."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from engine.views.fleet.summary import unknown_of
from engine.views.fleet.tables import FINDINGS, WORST_SUBSCRIPTIONS
from pipeline.transforms.worst import worst_subscriptions

SUMS = ("msg_rate_out", "msg_backlog_entries")
OF_OTHERS = ("findings", "worst_severity", *SUMS, *map(unknown_of, SUMS))
UNITS = [column for column in WORST_SUBSCRIPTIONS.columns if column.name not in OF_OTHERS]
TRAFFIC = "cluster string, namespace string, subscription string, type string, dispatchers bigint, " + (
    "msg_rate_out double, msg_backlog_entries bigint, msg_rate_out_unknown bigint, msg_backlog_entries_unknown bigint"
)


def unit(name: str, uneven: float | None, idle: int) -> tuple[Any, ...]:
    known = {"cluster": "c", "namespace": "t/n", "subscription": name, "type": "Key_Shared", "policy": "auto_split"}
    known |= {"busiest_over_average": uneven, "idle": idle, "improvable": name in ("worst", "even")}
    rest = {column.name: None if column.nullable else 0.0 if column.kind == "double" else 0 for column in UNITS}
    return tuple((rest | known).values())


def finding(subscription: str, severity: str, level: int) -> tuple[Any, ...]:
    known = {"cluster": "c", "namespace": "t/n", "subscription": subscription, "severity": severity}
    rest = {column.name: [] if column.kind.startswith("array") else "" for column in FINDINGS.columns}
    row = rest | known | {"severity_level": level, "topics": 0}
    return tuple(row[name] for name in FINDINGS.names)


def test_what_an_error_stops_comes_first_where_no_load_shows_it(spark: SparkSession) -> None:
    units = [unit("even", 1.0, 0), unit("blocked", None, 0), unit("worst", 4.0, 9), unit("quiet", None, 1),
             unit("slow", None, 3), unit("standby", 9.0, 1)]  # fmt: skip
    findings = [finding("blocked", "error", 2), finding("blocked", "info", 0), finding("slow", "warning", 1),
                finding("even", "error", 2)]  # fmt: skip
    ddl = ", ".join(f"{column.name} {column.kind}" for column in UNITS)
    rows = worst_subscriptions(
        spark.createDataFrame(units, ddl),
        spark.createDataFrame([], TRAFFIC),
        spark.createDataFrame(findings, FINDINGS.ddl),
    ).collect()
    assert [row.subscription for row in rows] == ["blocked", "worst", "even", "standby", "slow", "quiet"]
    assert [row.findings for row in rows] == [2, 0, 1, 0, 1, 0]

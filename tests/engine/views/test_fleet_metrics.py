"""The figures of a fleet's summary, in a text that another reader of OpenMetrics understands."""

from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from engine.views.fleet.summary import (
    VERSION,
    Agreement,
    ClusterRules,
    FindingCount,
    FleetSummary,
    FleetTotals,
    NowTotals,
    QuarantineCount,
    Records,
    WorstSubscription,
    fleet_families,
)
from tui.cli.openmetrics import exposition


def samples(
    summary: FleetSummary, owners: dict[str, str] | None = None
) -> dict[str, list[tuple[dict[str, str], float]]]:
    families = text_string_to_metric_families(exposition(fleet_families(summary, owners)))
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in families}


def test_every_count_is_a_sample_with_its_labels() -> None:
    moment = datetime(2026, 11, 24, 6, 0, tzinfo=UTC)
    summary = FleetSummary(
        VERSION, ("import", "assign"), FleetTotals(topics=7, backlog_size_bytes=9), (), (),
        (WorstSubscription("", "t/n", 's"\n', "Failover", "flag_off", 7, 3, 1, 2.5, 3.0, 0, 0, None, 2, "error",
                           busiest_over_average=2.5, spare_msg_rate=4.0),
         WorstSubscription("", "t/n", "k", "Key_Shared", "auto_split", 7, 3, 1, None, None, 0, 0, None, 0, None)),
        (), (), (FindingCount("key-gaps", "error", 2),), (QuarantineCount("import", "topics", "bad", 5, 4),), {},
        agreement=Agreement(10, 8), failed={"lint": "no memory"}, now=NowTotals(3, 2.5), records=Records(100, 5),
        rules=(ClusterRules("east", "4.2.4", "reported", True, "reported", 10, 8),),
        run_id="one", snapshot_time=moment.isoformat(),
    )  # fmt: skip
    read = samples(summary)
    assert read["ringside_fleet_snapshot_seconds"] == [({}, moment.timestamp())]
    assert read["ringside_fleet_run"] == [({"run_id": "one"}, 1)]
    assert read["ringside_fleet_cluster_disagreeing"] == [({"cluster": "east"}, 2)]
    singles = {name: rows[0][1] for name, rows in read.items() if not rows[0][0]}
    assert singles["ringside_fleet_topics"] == 7 and singles["ringside_fleet_backlog_size_bytes"] == 9
    assert singles["ringside_fleet_records"] == 100 and singles["ringside_fleet_records_bad"] == 5
    assert singles["ringside_fleet_idle_consumers"] == 3 and singles["ringside_fleet_worst_busiest_over_average"] == 2.5
    assert singles["ringside_fleet_reported_active_consumers"] == 10
    assert singles["ringside_fleet_agreeing_active_consumers"] == 8
    assert singles["ringside_fleet_jobs_failed"] == 1
    assert read["ringside_fleet_findings"] == [({"rule": "key-gaps", "severity": "error"}, 2)]
    assert read["ringside_fleet_set_aside"] == [({"job": "import", "table": "topics", "kind": "bad"}, 5)]
    ((labels, value),) = read["ringside_fleet_busiest_over_average"]
    assert (labels["type"], value) == ("Failover", 2.5)
    assert "\n" not in labels["subscription"]
    assert [value for _, value in read["ringside_fleet_spare_msg_rate"]] == [4.0, 0.0]
    assert {"owner" in labels for rows in read.values() for labels, _ in rows} == {False}
    for owners, expected in (({"t": "a"}, "a"), ({"t": "a", "t/n": "b"}, "b"), ({"u": "c"}, "")):
        named = samples(summary, owners)
        for name in ("busiest_over_average", "spare_msg_rate", "idle_of_subscription"):
            assert {labels["owner"] for labels, _ in named[f"ringside_fleet_{name}"]} == {expected}


def test_what_no_job_counted_is_left_out() -> None:
    read = samples(FleetSummary(VERSION, (), FleetTotals(), (), (), (), (), (), (), (), {}))
    assert "ringside_fleet_idle_consumers" not in read and "ringside_fleet_records" not in read
    assert "ringside_fleet_snapshot_seconds" not in read

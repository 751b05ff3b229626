"""How clusters and tenants grew over the runs of a folder."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine.views.fleet.runs import MEASURES, growth, history_of, result_at, trends_of
from engine.views.fleet.summary import (
    FILE_NAME,
    VERSION,
    FleetSummary,
    FleetTotals,
    GroupTotals,
    WorstNamespace,
    WorstSubscription,
    summary_text,
)
from tests import fleet_results
from tui.cli.fleet.page import fleet_lines
from tui.kit.wording import sparkline
from tui.sources.fleet_results import FleetResults


def summary_of(day: int, **topics: int) -> FleetSummary:
    """A run that has so many topics of each tenant; a message/s and kB each, and a backlog that nobody knows."""
    groups = [
        GroupTotals("east", "" if tenant == "all" else tenant, count, float(count), 2.0 * count, 1_000 * count, None)
        for tenant, count in topics.items()
    ]
    moment = datetime(2026, 11, day, tzinfo=UTC).isoformat()
    nothing: tuple[WorstSubscription, ...] = ()
    spaces: tuple[WorstNamespace, ...] = ()
    totals = FleetTotals(topics=topics["all"])
    return FleetSummary(
        VERSION, (), totals, (), (), nothing, spaces, (), (), (), {}, snapshot_time=moment, groups=tuple(groups)
    )


def put(out: Path, run_id: str, day: int, **topics: int) -> None:
    fleet_results.put_document(out, FILE_NAME, summary_text(summary_of(day, **topics)), run_id)
    fleet_results.put_moment(out, datetime(2026, 11, day, tzinfo=UTC), run_id)


def test_runs_are_ordered_by_their_moments_and_those_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, "b", 2, all=10, shop=10)
    put(tmp_path, "d", 1, all=5, shop=5)  # added later, about an earlier day
    fleet_results.put_document(tmp_path, FILE_NAME, json.dumps({"version": 1}), "e")
    fleet_results.put_document(tmp_path, "import.json", "{}", "f")
    put(tmp_path, "g", 9, all=99)
    put(tmp_path, "c", 3, all=20, shop=12, bank=8)
    history = history_of(result_at(tmp_path, "c"))
    assert [summary.totals.topics for summary in history] == [5, 10, 20], "and the ninth had not come yet"
    trends = {
        (trend.cluster, trend.tenant): dict(zip(MEASURES, trend.values, strict=True)) for trend in trends_of(history)
    }
    assert [*trends] == [("east", ""), ("east", "shop"), ("east", "bank")]
    assert trends["east", ""]["topics"] == (5, 10, 20)
    assert trends["east", "bank"]["topics"] == (None, None, 8)
    assert trends["east", "shop"]["storage_size_bytes"] == (5_000, 10_000, 12_000)
    assert trends["east", "shop"]["backlog_size_bytes"] == (None, None, None)
    assert growth(trends["east", ""]["msg_rate_out"]) == 3
    assert FleetResults(result_at(tmp_path, "c")).topics_over_runs == (5, 10, 20)


def test_a_sum_that_lacks_topics_is_marked_and_has_no_growth(tmp_path: Path) -> None:
    put(tmp_path, "a", 1, all=5)
    whole = summary_of(2, all=10)
    (group,) = whole.groups
    part = replace(whole, groups=(replace(group, unknown={"msg_rate_in": 3}),))
    fleet_results.put_document(tmp_path, FILE_NAME, summary_text(part), "b")
    fleet_results.put_moment(tmp_path, datetime(2026, 11, 2, tzinfo=UTC), "b")
    history = history_of(result_at(tmp_path))
    (trend,) = trends_of(history)
    assert dict(zip(MEASURES, trend.lacking, strict=True))["msg_rate_in"] == (0, 3)
    row = next(line for line in fleet_lines(history[-1], [trend]) if "east" in line).split()
    assert row[1:6] == ["10", "+100%", "▄█", "10+", "▄█"]


def test_the_page_shows_the_last_number_with_its_growth(tmp_path: Path) -> None:
    put(tmp_path, "a", 1, all=5, shop=5)
    result = result_at(tmp_path)
    assert trends_of(history_of(result)) == []
    put(tmp_path, "b", 2, all=10, shop=10)
    history = history_of(result_at(tmp_path))
    lines = fleet_lines(history[-1], trends_of(history))
    row = next(line for line in lines if "shop" in line).split()
    assert "+100%" in row and "▄█" in row and row[-1] == "–"
    assert sparkline((3, None, 3)) == "█ █" and sparkline((0, 0)) == "▁▁"

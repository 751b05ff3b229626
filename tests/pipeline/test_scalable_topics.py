"""Scalable topics of a fleet: their segments, who has them, the next step, findings, the page, and opening one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from engine.admin.moments import read_moments
from engine.errors import Rejection
from engine.views.fleet.conditions import conditions_of, figures_of_summary
from engine.views.fleet.runs import result_at
from engine.views.scalable.figures import figures_of
from engine.views.scalable.view import last_views
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results
from tests.engine.diagnosis.answers import Stats, consumer, stats
from tests.engine.scalable.scenes import write
from tests.tui.fleet_scenes import small_result
from tui.cli.fleet.page import fleet_lines
from tui.cli.fleet.screen import session_of
from tui.fleet.screen import Chosen
from tui.sources.fleet_results import SCALABLE, read_results

SHARED, BLOCKED = "2026-11-27T15-14-23Z", "2026-11-27T15-16-44Z"
MANUAL, ORDER = "topic://ring/manual/orders", "topic://ring/order/orders"


@pytest.fixture(scope="module")
def out(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a run over two clusters: one with three consumers that share, one with segments that wait."""
    folder = tmp_path_factory.mktemp("scalable")
    write(folder / "dumps" / "east", "manual", SHARED)
    west = write(folder / "dumps" / "west", "order", BLOCKED) / BLOCKED / "admin" / "v2" / "broker-stats"
    west.mkdir()
    (west / "topics.json").write_text(json.dumps(loaded_segments()), encoding="utf-8")
    options = JobOptions({"clusters": "folders"})
    result = job_called("run")(spark, folder / "dumps", folder / "out", options)
    assert result.summary["failed"] == {}
    return folder / "out"


def loaded_segments() -> Any:
    """What a broker lists: segment 0 has a consumer that does not acknowledge, its halves have nobody."""
    held = segment(29, consumer("a-seg-0", unackedMessages=29))
    answers = {"0000-ffff-0": held, "0000-7fff-1": segment(15), "8000-ffff-2": segment(14)}
    named = {f"segment://ring/order/orders/{name}": answer for name, answer in answers.items()}
    return {"ring/order": {"0x00000000_0xffffffff": {"persistent": named}}}


def segment(backlog: int, *consumers: Stats) -> Stats:
    answer = stats("Exclusive", consumers, msgBacklog=backlog, topic={"msgInCounter": backlog})
    return {**answer, "subscriptions": {"sub": answer["subscriptions"]["s"]}}


def rows(out: Path, table: str, columns: str) -> list[tuple[Any, ...]]:
    return duckdb.sql(f"select {columns} from {fleet_results.sql(out, table)} order by all").fetchall()


def test_segments_are_those_of_the_engine(out: Path) -> None:
    assert rows(out, "segments", 'cluster, segment, start, "end", state, buckets, parents') == [
        ("east", 0, 0, 32_767, "ACTIVE", 2, []),
        ("east", 1, 32_768, 65_535, "ACTIVE", 2, []),
        ("west", 0, 0, 65_535, "SEALED", 4, []),
        ("west", 1, 0, 32_767, "ACTIVE", 2, [0]),
        ("west", 2, 32_768, 65_535, "ACTIVE", 2, [0]),
    ]


def test_consumers_have_what_is_dealt_and_printed(out: Path) -> None:
    columns = "cluster, consumer, segment, dealt, printed, buckets, first_bucket, last_bucket"
    assert rows(out, "segment_consumers", columns) == [
        ("east", "c-a", 0, True, True, 2, 0, 0),
        ("east", "c-b", 0, True, True, 2, 1, 1),
        ("east", "c-c", 1, True, True, 0, None, None),
        ("west", "a", 0, True, True, 0, None, None),
    ]


def test_the_forecast_is_the_view_of_every_topic(out: Path, tmp_path: Path) -> None:
    for cluster, name, moment, topic in (("east", "manual", SHARED, MANUAL), ("west", "order", BLOCKED, ORDER)):
        place = write(tmp_path / cluster, name, moment)
        view = last_views(read_moments(place))[topic]
        assert not isinstance(view, Rejection)
        figures = figures_of(view)
        names = ("topic", "blocked", "idle", "segments", "sealed", "score", "flaps", "backlog", "next", "reason")
        chosen = ", ".join(names)
        found = rows(out, "scale_forecast", f"cluster, {chosen}")
        assert (cluster, *(getattr(figures, one) for one in names)) in found
    assert len(rows(out, "scale_forecast", "topic")) == 2


def test_the_worst_topic_is_first_on_the_page(out: Path) -> None:
    results = read_results(result_at(out))
    assert results.summary is not None
    worst = results.summary.worst_scalable_topics
    assert [(row.cluster, row.topic, row.blocked) for row in worst] == [("west", ORDER, 2), ("east", MANUAL, 0)]
    assert results.summary.jobs[-1] == "scalable"
    assert results.first == SCALABLE, "no subscription is listed"
    page = fleet_lines(results.summary)
    at = next(line for line, text in enumerate(page) if "scalable topics" in text)
    assert ORDER in page[at + 2]


def test_limits_hold_for_what_the_table_has_in_all(out: Path) -> None:
    summary = read_results(result_at(out)).summary
    assert summary is not None
    numbers = figures_of_summary(summary).numbers
    names = ("blocked", "stuck", "unattached", "uncovered", "score", "flaps")
    (sums,) = rows(
        out, "scale_forecast", ", ".join([*(f"sum({one})" for one in names[:4]), "max(score)", "max(flaps)"])
    )
    assert {one: numbers[one] for one in names if one in numbers} == {
        one: value for one, value in zip(names, sums, strict=True) if value is not None
    }
    assert numbers["blocked"] == 2
    met = {text: one.is_met(figures_of_summary(summary)) for text in ("blocked>1", "blocked>2", "stuck>0")
           for one in conditions_of("report", [text])}  # fmt: skip
    assert met == {"blocked>1": True, "blocked>2": False, "stuck>0": False}


def test_findings_of_fleets_name_what_holds_a_segment_back(out: Path) -> None:
    (waits,) = [row for row in rows(out, "findings", "rule, cluster, namespace, topics") if row[0] == "segment_waits"]
    assert waits == ("segment_waits", "west", "ring/order", 2)
    assert "no_consumers" not in [row[0] for row in rows(out, "findings", "rule")]


def test_a_row_opens_the_topic(out: Path) -> None:
    folder = result_at(out)
    listing = read_results(folder).listing(SCALABLE)
    row = listing.row(0)
    session = session_of(folder, Chosen(str(row["cluster"]), str(row["namespace"]), topic=str(row["topic"])))
    state = session.timeline.state
    assert [one.topic for one in state.scalable_topics] == [ORDER]
    assert session.subscription == 0
    assert [moment.snapshot.scalable.keys() for moment in session.seen] == [{ORDER}]


def test_a_fleet_without_scalable_topics_has_none_of_the_tables(tmp_path: Path) -> None:
    results = read_results(result_at(small_result(tmp_path)))
    assert len(results.listing(SCALABLE)) == 0

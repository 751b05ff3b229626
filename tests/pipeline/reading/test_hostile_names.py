"""Names that no broker has are set aside while a fleet is imported, with file and place; the rest is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.admin.requests import parse_request
from pipeline.reading.answers import READ, FileContext, take_file
from pipeline.reading.consumer_lists import read_consumer_lists
from pipeline.reading.contexts import contexts_of
from pipeline.reading.files import find_answers
from pipeline.reading.rows import Rows
from pipeline.reading.topics import take_sound_document
from tests.pipeline.reading.test_traces import read

EVIL = "evil/ns;$(touch pwned)"
RANGE = "0x00000000_0xffffffff"
STATS: dict[str, Any] = {"msgRateIn": 1.0, "publishers": [], "subscriptions": {"s": {"type": "Shared"}}}


def taken(folder: Path, name: str, value: object, told: FileContext | None = None) -> Rows:
    path = folder / name
    path.write_text(json.dumps(value))
    rows = Rows()
    take_file(rows, path, name, told or FileContext())
    return rows


def quarantined(rows: Rows) -> list[tuple[str, str]]:
    """(File, place) of each problem."""
    return [(str(row[0]), str(row[1])) for row in rows.quarantine]


def test_boundaries_of_a_namespace_with_a_shell_command_are_set_aside(tmp_path: Path) -> None:
    asked = "GET /admin/v2/namespaces/evil/ns%3B%24%28touch%20pwned%29/bundles"
    steps = [{"answers": [{"request": asked, "status": 200, "file": "01-bundles.json"}]}]
    (tmp_path / "scenario.json").write_text(json.dumps({"scenario": "x", "steps": steps}))
    (tmp_path / "01-bundles.json").write_text(json.dumps({"boundaries": ["0x00000000", "0xffffffff"]}))
    rows, outcomes = Rows(), {}
    files = find_answers(tmp_path).files
    contexts = contexts_of(files)
    for file in files:
        outcomes[file.name] = take_file(rows, file.path, file.name, contexts[file.name]).outcome
    assert outcomes["01-bundles.json"] == READ
    assert rows.boundary_lists == []
    assert ("scenario.json", "$.steps[0].answers[0].request") in quarantined(rows)
    assert ("01-bundles.json", "$") in quarantined(rows)


@pytest.mark.parametrize(
    "document",
    [
        {EVIL: {RANGE: {"persistent": {"persistent://t/n/x": STATS}}}},
        {"t/n": {RANGE: {"persistent": {f"persistent://{EVIL}/x": STATS}}}},
    ],
)
def test_broker_stats_with_an_impossible_name_are_set_aside_at_any_size(document: Any, tmp_path: Path) -> None:
    document = {**document, "good/ns": {RANGE: {"persistent": {"persistent://good/ns/x": STATS}}}}
    rows = taken(tmp_path, "broker-stats.json", document)
    assert rows.topics.names == ["persistent://good/ns/x"]
    assert len(rows.quarantine) >= 1
    assert not take_sound_document(Rows(), json.dumps(document).encode(), "a", "b")


def test_a_load_report_keeps_the_bundles_that_can_be(tmp_path: Path) -> None:
    stats = {f"t/n/{RANGE}": {"topics": 1}, f"{EVIL}/{RANGE}": {"topics": 1}}
    rows = taken(tmp_path, "load-report.json", {"loadReportType": "LocalBrokerData", "lastStats": stats})
    assert [row[0] for row in rows.bundle_reports] == [f"t/n/{RANGE}"]
    assert EVIL in quarantined(rows)[0][1]


def test_topic_lists_keep_the_names_that_can_be(tmp_path: Path) -> None:
    rows = taken(tmp_path, "topics.json", ["persistent://t/n/x", f"persistent://{EVIL}/x"])
    assert [row[0] for row in rows.listed] == ["persistent://t/n/x"]
    assert len(rows.quarantine) == 1


def test_consumer_lists_of_impossible_subscriptions_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text(f'subscription,consumer,namespace\ns,a,t/n\ns,b,"{EVIL}"\n ,c,t/n\n')
    lists, result = read_consumer_lists(path)
    assert list(lists) == [("t/n", "s")]
    assert [row[2] for row in result] == [3, 4]
    path = tmp_path / "lists.json"
    path.write_text(json.dumps({" ": ["a"], "s": ["b"]}))
    lists, result = read_consumer_lists(path)
    assert list(lists) == [("", "s")]
    assert len(result) == 1


def test_events_of_impossible_namespaces_are_set_aside(tmp_path: Path) -> None:
    events = [{"key": "a", "namespace": "t/n", "subscription": "s"}, {"key": "b", "namespace": EVIL}, {"key": "c"}]
    (tmp_path / "trace.jsonl").write_text("\n".join(map(json.dumps, events)))
    result, account = read(tmp_path)
    assert sorted(key for _, key, _ in result) == [b"a", b"c"]
    assert account.good == 2


def test_the_request_of_a_sound_name_is_no_fault() -> None:
    assert parse_request("GET /admin/v2/persistent/t/n/x/stats").fault == ""

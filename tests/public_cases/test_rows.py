"""Rows that people make of answers on call: with jq in a loop, as CSV, in columns, as pairs; and halves of a cursor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from engine.reading.rows import made_by, statistics_of_rows
from tests.tui.cli.conftest import Run

T0, T1 = (f"persistent://lake/main/hose-partition-{at}" for at in range(2))
LOOP: Final = "$ for t in $(pulsar-admin topics list lake/main); do pulsar-admin topics stats $t | jq "
ONE: Final = "$ pulsar-admin topics stats lake/main/hose | jq "
NOBODY: Final = ("no_consumers", "blocks", 70)
UNKNOWN: Final = ("not_reported", "cannot_tell", 70)
WHOLE: Final = "persistent://lake/main/hose"


def rows(*lines: object) -> str:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"


KINDS: Final = [
    pytest.param(
        rows(LOOP + "-c --arg t $t '{topic: $t, backlog: .subscriptions.lane.msgBacklog}'; done",
             {"topic": T0, "backlog": 70}, {"topic": T1, "backlog": 0}), T0, "lane", UNKNOWN, id="rows of a filter"),
    pytest.param(
        rows(LOOP + "-c '.subscriptions.lane | {msgBacklog, n: (.consumers|length)}'; done",
             {"msgBacklog": 70, "n": 0}, {"msgBacklog": 0, "n": 2}), "", "lane", NOBODY, id="without their topics"),
    pytest.param(rows("name backlog consumers", "hose-partition-0 70 0", "hose-partition-1 0 2"), "", "unnamed", NOBODY,
                 id="words below words"),
    pytest.param(rows("TOPIC                SUBSCRIPTION  TYPE    BACKLOG  CONSUMERS",
                      f"{T0}  lane  Shared  70  0", f"{T1}  lane  Shared  0  2"), T0, "lane", NOBODY, id="columns"),
    pytest.param(rows("topic,subscription,type,msgBacklog,consumers", f"{T0},lane,Shared,70,0"), T0, "lane", NOBODY,
                 id="CSV"),
    pytest.param(rows("| topic | subscription | backlog | consumers |", "|---|---|--:|--:|",
                      f"| {T0} | lane | 70 | 0 |"), T0, "lane", NOBODY, id="a table in Markdown"),
    pytest.param(rows(" topic | subscription | msg_backlog | consumers", "----+-----+-----+----",
                      f" {T0} | lane | 70 | 0", "(1 row)"), T0, "lane", NOBODY, id="a table of a database"),
    pytest.param(rows("Subscription\tType\tOut rate (msg/s)\tBacklog", "lane\tShared\t0\t70"), "", "lane", UNKNOWN,
                 id="a page of a manager"),
    pytest.param(rows(ONE + "-r '.subscriptions|to_entries[]|[.key,.value.msgBacklog,(.value.consumers|length)]|@tsv'",
                      "lane\t70\t0", "idle\t0\t1"), WHOLE, "lane", NOBODY, id="columns that the filter names"),
    pytest.param(rows("$ for i in 0 1; do echo -n \"hose-$i: \"; pulsar-admin topics stats lake/main/hose-$i |"
                      " jq '.subscriptions.lane.msgBacklog'; done", "hose-0: 70", "hose-1: 0"), "", "lane", UNKNOWN,
                 id="a number behind a name"),
    pytest.param(rows(ONE + "'.subscriptions.lane'", {"msgBacklog": 70, "type": "Shared", "consumers": []}), WHOLE,
                 "lane", NOBODY, id="one subscription that the filter names"),
    pytest.param(rows(ONE + "'.subscriptions | map_values(.msgBacklog)'", {"lane": 70, "idle": 0}), WHOLE, "lane",
                 UNKNOWN, id="backlogs by subscription"),
    pytest.param(rows([{"key": "lane", "value": {"msgBacklog": 70, "type": "Shared", "consumers": []}}]), "", "lane",
                 NOBODY, id="entries of an object"),
    pytest.param(rows(ONE + "'{subs: .subscriptions | map_values({b: .msgBacklog, c: (.consumers|length)})}'",
                      {"subs": {"lane": {"b": 70, "c": 0}, "idle": {"b": 0, "c": 1}}}), WHOLE, "lane", NOBODY,
                 id="objects in an object"),
    pytest.param(rows("subscription: lane", "type: Shared", "msgBacklog: 70", "consumers: 0"), "", "lane", NOBODY,
                 id="pairs in lines"),
    pytest.param(rows(f"topic={T0} sub=lane backlog=70 consumers=0", f"topic={T1} sub=lane backlog=0 consumers=1"), T0,
                 "lane", NOBODY, id="pairs in a line"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "topic", "subscription", "found"), KINDS)
def test_rows_say_what_they_have(
    run: Run, tmp_path: Path, text: str, topic: str, subscription: str, found: tuple[str, str, int]
) -> None:
    row = first_of(run, tmp_path, text)
    first = row["causes"][0]
    assert (first["id"], first["verdict"], first["numbers"]["backlog"]) == found
    assert row["subscription"] == subscription
    assert topic in ("", first["topic"])


def first_of(run: Run, folder: Path, text: str, name: str = "paste.txt") -> dict[str, Any]:
    (folder / name).write_text(text)
    ran = run("why", name, "--json")
    assert ran.code == 1, ran.out + ran.err
    row: dict[str, Any] = json.loads(ran.out)
    return row


def test_the_same_row_again_is_a_later_moment(run: Run, tmp_path: Path) -> None:
    row = {"msgRateOut": 0, "unackedMessages": 0}
    text = rows("$ while sleep 9; do pulsar-admin topics stats lake/main/hose |"
                " jq -c '.subscriptions.lane | {msgBacklog, msgRateOut, unackedMessages}'; done",
                *({"msgBacklog": waiting, **row} for waiting in (70, 75, 81)))  # fmt: skip
    first = first_of(run, tmp_path, text)
    assert (first["moments"], first["causes"][0]["numbers"]) == (3, {"backlog": 81, "out": 0.0})


def test_rows_of_consumers_are_a_list(run: Run, tmp_path: Path) -> None:
    ones = [{"consumerName": f"w-{at}", "availablePermits": 0, "unackedMessages": 1000} for at in range(2)]
    text = rows(ONE + "-c '.subscriptions.lane.consumers[] | {consumerName,availablePermits,unackedMessages}'", *ones)
    for each in (text, json.dumps(ones)):
        first = first_of(run, tmp_path, each)["causes"][0]
        assert (first["id"], first["numbers"]) == ("not_reported", {"unacked": 2000, "permits": 0})


@pytest.mark.parametrize(
    "text",
    [
        rows("TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG", "hose 0 5 9 4"),
        rows("name backlog", "hose 70"),
        rows("date,backlog", "2026-01-01,70"),
        rows({"name": "lane", "backlog": 70}),
        rows("pod=a backlog=7", "pod=b backlog=8"),
    ],
)
def test_a_table_of_something_else_is_none(text: str) -> None:
    values = [(json.loads(text), "")] if text.startswith("{") else []
    assert statistics_of_rows(text, values) == ([], 0)


def test_a_number_of_consumers_is_no_list_of_them() -> None:
    (moment,), count = statistics_of_rows(rows("topic backlog consumers", f"{T0} 1,070 2"), [])
    assert (moment, count) == ({T0: {"subscriptions": {"unnamed": {"msgBacklog": 1070, "type": "unknown"}}}}, 1)


def test_the_filter_names_the_members() -> None:
    made = made_by("jq -c '.partitions|to_entries[]|{p: .key, waits: .value.subscriptions[\"a b\"].msgBacklog, type}'")
    assert (made.subscription, made.names) == ("a b", {"p": "subscription", "waits": "msgBacklog"})


CURSORS: Final = """$ pulsar-admin topics stats-internal lake/main/hose
{"entriesAddedCounter": 900, "lastConfirmedEntry": "8:899", "cursors": {
  "idle": {"markDeletePosition": "8:899", "readPosition": "8:900", "waitingReadOp": true, "pendingReadOps": 0},
  "lane": {"markDeletePosition": "8:199","""


def test_half_a_cursor_says_how_far_it_acknowledged_and_the_rest_is_not_fine(run: Run, tmp_path: Path) -> None:
    row = first_of(run, tmp_path, CURSORS)
    first = row["causes"][0]
    assert (row["subscription"], first["id"], first["numbers"]) == ("lane", "cursors_only", {"entries_left": 700})
    assert first["fields"] == ["markDeletePosition", "lastConfirmedEntry"]
    cut = first_of(run, tmp_path, CURSORS.removesuffix('"markDeletePosition": "8:199",'))
    assert (cut["subscription"], cut["causes"][0]["numbers"]) == ("lane", {})


def test_half_a_subscription_is_not_fine_either(run: Run, tmp_path: Path) -> None:
    idle = {"msgBacklog": 0, "type": "Shared", "consumers": []}
    text = json.dumps({"msgRateIn": 0, "subscriptions": {"idle": idle, "lane": {"msgRateOut": 0}}})
    row = first_of(run, tmp_path, "$ pulsar-admin topics stats lake/main/hose\n" + text[: text.rindex('"msgRateOut"')])
    assert (row["subscription"], row["causes"][0]["id"]) == ("lane", "not_reported")


def test_what_promtool_prints_of_an_instant_is_metrics(run: Run, tmp_path: Path) -> None:
    text = rows(f'pulsar_subscription_back_log{{subscription="lane", topic="{T0}"}} => 70 @[1769990000.1]')
    assert first_of(run, tmp_path, text)["causes"][0]["numbers"] == {"backlog": 70}


def test_an_analysis_of_a_backlog_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"entries": 7, "messages": 70, "filterAcceptedEntries": 7}))
    ran = run("why", "a.json")
    assert ran.code == 2
    assert "70 messages in 7 entries" in ran.err


def test_lines_that_grep_took_out_say_only_what_comes_once(run: Run, tmp_path: Path) -> None:
    """Of 2,000, 900 and 1,100 unacknowledged nothing says which one is the subscription's."""
    lines = ['"msgBacklog" : 70,', '"unackedMessages" : 2000,', '"type" : "Shared",', '"unackedMessages" : 900,',
             '"availablePermits" : 0,', '"unackedMessages" : 1100,', '"availablePermits" : 0,']  # fmt: skip
    text = rows(ONE.removesuffix("jq ") + "egrep 'msgBacklog|unacked|type|availablePermits'", *lines)
    first = first_of(run, tmp_path, text)["causes"][0]
    assert (first["id"], first["numbers"]) == ("not_reported", {"backlog": 70})


def test_rows_and_moments_are_bounded() -> None:
    moments, count = statistics_of_rows("topic backlog\n" + f"{T0} 7\n" * 100_100, [])
    assert (count, len(moments)) == (100_000, 200)


def test_a_cell_longer_than_csv_takes_costs_no_other_row(run: Run, tmp_path: Path) -> None:
    text = rows("topic,subscription,type,msgBacklog,consumers", f"{T0},lane,Shared,70,0", f"{T1},{'x' * 140_000},,0,2")
    row = first_of(run, tmp_path, text)
    assert (row["subscription"], row["causes"][0]["id"]) == ("lane", "no_consumers")

"""``ringside fleet diff`` on small tables whose differences are counted by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests import fleet_results
from tests.tui.cli.conftest import Run
from tests.tui.fleet_runs import MONDAY, NAMESPACE, TUESDAY, both_days, result, topic

EXPECTED_SUMS = {
    # billing has 5 partitions on both days and audit 2; 1, 3, 4 of billing and 1 of audit move.
    "partitions": 7, "moved": 4, "moved_subscriptions": 2,
    # billing got worse, audit better; "unknown" had no number on Monday, and its rate is the same but for rounding.
    "worse": 1, "better": 1, "verdicts": 1,
    "idle": 1,  # 0 + 1 on Monday, 2 + 0 on Tuesday
    "spare_msg_rate": 16.0,  # 10 + 4 + 3 + 1, then 30 + 0 + 3 + 1
    "new_findings": 1, "gone_findings": 1,
    "topics_appeared": 1, "topics_vanished": 0, "subscriptions_appeared": 1, "subscriptions_vanished": 1,
    "brokers_appeared": 2, "brokers_vanished": 1,
}  # fmt: skip


def document(run: Run, *words: str) -> Any:
    ran = run("fleet", "diff", *words, "--json")
    assert ran.code == 0, ran
    return json.loads(ran.out)


def test_who_moved_what_got_worse_and_what_is_new(run: Run, tmp_path: Path) -> None:
    before, after = both_days(tmp_path)
    outcome = document(run, before, after)
    assert {**outcome["sums"], "spare_msg_rate": round(outcome["sums"]["spare_msg_rate"], 9)} == EXPECTED_SUMS
    assert outcome["before"] == {"place": before, "run_id": MONDAY[0], "snapshot_time": "2026-11-23T06:00:00+00:00"}
    assert outcome["after"]["run_id"] == TUESDAY[0] and outcome["not_compared"] == []
    billing, audit = outcome["moved"]
    assert (billing["namespace"], billing["subscription"], billing["partitions"], billing["moved"]) == (
        NAMESPACE, "billing", 5, 3
    )  # fmt: skip
    assert {(row["before"], row["after"], row["partitions"]) for row in billing["owners"]} == {
        ("b", "c", 1), ("a", "d", 1), ("b", "d", 1)
    }  # fmt: skip
    assert billing["topics"] == [
        {"topic": topic(1), "before": "b", "after": "c"},
        {"topic": topic(3), "before": "a", "after": "d"},
        {"topic": topic(4), "before": "b", "after": "d"},
    ]
    assert audit["owners"] == [{"before": None, "after": "x", "partitions": 1}]
    [worse], [better], [verdict] = outcome["worse"], outcome["better"], outcome["verdicts"]
    assert (worse["subscription"], sorted(worse["worse"]), worse["better"]) == (
        "billing", ["busiest_over_average", "idle", "spare_msg_rate"], []
    )  # fmt: skip
    assert (worse["before"]["spare_msg_rate"], worse["after"]["spare_msg_rate"]) == (10.0, 30.0)
    assert (better["subscription"], better["before"]["idle"], better["after"]["idle"]) == ("audit", 1, 0)
    assert (verdict["subscription"], verdict["before"]["verdict"], verdict["after"]["verdict"]) == (
        "keys", "CHANCE", "HOT_KEY"
    )  # fmt: skip
    assert [(row["rule"], row["subscription"]) for row in outcome["new_findings"]] == [("failover-idle", "billing")]
    assert [(row["rule"], row["subscription"]) for row in outcome["gone_findings"]] == [("failover-nobody", "audit")]
    assert outcome["topics_appeared"] == [{"cluster": "", "name": topic(5)}]
    assert outcome["subscriptions_appeared"] == [{"cluster": "", "namespace": NAMESPACE, "subscription": "late"}]
    assert outcome["subscriptions_vanished"] == [{"cluster": "", "namespace": NAMESPACE, "subscription": "early"}]
    assert [row["name"] for row in outcome["brokers_appeared"]] == ["b-3", "b-4"]
    assert outcome["brokers_vanished"] == [{"cluster": "", "name": "b-2"}]


def test_the_other_way_round_everything_is_the_opposite(run: Run, tmp_path: Path) -> None:
    before, after = both_days(tmp_path)
    forth, back = document(run, before, after), document(run, after, before)
    opposite = {"worse": "better", "new_findings": "gone_findings", "topics_appeared": "topics_vanished",
                "subscriptions_appeared": "subscriptions_vanished", "brokers_appeared": "brokers_vanished"}  # fmt: skip
    for one, other in opposite.items():
        assert (forth["sums"][one], forth["sums"][other]) == (back["sums"][other], back["sums"][one]), one
    assert back["sums"]["idle"] == -1 and back["sums"]["moved"] == 4
    assert back["worse"][0]["subscription"] == "audit"


def test_two_runs_of_one_folder_are_the_same_as_two_folders(run: Run, tmp_path: Path) -> None:
    before, after = both_days(tmp_path)
    kept = result(result(tmp_path / "kept", "monday"), "tuesday")
    apart, together = document(run, before, after), document(run, str(kept), MONDAY[0], TUESDAY[0])
    for name in apart:
        if name not in ("before", "after"):
            assert apart[name] == together[name], name
    assert together["before"]["run_id"] == MONDAY[0]
    # Without names the latest runs are compared.
    refused = run("fleet", "diff", str(kept), after)
    assert (refused.code, TUESDAY[0] in refused.err) == (2, True)
    unknown = run("fleet", "diff", str(kept), MONDAY[0], "20261125T060000Z-cccccccc")
    assert (unknown.code, TUESDAY[0] in unknown.err) == (2, True)


def test_as_text_the_counts_and_names_are_there(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "diff", *both_days(tmp_path), "--ascii")
    assert ran.code == 0 and ran.out.isascii()
    for words in ("4 of 7 partitions moved", "1 worse, 1 better", "+16.0 spare msg/s", "1 new, 1 gone", "failover-idle",
                  "shop/orders/late", "b-4", "nobody"):  # fmt: skip
        assert words in ran.out, words
    short = run("fleet", "diff", *both_days(tmp_path / "again"), "--top", "1")
    assert "b-3" in short.out and "b-4" not in short.out and "1 more" in short.out


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("moved>50%", 1), ("moved>60%", 0), ("moved>=4", 1), ("new_findings>0", 1), ("new_findings>1", 0),
        ("worse>0", 1), ("idle>1", 0), ("spare_msg_rate>15", 1), ("brokers_vanished>0", 1), ("topics_vanished>0", 0),
    ],
)  # fmt: skip
def test_a_limit_that_holds_fails_the_run(run: Run, tmp_path: Path, limit: str, code: int) -> None:
    ran = run("fleet", "diff", *both_days(tmp_path), "--fail-on", limit)
    assert (ran.code, limit in ran.err) == (code, bool(code))


@pytest.mark.parametrize("limit", ["moved", "speed>1", "idle>10%", "items>1"])
def test_what_is_not_a_limit_is_refused(run: Run, tmp_path: Path, limit: str) -> None:
    assert run("fleet", "diff", *both_days(tmp_path), "--fail-on", limit).code == 2


def test_what_a_run_lacks_is_not_compared_and_nothing_is_claimed_of_it(run: Run, tmp_path: Path) -> None:
    before, after = both_days(tmp_path)
    fleet_results.drop(Path(after), "findings")
    outcome = document(run, before, after)
    assert outcome["not_compared"] == ["findings"]
    assert outcome["sums"]["new_findings"] is None and outcome["sums"]["moved"] == 4
    assert "findings:" not in run("fleet", "diff", before, after).out
    asked = run("fleet", "diff", before, after, "--fail-on", "new_findings>0")
    assert (asked.code, "findings" in asked.err) == (2, True)


def test_runs_in_which_other_policies_are_in_force_are_compared(run: Run, tmp_path: Path) -> None:
    """On Monday one subscription is on the ring and one is not; on Tuesday both are, so audit has others."""
    before, after = both_days(tmp_path)
    (path,) = (Path(after) / "subscription_loads").rglob("*.parquet")
    loads = pq.read_table(path, partitioning=None)
    ringed = pc.equal(loads.column("policy").cast(pa.string()), "flag_on")
    pq.write_table(loads.set_column(loads.schema.get_field_index("in_force"), "in_force", ringed), path)
    outcome = document(run, before, after)
    assert (outcome["sums"]["partitions"], outcome["sums"]["moved"]) == (7, 3 + 2)
    assert {row["after"] for row in outcome["moved"][1]["owners"]} == {"not-in-force-tuesday"}


def test_the_same_run_twice_is_refused(run: Run, tmp_path: Path) -> None:
    before, _ = both_days(tmp_path)
    copied = shutil.copytree(before, tmp_path / "copied")
    for other in (before, str(copied)):
        ran = run("fleet", "diff", before, other)
        assert (ran.code, MONDAY[0] in ran.err, ran.out) == (2, True, "")


@pytest.mark.parametrize("words", [(), ("monday",), ("monday", "a", "b", "c")], ids=repr)
def test_two_folders_or_one_with_two_runs_are_needed(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    both_days(tmp_path)
    assert run("fleet", "diff", *words).code == 2


def test_a_folder_that_is_not_a_result_is_refused(run: Run, tmp_path: Path) -> None:
    before, _ = both_days(tmp_path)
    (tmp_path / "empty").mkdir()
    for other in ("empty", f"{before}/topics"):
        ran = run("fleet", "diff", before, other)
        assert (ran.code, other in ran.err, "ringside fleet run" in ran.err) == (2, True, True)
    nowhere = run("fleet", "diff", "nowhere", before)
    assert (nowhere.code, "nowhere" in nowhere.err) == (2, True)


@pytest.mark.parametrize("column", ["spare_msg_rate", "subscription"])
def test_tables_of_another_release_are_refused_with_the_column(run: Run, tmp_path: Path, column: str) -> None:
    before, after = both_days(tmp_path)
    (part,) = fleet_results.parts(Path(after), "worst_subscriptions")
    pq.write_table(pq.ParquetFile(part).read().drop_columns([column]), part)
    ran = run("fleet", "diff", before, after)
    assert (ran.code, column in ran.err, "worst_subscriptions" in ran.err) == (2, True, True)


def test_a_damaged_table_is_refused_with_its_name(run: Run, tmp_path: Path) -> None:
    before, after = both_days(tmp_path)
    (part,) = fleet_results.parts(Path(after), "assignments")
    part.write_bytes(part.read_bytes()[:200])
    ran = run("fleet", "diff", before, after)
    assert (ran.code, "assignments" in ran.err) == (2, True)

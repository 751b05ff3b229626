"""The job ``keys``: every number agrees with the plain engine, key by key."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.config import BrokerSettings, behaviour_of
from engine.errors import InputError, Rejection
from engine.hashing import murmur3_32
from engine.keyshared.keys import text_of_key
from engine.keyshared.luck import luck_of
from engine.keyshared.model import Consumer, owner_of_key
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.policies import KeyPolicy, selector_of
from engine.views.fleet.tables import (
    BROKERS,
    CONSUMER_SETS,
    HOT_KEYS,
    INSEPARABLE,
    KEY_LOADS,
    KEY_SLOTS,
    KEY_SPREADS,
    QUARANTINE,
    SUBSCRIPTIONS,
)
from pipeline.jobs import job_called
from pipeline.jobs.keys import read_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.consumer_lists import has_key_shared
from pipeline.tables import tables_if_there
from tests import fleet_results
from tests.pipeline.driver_rows import rows_of_driver

LISTS = {
    "plain": [{"name": f"c-{number}"} for number in range(5)],
    "namesakes": ["c", "c", "d"],
    "declared": [{"name": "a", "ranges": [[0, 20_000]]}, {"name": "b", "ranges": [[30_000, 65_535]]}],
    "clash": [{"name": "a", "ranges": [[0, 9]]}, {"name": "b", "ranges": [[5, 65_535]]}],
}


def consumers(name: str) -> tuple[Consumer, ...]:
    result = []
    for place, each in enumerate(LISTS[name]):
        reported = each if isinstance(each, dict) else {"name": each}
        ranges = tuple(tuple(pair) for pair in reported["ranges"]) if "ranges" in reported else None
        result.append(Consumer(place, str(reported["name"]), ranges))  # type: ignore[arg-type]
    return tuple(result)


def make(folder: Path, seed: int) -> tuple[dict[str, Counter[bytes]], Path, Path]:
    """A skewed trace in two forms, with bad lines; the counts by subscription and key, and the files."""
    chance = random.Random(seed)
    traces = folder / "traces"
    traces.mkdir()
    counts: dict[str, Counter[bytes]] = defaultdict(Counter)
    rows: list[tuple[str, bytes, int]] = []
    for _ in range(6_000):
        subscription = chance.choice([*LISTS, "nobody"])
        key = b"hot" if chance.random() < 0.2 else f"key-{chance.randint(0, 400)}".encode()
        rows.append((subscription, key, chance.choice([0, 1, 1, 5])))
        counts[subscription][key] += rows[-1][2]
    half = len(rows) // 2
    columns = {"subscription": [r[0] for r in rows[:half]], "key": [r[1] for r in rows[:half]],
               "count": [r[2] for r in rows[:half]]}  # fmt: skip
    pq.write_table(pa.table(columns), traces / "a.parquet", row_group_size=500)
    lines = [json.dumps({"subscription": s, "key": k.decode(), "count": c}) for s, k, c in rows[half:]]
    (traces / "b.jsonl").write_text("\n".join([*lines, '{"key": 1}', '{"count": -1}', "half a"]) + "\n")
    lists = folder / "lists.json"
    lists.write_text(json.dumps(LISTS))
    return counts, traces, lists


def run(spark: SparkSession, source: Path, target: Path, **options: str) -> JobResult:
    return job_called("keys")(spark, source, target, JobOptions({k.replace("_", "-"): v for k, v in options.items()}))


def rows_of(target: Path, table: Any) -> list[dict[str, Any]]:
    return fleet_results.rows(target, table.name)


@pytest.mark.parametrize("release", ["current", "3.0.0"])
def test_loads_and_spreads_are_those_of_the_plain_engine(release: str, spark: SparkSession, tmp_path: Path) -> None:
    """Both slot functions, all modes, and a release whose ring looks 31 bits up."""
    counts, traces, lists = make(tmp_path, 5)
    extra = {} if release == "current" else {"pulsar": release}
    run(spark, traces, tmp_path / "out", consumers_from=str(lists), **extra)
    behaviour = behaviour_of(release) if extra else behaviour_of("4.1.0")
    assert not isinstance(behaviour, Rejection)
    loads = defaultdict(list)
    for row in rows_of(tmp_path / "out", KEY_LOADS):
        loads[row["subscription"], row["policy"]].append(row)
    spreads = {(row["subscription"], row["policy"]): row for row in rows_of(tmp_path / "out", KEY_SPREADS)}
    judged = 0
    for name in LISTS:
        for policy in KeyPolicy:
            selector = selector_of(policy, consumers(name), BrokerSettings(), behaviour)
            if selector is None or isinstance(selector, str):
                assert (name, policy.value) not in spreads
                continue
            judged += 1
            luck = luck_of(selector, counts[name])
            result = loads[name, policy.value]
            assert [(row["consumer"], row["keys"], row["msgs"]) for row in result] == [
                (each.name, known.keys, known.messages)
                for each, known in zip(selector.consumers, luck.consumers, strict=True)
            ]
            assert [row["share"] for row in result] == [consumer.share for consumer in luck.consumers]
            spread = spreads[name, policy.value]
            assert spread["verdict"] == luck.verdict.name
            assert spread["ownerless_keys"] == luck.ownerless_keys
            assert spread["busiest_over_average"] == pytest.approx(luck.time_over_ideal)
            assert spread["probability"] == pytest.approx(luck.probability)
            assert spread["expected_busiest_keys"] == pytest.approx(luck.expected_busiest)
            unowned = sum(count for key, count in counts[name].items() if owner_of_key(selector, key) is None)
            assert spread["ownerless_msgs"] == unowned
            assert set(slots_by_consumer(selector)) <= {consumer.consumer_id for consumer in selector.consumers}
    assert judged >= 10


def test_slots_hot_keys_and_the_account_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    counts, traces, lists = make(tmp_path, 6)
    result = run(spark, traces, tmp_path / "out", consumers_from=str(lists), top="7")
    assert result.summary["rows_in"] == 6_003
    assert result.summary["quarantined"] == 3
    assert result.summary["keys"] == sum(map(len, counts.values()))
    reported = rows_of(tmp_path / "out", QUARANTINE)
    assert sum(row["rows"] for row in reported if row["table"] == "key_events") == 3
    assert any("cannot join" in row["reason"] and row["file"] == "clash" for row in reported)
    assert any("its consumers are unknown" in row["reason"] and row["file"] == "nobody" for row in reported)
    slots = rows_of(tmp_path / "out", KEY_SLOTS)
    for low, size in ((0, 65_536), (1, 65_535)):
        expected: Counter[tuple[str, int]] = Counter()
        for name, keys in counts.items():
            for key, count in keys.items():
                expected[name, (murmur3_32(key) % size + low) or 1] += count
        space = f"{low}..65535"
        assert {(r["subscription"], r["slot"]): r["msgs"] for r in slots if r["slot_space"] == space} == expected
    for name, keys in counts.items():
        hottest = sorted(keys.items(), key=lambda entry: (-entry[1], entry[0]))[:7]
        rows = [row for row in rows_of(tmp_path / "out", HOT_KEYS) if row["subscription"] == name]
        assert [(row["key"], row["msgs"]) for row in rows] == [(text_of_key(key), count) for key, count in hottest]
        assert rows[0]["even_up_to"] == sum(keys.values()) // hottest[0][1]


def test_a_key_above_an_even_part_and_hot_keys_that_meet_are_reported(spark: SparkSession, tmp_path: Path) -> None:
    """No number of consumers separates a key from itself, or keys with one hash from each other."""
    by_hash: dict[int, list[str]] = defaultdict(list)
    for number in range(3_000):
        by_hash[murmur3_32(f"k{number}".encode()) % 65_536].append(f"k{number}")
    pair = next(keys for slot, keys in sorted(by_hash.items()) if len(keys) > 1)[:2]
    lines = ["subscription,key,count", "s,big,60", f"s,{pair[0]},9", f"s,{pair[1]},8"]
    lines += [f"s,small{number},1" for number in range(23)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    run(spark, tmp_path / "t.csv", tmp_path / "out", consumers="4", top="3", modes="auto_split")
    rows = rows_of(tmp_path / "out", INSEPARABLE)
    assert [(row["hot_keys"], row["msgs"], row["reason"], row["even_up_to"]) for row in rows] == [
        (["big"], 60, "one key", 1),
        (pair, 17, "hot keys meet", 5),
    ]
    (spread,) = rows_of(tmp_path / "out", KEY_SPREADS)
    assert spread["verdict"] == "HOT_KEY"
    assert spread["best_busiest_over_average"] == pytest.approx(2.4)


def test_words_that_mean_nothing_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    for options, word in (
        ({"top": "0"}, "top"), ({"modes": "sometimes"}, "mode"), ({"consumers": "0"}, "consumers"),
        ({"what": "1"}, "what"), ({"pulsar": "x"}, "x"), ({}, "no key trace"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            job_called("keys")(None, tmp_path, tmp_path / "out", JobOptions(options))  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def imported(folder: Path, lists: dict[str, tuple[str, ...]], subscriptions: Sequence[str] = ("s",)) -> Path:
    """What an import writes of Key_Shared subscriptions with these consumers at each of their topics."""
    columns: dict[str, list[object]] = {name: [] for name in SUBSCRIPTIONS.names}
    for subscription, (number, (topic, names)) in product(subscriptions, enumerate(lists.items())):
        row = {
            "cluster": "", "subscription": subscription, "topic": f"persistent://a/b/{topic}", "namespace": "a/b",
            "type": "Key_Shared", "partitioned_topic": f"persistent://a/b/{topic}", "partition_index": -1,
            "consumers": len(names), "consumer_set": number, "reported_active_consumer": None, "file": "f.json",
        }  # fmt: skip
        for name, values in columns.items():
            values.append(row.get(name, 0))
    sets = {
        "cluster": [""] * len(lists),
        "consumer_set": list(range(len(lists))),
        "names": [list(names) for names in lists.values()],
    }
    for table, rows in ((SUBSCRIPTIONS, columns), (CONSUMER_SETS, sets)):
        fleet_results.put_table(folder, table.name, pa.table(rows, schema=table.arrow))
    return folder


def test_topics_with_different_consumers_are_noted_with_the_list_that_is_used(
    spark: SparkSession, tmp_path: Path
) -> None:
    lists = {"t-1": ("c",), "t-0": ("a", "b"), "t-2": ("a", "b", "c")}
    result = run_without_trace(spark, imported(tmp_path / "in", lists), tmp_path / "out")
    (reported,) = rows_of(tmp_path / "out", QUARANTINE)
    assert (reported["file"], reported["kind"], reported["rows"]) == ("a/b/s", "note", 0)
    assert "3 different lists of consumers; that of the first topic" in reported["reason"]
    assert {row["consumers"] for row in rows_of(tmp_path / "out", KEY_SPREADS)} == {2}
    assert all(mode["verdicts"] == {} for mode in result.values()), "without a key nothing is uneven"


def test_one_list_of_all_topics_needs_no_note(spark: SparkSession, tmp_path: Path) -> None:
    run_without_trace(spark, imported(tmp_path / "in", {"t-0": ("a", "b")}), tmp_path / "out")
    assert rows_of(tmp_path / "out", QUARANTINE) == []


def run_without_trace(spark: SparkSession, tables: Path, out: Path) -> dict[str, Any]:
    """What is written of each mode; nothing is folded."""
    (nothing := out.with_name("nothing")).mkdir()
    done = run(spark, nothing, out, tables=str(tables))
    modes: dict[str, Any] = done.summary["modes"]  # type: ignore[assignment]
    return modes


@pytest.mark.parametrize(
    ("given", "expected"), [({}, ("3.2.3", "reported")), ({"pulsar": "4.0.7"}, ("4.0.7", "given"))]
)
def test_the_release_is_the_one_that_brokers_reported(
    given: dict[str, str], expected: tuple[str, str], tmp_path: Path
) -> None:
    brokers: list[tuple[object, ...]] = [
        ("", "b1:8080", "3.2.3", 0, 0, "b1.json"), ("", "b2:8080", "3.0.2", 0, 0, "b2.json")
    ]  # fmt: skip
    fleet_results.put_table(tmp_path, BROKERS.name, BROKERS.columns_of(brokers))
    rules = read_options(given, tmp_path).rules.of("")
    assert (rules.behaviour.label, rules.in_force.release_basis.value) == expected
    assert (rules.behaviour.key_shared_ring == "name_nul_i") is (expected[0] == "3.2.3")


def test_what_the_driver_reads_does_not_depend_on_keys_and_subscriptions(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Consumers from an import, keys from a trace, and subscriptions that are in one of them only."""
    collected = []
    for subscriptions in (3, 60):
        folder = tmp_path / str(subscriptions)
        names = [f"s-{number}" for number in range(subscriptions)]
        tables = imported(folder / "in", {"t-0": ("a", "b")}, names[1:])
        brokers = BROKERS.columns_of([("", "b1:8080", "3.2.3", 0, 0, "f.json")])
        fleet_results.put_table(tables, BROKERS.name, brokers)
        lines = [f"a/b,{name},key-{number}" for name in names[:-1] for number in range(subscriptions)]
        (folder / "t.csv").write_text("\n".join(["namespace,subscription,key", *lines]) + "\n")
        with monkeypatch.context() as patch:
            rows = rows_of_driver(spark, patch)
            summary = run(spark, folder / "t.csv", folder / "out", tables=str(tables), modes="auto_split").summary
        collected.append(rows)
        assert summary["keys"] == (subscriptions - 1) * subscriptions
        spreads = rows_of(folder / "out", KEY_SPREADS)
        assert {row["subscription"]: row["keys"] for row in spreads} == {
            name: 0 if name == names[-1] else subscriptions for name in names[1:]
        }
    assert collected[0] == collected[1] and any(collected[0])


@pytest.mark.parametrize(
    ("parts", "found", "read"),
    [
        ([], False, []),
        ([["Failover"] * 9], False, []),
        ([["Failover", "Key_Shared"], ["Failover", "Shared"]], True, []),
        ([["Failover", "Shared", "Shared"], ["Exclusive", "Failover"]], False, [3]),
        ([["Exclusive", "Key_Shared", "Shared"], ["Failover", "Shared"]], True, [3]),
    ],
)
def test_key_shared_subscriptions_are_looked_for_in_footers_first(
    parts: list[list[str]], found: bool, read: list[int], spark: SparkSession, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for number, types in enumerate(parts):
        columns: dict[str, list[object]] = {name: [0] * len(types) for name in SUBSCRIPTIONS.names}
        columns |= {field.name: [""] * len(types) for field in SUBSCRIPTIONS.arrow if field.type == pa.string()}
        rows = pa.table(columns | {"type": types}, schema=SUBSCRIPTIONS.arrow)
        fleet_results.put_table(tmp_path, SUBSCRIPTIONS.name, rows, part=number)
    counted = rows_of_driver(spark, monkeypatch)
    assert has_key_shared(tables_if_there(tmp_path)) is found
    assert counted == read


@pytest.mark.parametrize(("name", "expected"), [("events.jsonl", 0), ("events.parquet", 1)])
def test_a_trace_with_nothing_in_it_gives_empty_tables_and_keeps_the_quarantine(
    name: str, expected: int, spark: SparkSession, tmp_path: Path
) -> None:
    """An empty file has no piece; as Parquet it cannot be opened."""
    source = tmp_path / "in"
    source.mkdir()
    (source / name).touch()
    summary = run(spark, source, tmp_path / "out", consumers="3").summary
    assert (summary["rows_in"], summary["quarantined"], summary["keys"]) == (0, 0, 0)
    for table in (KEY_SLOTS, KEY_LOADS, KEY_SPREADS, HOT_KEYS, INSEPARABLE):
        assert rows_of(tmp_path / "out", table) == []
    assert [row["file"] for row in rows_of(tmp_path / "out", QUARANTINE)] == [name] * expected


def test_half_an_import_is_refused_in_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    tables = imported(tmp_path / "in", {"t-0": ("a", "b")})
    fleet_results.drop(tables, CONSUMER_SETS.name)
    with pytest.raises(InputError, match=f"no table {CONSUMER_SETS.name}; run the job import"):
        run_without_trace(spark, tables, tmp_path / "out")
    assert not (tmp_path / "out").exists()

"""Files into rows: the same topics as ``read_answers`` finds, and an account that adds up whatever the file holds."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.admin.snapshot import read_answers
from engine.admin.topic_wire import sound_topics
from engine.names import namespace_of
from engine.views.fleet.tables import PUBLISHERS, SUBSCRIPTIONS, TOPICS, Table
from pipeline.reading import topics as reading_topics
from pipeline.reading.answers import OF_NO_USE, QUARANTINED, READ, WAITING, FileContext, take_file
from pipeline.reading.contexts import contexts_of
from pipeline.reading.files import find_answers
from pipeline.reading.rows import FileClusters, Rows, namespaces_of
from pipeline.reading.topic_columns import BY_TOPIC
from tests.engine.admin.test_sound_documents import DOCUMENT
from tests.engine.diagnosis.samples import dump

RECORDINGS = Path(__file__).parents[2] / "recordings"
FOLDERS = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
OTHERS = ("listed", "bundle_reports", "brokers")
TABLES = (*(table.name for table in BY_TOPIC), *OTHERS)
TOPIC: dict[str, Any] = {"msgRateIn": 1.5, "publishers": [{"producerName": "p"}], "subscriptions": {}}


def taken(path: Path, told: FileContext | None = None) -> tuple[Rows, str]:
    """The rows of one file and what became of it."""
    rows = Rows()
    outcome = take_file(rows, path, path.name, told or FileContext())
    return rows, outcome.outcome


def rows_in(rows: Rows, table: Table) -> list[tuple[Any, ...]]:
    """Rows of a table that has a topic, without their cluster."""
    return [tuple(row.values())[1:] for row in rows.topic_tables(FileClusters())[table].to_pylist()]


def aside(rows: Rows) -> Counter[str]:
    """Rows set aside, by table."""
    counter: Counter[str] = Counter()
    for row in rows.quarantine:
        counter[row[4]] += row[5]
    return counter


def adds_up(rows: Rows) -> bool:
    """Everything found is a row or in the quarantine."""
    there = {table.name: columns.num_rows for table, columns in rows.topic_tables(FileClusters()).items()}
    there |= {name: len(getattr(rows, name)) for name in OTHERS}
    away = aside(rows)
    return all(rows.counts[name] == there[name] + away[name] for name in TABLES)


def broker_stats(**topics: Any) -> dict[str, Any]:
    named = {f"persistent://t/n/{name}": topic for name, topic in topics.items()}
    return {"t/n": {"0x00000000_0xffffffff": {"persistent": named}}}


def written(folder: Path, value: object, name: str = "broker-stats.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_recording_gives_the_topics_that_read_answers_finds(folder: str) -> None:
    """And of each topic the same numbers from the same file."""
    answers = find_answers(RECORDINGS / folder)
    contexts = contexts_of(answers.files)
    rows = Rows()
    for file in answers.files:
        outcome = take_file(rows, file.path, file.name, contexts[file.name])
        # The recordings list their requests; those collections of single answers do not.
        assert outcome.outcome != WAITING or folder in ("versions", "versions-generated")
    assert adds_up(rows)
    ours = {(row[0], row[16]): row for row in rows_in(rows, TOPICS)}
    snapshot = read_answers(RECORDINGS / folder)
    assert {name for name, _ in ours} == snapshot.topics.keys()
    for name, facts in snapshot.topics.items():
        row = ours[name, facts.source]
        assert row[7:9] == (facts.msg_rate_in_msgs_per_sec, facts.msg_rate_out_msgs_per_sec)
        consumers = sum(len(subscription.consumers) for subscription in facts.subscriptions)
        assert row[13:16] == (facts.publishers, consumers, facts.kind)


@pytest.mark.parametrize("broker", ["b", ""])
@pytest.mark.parametrize("folder", ["f-inventory-2", "g-two-brokers", "g-autosplit-modular-count"])
def test_a_sound_document_read_at_once_gives_the_rows_of_topic_by_topic(
    folder: str, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0
    for path in sorted((RECORDINGS / folder).glob("*broker-stats-topics*")):
        fast, _ = taken(path, FileContext(broker=broker))
        assert sound_topics(_text(path), DOCUMENT) is not None
        with monkeypatch.context() as patch:
            patch.setattr(reading_topics, "sound_topics", lambda *_: None)
            slow, _ = taken(path, FileContext(broker=broker))
        for table in BY_TOPIC:
            assert rows_in(fast, table) == rows_in(slow, table)
        assert fast.sets == slow.sets
        assert fast.counts == slow.counts
        seen += len(fast.topics)
    assert seen > 40


def test_rows_about_a_topic_and_lists_of_consumers_have_the_cluster_of_their_file(tmp_path: Path) -> None:
    topic = TOPIC | {"subscriptions": {"s": {"consumers": [{"consumerName": "c"}]}}}
    rows = Rows()
    for name in ("a.json", "b.json", "c.json"):
        take_file(rows, written(tmp_path, broker_stats(x=topic), name), name, FileContext(broker="b"))
    tables = rows.topic_tables(FileClusters({"a.json": "east", "b.json": "west"}))
    for table in BY_TOPIC:
        own = zip(tables[table]["file"].to_pylist(), tables[table]["cluster"].to_pylist(), strict=True)
        assert sorted(own) == [("a.json", "east"), ("b.json", "west"), ("c.json", "")]
    assert sorted(rows.sets) == [("", ("c",)), ("east", ("c",)), ("west", ("c",))]


def test_the_namespaces_of_a_column_are_those_of_each_name() -> None:
    names = ["persistent://t/n/a", "non-persistent://t/n/a b", "persistent://t/n/a\nb", "persistent://t/m/x/y://z/u"]
    assert namespaces_of(pa.array(names)).to_pylist() == [namespace_of(name) for name in names]


def _text(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.mark.parametrize(
    "spoilt",
    [
        {"msgRateIn": -1.0},
        {"msgRateIn": "5"},
        {"subscriptions": {"s": {"type": "Key_Shared", "consumers": [{"keyHashRanges": ["x"]}]}}},
    ],
    ids=["negative", "text", "range"],
)
def test_a_bad_topic_is_set_aside_with_its_place_and_the_rest_is_kept(spoilt: dict[str, Any], tmp_path: Path) -> None:
    rows, outcome = taken(written(tmp_path, broker_stats(good=TOPIC, bad=TOPIC | spoilt)))
    assert outcome == READ
    assert rows.topics.names == ["persistent://t/n/good"]
    (bad,) = [row for row in rows.quarantine if row[5]]
    assert bad[0] == "broker-stats.json"
    assert "persistent://t/n/bad" in bad[1]
    assert bad[4:7] == ("topics", 1, "bad")
    assert bad[7]
    assert adds_up(rows)


def test_a_document_that_needs_a_second_look_is_not_read_at_once(tmp_path: Path) -> None:
    for topics in (
        broker_stats(good=TOPIC, bad=TOPIC | {"msgRateIn": -1.0}),
        broker_stats(good=TOPIC | {"publishers": [{"metadata": {"of": "persistent://t/n/good"}}]}),
        {"t/n": {"0x00000000_0xffffffff": {"persistent": {"persistent://t/n/a/b": TOPIC}}}},
        {"t/n": {"0x00000000_0x1": {"persistent": {"persistent:// /n/a": TOPIC}}}},
    ):
        rows = Rows()
        assert not reading_topics.take_sound_document(rows, json.dumps(topics).encode(), "x", "b")
        assert rows == Rows()


def test_a_bad_publisher_costs_only_itself(tmp_path: Path) -> None:
    topic = TOPIC | {"publishers": [{"producerName": "a"}, {"msgRateIn": -1}, {"producerName": None}]}
    rows, _ = taken(written(tmp_path, broker_stats(x=topic)))
    assert [(row[2], row[3]) for row in rows_in(rows, PUBLISHERS)] == [(0, "a"), (2, "")]
    assert aside(rows) == {"publishers": 1}
    assert rows.counts["publishers"] == 3


def test_a_count_that_no_column_holds_costs_only_its_row(tmp_path: Path) -> None:
    bad = TOPIC | {"producerCount": 2**40, "subscriptions": {"s": {"consumers": [{"consumerName": "c"}]}}}
    rows, _ = taken(written(tmp_path, broker_stats(good=TOPIC, bad=bad)))
    tables = rows.topic_tables(FileClusters())
    assert tables[TOPICS]["topic"].to_pylist() == ["persistent://t/n/good"]
    for table, columns in tables.items():
        assert columns["topic"].type == pa.dictionary(pa.int32(), pa.string())
        assert columns.num_rows == rows.counts[table.name] - (table is TOPICS)
    assert tables[SUBSCRIPTIONS]["topic"].to_pylist() == ["persistent://t/n/bad"]
    assert aside(rows) == {"topics": 1}


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.95])
def test_half_a_document_keeps_the_whole_topics_and_tells_the_rest(keep: float, tmp_path: Path) -> None:
    topics = {f"x{number}": TOPIC for number in range(40)}
    text = json.dumps(broker_stats(**topics))
    path = tmp_path / "broker-stats.json"
    path.write_text(text[: int(len(text) * keep)])
    rows, outcome = taken(path)
    assert outcome == READ
    assert 0 < len(rows.topics) < 40
    assert aside(rows)["topics"] >= 1
    assert adds_up(rows)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_packed_file_that_ends_early_keeps_what_could_be_unpacked(packing: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    topics = {f"x{chance.getrandbits(64)}": TOPIC | {"msgInCount": chance.getrandbits(60)} for _ in range(6000)}
    whole = json.dumps(broker_stats(**topics)).encode()
    packed = gzip.compress(whole) if packing == "gzip" else pa.compress(whole, "zstd", asbytes=True)
    path = tmp_path / f"broker-stats.json.{'gz' if packing == 'gzip' else 'zst'}"
    path.write_bytes(packed)
    rows, _ = taken(path)
    assert (len(rows.topics), rows.quarantine) == (6000, [])
    path.write_bytes(packed[: len(packed) * 2 // 3])
    rows, _ = taken(path)
    assert 0 < len(rows.topics) < 6000
    assert any("in the middle" in row[7] for row in rows.quarantine)
    assert adds_up(rows)


def test_a_name_that_is_no_utf_8_costs_only_its_topic(tmp_path: Path) -> None:
    """And one higher up, which leaves nobody knowing whose the topics are, is counted at least."""
    text = json.dumps(broker_stats(a=TOPIC, OOO=TOPIC, b=TOPIC)).encode()
    path = tmp_path / "broker-stats.json"
    path.write_bytes(text.replace(b"OOO", b"\xff\xfe"))
    rows, _ = taken(path)
    assert rows.topics.names == ["persistent://t/n/a", "persistent://t/n/b"]
    assert adds_up(rows) and aside(rows)["topics"] == 1
    assert any("not UTF-8" in str(row) for row in rows.quarantine)
    path.write_bytes(text.replace(b'"0x0', b'"\xff0x0'))
    rows, _ = taken(path)
    assert adds_up(rows) and aside(rows)["topics"] == 1


def test_a_rate_that_is_no_number_sets_its_topic_aside(tmp_path: Path) -> None:
    text = json.dumps(broker_stats(a=TOPIC, b=TOPIC)).replace("1.5", "NaN", 1)
    path = tmp_path / "broker-stats.json"
    path.write_text(text)
    rows, _ = taken(path)
    assert rows.topics.names == ["persistent://t/n/b"]
    assert aside(rows)["topics"] == 1
    assert adds_up(rows)


@pytest.mark.parametrize("text", ["", "   ", "not json", "{", "\x00\x01\x02", "[1,"])
def test_a_file_that_is_no_answer_is_quarantined_whole(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    rows, outcome = taken(path)
    assert outcome == QUARANTINED
    assert aside(rows) == {"files": 1}
    assert rows.counts["files"] == 1


def test_answers_that_no_table_wants_are_counted_and_not_complained_about(tmp_path: Path) -> None:
    rows, outcome = taken(written(tmp_path, {"brokerUrl": "pulsar://b:6650"}))
    assert (outcome, rows.quarantine) == (OF_NO_USE, [])


def test_a_boundary_list_waits_until_its_namespace_is_known(tmp_path: Path) -> None:
    path = written(tmp_path, {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2})
    rows, outcome = taken(path)
    assert outcome == WAITING
    assert rows == Rows()
    rows, outcome = taken(path, FileContext(about="t/n"))
    assert outcome == READ
    assert rows.boundary_lists == [("t/n", [0, 0x80000000, 0xFFFFFFFF], path.name)]


def test_a_boundary_list_no_namespace_can_have_is_set_aside(tmp_path: Path) -> None:
    path = written(tmp_path, {"boundaries": ["0x00000000", "0x90000000", "0x80000000", "0xffffffff"]})
    rows, _ = taken(path, FileContext(about="t/n"))
    assert rows.boundary_lists == []
    assert aside(rows) == {"boundary_lists": 1}


def test_names_no_broker_would_accept_are_set_aside(tmp_path: Path) -> None:
    names = ["persistent://t/n/a", "persistent://t/n", "tn/a", 5, "persistent://t/n/b-partition-3"]
    rows, _ = taken(written(tmp_path, names, "t-n-persistent.json"))
    assert [(row[0], row[3]) for row in rows.listed] == [
        ("persistent://t/n/a", False),
        ("persistent://t/n/b-partition-3", False),
    ]
    assert aside(rows) == {"listed": 3}
    assert adds_up(rows)


def test_a_bundle_whose_numbers_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    report = {
        "webServiceUrl": "http://b1:8080",
        "pulsarServiceUrl": "pulsar://b1:6650",
        "lastUpdate": 5,
        "lastStats": {
            "t/n/0x00000000_0x80000000": {"msgRateIn": 2.0, "topics": 3},
            "t/n/0x80000000_0xffffffff": {"msgRateIn": -2.0},
            "t/n/nonsense": {},
        },
        "bundles": ["t/n/0x00000000_0x80000000", "t/m/0x00000000_0xffffffff"],
        "brokerVersionString": "4.0.7",
    }
    rows, _ = taken(written(tmp_path, report, "load-report.json"))
    assert [(row[0], row[3], row[5]) for row in rows.bundle_reports] == [
        ("t/n/0x00000000_0x80000000", "b1:8080", 3),
        ("t/m/0x00000000_0xffffffff", "b1:8080", 0),
    ]
    at = datetime.fromtimestamp(0.005, UTC)
    assert rows.brokers == [("b1:8080", "4.0.7", at, 4, "load-report.json")]
    assert aside(rows) == {"bundle_reports": 2}
    assert adds_up(rows)


def test_a_bundle_that_is_nested_too_deep_costs_only_itself(tmp_path: Path) -> None:
    junk = "[" * 700 + "]" * 700
    report = f"""{{"webServiceUrl": "http://b1:8080", "pulsarServiceUrl": "pulsar://b1:6650", "lastStats": {{
        "t/n/0x00000000_0x80000000": {{"topics": null, "junk": {junk}}}, "t/n/0x80000000_0xffffffff": {{}}}}}}"""
    (tmp_path / "b1").mkdir()
    (tmp_path / "b1" / "load-report.json").write_text(report)
    files = find_answers(tmp_path).files
    (result,) = contexts_of(files).values()
    assert result.broker == "b1:8080"
    rows, _ = taken(tmp_path / "b1" / "load-report.json", result)
    assert [row[0] for row in rows.bundle_reports] == ["t/n/0x80000000_0xffffffff"]
    assert aside(rows) == {"bundle_reports": 1}
    assert adds_up(rows)


@pytest.mark.parametrize("sample_name", ["keyshared-draining-a", "failover-standby-a", "producer-side-a"])
def test_a_mirror_of_the_admin_api_gives_the_topics_that_the_engine_reads(sample_name: str, tmp_path: Path) -> None:
    folder = dump(sample_name, tmp_path, moments=1)
    expected = read_answers(folder)
    rows = Rows()
    files = find_answers(folder).files
    contexts = contexts_of(files)
    outcomes = {file.name: take_file(rows, file.path, file.name, contexts[file.name]).outcome for file in files}
    assert set(outcomes.values()) <= {READ, OF_NO_USE}
    assert rows.quarantine == []
    best = {row[0]: row for row in sorted(rows_in(rows, TOPICS), key=lambda row: row[-2] != "broker-stats")}
    assert best.keys() == expected.topics.keys()
    assert {name: row[-2] for name, row in best.items()} == {
        name: facts.kind for name, facts in expected.topics.items()
    }
    last = {(row[0], row[1]): row for row in rows_in(rows, SUBSCRIPTIONS) if row[-1] == best[row[1]][-1]}
    for name, facts in expected.topics.items():
        for subscription in facts.subscriptions:
            assert last[subscription.name, name][6] == len(subscription.consumers)
    assert {row[0] for row in rows.boundary_lists} == set(expected.bundles)


def test_a_mirror_s_answer_about_a_name_that_no_broker_has_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "admin/v2/persistent/t/n!/x/stats.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(TOPIC))
    (file,) = find_answers(tmp_path).files
    rows = Rows()
    assert take_file(rows, file.path, file.name, contexts_of([file])[file.name]).outcome == READ
    assert (len(rows.topics), aside(rows)["topics"]) == (0, 1)


def test_a_mirror_of_the_admin_api_names_what_its_answers_are_about(tmp_path: Path) -> None:
    answers = {
        "admin/v2/brokers/version.json": "4.2.4",
        "admin/v2/namespaces/t/n/bundles.json": '{"boundaries":["0x00000000","0xffffffff"],"numBundles":1}',
        "admin/v2/persistent/t/n/a%20b/stats.json": json.dumps(TOPIC),
        "admin/v2/persistent/t/n/a%20b/maxUnackedMessagesOnConsumer@applied=true.json": "50000",
        "admin/v2/persistent/t/n/a%20b/dispatchRate@applied=true.json": "",
        "admin/v2/persistent/t/n/partitioned.json": '["persistent://t/n/x"]',
    }
    rows = Rows()
    for name, text in answers.items():
        path = tmp_path / "dump" / "2026-11-22T09-48-07.231Z" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    files = find_answers(tmp_path / "dump").files
    contexts = contexts_of(files)
    outcomes = {file.name: take_file(rows, file.path, file.name, contexts[file.name]).outcome for file in files}
    assert set(outcomes.values()) == {READ, OF_NO_USE}
    assert rows.topics.names == ["persistent://t/n/a b"]
    assert [row[0] for row in rows.boundary_lists] == ["t/n"]
    assert [(row[0], row[3]) for row in rows.listed] == [("persistent://t/n/x", True)]
    assert aside(rows) == {}
    assert adds_up(rows)


METRICS_FILE = "admin/v2/broker-stats/metrics.json"


@pytest.mark.parametrize(
    "text",
    [
        "not json at all <html>",
        '[{"metrics":{"brk_lb_cpu_usage":1.0},"dimensions":{"metric":"load',
        '[{"metrics":{"brk_ml_count":NaN},"dimensions":{"topic":"persistent://t/n/x"',
    ],
)
def test_metrics_cut_before_they_name_a_usage_are_set_aside(tmp_path: Path, text: str) -> None:
    put_all(tmp_path, {METRICS_FILE: text})
    rows, outcomes = taken_below(tmp_path)
    assert outcomes == {METRICS_FILE: QUARANTINED}
    assert (aside(rows), rows.load_answers) == ({"files": 1}, [])


@pytest.mark.parametrize(
    "text", ["[]", '{"reason":"no"}', '[{"metrics":{"brk_lb_cpu_usage":NaN},"dimensions":{"metric":"loadBalancing"}}]']
)
def test_metrics_without_the_usage_of_the_extensible_manager_are_of_no_use(tmp_path: Path, text: str) -> None:
    put_all(tmp_path, {METRICS_FILE: text})
    rows, outcomes = taken_below(tmp_path)
    assert outcomes == {METRICS_FILE: OF_NO_USE}
    assert (aside(rows), rows.brokers, rows.load_answers) == ({}, [], [])


def test_metrics_about_other_things_may_lack_a_number(tmp_path: Path) -> None:
    (name, text), *_ = single_broker("", "b-1%3A8080").items()
    odd = '[{"metrics":{"brk_ml_count":NaN},"dimensions":{}},'
    put_all(tmp_path, single_broker("", "b-1%3A8080") | {name: odd + text[1:]})
    rows, _ = taken_below(tmp_path)
    assert ([row[0] for row in rows.brokers], rows.quarantine) == (["b-1:8080"], [])


def single_broker(cluster: str, owner: str) -> dict[str, str]:
    """A dump of a cluster with one broker, which has no address in its place, as ``ringside record`` saves it."""
    dump_folder = f"{cluster}2026-11-26T17-40-24Z/"
    kinds = ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")
    usages = {f"brk_lb_{kind}_usage": 5.0 for kind in kinds}
    usage = {"metrics": usages, "dimensions": {"metric": "loadBalancing"}}
    average = {"metrics": {"brk_lb_resource_usage": 0.25}, "dimensions": {"feature": "max_ema"}}
    owned = {f"{dump_folder}admin/v2/brokers/c/{owner}/ownedNamespaces.json": "{}"} if owner else {}
    return {
        f"{dump_folder}{METRICS_FILE}": json.dumps([usage, average]),
        f"{dump_folder}admin/v2/broker-stats/topics.json": json.dumps(broker_stats(x=TOPIC)),
        **owned,
    }


def put_all(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def taken_below(folder: Path) -> tuple[Rows, dict[str, str]]:
    """The rows of all files below a folder, and what became of each."""
    rows, files = Rows(), find_answers(folder).files
    contexts = contexts_of(files)
    outcomes = {file.name: take_file(rows, file.path, file.name, contexts[file.name]).outcome for file in files}
    assert adds_up(rows)
    return rows, outcomes


def test_the_only_broker_of_a_cluster_is_named_by_what_it_owns(tmp_path: Path) -> None:
    put_all(tmp_path, single_broker("eu/", "eu-1%3A8080") | single_broker("us/", "us-1%3A8080"))
    rows, _ = taken_below(tmp_path)
    assert sorted(row[0] for row in rows.brokers) == ["eu-1:8080", "us-1:8080"]
    assert sorted(broker for broker, *_ in rows.load_answers if broker) == ["eu-1:8080", "us-1:8080"]
    assert sorted(map(str, rows.topics.brokers)) == ["eu-1:8080", "us-1:8080"]


@pytest.mark.parametrize("owner", ["", "%1b%5b2J"])
def test_a_broker_that_nothing_names_is_called_like_its_folder_and_only_by_name(tmp_path: Path, owner: str) -> None:
    put_all(tmp_path, single_broker("eu/", owner) | single_broker("us/", owner))
    contexts = contexts_of(find_answers(tmp_path).files)
    named = {name: (one.broker, one.broker_by_name) for name, one in contexts.items() if "broker-stats" in name}
    assert {(name[:2], broker) for name, broker in named.items()} == {("eu", ("eu", True)), ("us", ("us", True))}
    assert len(named) == 4


def test_owners_of_another_dump_name_no_broker(tmp_path: Path) -> None:
    both = {name: text for name, text in single_broker("eu/", "b-2%3A8080").items() if "owned" in name}
    put_all(tmp_path, single_broker("eu/", "b-1%3A8080") | both | single_broker("us/", "b-3%3A8080"))
    contexts = contexts_of(find_answers(tmp_path).files)
    named = {one.broker for name, one in contexts.items() if "broker-stats" in name}
    assert named == {"eu", "b-3:8080"}


def test_a_paste_gives_the_rows_of_the_answer_in_it_and_half_an_answer_gives_none(tmp_path: Path) -> None:
    topic = "persistent://t/n/x"
    sound = tmp_path / "sound.json"
    sound.write_text(json.dumps({topic: TOPIC}))
    expected, _ = taken(sound)
    pasted = tmp_path / "pasted.json"
    text = f"$ pulsar-admin topics stats {topic}\n{TOPIC!r}\n$ "
    pasted.write_text(text)
    rows, outcome = taken(pasted)
    assert outcome == READ and adds_up(rows)
    # The columns are equal but for the file that they were read from.
    assert [row[:-1] for row in rows_in(rows, TOPICS)] == [row[:-1] for row in rows_in(expected, TOPICS)] != []
    assert [(namespace, json.loads(body)) for namespace, body, _ in rows.answers] == [("t/n", {topic: TOPIC})]
    pasted.write_text(text[: text.index("'subscriptions'")])
    rows, outcome = taken(pasted)
    assert (outcome, rows_in(rows, TOPICS), adds_up(rows)) == (QUARANTINED, [], True)


@pytest.mark.parametrize("name", ["stats.txt", "stats.log", "stats.out", "stats"])
def test_a_text_that_is_not_named_as_an_answer_gives_its_rows_and_is_no_fault_without_one(
    name: str, tmp_path: Path
) -> None:
    topic = "persistent://t/n/x"
    file = tmp_path / name
    file.write_text(f"$ pulsar-admin topics stats {topic}\n{json.dumps(TOPIC, indent=2)}\n$ ")
    rows, outcome = taken(file)
    assert (outcome, len(rows_in(rows, TOPICS)), adds_up(rows)) == (READ, 1, True)
    file.write_text("2026-11-22T09:48:07 INFO broker started\nand a note\n")
    rows, outcome = taken(file)
    assert (outcome, rows_in(rows, TOPICS), rows.quarantine) == (OF_NO_USE, [], [])
    file.write_text(f"$ pulsar-admin topics stats {topic}\n{json.dumps(TOPIC, indent=2)[:60]}")
    rows, outcome = taken(file)
    assert (outcome, rows_in(rows, TOPICS), adds_up(rows)) == (QUARANTINED, [], True)

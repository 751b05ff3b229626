"""A part of a fleet opens as the answers open that its tables were made from: levels, flag, modes, bundles, loads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from engine.admin.facts import BundleList, Snapshot
from engine.admin.snapshot import read_answers
from engine.cluster.journal.invariants import faults
from engine.cluster.owners import active_consumers
from engine.cluster.state import ClusterState
from engine.errors import InputError
from engine.scenarios.opening import (
    DIFFERS_FROM_RECORD,
    FLAG_OF_LISTS,
    SEVERAL_LISTS,
    TOPICS_LEFT_OUT,
    open_fleet_part,
    open_snapshot,
)
from engine.views.fleet.runs import ResultFolder, result_at
from engine.views.fleet.tables import BY_NAME
from tests import fleet_results
from tests.tui.fleet_scenes import NAMES, NAMESPACE, imported, small_result
from tui.sources import fleet_part
from tui.sources.fleet_part import NO_REPORTS, part_of, with_reports
from tui.sources.fleet_tables import read_table

RECORDINGS = Path(__file__).parents[2] / "recordings"
RECORDED = (
    "a-priority-reversed-6p-hash", "a-priority-001-8p-modulo", "a-namesakes-4p-hash", "b-priority-nonpartitioned-hash",
    "c-keyshared-autosplit", "c-keyshared-draining", "c-keyshared-ring", "c-keyshared-sticky", "d-bundles-4x60",
    "f-inventory-2", "v2.11.0-a-failover-6p-hash", "v3.0.2-c-keyshared-ring",
)  # fmt: skip
TOPIC = f"persistent://{NAMESPACE}/orders"


def contents(state: ClusterState, namespace: str) -> dict[str, object]:
    """What a state says of a namespace, without the ids and keys that its parts get."""
    return {
        "failover": sorted(
            (subscription.name, tuple(sorted(subscription.topics)),
             tuple((consumer.name, consumer.priority_level) for consumer in subscription.consumers),
             tuple(sorted((topic, active and active.name)
                          for topic, active in active_consumers(state, subscription).items())))
            for subscription in state.subscriptions if subscription.namespace == namespace
        ),
        "keys": sorted(
            (subscription.name, tuple(sorted(subscription.topics)), subscription.mode.value,
             tuple(consumer.name for consumer in subscription.consumers),
             tuple(map(str, subscription.delivery.selector.ranges().values())))
            for subscription in state.key_subscriptions if subscription.namespace == namespace
        ),
        "bundles": state.namespaces[namespace],
        "loads": {name: load for name, load in state.loads.items() if f"//{namespace}/" in name},
        "settings": state.settings, "release": state.release,
    }  # fmt: skip


@pytest.mark.parametrize("recording", RECORDED)
def test_each_namespace_opens_as_its_answers_do(recording: str, tmp_path: Path) -> None:
    """Also without the settings: then the flag is inferred from the recorded active consumers."""
    snapshot = read_answers(str(RECORDINGS / recording))
    for number, one in enumerate((snapshot, structs.replace(snapshot, settings=None))):
        folder = imported(one, tmp_path / str(number))
        whole = open_snapshot(one).state
        for namespace in whole.namespaces:
            if not any(facts.namespace == namespace for facts in one.topics.values()):
                continue
            mine = {name: facts for name, facts in one.topics.items() if facts.namespace == namespace}
            bundles = {name: listed for name, listed in one.bundles.items() if name == namespace}
            alone = structs.replace(one, topics=mine, bundles=bundles, known_names=frozenset())
            expected = open_snapshot(alone)
            opened = open_fleet_part(part_of(result_at(folder), "", namespace))
            assert not faults(opened.state)
            assert contents(opened.state, namespace) == contents(expected.state, namespace)
            assert sorted(note.code for note in opened.notes) == sorted(note.code for note in expected.notes)


def test_one_subscription_comes_with_all_bundles_of_its_namespace(tmp_path: Path) -> None:
    """Topics with their partitions, consumers in order, traffic, bundles, release; the namespace's other topics too."""
    opened = open_fleet_part(
        part_of(result_at(small_result(tmp_path / "out")), "", NAMESPACE, "billing", listed_flag=True)
    )
    state = opened.state
    assert not faults(state) and opened.source == f"out: {NAMESPACE}, subscription billing"
    (subscription,) = state.subscriptions
    assert [consumer.name for consumer in subscription.consumers] == list(NAMES) and not state.key_subscriptions
    assert sorted(topic.partitions for topic in state.topics.values()) == [0, 0, 4, 4, 4]
    assert state.settings.activeConsumerFailoverConsistentHashing and state.release.startswith("4.0")
    assert state.namespaces[NAMESPACE].boundaries == (0, 0x80000000, 0xFFFFFFFF)
    load = state.loads[f"persistent://{NAMESPACE}/order-1-partition-2"]
    assert (load.msg_rate_in, load.throughput_in_bytes_per_sec, load.unacked_messages) == (4.0, 200.0, 2)


def test_a_namespace_is_opened_with_all_its_subscriptions(tmp_path: Path) -> None:
    """Failover and Key_Shared side by side; where only other types are, the bundles are shown."""
    folder = small_result(tmp_path / "out")
    state = open_fleet_part(part_of(result_at(folder), "", NAMESPACE)).state
    assert not faults(state) and [subscription.key for subscription in state.subscriptions] == ["billing"]
    (shared,) = state.key_subscriptions
    assert [consumer.name for consumer in shared.consumers] == ["worker-0", "worker-1"]
    loose = open_fleet_part(part_of(result_at(folder), "", "shop/loose"))
    assert not loose.state.subscriptions and set(loose.state.namespaces) == {"shop/loose"}
    with pytest.raises(InputError, match="only those of type Shared"):
        open_fleet_part(part_of(result_at(folder), "", "shop/loose", "loose"))
    with pytest.raises(InputError, match="neither topics nor bundles"):
        open_fleet_part(part_of(result_at(folder), "", "shop/nowhere"))


def test_the_flag_of_the_lists_counts_where_nothing_was_recorded(tmp_path: Path) -> None:
    """It is reported; where the recorded active consumers contradict it, that is reported and they count."""
    folder = small_result(tmp_path / "out")
    for flag in (True, False):
        opened = open_fleet_part(part_of(result_at(folder), "", NAMESPACE, "billing", listed_flag=flag))
        assert opened.state.settings.activeConsumerFailoverConsistentHashing is flag
        assert FLAG_OF_LISTS in {note.code for note in opened.notes}
    for name, flag in (("a-failover-8p-hash", True), ("a-failover-8p-modulo", False)):
        snapshot = structs.replace(read_answers(str(RECORDINGS / name)), settings=None)
        folder = imported(snapshot, tmp_path / name)
        namespace = next(facts.namespace for facts in snapshot.topics.values())
        opened = open_fleet_part(part_of(result_at(folder), "", namespace, listed_flag=not flag))
        assert opened.state.settings.activeConsumerFailoverConsistentHashing is flag
        differing = [note.text for note in opened.notes if note.code == DIFFERS_FROM_RECORD]
        assert any("fleet's lists were computed with" in text for text in differing)


def test_a_recorded_active_consumer_that_no_rule_gives_is_reported(tmp_path: Path) -> None:
    """A broker's record is changed by hand: the opened state keeps its rule and names the difference."""
    folder = small_result(tmp_path / "out")
    (path,) = fleet_results.parts(folder, "subscriptions")
    table = pq.read_table(path)
    at = table.column_names.index("reported_active_consumer")
    rows = zip(table["topic"].to_pylist(), table["partition_index"].to_pylist(), strict=True)
    names = [NAMES[index % 3] if index >= 0 and "order-" in topic else None for topic, index in rows]
    names[1] = NAMES[2]
    pq.write_table(table.set_column(at, table.schema.field(at), [names]), path)
    opened = open_fleet_part(part_of(result_at(folder), "", NAMESPACE, "billing", listed_flag=False))
    differing = [note.text for note in opened.notes if note.code == DIFFERS_FROM_RECORD]
    assert len(differing) == 1 and "1 of 12 recorded active consumers differ" in differing[0]


def test_a_key_shared_topic_has_the_consumers_and_ranges_of_every_partition(tmp_path: Path) -> None:
    """As an opening of the answers has them, also where nobody is connected to the first partition."""
    snapshot = read_answers(str(RECORDINGS / "c-keyshared-sticky"))
    name, facts = next((name, each) for name, each in snapshot.topics.items() if each.subscriptions[0].consumers)
    (kept,) = facts.subscriptions
    topics = {}
    for index in range(3):
        partition = f"{TOPIC}-partition-{index}"
        one = structs.replace(kept, consumers=() if index == 0 else kept.consumers)
        topics[partition] = replace(
            facts, name=partition, namespace=NAMESPACE, partition_index=index, subscriptions=(one,)
        )
    whole = Snapshot("made", topics, {NAMESPACE: BundleList((0, 0xFFFFFFFF))}, version=snapshot.version)
    opened = open_fleet_part(part_of(result_at(imported(whole, tmp_path / "out")), "", NAMESPACE, kept.name))
    (shared,) = opened.state.key_subscriptions
    (expected,) = open_snapshot(whole).state.key_subscriptions
    assert shared == expected and name
    ranges = [each.selector.ranges() for each in shared.dispatchers]
    assert ranges == [each.selector.ranges() for each in expected.dispatchers]
    assert ranges[0] == {} != ranges[1] == ranges[2]
    assert [consumer.name for consumer in shared.consumers] == [consumer.name for consumer in expected.consumers] != []


def test_one_name_with_several_lists_of_consumers_is_reported(tmp_path: Path) -> None:
    """The recorded inventory has such a name: it opens as several subscriptions, and the notes say so."""
    snapshot = read_answers(str(RECORDINGS / "f-inventory-2"))
    folder = imported(snapshot, tmp_path / "out")
    opened = open_fleet_part(part_of(result_at(folder), "", "ring/telemetry-2026", "failover-1"))
    count = len(opened.state.subscriptions)
    (text,) = (note.text for note in opened.notes if note.code == SEVERAL_LISTS)
    assert count > 1 and f"{count} different lists" in text
    alone = open_fleet_part(part_of(result_at(small_result(tmp_path / "small")), "", NAMESPACE, "billing"))
    assert SEVERAL_LISTS not in {note.code for note in alone.notes}


def test_what_readers_filter_by_has_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without, a reader of one namespace reads that column of all rows."""
    filtered: set[tuple[str, str]] = set()

    def noting(folder: ResultFolder, name: str, columns: Any = None, filters: Any = None, *more: Any) -> Any:
        filtered.update((name, column) for column, *_ in (filters if isinstance(filters, list) else ()))
        return read_table(folder, name, columns, filters, *more)

    monkeypatch.setattr(fleet_part, "read_table", noting)
    folder = result_at(imported(read_answers(str(RECORDINGS / "f-inventory-2")), tmp_path / "out"))
    with_reports(part_of(folder, "", "ring/telemetry-2026", "failover-1"), folder, "", "ring/telemetry-2026")
    assert ("consumers", "subscription") in filtered
    for name, column in filtered:
        table = BY_NAME[name]
        assert column not in (table.few or ()) or column in table.sought, (name, column)


def test_a_subscription_of_a_huge_namespace_opens_with_its_own_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_part, "MANY_TOPICS", 5)
    folder = small_result(tmp_path / "out")
    opened = open_fleet_part(part_of(result_at(folder), "", NAMESPACE, "orders"))
    assert list(opened.state.topics) == [f"persistent://{NAMESPACE}/keyed"]
    assert TOPICS_LEFT_OUT in {note.code for note in opened.notes}


def test_of_a_huge_namespace_the_reports_about_these_topics_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_part, "MANY_TOPICS", 5)
    root = small_result(tmp_path / "out")
    keyed, others = f"persistent://{NAMESPACE}/keyed", [f"persistent://{NAMESPACE}/other-{at}" for at in range(9)]
    listed = {name: {"subscriptions": {"orders": {"type": "Key_Shared", "msgBacklog": 9}}} for name in (keyed, *others)}
    stats = json.dumps({NAMESPACE: {"0x00000000_0xffffffff": {"persistent": listed}}}).encode()
    named = json.dumps({others[0]: listed[keyed]}).encode()
    answers = {"cluster": [""] * 2, "namespace": [NAMESPACE] * 2, "body": [stats, named],
               "file": ["b/broker-stats-topics.json", "orders-stats.json"]}  # fmt: skip
    fleet_results.put_table(root, "answers", pa.table(answers))
    folder = result_at(root)
    for subscription, seen in (("orders", {keyed, others[0]}), ("", {keyed, *others})):
        [moment] = with_reports(part_of(folder, "", NAMESPACE, subscription), folder, "", NAMESPACE).moments
        assert moment.snapshot.topics.keys() == seen
        assert moment.snapshot.topics[keyed].subscriptions[0].msg_backlog_entries == 9


def test_a_part_comes_with_the_reports_that_were_kept_or_says_where_they_are(tmp_path: Path) -> None:
    folder = result_at(small_result(tmp_path / "out"))
    part = part_of(folder, "", NAMESPACE, "billing")
    without = with_reports(part, folder, "", NAMESPACE)
    assert (without.part, without.moments, [note.code for note in without.notes]) == (part, (), [NO_REPORTS])
    topic = f"persistent://{NAMESPACE}/alone"
    subscription = '{"type": "Failover", "unackedMessages": 7, "msgBacklog": 9}'
    stats = f'{{"{topic}": {{"subscriptions": {{"billing": {subscription}}}}}}}'
    answers = {"cluster": [""], "namespace": [NAMESPACE], "body": [stats.encode()], "file": ["east/orders-stats.json"]}
    fleet_results.put_table(tmp_path / "out", "answers", pa.table(answers))
    folder = result_at(tmp_path / "out")
    reported = with_reports(part_of(folder, "", NAMESPACE, "billing"), folder, "", NAMESPACE)
    [moment] = reported.moments
    [facts] = moment.snapshot.topics.values()
    assert [(seen.name, seen.unacked_messages, seen.msg_backlog_entries) for seen in facts.subscriptions] == [
        ("billing", 7, 9)
    ]
    assert reported.notes == ()

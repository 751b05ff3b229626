"""Topics in columns: mappings like any other, written as a recipe or as columns, and never spelled out for a step."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from engine.cluster.commands import AddConsumer, AddTopic, KillConsumer, RemoveTopic, SetSetting
from engine.cluster.journal.invariants import faults
from engine.cluster.journal.lines import header_line, read_lines
from engine.cluster.state import ClusterState
from engine.cluster.tables.loads import LoadTable, load_of, synthetic_loads, synthetic_topics
from engine.cluster.tables.texts import Texts
from engine.cluster.tables.topics import Load, Recipe, Topic, TopicTable
from engine.cluster.timeline import Timeline
from engine.cluster.topics import with_topic, without_loads, without_topic
from engine.errors import InputError
from engine.hashing import crc32_hash, murmur3_32
from engine.scenarios.synthetic import synthetic_state
from engine.views.failover.dashboard import dashboard_view
from tests.journal_bytes import parse_state, serialise_state

MANY = 2_000
RECIPE = Recipe("t/n", "persistent://t/n/x-", 3_000, 3, 11)


def large_state(topics: int = MANY, consumers: int = 40) -> ClusterState:
    return synthetic_state(topics, 1, consumers, 5).state


def test_made_up_traffic_in_bulk_is_that_of_each_name_bit_for_bit() -> None:
    """Nine thousand partitions, among them some whose rate lies next to the middle of two thousandths."""
    topics = synthetic_topics(RECIPE)
    loads = synthetic_loads(topics)
    names = [name for chunk in topics.partition_name_chunks() for name in chunk]
    assert len(names) == len(loads) == 9_000
    assert all(loads.at(number) == load_of(RECIPE.seed, name) for number, name in enumerate(names))
    assert loads[names[77]] == load_of(RECIPE.seed, names[77])


def test_they_are_mappings() -> None:
    """Look-ups, iteration, equality with plain dictionaries, and hashes of every partition's own name."""
    plain = {name: Topic(name, count) for name, count in (("persistent://t/n/é", 2), ("persistent://t/n/\ud800", 0))}
    topics = TopicTable.of(plain)
    assert topics == plain and dict(topics) == plain and "persistent://t/n/y" not in topics
    with pytest.raises(KeyError):
        topics["persistent://t/n/é-partition-0"]
    names = [name for chunk in topics.partition_name_chunks() for name in chunk]
    assert names == [name for topic in plain.values() for name in topic.partition_names()]
    assert topics.hash.tolist() == [murmur3_32(name) for name in names]
    assert topics.crc32.tolist() == [crc32_hash(name) for name in names]
    loads = {names[1]: Load(1.0, 2.0, 3.0, 4.0, 5, 6)}
    assert LoadTable.of(topics, loads) == loads and len(LoadTable.of(topics, {})) == 0
    assert Texts.of(["a", "b"]) == ("a", "b") and Texts.of(["a"]) != Texts.of(["b"])


def test_a_made_up_cluster_is_written_as_its_recipe() -> None:
    """Twice the topics, the same number of bytes; what is read back is the same state and continues the same way."""
    small, large = (large_state(MANY + more) for more in (0, MANY))
    assert abs(len(serialise_state(small)) - len(serialise_state(large))) < 10
    timeline = Timeline.start(small, 5, "made up")
    read = read_lines(header_line(timeline), "a journal").timeline
    assert read.state == small
    step = KillConsumer("billing", 3)
    assert dashboard_view(read.submit(step)[0]).consumers == dashboard_view(timeline.submit(step)[0]).consumers


def test_traffic_is_carried_from_columns_that_lost_their_last_topic() -> None:
    """The last topic goes, another one comes: an IndexError once, as soon as anybody asked for its traffic."""
    alone = TopicTable.of({"persistent://t/n/x": Topic("persistent://t/n/x", 2)})
    loads = LoadTable.of(alone, {"persistent://t/n/x-partition-0": Load(1.0)})
    nobody = without_topic(alone, "persistent://t/n/x")
    nothing = without_loads(nobody, loads, frozenset(loads))
    other = with_topic(nobody, Topic("persistent://t/n/y", 3))
    carried = LoadTable.of(other, nothing)
    assert len(nobody) == 0 and len(carried) == 0
    assert carried.rates.shape == (4, 3) and not carried.rates.any()


def test_other_columns_are_written_as_columns() -> None:
    """Names and arrays instead of a value for each partition."""
    state = large_state()
    edited, refused = Timeline.start(state).submit(AddTopic("persistent://public/default/é", 2))
    assert refused is None
    data = serialise_state(edited.state)
    assert parse_state(data) == edited.state
    assert len(data) < 80 * MANY


def test_other_traffic_than_that_of_the_recipe_is_written_down() -> None:
    state = replace(large_state(), loads=LoadTable.of(large_state().topics, {}))
    assert parse_state(serialise_state(state)) == state and not len(parse_state(serialise_state(state)).loads)


@pytest.mark.parametrize(
    "columns",
    [
        {"recipe": {"namespace": "t/n", "prefix": "x", "topics": -1, "partitions": 1, "seed": 0}},
        {"recipe": {"namespace": "t/n", "prefix": "x", "topics": 10**9, "partitions": 1, "seed": 0}},
        {"recipe": {"namespace": "other/n", "prefix": "persistent://t/n/x", "topics": 2, "partitions": 1, "seed": 0}},
        {"recipe": 7},
        [],
        {"names": ["persistent://t/n/x"], "partitions": "!", "rates": "", "counts": "", "known": ""},
        {"names": ["a", "a"], "partitions": "eJxjZGBgAAAABQAB", "rates": "", "counts": "", "known": ""},
    ],
)
def test_damaged_columns_are_refused_with_a_reason(columns: object) -> None:
    """Nothing that a file can hold in their place gets past the reader."""
    plain = json.loads(serialise_state(large_state()))
    with pytest.raises(InputError, match=r"columns|cannot be"):
        parse_state(json.dumps({**plain, "columns": columns}).encode())


def test_faults_are_found_in_columns_too() -> None:
    """A negative rate, and a namespace without bundles."""
    state = large_state()
    assert isinstance(state.topics, TopicTable) and isinstance(state.loads, LoadTable) and not faults(state)
    rates = state.loads.rates.copy()
    rates[2, 7] = -1.0
    assert "negative" in faults(replace(state, loads=LoadTable(state.topics, rates, state.loads.counts)))[0]
    assert "without bundles" in faults(replace(state, namespaces={}))[0]


def test_a_step_spells_no_names_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dashboard after a kill, a join, the flag, undo and redo asks for a handful of names, not for all."""
    timeline = Timeline.start(large_state())
    dashboard_view(timeline)
    asked: list[int] = []
    original = TopicTable.partition_name

    def counting(self: TopicTable, number: int) -> str:
        asked.append(number)
        return original(self, number)

    monkeypatch.setattr(TopicTable, "partition_name", counting)
    monkeypatch.setattr(TopicTable, "partition_name_chunks", lambda _self: pytest.fail("all names were asked for"))
    flag = SetSetting("activeConsumerFailoverConsistentHashing", "true")
    for command in (KillConsumer("billing", 1), flag, AddConsumer("billing", "new"), KillConsumer("billing", 2)):
        timeline, refused = timeline.submit(command)
        assert refused is None
        dashboard_view(timeline)
    for moved in (timeline.undo(), timeline.undo().redo(), timeline.home()):
        dashboard_view(moved)
    assert len(asked) < 20


def test_edits_hash_what_is_new_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic more and a topic less leave the hashes of the others as they were."""
    timeline = Timeline.start(large_state())
    monkeypatch.setattr(TopicTable, "_hashed", lambda _self: pytest.fail("all names were hashed again"))
    timeline, refused = timeline.submit(AddTopic("persistent://public/default/new", 3))
    assert refused is None
    name = timeline.initial.subscriptions[0].topics[7]
    timeline, refused = timeline.submit(RemoveTopic(name))
    assert refused is None
    state = timeline.state
    assert name not in state.topics and len(state.topics) == MANY
    assert len(state.loads) == MANY - 1 and not faults(state)
    assert state.subscriptions[0].topics[-1] == "persistent://public/default/new"

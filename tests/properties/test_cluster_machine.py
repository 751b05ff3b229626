"""The state machine of a cluster against a naive model: plain dicts and lists, and a choice by brute force.

After every step: the state is that of the model, every partition has exactly one active consumer while anyone is
connected (L5), it is the one a fresh cluster of the survivors has (L1), every partition lies in exactly one bundle
(L6), and folding the events gives the same bytes. A kill under the ring moves the killed one's partitions only (L2).
"""

from __future__ import annotations

import zlib
from copy import deepcopy
from functools import cache
from itertools import pairwise
from typing import Any

import mmh3
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    SplitBundle,
)
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.journal.invariants import check
from engine.cluster.journal.lines import cursor_line, header_line, read_lines, step_line
from engine.cluster.moves import moves
from engine.cluster.owners import active_consumers
from engine.cluster.state import ClusterState, Namespace, Subscription, bundles_of
from engine.cluster.timeline import Timeline
from tests.journal_bytes import parse_command_json, parse_state, serialise_command, serialise_state
from tests.properties.strategies import consumer_names

FLAG = "activeConsumerFailoverConsistentHashing"
LIMITS = ("maxConsumersPerSubscription", "maxConsumersPerTopic")
QUARTERS = [0, 0x40000000, 0x80000000, 0xC0000000, 0xFFFFFFFF]
TOPICS = [f"persistent://t/n/{name}" for name in ("x", "y", "z-partition-1", "z")]
KEYS = ("left", "right", "nobody")
RELEASES = ("2.11.0", "3.0.7", "4.0.0", "4.0.1", "4.2.4", "5.0.1")
Model = dict[str, Any]


def new_model() -> Model:
    return {
        "release": "4.2.4",
        "flag": "false",
        "maxConsumersPerSubscription": "0",
        "maxConsumersPerTopic": "0",
        "topics": {},
        "left": {"topics": [], "consumers": []},
        "right": {"topics": [], "consumers": []},
        "bounds": list(QUARTERS),
        "next": 0,
    }


def opening() -> ClusterState:
    """Two regex subscriptions in one namespace, with nothing in them yet."""
    return ClusterState(
        release="4.2.4",
        subscriptions=(Subscription("left", "left", "t/n", (), ()), Subscription("right", "right", "t/n", (), ())),
        namespaces={"t/n": Namespace("t/n", tuple(QUARTERS))},
    )


def busy(model: Model, key: str, others: int) -> bool:
    """Whether a broker keeps one more consumer out."""
    per_topic, per_subscription = (int(model[name]) for name in reversed(LIMITS))
    mine = model[key]
    elsewhere = [model[other] for other in ("left", "right") if other != key]
    for topic in mine["topics"]:
        there = others + sum(len(sub["consumers"]) for sub in elsewhere if topic in sub["topics"])
        if 0 < per_topic <= there:
            return True
    return 0 < per_subscription <= others


def expect(model: Model, command: Command) -> Model | None:
    """The model after a command, None when it must be refused; written without looking at the engine."""
    after = deepcopy(model)
    match command:
        case AddConsumer(key, name, level):
            if key == "nobody" or busy(model, key, len(model[key]["consumers"])):
                return None
            after[key]["consumers"].append((after["next"], name, level))
            after["next"] += 1
        case KillConsumer(key, number):
            kept = [each for each in model.get(key, {"consumers": []})["consumers"] if each[0] != number]
            if key == "nobody" or len(kept) == len(model[key]["consumers"]):
                return None
            after[key]["consumers"] = kept
        case RenameConsumer() | SetPriorityLevel():
            return expect_reconnect(model, after, command)
        case SetSetting(name, text):
            after["flag" if name == FLAG else name] = text
        case SetRelease(version):
            after["release"] = version
        case AddTopic() | RemoveTopic() | RepartitionTopic():
            return expect_topic(model, after, command)
        case SplitBundle():
            return expect_split(model, after, command)
    return after


def expect_reconnect(model: Model, after: Model, command: RenameConsumer | SetPriorityLevel) -> Model | None:
    result = [
        each
        for each in model.get(command.subscription, {"consumers": []})["consumers"]
        if each[0] == command.consumer_id
    ]
    if not result:
        return None
    (number, name, level), key = result[0], command.subscription
    new = (command.name, level) if isinstance(command, RenameConsumer) else (name, command.priority_level)
    if new == (name, level):
        return after
    if busy(model, key, len(model[key]["consumers"]) - 1):
        return None
    after[key]["consumers"] = [each for each in model[key]["consumers"] if each[0] != number]
    after[key]["consumers"].append((after["next"], *new))
    after["next"] += 1
    return after


def expect_topic(model: Model, after: Model, command: AddTopic | RemoveTopic | RepartitionTopic) -> Model | None:
    topics, topic = model["topics"], command.topic
    if isinstance(command, RemoveTopic):
        if topic not in topics:
            return None
        del after["topics"][topic]
        for key in ("left", "right"):
            after[key]["topics"] = [each for each in model[key]["topics"] if each != topic]
        return after
    known = topic in topics
    if known == isinstance(command, AddTopic) or (isinstance(command, RepartitionTopic) and topics[topic] == 0):
        return None
    count = command.partitions
    if known and count < topics[topic]:
        return None
    after["topics"][topic] = count
    expected = [name for each, number in after["topics"].items() for name in dispatchers(each, number)]
    stray_in_use = topic == TOPICS[2] and topics.get(TOPICS[3], 0) > 0
    if len(set(expected)) != len(expected) or stray_in_use or (count > 0 and topic == TOPICS[2]):
        return None
    if not known:
        room = int(model["maxConsumersPerTopic"]) or 10**9
        per_subscription = int(model["maxConsumersPerSubscription"]) or 10**9
        for key in ("left", "right"):
            size = len(model[key]["consumers"])
            if size <= room and size <= per_subscription:
                room -= size
                after[key]["topics"].append(topic)
    return after


def expect_split(model: Model, after: Model, command: SplitBundle) -> Model | None:
    low, high = (int(part, 16) for part in command.bundle.split("_"))
    if (low, high) not in pairwise(model["bounds"]) or high - low <= 1:
        return None
    names = [name for each, number in model["topics"].items() for name in dispatchers(each, number)]
    inside = sorted(h for h in map(crc, names) if low <= h < high or (h == high == 0xFFFFFFFF))
    if command.algorithm == "range_equally_divide":
        cuts = [low + (high - low) // 2]
    elif len(inside) <= 1:
        return None
    elif command.algorithm == "topic_count_equally_divide":
        start, end = inside[max(len(inside) // 2 - 1, 0)], inside[len(inside) // 2]
        cuts = [start + (end - start) // 2]
    else:
        cuts = [position for position in command.positions if low < position < high]
    if not cuts or len(set(cuts)) != len(cuts) or min(cuts) <= low:
        return None
    after["bounds"] = sorted([*model["bounds"], *cuts])
    return after


def dispatchers(topic: str, partitions: int) -> list[str]:
    return [f"{topic}-partition-{index}" for index in range(partitions)] or [topic]


def crc(name: str) -> int:
    return zlib.crc32(name.encode())


@cache
def points(name: str) -> list[int]:
    return [mmh3.hash(f"{name}{number}", 0, signed=False) & 0x7FFFFFFF for number in range(100)]


def units(name: str) -> list[int]:
    data = name.encode("utf-16-be")
    return [data[at] * 256 + data[at + 1] for at in range(0, len(data), 2)]


def by_brute_force(model: Model, key: str) -> dict[str, int | None]:
    """The id of the active consumer of every partition, from the rules in Pulsar's words."""
    results: dict[str, int | None] = {}
    consumers = model[key]["consumers"]
    order = sorted(consumers, key=lambda each: (each[2], units(each[1])))
    cohort = [each for each in order if each[2] == order[0][2]]
    flag = model["flag"] == "true" and model["release"] in ("4.0.1", "4.2.4", "5.0.1")
    for topic in model[key]["topics"]:
        for name in dispatchers(topic, model["topics"][topic]):
            _, cut, digits = name.rpartition("-partition-")
            if not consumers:
                results[name] = None
            elif cut and not flag:
                results[name] = cohort[int(digits) % len(cohort)][0]
            elif not cut and model["release"] == "2.11.0":
                results[name] = consumers[0][0]
            else:
                ring = {point: each[0] for each in cohort for point in points(each[1])}
                place = mmh3.hash(name, 0, signed=False) & 0x7FFFFFFF
                results[name] = ring[min((point for point in ring if point >= place), default=min(ring))]
    return results


def active_ids(state: ClusterState, key: str) -> dict[str, int | None]:
    subscription = next(subscription for subscription in state.subscriptions if subscription.key == key)
    return {
        name: None if consumer is None else consumer.consumer_id
        for name, consumer in active_consumers(state, subscription).items()
    }


class ClusterMachine(RuleBasedStateMachine):
    """Commands, undo, redo and branches in any order; ``models`` holds the naive model after each step by number."""

    @initialize(
        setup=st.lists(st.sampled_from(TOPICS[:2]), max_size=2, unique=True),
        flag=st.booleans(),
        limits=st.sampled_from([("0", "0"), ("0", "0"), ("3", "0"), ("0", "3"), ("0", "4")]),
        stray=st.booleans(),
    )
    def open(self, setup: list[str], flag: bool, limits: tuple[str, str], stray: bool) -> None:
        self.timeline = Timeline.start(opening(), seed=11)
        self.models: dict[int, Model] = {0: new_model()}
        self.folded: dict[int, ClusterState] = {}
        if flag:
            self.submit(SetSetting(FLAG, "true"))
        for topic in setup:
            self.submit(AddTopic(topic, 5))
        for key, name in (("left", "c-1"), ("left", "c-11"), ("right", "c-1")):
            self.submit(AddConsumer(key, name))
        for name, limit in zip(LIMITS, limits, strict=True):
            self.submit(SetSetting(name, limit))
        if stray:
            self.submit(AddTopic(TOPICS[2]))

    def connected(self, key: str, place: int) -> int:
        """The id of a connected consumer; an unused id if none is connected."""
        result = self.model[key]["consumers"] if key != "nobody" else []
        return result[place][0] if place < len(result) else 99

    @property
    def model(self) -> Model:
        return self.models[self.timeline.steps[self.timeline.cursor - 1].number if self.timeline.cursor else 0]

    def submit(self, command: Command) -> None:
        before, model = self.timeline, self.model
        expected = expect(model, command)
        self.timeline, rejection = before.submit(command)
        assert (rejection is None) == (expected is not None), f"{command}: {rejection}"
        assert (self.timeline is before) == (expected is None or expected == model), command
        assert parse_command_json(serialise_command(command)) == command
        assert parse_command(command_text(command, before.state), before.state) == command
        if self.timeline is not before:
            assert expected is not None
            assert self.timeline.undo().state == before.state
            self.models[self.timeline.steps[-1].number] = expected

    @rule(key=st.sampled_from(KEYS), name=consumer_names(), level=st.sampled_from([0, 0, 0, 1, -1]))
    def add(self, key: str, name: str, level: int) -> None:
        self.submit(AddConsumer(key, name, level))

    @rule(key=st.sampled_from(KEYS), place=st.integers(0, 3))
    def kill(self, key: str, place: int) -> None:
        before, number = self.timeline.state, self.connected(key, place)
        owners = {} if key == "nobody" else active_ids(before, key)
        self.submit(KillConsumer(key, number))
        model = self.model
        if model["flag"] == "true" and model["release"] in ("4.0.1", "4.2.4"):
            result = moves(before, self.timeline.state, key)
            assert all(owners[name] == number for name in result.moved), "L2: a bystander's partition moved"
            assert result.least == len(result.moved), "and so no smaller number of moves would do"

    @rule(key=st.sampled_from(KEYS), place=st.integers(0, 3), name=consumer_names())
    def rename(self, key: str, place: int, name: str) -> None:
        self.submit(RenameConsumer(key, self.connected(key, place), name))

    @rule(key=st.sampled_from(KEYS), place=st.integers(0, 3), level=st.integers(-1, 1))
    def level(self, key: str, place: int, level: int) -> None:
        self.submit(SetPriorityLevel(key, self.connected(key, place), level))

    @rule(text=st.sampled_from(["true", "false"]))
    def flag(self, text: str) -> None:
        self.submit(SetSetting(FLAG, text))

    @rule(name=st.sampled_from(LIMITS), limit=st.sampled_from(["0", "1", "2", "3", "4"]))
    def limit(self, name: str, limit: str) -> None:
        self.submit(SetSetting(name, limit))

    @rule(version=st.sampled_from(RELEASES))
    def release(self, version: str) -> None:
        self.submit(SetRelease(version))

    @rule(topic=st.sampled_from(TOPICS), partitions=st.sampled_from([0, 0, 2, 5]))
    def add_topic(self, topic: str, partitions: int) -> None:
        self.submit(AddTopic(topic, partitions))

    @rule(topic=st.sampled_from(TOPICS))
    def remove_topic(self, topic: str) -> None:
        self.submit(RemoveTopic(topic))

    @rule(topic=st.sampled_from(TOPICS), partitions=st.integers(1, 9))
    def repartition(self, topic: str, partitions: int) -> None:
        self.submit(RepartitionTopic(topic, partitions))

    @rule(data=st.data(), algorithm=st.sampled_from(["range_equally_divide", "topic_count_equally_divide"]))
    def split(self, data: st.DataObject, algorithm: str) -> None:
        low, high = data.draw(st.sampled_from(list(pairwise(self.model["bounds"]))))
        command = SplitBundle("t/n", f"{low:#010x}_{high:#010x}", algorithm)
        self.submit(command)
        # B03: the bundle is gone, so the same request can do nothing a second time.
        if self.model["bounds"].count(low) and (low, high) not in pairwise(self.model["bounds"]):
            boundaries = bundles_of(self.timeline.state, "t/n").boundaries
            self.submit(command)
            assert bundles_of(self.timeline.state, "t/n").boundaries == boundaries

    @rule(data=st.data(), bundle=st.integers(0, 3))
    def split_at(self, data: st.DataObject, bundle: int) -> None:
        low, high = QUARTERS[bundle], QUARTERS[bundle + 1]
        positions = st.lists(
            st.integers(low - 2, high + 2) | st.sampled_from([low, low + 1, high - 1]), min_size=1, max_size=3
        )
        cuts = tuple(data.draw(positions))
        self.submit(SplitBundle("t/n", f"{low:#010x}_{high:#010x}", "specified_positions_divide", cuts))

    @rule(count=st.integers(-4, 4))
    def travel(self, count: int) -> None:
        before = self.timeline
        self.timeline = before.step_by(count)
        assert self.timeline.cursor == min(max(before.cursor + count, 0), before.length)
        assert self.timeline.go_to(before.cursor).state == before.state

    @precondition(lambda self: len(self.timeline.branches) > 1)
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.timeline.branches) - 1))
        self.timeline = self.timeline.switch_branch(place)
        assert self.timeline.branches[place].current

    @invariant()
    def the_state_is_that_of_the_model(self) -> None:
        state, model = self.timeline.state, self.model
        check(state)
        assert (state.release, state.settings.text_of(FLAG)) == (model["release"], model["flag"])
        assert [state.settings.text_of(name) for name in LIMITS] == [model[name] for name in LIMITS]
        assert {name: topic.partitions for name, topic in state.topics.items()} == model["topics"]
        assert list(bundles_of(state, "t/n").boundaries) == model["bounds"]
        assert state.next_consumer_id == model["next"]
        for subscription in state.subscriptions:
            mine = model[subscription.key]
            assert list(subscription.topics) == mine["topics"]
            assert [(c.consumer_id, c.name, c.priority_level) for c in subscription.consumers] == mine["consumers"]

    @invariant()
    def l5_every_partition_has_the_consumer_that_brute_force_finds(self) -> None:
        for key in ("left", "right"):
            assert active_ids(self.timeline.state, key) == by_brute_force(self.model, key)

    @invariant()
    def l1_a_fresh_cluster_of_the_survivors_chooses_alike(self) -> None:
        """Who left, and what was undone, leaves no trace; the order of the survivors is part of the input."""
        model = self.model
        fresh = opening()
        commands: list[Command] = [SetRelease(model["release"]), SetSetting(FLAG, model["flag"])]
        commands += [AddTopic(topic, count) for topic, count in model["topics"].items()]
        commands += [AddConsumer(key, name, level) for key in KEYS[:2] for _, name, level in model[key]["consumers"]]
        for command in commands:
            outcome = decide(fresh, command)
            assert isinstance(outcome, tuple), outcome
            for event in outcome:
                fresh = evolve(fresh, event)
        number = {each[0]: at for at, each in enumerate([*model["left"]["consumers"], *model["right"]["consumers"]])}
        for key in KEYS[:2]:
            chosen, live = active_ids(fresh, key), active_ids(self.timeline.state, key)
            assert {n: None if i is None else number[i] for n, i in live.items()} == {
                name: chosen[name] for name in chosen if name in live
            }

    @invariant()
    def l6_every_partition_lies_in_exactly_one_bundle(self) -> None:
        bundles = bundles_of(self.timeline.state, "t/n")
        for topic, count in self.model["topics"].items():
            for name in dispatchers(topic, count):
                assert sum(bundle.includes(crc(name)) for bundle in bundles) == 1

    @invariant()
    def replaying_the_log_gives_the_same_bytes(self) -> None:
        """One way leads from the opening to a step, so folding goes on from the step before it."""
        state = self.timeline.initial
        for step in self.timeline.steps[: self.timeline.cursor]:
            if step.number not in self.folded:
                for event in step.events:
                    state = evolve(state, event)
                self.folded[step.number] = state
            state = self.folded[step.number]
        live = serialise_state(self.timeline.state)
        assert serialise_state(state) == live
        assert serialise_state(parse_state(live)) == live

    def teardown(self) -> None:
        """The lines of a journal tell the whole tree and the cursor."""
        if not hasattr(self, "timeline"):
            return
        timeline = self.timeline
        place = (timeline.steps[-1].number, timeline.cursor) if timeline.steps else None
        lines = [header_line(timeline), *map(step_line, timeline.log), *([cursor_line(*place)] if place else [])]
        result = read_lines(b"".join(lines), "journal")
        assert result.problems == ()
        assert (result.timeline.cursor, result.timeline.branches) == (timeline.cursor, timeline.branches)
        assert serialise_state(result.timeline.state) == serialise_state(timeline.state)


TestClusterMachine = ClusterMachine.TestCase
TestClusterMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)

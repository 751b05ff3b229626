"""A cluster with a Key_Shared subscription under arbitrary commands: its state, its journal, its screen agree.

After every step: nothing is wrong with the state, folding what was written down gives the same state, every slot has
at most one owner and the screen counts each once, what the screen says moved is what a slot-by-slot comparison finds,
and commands read back from their own words.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    KillConsumer,
    PassTime,
    RenameConsumer,
    SendKeys,
    SetRelease,
    SetSetting,
    ShareKeys,
    SubscribeKeyShared,
)
from engine.cluster.keys.state import KeySubscription, SharingMode
from engine.cluster.state import ClusterState, Namespace
from engine.cluster.tables.topics import Topic
from engine.cluster.timeline import Timeline
from engine.views.keys.view import keys_view
from engine.views.timeline import state_before
from tests.properties.timeline_machine import TimelineMachine

TOPIC = "persistent://t/n/orders"
KEY = "orders"
NAMES = ("a", "b", "c", "c1", "")
TEXTS = ("k0", "k1", "k2", "k3", "k4", "", "hex:00ff", "text:hex:aa")
PROBES = range(0, 65_536, 61)


def opening() -> ClusterState:
    return ClusterState(
        topics={TOPIC: Topic(TOPIC)},
        namespaces={"t/n": Namespace("t/n", (0, 0x80000000, 0xFFFFFFFF))},
    )


class KeyCluster(TimelineMachine):
    """Commands of people, refused or not."""

    @initialize()
    def open(self) -> None:
        self.timeline = Timeline.start(opening(), 7, "machine")
        self.submit(SubscribeKeyShared(KEY, TOPIC))

    @property
    def shared(self) -> KeySubscription:
        return self.timeline.state.key_subscriptions[0]

    def consumer(self, place: int) -> int:
        consumers = self.shared.consumers
        return consumers[place % len(consumers)].consumer_id if consumers else place

    @rule(name=st.sampled_from(NAMES))
    def add(self, name: str) -> None:
        refusal = self.submit(AddConsumer(KEY, name))
        # Nobody is refused where nothing is declared; where it is, no range at all is.
        assert (refusal is not None) == (self.shared.mode is SharingMode.STICKY)

    @rule(start=st.integers(-1, 65_540), size=st.integers(-1, 30_000))
    def declare(self, start: int, size: int) -> None:
        before = self.shared
        owned = {slot for slot in range(max(start, 1), start + size + 1) if before.delivery.selector.owner(slot)}
        refusal = self.submit(AddConsumer(KEY, "d", 0, ((start, start + size),)))
        if before.declares and not refusal:
            assert not owned and start >= 0 and size >= 0 and start + size <= 65_535

    @rule(place=st.integers(0, 5))
    def kill(self, place: int) -> None:
        gone = self.consumer(place)
        connected = bool(self.shared.consumers)
        refusal = self.submit(KillConsumer(KEY, gone))
        assert (refusal is None) == connected
        assert all(consumer.consumer_id != gone for consumer in self.shared.consumers)

    @rule(place=st.integers(0, 5), name=st.sampled_from(NAMES))
    def rename(self, place: int, name: str) -> None:
        self.submit(RenameConsumer(KEY, self.consumer(place), name))

    @rule(mode=st.sampled_from([each.value for each in SharingMode]), points=st.sampled_from([0, 1, 4, 30]))
    def share(self, mode: str, points: int) -> None:
        names = sorted(consumer.name for consumer in self.shared.consumers)
        refusal = self.submit(ShareKeys(KEY, mode, points))
        if refusal is None:
            assert self.shared.mode.value == mode
            assert sorted(consumer.name for consumer in self.shared.consumers) == names

    @rule(keys=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), times=st.integers(1, 3))
    def send(self, keys: list[str], times: int) -> None:
        known = sum(self.shared.keys.values())
        assert self.submit(SendKeys(KEY, tuple(keys), times)) is None
        assert sum(self.shared.keys.values()) == known + len(keys) * times

    @rule(place=st.none() | st.integers(0, 5), key=st.none() | st.sampled_from(TEXTS), count=st.integers(0, 3))
    def acknowledge(self, place: int | None, key: str | None, count: int) -> None:
        before = len(self.shared.delivery.backlog)
        self.submit(Acknowledge(KEY, None if place is None else self.consumer(place), key, count))
        assert len(self.shared.delivery.backlog) <= before

    @rule(duration=st.sampled_from([1, 9, 10, 50]))
    def wait(self, duration: int) -> None:
        before = self.shared.now_ms
        assert self.submit(PassTime(duration)) is None
        assert self.shared.now_ms == before + duration

    @rule(classic=st.sampled_from(["true", "false"]))
    def classic(self, classic: str) -> None:
        self.submit(SetSetting("subscriptionKeySharedUseClassicPersistentImplementation", classic))

    @rule(version=st.sampled_from(["2.11.0", "3.0.7", "4.0.0", "4.2.4", "5.0.1"]))
    def release(self, version: str) -> None:
        names = [consumer.name for consumer in self.shared.consumers]
        assert self.submit(SetRelease(version)) is None
        assert [consumer.name for consumer in self.shared.consumers] == names or self.shared.declares

    def same_history(self, written: ClusterState) -> None:
        assert written.key_subscriptions[0].delivery == self.shared.delivery
        assert written.key_subscriptions[0].keys == self.shared.keys

    @invariant()
    def the_screen_counts_every_slot_once(self) -> None:
        view = keys_view(self.timeline, KEY)
        assert sum(row.slots for row in view.consumers) + view.foot.unowned_slots == view.foot.slots
        assert sum(row.keys for row in view.consumers) + view.foot.unowned_keys == view.foot.keys
        assert view.foot.waiting == sum(row.messages for row in view.waits)
        held = sum(row.unacked for row in view.consumers)
        assert held + view.foot.waiting == len(self.shared.delivery.backlog)
        selector = self.shared.delivery.selector
        ids = [row.consumer_id for row in view.consumers]
        for text, slot, owner in zip(
            view.ring.topic_names, view.ring.topic_hashes.tolist(), view.ring.topic_owners.tolist(), strict=True
        ):
            assert selector.owner(slot) == (ids[owner] if owner >= 0 else None), text

    @invariant()
    def what_moved_is_what_a_comparison_slot_by_slot_finds(self) -> None:
        before = state_before(self.timeline)
        if before is None or not before.key_subscriptions:
            return
        was, now = before.key_subscriptions[0].delivery.selector, self.shared.delivery.selector
        if was.slots.high != now.slots.high or was.slots.low != now.slots.low or now.slots.high > 65_536:
            return
        gained: dict[Any, int] = {}
        for slot in PROBES:
            old, new = was.owner(slot or 1), now.owner(slot or 1)
            if old != new and new is not None:
                gained[new] = gained.get(new, 0) + 1
        rows = {row.consumer_id: row.gained_slots for row in keys_view(self.timeline, KEY).consumers}
        assert all(rows[owner] >= count for owner, count in gained.items())
        assert all(gained.get(owner, 0) > 0 for owner, count in rows.items() if count > 5_000)


KeyCluster.TestCase.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
TestKeyCluster = KeyCluster.TestCase

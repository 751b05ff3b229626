"""One scalable topic on a real broker with the v5 client: each change is predicted first, then made, then compared."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from msgspec import structs

from engine.admin.files import AnswerFile
from engine.admin.scalable import decode_record, decode_scalable_stats
from engine.admin.snapshot import read_answers
from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.scalable.group import JOINING_MS, Group
from engine.cluster.scalable.opening import statistics_of
from engine.cluster.scalable.running import (
    Running,
    join,
    merge_segments,
    passed,
    rebucket_segments,
    scaling_state,
    split_segment,
)
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.scalable.coordinator import GRACE_PERIOD_SECONDS
from engine.scalable.model import Layout
from engine.scalable.routing import router
from engine.scalable.scaling import Action, Step, next_steps
from engine.scalable.statistics import TopicStatistics
from engine.scenarios.opening import open_snapshot
from tests.broker.driving import FOUND
from tests.broker.java_client import ScalableClient
from tests.broker.standalone import Broker, BrokerFailedError

T = TypeVar("T")
SETTLE_S: Final = 60.0
"""How long a broker and its clients may take to become what is expected."""
LOOK_S: Final = 0.1
REST_MS: Final = 2500
"""Until then the controller has found all drained segments without a backlog, and clients have followed."""
GENERATIONS: Final = 8
"""So many generations of segments are drained, one after another; twice as long is less than the minute that prunes."""
STUCK_S: Final = 20.0
"""After so long what did not change is not about to."""
SENDER: Final = "sender"
STREAM, CHECKPOINT = "STREAM", "CHECKPOINT"
Received = list[tuple[str | None, int]]


@dataclass(frozen=True)
class Reading:
    """What the broker answers at one moment."""

    at_ms: int
    record: bytes
    statistics: bytes

    def layout(self) -> Layout:
        layout = decode_record(self.record).good
        assert layout is not None
        return layout

    def printed(self) -> TopicStatistics:
        statistics = decode_scalable_stats(self.statistics).good
        assert statistics is not None
        return statistics


class ScalableDriven:
    """A new topic with producer, and its model. ``checked`` counts predictions by what they are of."""

    def __init__(
        self, broker: Broker, client: ScalableClient, name: str, segments: int, policy: dict[str, Any]
    ) -> None:
        self.broker, self.client = broker, client
        self.topic = f"topic://{name}"
        self.path = f"/admin/v2/scalable/{name}"
        self.consumers: dict[str, tuple[str, str]] = {}
        """Subscription and kind of each."""
        self.holding: set[str] = set()
        """The subscriptions whose consumers acknowledge nothing."""
        self.checked: Counter[str] = Counter()
        self.done: list[str] = []
        self._turn = 0
        """Messages without a key, which only the producer counts."""
        self._sent = 0
        broker.admin("PUT", f"{self.path}?numInitialSegments={segments}")
        broker.admin("POST", f"{self.path}/autoScalePolicy", policy)
        client.produce(SENDER, self.topic)

    def reading(self) -> Reading:
        """The record and statistics; once more where the layout changed between the two."""
        while True:
            record, statistics = self.broker.raw(self.path), self.broker.raw(f"{self.path}/stats")
            reading = Reading(int(time.time() * 1000), record, statistics)
            if reading.layout().epoch == reading.printed().layout.epoch:
                return reading

    def opened(self, reading: Reading | None = None) -> Timeline:
        """The topic in the model, as the broker prints it now or did then."""
        reading = reading or self.reading()
        files = ((self.path, reading.record), (f"{self.path}/stats", reading.statistics))
        snapshot = read_answers(*(AnswerFile(f"{path.removeprefix('/')}.json", data) for path, data in files))
        state = open_snapshot(snapshot, now_ms=reading.at_ms).state
        (topic,) = state.scalable_topics
        known = replace(topic, running=replace(topic.running, turn=self._turn))
        return Timeline.start(structs.replace(state, scalable_topics=(known,)), 0, self.broker.url)

    def submitted(self, timeline: Timeline, line: str) -> tuple[Timeline, Rejection | None]:
        command = parse_command(line, timeline.state)
        assert isinstance(command, Command), (line, command)
        return timeline.submit(command)

    def at_rest(self, timeline: Timeline) -> Timeline:
        """The topic when nothing changes any more, since consumers acknowledge what they are given."""
        for _ in range(GENERATIONS):
            for name in {of for of, kind in self.consumers.values() if kind == STREAM} - self.holding:
                timeline = self.submitted(timeline, f"consumer ack all of {name}")[0]
            timeline = self.submitted(timeline, f"wait {REST_MS}")[0]
        return timeline

    # changes

    def split(self, segment: int, *, settles: bool = True) -> None:
        self._change(f"segment split {segment}", f"split/{segment}", settles)

    def merge(self, first: int, second: int, *, settles: bool = True) -> None:
        self._change(f"segment merge {first} {second}", f"merge/{first}/{second}", settles)

    def rebucket(self, segment: int, buckets: int, *, settles: bool = True) -> None:
        self._change(f"segment rebucket {segment} {buckets}", f"rebucket/{segment}?bucketCount={buckets}", settles)

    def _change(self, line: str, request: str, settles: bool) -> None:
        """Compare the layout, or the words of the refusal; where all may settle, also who has the segments then."""
        timeline, refused = self.submitted(self.opened(), line)
        self.done.append(line)
        try:
            self.broker.admin("POST", f"{self.path}/{request}")
        except BrokerFailedError as error:
            assert refused is not None, f"{self.done}: {error}"
            self.require("refusal", True, refused.message in str(error))
            return
        assert refused is None, f"{self.done}: {refused}"
        kind = line.split()[1]
        self.require(kind, layout_facts(running_of(timeline).layout), layout_facts(self.reading().layout()))
        if settles:
            self._compare_deal(running_of(self.at_rest(timeline)))

    def join(self, name: str, subscription: str, kind: str) -> None:
        word = " checkpoint" if kind == CHECKPOINT else ""
        timeline, refused = self.submitted(self.opened(), f"consumer join {name}{word} to {subscription}")
        assert refused is None
        self.done.append(f"join {name} to {subscription}")
        assert self.client.join(name, self.topic, subscription, kind) == "ok", self.done
        self.consumers[name] = (subscription, kind)
        expected = layout_facts(running_of(timeline).layout)
        observed = self.settled(lambda: layout_facts(self.reading().layout()), lambda seen: seen == expected)
        self.require("join", expected, observed)
        self._compare_deal(running_of(self.at_rest(timeline)))

    def join_scaling(self, name: str, subscription: str, kind: str) -> Step:
        """Join while nothing but a join lets the controller evaluate: it takes one of the predicted steps at once."""
        timeline = self.opened()
        for each in {one for one, its_kind in self.consumers.values() if its_kind == STREAM}:
            timeline = self.submitted(timeline, f"consumer ack all of {each}")[0]
        running = running_of(timeline)
        quiet = replace(running, settings=replace(running.settings, enabled=False))
        joined = join(quiet, subscription, name, "STREAM" if kind == STREAM else "CHECKPOINT")
        assert isinstance(joined, Running), joined
        found = candidates(replace(joined, settings=running.settings))
        layouts = [layout_facts(after.layout) for _, after in found]
        self.done.append(f"join {name} to {subscription}, expecting {[step for step, _ in found]}")
        assert self.client.join(name, self.topic, subscription, kind) == "ok", self.done
        self.consumers[name] = (subscription, kind)
        observed = self.settled(lambda: layout_facts(self.reading().layout()), lambda seen: seen in layouts)
        self.require("automatic step", layouts, observed, agrees=observed in layouts)
        step, after = found[layouts.index(observed)]
        self.require("reason", step.shown, self.reading().printed().autoScale.blockedReason or "")
        self._compare_deal(passed(after, after.now_ms + 2 * REST_MS))
        return step

    def split_undrained(self, segment: int, subscription: str) -> None:
        """Split a segment of which nothing is acknowledged: its children wait, and no longer once all is."""
        names = [name for name, (of, _) in self.consumers.items() if of == subscription]
        for name in names:
            self.client.hold(name)
        self.holding.add(subscription)
        self.send(self.keys_of(segment, 3))
        line = f"segment split {segment}"
        timeline, refused = self.submitted(self.opened(), line)
        assert refused is None
        self.done.append(f"{line}, nothing acknowledged")
        self.broker.admin("POST", f"{self.path}/split/{segment}")
        self.require("split", layout_facts(running_of(timeline).layout), layout_facts(self.reading().layout()))
        timeline = self.at_rest(timeline)
        assert running_of(timeline).groups[subscription].coordinator.blocked
        self._compare_deal(running_of(timeline))
        self.done.append("all acknowledge")
        self.holding.remove(subscription)
        for name in names:
            self.client.acknowledge(name)
        self._compare_deal(running_of(self.at_rest(timeline)))

    def refused_join(self, name: str, subscription: str) -> None:
        """A newcomer that would share the segment of one that does not acknowledge leaves after half a minute."""
        (holder,) = self.consumers
        self.client.hold(holder)
        self.send(("k",))
        timeline = self.submitted(self.opened(), f"consumer join {name} to {subscription}")[0]
        waited = self.submitted(timeline, f"wait {JOINING_MS + REST_MS}")[0]
        left = [one.names for one in running_of(waited).log if one.what == "refused"]
        self.done.append(f"join {name} while {holder} acknowledges nothing")
        answer = self.client.join(name, self.topic, subscription, STREAM)
        self.require("refused newcomer", left, [(name,)] if answer == "ConsumerBusyException" else answer)
        self._compare_deal(running_of(waited))
        self.client.acknowledge(holder)

    def close_while_others_hold(self, name: str, subscription: str, hold_s: float) -> None:
        """A consumer leaves, and the others acknowledge so late what they hold that their hand-overs never end."""
        others = [one for one in self.consumers if one != name]
        for other in others:
            self.client.hold(other)
        self.holding.add(subscription)
        self.send([key for segment in self.reading().layout().active() for key in self.keys_of(segment.segment_id, 2)])
        timeline = self.submitted(self.opened(), f"consumer close {name} of {subscription}")[0]
        self.close(name)
        self.done.append(f"the others acknowledge after {hold_s} s")
        time.sleep(hold_s)
        self.holding.remove(subscription)
        for other in others:
            self.client.acknowledge(other)
        timeline = self.submitted(timeline, f"wait {round(hold_s * 1000)}")[0]
        timeline = self.submitted(timeline, f"consumer ack all of {subscription}")[0]
        running = running_of(self.at_rest(timeline))
        assert {one.what for one in running.log} >= {"stuck"}
        time.sleep(STUCK_S)
        self._compare_deal(running)

    def lose(self, name: str, subscription: str, other: ScalableClient) -> None:
        """Let the process of a consumer die: nothing moves in its grace period, all is dealt anew after it."""
        timeline = self.opened()
        assert other.join(name, self.topic, subscription, STREAM) == "ok"
        timeline = self.submitted(timeline, f"consumer join {name} to {subscription}")[0]
        self._compare_deal(running_of(self.at_rest(timeline)))
        timeline = self.submitted(self.opened(), f"consumer lose {name} of {subscription}")[0]
        self.done.append(f"{name} is lost")
        other.kill()
        self._compare_deal(running_of(self.at_rest(timeline)))
        self.done.append("its grace period ends")
        time.sleep(GRACE_PERIOD_SECONDS)
        self._compare_deal(running_of(self.submitted(timeline, f"wait {GRACE_PERIOD_SECONDS * 1000 + REST_MS}")[0]))

    def allow(self, policy: dict[str, Any]) -> None:
        """Let the topic scale by itself from now on."""
        self.broker.admin("POST", f"{self.path}/autoScalePolicy", policy)

    def keys_of(self, segment: int, count: int) -> list[str]:
        """Keys that go to an active segment."""
        routes = router(self.reading().layout().active())

        def goes_there(key: str) -> bool:
            found = routes.of_key(key)
            return not isinstance(found, Rejection) and found.segment_id == segment

        return list(itertools.islice(filter(goes_there, map("k{}".format, itertools.count())), count))

    def close(self, name: str) -> None:
        subscription, _ = self.consumers.pop(name)
        timeline, refused = self.submitted(self.opened(), f"consumer close {name} of {subscription}")
        assert refused is None
        self.done.append(f"close {name}")
        self.client.close(name)
        self._compare_deal(running_of(self.at_rest(timeline)), "leave")

    def send(self, keys: Sequence[str | None]) -> None:
        """Messages: the segment of each, and who receives it."""
        timeline = self.opened()
        went: list[int] = []
        comes: dict[str, Received] = {name: [] for name in self.consumers}
        for key in keys:
            segment, owners = self._predicted(timeline, key)
            timeline, refused = self.submitted(timeline, send_line(key))
            assert refused is None
            went.append(segment)
            for owner in owners:
                comes[owner].append((key, segment))
        self._turn += sum(key is None for key in keys)
        first, self._sent = self._sent, self._sent + len(keys)
        self.done.append(f"send {keys}")
        for key, predicted, observed in zip(keys, went, self.client.send(SENDER, keys), strict=True):
            self.require("segment of a key", (key, predicted), (key, observed))
        got: dict[str, Received] = {name: [] for name in self.consumers}

        def received() -> dict[str, Received]:
            for name in got:
                came = self.client.received(name)
                got[name] += [(key, segment) for key, segment, number in came if number >= first]
            return in_order(got)

        expected = in_order(comes)
        observed_by = self.settled(received, lambda seen: seen == expected)
        for name, pairs in expected.items():
            self.require("keys of a consumer", pairs, observed_by[name])

    def _predicted(self, timeline: Timeline, key: str | None) -> tuple[int, list[str]]:
        """The segment of a key, and its consumer of each subscription."""
        before, after = running_of(timeline), running_of(self.submitted(timeline, send_line(key))[0])
        (segment,) = after.log[-1].segments
        owners: list[str] = []
        for name, group in after.groups.items():
            if group.kind == CHECKPOINT:
                owners += [
                    one
                    for one in group.names
                    if any(grant.segment_id == segment for grant in group.coordinator.grants(one))
                ]
            else:
                owners += [
                    owner
                    for owner, count in (held(group, segment) - held(before.groups[name], segment)).items()
                    if count
                ]
        return segment, owners

    # comparing

    def _compare_deal(self, running: Running, what: str = "deal") -> None:
        # Nothing stores a CHECKPOINT group: after its last close brokers list it or not, by which thread is first.
        ended = {name for name, group in running.groups.items() if group.kind == CHECKPOINT and not group.names}

        def facts_of(statistics: TopicStatistics) -> dict[str, object]:
            return {name: facts for name, facts in deal_facts(statistics).items() if name not in ended}

        expected = facts_of(statistics_of(running))
        observed = self.settled(lambda: facts_of(self.reading().printed()), lambda seen: seen == expected)
        self.require(what, expected, observed)

    def settled(self, observe: Callable[[], T], accepts: Callable[[T], bool]) -> T:
        """What is observed once it is accepted, else what it is in the end."""
        until = time.monotonic() + SETTLE_S
        while not accepts(seen := observe()) and time.monotonic() < until:
            time.sleep(LOOK_S)
        return seen

    def require(self, what: str, predicted: object, observed: object, *, agrees: bool | None = None) -> None:
        """Keep what the broker answers, and raise, where it is not what was predicted."""
        self.checked[what] += 1
        if not (predicted == observed if agrees is None else agrees):
            folder = FOUND / self.path.rpartition("/")[2]
            folder.mkdir(parents=True, exist_ok=True)
            last = self.reading()
            (folder / "record.json").write_bytes(last.record)
            (folder / "stats.json").write_bytes(last.statistics)
            found = f"{what}: predicted {predicted}, observed {observed}"
            (folder / "steps.txt").write_text("\n".join([*self.done, found]))
            raise AssertionError(f"after {self.done[-3:]}, see {folder}: {found}")


def candidates(running: Running) -> list[tuple[Step, Running]]:
    """Each automatic step that can come next, with the topic after it; a map decides the order of a merge's parents."""
    found: list[tuple[Step, Running | Rejection]] = []
    for step in next_steps(scaling_state(running), running.now_ms):
        if step.action is Action.SPLIT:
            found.append((step, split_segment(running, step.segment_ids[0], step)))
        elif step.action is Action.MERGE:
            first, second = step.segment_ids
            found += [(step, merge_segments(running, pair, step)) for pair in ((first, second), (second, first))]
        elif step.action is Action.REBUCKET:
            found.append((step, rebucket_segments(running, step.segment_ids, step.buckets, step)))
        else:
            found.append((step, running))
    return [(step, after) for step, after in found if isinstance(after, Running)]


def send_line(key: str | None) -> str:
    return "segment send keyless" if key is None else f'segment send "{key}"'


def running_of(timeline: Timeline) -> Running:
    (topic,) = timeline.state.scalable_topics
    return topic.running


def held(group: Group, segment: int) -> Counter[str]:
    """The messages of a segment that each consumer was given and did not acknowledge."""
    counts: Counter[str] = Counter()
    for (owner, _), count in group.held.get(segment, {}).items():
        counts[owner] += count
    return counts


def layout_facts(layout: Layout) -> object:
    """All of a layout but its times."""
    segments = {
        one.segment_id: (
            str(one.hash_range),
            one.state,
            one.parent_ids,
            one.child_ids,
            one.bucket_splits,
            one.created_at_epoch,
            one.sealed_at_epoch,
        )
        for one in layout.segments.values()
    }
    return layout.epoch, layout.next_segment_id, segments


def deal_facts(statistics: TopicStatistics) -> dict[str, object]:
    """Of each subscription: its consumers' segments, those that are blocked, and how many are attached to each."""
    facts: dict[str, object] = {}
    for name, one in statistics.subscriptions.items():
        if name.startswith("reader-"):
            continue
        dealt = {each.consumerName: sorted(each.segmentIds) for each in one.consumers if each.connected}
        lost = sorted(each.consumerName for each in one.consumers if not each.connected)
        blocked = sorted(int(segment) for segment, each in one.segments.items() if each.blocked)
        attached = {}
        if one.uncoveredSegmentIds is not None:
            attached = {
                int(segment): each.consumerCount for segment, each in one.segments.items() if each.consumerCount
            }
        facts[name] = (dealt, lost, blocked, attached)
    return facts


def in_order(received: dict[str, Received]) -> dict[str, Received]:
    """Segments are not in order among each other."""
    return {name: sorted(pairs, key=lambda pair: (pair[1], pair[0] or "")) for name, pairs in received.items()}

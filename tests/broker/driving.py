"""A subscription on a real broker, driven step by step: what the engine predicts, then what the broker says.

A prediction that fails is kept in two forms: the broker before and after the step as a dump for ``ringside``, and what
was done from the start on as a recording for the lab (``pytest tests/lab --recordings-dir build/broker``).
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from engine.admin.facts import SubscriptionFacts
from engine.admin.topics import decode_partitioned_stats, decode_topic_stats
from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_moments
from tests.broker.standalone import Broker
from tests.broker.wire import Client
from tests.patience import HANG_S
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import ClusterReading, moments_read, write_moment
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Source

T = TypeVar("T")
SETTLE_S: Final = 10.0
"""How long a broker may take to become what is expected; statistics are asked for until then."""
NAMESPACE: Final = "public/default"
FOUND: Final = Path(__file__).parents[2] / "build" / "broker"
SETTINGS_RECORDED: Final = (
    "activeConsumerFailoverConsistentHashing",
    "subscriptionKeySharedUseConsistentHashing",
    "subscriptionKeySharedConsistentHashingReplicaPoints",
)
MOST: Final = 9
NAMES: Final = 2_000
"""Names of each kind: every consumer has one of its own."""


class Driven:
    """Consumers of one subscription over ``topics``: name -> number of partitions, 0 for none.

    ``levels``: the priority levels that consumers may have.
    """

    def __init__(
        self,
        broker: Broker,
        subscription: str,
        kind: str,
        topics: dict[str, int],
        seed: int,
        levels: tuple[int, ...] = (0,),
    ) -> None:
        self.subscription = subscription
        self.predictions = 0
        self.found = FOUND
        self.settle_s = SETTLE_S
        self._broker = broker
        self._kind = kind
        self._draw = random.Random(seed)
        self._seed = seed
        self._levels = levels
        self._clients: dict[str, Client] = {}
        self._joined: list[tuple[str, int]] = []
        self._history: list[tuple[str, list[str]]] = []
        """What was done, and who was connected then."""
        self._names = [f"{letter}-{number}" for number in range(1, NAMES) for letter in ("c", "C", "é", "")]
        self._draw.shuffle(self._names)
        self._partitions: dict[str, int] = {}
        for name, partitions in topics.items():
            full = f"persistent://{NAMESPACE}/{name}"
            self._partitions[full] = partitions
            path = self._path(full)
            body = partitions or None
            broker.admin("PUT", f"{path}/partitions" if partitions else path, body)
        for topic in self.dispatchers:
            # Only a broker that owns a topic lets a plain connection subscribe.
            broker.admin("GET", f"/lookup/v2/topic/{topic.replace('://', '/')}")
        self._source = Source(Access(broker.url), Scope((NAMESPACE,), loads_topics=True))

    @property
    def dispatchers(self) -> list[str]:
        """The full names of all partitions, and of topics without any."""
        return [
            f"{topic}-partition-{index}" if count else topic
            for topic, count in self._partitions.items()
            for index in range(count or 1)
        ]

    @property
    def consumers(self) -> list[str]:
        return list(self._clients)

    def join(self, name: str, priority: int = 0, ranges: Sequence[tuple[int, int]] | None = None) -> None:
        """Connect a consumer to every topic, as one process of an application does. Raises ``RefusedError``."""
        client = self._clients[name] = Client(self._broker.port)
        self._joined.append((name, priority))
        for topic in self.dispatchers:
            client.subscribe(topic, self.subscription, self._kind, name, priority=priority, ranges=ranges)
        self._history.append((f"join {name}", self.consumers))

    def client(self, name: str) -> Client:
        """The connection of a consumer; its consumers are numbered from 1 in the order of the topics."""
        return self._clients[name]

    def new_name(self) -> str:
        """A name that no consumer had."""
        return self._names.pop()

    def kill(self, name: str) -> None:
        """Let a process die."""
        self._clients.pop(name).close()
        self._history.append((f"kill {name}", self.consumers))

    def seen(self) -> dict[str, SubscriptionFacts]:
        """What the broker says of each dispatcher, once it has noticed who is there."""
        expected = sorted(self._clients)
        until = time.monotonic() + HANG_S
        while time.monotonic() < until:
            result = self._asked()
            if all(sorted(consumer.name for consumer in facts.consumers) == expected for facts in result.values()):
                return result
            time.sleep(0.02)
        raise TimeoutError(f"the broker does not show the consumers {expected}")

    def seen_as(self, observe: Callable[[SubscriptionFacts], T], expected: T) -> T:
        """What is observed of the only dispatcher once it is as expected, else what it is in the end."""
        (topic,) = self.dispatchers
        return self.all_seen_as(observe, {topic: expected})[topic]

    def all_seen_as(self, observe: Callable[[SubscriptionFacts], T], expected: Mapping[str, T]) -> dict[str, T]:
        """What is observed of each dispatcher once all is as expected, else what it is in the end.

        A broker may answer between taking a consumer off its list and choosing the next active one.
        """
        until = time.monotonic() + self.settle_s
        while True:
            result = {name: observe(facts) for name, facts in self.seen().items()}
            if result == expected or time.monotonic() > until:
                return result
            time.sleep(0.02)

    def submitted(self, timeline: Timeline, *lines: str) -> Timeline:
        """The timeline after these lines, none of which may be refused."""
        for line in lines:
            timeline, refused = timeline.submit(self._command(line, timeline.state))
            assert refused is None, f"{line}: {refused}"
        return timeline

    def require(self, predicted: object, observed: object, before: ClusterReading, line: str) -> None:
        """Keep a dump and raise where what was predicted is not what is observed."""
        if predicted != observed:
            place = self._kept(before, line)
            raise AssertionError(
                f"after {line!r} (seed {self._seed}) model and broker differ, see {place}:"
                f" predicted {predicted}, observed {observed}"
            )

    def reading(self) -> ClusterReading:
        return self._source.read()

    def opened(self) -> Timeline:
        """The present state of the broker in the model."""
        opened = open_moments(moments_read([self.reading()], limit_bytes=10**9))
        return Timeline.start(opened.state, 0, self._broker.url)

    def drive(
        self,
        steps: int,
        predict: Callable[[ClusterState], dict[str, object]],
        observe: Callable[[SubscriptionFacts], object],
    ) -> None:
        """Change something at random, as often: first in the model, then at the broker, and compare.

        ``predict`` and ``observe`` give the same thing for each dispatcher, by its name.
        """
        self.join(self._names.pop())
        self.seen()
        timeline = self.opened()
        for _ in range(steps):
            before = self.reading()
            line, act = self._step()
            timeline, refused = timeline.submit(self._command(line, timeline.state))
            assert refused is None, f"{line}: {refused}"
            predicted = predict(timeline.state)
            act()
            observed = self.all_seen_as(observe, predicted)
            self.predictions += len(observed)
            if predicted != observed:
                place = self._kept(before, line)
                wrong = {
                    name: (predicted.get(name), observed[name])
                    for name in observed
                    if predicted.get(name) != observed[name]
                }
                raise AssertionError(
                    f"after {line!r} (seed {self._seed}) model and broker differ, see {place}: {wrong}"
                )

    def _command(self, line: str, state: ClusterState) -> Command:
        keys = [
            subscription.key
            for subscription in (*state.subscriptions, *state.key_subscriptions)
            if subscription.name == self.subscription
        ]
        command = parse_command(line, state, keys[0])
        assert isinstance(command, Command), command
        return command

    def step(self) -> None:
        """Let somebody come or go at random."""
        if not self._names:
            raise RuntimeError("there are no more names")
        self._step()[1]()

    def _step(self) -> tuple[str, Callable[[], None]]:
        joins = len(self._clients) < 2 or (len(self._clients) < MOST and self._draw.random() < 0.6)
        if not joins:
            name = self._draw.choice(self.consumers)
            return f'kill "{name}"', lambda: self.kill(name)
        name, level = self._names.pop(), self._draw.choice(self._levels)
        return f'add "{name}" priority {level}' if level else f'add "{name}"', lambda: self.join(name, level)

    def _asked(self) -> dict[str, SubscriptionFacts]:
        result = {}
        for topic, partitions in self._partitions.items():
            what = "partitioned-stats" if partitions else "stats"
            data = self._broker.raw(f"{self._path(topic)}/{what}")
            if partitions:
                facts = decode_partitioned_stats(data).good
            else:
                one = decode_topic_stats(data, topic).good
                facts = {topic: one} if one is not None else {}
            for name, each in facts.items():
                for subscription in each.subscriptions:
                    if subscription.name == self.subscription:
                        result[name] = subscription
        return result

    @staticmethod
    def _path(topic: str) -> str:
        domain, _, rest = topic.partition("://")
        return f"/admin/v2/{domain}/{quote(rest)}"

    def _kept(self, before: ClusterReading, line: str) -> Path:
        """Keep what was found in a folder, and return it."""
        folder = self.found / f"{self.subscription}-{self._seed}"
        for kept in (folder / "dump", folder / "lab"):
            kept.mkdir(parents=True, exist_ok=True)
        after = self.reading()
        for reading in (before, after):
            write_moment(folder / "dump", reading)
        (folder / "step.txt").write_text(f"{line}\n")
        self._write_recording(folder / "lab", line, after)
        return folder

    def _write_recording(self, folder: Path, line: str, after: ClusterReading) -> None:
        """What was done from the start on, and the last statistics, in the form of recordings."""
        answers = []
        expected = {f"{self._path(topic)}/{'partitioned-stats' if count else 'stats'}" for topic, count in
                  self._partitions.items()}  # fmt: skip
        for number, answer in enumerate(answer for answer in after.answers if answer.path in expected):
            file = f"{number:02d}-{answer.path.rpartition('/')[2]}.json"
            (folder / file).write_bytes(answer.data)
            answers.append({"request": f"GET {answer.path}", "status": 200, "file": file})
        settings = self._broker.admin("GET", "/admin/v2/brokers/configuration/runtime")
        topic, partitions = next(iter(self._partitions.items()))
        steps: list[dict[str, object]] = [
            {"step": number, "do": done, "connected": connected}
            for number, (done, connected) in enumerate(self._history, start=1)
        ]
        steps[-1]["answers"] = answers
        scenario = {
            "scenario": f"{self.subscription}-{self._seed}",
            "what": f"the model was wrong after: {line}",
            "pulsar_version": after.release,
            "broker_settings": {name: settings[name] for name in SETTINGS_RECORDED},
            "topic": topic,
            "partitions": partitions,
            "subscription": self.subscription,
            "type": self._kind,
            "consumers_in_join_order": [
                {"id": name, "name": name, "priority_level": level} for name, level in self._joined
            ],
            "steps": steps,
        }
        (folder / "scenario.json").write_text(json.dumps(scenario, indent=1))


@contextmanager
def driven(*args: object, **how: object) -> Iterator[Driven]:
    """Consumers that are gone afterwards."""
    driving = Driven(*args, **how)  # type: ignore[arg-type]
    try:
        yield driving
    finally:
        for name in driving.consumers:
            driving.kill(name)

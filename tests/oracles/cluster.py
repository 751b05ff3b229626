"""A whole cluster under commands, the plain way: what is refused, what changes nothing, and what everything is then.

Commands are read by the names of their types and fields, so that nothing of the engine is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from tests.oracles import bundles
from tests.oracles.failover import Connected, active_consumers, partition_index
from tests.oracles.hashes import Hashes, utf8
from tests.oracles.keys import CLASSIC, POINTS, READ_AT_START, RING, KeyShared
from tests.oracles.releases import Release, version_of
from tests.oracles.routing import CPP, JAVA, PYTHON, Producers

FLAG = "activeConsumerFailoverConsistentHashing"
SUFFIX = "-partition-"
CLIENTS = (JAVA, CPP, PYTHON)
MODES = ("auto-split", "consistent-auto-split", "sticky", "consistent-sticky")
ACCESS_MODES = ("shared", "exclusive", "exclusivewithfencing", "waitforexclusive")


@dataclass
class Failover:
    """A subscription; ``topics`` in the order in which it took them."""

    key: str
    name: str
    namespace: str
    topics: list[str] = field(default_factory=list)
    consumers: list[Connected] = field(default_factory=list)


@dataclass
class Cluster:
    """``rates``: of the partitions that have statistics. ``settings`` as values, ``topics``: name -> partitions."""

    hashes: Hashes
    release: str
    settings: dict[str, Any]
    failover: list[Failover]
    boundaries: dict[str, list[int]]
    topics: dict[str, int] = field(default_factory=dict)
    rates: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    keyed: list[KeyShared] = field(default_factory=list)
    producers: list[Producers] = field(default_factory=list)
    next_number: int = 0

    def after(self, command: Any) -> Cluster | None:
        """The cluster after a command, ``self`` where it changes nothing, None where it is refused."""
        changed = self._copied(command)
        outcome = _RULES[type(command).__name__](changed, command)
        return None if outcome is None else changed if outcome else self

    def _copied(self, command: Any) -> Cluster:
        """A copy that the command can change: what is costly to copy is shared where it is not concerned."""
        every = type(command).__name__ in ("SetSetting", "SetRelease", "ShareKeys", "PassTime", "RepartitionTopic")
        key, topic = getattr(command, "subscription", None), getattr(command, "topic", None)
        return replace(
            self,
            settings=dict(self.settings),
            failover=deepcopy(self.failover),
            boundaries=deepcopy(self.boundaries),
            topics=dict(self.topics),
            rates=dict(self.rates),
            keyed=[deepcopy(each) if every or each.key == key else each for each in self.keyed],
            producers=[
                deepcopy(producer) if every or producer.topic == topic else producer for producer in self.producers
            ],
        )

    def actives(self, subscription: Failover) -> dict[str, int | None]:
        """The number of the active consumer of each partition."""
        return active_consumers(
            tuple(subscription.consumers),
            tuple(name for topic in subscription.topics for name in dispatchers(topic, self.topics[topic])),
            flag=self.settings[FLAG],
            release=Release(version_of(self.release)),
            murmur=self.hashes.murmur,
        )

    def known_algorithms(self) -> tuple[str, ...]:
        """Those of the release."""
        flow = Release(version_of(self.release)).flow_algorithm
        return bundles.ALGORITHMS if flow else bundles.ALGORITHMS[:3]

    def accepts(self, algorithm: str) -> bool:
        """Whether a broker takes a request for an algorithm by this name."""
        supported = self.settings["supportedNamespaceBundleSplitAlgorithms"]
        return algorithm in supported and algorithm in self.known_algorithms()

    def split_limits(self) -> tuple[int, int, int]:
        """Messages a second, megabytes of 2^20 a second, and the threshold in percent."""
        return (
            self.settings["loadBalancerNamespaceBundleMaxMsgRate"],
            self.settings["loadBalancerNamespaceBundleMaxBandwidthMbytes"],
            self.settings["flowOrQpsDifferenceThresholdPercentage"],
        )

    def listed(self, namespace: str) -> list[bundles.Placed]:
        """Topics and partitions of a namespace as a broker lists them before a split."""
        rows = []
        for topic, partitions in self.topics.items():
            if namespace_of(topic) == namespace:
                for name in dispatchers(topic, partitions):
                    unknown = partitions > 0 and name not in self.rates
                    rows.append((unknown, not name.startswith("persistent://"), name))
        return [bundles.Placed(name, self.hashes.crc(utf8(name)), self.rates.get(name)) for _, _, name in sorted(rows)]

    def _busy(self, subscription: Failover | KeyShared, others: int) -> bool:
        """Whether limits keep one more consumer out next to ``others`` of its subscription."""
        per_topic = self.settings["maxConsumersPerTopic"]
        per_subscription = self.settings["maxConsumersPerSubscription"]
        for topic in topics_of(subscription):
            there = others
            for each in [*self.failover, *self.keyed]:
                if each is not subscription and topic in topics_of(each):
                    there += len(consumers_of(each))
            if 0 < per_topic <= there:
                return True
        return 0 < per_subscription <= others

    def _failover(self, key: str) -> Failover | None:
        return next((each for each in self.failover if each.key == key), None)

    def _keyed(self, key: str) -> KeyShared | None:
        return next((each for each in self.keyed if each.key == key), None)

    def _producers(self, topic: str) -> Producers | None:
        return next((producer for producer in self.producers if producer.topic == topic), None)

    def _restart_keyed(self, *, but: KeyShared | None = None) -> None:
        for each in self.keyed:
            if each is not but and each.restarts_with(self.settings, self.release):
                each.restart(self.settings, self.release)


def topics_of(subscription: Failover | KeyShared) -> list[str]:
    return subscription.topics if isinstance(subscription, Failover) else [subscription.topic]


def consumers_of(subscription: Failover | KeyShared) -> list[Any]:
    return subscription.consumers if isinstance(subscription, Failover) else subscription.members


def dispatchers(topic: str, partitions: int) -> list[str]:
    """The names that have a dispatcher each."""
    return [f"{topic}{SUFFIX}{index}" for index in range(partitions)] or [topic]


def namespace_of(topic: str) -> str:
    return "/".join(topic.split("://")[1].split("/")[:2])


def key_bytes(text: str) -> bytes:
    """The bytes of a key as commands write it; only these forms occur here."""
    if text.startswith("hex:"):
        return bytes.fromhex(text[4:])
    return text.removeprefix("text:").encode()


def _add_consumer(now: Cluster, command: Any) -> bool | None:
    keyed, failover = now._keyed(command.subscription), now._failover(command.subscription)
    if keyed is not None:
        if now._busy(keyed, len(keyed.members)) or not keyed.add(now.next_number, command.name, command.ranges):
            return None
    elif failover is None or now._busy(failover, len(failover.consumers)):
        return None
    else:
        failover.consumers.append(Connected(now.next_number, command.name, command.priority_level))
    now.next_number += 1
    return True


def _kill_consumer(now: Cluster, command: Any) -> bool | None:
    keyed, failover = now._keyed(command.subscription), now._failover(command.subscription)
    if keyed is not None:
        return True if keyed.kill(command.consumer_id) else None
    if failover is None or all(consumer.number != command.consumer_id for consumer in failover.consumers):
        return None
    failover.consumers = [consumer for consumer in failover.consumers if consumer.number != command.consumer_id]
    return True


def _rename(now: Cluster, command: Any) -> bool | None:
    keyed = now._keyed(command.subscription)
    if keyed is None:
        return _reconnect(now, command, name=command.name)
    old = next((member for member in keyed.members if member.number == command.consumer_id), None)
    if old is None:
        return None
    if old.name == command.name:
        return False
    if now._busy(keyed, len(keyed.members) - 1) or not keyed.rename(command.consumer_id, command.name, now.next_number):
        return None
    now.next_number += 1
    return True


def _set_level(now: Cluster, command: Any) -> bool | None:
    return None if now._keyed(command.subscription) else _reconnect(now, command, level=command.priority_level)


def _reconnect(now: Cluster, command: Any, *, name: str | None = None, level: int | None = None) -> bool | None:
    failover = now._failover(command.subscription)
    old = (
        next((consumer for consumer in failover.consumers if consumer.number == command.consumer_id), None)
        if failover
        else None
    )
    if failover is None or old is None:
        return None
    new = Connected(now.next_number, old.name if name is None else name, old.level if level is None else level)
    if new[1:] == old[1:]:
        return False
    if now._busy(failover, len(failover.consumers) - 1):
        return None
    failover.consumers = [*(consumer for consumer in failover.consumers if consumer is not old), new]
    now.next_number += 1
    return True


def _set_setting(now: Cluster, command: Any) -> bool | None:
    if command.name not in now.settings:
        return None
    old, text = now.settings[command.name], command.text.strip()
    new: Any = text
    if isinstance(old, bool):
        new = {"true": True, "false": False}.get(text.lower())
    elif isinstance(old, int):
        new = int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) and -(2**31) <= int(text) < 2**31 else None
    elif isinstance(old, tuple):
        new = tuple(part.strip() for part in text.split(",") if part.strip())
    if new is None or (command.name == POINTS and new < 1):
        return None
    if new == old:
        return False
    now.settings[command.name] = new
    for producers in now.producers:
        producers.limit = now.settings["maxProducersPerTopic"]
    if command.name in READ_AT_START:
        now._restart_keyed()
    return True


def _set_release(now: Cluster, command: Any) -> bool | None:
    if version_of(command.version) < (2, 10, 0):
        return None
    if command.version == now.release:
        return False
    now.release = command.version
    now._restart_keyed()
    return True


def _add_topic(now: Cluster, command: Any) -> bool | None:
    topic, count = command.topic, command.partitions
    base, cut, _ = topic.rpartition(SUFFIX)
    if topic in now.topics or count < 0 or (count and SUFFIX in topic.rpartition("/")[2]):
        return None
    if cut and partition_index(topic) >= 0 and now.topics.get(base, 0) > 0:
        return None
    if any(name in now.topics for name in dispatchers(topic, count)):
        return None
    namespace = namespace_of(topic)
    if namespace not in now.boundaries:
        now.boundaries[namespace] = bundles.default_boundaries(now.settings["defaultNumberOfNamespaceBundles"])
    now.topics[topic] = count
    per_topic, per_subscription = now.settings["maxConsumersPerTopic"], now.settings["maxConsumersPerSubscription"]
    there, names = 0, set()
    for each in now.failover:
        only_persistent = all(other.startswith("persistent://") for other in each.topics)
        if each.namespace != namespace or each.name in names or (only_persistent and topic.startswith("non-")):
            continue
        names.add(each.name)
        size = len(each.consumers)
        if (0 < per_subscription < size) or (0 < per_topic < there + size):
            continue
        there += size
        each.topics.append(topic)
    return True


def _remove_topic(now: Cluster, command: Any) -> bool | None:
    if command.topic not in now.topics:
        return None
    for name in dispatchers(command.topic, now.topics.pop(command.topic)):
        now.rates.pop(name, None)
    for each in now.failover:
        each.topics = [topic for topic in each.topics if topic != command.topic]
    now.keyed = [each for each in now.keyed if each.topic != command.topic]
    now.producers = [producer for producer in now.producers if producer.topic != command.topic]
    return True


def _repartition(now: Cluster, command: Any) -> bool | None:
    count = now.topics.get(command.topic, 0)
    if count == 0 or command.partitions < count:
        return None
    new = dispatchers(command.topic, command.partitions)[count:]
    if any(name in now.topics for name in new):
        return None
    if not new:
        return False
    now.topics[command.topic] = command.partitions
    producers = now._producers(command.topic)
    if producers is not None:
        producers.grow(command.partitions)
    for keyed in now.keyed:
        if keyed.topic == command.topic:
            keyed.grow(command.partitions)
    return True


def _split(now: Cluster, command: Any) -> bool | None:
    if command.namespace not in now.boundaries:
        return None
    default = now.settings["defaultNamespaceBundleSplitAlgorithm"]
    known = now.known_algorithms()
    asked = command.algorithm if command.algorithm and command.algorithm.strip() else None
    if asked is not None and not now.accepts(asked):
        return None
    used = asked or (default if default in known else bundles.ALGORITHMS[0])
    # Before 5.0 only the algorithm that is the default gets statistics and limits.
    by_name = Release(version_of(now.release)).flow_by_name
    if used == "flow_or_qps_equally_divide" and default != used and not by_name:
        return None
    if used == "specified_positions_divide" and not command.positions:
        return None
    boundaries, listed = now.boundaries[command.namespace], now.listed(command.namespace)
    bundle = bundles.target(boundaries, command.bundle, listed)
    if bundle is None:
        return None
    cut = bundles.cuts(bundle, used, command.positions, listed, now.split_limits())
    renewed = bundles.renewed(boundaries, bundle, cut)
    if renewed is None:
        return None
    now.boundaries[command.namespace] = renewed
    return True


def _subscribe(now: Cluster, command: Any) -> bool | None:
    if command.topic not in now.topics or not command.name.strip():
        return None
    if any(each.name == command.name and command.topic in topics_of(each) for each in [*now.failover, *now.keyed]):
        return None
    taken = {each.key for each in [*now.failover, *now.keyed]}
    key = next(key for key in _keys_for(command.name) if key not in taken)
    clock = max((each.now_ms for each in now.keyed), default=0)
    now.keyed.append(
        KeyShared.new(
            key, command.name, command.topic, strict=not command.allow_out_of_order_delivery, hashes=now.hashes,
            settings=now.settings, release=now.release, now_ms=clock, partitions=now.topics[command.topic],
        )
    )  # fmt: skip
    return True


def _keys_for(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}#{number}"
        number += 1


def _share(now: Cluster, command: Any) -> bool | None:
    keyed = now._keyed(command.subscription)
    if keyed is None or command.mode not in MODES:
        return None
    points = command.points if command.mode == "consistent-sticky" else 0
    if (command.mode, points) == (keyed.mode, keyed.points):
        return False
    if command.mode == "consistent-sticky" and points < 1:
        return None
    restarted = False
    if command.mode in ("auto-split", "consistent-auto-split"):
        ring = command.mode == "consistent-auto-split"
        restarted = now.settings[RING] != ring
        now.settings[RING] = ring
    if not keyed.share(command.mode, points, now.settings, now.release):
        return None
    if restarted:
        now._restart_keyed(but=keyed)
    return True


def _send_keys(now: Cluster, command: Any) -> bool | None:
    keyed = now._keyed(command.subscription)
    if keyed is None or not command.keys or command.times < 1:
        return None
    keyed.send([key_bytes(text) for text in command.keys] * command.times)
    return True


def _acknowledge(now: Cluster, command: Any) -> bool | None:
    keyed = now._keyed(command.subscription)
    if keyed is None or command.count < 0:
        return None
    if command.consumer_id is not None and all(member.number != command.consumer_id for member in keyed.members):
        return None
    key = None if command.key is None else key_bytes(command.key)
    return keyed.acknowledge(command.consumer_id, key, command.count)


def _wait(now: Cluster, command: Any) -> bool | None:
    if command.duration_ms < 1 or not (now.keyed or now.producers):
        return None
    for each in [*now.keyed, *now.producers]:
        each.wait(command.duration_ms)
    return True


def _add_producers(now: Cluster, command: Any) -> bool | None:
    plan, partitions = command.plan, now.topics.get(command.topic, 0)
    java = (None, "JavaStringHash", "Murmur3_32Hash")
    hashings = {JAVA: java, CPP: (*java, "BoostHash"), PYTHON: (None, "BoostHash")}
    if not partitions or plan.count < 1 or plan.access_mode.lower() not in ACCESS_MODES:
        return None
    if plan.client not in CLIENTS or plan.hashing not in hashings[plan.client]:
        return None
    if plan.router == "partial":
        above = plan.limit > partitions and not plan.allow_limit_above
        if plan.client != JAVA or plan.limit < 1 or above:
            return None
    elif plan.router not in ("round-robin", "single") or plan.limit:
        return None
    if plan.name is not None and not plan.name.strip():
        return None
    if plan.max_pending_messages < 0 or plan.max_pending_messages_across_partitions < 0:
        return None
    producers = now._producers(command.topic)
    if producers is None:
        limit = now.settings["maxProducersPerTopic"]
        there: list[Any] = [[] for _ in range(partitions)]
        producers = Producers(command.topic, len(now.producers), now.hashes, there, limit=limit)
        now.producers.append(producers)
    return True if producers.add(plan) else None


def _send_producers(now: Cluster, command: Any) -> bool | None:
    producers = now._producers(command.topic)
    if producers is None or command.times < 1 or command.size_bytes < 0:
        return None
    if command.producer is None:
        if all(each.state == "Closed" for each in producers.all):
            return None
    elif not 0 <= command.producer < len(producers.all):
        return None
    producers.send(command.producer, command.key, command.times, command.size_bytes)
    return True


def _close_producer(now: Cluster, command: Any) -> bool | None:
    producers = now._producers(command.topic)
    if producers is None or not 0 <= command.producer < len(producers.all):
        return None
    if producers.all[command.producer].state == "Closed":
        return False
    producers.close(command.producer)
    return True


def _serve(now: Cluster, command: Any) -> bool | None:
    producers = now._producers(command.topic)
    if producers is None or not 0 <= command.partition < producers.partitions:
        return None
    down = type(command).__name__ == "FailPartition"
    if down == (command.partition in producers.down):
        return False
    if down:
        producers.fail(command.partition)
    else:
        producers.recover(command.partition)
    return True


_RULES = {
    "AddConsumer": _add_consumer,
    "KillConsumer": _kill_consumer,
    "RenameConsumer": _rename,
    "SetPriorityLevel": _set_level,
    "SetSetting": _set_setting,
    "SetRelease": _set_release,
    "AddTopic": _add_topic,
    "RemoveTopic": _remove_topic,
    "RepartitionTopic": _repartition,
    "SplitBundle": _split,
    "SubscribeKeyShared": _subscribe,
    "ShareKeys": _share,
    "SendKeys": _send_keys,
    "Acknowledge": _acknowledge,
    "PassTime": _wait,
    "AddProducers": _add_producers,
    "SendByProducers": _send_producers,
    "CloseProducer": _close_producer,
    "FailPartition": _serve,
    "RecoverPartition": _serve,
}

__all__ = ["CLASSIC", "FLAG", "MODES", "Cluster", "Failover", "dispatchers", "key_bytes", "namespace_of", "topics_of"]

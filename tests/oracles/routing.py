"""Partitioned producers on one topic, as changeable objects: routers, lazy starts, brokers, growth, statistics."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracles.hashes import Hashes, boost_hash, java_string_hash, java_units, utf8

JAVA, CPP, PYTHON = "java", "cpp", "python"
UPDATE_MS = 60_000


@dataclass
class Router:
    """``kind``: round-robin, single or partial. ``place`` is what was drawn at creation."""

    kind: str
    hashing: str
    by_batch: bool
    client: str
    place: int
    limit: int = 0
    seed: int = 0
    counter: int = 0
    chosen: list[int] = field(default_factory=list)
    batch_msgs: int = 0
    batch_bytes: int = 0
    batch_since_ms: int = 0
    delay_ms: int | None = None
    switches: int = 10

    def partition(self, key: str | None, size: int, partitions: int, now_ms: int, hashes: Hashes) -> int:
        """The partition of a message; the router has one turn fewer then."""
        if self.kind == "partial":
            return self._partial(partitions, hashes)
        keyed = bool(key) if self.client == PYTHON else key is not None
        if keyed and key is not None:
            return key_hash(key, self.hashing, hashes, signed_bytes=self.client == CPP) % partitions
        if self.kind == "single":
            return self.place
        if self.by_batch and self.client == JAVA:
            return (now_ms // ((self.delay_ms or 1) * self.switches) + self.place) % partitions
        if self.by_batch:
            return self._batch(size, partitions, now_ms)
        turn = self.place + self.counter
        self.counter += 1
        return turn % partitions

    def _partial(self, partitions: int, hashes: Hashes) -> int:
        while len(self.chosen) < min(self.limit, partitions):
            # The project's own draw: any choice without repetition would be Pulsar's.
            free = [number for number in range(partitions) if number not in self.chosen]
            self.chosen.append(free[hashes.murmur(f"{self.seed}/{len(self.chosen)}".encode()) % len(free)])
        result = self.chosen[self.counter % len(self.chosen)]
        self.counter += 1
        return result

    def _batch(self, size: int, partitions: int, now_ms: int) -> int:
        """The C++ client: 1000 messages, 128 KiB or 10 ms make a batch; its room in bytes is an unsigned number."""
        if partitions == 1:
            return 0
        room = (131_072 - self.batch_bytes) % 2**32
        if self.batch_msgs >= 1000 or size >= room or now_ms - self.batch_since_ms >= (self.delay_ms or 10):
            self.place, self.batch_since_ms, self.batch_msgs, self.batch_bytes = self.place + 1, now_ms, 0, 0
        self.batch_msgs += 1
        self.batch_bytes += size
        return self.place % partitions


def key_hash(key: str, hashing: str, hashes: Hashes, *, signed_bytes: bool) -> int:
    """The hash of a key in one of three schemes; C++ has Java's over the bytes, as signed numbers."""
    if hashing == "BoostHash":
        return boost_hash(utf8(key))
    if hashing == "JavaStringHash" and signed_bytes:
        total = 0
        for byte in utf8(key):
            total = total * 31 + (byte - 256 if byte >= 128 else byte)
        return total % 2**31
    return java_string_hash(key) if hashing == "JavaStringHash" else hashes.murmur(utf8(key))


@dataclass
class Link:
    """The producer of one partition inside a producer."""

    name: str
    connected: bool = True
    taken: int = 0
    waiting_msgs: int = 0
    waiting_bytes: int = 0
    sent_msgs: int = 0
    sent_bytes: int = 0


@dataclass
class Producer:
    """``partitions`` is the number that it knows; ``links`` in the order in which they were opened."""

    number: int
    name: str | None
    client: str
    mode: str
    lazy: bool
    router: Router
    partitions: int
    queue: int
    next_look_ms: int
    state: str = "Ready"
    links: dict[int, Link] = field(default_factory=dict)

    @property
    def starts_lazily(self) -> bool:
        return self.lazy and self.mode == "Shared"


@dataclass
class Producers:
    """``there``: for each partition the brokers' objects (number of the producer, name, access mode)."""

    topic: str
    seed: int
    hashes: Hashes
    there: list[list[tuple[int, str, str]]]
    down: set[int] = field(default_factory=set)
    names_given: int = 0
    all: list[Producer] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    now_ms: int = 0
    limit: int = 0
    refused: int = 0

    @property
    def partitions(self) -> int:
        return len(self.there)

    def add(self, plan: object) -> int:
        """Create producers one after another; how many brokers let in."""
        let_in = 0
        for _ in range(plan.count):
            producer = self._made(plan)
            if self._start(producer):
                self.all.append(producer)
                let_in += 1
            else:
                self.refused += 1
            if producer.mode == "ExclusiveWithFencing":
                self._fence()
        return let_in

    def send(self, number: int | None, key: str | None, times: int, size: int) -> None:
        senders = [each for each in self.all if each.state != "Closed"] if number is None else [self.all[number]]
        for _ in range(times):
            for sender in senders:
                self._send(sender, key, size)
        if key is not None:
            self.keys[key] = self.keys.get(key, 0) + times * len(senders)

    def close(self, number: int) -> None:
        producer = self.all[number]
        for partition, link in producer.links.items():
            link.connected, link.waiting_msgs, link.waiting_bytes = False, 0, 0
            self._drop(number, partition)
        producer.state = "Closed"

    def fail(self, partition: int) -> None:
        self.down.add(partition)
        for number, _, _ in self.there[partition]:
            self.all[number].links[partition].connected = False
        self.there[partition] = []

    def recover(self, partition: int) -> None:
        self.down.discard(partition)
        for producer in self.all:
            link = producer.links.get(partition)
            if link is None or link.connected or producer.state != "Ready":
                continue
            if self._let_in(partition, producer, link.name) is not None:
                link.connected = True
                link.sent_msgs += link.waiting_msgs
                link.sent_bytes += link.waiting_bytes
                link.waiting_msgs = link.waiting_bytes = 0

    def grow(self, partitions: int) -> None:
        self.there += [[] for _ in range(partitions - self.partitions)]

    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        for producer in self.all:
            if producer.state != "Ready" or self.now_ms < producer.next_look_ms:
                continue
            producer.next_look_ms = self.now_ms + UPDATE_MS
            new = range(producer.partitions, self.partitions)
            # All are tried, whatever becomes of the first.
            opened = [producer.starts_lazily or self._open(producer, partition) for partition in new]
            if all(opened):
                producer.partitions = self.partitions
            else:
                for partition in new:
                    producer.links.pop(partition, None)
                    self._drop(producer.number, partition)

    def publishers(self, *, by_name: bool, once: bool) -> list[tuple[str | None, float, float, set[int]]]:
        """What partitioned statistics list: (name, messages sent, mean size, numbers of producers)."""
        unnamed: list[tuple[float, list[float], set[int]]] = []
        named: dict[str, tuple[float, list[float], set[int]]] = {}
        for partition, there in enumerate(self.there):
            mine: list[tuple[str, float, float, int]] = []
            flagged: dict[str, tuple[str, float, float, int]] = {}
            owners: dict[str, set[int]] = {}
            for number, name, _ in there:
                producer = self.all[number]
                link = producer.links[partition]
                mean = link.sent_bytes / link.sent_msgs if link.sent_msgs else 0.0
                row = (name, float(link.sent_msgs), mean, number)
                if by_name and producer.client == JAVA:
                    flagged[name] = row
                    owners.setdefault(name, set()).add(number)
                else:
                    mine.append(row)
            for name, row in flagged.items():
                sent, means, numbers = named.get(name, (0.0, [], set()))
                named[name] = (sent + row[1], [*means, row[2]], numbers | owners[name])
            if once:
                mine.sort(key=lambda row: java_units(row[0]))
                while len(unnamed) < len(mine):
                    unnamed.append((0.0, [], set()))
                rounds = 1
            else:
                rounds = len(mine)
            for _ in range(rounds):
                if not once and len(unnamed) != len(mine):
                    unnamed += [(row[1], [row[2]], {row[3]}) for row in mine]
                    continue
                for at, row in enumerate(mine):
                    sent, means, numbers = unnamed[at]
                    unnamed[at] = (sent + row[1], [*means, row[2]], numbers | {row[3]})
        ordered = sorted(named.items(), key=lambda each: java_units(each[0]))
        return [
            *((None, sent, sum(means) / len(means), numbers) for sent, means, numbers in unnamed),
            *((name, sent, sum(means) / len(means), numbers) for name, (sent, means, numbers) in ordered),
        ]

    def _made(self, plan: object) -> Producer:
        number, partitions = len(self.all), self.partitions
        tries = f"/{self.refused}" if self.refused else ""
        seed, hashes = f"{self.seed}/{number}{tries}", self.hashes
        hashing = plan.hashing or ("JavaStringHash" if plan.client == JAVA else "BoostHash")
        by_batch = plan.batching if plan.batching is not None else plan.client != PYTHON
        router = Router(
            plan.router, hashing, by_batch, plan.client, hashes.murmur(f"{seed}/router".encode()) % partitions,
            plan.limit, hashes.murmur(f"{seed}/partial".encode()), batch_since_ms=self.now_ms,
            delay_ms=plan.publish_delay_ms, switches=plan.switch_frequency or 10,
        )  # fmt: skip
        across, most = plan.max_pending_messages_across_partitions, plan.max_pending_messages
        share = across // partitions
        queue = most if across == 0 else min(share, most) if most else share
        name = f"{plan.name}-{number}" if plan.name and plan.count > 1 else plan.name
        mode = {each.lower(): each for each in ("Shared", "Exclusive", "ExclusiveWithFencing", "WaitForExclusive")}
        return Producer(
            number, name, plan.client, mode[plan.access_mode.lower()], plan.lazy, router, partitions, queue,
            self.now_ms + UPDATE_MS,
        )  # fmt: skip

    def _start(self, producer: Producer) -> bool:
        if producer.starts_lazily:
            expected = [producer.router.partition(None, 0, self.partitions, self.now_ms, self.hashes)]
        else:
            expected = list(range(self.partitions))
        if self._open(producer, expected[0]):
            opened = [self._open(producer, partition) for partition in expected[1:]]
            if all(opened):
                return True
        for partition in producer.links:
            self._drop(producer.number, partition)
        return False

    def _send(self, producer: Producer, key: str | None, size: int) -> None:
        partition = producer.router.partition(key, size, producer.partitions, self.now_ms, self.hashes)
        if producer.lazy and partition not in producer.links and not self._open(producer, partition):
            return
        if producer.state != "Ready":
            return
        link = producer.links[partition]
        if not link.connected and 0 < producer.queue <= link.waiting_msgs:
            return
        link.taken += 1
        if link.connected:
            link.sent_msgs += 1
            link.sent_bytes += size
        else:
            link.waiting_msgs += 1
            link.waiting_bytes += size

    def _open(self, producer: Producer, partition: int) -> bool:
        name = producer.name
        if producer.client == JAVA and producer.links:
            name = next(iter(producer.links.values())).name
        given = self._let_in(partition, producer, name)
        if given is None:
            return False
        producer.links[partition] = Link(given)
        return True

    def _let_in(self, partition: int, producer: Producer, name: str | None) -> str | None:
        """What the broker of a partition says to a producer: its name there, or None."""
        if name is None:
            name = f"standalone-0-{self.names_given}"
            self.names_given += 1
        there = self.there[partition]
        if partition in self.down or self._is_full(there, name):
            return None
        if producer.mode == "ExclusiveWithFencing":
            there.clear()
        elif there:
            exclusive = there[0][2] != "Shared"
            if producer.mode != "Shared" or exclusive or any(other == name for _, other, _ in there):
                return None
        there.append((producer.number, name, producer.mode))
        return name

    def _is_full(self, there: list[tuple[int, str, str]], name: str) -> bool:
        """Replicators, known by their names, neither count nor are counted."""
        of_users = [other for _, other, _ in there if other[:12] != "pulsar.repl."]
        return self.limit > 0 and name[:12] != "pulsar.repl." and len(of_users) >= self.limit

    def _drop(self, number: int, partition: int) -> None:
        if partition < self.partitions:
            self.there[partition] = [each for each in self.there[partition] if each[0] != number]

    def _fence(self) -> None:
        """Producers that hold themselves connected where brokers threw them out are fenced everywhere."""
        for producer in self.all:
            live = [partition for partition, link in producer.links.items() if link.connected]
            lost = [at for at in live if all(number != producer.number for number, _, _ in self.there[at])]
            if producer.state == "Ready" and lost:
                for partition, link in producer.links.items():
                    link.connected = False
                    self._drop(producer.number, partition)
                producer.state = "Fenced"

"""A Key_Shared subscription under commands: who is connected, who owns which slot, what is delivered."""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from dataclasses import dataclass, field

from tests.oracles.delivery import Dispatcher, Terms
from tests.oracles.hashes import Hashes, java_string_hash
from tests.oracles.releases import Release, version_of
from tests.oracles.selectors import (
    AutoSplit,
    Declared,
    OldRing,
    OldSticky,
    ReplacingRing,
    Ring,
    Selector,
    Sticky,
    client_refuses,
    node_ranges,
)

RING = "subscriptionKeySharedUseConsistentHashing"
POINTS = "subscriptionKeySharedConsistentHashingReplicaPoints"
CLASSIC = "subscriptionKeySharedUseClassicPersistentImplementation"
INTERVAL = "keySharedUnblockingIntervalMs"
LIMITS = (
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
    "maxUnackedMessagesPerConsumer",
    "maxUnackedMessagesPerSubscription",
)
READ_AT_START = (RING, POINTS, CLASSIC, INTERVAL, *LIMITS)
"""The settings that a dispatcher reads when it is made."""

Settings = dict[str, object]


@dataclass
class Member:
    """A connected consumer and the ranges it declares; None where it declares none."""

    number: int
    name: str
    declared: Declared | None = None


@dataclass
class KeyShared:
    """``nodes``: numbers of the consumers in the order of their node index (consistent sticky ranges only).

    ``dispatchers``: one a partition; ``partitioned`` false: one of the topic itself.
    """

    key: str
    name: str
    topic: str
    strict: bool
    hashes: Hashes
    dispatchers: list[Dispatcher]
    made_of: tuple[object, ...]
    partitioned: bool = False
    declares: bool = False
    points: int = 0
    members: list[Member] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    known: dict[bytes, int] = field(default_factory=dict)
    now_ms: int = 0

    @classmethod
    def new(
        cls,
        key: str,
        name: str,
        topic: str,
        *,
        strict: bool,
        hashes: Hashes,
        settings: Settings,
        release: str,
        now_ms: int,
        partitions: int = 0,
    ) -> KeyShared:
        made_of = _made_of(settings, release, declares=False)
        made = [_dispatcher(made_of, strict=strict, hashes=hashes) for _ in range(max(1, partitions))]
        return cls(key, name, topic, strict, hashes, made, made_of, partitions > 0, now_ms=now_ms)

    @property
    def dispatcher(self) -> Dispatcher:
        """That of the first partition."""
        return self.dispatchers[0]

    def partition_of(self, key: bytes) -> int:
        """Where a Java client sends the key: by its text, or by the base64 form of bytes that are none."""
        try:
            text = key.decode()
        except UnicodeDecodeError:
            text = b64encode(key).decode()
        return java_string_hash(text) % len(self.dispatchers)

    def grow(self, partitions: int) -> None:
        """More partitions; the consumers connect to them in their order."""
        while self.partitioned and len(self.dispatchers) < partitions:
            fresh = _dispatcher(self.made_of, strict=self.strict, hashes=self.hashes)
            for member in self.members:
                assert fresh.join(member.number, member.name, member.declared, self.now_ms)
            self.dispatchers.append(fresh)

    @property
    def mode(self) -> str:
        """One of the four ways of sharing."""
        if self.declares:
            return "consistent-sticky" if self.points else "sticky"
        return "auto-split" if isinstance(self.dispatcher.selector, AutoSplit) else "consistent-auto-split"

    def add(self, number: int, name: str, ranges: Declared | None) -> bool:
        """Whether it was let in."""
        if not self.declares:
            return ranges is None and self._join(Member(number, name))
        if ranges is None and self.points:
            return self._all_nodes_again([*self._by_index(), Member(number, name)])
        if client_refuses(ranges or ()):
            return False
        return self._join(Member(number, name, ranges))

    def kill(self, number: int) -> bool:
        if all(member.number != number for member in self.members):
            return False
        if not self.points or len(self.members) == 1:
            self._leave(number)
            return True
        order = self._by_index()
        last = order.pop()
        if last.number != number:
            order[[each.number for each in order].index(number)] = last
        return self._all_nodes_again(order)

    def rename(self, number: int, name: str, new_number: int) -> bool:
        """A leave and a join with the same ranges; the index of a node stays."""
        old = next(member for member in self.members if member.number == number)
        self._leave(number, keep_index=True)
        self.nodes = [new_number if node == number else node for node in self.nodes]
        return self._join(Member(new_number, name, old.declared))

    def share(self, mode: str, points: int, settings: Settings, release: str) -> bool:
        """All stop and come back in another mode, in the order of their indices. Whether nodes all have a range."""
        order = self._by_index()
        self.declares, self.points = mode in ("sticky", "consistent-sticky"), points
        count = len(order)
        declared: list[Declared | None] = [None] * count
        if mode == "sticky":
            edges = [place * 65_536 // count for place in range(count + 1)] if count else []
            declared = [((edges[at], edges[at + 1] - 1),) for at in range(count)]
        elif mode == "consistent-sticky" and count:
            declared = list(node_ranges(points, count, self.hashes.murmur))
            if not all(declared):
                return False
        for each, ranges in zip(order, declared, strict=True):
            each.declared = ranges
        self.restart(settings, release, order)
        return True

    def restart(self, settings: Settings, release: str, order: list[Member] | None = None) -> None:
        """A new dispatcher; whoever was connected connects again, and stays out where it is refused."""
        coming = list(self.members) if order is None else order
        for each in list(self.members):
            self._leave(each.number, keep_index=True)
        self.made_of = _made_of(settings, release, declares=self.declares)
        for at, old in enumerate(self.dispatchers):
            fresh = _dispatcher(self.made_of, strict=self.strict, hashes=self.hashes)
            self.dispatchers[at] = old.carried_over(fresh.selector, fresh.terms)
        if order is not None:
            self.nodes = []
        for each in coming:
            self._join(each)
        connected = {member.number for member in self.members}
        self.nodes = [node for node in self.nodes if node in connected]

    def restarts_with(self, settings: Settings, release: str) -> bool:
        """Whether these circumstances make another dispatcher; another release always does."""
        changed = _made_of(settings, release, declares=self.declares)
        if changed[0] != self.made_of[0]:
            return True
        ask = {"strict": self.strict, "hashes": self.hashes}
        return _described(_dispatcher(changed, **ask)) != _described(_dispatcher(self.made_of, **ask))

    def send(self, keys: list[bytes]) -> None:
        for key in keys:
            self.known[key] = self.known.get(key, 0) + 1
        for partition, dispatcher in enumerate(self.dispatchers):
            mine = [key for key in keys if self.partition_of(key) == partition]
            if mine:
                dispatcher.publish(mine, self.now_ms)

    def acknowledge(self, number: int | None, key: bytes | None, count: int) -> bool:
        """The oldest ``count`` (0: all) messages that are held; whether there were any."""
        held = sorted(
            (position, partition, owner)
            for partition, dispatcher in enumerate(self.dispatchers)
            for owner, positions in dispatcher.pending.items()
            if number is None or owner == number
            for position in positions
            if key is None or dispatcher.unacked[position] == key
        )
        if count:
            held = held[:count]
        for partition, owner in dict.fromkeys((partition, owner) for _, partition, owner in held):
            mine = [position for position, *rest in held if rest == [partition, owner]]
            self.dispatchers[partition].acknowledge(owner, mine, self.now_ms)
        return bool(held)

    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        for dispatcher in self.dispatchers:
            dispatcher.let_time_pass(self.now_ms)

    def _join(self, member: Member) -> bool:
        for dispatcher in self.dispatchers:
            if not dispatcher.join(member.number, member.name, member.declared, self.now_ms):
                assert dispatcher is self.dispatcher, "either all partitions refuse a consumer, or none"
                return False
        self.members.append(member)
        if member.number not in self.nodes:
            self.nodes.append(member.number)
        return True

    def _leave(self, number: int, *, keep_index: bool = False) -> None:
        self.members = [member for member in self.members if member.number != number]
        if not keep_index:
            self.nodes.remove(number)
        for dispatcher in self.dispatchers:
            dispatcher.leave(number, self.now_ms)

    def _by_index(self) -> list[Member]:
        if not self.points:
            return [deepcopy(member) for member in self.members]
        members = {member.number: member for member in self.members}
        return [deepcopy(members[number]) for number in self.nodes]

    def _all_nodes_again(self, order: list[Member]) -> bool:
        declared = node_ranges(self.points, len(order), self.hashes.murmur)
        if not all(declared):
            return False
        for member in list(self.members):
            self._leave(member.number)
        return all(
            self._join(Member(each.number, each.name, ranges)) for each, ranges in zip(order, declared, strict=True)
        )


def _made_of(settings: Settings, release: str, *, declares: bool) -> tuple[object, ...]:
    return (release, declares, *(settings[name] for name in READ_AT_START))


def _described(empty: Dispatcher) -> tuple[object, ...]:
    """What a dispatcher without consumers is, to be compared."""
    plain = {name: value for name, value in vars(empty.selector).items() if isinstance(value, (int, str))}
    return (type(empty.selector), plain, empty.terms)


def _dispatcher(made_of: tuple[object, ...], *, strict: bool, hashes: Hashes) -> Dispatcher:
    values = dict(zip(("release", "declares", *READ_AT_START), made_of, strict=True))
    release = Release(version_of(str(values["release"])))
    classic = values[CLASSIC] and release.classic_dispatcher
    murmur = hashes.murmur
    selector: Selector
    if values["declares"]:
        folds = release.sixteen_bit_slots
        selector = Sticky(murmur) if release.sticky_gaps_unserved else OldSticky(murmur, folds_zero=folds)
    elif not values[RING]:
        selector = AutoSplit(murmur, folds_zero=release.sixteen_bit_slots)
    else:
        points, form = int(str(values[POINTS])), release.ring_form
        if form == "current":
            selector = Ring(points, murmur, high=2_147_483_646 if classic else 65_535)
        elif form == "indexed_replace":
            selector = ReplacingRing(points, murmur)
        else:
            selector = OldRing(points, murmur, "\0" if form == "name_nul_i" else "")
    order = "none"
    if strict and (classic or not release.draining):
        order = "recently-joined"
    elif strict and not values["declares"]:
        order = "draining"
    a, b, c, d = (int(str(values[name])) for name in LIMITS)
    terms = Terms(
        order,
        release.takes_slots_back,
        strict,
        release.ownerless_stops_all,
        int(str(values[INTERVAL])),
        ((a, b), (c, d)),
    )
    return Dispatcher(selector, terms)

"""Read a plan from TOML. Every wrong field is a problem with its line; a plan with problems is not checked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, cast

from msgspec import structs

from engine.bundles.boundaries import MAX_BUNDLES
from engine.bundles.occupancy import MAX_BROKERS, MAX_TOPICS
from engine.cluster.keys.state import SharingMode
from engine.cluster.keys.subscriptions import declared_by
from engine.cluster.state import ClusterState, Subscription
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import Load, Topic, TopicTable
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.errors import Problem, Rejection
from engine.failover.model import Consumer
from engine.keyshared.model import RANGE_SIZE
from engine.keyshared.model import Consumer as KeyConsumer
from engine.keyshared.ring import MAX_RING_POINTS
from engine.names import parse_topic_name, partition_name, refuse_namespace, refuse_subscription
from engine.plan.fields import MOST_PROBLEMS, Fields, shown
from engine.plan.model import FailoverPlan, Goal, GoalKind, KeyPlan, KeyTerms, NamespacePlan, Part, Plan
from engine.toml import KeyPath, lines_of, read_toml

LONGEST_TEXT: Final = 4_000_000
"""The most bytes of a plan."""
MOST_PARTITIONS: Final = 200_000
"""The most partitions of all topics, and dispatchers of all subscriptions, so that checking takes seconds."""
MOST_CONSUMERS: Final = 2_000
MOST_PARTS: Final = 1_000
MOST_LOST: Final = 3
MOST_LOSSES: Final = 20_000
"""The most combinations of consumers that are lost at once, per subscription."""
LOSS_WORK: Final = 50_000_000
"""The most combinations times the cost of each."""
_INT_32: Final = 2**31
_Rules = tuple[ReleaseBehaviour, BrokerSettings]
_TOP: Final = ("release", "settings", "before", "topics", "subscriptions", "namespaces")
_SUBSCRIPTION: Final = (
    *("name", "type", "topics", "consumers", "prefix", "count", "mode", "points", "keys", "before", "goals"),
)
_BY_ITEMS: Final = ("max_over_mean", "max_over_mean_msgs", "survive", "idle", "busiest_msgs", "moved")
_FAILOVER_GOALS: Final = _BY_ITEMS
_KEY_GOALS: Final = (*_BY_ITEMS, "gaps", "overlap")
_NAMESPACE_GOALS: Final = ("max_over_mean", "survive", "idle", "fullest_bundle")


def read_plan(data: bytes, source: str) -> Plan | tuple[Problem, ...]:
    """The plan in a file's bytes, or what is wrong with it, by line. O(length of the text + partitions)."""
    if len(data) > LONGEST_TEXT:
        return (Problem(source, "", f"{len(data):,} bytes; a plan has at most {LONGEST_TEXT:,}"),)
    document = read_toml(data, source)
    if isinstance(document, Problem):
        return (document,)
    lines = lines_of(data.decode("utf-8"))
    reader = _Reader(source, lines)
    plan = reader.plan(document)
    return tuple(reader.problems[:MOST_PROBLEMS]) if reader.problems else plan


@dataclass(frozen=True, slots=True)
class _World:
    """What all subscriptions share. ``differs``: the present state has its own release or settings."""

    now: _Rules
    before: _Rules
    differs: bool
    topics: dict[str, Topic]
    loads: dict[str, Load]


class _Reader(Fields):
    """Reads a whole plan; its result is meaningless once there is a problem."""

    def plan(self, document: dict[str, Any]) -> Plan:
        self.known(document, (), _TOP)
        now = self._rules(document, (), CURRENT, {})
        before = self.table(document, ("before",), ("release", "settings"))
        rules_before = now
        if before is not None:
            written = document.get("settings")
            rules_before = self._rules(before, ("before",), now[0], written if isinstance(written, dict) else {})
        world = _World(now, rules_before, before is not None, *self._topics(document))
        parts: list[Part] = []
        part: Part
        seen: Counter[str] = Counter()
        dispatchers = 0
        for at, table in self.tables(document, "subscriptions", MOST_PARTS):
            path: KeyPath = ("subscriptions", at)
            self.known(table, path, _SUBSCRIPTION)
            name = self.text(table, path, "name", "")
            refusal = refuse_subscription(name)
            seen[name] += 1
            if refusal is not None or seen[name] > 1:
                self.wrong((*path, "name"), "a name is missing" if refusal else f"{name!r} is listed twice")
            kind = self.choice(table, path, "type", ("Failover", "Key_Shared"), "Failover")
            if kind == "Failover":
                part, dispatched = self._failover(table, path, name, world)
                dispatchers += dispatched
                if dispatchers > MOST_PARTITIONS:
                    self.wrong(path, f"more than {MOST_PARTITIONS:,} partitions over all subscriptions")
                    break
            else:
                part = self._key_shared(table, path, name, world)
            parts.append(part)
        parts += [
            self._namespace(table, ("namespaces", at), world)
            for at, table in self.tables(document, "namespaces", MOST_PARTS)
        ]
        if not parts and not self.problems:
            self.wrong((), "no [[subscriptions]] and no [[namespaces]]: there is nothing to judge")
        elif not self.problems and not any(part.goals for part in parts):
            self.wrong(
                (), "no goal: write [subscriptions.goals] or [namespaces.goals]", "for example max_over_mean = 1.3"
            )
        return Plan(self._source, now[0].label, tuple(parts))

    # What decides.

    def _rules(
        self, table: dict[str, Any], path: KeyPath, behaviour: ReleaseBehaviour, inherited: dict[str, Any]
    ) -> _Rules:
        """The release and the settings in force: its defaults, what is ``inherited``, and what the table says."""
        if "release" in table:
            known = behaviour_of(self.text(table, path, "release", ""))
            if isinstance(known, Rejection):
                self.wrong((*path, "release"), known.message)
            else:
                behaviour = known
        settings = default_settings(behaviour)
        own = self.table(table, (*path, "settings"), None) or {}
        for name, value in (inherited | own).items():
            text = str(value).lower() if isinstance(value, bool) else shown(value).strip("'")
            changed = settings.with_setting(name, text)
            if not isinstance(changed, Rejection):
                settings = changed
            elif name in own:
                self.wrong((*path, "settings", name), changed.message)
        return behaviour, settings

    def _topics(self, document: dict[str, Any]) -> tuple[dict[str, Topic], dict[str, Load]]:
        topics: dict[str, Topic] = {}
        loads: dict[str, Load] = {}
        partitions = 0
        for at, table in self.tables(document, "topics", MOST_PARTITIONS):
            path: KeyPath = ("topics", at)
            self.known(table, path, ("name", "partitions", "count", "msgs_per_sec"))
            given = parse_topic_name(self.text(table, path, "name", ""))
            if isinstance(given, Rejection):
                self.wrong((*path, "name"), given.message)
                continue
            partitions_per_topic = self.whole(table, path, "partitions", 0, (0, MOST_PARTITIONS))
            count = self.whole(table, path, "count", 0, (0, MOST_PARTITIONS))
            partitions += max(partitions_per_topic, 1) * max(count, 1)
            if partitions > MOST_PARTITIONS:
                self.wrong(path, f"more than {MOST_PARTITIONS:,} partitions up to here")
                break
            rate = self.number(table, path, "msgs_per_sec", 0.0, (0.0, 1e12)) / max(partitions_per_topic, 1)
            for name in [f"{given}-{number}" for number in range(count)] if "count" in table else [str(given)]:
                if name in topics:
                    self.wrong((*path, "name"), f"{name} is listed twice")
                    break
                topics[name] = Topic(name, partitions_per_topic)
                if rate:
                    loads |= {one: Load(msg_rate_out=rate) for one in topics[name].partition_names()}
        return topics, loads

    # Subscriptions.

    def _failover(self, table: dict[str, Any], path: KeyPath, name: str, world: _World) -> tuple[FailoverPlan, int]:
        for key in ("mode", "points", "keys"):
            if key in table:
                self.wrong((*path, key), f"{key} is for Key_Shared subscriptions")
        chosen = self._chosen(table, path, world.topics)
        rows = self._consumers(table, path)
        ids = _Ids()
        consumers = tuple(self._failover_consumer(row, (*path, "consumers", at), ids) for at, row in enumerate(rows))
        before = self.table(table, (*path, "before"), ("consumers", "prefix", "count"))
        was = consumers
        if before is not None:
            ids.again()
            inside = (*path, "before")
            was = tuple(
                self._failover_consumer(row, (*inside, "consumers", at), ids)
                for at, row in enumerate(self._consumers(before, inside))
            )
        names = TopicTable.of([world.topics[chosen_name] for chosen_name in chosen])
        state = ClusterState(
            release=world.now[0].label,
            settings=world.now[1],
            topics=names,
            loads=LoadTable.of(names, world.loads),
            subscriptions=(Subscription(name, name, "", tuple(chosen), consumers),),
        )
        then = structs.replace(
            state,
            release=world.before[0].label,
            settings=world.before[1],
            subscriptions=(replace(state.subscriptions[0], consumers=was),),
        )
        cost = names.partition_count + 100 * len(consumers)
        goals = self._goals(
            table, path, _FAILOVER_GOALS, len(consumers), cost, moves=world.differs or before is not None
        )
        return FailoverPlan(
            name, state, then if world.differs or before is not None else None, goals
        ), names.partition_count

    def _chosen(self, table: dict[str, Any], path: KeyPath, topics: dict[str, Topic]) -> list[str]:
        """The topics of a subscription: those it names, or all."""
        if "topics" not in table:
            if not topics:
                self.wrong(path, "no topic: write [[topics]] with name and partitions")
            return list(topics)
        chosen: dict[str, None] = {}
        for at, text in enumerate(self.list(table, path, "topics", MOST_PARTITIONS)):
            parsed = parse_topic_name(text) if isinstance(text, str) else None
            if parsed is None or isinstance(parsed, Rejection) or str(parsed) not in topics:
                near = get_close_matches(str(text), list(topics)[:1_000], n=1)
                hint = f"there is {near[0]}" if near else "name it in [[topics]]"
                self.wrong((*path, "topics", at), f"no topic {text!r} in this plan", hint)
                break
            chosen[str(parsed)] = None
        return list(chosen)

    def _failover_consumer(self, row: dict[str, Any], path: KeyPath, ids: _Ids) -> Consumer:
        self.known(row, path, ("name", "priority"))
        name = self.text(row, path, "name", "")
        return Consumer(ids.of(name), name, self.whole(row, path, "priority", 0, (-_INT_32, _INT_32 - 1)))

    def _key_shared(self, table: dict[str, Any], path: KeyPath, name: str, world: _World) -> KeyPlan:
        if "topics" in table:
            self.wrong((*path, "topics"), "slots do not depend on topics: leave it out of a Key_Shared subscription")
        ids = _Ids()
        terms = self._terms(table, path, world.now, ids)
        ids.again()
        before = self.table(table, (*path, "before"), ("consumers", "prefix", "count", "mode", "points"))
        was: KeyTerms | None = None
        if before is not None:
            was = self._terms(before, (*path, "before"), world.before, ids)
        elif world.differs:
            was = self._terms(table, path, world.before, ids)
        keys: dict[str, float] = {}
        given = self.table(table, (*path, "keys"), None) or {}
        if len(given) > MOST_PARTITIONS:
            self.wrong((*path, "keys"), f"{len(given):,} keys, more than {MOST_PARTITIONS:,}")
            given = {}
        for key in given:
            keys[key] = self.number(given, (*path, "keys"), key, 0.0, (0.0, 1e12))
        points = terms.settings.subscriptionKeySharedConsistentHashingReplicaPoints
        cost = (points if terms.mode is SharingMode.CONSISTENT_AUTO_SPLIT else 10) * max(len(terms.consumers), 1)
        if cost > MAX_RING_POINTS:
            self.wrong(path, f"a ring of {cost:,} points; up to {MAX_RING_POINTS:,} are judged")
        goals = self._goals(table, path, _KEY_GOALS, len(terms.consumers), cost + len(keys), moves=was is not None)
        return KeyPlan(name, terms, was, keys, goals, self.line(path))

    def _terms(self, table: dict[str, Any], path: KeyPath, rules: _Rules, ids: _Ids) -> KeyTerms:
        behaviour, settings = rules
        rows = self._consumers(table, path)
        consumers = []
        for at, row in enumerate(rows):
            inside = (*path, "consumers", at)
            self.known(row, inside, ("name", "ranges"))
            name = self.text(row, inside, "name", "")
            consumers.append(KeyConsumer(ids.of(name), name, self._ranges(row, inside)))
        declares = any(consumer.declared is not None for consumer in consumers)
        by_setting = settings.subscriptionKeySharedUseConsistentHashing
        usual = SharingMode.CONSISTENT_AUTO_SPLIT if by_setting else SharingMode.AUTO_SPLIT
        usual = SharingMode.STICKY if declares else usual
        mode = SharingMode(self.choice(table, path, "mode", [known.value for known in SharingMode], usual.value))
        if declares and mode is not SharingMode.STICKY:
            self.wrong((*path, "mode"), f"consumers declare ranges, so the mode is sticky and not {mode.value}")
        points = self.whole(table, path, "points", 100, (1, 10_000))
        if "points" in table and mode is not SharingMode.CONSISTENT_STICKY:
            advice = "for a ring write subscriptionKeySharedConsistentHashingReplicaPoints in [settings]"
            self.wrong((*path, "points"), "these are points of a node with consistent sticky ranges", advice)
        if mode.declares and not declares and not self.problems:
            declared = declared_by(mode, points, len(consumers))
            if isinstance(declared, Rejection):
                self.wrong(path, declared.message)
            else:
                consumers = [
                    structs.replace(known, declared=one) for known, one in zip(consumers, declared, strict=True)
                ]
        settings = structs.replace(
            settings, subscriptionKeySharedUseConsistentHashing=mode is SharingMode.CONSISTENT_AUTO_SPLIT
        )
        return KeyTerms(tuple(consumers), mode, settings, behaviour)

    def _ranges(self, row: dict[str, Any], path: KeyPath) -> tuple[tuple[int, int], ...] | None:
        if "ranges" not in row:
            return None
        ranges = []
        for at, piece in enumerate(self.list(row, path, "ranges", RANGE_SIZE)):
            whole = isinstance(piece, list) and len(piece) == 2 and all(type(end) is int for end in piece)
            if not whole or not all(-_INT_32 <= end < _INT_32 for end in piece):
                self.wrong((*path, "ranges", at), f"{shown(piece)} is not a range", "write [first, last], 0 to 65535")
                return None
            ranges.append((piece[0], piece[1]))
        return tuple(ranges)

    def _consumers(self, table: dict[str, Any], path: KeyPath) -> list[dict[str, Any]]:
        """Consumers as tables: listed, or a prefix and a count."""
        if "consumers" in table:
            for key in ("prefix", "count"):
                if key in table:
                    self.wrong((*path, key), "consumers are listed already: leave one of the two out")
            consumers = []
            for at, value in enumerate(self.list(table, path, "consumers", MOST_CONSUMERS)):
                if not isinstance(value, (str, dict)):
                    self.wrong((*path, "consumers", at), f"{shown(value)} is neither a name nor a table with one")
                    break
                consumers.append({"name": value} if isinstance(value, str) else value)
            return consumers
        if "count" not in table:
            self.wrong(path, "no consumers", 'write consumers = ["a", "b"], or prefix = "a-" and count = 2')
        prefix = self.text(table, path, "prefix", "consumer-")
        return [{"name": f"{prefix}{at}"} for at in range(self.whole(table, path, "count", 0, (0, MOST_CONSUMERS)))]

    # Bundles.

    def _namespace(self, table: dict[str, Any], path: KeyPath, world: _World) -> NamespacePlan:
        self.known(table, path, ("name", "bundles", "brokers", "topics", "goals"))
        name = self.text(table, path, "name", "")
        refusal = refuse_namespace(name)
        if refusal is not None:
            self.wrong((*path, "name"), refusal.message)
        default = world.now[1].defaultNumberOfNamespaceBundles
        bundles = self.whole(table, path, "bundles", default, (1, MAX_BUNDLES))
        if "brokers" not in table:
            self.wrong(path, "brokers is missing: how many there are")
        brokers = self.whole(table, path, "brokers", 1, (1, MAX_BROKERS))
        expected = self.whole(table, path, "topics", 0, (1, MAX_TOPICS)) if "topics" in table else 0
        mine: list[str] = []
        if not expected:
            for topic in world.topics.values():
                parsed = parse_topic_name(topic.name)
                if not isinstance(parsed, Rejection) and parsed.namespace == name:
                    mine += [partition_name(topic.name, at) for at in range(topic.partitions)] or [topic.name]
            if not mine:
                self.wrong(path, f"no topic of the plan is in {name}", "write topics = how many there will be")
        goals = self._goals(table, path, _NAMESPACE_GOALS, brokers, 0, moves=False)
        return NamespacePlan(name, bundles, brokers, tuple(mine), expected, goals)

    # Goals.

    def _goals(
        self, table: dict[str, Any], path: KeyPath, known: Sequence[str], members: int, cost: int, *, moves: bool
    ) -> tuple[Goal, ...]:
        inside = (*path, "goals")
        given = self.table(table, inside, known) or {}
        goals = []
        for kind in given:
            if kind not in known:
                continue
            here = (*inside, kind)
            line = self.line(here)
            if kind == "survive":
                goals += self._survive(given, inside, line, members, cost)
                continue
            if kind == "moved" and not moves:
                advice = "write [subscriptions.before] with consumers, or [before] with release or settings"
                self.wrong(here, "moved from what? The plan does not describe the present state", advice)
            low, high = {"max_over_mean": (1.0, 1e6), "max_over_mean_msgs": (1.0, 1e6), "moved": (0.0, 1.0)}.get(
                kind, (0.0, 1e15)
            )
            goals.append(Goal(cast("GoalKind", kind), self.number(given, inside, kind, 1.0, (low, high)), line))
        return tuple(goals)

    def _survive(self, given: dict[str, Any], path: KeyPath, line: int, members: int, cost: int) -> list[Goal]:
        losses = self.whole(given, path, "survive", 1, (1, MOST_LOST))
        limits = [kind for kind in ("max_over_mean", "max_over_mean_msgs") if kind in given]
        if not limits:
            self.wrong((*path, "survive"), "max_over_mean says what has to hold after a loss; it is missing")
        ways = math.comb(members, losses)
        if cost and (ways > MOST_LOSSES or ways * cost > LOSS_WORK):
            message = f"{ways:,} ways to lose {losses} of {members:,} are more than can be judged"
            self.wrong((*path, "survive"), message, "survive = 1, or fewer consumers")
        return [
            Goal("survive", self.number(given, path, kind, 1.0, (1.0, 1e6)), line, losses, kind == "max_over_mean_msgs")
            for kind in limits
        ]


class _Ids:
    """Ids for consumers: the n-th of a name has the same id in both lists, so that one that stays is the same."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, int], int] = {}
        self._seen: Counter[str] = Counter()

    def again(self) -> None:
        """Begin the other list."""
        self._seen.clear()

    def of(self, name: str) -> int:
        self._seen[name] += 1
        return self._ids.setdefault((name, self._seen[name]), len(self._ids))

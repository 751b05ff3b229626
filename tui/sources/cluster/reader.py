"""Read a whole cluster once: who is in it, what exists, what is loaded, and the statistics of what is loaded.

Statistics of a topic that nobody has loaded would make a broker load it and maybe take its bundle. So what is loaded is
read first, from the brokers' own lists, and nothing else is asked for.

A refresh asks again for statistics, load reports and the list of brokers. What else an earlier reading brought it
keeps, unless other topics are loaded, or in other bundles.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from engine.admin.earlier import EarlierAnswers
from engine.admin.facts import BrokerStats, TopicFacts
from engine.admin.namespaces import decode_topic_list
from engine.admin.requests import release_text
from engine.admin.topics import broker_stats_of
from engine.errors import Rejection
from engine.names import TopicName, parse_topic_name, partition_name, refuse_namespace
from engine.text import visible
from tui.sources.cluster import paths
from tui.sources.cluster.access import HIDDEN
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.outcomes import OUT_OF_REACH, Answer, ClusterOutOfReachError, Fault, Gap
from tui.sources.cluster.reading import ClusterReading, Progress
from tui.sources.cluster.scope import SYSTEM_NAMESPACES, Scope, detail_requests, topics_with_backlog

_BROKER: Final = re.compile(r"[A-Za-z0-9._\-\[\]:]{1,260}")
_MOST_PARTITIONS: Final = 100_000
OnProgress = Callable[[Progress], None]
_SECRET: Final = re.compile(
    r"passw|secret|credential|passphrase|authenticationparam|authparam|privatekey", re.IGNORECASE
)


_CHANGES_OFTEN: Final = ("/stats", "/partitioned-stats", "/internalStats")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of topics, for as long as the lists of topics and of loaded ones stay the same.

    ``asked`` are topics and partitions with their names, ``in_scope`` how many there are with those that nobody loaded.
    ``counts`` are numbers of partitions.
    """

    in_scope: int
    asked: Mapping[str, TopicName]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StatisticsRequest:
    """One request for statistics; ``topics`` are how many topics and partitions it is about."""

    path: str
    broker: str
    topics: int
    loads: bool = False


@dataclass(slots=True)
class Earlier:
    """What the reading before brought, by request and broker. ``answers`` are not asked for again if they are kept.

    ``loaded`` are the brokers' lists of topics; ``decoded`` is what of them is not decoded again.
    ``names`` are those of topics, by their texts. ``plan`` is what was asked of topics, and ``statistics`` the requests
    for them, for the topics that have more to say than their lists.
    """

    answers: Mapping[tuple[str, str], Answer] = field(default_factory=dict)
    loaded: dict[str, BrokerStats] = field(default_factory=dict)
    decoded: EarlierAnswers = field(default_factory=EarlierAnswers)
    names: dict[str, TopicName | Rejection] = field(default_factory=dict)
    plan: Plan | None = None
    statistics: tuple[list[str], list[StatisticsRequest]] | None = None


def changes_rarely(path: str) -> bool:
    """Whether a refresh may keep an answer: releases, settings, namespaces, bundles, lists of topics, policies.

    >>> [changes_rarely(f"/admin/v2/{path}") for path in ("tenants", "brokers/c", "persistent/t/n/x/stats")]
    [True, False, False]
    """
    is_list_of_brokers = path.startswith(f"{paths.BROKERS}/") and path.count("/") == paths.BROKERS.count("/") + 1
    if path in (paths.VERSION, paths.RUNTIME, paths.DYNAMIC):
        return True
    return not (
        is_list_of_brokers
        or path == paths.BROKERS
        or path.startswith(paths.OF_ONE_BROKER)
        or path.endswith(_CHANGES_OFTEN)
    )


async def read_cluster(
    client: AdminClient,
    scope: Scope | None = None,
    on_progress: OnProgress | None = None,
    earlier: Earlier | None = None,
) -> ClusterReading:
    """Ask a cluster for everything in scope. Raises ``ClusterOutOfReachError`` where nothing can be read.

    What cannot be read is in ``gaps``. ``on_progress`` is called after each request. ``earlier`` makes it a refresh.
    """
    earlier, scope = earlier or Earlier(), scope or Scope()
    if earlier.answers:
        with suppress(_OtherTopicsError):
            return await _Reading(client, scope, on_progress, earlier).run()
        earlier.answers = {}
    return await _Reading(client, scope, on_progress, earlier).run()


class _OtherTopicsError(Exception):
    """Other topics are loaded than at the reading before, or by others: all of it has to be read."""


class _Reading:
    def __init__(self, client: AdminClient, scope: Scope, on_progress: OnProgress | None, earlier: Earlier) -> None:
        self._client = client
        self._scope = scope
        self._earlier = earlier
        self._keeps = bool(earlier.answers)
        self._on_progress = on_progress
        self._answers: list[Answer] = []
        self._gaps: list[Gap] = []
        self._done = self._total = 0
        self._began_s = client.clock.now_s()
        self._at_ms = client.clock.utc_ms()
        self._requests_before = client.requests
        self._loaded: dict[str, TopicFacts] = {}
        self._broker_of: dict[str, str] = {}
        self._silent_brokers = 0
        self._assumed: list[str] = []

    async def run(self) -> ClusterReading:
        self._earlier.decoded.begin()
        release = await self._release()
        cluster = await self._cluster()
        await self._ownership(cluster)
        brokers = await self._brokers(cluster)
        places = {broker: lists.places for broker, lists in self._earlier.loaded.items()}
        await self._all(self._of_broker(cluster, broker, len(brokers)) for broker in brokers or ("",))
        for gone in self._earlier.loaded.keys() - (set(brokers) if len(brokers) > 1 else {""}):
            del self._earlier.loaded[gone]
        if places != {broker: lists.places for broker, lists in self._earlier.loaded.items()}:
            self._read_everything()
        knows_loaded = not self._silent_brokers
        namespaces = await self._namespaces()
        asked_before = self._total
        lists = await asyncio.gather(*(self._of_namespace(name) for name in namespaces))
        plan = self._earlier.plan if self._keeps and self._total == asked_before else None
        if plan is None:
            listed, parents = (_names_in(of_all) for of_all in zip(*lists, strict=True)) if lists else (set(), set())
            in_scope = self._in_scope(listed | self._loaded.keys())
            loaded = {text: name for text, name in in_scope.items() if self._scope.loads_topics or text in self._loaded}
            plan = Plan(len(in_scope), loaded, await self._partition_counts(parents))
            self._earlier.plan, self._earlier.statistics = plan, None
        else:
            await self._partition_counts(plan.counts)
        asked = plan.asked
        unread = await self._statistics(plan)
        busy = topics_with_backlog(self._loaded, asked, self._scope.details)
        await self._all(self._ask(path, broker=self._broker_of.get(topic, "")) for topic, path in detail_requests(busy))
        self._require_something(namespaces)
        return ClusterReading(
            self._client.access.origin,
            self._at_ms,
            cluster,
            release,
            brokers,
            tuple(self._answers),
            tuple(self._gaps),
            topics=len(asked),
            topics_read=len(asked) - unread,
            not_loaded=plan.in_scope - len(asked),
            knows_loaded=knows_loaded or self._scope.loads_topics,
            requests=self._client.requests - self._requests_before,
            took_s=self._client.clock.now_s() - self._began_s,
            assumed=tuple(self._assumed),
        )

    def _read_everything(self) -> None:
        if self._keeps:
            raise _OtherTopicsError

    async def _ask(
        self, path: str, *, broker: str = "", json: bool = True, hides: bool = False, loads: bool = False
    ) -> Answer | Gap:
        """An answer or a gap, kept with the others. ``hides``: it may hold secrets of the brokers.

        ``loads``: a broker may load the topic to answer.
        """
        known = self._earlier.answers.get((path, broker))
        if known is not None and self._keeps and changes_rarely(path):
            self._answers.append(known)
            return known
        self._total += 1
        outcome = await self._client.get(path, broker=broker, json=json, loads=loads)
        if isinstance(outcome, Answer) and hides:
            clean = without_secrets(outcome.data)
            outcome = (
                Gap(path, Fault.NOT_JSON, "the answer is not JSON", self._client.access.origin, 200)
                if clean is None
                else Answer(path, clean, outcome.broker)
            )
        self._done += 1
        self._report_progress()
        if isinstance(outcome, Gap):
            self._gaps.append(outcome)
            return outcome
        if known is not None and known.data == outcome.data:
            outcome = known
        self._answers.append(outcome)
        return outcome

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            spent = self._client.clock.now_s() - self._began_s
            left = spent / self._done * (self._total - self._done) if self._done else None
            self._on_progress(Progress(self._done, self._total, left))

    async def _all(self, asked: Iterable[Any]) -> None:
        await asyncio.gather(*asked)

    async def _release(self) -> str:
        """The release; the first request, which also says whether anybody is there."""
        answer = await self._ask(paths.VERSION, json=False)
        if isinstance(answer, Gap):
            if answer.fault in OUT_OF_REACH:
                raise ClusterOutOfReachError(self._client.access.origin, answer)
            return ""
        release = release_text(answer.data)
        if release:
            return release
        self._answers.remove(answer)
        text = " ".join(visible(answer.data[:40].decode("utf-8", "replace")).split())
        origin = self._client.access.origin
        self._gaps.append(Gap(paths.VERSION, Fault.NOT_JSON, f"the release is {text!r}", origin, 200))
        return ""

    async def _cluster(self) -> str:
        """The name of this cluster, and the settings of its brokers on the way."""
        runtime, _, clusters = await asyncio.gather(
            self._ask(paths.RUNTIME, hides=True), self._ask(paths.DYNAMIC, hides=True), self._ask(paths.CLUSTERS)
        )
        settings = _object(runtime)
        if not settings:
            self._assumed.append("settings")
        name = settings.get("clusterName")
        if isinstance(name, str) and name:
            return name
        names = [text for text in _texts(clusters) if text != "global"]
        return names[0] if len(names) == 1 else ""

    async def _ownership(self, cluster: str) -> None:
        """Who may own what. A cluster that never had a policy or a domain says so with 404, which is its answer."""
        if not cluster:
            return
        for path in (paths.isolation_policies_of(cluster), paths.failure_domains_of(cluster)):
            outcome = await self._ask(path)
            if isinstance(outcome, Gap) and outcome.fault is Fault.NOT_FOUND:
                self._gaps.remove(outcome)
                self._answers.append(Answer(path, msgspec.json.encode({"reason": outcome.reason})))

    async def _brokers(self, cluster: str) -> tuple[str, ...]:
        answer = await self._ask(paths.brokers_of(cluster) if cluster else paths.BROKERS)
        if isinstance(answer, Gap):
            self._read_everything()
        brokers = tuple(dict.fromkeys(broker for broker in _texts(answer) if _BROKER.fullmatch(broker)))
        self._client.trust(brokers)
        return brokers

    async def _of_broker(self, cluster: str, broker: str, many: int) -> None:
        """What a broker says of itself. The only one is asked at the cluster's address, which may be a tunnel to it."""
        at = broker if many > 1 else ""
        loaded = await self._ask(paths.LOADED_TOPICS, broker=at)
        if isinstance(loaded, Gap):
            self._silent_brokers += 1
            if at and loaded.fault in OUT_OF_REACH:
                return
        else:
            topics = self._topics_in(loaded, at).topics
            self._loaded.update(topics)
            self._broker_of.update(dict.fromkeys(topics, at))
        await self._ask(paths.LOAD_REPORT, broker=at)
        if cluster and broker:
            await self._ask(paths.owned_by(cluster, broker), broker=at)

    def _topics_in(self, loaded: Answer, broker: str) -> BrokerStats:
        topics = broker_stats_of(loaded.data, broker, self._earlier.decoded).good
        self._earlier.loaded[broker] = topics
        return topics

    async def _namespaces(self) -> list[str]:
        if self._scope.namespaces:
            return list(self._scope.namespaces)
        tenants = _texts(await self._ask(paths.TENANTS))
        answers = await asyncio.gather(*(self._ask(paths.namespaces_of(tenant)) for tenant in tenants))
        names = (name for answer in answers for name in _texts(answer))
        return [name for name in names if refuse_namespace(name) is None and name not in SYSTEM_NAMESPACES]

    async def _of_namespace(self, name: str) -> tuple[list[Answer | Gap], list[Answer | Gap]]:
        """The lists of topics that a namespace has, and of partitioned ones; what else there is about it on the way."""
        await self._ask(paths.policies_of(name), hides=True)
        await self._ask(paths.bundles_of(name))
        await self._ask(paths.anti_affinity_of(name), json=False)
        topics, partitioned = [], []
        for domain in paths.DOMAINS:
            topics.append(await self._ask(paths.topics_of(domain, name)))
            partitioned.append(await self._ask(paths.partitioned_topics_of(domain, name)))
        return topics, partitioned

    def _in_scope(self, names: Iterable[str]) -> dict[str, TopicName]:
        known = self._earlier.names
        parsed = {text: known[text] if text in known else parse_topic_name(text) for text in sorted(names)}
        known.update(parsed)
        return {
            text: name
            for text, name in parsed.items()
            if not isinstance(name, Rejection) and self._scope.has_topic(name)
        }

    async def _partition_counts(self, parents: Iterable[str]) -> dict[str, int]:
        names = self._in_scope(parents)
        answers = await asyncio.gather(*(self._ask(paths.of_topic(name, "partitions")) for name in names.values()))
        counts: dict[str, int] = {}
        for text, answer in zip(names, answers, strict=True):
            count = _object(answer).get("partitions")
            if isinstance(count, int) and 0 < count <= _MOST_PARTITIONS:
                counts[text] = count
        return counts

    def _says_more(self, topic: str) -> bool:
        """Whether statistics of a topic say more than the list of loaded topics did."""
        return not self._scope.skips_idle or topic not in self._loaded or bool(self._loaded[topic].subscriptions)

    async def _statistics(self, plan: Plan) -> int:
        """Ask for statistics of what has more to say than lists did. Of how many topics nothing came."""
        detailed = [text for text in plan.asked if self._says_more(text)]
        known = self._earlier.statistics
        if known is None or known[0] != detailed:
            known = detailed, list(self._requests(detailed, plan))
            self._earlier.statistics = known
        requests = known[1]
        outcomes = await asyncio.gather(
            *(self._ask(request.path, broker=request.broker, loads=request.loads) for request in requests)
        )
        return sum(
            request.topics for request, outcome in zip(requests, outcomes, strict=True) if isinstance(outcome, Gap)
        )

    def _requests(self, detailed: Sequence[str], plan: Plan) -> Iterator[StatisticsRequest]:
        """All partitions in one request where all of them are loaded, else one by one."""
        names, asked = set(detailed), [plan.asked[text] for text in detailed]
        whole = {
            parent
            for parent, count in plan.counts.items()
            if self._scope.loads_topics or all(partition_name(parent, index) in names for index in range(count))
        }
        sizes = Counter(name.partitioned_topic for name in asked if name.partition_index >= 0)
        for parent in sorted(whole):
            name = parse_topic_name(parent)
            if not isinstance(name, Rejection):
                path = paths.of_topic(name, "partitioned-stats")
                yield StatisticsRequest(path, self._at(parent), sizes[parent])
        for name in asked:
            if name.partitioned_topic not in whole and str(name) not in plan.counts:
                path, broker = paths.of_topic(name, "stats"), self._at(str(name))
                yield StatisticsRequest(path, broker, 1, self._scope.loads_topics)

    def _at(self, topic: str) -> str:
        """The broker that has it loaded; of a partitioned topic any broker puts it together."""
        return self._broker_of.get(topic, "")

    def _require_something(self, namespaces: list[str]) -> None:
        """Raise where nobody let anything be seen: then the cluster is as good as away."""
        if namespaces and any(answer.path.startswith(_OF_CLUSTERS) for answer in self._answers):
            return
        if self._loaded or not self._gaps:
            return
        worst = next((gap for gap in self._gaps if gap.fault not in (Fault.NOT_FOUND, Fault.STOPPED)), self._gaps[0])
        if not any(answer.path != paths.VERSION for answer in self._answers) or worst.fault in OUT_OF_REACH:
            raise ClusterOutOfReachError(self._client.access.origin, worst)


_OF_CLUSTERS: Final = ("/admin/v2/namespaces/", "/admin/v2/persistent/", "/admin/v2/non-persistent/")


def _names_in(lists: Iterable[Iterable[Answer | Gap]]) -> set[str]:
    """The names in lists of topics."""
    answers = (answer for of_one in lists for answer in of_one if isinstance(answer, Answer))
    return {name for answer in answers for name in decode_topic_list(answer.data).good}


def _object(outcome: Answer | Gap) -> dict[str, Any]:
    value = _value(outcome)
    return value if isinstance(value, dict) else {}


def _texts(outcome: Answer | Gap) -> list[str]:
    """The texts of a list; nothing of what is not one."""
    value = _value(outcome)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _value(outcome: Answer | Gap) -> Any:
    if isinstance(outcome, Gap):
        return None
    try:
        return msgspec.json.decode(outcome.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def without_secrets(data: bytes) -> bytes | None:
    """An answer about configuration with the values of secret members hidden; None where it cannot be looked into.

    >>> without_secrets(b'{"tlsKeyStorePassword":"x","a":[{"authParams":"token:y","b":1}],"defaultSecret":""}')
    b'{"tlsKeyStorePassword":"***","a":[{"authParams":"***","b":1}],"defaultSecret":""}'
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return msgspec.json.encode(_hidden(value))


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: HIDDEN if item and isinstance(item, str) and _SECRET.search(name) else _hidden(item)
            for name, item in value.items()
        }
    return [_hidden(item) for item in value] if isinstance(value, list) else value

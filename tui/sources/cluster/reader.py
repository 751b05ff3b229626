"""Read a whole cluster once: who is in it, what exists, what is loaded, and the statistics of what is loaded.

Statistics of a topic that nobody has loaded would make a broker load it and maybe take its bundle. So what is loaded is
read first, from the brokers' own lists, and nothing else is asked for.

A refresh asks again for statistics, load reports and the list of brokers. What else an earlier reading brought it
keeps, unless other topics are loaded, or in other bundles. Of a large cluster it asks for what is in view and for a
share of all else, and keeps the rest with the time at which that was read.
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
from engine.admin.facts import BrokerStats, Place, TopicFacts
from engine.admin.measured_loads import names_usage
from engine.admin.namespaces import decode_topic_list
from engine.admin.requests import release_text
from engine.admin.topics import broker_stats_of
from engine.balance.settings import EXTENSIBLE_CLASS
from engine.errors import Rejection
from engine.names import PARTITION_SUFFIX, TopicName, parse_topic_name, partition_name, refuse_namespace
from engine.text import visible
from tui.sources.cluster import paths
from tui.sources.cluster.access import HIDDEN
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.outcomes import OUT_OF_REACH, Answer, ClusterOutOfReachError, Fault, Gap
from tui.sources.cluster.reading import ClusterReading, Progress
from tui.sources.cluster.rounds import Key, StatisticsRequest, Turn, due, is_large, oldest_groups
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


@dataclass(slots=True)
class Earlier:
    """What the reading before brought, by request and broker. ``answers`` are not asked for again if they are kept.

    ``loaded`` are the brokers' lists of topics; ``decoded`` is what of them is not decoded again.
    ``names`` are those of topics, by their texts. ``plan`` is what was asked of topics, and ``statistics`` the requests
    for them, for the topics that have more to say than their lists. ``read_ms`` is when each request was last made, in
    epoch milliseconds, and ``gaps`` which of those for statistics had no answer then. ``changed`` are topics, without
    partitions, whose consumers are others by the brokers' lists than by the statistics that were read.
    ``measures``: whether a broker that refused to report its load has it in its metrics.
    """

    answers: Mapping[tuple[str, str], Answer] = field(default_factory=dict)
    loaded: dict[str, BrokerStats] = field(default_factory=dict)
    decoded: EarlierAnswers = field(default_factory=EarlierAnswers)
    names: dict[str, TopicName | Rejection] = field(default_factory=dict)
    plan: Plan | None = None
    statistics: tuple[list[str], list[StatisticsRequest]] | None = None
    read_ms: dict[Key, int] = field(default_factory=dict)
    gaps: dict[Key, Gap] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    measures: dict[str, bool] = field(default_factory=dict)

    @property
    def is_large(self) -> bool:
        """Whether so much is asked of topics that it is read in rounds."""
        return self.statistics is not None and is_large(self.statistics[1])


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
    turn: Turn | None = None,
) -> ClusterReading:
    """Ask a cluster for everything in scope. Raises ``ClusterOutOfReachError`` where nothing can be read.

    What cannot be read is in ``gaps``. ``on_progress`` is called after each request. ``earlier`` makes it a refresh,
    and ``turn`` says what a refresh of a large cluster reads.
    """
    earlier, scope, turn = earlier or Earlier(), scope or Scope(), turn or Turn()
    if earlier.answers:
        with suppress(_OtherTopicsError):
            return await _Reading(client, scope, on_progress, earlier, turn).run()
        earlier.answers = {}
    return await _Reading(client, scope, on_progress, earlier, turn).run()


class _OtherTopicsError(Exception):
    """Other topics are loaded than at the reading before, or by others: all of it has to be read."""


class _Reading:
    def __init__(
        self, client: AdminClient, scope: Scope, on_progress: OnProgress | None, earlier: Earlier, turn: Turn
    ) -> None:
        self._client = client
        self._scope = scope
        self._earlier = earlier
        self._turn = turn
        self._keeps = bool(earlier.answers)
        self._in_rounds = self._keeps and turn.refreshes > 1 and earlier.is_large
        self._renewed = self._oldest_lists() if self._in_rounds and not turn.view_only else set()
        """What changes rarely and is asked for again all the same."""
        self._lists_differ = False
        """Whether anything that changes rarely did change, or is asked for the first time."""
        self._older: dict[str, int] = {}
        self._lists_every_ms = 0.0
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
        self._is_extensible = False
        """Whether the settings name the load manager that refuses to report loads."""
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
        if places != (now := {broker: lists.places for broker, lists in self._earlier.loaded.items()}):
            self._read_lists_again(_namespaces_that_differ(places, now))
        knows_loaded = not self._silent_brokers
        namespaces = await self._namespaces()
        lists = await asyncio.gather(*(self._of_namespace(name) for name in namespaces))
        plan = self._earlier.plan if self._keeps and not self._lists_differ else None
        if plan is not None:
            await self._partition_counts(plan.counts)
        if plan is None or self._lists_differ:
            listed, parents = (_names_in(of_all) for of_all in zip(*lists, strict=True)) if lists else (set(), set())
            in_scope = self._in_scope(listed | self._loaded.keys())
            loaded = {text: name for text, name in in_scope.items() if self._scope.loads_topics or text in self._loaded}
            plan = Plan(len(in_scope), loaded, await self._partition_counts(parents))
            self._earlier.plan, self._earlier.statistics = plan, None
            self._earlier.names = {text: self._earlier.names[text] for text in (*in_scope, *plan.counts)}
        asked = plan.asked
        unread = await self._statistics(plan)
        busy = topics_with_backlog(self._loaded, asked, self._scope.details)
        await self._all(
            self._ask_in_turn(path, self._at(topic), self._is_in_view(topic), self._turn.whole_every_s * 1000)
            for topic, path in detail_requests(busy)
        )
        self._require_something(namespaces)
        self._forget_the_rest()
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
            older=self._older,
            lists_ms=min(
                (ms for (path, _), ms in self._earlier.read_ms.items() if path == paths.LOADED_TOPICS),
                default=self._at_ms,
            ),
        )

    def _oldest_lists(self) -> set[Key]:
        rarely = {key: _group_of(key[0]) for key in self._earlier.answers if changes_rarely(key[0])}
        return oldest_groups(rarely, self._earlier.read_ms, self._turn.refreshes)

    def _read_lists_again(self, namespaces: Iterable[str]) -> None:
        """Other topics are loaded: ask again for what may be another one; of a small cluster for everything."""
        if self._in_rounds:
            changed = {"", *(paths.policies_of(namespace) for namespace in namespaces)}
            self._renewed |= {key for key in self._earlier.answers if _namespace_in(key[0]) in changed}
            self._lists_differ = True
        elif self._keeps:
            raise _OtherTopicsError

    def _forget_the_rest(self) -> None:
        """Drop what is known of requests that were not made any more."""
        earlier = self._earlier
        kept = {(answer.path, answer.broker) for answer in self._answers} | earlier.gaps.keys()
        earlier.read_ms = {key: ms for key, ms in earlier.read_ms.items() if key in kept}

    async def _ask(
        self, path: str, *, broker: str = "", json: bool = True, hides: bool = False, loads: bool = False
    ) -> Answer | Gap:
        """An answer or a gap, kept with the others. ``hides``: it may hold secrets of the brokers.

        ``loads``: a broker may load the topic to answer.
        """
        key = path, broker
        known = self._earlier.answers.get(key)
        is_rare = changes_rarely(path)
        if known is not None and self._keeps and is_rare and key not in self._renewed:
            self._answers.append(known)
            return known
        self._total += 1
        outcome = await self._client.get(path, broker=broker, json=json, loads=loads)
        self._earlier.read_ms[key] = self._at_ms
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
            self._lists_differ |= is_rare
            self._gaps.append(outcome)
            return outcome
        if known is not None and known.data == outcome.data:
            outcome = known
        else:
            self._lists_differ |= is_rare
        self._answers.append(outcome)
        return outcome

    async def _ask_in_turn(self, path: str, broker: str, is_in_view: bool, every_ms: float) -> Answer | Gap:
        """An answer that is not asked for again before it is so old, unless it is in view."""
        key = path, broker
        known = self._earlier.answers.get(key)
        if self._in_rounds and known is not None and not is_in_view:
            age_ms = self._at_ms - self._earlier.read_ms.get(key, 0)
            if self._turn.view_only or age_ms < every_ms:
                self._answers.append(known)
                return known
        return await self._ask(path, broker=broker)

    def _is_in_view(self, topic: str) -> bool:
        name = self._earlier.names.get(topic)
        return isinstance(name, TopicName) and name.partitioned_topic in self._turn.view.topics

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
        self._is_extensible = settings.get("loadManagerClassName") == EXTENSIBLE_CLASS
        # Brokers write what they say of themselves so often: the same would come again.
        written_s = _seconds(settings.get("statsUpdateFrequencyInSecs"), _WRITTEN_EVERY_S)
        self._lists_every_ms = 1000 * min(written_s, self._turn.whole_every_s)
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
            self._read_lists_again(())
        brokers = tuple(dict.fromkeys(broker for broker in _texts(answer) if _BROKER.fullmatch(broker)))
        self._client.trust(brokers)
        return brokers

    async def _of_broker(self, cluster: str, broker: str, many: int) -> None:
        """What a broker says of itself. The only one is asked at the cluster's address, which may be a tunnel to it."""
        at = broker if many > 1 else ""
        in_view = self._turn.view.brokers
        loaded = await self._ask_in_turn(paths.LOADED_TOPICS, at, in_view, self._lists_every_ms)
        if isinstance(loaded, Gap):
            self._silent_brokers += 1
            if at and loaded.fault in OUT_OF_REACH:
                return
        else:
            topics = self._topics_in(loaded, at).topics
            self._loaded.update(topics)
            self._broker_of.update(dict.fromkeys(topics, at))
        await self._load_of(at, in_view)
        if cluster and broker:
            await self._ask(paths.owned_by(cluster, broker), broker=at)

    async def _load_of(self, broker: str, in_view: bool) -> None:
        """A broker's load report, or its metrics if its load manager refuses to report: they have the usage as well."""
        known = self._earlier.measures
        if known.get(broker, self._is_extensible) and await self._measures(broker, in_view) is not False:
            return
        report = await self._ask_in_turn(paths.LOAD_REPORT, broker, in_view, self._lists_every_ms)
        if not isinstance(report, Gap) or report.fault is not Fault.SERVER or broker in known:
            return
        if await self._measures(broker, in_view):
            self._gaps.remove(report)

    async def _measures(self, broker: str, in_view: bool) -> bool | None:
        """Whether a broker's metrics have its usage; None without an answer. Those without are not asked for again."""
        metrics = await self._ask_in_turn(paths.METRICS, broker, in_view, self._lists_every_ms)
        if isinstance(metrics, Gap):
            return None
        has_usage = self._earlier.measures[broker] = names_usage(metrics.data)
        if not has_usage:
            self._answers.remove(metrics)
        return has_usage

    def _topics_in(self, loaded: Answer, broker: str) -> BrokerStats:
        before = self._earlier.loaded.get(broker)
        topics = broker_stats_of(loaded.data, broker, self._earlier.decoded).good
        self._earlier.loaded[broker] = topics
        if self._in_rounds and before is not None and before is not topics:
            self._earlier.changed |= _with_other_consumers(before, topics)
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
        gaps, earlier = {}, self._earlier
        made = self._kept(requests) if self._in_rounds else requests
        outcomes = await asyncio.gather(
            *(self._ask(request.path, broker=request.broker, loads=request.loads) for request in made)
        )
        for request, outcome in zip(made, outcomes, strict=True):
            earlier.changed.discard(request.topic)
            if isinstance(outcome, Gap):
                gaps[request.key] = outcome
        asked = {request.key for request in made}
        gaps |= {
            request.key: earlier.gaps[request.key]
            for request in requests
            if request.key in earlier.gaps and request.key not in asked
        }
        earlier.gaps = gaps
        return sum(request.topics for request in requests if request.key in gaps)

    def _kept(self, requests: Sequence[StatisticsRequest]) -> list[StatisticsRequest]:
        """Keep the statistics that are not read in this turn, and return the requests for the others."""
        earlier = self._earlier
        read_ms = earlier.read_ms
        chosen = due(requests, read_ms, self._turn, earlier.changed)
        made = []
        for request in requests:
            key = request.key
            answer, gap = earlier.answers.get(key), earlier.gaps.get(key)
            if key in chosen or (answer is None and gap is None):
                made.append(request)
                continue
            self._older[request.topic] = min(self._older.get(request.topic, read_ms[key]), read_ms[key])
            if answer is not None:
                self._answers.append(answer)
            elif gap is not None:
                self._gaps.append(gap)
        return made

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
                yield StatisticsRequest(path, self._at(parent), parent, sizes[parent])
        for name in asked:
            if name.partitioned_topic not in whole and str(name) not in plan.counts:
                path, broker = paths.of_topic(name, "stats"), self._at(str(name))
                yield StatisticsRequest(path, broker, name.partitioned_topic, 1, self._scope.loads_topics)

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


_IN_A_NAMESPACE: Final = re.compile(r"/admin/v2/(?:namespaces|persistent|non-persistent)/([^/]+)/([^/?]+)")
_WRITTEN_EVERY_S: Final = 60.0


def _namespace_in(path: str) -> str:
    """The path of the namespace that a request is about, "" for none.

    >>> _namespace_in("/admin/v2/persistent/t/n/x/partitions"), _namespace_in("/admin/v2/namespaces/t")
    ('/admin/v2/namespaces/t/n', '')
    """
    match = _IN_A_NAMESPACE.match(path)
    return "" if match is None else f"/admin/v2/namespaces/{match[1]}/{match[2]}"


def _group_of(path: str) -> str:
    """What is read again together: the lists of a namespace, which must agree; numbers of partitions one by one.

    >>> _group_of("/admin/v2/persistent/t/n"), _group_of("/admin/v2/persistent/t/n/x/partitions")
    ('/admin/v2/namespaces/t/n', '/admin/v2/persistent/t/n/x/partitions')
    """
    return path if path.endswith("/partitions") else _namespace_in(path)


def _namespaces_that_differ(
    before: Mapping[str, Mapping[str, Place]], now: Mapping[str, Mapping[str, Place]]
) -> set[str]:
    """The namespaces of topics that are loaded at one of two times only, or in other bundles or by other brokers."""
    differ: set[str] = set()
    for broker in before.keys() | now.keys():
        one, other = before.get(broker, {}), now.get(broker, {})
        if one is not other:
            differ.update(place.namespace for topic, place in one.items() if other.get(topic) != place)
            differ.update(place.namespace for topic, place in other.items() if topic not in one)
    return differ


def _with_other_consumers(before: BrokerStats, now: BrokerStats) -> set[str]:
    """The topics, without partitions, that have other subscriptions or consumers than before."""
    changed = set()
    for text, topic in now.topics.items():
        known = before.topics.get(text)
        if known is not None and known is not topic and _consumers_of(known) != _consumers_of(topic):
            changed.add(text.rpartition(PARTITION_SUFFIX)[0] if topic.partition_index >= 0 else text)
    return changed


def _consumers_of(topic: TopicFacts) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (subscription.name, [(consumer.name, consumer.connected_since) for consumer in subscription.consumers])
        for subscription in topic.subscriptions
    ]


def _seconds(value: object, default: float) -> float:
    text = value if isinstance(value, str) else ""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < len("1000000000") else default


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

"""Read a whole cluster once: who is in it, what exists, what is loaded, and the statistics of what is loaded.

Statistics of a topic that nobody has loaded would make a broker load it and maybe take its bundle. So what is loaded is
read first, from the brokers' own lists, and nothing else is asked for.

A refresh asks again for statistics, load reports and the list of brokers. It keeps the other answers of the reading
before, unless other topics are loaded, or in other bundles. Of a large cluster it asks for what is in view and for a
share of all else, and keeps the rest with the time at which that was read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from engine.admin.facts import BrokerStats, TopicFacts
from engine.admin.measured_loads import names_usage
from engine.admin.namespaces import decode_topic_list
from engine.admin.requests import release_text
from engine.admin.scalable import topic_of_segment
from engine.admin.topics import broker_stats_of
from engine.balance.settings import EXTENSIBLE_CLASS
from engine.config import CURRENT, behaviour_of
from engine.errors import Rejection
from engine.names import SEGMENT, TopicName, parse_topic_name, partition_name, refuse_namespace
from engine.text import counted
from tui.sources.cluster import paths
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.outcomes import OUT_OF_REACH, Answer, ClusterOutOfReachError, Fault, Gap
from tui.sources.cluster.reading import ClusterReading, Progress
from tui.sources.cluster.redaction import without_secrets
from tui.sources.cluster.refresh import (
    Earlier,
    Plan,
    changes_rarely,
    group_of,
    namespace_in,
    namespaces_that_differ,
    topics_with_other_consumers,
)
from tui.sources.cluster.rounds import Key, StatisticsRequest, Turn, due, oldest_groups
from tui.sources.cluster.scope import SYSTEM_NAMESPACES, Scope, detail_requests, topics_with_backlog

_MOST_PARTITIONS: Final = 100_000
_WRITTEN_EVERY_S: Final = 60.0
"""How often brokers write their reports by default."""
_ABOUT_TOPICS: Final = ("/admin/v2/namespaces/", "/admin/v2/persistent/", "/admin/v2/non-persistent/")
OnProgress = Callable[[Progress], None]


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
        """Whether anything that changes rarely has changed, or is asked for the first time."""
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
        self._serves_segments = CURRENT.serves_segment_statistics

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
            self._read_lists_again(namespaces_that_differ(places, now))
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
        await self._scalable_topics()
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
        rarely = {key: group_of(key[0]) for key in self._earlier.answers if changes_rarely(key[0])}
        return oldest_groups(rarely, self._earlier.read_ms, self._turn.refreshes)

    def _read_lists_again(self, namespaces: Iterable[str]) -> None:
        """Other topics are loaded: ask again for what may be another one; of a small cluster for everything."""
        if self._in_rounds:
            changed = {"", *(paths.policies_of(namespace) for namespace in namespaces)}
            self._renewed |= {key for key in self._earlier.answers if namespace_in(key[0]) in changed}
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
        """An answer, kept until it is so old unless it is in view."""
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
            behaviour = behaviour_of(release)
            if not isinstance(behaviour, Rejection):
                self._serves_segments = behaviour.serves_segment_statistics
            return release
        self._answers.remove(answer)
        text = self._client.shortened(answer.data.decode("utf-8", "replace"))[:40]
        self._note(answer, f"the release is {text!r}", Fault.NOT_JSON)
        return ""

    def _note(self, answer: Answer, reason: str, fault: Fault = Fault.MALFORMED) -> None:
        """Count what of an answer cannot be used as a gap."""
        origin = self._client.origin_of_broker(answer.broker) or self._client.access.origin
        self._gaps.append(Gap(answer.path, fault, self._client.shortened(reason), origin, 200))

    async def _cluster(self) -> str:
        """The name of this cluster, and the settings of its brokers on the way."""
        runtime, _, clusters = await asyncio.gather(
            self._ask(paths.RUNTIME, hides=True), self._ask(paths.DYNAMIC, hides=True), self._ask(paths.CLUSTERS)
        )
        settings = _object(runtime)
        if isinstance(runtime, Answer) and not isinstance(_value(runtime), dict):
            self._answers.remove(runtime)
            self._note(runtime, "it is not an object")
        if not settings:
            self._assumed.append("settings")
        self._is_extensible = settings.get("loadManagerClassName") == EXTENSIBLE_CLASS
        # Brokers write their reports so often: asked earlier, they would answer the same again.
        written_s = _seconds(settings.get("statsUpdateFrequencyInSecs"), _WRITTEN_EVERY_S)
        self._lists_every_ms = 1000 * min(written_s, self._turn.whole_every_s)
        name = settings.get("clusterName")
        if isinstance(name, str) and name:
            return name
        names = [text for text in _texts(clusters) if text != "global"]
        return names[0] if len(names) == 1 else ""

    async def _ownership(self, cluster: str) -> None:
        """Ask who may own what. A cluster that never had a policy or a domain answers 404, which is kept."""
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
        can_be_asked = {broker: bool(self._client.origin_of_broker(broker)) for broker in _texts(answer)}
        brokers = tuple(broker for broker, can_be in can_be_asked.items() if can_be)
        odd = [broker for broker, can_be in can_be_asked.items() if not can_be]
        if odd and isinstance(answer, Answer):
            self._note(answer, f"{counted(len(odd), 'id')} that nobody can connect to, first {odd[0]!r}")
        self._client.trust(brokers)
        return brokers

    async def _of_broker(self, cluster: str, broker: str, many: int) -> None:
        """Ask a broker about itself. A single one is asked at the cluster's address, which may be a tunnel to it."""
        at = broker if many > 1 else ""
        in_view = self._turn.view.brokers
        loaded = await self._ask_in_turn(paths.LOADED_TOPICS, at, in_view, self._lists_every_ms)
        if isinstance(loaded, Gap):
            self._silent_brokers += 1
            if at and loaded.fault in OUT_OF_REACH:
                return
        else:
            topics = self._topics_in(loaded, at).topics
            odd = [topic for topic in topics if not paths.can_be_sent(topic)]
            if odd:
                self._note(loaded, f"{counted(len(odd), 'name')} that cannot be sent, first {odd[0]!r}")
                topics = {topic: facts for topic, facts in topics.items() if paths.can_be_sent(topic)}
            self._loaded.update(topics)
            self._broker_of.update(dict.fromkeys(topics, at))
        await self._load_of(at, in_view)
        if cluster and broker:
            await self._ask(paths.owned_by(cluster, broker), broker=at)

    async def _load_of(self, broker: str, in_view: bool) -> None:
        """Ask for a broker's load report, or for its metrics, which have the usage too, if it refuses to report."""
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
            self._earlier.changed |= topics_with_other_consumers(before, topics)
        return topics

    async def _namespaces(self) -> list[str]:
        if self._scope.namespaces:
            return list(self._scope.namespaces)
        tenants = _texts(await self._ask(paths.TENANTS))
        answers = await asyncio.gather(*(self._ask(paths.namespaces_of(tenant)) for tenant in tenants))
        names = (name for answer in answers for name in _texts(answer))
        return [name for name in names if refuse_namespace(name) is None and name not in SYSTEM_NAMESPACES]

    async def _of_namespace(self, name: str) -> tuple[list[Answer | Gap], list[Answer | Gap]]:
        """Ask about a namespace, and return its lists of topics and of partitioned topics."""
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

    def _says_more(self, topic: str, name: TopicName) -> bool:
        """Whether statistics of a topic say more than the list of loaded topics did."""
        if name.domain == SEGMENT and not self._serves_segments:
            return False
        return not self._scope.skips_idle or topic not in self._loaded or bool(self._loaded[topic].subscriptions)

    async def _statistics(self, plan: Plan) -> int:
        """Ask for statistics of the topics that have more to say than the lists; return how many have no answer."""
        detailed = [text for text, name in plan.asked.items() if self._says_more(text, name)]
        known = self._earlier.statistics
        if known is None or known[0] != detailed:
            known = detailed, list(self._requests(detailed, plan))
            self._earlier.statistics = known
        requests = known[1]
        gaps, earlier = {}, self._earlier
        due_now = self._kept(requests) if self._in_rounds else requests
        outcomes = await asyncio.gather(
            *(self._ask(request.path, broker=request.broker, loads=request.loads) for request in due_now)
        )
        for request, outcome in zip(due_now, outcomes, strict=True):
            earlier.changed.discard(request.topic)
            if isinstance(outcome, Gap):
                gaps[request.key] = outcome
        asked = {request.key for request in due_now}
        gaps |= {
            request.key: earlier.gaps[request.key]
            for request in requests
            if request.key in earlier.gaps and request.key not in asked
        }
        earlier.gaps = gaps
        return sum(request.topics for request in requests if request.key in gaps)

    async def _scalable_topics(self) -> None:
        """Ask for the records and statistics of scalable topics with loaded segments.

        Those have a controller; a topic without one would get it by being asked about.
        """
        texts = {topic for text in self._loaded if (topic := topic_of_segment(text)) is not None}
        await self._all(
            self._ask_in_turn(path, "", self._is_in_view(text), self._lists_every_ms)
            for text, name in self._in_scope(texts).items()
            for path in paths.of_scalable(name)
        )

    def _kept(self, requests: Sequence[StatisticsRequest]) -> list[StatisticsRequest]:
        """Keep the statistics that are not due in this turn, and return the requests that are."""
        earlier = self._earlier
        read_ms = earlier.read_ms
        chosen = due(requests, read_ms, self._turn, earlier.changed)
        due_now = []
        for request in requests:
            key = request.key
            answer, gap = earlier.answers.get(key), earlier.gaps.get(key)
            if key in chosen or (answer is None and gap is None):
                due_now.append(request)
                continue
            self._older[request.topic] = min(self._older.get(request.topic, read_ms[key]), read_ms[key])
            if answer is not None:
                self._answers.append(answer)
            elif gap is not None:
                self._gaps.append(gap)
        return due_now

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
        """The broker that has a topic loaded, "" for any: statistics of a partitioned topic any broker collects."""
        return self._broker_of.get(topic, "")

    def _require_something(self, namespaces: list[str]) -> None:
        """Raise ``ClusterOutOfReachError`` where nothing about topics could be read."""
        if namespaces and any(answer.path.startswith(_ABOUT_TOPICS) for answer in self._answers):
            return
        if self._loaded or not self._gaps:
            return
        worst = next((gap for gap in self._gaps if gap.fault not in (Fault.NOT_FOUND, Fault.STOPPED)), self._gaps[0])
        if not any(answer.path != paths.VERSION for answer in self._answers) or worst.fault in OUT_OF_REACH:
            raise ClusterOutOfReachError(self._client.access.origin, worst)


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

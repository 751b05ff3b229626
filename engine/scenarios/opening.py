"""Open what brokers printed, or the tables of a fleet, as a state of the model, with notes about what was inferred.

Brokers do not say everything (priority levels, split history) and old answers say less (the active consumer). What is
inferred is in ``Opened.notes``; what was wrong with the input in ``Opened.problems``. The tables of a fleet are opened
like answers, one subscription or one namespace at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from engine.admin.facts import BundleList, Snapshot, total, unacked_of
from engine.admin.inference import ObservedActives, infer_priority_levels, rules_in_force
from engine.admin.moments import Moment, combined, read_moments
from engine.admin.partitions import bounded
from engine.admin.snapshot import WITHOUT_TOPIC
from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, BundleRange, default_boundaries, parse_range
from engine.cluster.owners import active_consumers
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import Load, Topic, TopicTable
from engine.config import CURRENT, FLAG, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings, rebased
from engine.diagnosis.limits import TOPIC_POLICY, limits_of
from engine.errors import InputError, Problem, Rejection
from engine.input import MAX_INPUT_BYTES
from engine.names import SCALABLE, TopicName, parse_topic_name
from engine.scenarios.key_subscriptions import gather_keys, joined_ids, key_subscriptions_of, ring_of
from engine.scenarios.subscriptions import FAILOVER, KEY_SHARED, Group, flag_of, gather, subscriptions_of
from engine.text import counted
from engine.views.failover.model import Notice

if TYPE_CHECKING:  # imported where no answer names the release
    from engine.admin.inferred_release import InferredRelease

RELEASE_ASSUMED: Final = "release-assumed"
_MOST_ACTIVES: Final = 64
"""Recorded active consumers of one list that are looked at to infer the release."""
FLAG_INFERRED: Final = "flag-inferred"
SETTING_IGNORED: Final = "setting-ignored"
BUNDLES_ASSUMED: Final = "bundles-assumed"
HIDDEN_TOPICS: Final = "hidden-topics"
LOAD_REPORTS_ALONE: Final = "load-reports-alone"
DIFFERS_FROM_RECORD: Final = "differs-from-record"
RATES_ASSUMED: Final = "rates-assumed"


class Opened(Struct, frozen=True):
    """A state to start from, where it is from, what was wrong with the input, and what a person should know.

    ``seed`` is that of a made-up state, 0 for a recorded one. ``seen`` is what brokers reported, moment by moment.
    """

    state: ClusterState
    source: str
    problems: tuple[Problem, ...] = ()
    notes: tuple[Notice, ...] = ()
    seed: int = 0
    seen: tuple[Moment, ...] = ()


def open_path(path: str | Path, *, limit_bytes: int = MAX_INPUT_BYTES) -> Opened:
    """Open a file or a folder of recorded answers. Raises ``InputError`` when nothing in it can be used."""
    return open_moments(read_moments(path, limit_bytes=limit_bytes))


def open_moments(moments: Sequence[Moment], *, release: str | None = None) -> Opened:
    """The newest of moments as a state, as :func:`open_snapshot` does; what was seen in all of them is kept."""
    opened = open_snapshot(combined(moments), release=release, now_ms=moments[-1].at_ms)
    return structs.replace(opened, seen=tuple(moments))


def flag_shown(snapshot: Snapshot, behaviour: ReleaseBehaviour) -> bool:
    """``activeConsumerFailoverConsistentHashing`` as a snapshot states or suggests it. O(partitions)."""
    if snapshot.settings is not None:
        return snapshot.settings.activeConsumerFailoverConsistentHashing
    return flag_of(gather(snapshot, topics_of(snapshot))[0], behaviour)[0]


def open_snapshot(
    snapshot: Snapshot,
    *,
    release: str | None = None,
    consistent_hashing: bool | None = None,
    assumed_flag: bool = False,
    now_ms: int | None = None,
) -> Opened:
    """A snapshot as a state; ``release`` and ``consistent_hashing`` overrule what the answers state or suggest, and
    ``assumed_flag`` counts where they do neither.

    Failover and Key_Shared subscriptions and scalable topics are opened, others are counted in a note; ``now_ms`` is
    when the answers were read. Raises ``InputError`` when they have neither topics nor bundles. O(t log t) for t
    partitions.
    """
    topics = topics_of(snapshot)
    notes: list[Notice] = []
    scalable: tuple[ScalableTopic, ...] = ()
    if snapshot.scalable:
        from engine.scenarios.scalable_topics import scalable_topics_of

        scalable, left_out = scalable_topics_of(snapshot, now_ms)
        notes += left_out
    if not topics and not snapshot.bundles and not scalable:
        from engine.admin.load_reports import all_bundles

        if not any(all_bundles(written.load) for written in snapshot.broker_loads.values()):
            raise _nothing_to_open(snapshot)
        snapshot = structs.replace(snapshot, bundles=_bundles_of_reports(snapshot))
        notes.append(Notice(LOAD_REPORTS_ALONE, "load reports alone: bundles with their rates, but no topic is known"))
    notes += _hidden_topics(snapshot, topics)
    notes += _without_rates(snapshot)
    groups, more = gather(snapshot, topics)
    notes += more
    named = release or snapshot.version
    inferred = _inferred(snapshot) if named is None else None
    behaviour = _behaviour(named, notes) if named is not None else _rules_shown(snapshot, groups, inferred, notes)
    settings = default_settings(behaviour) if snapshot.settings is None else _settings(snapshot, behaviour)
    if snapshot.settings is None and inferred is not None and inferred.classic:
        settings = structs.replace(settings, subscriptionKeySharedUseClassicPersistentImplementation=True)
    flag = consistent_hashing
    if flag is None and snapshot.settings is None:
        flag, why = flag_of(groups, behaviour, assumed=assumed_flag)
        if groups:
            notes.append(Notice(FLAG_INFERRED, why))
    if flag is not None:
        settings = structs.replace(settings, activeConsumerFailoverConsistentHashing=flag)
    subscriptions, more = subscriptions_of(groups, settings.activeConsumerFailoverConsistentHashing, behaviour)
    notes += more
    connected = sum(len(subscription.consumers) for subscription in subscriptions)
    taken = {subscription.key for subscription in subscriptions}
    shared, more = key_subscriptions_of(gather_keys(snapshot, topics), settings, behaviour, taken, connected)
    notes += more
    if snapshot.settings is None:
        settings = structs.replace(settings, subscriptionKeySharedUseConsistentHashing=ring_of(shared, settings))
    table = TopicTable.of(topics)
    loads = LoadTable.of(table, _loads(snapshot))
    state = ClusterState(
        release=behaviour.label,
        settings=settings,
        topics=table,
        # What brokers list as loaded is all that has traffic; without their lists, nothing is known of the rest.
        loads=loads if snapshot.loaded is not None else loads.with_gaps(),
        subscriptions=tuple(_in_columns(subscription, table) for subscription in subscriptions),
        key_subscriptions=shared,
        producer_policies=producer_policies(snapshot, behaviour),
        namespaces=_namespaces(snapshot, topics, settings, notes),
        scalable_topics=scalable,
        next_consumer_id=max(
            (number + 1 for key_shared in shared for number in joined_ids(key_shared)), default=connected
        ),
    )
    notes += _differences(groups, state)
    return Opened(state, snapshot.source, snapshot.problems, tuple(notes))


def _settings(snapshot: Snapshot, behaviour: ReleaseBehaviour) -> BrokerSettings:
    """What was reported; a setting that was not has the default of the release that is opened."""
    assert snapshot.settings is not None
    reported = behaviour_of(snapshot.version or CURRENT.label)
    known = CURRENT if isinstance(reported, Rejection) else reported
    return rebased(snapshot.settings, known, behaviour, snapshot.configuration)


def producer_policies(snapshot: Snapshot, behaviour: ReleaseBehaviour) -> dict[str, int]:
    """The limits of producers that namespaces and topics have of their own."""
    policies = {
        namespace: limit
        for namespace, members in snapshot.namespace_policies.items()
        if isinstance(limit := members.get("max_producers_per_topic"), int) and limit >= 0
    }
    limits = limits_of([snapshot], behaviour)
    for topic in snapshot.topic_policies:
        setting = limits.max_producers(topic)
        if setting.source in ("", TOPIC_POLICY) and isinstance(setting.value, int):
            policies[topic] = setting.value
    return policies


def _in_columns(subscription: Subscription, table: TopicTable) -> Subscription:
    loads = LoadTable.of(table, subscription.loads) if subscription.loads else subscription.loads
    every = len(subscription.topics) == len(table) and table.names == subscription.topics
    return replace(subscription, topics=table.names if every else subscription.topics, loads=loads)


def open_settings(snapshot: Snapshot, *, release: str | None = None) -> Opened:
    """A state without topics that has the settings of a snapshot and nothing else."""
    notes: list[Notice] = []
    named = release or snapshot.version
    if named is None:
        notes.append(Notice(RELEASE_ASSUMED, f"no answer has the release; Pulsar {CURRENT.label} is assumed"))
    behaviour = _behaviour(named, notes) if named is not None else CURRENT
    state = ClusterState(release=behaviour.label, settings=snapshot.settings or default_settings(behaviour))
    return Opened(state, snapshot.source, snapshot.problems, tuple(notes))


def topics_of(snapshot: Snapshot) -> tuple[Topic, ...]:
    """The topics without their partition suffix, in the order of the answers.

    The number of partitions is the highest index + 1. Names that only lists have are topics too (without statistics),
    except the partitioned parent itself. A scalable topic is no topic by itself; its segments are.
    """
    counts: dict[str, int] = {}
    for name in [*snapshot.topics, *sorted(snapshot.known_names - snapshot.topics.keys())]:
        parsed = parse_topic_name(name)
        if not isinstance(parsed, TopicName) or parsed.domain == SCALABLE:
            continue
        parent = parsed.partitioned_topic
        counts[parent] = max(counts.get(parent, 0), parsed.partition_index + 1)
    return tuple(Topic(name, partitions) for name, partitions in counts.items())


def _nothing_to_open(snapshot: Snapshot) -> InputError:
    """Why there is no picture of answers without topics and bundles, and what to give."""
    give = "give topic statistics (partitioned-stats, stats or broker-stats/topics)"
    if snapshot.metered or snapshot.sums:
        proof = "metrics" if snapshot.metered else "sums over partitions"
        give = (
            f"what {proof} prove is said by ringside why and ringside lint; for a picture give"
            " partitioned-stats --per-partition, stats or broker-stats/topics"
        )
    has = "the answers have neither topics nor bundles"
    if any(problem.reason == WITHOUT_TOPIC for problem in snapshot.problems):
        has = "the answers do not say which topic they are about"
        give = "name it with --topic persistent://TENANT/NAMESPACE/TOPIC; ringside why and lint need no name"
    return InputError(f"{snapshot.source}: {has}; {give}", snapshot.problems)


def _hidden_topics(snapshot: Snapshot, topics: Sequence[Topic]) -> list[Notice]:
    """Topics without partitions that share their name with a partitioned one: a state has one topic of a name."""
    hidden = [topic.name for topic in topics if topic.partitions and topic.name in snapshot.topics]
    if not hidden:
        return []
    if len(hidden) == 1:
        text = (
            f"{hidden[0]} exists both with and without partitions; the one without is counted in what was reported, but"
            " nothing is computed for it"
        )
    else:
        text = (
            f"{hidden[0]} and {len(hidden) - 1} more exist both with and without partitions; those without are counted"
            " in what was reported, but nothing is computed for them"
        )
    return [Notice(HIDDEN_TOPICS, text)]


def _bundles_of_reports(snapshot: Snapshot) -> dict[str, BundleList]:
    """The bundles that load reports name, by namespace; a gap between them counts as one bundle."""
    from engine.admin.load_reports import all_bundles

    ends: dict[str, set[int]] = {}
    for written in snapshot.broker_loads.values():
        for name in all_bundles(written.load):
            namespace, _, text = name.rpartition("/")
            piece = parse_range(text)
            if isinstance(piece, BundleRange):
                ends.setdefault(namespace, {FULL_LOWER_BOUND, FULL_UPPER_BOUND}).update((piece.lower, piece.upper))
    return {namespace: BundleList(tuple(sorted(bounds))) for namespace, bounds in ends.items()}


def _inferred(snapshot: Snapshot) -> InferredRelease | None:
    from engine.admin.inferred_release import inferred_release

    return inferred_release([snapshot])


def _rules_shown(
    snapshot: Snapshot, groups: Sequence[Group], inferred: InferredRelease | None, notes: list[Notice]
) -> ReleaseBehaviour:
    """The release that the shapes of the answers show, and of its range the newest whose active consumers they are."""
    flags = [] if snapshot.settings is None else [snapshot.settings.activeConsumerFailoverConsistentHashing]
    observed = (ObservedActives(group.names, dict(islice(group.actives.items(), _MOST_ACTIVES))) for group in groups)
    behaviour = rules_in_force(observed, (), flags, inferred=inferred).behaviour
    newest = CURRENT if inferred is None else inferred.behaviour
    shown = "" if inferred is None else f"; by its answers {inferred.text}"
    if behaviour != newest:
        shown += f"; the recorded active consumers are not those of Pulsar {newest.label}"
    rules = "assumed" if behaviour == CURRENT else "taken, the newest that fits"
    text = f"no answer has the release{shown}; Pulsar {behaviour.label} is {rules} (--pulsar names another)"
    notes.append(Notice(RELEASE_ASSUMED, text))
    return behaviour


def _behaviour(version: str, notes: list[Notice]) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    if isinstance(behaviour, Rejection):
        notes.append(Notice(RELEASE_ASSUMED, f"{behaviour.message}; Pulsar {CURRENT.label} is assumed"))
        return CURRENT
    return behaviour


def _differences(groups: Sequence[Group], state: ClusterState) -> list[Notice]:
    """Recorded active consumers that the opened state does not give; by name, since brokers report nothing else."""
    notes = []
    for group, subscription in zip(groups, state.subscriptions, strict=True):
        chosen = dict(active_consumers(state, subscription).pairs())
        different = [
            topic
            for (topic, _), recorded in group.actives.items()
            if (active := chosen.get(topic)) is None or active.name != recorded
        ]
        if different:
            text = (
                f"{subscription.key}: {len(different)} of {len(group.actives)} recorded active consumers differ from "
                f"the rule, first {different[0]}"
            )
            notes.append(Notice(DIFFERS_FROM_RECORD, text))
    return notes


def _without_rates(snapshot: Snapshot) -> list[Notice]:
    """Say how many topics have no rates: what is computed takes 0 for what no answer has."""
    lacking = sum(
        facts.msg_rate_in_msgs_per_sec is None or facts.msg_rate_out_msgs_per_sec is None
        for facts in snapshot.topics.values()
    )
    if not lacking:
        return []
    of = f"{lacking:,} of " if lacking < len(snapshot.topics) else ""
    text = f"the statistics of {of}{counted(len(snapshot.topics), 'topic')} lack rates; what is computed takes 0"
    return [Notice(RATES_ASSUMED, text)]


def _loads(snapshot: Snapshot) -> dict[str, Load]:
    return {
        name: Load(
            msg_rate_in=facts.msg_rate_in_msgs_per_sec,
            msg_rate_out=facts.msg_rate_out_msgs_per_sec,
            throughput_in_bytes_per_sec=facts.msg_throughput_in_bytes_per_sec,
            throughput_out_bytes_per_sec=facts.msg_throughput_out_bytes_per_sec,
            unacked_messages=total(unacked_of(subscription) for subscription in facts.subscriptions),
            backlog_entries=total(subscription.msg_backlog_entries for subscription in facts.subscriptions),
        )
        for name, facts in snapshot.topics.items()
    }


def _namespaces(
    snapshot: Snapshot, topics: tuple[Topic, ...], settings: BrokerSettings, notes: list[Notice]
) -> dict[str, Namespace]:
    names = dict.fromkeys(snapshot.bundles)
    for topic in topics:
        parsed = parse_topic_name(topic.name)
        if isinstance(parsed, TopicName):
            names.setdefault(parsed.namespace)
    listed = _ranges_by_namespace(snapshot)
    namespaces, assumed = {}, []
    for name in names:
        reported = snapshot.bundles.get(name)
        if reported is not None:
            namespaces[name] = Namespace(name, reported.boundaries)
        elif listed.get(name):
            # broker-stats lists the bundles that hold loaded topics; a gap between them counts as one bundle.
            ends = {end for piece in listed[name] for end in (piece.lower, piece.upper)}
            namespaces[name] = Namespace(name, tuple(sorted({FULL_LOWER_BOUND, *ends, FULL_UPPER_BOUND})))
        else:
            assumed.append(name)
            boundaries = default_boundaries(settings.defaultNumberOfNamespaceBundles)
            namespaces[name] = Namespace(
                name, (FULL_LOWER_BOUND, FULL_UPPER_BOUND) if isinstance(boundaries, Rejection) else boundaries
            )
    if assumed:
        count = len(namespaces[assumed[0]].initial_boundaries) - 1
        noun = "bundle" if count == 1 else "equal bundles"
        notes.append(
            Notice(BUNDLES_ASSUMED, f"no answer has the bundles of {', '.join(assumed)}; {count} {noun} assumed")
        )
    return namespaces


def _ranges_by_namespace(snapshot: Snapshot) -> dict[str, set[BundleRange]]:
    ranges: dict[str, set[BundleRange]] = {}
    for name, text in snapshot.bundle_of_topic.items():
        parsed, piece = parse_topic_name(name), parse_range(text)
        if isinstance(parsed, TopicName) and isinstance(piece, BundleRange):
            ranges.setdefault(parsed.namespace, set()).add(piece)
    return ranges


FLAG_OF_LISTS: Final = "flag-of-lists"
SEVERAL_LISTS: Final = "several-consumer-lists"
TOPICS_LEFT_OUT: Final = "topics-left-out"


class FleetPart(Struct, frozen=True):
    """What a fleet's tables have of one namespace, or of one subscription in it.

    ``snapshot`` holds the topics of the namespace, each with the subscriptions that are meant. ``listed_flag`` is the
    flag under which the fleet's lists were computed, None where nothing of it is listed. Of
    ``topics_left_out`` topics of the namespace nothing is known.
    """

    snapshot: Snapshot
    listed_flag: bool | None = None
    subscription: str = ""
    topics_left_out: int = 0


def open_fleet_part(part: FleetPart) -> Opened:
    """The part as a state; its notes name what had to be inferred and what differs from the record or from the lists.

    The flag is the reported one, else the one that explains the recorded active consumers, else that of the lists.
    Raises ``InputError`` where nothing of it can be shown. O(t log t) for t partitions.
    """
    snapshot, listed = bounded(part.snapshot), part.listed_flag
    _check(part)
    recorded = snapshot.settings is not None or listed is None or _tells_flag(gather(snapshot, topics_of(snapshot))[0])
    opened = open_snapshot(snapshot, consistent_hashing=None if recorded else listed)
    flag = opened.state.settings.activeConsumerFailoverConsistentHashing
    notes = list(opened.notes)
    if not recorded:
        text = f"no active consumer was recorded to infer {FLAG} from; {_text(flag)} as in the fleet's lists"
        notes.append(Notice(FLAG_OF_LISTS, text))
    elif listed not in (None, flag) and opened.state.subscriptions:
        text = (
            f"the fleet's lists were computed with {FLAG} {_text(not flag)}, which the recorded active consumers "
            f"do not bear out; here it is {_text(flag)} (run the job assign with --set flag={_text(flag)})"
        )
        notes.append(Notice(DIFFERS_FROM_RECORD, text))
    lists = len(opened.state.subscriptions) + len(opened.state.key_subscriptions)
    if part.subscription and lists > 1:
        text = (
            f"the topics of {part.subscription} have {lists} different lists of consumers, so it is shown as {lists} "
            "subscriptions; the fleet's lists add them up"
        )
        notes.append(Notice(SEVERAL_LISTS, text))
    if part.topics_left_out:
        text = f"{part.topics_left_out:,} topics of its namespace without this subscription are left out of the bundles"
        notes.append(Notice(TOPICS_LEFT_OUT, text))
    return structs.replace(opened, notes=tuple(notes))


def _check(part: FleetPart) -> None:
    snapshot = part.snapshot
    if not snapshot.topics and not snapshot.bundles:
        raise InputError(f"{snapshot.source}: the tables have neither topics nor bundles of it")
    if not part.subscription:
        return
    kinds = {subscription.type for facts in snapshot.topics.values() for subscription in facts.subscriptions}
    if kinds.isdisjoint((FAILOVER, KEY_SHARED)):
        listed = ", ".join(sorted(kinds)) or "none"
        raise InputError(
            f"{snapshot.source}: no Failover or Key_Shared subscription to show, only those of type {listed}"
        )


def _tells_flag(groups: Sequence[Group]) -> bool:
    """Whether a recorded active consumer of a partition is explained by only one of the two rules."""
    for group in groups:
        actives = {key: active for key, active in group.actives.items() if key[1] >= 0}
        if infer_priority_levels(group.names, actives).rule is not None:
            return True
    return False


def _text(flag: bool) -> str:
    return str(flag).lower()

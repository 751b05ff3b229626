"""From the tables of a result folder to a state of the model: one subscription, or all of one namespace.

The rows are put into the form in which answers of brokers are opened, so whatever is inferred there (priority levels,
the mode of Key_Shared, bundles nobody told) is inferred here in the same way and told in the same notes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.admin.facts import BundleList, ConsumerFacts, Snapshot, SubscriptionFacts, TopicFacts
from engine.cluster.timeline import Timeline
from engine.config import DEFAULTS, BrokerSettings
from engine.errors import InputError, Rejection
from engine.scenarios.opening import Opened, open_snapshot
from engine.views.model import Notice
from tui.scene import Scene
from tui.sources.fleet_grid import FleetResults

NEIGHBOURS: Final = 20_000
"""Up to so many topics of the namespace come along; of a larger one only those of the subscription."""
BUNDLES_PARTIAL: Final = "bundles-partial"
_TOPICS: Final = (
    "topic", "domain", "namespace", "partition_index", "msg_rate_in", "msg_rate_out", "msg_throughput_in",
    "msg_throughput_out", "storage_size_bytes", "backlog_size_bytes", "publishers", "kind", "file", "bundle",
)  # fmt: skip
_SUBSCRIPTIONS: Final = (
    "subscription", "topic", "type", "consumer_set", "told_active_consumer", "msg_rate_out", "msg_throughput_out",
    "msg_backlog_entries", "unacked_messages",
)  # fmt: skip
_CONSUMERS: Final = (
    "subscription", "topic", "position", "consumer", "address", "connected_since", "client_version",
    "unacked_messages", "key_hash_ranges",
)  # fmt: skip

_Place = tuple[str, str]
"""Topic and subscription: where a dispatcher is."""


def scene_of(results: FleetResults, namespace: str, subscription: str = "") -> Scene:
    """What the simulator shows of one subscription; without one, all of its namespace.

    Raises ``InputError`` where the tables tell too little of it. O(rows of the namespace) in Python, O(rows) in Arrow.
    """
    opened = _opened(results, namespace, subscription)
    state = opened.state
    if subscription and not state.subscriptions and not state.key_subscriptions:
        raise InputError(f"{namespace}/{subscription}: no type that the simulator knows, or nobody has ever connected")
    shown = [each.name for each in state.subscriptions] + [each.name for each in state.key_subscriptions]
    wanted = subscription or _worst_of(results, namespace)
    timeline = Timeline.start(state, opened.seed, opened.source)
    place = shown.index(wanted) if wanted in shown else 0
    return Scene(timeline, place, len(opened.problems), opened.notes)


def _worst_of(results: FleetResults, namespace: str) -> str:
    grid = results.namespaces
    rows = grid.rows("namespace", descending=False, text=namespace).tolist()
    found = (grid.value(row, "worst_subscription") for row in rows if grid.value(row, "namespace") == namespace)
    return next(found, None) or ""


def _opened(results: FleetResults, namespace: str, subscription: str) -> Opened:
    here = pc.field("namespace") == namespace
    wanted = here & (pc.field("subscription") == subscription) if subscription else here
    dispatchers = results.table("subscriptions", _SUBSCRIPTIONS, wanted)
    if subscription and not dispatchers.num_rows:
        raise InputError(f"{namespace}/{subscription} is in no table subscriptions; make the result again")
    counted = results.table("topics", ("topic",), here).num_rows
    notes: tuple[Notice, ...] = ()
    if counted > NEIGHBOURS and subscription:
        here &= pc.field("topic").isin(dispatchers["topic"].unique())
        text = f"{namespace} has {counted:,} topics; the bundles count only those of {subscription}"
        notes = (Notice(BUNDLES_PARTIAL, text),)
    topics = results.table("topics", _TOPICS, here).sort_by("topic")
    facts = _subscription_facts(dispatchers, _Consumers(results, dispatchers))
    rows = topics.to_pylist()
    snapshot = Snapshot(
        source=f"{results.folder}: {namespace}/{subscription}" if subscription else f"{results.folder}: {namespace}",
        topics={row["topic"]: _topic(row, facts.get(row["topic"], ())) for row in rows},
        bundles=_bundles(results, namespace),
        bundle_of_topic={row["topic"]: row["bundle"] for row in rows if row["bundle"]},
        settings=_settings(results),
        version=_version(results),
    )
    opened = open_snapshot(snapshot, consistent_hashing=results.flag_in_force)
    return Opened(opened.state, opened.source, opened.problems, (*notes, *opened.notes), opened.seed)


def _topic(row: dict[str, Any], subscriptions: tuple[SubscriptionFacts, ...]) -> TopicFacts:
    return TopicFacts(
        row["topic"],
        row["domain"],
        row["namespace"],
        row["partition_index"],
        row["msg_rate_in"],
        row["msg_rate_out"],
        row["msg_throughput_in"],
        row["msg_throughput_out"],
        row["storage_size_bytes"],
        row["backlog_size_bytes"],
        row["publishers"],
        subscriptions,
        row["kind"],
        row["file"],
    )


class _Consumers:
    """Consumers of dispatchers: one list for all partitions with the same set, so a row of each is never made."""

    def __init__(self, results: FleetResults, dispatchers: Any) -> None:
        names = dispatchers["subscription"].unique()
        topics = dispatchers["topic"].unique()
        where = pc.field("subscription").isin(names) & pc.field("topic").isin(topics)
        rows = results.table("consumers", _CONSUMERS, where)
        held = rows.group_by(["topic", "subscription"]).aggregate([("unacked_messages", "sum")])
        self._unacked: dict[_Place, int] = {
            (row["topic"], row["subscription"]): row["unacked_messages_sum"] or 0 for row in held.to_pylist()
        }
        self._lists = self._made(rows, dispatchers)

    @staticmethod
    def _made(rows: Any, dispatchers: Any) -> dict[tuple[str, int], tuple[ConsumerFacts, ...]]:
        """By subscription and set of names, from the first dispatcher (by topic) that has the set."""
        first = dispatchers.group_by(["subscription", "consumer_set"]).aggregate([("topic", "min")])
        first = first.rename_columns(["subscription", "consumer_set", "topic"])
        chosen = rows.drop_columns(["unacked_messages", "key_hash_ranges"])
        ranges = rows["key_hash_ranges"]  # a join takes no lists, so they are looked up
        numbered = chosen.append_column("at", pa.array(range(rows.num_rows), pa.int64()))
        joined = numbered.join(first, keys=["subscription", "topic"], join_type="inner")
        found: dict[tuple[str, int], list[ConsumerFacts]] = {}
        for row in joined.sort_by([("topic", "ascending"), ("position", "ascending")]).to_pylist():
            told = ranges[row["at"]].as_py() or ()
            facts = ConsumerFacts(
                name=row["consumer"],
                address=row["address"],
                connected_since=row["connected_since"],
                client_version=row["client_version"],
                range_arrays=tuple((piece["start"], piece["end"]) for piece in told),
            )
            found.setdefault((row["subscription"], row["consumer_set"]), []).append(facts)
        return {key: tuple(listed) for key, listed in found.items()}

    def of(self, subscription: str, consumer_set: int) -> tuple[ConsumerFacts, ...]:
        return self._lists.get((subscription, consumer_set), ())

    def unacked(self, place: _Place) -> int:
        """Messages that the consumers of one dispatcher have not acknowledged."""
        return self._unacked.get(place, 0)


def _subscription_facts(dispatchers: Any, consumers: _Consumers) -> dict[str, tuple[SubscriptionFacts, ...]]:
    """The subscriptions of each topic."""
    found: dict[str, tuple[SubscriptionFacts, ...]] = {}
    for row in dispatchers.to_pylist():
        topic, name = row["topic"], row["subscription"]
        facts = SubscriptionFacts(
            name,
            row["type"],
            row["told_active_consumer"],
            consumers.of(name, row["consumer_set"]),
            row["msg_rate_out"],
            row["msg_throughput_out"],
            row["msg_backlog_entries"],
            # A Failover subscription has its unacknowledged messages at its consumers only.
            max(row["unacked_messages"], consumers.unacked((topic, name))),
        )
        found[topic] = (*found.get(topic, ()), facts)
    return found


def _bundles(results: FleetResults, namespace: str) -> dict[str, BundleList]:
    """The boundaries of the namespace, where its bundles were told without a gap."""
    if not (results.folder / "bundles").is_dir():
        return {}
    rows = results.table("bundles", ("position", "lower", "upper"), pc.field("namespace") == namespace)
    lowers, uppers = (rows.sort_by("position").column(name).to_pylist() for name in ("lower", "upper"))
    if not lowers or lowers[1:] != uppers[:-1]:
        return {}
    return {namespace: BundleList((*lowers, uppers[-1]))}


def _settings(results: FleetResults) -> BrokerSettings | None:
    """The brokers' settings as the tables tell them; None where they tell none that the model knows."""
    if not (results.folder / "settings").is_dir():
        return None
    rows = results.table("settings", ("name", "value")).to_pylist()
    told = {row["name"]: row["value"] for row in rows if row["name"] in DEFAULTS}
    settings = BrokerSettings()
    for name, value in told.items():
        changed = settings.with_setting(name, value)
        settings = settings if isinstance(changed, Rejection) else changed
    return settings if told else None


def _version(results: FleetResults) -> str | None:
    """The release that most brokers have; None where no load report tells one."""
    if not (results.folder / "brokers").is_dir():
        return None
    versions = Counter(text for text in results.table("brokers", ("version",))["version"].to_pylist() if text)
    return min(versions, key=lambda text: (-versions[text], text)) if versions else None

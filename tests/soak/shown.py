"""What screens and ``--json`` show, beside the oracle, and held to the committed schemas."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import isclose
from typing import Any

from jsonschema import Draft202012Validator

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.views.failover.dashboard import dashboard_view, topic_explanation
from engine.views.failover.document import dashboard_document
from engine.views.keys.document import keys_document
from engine.views.keys.view import keys_view
from engine.views.producers.answers import statistics_view
from engine.views.producers.document import producers_document
from engine.views.producers.view import producers_view
from tests.oracles.bundles import holds, text_of
from tests.oracles.cluster import Cluster, Failover, key_bytes
from tests.oracles.failover import cohort_of, ring_hashes, ring_points
from tests.oracles.hashes import utf8
from tests.oracles.keys import KeyShared
from tests.oracles.routing import Producers
from tests.schemas import schema_of
from tests.soak.facts import slot_table
from tests.soak.tally import Tally


def judge_documents(timeline: Timeline, cluster: Cluster, before: Cluster | None, tally: Tally) -> None:
    """The documents of every subscription and of every topic with producers; ``before``: one step earlier."""
    for at, subscription in enumerate(cluster.failover):
        view = dashboard_view(timeline, subscription=at)
        document = dashboard_document(view)
        _validate("dashboard", document, tally)
        old = None if before is None else before.actives(before.failover[at])
        _judge_dashboard(document, cluster, subscription, old, tally)
        _judge_explanations(timeline, at, cluster, subscription, tally)
    for keyed in cluster.keyed:
        document = keys_document(keys_view(timeline, keyed.key))
        _validate("keys", document, tally)
        was = None if before is None else next((each for each in before.keyed if each.key == keyed.key), None)
        _judge_keys(document, keyed, was, tally)
    for producers in cluster.producers:
        view = producers_view(timeline, producers.topic)
        document = producers_document(view, statistics_view(timeline, producers.topic))
        _validate("producers", document, tally)
        _judge_producers(document, producers, tally)


def _judge_dashboard(
    document: Any, cluster: Cluster, subscription: Failover, old: dict[str, int | None] | None, tally: Tally
) -> None:
    actives, about = cluster.actives(subscription), subscription.key
    shown = {row["name"]: row["active_consumer_id"] for row in document["partitions"]}
    tally.agree("active consumers shown", shown, actives, about)
    hashes = {row["name"]: row["ring_hash"] for row in document["partitions"]}
    tally.agree("hashes shown", hashes, {name: cluster.hashes.murmur(utf8(name)) for name in actives}, about)
    sent = {name: cluster.rates.get(name, (0.0, 0.0))[1] for name in actives}
    cohort = cohort_of(subscription.consumers) if subscription.consumers else []
    points = ring_points(cohort, cluster.hashes.murmur)
    for row in document["consumers"]:
        number = row["consumer_id"]
        mine = [name for name, owner in actives.items() if owner == number]
        tally.agree("active partitions shown", row["active_partitions"], len(mine), number)
        tally.agree("rate of a consumer shown", row["msgs_per_sec"], sum(sent[name] for name in mine), number)
        if row["ring_points"]:
            tally.agree("points shown", row["ring_points"], list(points.values()).count(number), number)
            share = ring_hashes(points)[number] / 2**31
            tally.holds("share of the ring shown", isclose(row["ring_share"], share, abs_tol=1e-9), (number, share))
        was = {} if old is None else old
        gained = [name for name in mine if was.get(name) != number] if old is not None else []
        lost = [name for name in was if was[name] == number and actives.get(name) != number]
        tally.agree("gains and losses shown", (row["gained"], row["lost"]), (len(gained), len(lost)), number)
    for node in document["namespaces"]:
        listed = cluster.listed(node["name"])
        tally.agree("topics of a namespace shown", node["topics"], len(listed), node["name"])
        leaves = [leaf for root in node["roots"] for leaf in _leaves(root)]
        edges = cluster.boundaries[node["name"]]
        tally.agree("bundles shown", [leaf["range"] for leaf in leaves], [text_of(*pair) for pair in pairwise(edges)])
        for leaf, pair in zip(leaves, pairwise(edges), strict=True):
            inside = [topic.rates or (0, 0, 0, 0) for topic in listed if holds(*pair, topic.place)]
            tally.agree("topics of a bundle shown", leaf["topics"], len(inside), leaf["range"])
            traffic = (sum(each[0] + each[1] for each in inside), sum(each[2] + each[3] for each in inside))
            tally.agree("traffic shown", (leaf["msgs_per_sec"], leaf["bytes_per_sec"]), traffic, leaf["range"])


def _leaves(node: Any) -> list[Any]:
    return [leaf for child in node["children"] for leaf in _leaves(child)] or [node]


def _judge_explanations(timeline: Timeline, at: int, cluster: Cluster, subscription: Failover, tally: Tally) -> None:
    """Why a partition has its active consumer, and who comes after it; for the first of them."""
    for name, active in list(cluster.actives(subscription).items())[:3]:
        explanation = topic_explanation(timeline, at, name)
        assert not isinstance(explanation, Rejection), explanation
        tally.agree("explained", None if explanation.why is None else explanation.why.active.consumer_id, active, name)
        bundle = next(
            pair
            for pair in pairwise(cluster.boundaries[explanation.namespace])
            if holds(*pair, explanation.bundle_hash)
        )
        place = cluster.hashes.crc(utf8(name))
        tally.agree("bundle explained", (explanation.bundle, explanation.bundle_hash), (text_of(*bundle), place), name)
        if explanation.why is not None:
            left, heirs = list(subscription.consumers), []
            while left and len(heirs) < 1 + len(explanation.why.heirs):
                rest = replace(subscription, consumers=left)
                heirs.append(cluster.actives(rest)[name])
                left = [each for each in left if each.number != heirs[-1]]
            tally.agree("heirs", [heir.consumer_id for heir in explanation.why.heirs], heirs[1:], name)


def _judge_keys(document: Any, keyed: KeyShared, was: KeyShared | None, tally: Tally) -> None:
    selector, about = keyed.dispatcher.selector, keyed.key
    owners = {key: keyed.dispatchers[keyed.partition_of(key)].selector.owner(selector.slot(key)) for key in keyed.known}
    slots = sorted(selector.slot(key) for key in keyed.known)
    tally.agree("slots of keys shown", sorted(row["slot"] for row in document["keys"]), slots, about)
    for row in document["keys"]:
        key = key_bytes(row["key"])
        tally.agree("owner of a key shown", row["consumer_id"], owners[key], row["key"])
        partition = keyed.partition_of(key) if keyed.partitioned else None
        tally.agree("partition of a key shown", row["partition"], partition, row["key"])
    waiting = [
        each.selector.owner(each.slots[at])
        for each in keyed.dispatchers
        for at in each.unacked
        if not any(at in held for held in each.pending.values())
    ]
    tally.agree("waiting messages shown", document["totals"]["waiting"], len(waiting), about)
    now, old = _slots_by_owner(keyed), None if was is None else _slots_by_owner(was)
    for row in document["consumers"]:
        number = row["consumer_id"]
        keys = [key for key, owner in owners.items() if owner == number]
        tally.agree("keys of a consumer shown", row["keys"], len(keys), number)
        tally.agree("messages of a consumer shown", row["messages"], sum(keyed.known[key] for key in keys), number)
        held = sum(len(each.pending[number]) for each in keyed.dispatchers)
        tally.agree("held messages shown", row["unacked"], held, number)
        mine = sum(owner == number for owner in waiting)
        tally.agree("messages waiting for a consumer shown", row["waiting"], mine, number)
        draining = sum(entry.holder == number for each in keyed.dispatchers for entry in each.draining.values())
        tally.agree("draining hashes shown", row["draining"], draining, number)
        if now is not None:
            tally.agree("slots of a consumer shown", row["slots"], len(now.get(number, ())), number)
            if old is not None and was is not None and _slot_space(was) == _slot_space(keyed):
                gained, lost = now.get(number, set()), old.get(number, set())
                moved = (len(gained - lost), len(lost - gained))
                tally.agree("slots gained and lost", (row["gained_slots"], row["lost_slots"]), moved, number)
    if now is not None:
        owned = sum(map(len, now.values()))
        tally.agree(
            "slots without owner shown", document["totals"]["unowned_slots"], document["totals"]["slots"] - owned
        )


def _slot_space(keyed: KeyShared) -> tuple[int, int, int]:
    """The lowest and the highest slot, and the one of the empty key, which shows whether slot 0 occurs."""
    selector = keyed.dispatcher.selector
    return selector.low, selector.high, selector.slot(b"")


def _slots_by_owner(keyed: KeyShared) -> dict[int, set[int]] | None:
    """The slots that occur, by owner; None where they are too many to be listed."""
    table = slot_table(keyed.dispatcher.selector)
    if table is None:
        return None
    low = keyed.dispatcher.selector.low
    lowest = 1 if keyed.dispatcher.selector.slot(b"") else 0
    results: dict[int, set[int]] = {}
    for slot, owner in enumerate(table, start=low):
        if owner >= 0 and slot >= lowest:
            results.setdefault(owner, set()).add(slot)
    return results


def _judge_producers(document: Any, producers: Producers, tally: Tally) -> None:
    totals, about = document["totals"], producers.topic
    objects = sum(map(len, producers.there))
    tally.agree("producer objects shown", totals["broker_producers"], objects, about)
    links = [link for each in producers.all for link in each.links.values()]
    tally.agree("sent messages shown", totals["sent_msgs"], sum(link.sent_msgs for link in links), about)
    tally.agree("queued messages shown", totals["pending_msgs"], sum(link.waiting_msgs for link in links), about)


@cache
def _validator(name: str) -> Any:
    return Draft202012Validator(schema_of(name))


def _validate(name: str, document: Any, tally: Tally) -> None:
    tally.agree(f"schema of {name}", [fault.message for fault in _validator(name).iter_errors(document)][:2], [])

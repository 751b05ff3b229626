"""What the engine computes from a state, beside the oracle: owners, ranges, bundles, statistics; laws of delivery."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random

import numpy as np

from engine.bundles.columns import topics_in
from engine.bundles.occupancy import count_occupancy
from engine.cluster.bundles import topic_loads
from engine.cluster.keys.state import KeySubscription
from engine.cluster.owners import active_consumers
from engine.cluster.state import ClusterState, bundles_of
from engine.config import behaviour_of
from engine.errors import Rejection
from engine.keyshared.bulk import slot_owners
from engine.keyshared.delivery_state import DeliveryState
from engine.keyshared.model import Selector as EngineSelector
from engine.routing.producers.statistics import partitioned_publishers
from engine.views.failover.splits import split_preview
from tests.oracles import bundles
from tests.oracles.cluster import Cluster
from tests.oracles.delivery import Dispatcher
from tests.oracles.hashes import utf8
from tests.oracles.keys import KeyShared
from tests.oracles.releases import Release, version_of
from tests.oracles.selectors import AutoSplit, OldRing, ReplacingRing, Ring, Selector, Sticky
from tests.soak.tally import Tally

PROBES = 24
"""Random slots looked at after each change of a selector, next to the ends of its ranges."""


def compare_actives(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """The active consumer of every partition, and that no consumer of another priority level is active."""
    for mine, theirs in zip(state.subscriptions, cluster.failover, strict=True):
        consumers = active_consumers(state, mine)
        ids = {name: None if consumer is None else consumer.consumer_id for name, consumer in consumers.items()}
        tally.agree("active consumers", ids, cluster.actives(theirs), mine.key)


def compare_owners(mine: KeySubscription, theirs: KeyShared, tally: Tally) -> None:
    """The owner of slots: all ends of ranges, those in use, some at random; scalar and bulk; and ranges as shown."""
    for engine, oracle in zip(mine.dispatchers, theirs.dispatchers, strict=True):
        _compare_selectors(engine.selector, oracle, theirs, tally)


def _compare_selectors(engine: EngineSelector, dispatcher: Dispatcher, theirs: KeyShared, tally: Tally) -> None:
    oracle, key = dispatcher.selector, theirs.key
    tally.agree("slot space", (engine.slots.low, engine.slots.high), (oracle.low, oracle.high), key)
    random = Random(repr([(member.number, member.name) for member in theirs.members]))
    probes = {engine.slots.lowest, oracle.high, *dispatcher.slots.values()}
    probes.update(random.randint(engine.slots.lowest, oracle.high) for _ in range(PROBES))
    ends = {end + more for end in _ends(oracle, theirs) for more in (-1, 0, 1)}
    ends = {end for end in ends if engine.slots.lowest <= end <= oracle.high}
    probes.update(ends if len(ends) < 120 else random.sample(sorted(ends), 120))
    expected = {slot: oracle.owner(slot) for slot in sorted(probes)}
    tally.agree("owners of slots", {slot: engine.owner(slot) for slot in expected}, expected, key)
    bulk = slot_owners(engine).look_up(np.array(list(expected), dtype=np.int64)).tolist()
    tally.agree("owners in bulk", bulk, [-1 if owner is None else owner for owner in expected.values()], key)
    table = slot_table(oracle)
    if table is not None:
        every = slot_owners(engine).look_up(np.arange(oracle.low, oracle.high + 1)).tolist()
        tally.holds("owner of every slot", every == table, key)
    if isinstance(oracle, (Ring, AutoSplit)):
        shown = {number: [(piece.start, piece.end) for piece in ranges] for number, ranges in engine.ranges().items()}
        tally.agree("ranges", shown, _shown(oracle.tiles(), joins=isinstance(oracle, Ring)), key)
    if isinstance(oracle, Sticky):
        shown = {number: [(piece.start, piece.end) for piece in ranges] for number, ranges in engine.ranges().items()}
        tiles = [(start, end, number) for number, ranges in oracle.ranges.items() for start, end in sorted(ranges)]
        tally.agree("ranges", shown, _shown(tiles, joins=True), key)


def slot_table(oracle: Selector) -> list[int] | None:
    """The owner of every slot, -1 for nobody; None where slots are too many."""
    if oracle.high > 65_535:
        return None
    table = [-1] * 65_537
    if isinstance(oracle, (Ring, AutoSplit)):
        for start, end, number in oracle.tiles():
            table[start : end + 1] = [number] * (end + 1 - start)
    elif isinstance(oracle, Sticky):
        for number, ranges in oracle.ranges.items():
            for start, end in ranges:
                table[start : end + 1] = [number] * (end + 1 - start)
    else:
        return None
    return table[oracle.low : oracle.high + 1]


def _ends(selector: Selector, theirs: KeyShared) -> Iterable[int]:
    match selector:
        case Ring():
            return selector.lists
        case AutoSplit():
            return selector.uppers
        case OldRing():
            return selector.claims()
        case ReplacingRing():
            return selector.owners
        case _:
            return [end for member in theirs.members for piece in member.declared or () for end in piece]


def _shown(tiles: list[tuple[int, int, int]], *, joins: bool) -> dict[int, list[tuple[int, int]]]:
    results: dict[int, list[tuple[int, int]]] = {}
    for start, end, owner in tiles:
        mine = results.setdefault(owner, [])
        if joins and mine and mine[-1][1] + 1 == start:
            mine[-1] = (mine[-1][0], end)
        else:
            mine.append((start, end))
    return results


def judge_delivery(mine: KeySubscription, theirs: KeyShared, tally: Tally) -> None:
    """Laws that need no second dispatcher: nothing lost or held twice, and a key in order at one consumer."""
    for state in mine.dispatchers:
        _judge_dispatcher(mine, state, theirs, tally)


def _judge_dispatcher(mine: KeySubscription, state: DeliveryState, theirs: KeyShared, tally: Tally) -> None:
    held = [position for positions in state.pending.values() for position in positions]
    tally.holds("nobody holds what another holds", len(held) == len(set(held)), mine.key)
    unread = set(range(state.read_position, state.next_position))
    places = [*held, *state.replay, *unread]
    tally.holds("every message is in one place", sorted(places) == sorted(state.backlog), mine.key)
    if theirs.dispatcher.terms.order != "draining":
        return
    holders: dict[int, set[int]] = {}
    newest: dict[int, int] = {}
    for number, positions in state.pending.items():
        for position in positions:
            slot = state.backlog[position].slot
            holders.setdefault(slot, set()).add(number)
            newest[slot] = max(newest.get(slot, -1), position)
    tally.holds("one consumer holds a slot", all(len(holder) == 1 for holder in holders.values()), holders)
    for position in (*state.replay, *unread):
        slot = state.backlog[position].slot
        tally.holds(
            "order of a key", newest.get(slot, -1) < position, f"{mine.key}: {position} waits behind a newer one"
        )


def compare_bundles(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """Bundles cover every hash once, each topic lies in one of them, and the numbers of topics agree."""
    for namespace, boundaries in cluster.boundaries.items():
        result = bundles_of(state, namespace)
        tally.agree(
            "ranges of bundles", [(bundle.lower, bundle.upper) for bundle in result], list(pairwise(boundaries))
        )
        tally.holds("bundles cover all", boundaries[0] == 0 and boundaries[-1] == bundles.TOP, namespace)
        listed, loads = cluster.listed(namespace), topic_loads(state, namespace)
        tally.agree("listing order", [load.name for load in loads], [topic.name for topic in listed], namespace)
        for bundle in result:
            inside = [topic.name for topic in listed if bundles.holds(bundle.lower, bundle.upper, topic.place)]
            tally.agree("topics in a bundle", [load.name for load in topics_in(bundle, loads)], inside, bundle)
        for topic in listed:
            homes = [at for at, bundle in enumerate(pairwise(boundaries)) if bundles.holds(*bundle, topic.place)]
            tally.agree("bundle of a topic", [result.index_of(cluster.hashes.crc(utf8(topic.name)))], homes, topic.name)


def compare_occupancy(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """Topics counted in each bundle and on each of three brokers, bundles dealt out in turn."""
    brokers = ["b:1", "b:2", "b:3"]
    for namespace, boundaries in cluster.boundaries.items():
        counted = count_occupancy(bundles_of(state, namespace), topic_loads(state, namespace), brokers)
        assert not isinstance(counted, Rejection), counted
        places = [topic.place for topic in cluster.listed(namespace)]
        inside = [sum(bundles.holds(*bundle, place) for place in places) for bundle in pairwise(boundaries)]
        tally.agree("topics in bundles", counted.per_bundle, tuple(inside), namespace)
        dealt = [sum(inside[at::3]) for at in range(3)]
        tally.agree("topics on brokers", [count for _, count in counted.per_broker], dealt, namespace)


def compare_previews(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """Every algorithm's cuts for a bundle before it is split, and the topics of each piece."""
    # The same choice for a state that was read from a journal, which has its namespaces in order.
    random = Random(repr((sorted(cluster.boundaries.items()), sorted(cluster.topics.items()))))
    namespace = random.choice(sorted(cluster.boundaries))
    lower, upper = random.choice(list(pairwise(cluster.boundaries[namespace])))
    positions = tuple(random.choice((lower, lower + 1, (lower + upper) // 2, upper - 1)) for _ in range(2))
    view = split_preview(state, namespace, bundles.text_of(lower, upper), positions=positions)
    tally.agree("preview", view.problem, None)
    listed = cluster.listed(namespace)
    limits = cluster.split_limits()
    inside = [topic for topic in listed if bundles.holds(lower, upper, topic.place)]
    tally.agree("topics of a preview", view.topics, len(inside), namespace)
    for option in view.options:
        if option.as_proposed or option.algorithm not in bundles.ALGORITHMS:
            continue
        cut = bundles.cuts((lower, upper), option.algorithm, positions, listed, limits)
        about = f"{namespace} {view.range_text} {option.algorithm}"
        outside = upper - lower <= 1 or not all(lower < each < upper for each in cut)
        answered = Release(version_of(cluster.release)).answers_failed_splits
        if outside or not cluster.accepts(option.algorithm) or (answered and len(set(cut)) != len(cut)):
            cut = []  # refused at once
        tally.agree("cuts of a preview", sorted(option.cuts), sorted(cut), about)
        renewed = bundles.renewed([lower, upper], (lower, upper), cut)
        pieces = [] if renewed is None else list(pairwise(renewed))
        counts = [sum(bundles.holds(*piece, topic.place) for topic in inside) for piece in pieces]
        tally.agree("pieces of a preview", [piece.topics for piece in option.pieces], counts, about)


def compare_statistics(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """The merged publishers of every topic with producers, with the setting on and off."""
    behaviour = behaviour_of(state.release)
    once = Release(version_of(cluster.release)).publishers_added_once
    for mine, theirs in zip(state.producer_topics, cluster.producers, strict=True):
        publishers = partitioned_publishers(mine.producers, state.settings, behaviour=behaviour, period_ms=1000)
        assert not isinstance(publishers, Rejection), publishers
        for by_name, merged in ((True, publishers.by_name), (False, publishers.by_position)):
            rows = [
                (
                    row.stats.producer_name,
                    round(row.stats.msg_rate_in_msgs_per_sec, 6),
                    round(row.stats.average_msg_size_bytes, 4),
                    set(row.producers),
                )
                for row in merged.entries
            ]
            expected = [
                (name, round(sent, 6), round(mean, 4), numbers)
                for name, sent, mean, numbers in theirs.publishers(by_name=by_name, once=once)
            ]
            tally.agree("merged publishers", rows, expected, f"{mine.topic} by name {by_name}")

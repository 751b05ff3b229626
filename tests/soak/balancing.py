"""Automatic splitting of a state's bundles over time, beside the oracle: attempts, moves, owners and averages."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec.structs import asdict

from engine.balance.splitting.forecast import simulate
from engine.balance.splitting.model import Balance
from engine.balance.splitting.start import BalanceStart, balance_start
from engine.balance.splitting.topics import BalancedTopic
from engine.cluster.bundles import topic_loads
from engine.cluster.state import ClusterState, behaviour_in, bundles_of
from engine.errors import Rejection
from tests.oracles import balance as oracle
from tests.oracles.cluster import Cluster
from tests.oracles.releases import Release, version_of
from tests.soak.tally import Tally

CYCLES = 6


def space_of(start: BalanceStart) -> oracle.Space:
    """The oracle's beginning, from the same input; averages that a leader has already are not for it."""
    assert not start.averages, "an oracle begins without averages"
    topics = [
        oracle.Traffic(
            topic.load.name,
            topic.load.hash,
            (
                topic.load.msg_rate_in,
                topic.load.msg_rate_out,
                topic.load.throughput_in_bytes_per_sec,
                topic.load.throughput_out_bytes_per_sec,
            )
            if topic.load.has_stats
            else None,
            topic.producers + topic.consumers,
            topic.growth_per_cycle,
            (),
        )
        for topic in start.topics
    ]
    ranges = [(bundle.lower, bundle.upper) for bundle in start.bundles]
    owners = {
        pair: start.owners.get(str(bundle), start.brokers[at % len(start.brokers)])
        for at, (pair, bundle) in enumerate(zip(ranges, start.bundles, strict=True))
    }
    return oracle.Space(
        start.bundles.namespace,
        list(start.bundles.boundaries),
        topics,
        start.brokers,
        owners,
        asdict(start.settings),
        asdict(start.intervals),
        start.behaviour.split_algorithms,
        start.first_rate_factor,
        Release(version_of(start.behaviour.label)).answers_failed_splits,
    )


def compare_cycles(balance: Balance, expected: Sequence[oracle.Cycle], tally: Tally) -> None:
    """Cycle by cycle."""
    for mine, theirs in zip(balance.cycles, expected, strict=True):
        about = f"cycle {mine.number}"
        tally.agree("time of a cycle", mine.at_ms, theirs.at_ms, about)
        if theirs.seen or theirs.judged:
            seen = [((load.bundle.lower, load.bundle.upper), load.msgs_per_sec, load.samples) for load in mine.loads]
            tally.agree("averages", seen, list(theirs.seen), about)
            judged = [
                [(verdict.bundle.rpartition("/")[2], verdict.outcome) for verdict in run.verdicts] for run in mine.runs
            ]
            others = [[(oracle.bundles.text_of(*pair), outcome) for pair, outcome in run] for run in theirs.judged]
            tally.agree("verdicts", judged, others, about)
        tried = [
            (attempt.bundle.rpartition("/")[2], attempt.broker, attempt.outcome, attempt.cuts)
            for attempt in mine.attempts
        ]
        others = [(oracle.bundles.text_of(*each.bundle), *each[1:]) for each in theirs.tried]
        tally.agree("attempts", tried, others, about)
        moves = [(move.bundle.rpartition("/")[2], move.from_broker, move.to_broker) for move in mine.moves]
        tally.agree("moves of bundles", moves, [(oracle.bundles.text_of(*a), b, c) for a, b, c in theirs.moves], about)
        tally.agree("boundaries after a cycle", mine.bundles.boundaries, theirs.boundaries, about)
        owners = {(bundle.lower, bundle.upper): broker for bundle, broker in mine.owners}
        tally.agree("owners of bundles", owners, dict(theirs.owners), about)


def compare_balance(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """A few cycles of both load managers from this state, with sessions, growth and limits drawn from what it is."""
    random = Random(repr((cluster.boundaries, cluster.topics)))
    namespace = random.choice(list(cluster.boundaries))
    for load_manager in ("modular", "extensible"):
        topics = [
            BalancedTopic(load, random.randrange(3), random.randrange(3), random.choice((1.0, 1.0, 1.5, 0.5)))
            for load in topic_loads(state, namespace)
        ]
        start = balance_start(
            bundles_of(state, namespace),
            topics,
            [f"b-{at}:8080" for at in range(random.choice((1, 2, 3, 13)))],
            state.settings,
            load_manager=load_manager,
            behaviour=behaviour_in(state),
            first_rate_factor=random.choice((1.0, 1.25)),
        )
        assert not isinstance(start, Rejection), start
        result = simulate(start, CYCLES)
        assert isinstance(result, Balance), result
        compare_cycles(result, oracle.simulated(space_of(start), load_manager, CYCLES), tally)

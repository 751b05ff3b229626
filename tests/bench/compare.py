"""Verdicts and heirs, beside the same by hand: one loss after another, and the scalar choice topic by topic."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.cluster.commands import KillConsumer
from engine.cluster.owners import active_ids, columns_of
from engine.cluster.state import ClusterState
from engine.compare.heirs import losses, one_loss, without
from engine.compare.names import Fit, Work, fit_names, score_of
from engine.compare.verdict import Verdict, preview
from engine.errors import Rejection
from engine.failover.choose import choose_many
from engine.hashing import murmur3_32
from engine.names import partition_index
from engine.scenarios.synthetic import synthetic_state
from tests.bench.table import Row, lines

SOME: Final = 20
"""Topics of which the peer is timed where all of them would take minutes; then it is scaled up."""


def seconds(work: Callable[[], object]) -> float:
    """The CPU time of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def heirs_row(topics: int, consumers: int, bar: str) -> Row:
    """Every single failure on the ring; the peer takes one consumer away after another."""
    state = synthetic_state(topics, 1, consumers, consistent_hashing=True).state
    subscription = state.subscriptions[0]
    active_ids(state, subscription)
    ours = seconds(lambda: losses(state, subscription))
    peer = seconds(lambda: [one_loss(state, subscription, consumer) for consumer in subscription.consumers[:SOME]])
    what = f"heirs --all, {topics:,} topics x {consumers:,} consumers"
    return Row(what, ours * 1000, "one consumer taken away after another", peer * 1000 * consumers / SOME, bar)


def one_row(topics: int, consumers: int) -> Row:
    """The verdict on one loss; the peer chooses for each topic by the scalar rule, twice."""
    state = synthetic_state(topics, 1, consumers, consistent_hashing=True).state
    subscription = state.subscriptions[0]
    active_ids(state, subscription)
    preview(state, KillConsumer(subscription.key, 0), subscription.key)
    ours = seconds(lambda: judged(state, 1))
    few = [columns_of(state, subscription).names[at] for at in range(min(topics, 2_000))]
    pairs = [(name, partition_index(name)) for name in few]
    after = without(state, subscription.key, {1}).subscriptions[0]

    def by_hand() -> None:
        for one in (subscription, after):
            chosen = choose_many(one.consumers, pairs, consistent_hashing=True)
            Counter(choice.active.consumer_id for choice in chosen)

    peer = seconds(by_hand)
    what = f"the verdict on one loss, {topics:,} topics x {consumers:,} consumers"
    return Row(what, ours * 1000, "the scalar choice, topic by topic", peer * 1000 * topics / len(few), "< 50 ms")


def judged(state: ClusterState, number: int) -> Verdict:
    """The verdict on the loss of one consumer."""
    key = state.subscriptions[0].key
    result = preview(state, KillConsumer(key, number), key)
    assert isinstance(result, Verdict), result
    return result


def names_row(topics: int, consumers: int, bar: str) -> Row:
    """Names for a ring; the peer builds each ring that is tried from nothing, as a broker does."""
    names = [f"consumer-{at}" for at in range(consumers)]
    hashes = [murmur3_32(f"persistent://t/n/topic-{at}-partition-0") for at in range(topics)]
    work = Work.of_topics(np.array(hashes), np.ones(topics))
    results: list[Fit | Rejection] = []
    ours = seconds(lambda: results.append(fit_names(names, work)))
    [fit] = results
    assert isinstance(fit, Fit), fit
    peer = seconds(lambda: [score_of([f"{name}-{at}" for name in names], work) for at in range(SOME)])
    what = f"suggest names, {topics:,} topics x {consumers} consumers"
    return Row(what, ours * 1000, "each ring built from nothing", peer * 1000 * 2 * fit.tried / SOME, bar)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Topics and consumers of each comparison."""

    few_names: tuple[int, int] = (100, 10)
    names: tuple[int, int] = (1_000, 50)
    few_heirs: tuple[int, int] = (10_000, 100)
    heirs: tuple[int, int] = (1_000_000, 1_000)


FULL: Final = Sizes()


def rows(sizes: Sizes = FULL) -> list[Row]:
    """Two sizes of every single failure, one loss of a large state, and two searches for names."""
    return [
        names_row(*sizes.few_names, "< 5 s"),
        names_row(*sizes.names, "< 10 s"),
        heirs_row(*sizes.few_heirs, "< 2 s"),
        heirs_row(*sizes.heirs, ""),
        one_row(*sizes.heirs),
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")

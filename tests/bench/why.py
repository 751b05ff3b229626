"""The worst of many subscriptions, and one of them alone, beside judging all of them one after the other.

The subscriptions are those of the recorded faults and healthy twins, again and again under other names.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import structs

from engine.admin.facts import LedgerFacts, TopicFacts
from engine.admin.moments import Moment, read_moments
from engine.diagnosis.seen import subscriptions_seen
from engine.diagnosis.why import diagnose, selected, why, worst
from engine.errors import Rejection
from tests.bench.table import Row, median_ms
from tests.engine.diagnosis.samples import FAULTS, HEALTHY, dump

TOPICS: Final = 10_000
ROUNDS: Final = 5
PEER: Final = "judging every subscription in turn"


def dump_of(topics: int, names: tuple[str, ...] = (*FAULTS, *HEALTHY)) -> tuple[Moment, Moment]:
    """Two moments of a cluster with as many topics, which the recordings follow each other in."""
    with TemporaryDirectory() as folder:
        recorded = [read_moments(dump(name, Path(folder) / name)) for name in names]
    two = [moments[-2:] for moments in recorded if len(moments) > 1]
    return _moment([moments[0] for moments in two], topics), _moment([moments[1] for moments in two], topics)


def _moment(moments: list[Moment], topics: int) -> Moment:
    copies = dict(islice(_copies(moments), topics))
    ledgers = {name: ledger for name, (_, ledger) in copies.items() if ledger is not None}
    named = {name: topic for name, (topic, _) in copies.items()}
    return structs.replace(moments[0], snapshot=structs.replace(moments[0].snapshot, topics=named, ledgers=ledgers))


def _copies(moments: list[Moment]) -> Iterator[tuple[str, tuple[TopicFacts, LedgerFacts | None]]]:
    for number in count():
        for place, moment in enumerate(moments):
            for topic in moment.snapshot.topics.values():
                namespace = f"copies/{place}-{number}"
                name = f"{topic.domain}://{namespace}/{topic.name.rpartition('/')[2]}"
                ledger = moment.snapshot.ledgers.get(topic.name)
                yield name, (replace(topic, name=name, namespace=namespace), ledger)


def rows(topics: int = TOPICS, rounds: int = ROUNDS) -> list[Row]:
    """One row for the worst of all, one for a subscription by its name; without the time of reading."""
    moments = dump_of(topics)
    gc.collect()
    gc.disable()  # as the command does
    try:
        return _timed(moments, rounds)
    finally:
        gc.enable()


def _timed(moments: tuple[Moment, Moment], rounds: int) -> list[Row]:
    every = why(moments)
    assert worst(subscriptions_seen(moments)) == every[0]
    all_ms = median_ms(lambda: why(moments), rounds)
    worst_ms = median_ms(lambda: worst(subscriptions_seen(moments)), rounds)
    name = every[0].subscription

    def one() -> None:
        selection = selected(subscriptions_seen(moments), name)
        assert not isinstance(selection, Rejection)
        diagnose(selection[0])

    one_ms = median_ms(one, rounds)
    loaded = len(moments[-1].snapshot.topics)
    return [
        Row(
            f"why: the worst of {len(every):,} subscriptions, {loaded:,} topics", worst_ms, PEER, all_ms, "<= 1,000 ms"
        ),
        Row(f"why: one subscription of {len(every):,}", one_ms, PEER, all_ms, "<= 200 ms"),
    ]

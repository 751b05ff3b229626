"""What a key press costs with a million topics and 1,000 consumers at 120x40: CPU time until the screen is painted.

Of the whole process, so that threads count too. The same keys with 1,000 topics and 20 consumers are the peer: what is
left of the difference is the price of the size.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from unittest import mock

import mmh3

from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.scenarios.synthetic import synthetic_state
from engine.views.bundles.model import BalanceQuestion, BalanceView
from engine.views.bundles.view import balance_view
from engine.views.failover.dashboard import dashboard_view
from tests.bench.pressing import BAR, Taken, press
from tests.bench.table import Row, lines
from tui.app import RingsideApp
from tui.bundles import screen as bundles_questions
from tui.kit.collecting import collect_seldom
from tui.kit.session import Session

FEW_TOPICS, FEW_CONSUMERS = 1_000, 20
STEPS: Final = ("down", "up", "v", "v", "v", "x", "[", "]", "u", "c", "x", "c", "x", "[", "]", "u")
ASKED: Final = (
    *("f", "escape", "a", "escape", "a", "enter", "s", "escape"),
    *("b", "escape", "question_mark", "escape", "z", "z"),
)
WORDS: Final = {
    "f": "f, explain: the prompt with the busiest topic",
    "a": "a, add a consumer: the dialog",
    "s": "s, splits of a bundle by all algorithms",
    "b": "b, bundles: the frame, the forecast comes later",
    "enter": "enter, the consumer is added",
    "question_mark": "?, all keys: the dialog",
    "z": "z, one panel for all, and back",
    "escape": "escape, back",
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large the state is, and how often the keys are pressed."""

    topics: int = 1_000_000
    consumers: int = 1_000
    rounds: int = 4


FULL: Final = Size()


def _pressed(state: ClusterState, keys: Sequence[str]) -> Taken:
    """The presses of ``keys``. The forecast has a row of its own: what a thread does beside the screen is no frame."""
    gc.collect()
    collect_seldom()  # as the program does when it has started
    app = RingsideApp(Session(Timeline.start(state, source="bench")), animate=False)
    unanswered = Rejection("NotAsked", "a benchmark of the frame asks for no forecast")
    with mock.patch.object(bundles_questions, "balance_view", lambda *_: unanswered):
        return asyncio.run(press(app, keys, time.process_time))


def key_rows(size: Size, keys: Sequence[str], *, ring: bool = False) -> list[Row]:
    """One row for each key: the median of its presses to the last paint, beside the same in a small state."""
    large, small = (
        _pressed(synthetic_state(topics, 1, consumers, consistent_hashing=ring).state, keys * size.rounds).presses
        for topics, consumers in ((size.topics, size.consumers), (FEW_TOPICS, FEW_CONSUMERS))
    )
    peer = f"the same with {FEW_TOPICS:,} topics, {FEW_CONSUMERS} consumers"
    return [
        Row(
            f"{WORDS.get(key, f'key {key!r}')}{', the ring decides' if ring else ''}",
            statistics.median(taken),
            peer,
            statistics.median(small[key]),
            BAR,
            most_ms=max(taken),
        )
        for key, taken in large.items()
    ]


def opening_row(topics: int, consumers: int) -> Row:
    """From nothing to the first view, behind an early frame; the peer hashes the same names one by one."""
    begin = time.process_time()
    dashboard_view(Timeline.start(synthetic_state(topics, 1, consumers, seed=1).state))
    middle = time.process_time()
    for number in range(topics):
        mmh3.hash(f"persistent://public/default/topic-{number}-partition-0")
    ours, peer = middle - begin, time.process_time() - middle
    what = f"opening {topics:,} topics, behind an early frame"
    return Row(what, ours * 1000, "one hash of each name, one by one", peer * 1000)


def forecast_row(topics: int, consumers: int) -> Row:
    """What key b computes in its thread, for the question it asks first; the peer sorts the names the same way."""
    state = synthetic_state(topics, 1, consumers, seed=1).state
    begin = time.process_time()
    view = balance_view(state, next(iter(state.namespaces)), BalanceQuestion())
    middle = time.process_time()
    assert isinstance(view, BalanceView), view
    sorted(name for topic in state.topics.values() for name in topic.partition_names())
    ours, peer = middle - begin, time.process_time() - middle
    return Row(
        f"forecast of {topics:,} topics, 20 cycles by 4 algorithms",
        ours * 1000,
        "making and sorting their names",
        peer * 1000,
    )


def rows(size: Size = FULL) -> list[Row]:
    """The forecast, the keys that change something with either rule, those that ask, and the opening."""
    return [
        forecast_row(size.topics, size.consumers),
        *key_rows(size, STEPS),
        *key_rows(size, STEPS, ring=True),
        *key_rows(size, ASKED),
        opening_row(size.topics, size.consumers),
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")

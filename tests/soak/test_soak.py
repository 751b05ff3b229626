"""A short soak finds nothing, and what is planted in the engine is found, shrunk and played again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine.cluster.timeline
import engine.failover.choose
import engine.failover.ring
import engine.keyshared.autosplit
import engine.keyshared.draining
import engine.keyshared.ring_layout
from engine.cluster.journal import recover
from engine.cluster.timeline import Timeline
from tests.oracles.hashes import Hashing
from tests.soak.deeds import DEEDS
from tests.soak.episode import Episode
from tests.soak.keeping import keep, play_journal
from tests.soak.shrink import MOST_STEPS, fewest, shrunk
from tests.soak.tally import Tally

EPISODES = range(20)


def test_a_short_soak_finds_nothing() -> None:
    """Episodes of all hash widths and forms; every kind of deed and of check occurs."""
    tally = Tally()
    seen: set[str] = set()
    for number in EPISODES:
        episode = Episode.drawn(number)
        seen.update(deed.kind for deed in episode.deeds)
        played = episode.play(episode.deeds, tally)
        assert played.found is None, f"episode {number}: {played.found}"
    assert seen == set(DEEDS)
    assert tally.events > 10 * len(EPISODES) and len(tally.checks) > 60


def test_terms_read_back_from_the_source_of_a_journal() -> None:
    for number in EPISODES:
        terms = Episode.drawn(number).terms
        assert type(terms).parse(str(terms)) == terms
    assert Hashing.parse(str(Hashing(11, "edges"))) == Hashing(11, "edges")


def test_delta_debugging_leaves_what_is_needed() -> None:
    needed = {3, 17, 40}
    asked = []

    def fails(items: Any) -> bool:
        asked.append(items)
        return needed <= set(items)

    assert fewest(range(60), fails) == sorted(needed)
    assert len(asked) < 200


def test_no_oracle_knows_the_engine() -> None:
    """In a process of its own: importing all oracles loads no module of the engine, and no hash library."""
    folder = Path(__file__).parent.parent / "oracles"
    modules = [f"tests.oracles.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"]
    root = folder.parent.parent
    code = (
        f"import sys, importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('engine', 'mmh3', 'numpy')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert ran.stdout.strip() == "[]"


def equal_points_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """``<=`` for ``<`` where a hash looks for its point."""
    ring = engine.failover.ring.FailoverRing

    def owner_index(self: Any, hash_value: int) -> int:
        at = int(np.searchsorted(self.points, hash_value, side="right"))
        return int(self.owners[0 if at == len(self.points) else at])

    patch.setattr(ring, "owner_index", owner_index)


def past_the_end_is_the_last_point(patch: pytest.MonkeyPatch) -> None:
    """No wrap."""
    ring = engine.failover.ring.FailoverRing

    def owner_index(self: Any, hash_value: int) -> int:
        at = int(np.searchsorted(self.points, hash_value, side="left"))
        return int(self.owners[min(at, len(self.points) - 1)])

    patch.setattr(ring, "owner_index", owner_index)


def names_in_order_of_code_points(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.failover.choose, "utf16_order", lambda name: name)


def the_upper_half_goes_to_the_newcomer(patch: pytest.MonkeyPatch) -> None:
    selector = engine.keyshared.autosplit.AutoSplitSelector
    join_all = selector.join_all

    def join(self: Any, newcomer: Any) -> Any:
        joined = join_all(self, (newcomer,))
        if not self.owners:
            return joined
        swapped = list(joined.owners)
        at = swapped.index(newcomer.consumer_id)
        swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
        return type(joined)(**{**_fields(joined), "owners": tuple(swapped)})

    patch.setattr(selector, "join", join)


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def the_last_claimant_keeps_a_point(patch: pytest.MonkeyPatch) -> None:
    layout = engine.keyshared.ring_layout.RingLayout
    patch.setattr(layout, "first_claimant", lambda self, index: self.claimants(index)[-1])


def nothing_drains(patch: pytest.MonkeyPatch) -> None:
    draining = engine.keyshared.draining.DrainingHashes
    patch.setattr(draining, "blocks", lambda self, slot, consumer_id: (False, self))


def undo_forgets_a_step(patch: pytest.MonkeyPatch) -> None:
    state_at = Timeline.state_at
    patch.setattr(Timeline, "state_at", lambda self, step: state_at(self, max(0, step - (0 < step < self.cursor))))


PLANTED: tuple[tuple[Callable[[pytest.MonkeyPatch], None], int], ...] = (
    (equal_points_do_not_count, 0),
    (past_the_end_is_the_last_point, 0),
    (names_in_order_of_code_points, 0),
    (the_upper_half_goes_to_the_newcomer, 0),
    (the_last_claimant_keeps_a_point, 0),
    (nothing_drains, 0),
    (undo_forgets_a_step, 0),
)
"""What is planted, and an episode that is known to be one of the first that show it."""


@pytest.mark.parametrize(("plant", "first"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_what_is_planted_is_found_and_shrunk_to_a_journal(
    plant: Callable[[pytest.MonkeyPatch], None], first: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Found within a few dozen episodes; the journal has at most ten steps and shows the same when played again."""
    with monkeypatch.context() as patch:
        plant(patch)
        tried = (Episode.drawn(first + more) for more in range(60))
        episode, played = next(
            (each, played) for each in tried if (played := each.play(each.deeds, Tally())).found is not None
        )
        small = shrunk(episode, played)
        assert len(small.commands) <= MOST_STEPS
        kept = keep(small, tmp_path)
        read, problems = recover(kept.path)
        assert not problems and len(read.log) < MOST_STEPS
        again = play_journal(kept.path, [kept.then], small.found.group)
        assert again is not None and again.check == small.found.check
    assert play_journal(kept.path, [kept.then], small.found.group) is None

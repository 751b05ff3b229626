"""A short soak finds nothing, and what is planted in the engine is found, shrunk and played again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.journal.file import recover
from tests.oracles.hashes import Hashing
from tests.soak.deeds import DEEDS
from tests.soak.episode import Episode
from tests.soak.keeping import keep, play_journal
from tests.soak.plants import PLANTS, Plant
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


@pytest.mark.parametrize(("plant", "first"), PLANTS.items(), ids=[plant.__name__ for plant in PLANTS])
def test_what_is_planted_is_found_and_shrunk_to_a_journal(
    plant: Plant, first: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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

"""An earlier moment is opened with the settings that brokers had then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from engine.admin.facts import Snapshot
from engine.admin.moments import read_moments
from engine.cluster.timeline import Timeline
from engine.config import ReleaseBehaviour
from engine.errors import Rejection
from engine.scenarios.opening import flag_shown, open_moments
from engine.views.reported.view import Reported
from tui.kit.moments import Moments

NAMES: Final = tuple(f"billing-{number}" for number in range(4))
BY_MODULO: Final = (0, 1, 2, 3, 0, 1, 2, 3)
BY_RING: Final = (2, 0, 3, 0, 1, 0, 1, 1)
"""The active consumers of eight partitions, by the places in the list of names."""
FLAG: Final = "activeConsumerFailoverConsistentHashing"


def recorded(folder: Path, turn: int, active: tuple[int, ...], flag: bool | None) -> None:
    consumers = [{"consumerName": name, "availablePermits": 10, "unackedMessages": 0} for name in NAMES]
    partitions = {
        f"persistent://t/n/x-partition-{index}": {
            "msgRateIn": 1.0,
            "publishers": [],
            "subscriptions": {
                "s": {"type": "Failover", "msgBacklog": 0, "activeConsumerName": NAMES[at], "consumers": consumers}
            },
        }
        for index, at in enumerate(active)
    }
    (folder / f"{turn}-stats.json").write_text(json.dumps({"metadata": {"partitions": 8}, "partitions": partitions}))
    if flag is not None:
        (folder / f"{turn}-runtime.json").write_text(json.dumps({FLAG: str(flag).lower()}))


def flags(folder: Path) -> list[bool]:
    """The flag that each of the moments is opened with; every consumer must be on level 0."""
    opened = open_moments(read_moments(folder))
    moments = Moments(Reported(opened.seen))
    later = Timeline.start(opened.state, opened.seed, opened.source)
    states = [*(moments.timeline(at, later).initial for at in range(len(opened.seen) - 1)), opened.state]
    for state in states:
        assert {consumer.priority_level for one in state.subscriptions for consumer in one.consumers} <= {0}
    return [state.settings.activeConsumerFailoverConsistentHashing for state in states]


@pytest.mark.parametrize("printed", [True, False], ids=["settings printed", "settings inferred"])
@pytest.mark.parametrize("before", [False, True])
def test_the_flag_of_each_moment_is_its_own(tmp_path: Path, before: bool, printed: bool) -> None:
    for turn, flag in enumerate((before, not before), start=1):
        recorded(tmp_path, turn, BY_RING if flag else BY_MODULO, flag if printed else None)
    assert flags(tmp_path) == [before, not before]


def test_a_moment_that_shows_no_flag_has_the_one_of_the_newest(tmp_path: Path) -> None:
    recorded(tmp_path, 1, (), None)
    (tmp_path / "1-stats.json").write_text(
        json.dumps({"persistent://t/n/x-partition-0": {"msgRateIn": 1.0, "publishers": [], "subscriptions": {}}})
    )
    recorded(tmp_path, 2, BY_RING, None)
    assert flags(tmp_path) == [True, True]


def test_a_flag_that_was_asked_for_is_that_of_every_moment(tmp_path: Path) -> None:
    for turn in (1, 2):
        recorded(tmp_path, turn, BY_MODULO, None)
    opened = open_moments(read_moments(tmp_path))
    settings = opened.state.settings.with_setting(FLAG, "true")
    assert not isinstance(settings, Rejection)
    later = Timeline.start(replace(opened.state, settings=settings), opened.seed, opened.source)
    state = Moments(Reported(opened.seen)).timeline(0, later).initial
    assert state.settings.activeConsumerFailoverConsistentHashing


def test_the_flag_of_all_moments_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for turn in (1, 2, 3, 4):
        recorded(tmp_path, turn, BY_RING, None)
    looked_for = []

    def counted(snapshot: Snapshot, behaviour: ReleaseBehaviour) -> bool:
        looked_for.append(snapshot)
        return flag_shown(snapshot, behaviour)

    monkeypatch.setattr("tui.kit.moments.flag_shown", counted)
    assert flags(tmp_path) == [True] * 4
    assert len(looked_for) == 1

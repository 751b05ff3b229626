"""Two thousand random keys, and whether a failure would be found, shrunk and replayed.

Blocks of the event loop are measured by ``make soak-ui`` alone: here no time is.
"""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from tests.soak_ui import __main__ as command
from tests.soak_ui import loop
from tests.soak_ui.choosing import Chooser
from tests.soak_ui.judging import Finding, judged
from tests.soak_ui.playing import Outcome, play, replay
from tests.soak_ui.shrinking import FEW
from tests.soak_ui.soaking import sessions
from tests.soak_ui.steps import session_of
from tests.soak_ui.twin import disagreement
from tui.screens.bundles import BundlesScreen
from tui.screens.common_screen import CommonScreen
from tui.sources.keeping import Keeping

KEYS = 500


@pytest.mark.parametrize("seed", ["test-1", "test-2", "test-3", "test-4"])
def test_random_keys_on_every_screen_end_no_session_and_show_nothing_wrong(seed: str) -> None:
    pressed = 0
    for outcome in sessions(seed, KEYS):
        pressed += outcome.session.keys
        assert judged(outcome, disagreement, limit_seconds=inf) is None
    assert pressed >= KEYS


def test_the_same_seed_presses_the_same_keys() -> None:
    first, second = (random_session("small", "again", 60) for _ in range(2))
    assert first.session == second.session
    assert [moment.screen for moment in first.moments] == [moment.screen for moment in second.moments]


def test_a_planted_exception_is_found_shrunk_and_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: BundlesScreen) -> None:
        raise LookupError("planted")

    monkeypatch.setattr(BundlesScreen, "action_zoom", fail)
    finding = shrunk_finding("small", "exception")
    assert finding.failure.kind == "raises LookupError"
    assert_replayed(finding, capsys)


def test_a_planted_loss_of_a_step_is_found_shrunk_and_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The third step and all behind it are not written to the journal."""
    record = Keeping.record

    def forgetful(keeping: Keeping, timeline: Any) -> str:
        return record(keeping, timeline) if len(timeline.log) < 3 else "saved"

    monkeypatch.setattr(Keeping, "record", forgetful)
    finding = shrunk_finding("small", "loss")
    assert (finding.failure.kind, finding.failure.place) == ("disagrees", "journal")
    assert_replayed(finding, capsys)


def test_a_planted_block_of_the_event_loop_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the processor is simulated, too: it moves on in the planted place only."""
    spent = 0.0

    def clock() -> float:
        return spent

    def block(_: CommonScreen) -> None:
        nonlocal spent
        spent += 0.051

    monkeypatch.setattr(loop, "thread_time", clock)
    monkeypatch.setattr(loop, "slowness", lambda: 1.0)
    monkeypatch.setattr(CommonScreen, "action_redo", block)
    finding = shrunk_finding("small", "block")
    assert finding.failure.kind == "blocks"
    assert finding.session.keys <= FEW


def random_session(scene: str, seed: str, keys: int) -> Outcome:
    return play(scene, (80, 24), Chooser(seed, keys, check_every=10), disagreement)


def shrunk_finding(scene: str, seed: str) -> Finding:
    """What is found within 250 keys."""
    finding = judged(random_session(scene, seed, 250), disagreement)
    assert finding is not None
    return finding


def assert_replayed(finding: Finding, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed line has few keys, and does it again."""
    assert finding.session.keys <= FEW
    line = finding.line.removeprefix("make soak-ui REPLAY='").removesuffix("'")
    assert session_of(line) == finding.session
    assert finding.failure.is_like(replay(session_of(line), disagreement).failure)
    capsys.readouterr()
    assert command.replayed(line) == 1
    assert finding.failure.kind in capsys.readouterr().out

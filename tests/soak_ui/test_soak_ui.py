"""Two thousand random keys, and whether a failure would be found, shrunk and replayed.

Blocks of the event loop are measured by ``make soak-ui`` alone: here no time is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
from textual.events import Paste

from engine.cluster.state import ClusterState
from engine.views.scalable.dashboard import ScalableDashboard
from tests.soak_ui import __main__ as command
from tests.soak_ui import judging, loop
from tests.soak_ui.choosing import Chooser
from tests.soak_ui.judging import Finding, judged
from tests.soak_ui.playing import Outcome, play, replay
from tests.soak_ui.shrinking import FEW
from tests.soak_ui.soaking import sessions
from tests.soak_ui.steps import messages_of, pasted, session_of
from tests.soak_ui.twin import disagreement
from tui.failover.dialogs import AddConsumerScreen
from tui.failover.screen import MainScreen
from tui.scalable.screen import ScalableScreen
from tui.sources.sessions import SessionSaver

KEYS_OF_TEST = 250


@pytest.mark.parametrize("seed", [f"test-{number}" for number in range(1, 9)])
def test_random_keys_on_every_screen_end_no_session_and_show_nothing_wrong(seed: str) -> None:
    pressed = 0
    for outcome in sessions(seed, KEYS_OF_TEST):
        pressed += outcome.session.keys
        assert judged(outcome, disagreement, limit_seconds=inf) is None
    assert pressed >= KEYS_OF_TEST


def test_the_same_seed_presses_the_same_keys() -> None:
    first, second = (random_session("again", 40) for _ in range(2))
    assert first.session == second.session
    assert [moment.screen for moment in first.moments] == [moment.screen for moment in second.moments]


@pytest.mark.parametrize("text", ["kill a", "half \ud800 a character", "ümläut / @ ~"])
def test_a_pasted_text_is_replayed_as_it_was(text: str) -> None:
    (message,) = messages_of(pasted(text))
    assert isinstance(message, Paste) and message.text == text


def test_a_planted_exception_is_found_shrunk_and_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: AddConsumerScreen) -> None:
        raise LookupError("planted")

    monkeypatch.setattr(AddConsumerScreen, "submit", fail)
    finding = shrunk_finding("r")
    assert finding.failure.kind == "raises LookupError"
    assert_replayed(finding, capsys)


def test_a_planted_loss_of_a_step_is_found_shrunk_and_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is said to be saved is not."""
    monkeypatch.setattr(SessionSaver, "record", lambda *_: "saved")
    finding = shrunk_finding("b")
    assert (finding.failure.kind, finding.failure.place) == ("disagrees", "journal")
    assert_replayed(finding, capsys)


def plant_block(monkeypatch: pytest.MonkeyPatch, blocks: Callable[[MainScreen], bool] = lambda _: True) -> None:
    """The clock of the processor is simulated, too: it moves on in the planted place only."""
    spent = 0.0
    kill = MainScreen.action_kill

    def block(screen: MainScreen) -> None:
        nonlocal spent
        spent += 0.051 if blocks(screen) else 0.0
        kill(screen)

    monkeypatch.setattr(loop, "thread_time", lambda: spent)
    monkeypatch.setattr(loop, "slowness", lambda: 1.0)
    monkeypatch.setattr(judging, "REPLAYS", 1)  # nothing else takes the processor away from this clock
    monkeypatch.setattr(MainScreen, "action_kill", block)


def test_a_planted_block_of_the_event_loop_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_block(monkeypatch)
    finding = shrunk_finding("i", judging.LIMIT_SECONDS)
    assert finding.failure.kind == "blocks"
    assert finding.session.keys <= FEW


def test_a_block_whose_result_is_remembered_of_a_scene_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a replay of the same scene would not compute again, the user of a new one waits for."""
    known: list[ClusterState] = []

    def is_new(screen: MainScreen) -> bool:
        scene = screen.store.timeline.initial
        if any(scene is other for other in known):
            return False
        known.append(scene)
        return True

    plant_block(monkeypatch, is_new)
    finding = shrunk_finding("i", judging.LIMIT_SECONDS)
    assert finding.failure.kind == "blocks"


def test_a_stale_table_of_segments_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table keeps what it listed first."""
    listing = ScalableScreen._list_segments
    first: dict[ScalableScreen, ScalableDashboard] = {}
    monkeypatch.setattr(
        ScalableScreen, "_list_segments", lambda screen, view: listing(screen, first.setdefault(screen, view))
    )
    outcome = play("scalable-sharing", (120, 40), Chooser("m", 60, check_every=2), disagreement)
    assert outcome.failure is not None
    assert outcome.failure.text.startswith("ScalableScreen segments")


def random_session(seed: str, keys: int) -> Outcome:
    return play("small", (80, 24), Chooser(seed, keys, check_every=10), disagreement)


def shrunk_finding(seed: str, limit_seconds: float = inf) -> Finding:
    """What is found within short sessions: which of them hits it depends on the keys that there are.

    Seeds are chosen so that today the first one does.
    """
    for number in range(40):
        finding = judged(random_session(f"{seed}-{number}", 60), disagreement, limit_seconds)
        if finding is not None:
            return finding
    raise AssertionError("nobody found what was planted")


def assert_replayed(finding: Finding, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed line has few keys, and does it again."""
    assert finding.session.keys <= FEW
    line = finding.line.removeprefix("make soak-ui REPLAY='").removesuffix("'")
    assert session_of(line) == finding.session
    assert finding.failure.is_like(replay(session_of(line), disagreement).failure)
    capsys.readouterr()
    assert command.replayed(line) == 1
    assert finding.failure.kind in capsys.readouterr().out

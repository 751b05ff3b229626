"""Model and broker on the screen of a running cluster: how many facts agree, and those that do not, in the events."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from textual.pilot import Pilot

from tests.tui.live.test_live import ORDERS, Hand, app_with, at, reading
from tests.tui.reported_scenes import actives_differ_app
from tests.tui.screens_under_test import run, text_of
from tui.cli.pictures import Pictures, agreement_of
from tui.kit.screen import DashboardScreen
from tui.live.differences import DifferencesScreen
from tui.sources.cluster.outcomes import Answer
from tui.sources.cluster.reading import ClusterReading

__all__ = ["at"]


def wrong(second: int) -> ClusterReading:
    """A reading in which one partition reports somebody else as active than the rule gives."""
    right = reading(second)
    answers = []
    for answer in right.answers:
        data = answer.data
        if answer.path.endswith(ORDERS):
            stats = json.loads(data)
            billing = stats["partitions"]["persistent://public/default/orders-partition-0"]["subscriptions"]["billing"]
            others = [consumer["consumerName"] for consumer in billing["consumers"]]
            others.remove(billing["activeConsumerName"])
            billing["activeConsumerName"] = others[0]
            data = json.dumps(stats).encode()
        answers.append(Answer(answer.path, data))
    return replace(right, answers=tuple(answers))


def test_a_reading_is_held_against_the_model() -> None:
    assert (agreement_of(reading(0)).compared, agreement_of(reading(0)).disagreements) == (56, ())
    (first, *_) = agreement_of(wrong(0)).disagreements
    assert (first.topic, first.subscription) == ("persistent://public/default/orders-partition-0", "billing")
    assert first.reported != first.modelled


def test_a_disagreement_is_counted_an_event_and_listed(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.arrived is not None
        feed.arrived(pictures.newer(reading(10)))
        await pilot.pause()
        assert "56 facts agree" in text_of(app)
        feed.arrived(pictures.newer(wrong(20)))
        await pilot.pause()
        assert app.store.agreement.disagreements == ()  # one reading alone may be of two moments
        feed.arrived(pictures.newer(wrong(30)))
        await pilot.pause()
        reported = app.store.shown.failover_view.reported
        assert reported is not None
        kinds = [event.kind for event in reported.events if event.moment == 4]
        assert "differs" in kinds
        await pilot.press("V")
        await pilot.pause()
        assert isinstance(app.screen, DifferencesScreen)
        assert "orders-partition-0" in text_of(app)
        await pilot.press("escape", "left_square_bracket")
        await pilot.pause()
        assert app.store.agreement.disagreements == ()

    run(app, story, (160, 40))


def test_after_a_step_there_is_nothing_to_list_until_home() -> None:
    app = actives_differ_app("a-failover-8p-hash", 3)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("x", "V")
        await pilot.pause()
        assert isinstance(app.screen, DashboardScreen) and app.screen.sentence[0] == "refusal"
        await pilot.press("home", "V")
        await pilot.pause()
        assert isinstance(app.screen, DifferencesScreen) and app.store.differences.compared == 8

    run(app, story, (120, 40))

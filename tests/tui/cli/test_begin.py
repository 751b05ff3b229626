"""How a session begins on an opened state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import structs

from engine.cluster.commands import KillConsumer
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_path
from tests.tui.screens_under_test import cluster
from tui.cli.options import WhatIf
from tui.cli.session import begin, subscription_place

ALONE = Path(__file__).parents[2] / "samples" / "autosplit-alone"


def test_opening_restarts_no_dispatcher_unless_a_setting_of_it_was_given() -> None:
    """Subscriptions that were seen in another mode than the settings lead to stay as they were seen."""
    opened = open_path(ALONE)
    ring = structs.replace(opened.state.settings, subscriptionKeySharedUseConsistentHashing=True)
    opened = structs.replace(opened, state=structs.replace(opened.state, settings=ring))

    def mode(*settings: tuple[str, str]) -> SharingMode:
        session = begin(opened, WhatIf(settings, None, (), None))
        return session.timeline.state.key_subscriptions[0].mode

    assert mode() is SharingMode.AUTO_SPLIT
    assert mode(("maxConsumersPerTopic", "9")) is SharingMode.AUTO_SPLIT
    assert mode(("keySharedUnblockingIntervalMs", "9")) is SharingMode.CONSISTENT_AUTO_SPLIT


def test_the_first_subscription_with_consumers_is_shown() -> None:
    """An empty one in front of it is passed over; where all are empty the first one is shown."""
    state = cluster()
    [full] = state.subscriptions
    empty = replace(full, key="first", name="first", consumers=())
    both = Timeline.start(structs.replace(state, subscriptions=(empty, full)))
    assert subscription_place(both, (), None) == 1
    assert subscription_place(both, (), "first") == 0
    emptied, refused = both.submit(KillConsumer("billing", 0))
    assert refused is None
    for number in (1, 2):
        emptied, _ = emptied.submit(KillConsumer("billing", number))
    assert subscription_place(emptied, (), None) == 1
    assert subscription_place(Timeline.start(structs.replace(state, subscriptions=(empty,))), (), None) == 0
    assert subscription_place(Timeline.start(ClusterState()), (), None) == 0

"""How a session begins on an opened state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.cluster.key_state import SharingMode
from engine.scenarios.opening import open_path
from tui.cli.options import WhatIf
from tui.cli.session import begin

ALONE = Path(__file__).parents[2] / "samples" / "autosplit-alone"


def test_opening_restarts_no_dispatcher_unless_a_setting_of_it_was_given() -> None:
    """Subscriptions that were seen in another mode than the settings lead to stay as they were seen."""
    opened = open_path(ALONE)
    ring = replace(opened.state.settings, subscriptionKeySharedUseConsistentHashing=True)
    opened = replace(opened, state=replace(opened.state, settings=ring))

    def mode(*settings: tuple[str, str]) -> SharingMode:
        session = begin(opened, WhatIf(settings, None, (), None))
        return session.timeline.state.key_subscriptions[0].mode

    assert mode() is SharingMode.AUTO_SPLIT
    assert mode(("maxConsumersPerTopic", "9")) is SharingMode.AUTO_SPLIT
    assert mode(("keySharedUnblockingIntervalMs", "9")) is SharingMode.CONSISTENT_AUTO_SPLIT

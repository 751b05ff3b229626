"""Bugs to be planted in a child: what judges input must find them."""

from __future__ import annotations

from typing import Any


def endless_loop() -> None:
    """The next thing that is read never ends."""
    import tui.cli.main

    def spin(_: object) -> int:
        while True:
            pass

    tui.cli.main.main = spin  # type: ignore[assignment]


def two_gigabytes() -> None:
    """The next thing that is read needs more memory than there is."""
    import tui.cli.main

    def fill(_: object) -> int:
        return len(bytes(2 * 10**9))

    tui.cli.main.main = fill  # type: ignore[assignment]


def billions_of_messages() -> None:
    """Statistics with more than two thousand million messages per second are too much."""
    import engine.admin.topics as topics
    from engine.admin.topic_wire import TopicWire

    real = topics.decoded_wire

    def wrong(raw: bytes) -> TopicWire:
        wire = real(raw)
        if (wire.msgRateIn or 0) > 2 * 10**9:
            raise KeyError("planted")
        return wire

    topics.decoded_wire = wrong  # type: ignore[attr-defined]


def negative_consumer_ids() -> None:
    """Events about a consumer with a negative id are too much."""
    import engine.cluster.journal.lines as lines

    real = lines.objection

    def wrong(state: Any, event: Any) -> str:
        return str(1 // 0) if getattr(event, "consumer_id", 0) < 0 else real(state, event)

    lines.objection = wrong

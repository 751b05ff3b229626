"""Walks of a router through messages, for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterable

from engine.routing.keys import Message
from engine.routing.routers import Router, route


def walk(
    router: Router, messages: Iterable[Message], partitions: int, clock_ms: Iterable[int] | None = None
) -> tuple[Router, list[int]]:
    """The router after these messages and the partition of each; without a clock all are sent at moment 0."""
    sent = list(messages)
    taken = []
    for message, now_ms in zip(sent, clock_ms or [0] * len(sent), strict=True):
        router, partition = route(router, message, partitions, now_ms)
        taken.append(partition)
    return router, taken


def keyless(count: int) -> list[Message]:
    return [Message()] * count

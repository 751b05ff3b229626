"""Walks of a router through messages, for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.routing.clients import JAVA_DEFAULT, PYTHON_DEFAULT, KeyRouting, Message, partition_of
from engine.routing.routers import Router, route

ROUTINGS: Final = {
    "JavaStringHash": JAVA_DEFAULT,
    "Murmur3_32Hash": KeyRouting("java", "Murmur3_32Hash"),
    "BoostHash": PYTHON_DEFAULT,
}
"""A client with each hash that producers of the simulation can have."""


def hash_of(key: str, hashing: str) -> int:
    return ROUTINGS[hashing].hash_of(key)


def partition_of_key(key: str, hashing: str, partitions: int) -> int:
    result = partition_of(key, ROUTINGS[hashing], partitions)
    assert result is not None
    return result


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

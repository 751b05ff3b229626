"""The consumer as a Failover dispatcher sees it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from engine.answer import about


class Consumer(Struct, frozen=True):
    """One connected consumer of one subscription.

    ``consumer_id`` stands for the identity Pulsar compares (client address and consumer id): two consumers may have one
    name, never one id. ``name`` is "" when the client sent none. ``priority_level`` is a signed 32-bit number; a
    **lower number is a higher priority**. The Java client refuses negative levels, the broker does not.
    """

    consumer_id: Annotated[int, about("Counts from 0 in what was opened; brokers show none.")]
    name: Annotated[str, about("Its name.")]
    priority_level: Annotated[int, about("Lower levels come first.")] = 0

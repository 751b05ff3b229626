"""What statistics tell of Key_Shared subscriptions alone: mode, ordering, and the hashes that drain (PIP-379).

Decoded on request and by itself: most readers do not want it, and the hot path of topic statistics stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.admin.facts import Count, Decoded, Slot
from engine.admin.text import child, malformed, raw_object, value_problem
from engine.admin.topics import without_nulls
from engine.errors import Problem


class DrainingHashFacts(msgspec.Struct, frozen=True, rename={"unacked": "unackMsgs", "attempts": "blockedAttempts"}):
    """One slot that drains: how many messages of it are not acknowledged, and how often others were held back."""

    hash: Slot
    unacked: Count = 0
    attempts: Count = 0


class KeySharedConsumerFacts(
    msgspec.Struct,
    frozen=True,
    rename={
        "name": "consumerName",
        "unacked_messages": "unackedMessages",
        "draining_count": "drainingHashesCount",
        "draining_cleared_total": "drainingHashesClearedTotal",
        "draining_unacked_messages": "drainingHashesUnackedMessages",
        "draining": "drainingHashes",
    },
):
    """One consumer; the three counts are None in releases before 4.0."""

    name: str = ""
    unacked_messages: Count = 0
    draining_count: Count | None = None
    draining_cleared_total: Count | None = None
    draining_unacked_messages: Count | None = None
    draining: tuple[DrainingHashFacts, ...] = ()


class KeySharedFacts(
    msgspec.Struct,
    frozen=True,
    rename={
        "mode": "keySharedMode",
        "allow_out_of_order_delivery": "allowOutOfOrderDelivery",
        "backlog_entries": "msgBacklog",
        "unacked_messages": "unackedMessages",
        "replay_messages": "msgInReplay",
        "draining_count": "drainingHashesCount",
        "draining_cleared_total": "drainingHashesClearedTotal",
        "draining_unacked_messages": "drainingHashesUnackedMessages",
    },
):
    """One Key_Shared subscription. ``mode`` is ``AUTO_SPLIT`` or ``STICKY``; None where a release leaves a member out.

    ``consumers`` in the dispatcher's order, the same as in ``SubscriptionFacts``.
    """

    mode: str | None = None
    allow_out_of_order_delivery: bool | None = None
    backlog_entries: Count = 0
    unacked_messages: Count = 0
    replay_messages: Count | None = None
    draining_count: Count | None = None
    draining_cleared_total: Count | None = None
    draining_unacked_messages: Count | None = None
    consumers: tuple[KeySharedConsumerFacts, ...] = ()


def decode_key_shared(data: bytes, source: str = "", path: str = "$") -> Decoded[dict[str, KeySharedFacts]]:
    """``GET …/{topic}/stats``: the Key_Shared subscriptions of one topic by name. O(length)."""
    members, problems = raw_object(data, source, path)
    good: dict[str, KeySharedFacts] = {}
    found: list[Problem] = list(problems)
    subscriptions = members.get("subscriptions")
    if subscriptions is None:
        return Decoded({}, tuple(found))
    by_name, more = raw_object(subscriptions, source, child(path, "subscriptions"))
    found += more
    for name, raw in by_name.items():
        try:
            document = without_nulls(msgspec.json.decode(raw))
            if isinstance(document, dict) and document.get("type") == "Key_Shared":
                good[name] = msgspec.convert(document, type=KeySharedFacts)
        except msgspec.ValidationError as fault:
            found.append(value_problem(source, child(child(path, "subscriptions"), name), fault))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            found.append(malformed(bytes(raw), source, fault, child(child(path, "subscriptions"), name)))
    return Decoded(good, tuple(found))


def decode_key_shared_partitions(data: bytes, source: str = "") -> Decoded[Mapping[str, dict[str, KeySharedFacts]]]:
    """``GET …/{topic}/partitioned-stats``: full name of each partition -> its Key_Shared subscriptions. O(length)."""
    members, problems = raw_object(data, source)
    good: dict[str, dict[str, KeySharedFacts]] = {}
    found: list[Problem] = list(problems)
    if "partitions" in members:
        partitions, more = raw_object(members["partitions"], source, child("$", "partitions"))
        found += more
        for name, raw in partitions.items():
            decoded = decode_key_shared(bytes(raw), source, child(child("$", "partitions"), name))
            good[name] = decoded.good
            found += decoded.problems
    return Decoded(good, tuple(found))

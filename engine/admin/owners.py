"""Who owns what: lists of owned bundles, and look-ups of the broker that serves a topic."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from engine.admin.facts import Decoded
from engine.admin.text import child, raw_object, value_problem
from engine.errors import Problem
from engine.names import refuse_bundle


@dataclass(frozen=True, slots=True)
class LookupFacts:
    """What a look-up answers: the broker's address for clients, and that for HTTP; "" where it is not told."""

    broker_url: str
    http_url: str


class _LookupWire(msgspec.Struct):
    brokerUrl: str | None = None
    httpUrl: str | None = None


def decode_owned(data: bytes, source: str = "") -> Decoded[tuple[str, ...]]:
    """``GET …/brokers/{cluster}/{broker}/ownedNamespaces``: full names of the bundles, in the answer's order."""
    members, problems = raw_object(data, source)
    faults = {name: refusal.message for name in members if (refusal := refuse_bundle(name)) is not None}
    wrong = tuple(
        Problem(source, child("$", name), fault, "this one is set aside; the rest is kept")
        for name, fault in faults.items()
    )
    return Decoded(tuple(name for name in members if name not in faults), problems + wrong, len(wrong))


def decode_lookup(data: bytes, source: str = "") -> Decoded[LookupFacts | None]:
    """``GET /lookup/v2/topic/…``: the broker that serves the topic."""
    try:
        wire = msgspec.json.decode(data, type=_LookupWire)
    except (msgspec.ValidationError, msgspec.DecodeError) as fault:
        return Decoded(None, (value_problem(source, "$", fault),), 1)
    return Decoded(LookupFacts(wire.brokerUrl or "", wire.httpUrl or ""))

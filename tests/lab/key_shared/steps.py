"""What the steps of a scenario say of a Key_Shared subscription: ranges, attempts to join, and who got which key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.keyshared.admission import KeySharedMode, SubscriptionTerms
from engine.keyshared.model import DeclaredRanges
from tests.lab.members import items, members, text, texts, whole

KEY_SHARED_FACTS: Final = frozenset(
    {"received", "earlier_now_received", "received_by_all", "received_by_gap", "received_by_others"}
    | {"wire_result", "client_result", "accepted"}
)
"""Members of steps that hold facts of Key_Shared."""

ACCEPTED: Final = "accepted"
_RANGE: Final = re.compile(r"\[(\d+),\s*(\d+)\]")
MessageName = tuple[str, str]
"""(round, key): one message, since a key is sent once in a round."""


@dataclass(frozen=True, slots=True)
class KeySharedStep:
    """One step; None where it does not say.

    ``ranges`` are those that its consumer declares; ``accepted`` are all consumers with their ranges. ``keys`` were
    sent in this step, once each. ``received`` is what each consumer got of them; ``delivered`` the same with the round
    of each message; ``earlier`` is what arrived of earlier rounds. ``by_newcomer`` went to the consumer that joined,
    ``by_sole`` to the only one that is left; ``by_others`` is what has gone to others than the holder so far. Results
    are ``accepted`` or "error: message"; ``any_order`` is allowOutOfOrderDelivery of the newcomer.
    """

    do: str = ""
    ranges: DeclaredRanges | None = None
    accepted: Mapping[str, DeclaredRanges] | None = None
    keys: tuple[str, ...] | None = None
    round: str = ""
    received: Mapping[str, tuple[str, ...]] | None = None
    delivered: Mapping[str, tuple[MessageName, ...]] | None = None
    earlier: Mapping[str, tuple[MessageName, ...]] | None = None
    by_newcomer: tuple[str, ...] | None = None
    by_sole: tuple[MessageName, ...] | None = None
    by_others: Mapping[str, tuple[str, ...]] | None = None
    wire_result: str | None = None
    client_result: str | None = None
    any_order: bool | None = None

    @property
    def attempt(self) -> str | None:
        """The name of a consumer that tries to join and does not stay."""
        return self.do.removeprefix("try ") if self.do.startswith("try ") else None

    @property
    def joins(self) -> str | None:
        """The name of a consumer that joins and stays."""
        return self.do.removeprefix("join ") if self.do.startswith("join ") else None

    @property
    def sends(self) -> bool:
        """Whether the step sends messages and says who got them."""
        return self.keys is not None or self.received is not None

    @property
    def declared(self) -> DeclaredRanges | None:
        """The ranges of this step's consumer, as a member or in its words."""
        if self.ranges is not None:
            return self.ranges
        return tuple((int(match[1]), int(match[2])) for match in _RANGE.finditer(self.do)) or None


@dataclass(frozen=True, slots=True)
class KeySharedScenario:
    """What holds for all steps: the consumers' terms, the keys that are sent, and ranges by consumer name."""

    terms: SubscriptionTerms
    keys: tuple[str, ...] = ()
    declared: Mapping[str, DeclaredRanges] | None = None


def is_key_shared(scenario: Mapping[str, Any]) -> bool:
    """Whether a scenario is about a Key_Shared subscription: ``Key_Shared``, or ``Key_Shared STICKY``."""
    return text(scenario.get("type")).startswith("Key_Shared")


def key_shared_scenario(scenario: Mapping[str, Any]) -> KeySharedScenario | None:
    """The Key_Shared side of a scenario; None when it is about another type.

    The mode is STICKY where the type says so, and where the scenario lists ranges that consumers bring.
    """
    if not is_key_shared(scenario):
        return None
    declared = _ranges_by_name(scenario.get("accepted"))
    if declared is None:
        declared = _ranges_by_name(scenario.get("ranges"))
    sticky = text(scenario.get("type")).endswith("STICKY") or bool(declared)
    return KeySharedScenario(
        SubscriptionTerms(
            mode=KeySharedMode.STICKY if sticky else KeySharedMode.AUTO_SPLIT,
            allow_out_of_order_delivery=scenario.get("allow_out_of_order_delivery") is True,
        ),
        tuple(map(text, items(scenario.get("keys")))),
        declared,
    )


def key_shared_step(raw: Mapping[str, Any]) -> KeySharedStep:
    """One step of a scenario; members of a wrong kind count as absent."""
    any_order = raw.get("allow_out_of_order_delivery")
    return KeySharedStep(
        do=text(raw.get("do")),
        ranges=_ranges(raw.get("ranges")),
        accepted=_ranges_by_name(raw.get("accepted")),
        keys=texts(raw.get("keys")),
        round=text(raw.get("round")),
        received=_texts_by_name(raw.get("received")),
        delivered=_messages_by_name(raw.get("delivered")),
        earlier=_messages_by_name(raw.get("earlier_now_received")),
        by_newcomer=texts(raw.get("received_by_gap")),
        by_sole=_messages(raw.get("received_by_all")),
        by_others=_texts_by_name(raw.get("received_by_others")),
        wire_result=_result(raw.get("wire_result")),
        client_result=_result(raw.get("client_result")),
        any_order=any_order if isinstance(any_order, bool) else None,
    )


def _result(raw: object) -> str | None:
    if isinstance(raw, dict):
        return f"{text(raw.get('error'))}: {text(raw.get('message'))}"
    return raw if isinstance(raw, str) else None


def _ranges(raw: object) -> DeclaredRanges | None:
    if not isinstance(raw, list):
        return None
    pairs = [tuple(map(whole, pair)) for pair in raw if isinstance(pair, list) and len(pair) == 2]
    ranges = tuple((start, end) for start, end in pairs if start is not None and end is not None)
    return ranges if len(ranges) == len(raw) else None


def _ranges_by_name(raw: object) -> dict[str, DeclaredRanges] | None:
    if not isinstance(raw, dict):
        return None
    return {name: ranges for name, value in raw.items() if (ranges := _ranges(value)) is not None}


def _texts_by_name(raw: object) -> dict[str, tuple[str, ...]] | None:
    if not isinstance(raw, dict):
        return None
    return {name: listed for name, value in members(raw).items() if (listed := texts(value)) is not None}


def _messages(raw: object) -> tuple[MessageName, ...] | None:
    if not isinstance(raw, list):
        return None
    return tuple((text(pair[0]), text(pair[1])) for pair in raw if isinstance(pair, list) and len(pair) == 2)


def _messages_by_name(raw: object) -> dict[str, tuple[MessageName, ...]] | None:
    if not isinstance(raw, dict):
        return None
    return {name: messages for name, value in raw.items() if (messages := _messages(value)) is not None}

"""Statistics of a Key_Shared subscription: consumers, hash ranges, mode, and what waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.admin.facts import ConsumerFacts, SubscriptionFacts
from engine.config import BrokerSettings
from engine.keyshared.admission import uses_classic_dispatcher
from engine.verify.consumers import connect_ranks, where_they_differ
from engine.verify.report import FactKind, Ledger
from tests.lab.consumers import STEPS_RULE
from tests.lab.facts import StepFact
from tests.lab.key_shared.subscription import ModelledSubscription

ARRAYS: Final = "keyHashRangeArrays"
TEXTS: Final = "keyHashRanges"


def compare_connected(
    modelled: ModelledSubscription, ledger: Ledger, subject: str, subscription: SubscriptionFacts
) -> tuple[str, ...] | None:
    """Compare those listed with those connected; the scenario's ids of those listed, None when they are others."""
    names = tuple(consumer.name for consumer in subscription.consumers)
    expected = tuple(modelled.name_of(who) for who in modelled.connected)
    sides = tuple(sorted(names)), tuple(sorted(expected))
    if not ledger.compare(StepFact.CONNECTED, subject, *sides, STEPS_RULE):
        return None
    ledger.compare(FactKind.ORDER, subject, names, expected, "connect order")
    namesakes = {name for name in names if names.count(name) > 1}
    for name, ranks in sorted(connect_ranks(subscription.consumers, namesakes).items()):
        in_order = tuple(range(1, len(ranks) + 1))
        rule = "namesakes by the time they connected"
        ledger.compare(FactKind.ORDER, f"{subject} / {name}", tuple(ranks), in_order, rule)
    left: dict[str, list[str]] = {}
    for who in modelled.connected:
        left.setdefault(modelled.name_of(who), []).append(who)
    return tuple(left[name].pop(0) for name in names)


def compare_ranges(
    modelled: ModelledSubscription,
    ledger: Ledger,
    subject: str,
    subscription: SubscriptionFacts,
    listed: Sequence[str],
) -> None:
    """Compare the ranges of each consumer."""
    shown = modelled.ranges()
    rule = f"{type(modelled.selector).__name__} of {len(listed)} consumers, Pulsar {modelled.behaviour.label}"
    for who, consumer in zip(listed, subscription.consumers, strict=True):
        sides = where_they_differ(consumer.key_hash_ranges, shown[who])
        ledger.compare(StepFact.KEY_RANGES, f"{subject} / {consumer.name}", *sides, rule)


def compare_form(
    modelled: ModelledSubscription,
    settings: BrokerSettings,
    ledger: Ledger,
    subject: str,
    consumers: Sequence[ConsumerFacts],
) -> None:
    """Compare how ranges are written: pairs of numbers since 4.0, texts before and in the classic dispatcher."""
    classic = uses_classic_dispatcher(settings, modelled.behaviour)
    forms = {ARRAYS for consumer in consumers if consumer.range_arrays} | {
        TEXTS for consumer in consumers if consumer.range_texts
    }
    if forms:
        expected = (TEXTS if classic else ARRAYS,)
        rule = f"the {'classic' if classic else 'current'} dispatcher, Pulsar {modelled.behaviour.label}"
        ledger.compare(StepFact.KEY_RANGES_FORM, subject, tuple(sorted(forms)), expected, rule)


def compare_terms(modelled: ModelledSubscription, ledger: Ledger, subject: str, facts: SubscriptionFacts) -> None:
    """Compare mode and ordering; a release that leaves one of them out says nothing about it."""
    if facts.mode is not None:
        mode = modelled.terms.mode.value
        ledger.compare(StepFact.KEY_SHARED_TERMS, subject, facts.mode, mode, "the scenario's type")
    if facts.allow_out_of_order_delivery is not None:
        sides = facts.allow_out_of_order_delivery, modelled.terms.allow_out_of_order_delivery
        recorded, expected = (f"allowOutOfOrderDelivery {'true' if side else 'false'}" for side in sides)
        ledger.compare(StepFact.KEY_SHARED_TERMS, subject, recorded, expected, "what the consumers asked for")


def compare_backlog(
    modelled: ModelledSubscription, ledger: Ledger, subject: str, facts: SubscriptionFacts, waiting: int
) -> None:
    """Compare how many entries went to nobody: that is the backlog, once all that went out is acknowledged.

    Since 4.0 all of them are on the replay queue; before, some may not even have been read.
    """
    if facts.unacked_messages:
        ledger.skip("backlogs while messages are on their way")
        return
    recorded = facts.msg_backlog_entries
    ledger.compare(StepFact.KEY_BACKLOG, subject, recorded, waiting, "messages sent, without those that arrived")
    if facts.msg_in_replay is not None and modelled.behaviour.ownerless_key == "waits":
        rule = "what waits was read, and is on the replay queue"
        ledger.compare(StepFact.KEY_BACKLOG, subject, facts.msg_in_replay, waiting, rule)

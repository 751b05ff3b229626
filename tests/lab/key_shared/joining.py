"""Who is let in and who is refused: the answers of the broker and of a client to a consumer that tries to join."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, SubscriptionType, join_refusal
from engine.keyshared.sticky import RangeConflict
from engine.keyshared.sticky_policy import policy_problem
from engine.names import NON_PERSISTENT
from tests.lab.key_shared.steps import ACCEPTED, KeySharedTold
from tests.lab.key_shared.subscription import KeySharedBook
from tests.lab.recording import Recording
from tests.lab.report import FactKind, Ledger

# ``ServerError`` of Pulsar's protocol has other words than the exceptions of the broker.
_ON_THE_WIRE: Final = {"ConsumerAssign": "ConsumerAssignError"}
_OWN_CHECK: Final = "ValueError"
_UNKNOWN: Final = "..."
_TYPES: Final = {each.value: each for each in SubscriptionType}


def try_to_join(book: KeySharedBook, told: KeySharedTold, recording: Recording, ledger: Ledger) -> str | None:
    """Hold the answers to an attempt against the model; the id of the consumer if it was let in, else None."""
    name = told.attempt or told.do
    sent = told.wire_result is not None or not (told.client_result or "").startswith(_OWN_CHECK)
    newcomer = newcomer_terms(book.terms, told)
    refusal = join_refusal(book.terms if book.connected else None, newcomer) if sent else None
    if sent and refusal is None:
        refusal = book.join(name, name, told.declared)
    modelled = ACCEPTED if refusal is None else as_on_the_wire(refusal, recording)
    rule = f"order of checks when a consumer joins, Pulsar {book.behaviour.label}"
    if told.wire_result is not None:
        ledger.compare(FactKind.JOIN_ANSWER, name, _comparable(told.wire_result, recording), modelled, rule)
    if told.client_result is not None and told.client_result.startswith(_OWN_CHECK):
        _compare_own_check(name, told, ledger)
    elif told.client_result is not None:
        recorded = told.client_result.partition(":")[0]
        ledger.compare(FactKind.JOIN_ANSWER, name, recorded, modelled.partition(":")[0], rule)
    return name if sent and refusal is None else None


def newcomer_terms(active: SubscriptionTerms, told: KeySharedTold) -> SubscriptionTerms:
    """On which terms a consumer tries to join: STICKY if it brings ranges, else as the step says in words.

    >>> told = KeySharedTold(do="try an AUTO_SPLIT consumer on the sticky subscription")
    >>> newcomer_terms(SubscriptionTerms(mode=KeySharedMode.STICKY), told).mode.value
    'AUTO_SPLIT'
    """
    mode = active.mode
    if told.ranges is not None:
        mode = KeySharedMode.STICKY
    else:
        mode = next((each for each in KeySharedMode if each.value in told.do), mode)
    words = re.findall(r"\b(?:Exclusive|Failover|Key_Shared|Shared)\b", told.do)
    kind = _TYPES[words[0]] if words else active.subscription_type
    any_order = told.any_order
    if any_order is None:
        # In words a step can only say that the ordering is another one.
        any_order = active.allow_out_of_order_delivery is not ("order" in told.do)
    return replace(active, subscription_type=kind, mode=mode, allow_out_of_order_delivery=any_order)


def as_on_the_wire(refusal: Rejection, recording: Recording) -> str:
    """Error and text as a client gets them. The id and the address of another consumer are not the model's to know."""
    error = _ON_THE_WIRE.get(refusal.error, refusal.error)
    if not isinstance(refusal, RangeConflict):
        return f"{error}: {refusal.message}"
    kind = "NonPersistentSubscription" if recording.topic.startswith(f"{NON_PERSISTENT}:") else "PersistentSubscription"
    place = f"{kind}{{topic={recording.topic}, name={recording.subscription}}}"
    other = f"subscription={place}, consumerId={_UNKNOWN}, consumerName={refusal.other.name}, address={_UNKNOWN}"
    return f"{error}: Range conflict with consumer Consumer{{{other}}}"


def _comparable(recorded: str, recording: Recording) -> str:
    if "consumerName=" not in recorded:
        return recorded
    if recording.partitions:
        recorded = re.sub(r"-partition-\d+, name=", ", name=", recorded)
    recorded = re.sub(r"consumerId=\d+, consumerName=", f"consumerId={_UNKNOWN}, consumerName=", recorded)
    return re.sub(r", address=.*\}$", f", address={_UNKNOWN}}}", recorded, flags=re.DOTALL)


def _compare_own_check(name: str, told: KeySharedTold, ledger: Ledger) -> None:
    """Clients of other languages have texts of their own, so what is compared is whether they refuse."""
    if told.ranges is None:
        ledger.skip("checks of clients without told ranges")
        return
    problem = policy_problem(told.ranges)
    modelled = "refused by the client" if problem is not None else "sent to the broker"
    rule = problem.message if problem is not None else "KeySharedPolicySticky.validate finds nothing wrong"
    ledger.compare(FactKind.CLIENT_CHECK, name, "refused by the client", modelled, rule)

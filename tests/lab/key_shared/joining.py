"""Who is let in and who is refused: the answers of broker and client to a consumer that tries to join."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, SubscriptionType, join_refusal
from engine.keyshared.sticky import RangeConflict, policy_problem
from engine.names import NON_PERSISTENT
from engine.verify.report import Ledger
from tests.lab.client_errors import error_stem
from tests.lab.facts import StepFact
from tests.lab.key_shared.steps import ACCEPTED, KeySharedStep
from tests.lab.key_shared.subscription import ModelledSubscription
from tests.lab.scenario import Recording

_ON_THE_WIRE: Final = {"ConsumerAssign": "ConsumerAssignError"}
"""Errors whose name in ``ServerError`` of Pulsar's protocol is not that of the broker's exception."""
_OWN_CHECKS: Final = ("ValueError", "IllegalArgumentException")
"""What clients raise when they refuse ranges themselves: the Python and the Java client."""
_UNKNOWN: Final = "..."
_TYPES: Final = {kind.value: kind for kind in SubscriptionType}


def try_to_join(
    subscription: ModelledSubscription, step: KeySharedStep, recording: Recording, ledger: Ledger
) -> str | None:
    """Compare the answers to an attempt; the id of the consumer if it was let in, else None."""
    name = step.attempt or step.do
    own_check = _is_own_check(step.client_result)
    sent = step.wire_result is not None or not own_check
    newcomer = newcomer_terms(subscription.terms, step)
    refusal = join_refusal(subscription.terms if subscription.connected else None, newcomer) if sent else None
    if sent and refusal is None:
        refusal = subscription.join(name, name, step.declared)
    modelled = ACCEPTED if refusal is None else as_on_the_wire(refusal, recording)
    rule = f"order of checks when a consumer joins, Pulsar {subscription.behaviour.label}"
    if step.wire_result is not None:
        recorded = _without_ids(step.wire_result, recording)
        ledger.compare(StepFact.JOIN_ANSWER, name, recorded, modelled, rule)
    if step.client_result is not None and own_check:
        _compare_own_check(name, step, ledger)
    elif step.client_result is not None:
        ledger.compare(StepFact.JOIN_ANSWER, name, error_stem(step.client_result), error_stem(modelled), rule)
    return name if sent and refusal is None else None


def newcomer_terms(active: SubscriptionTerms, step: KeySharedStep) -> SubscriptionTerms:
    """On which terms a consumer tries to join: STICKY if it brings ranges, else as the step says in words.

    >>> step = KeySharedStep(do="try an AUTO_SPLIT consumer on the sticky subscription")
    >>> newcomer_terms(SubscriptionTerms(mode=KeySharedMode.STICKY), step).mode.value
    'AUTO_SPLIT'
    """
    mode = KeySharedMode.STICKY
    if step.ranges is None:
        mode = next((one for one in KeySharedMode if one.value in step.do), active.mode)
    words = re.findall(r"\b(?:Exclusive|Failover|Key_Shared|Shared)\b", step.do)
    kind = _TYPES[words[0]] if words else active.subscription_type
    any_order = step.any_order
    if any_order is None:
        # In words a step can only say that the ordering is another one.
        any_order = active.allow_out_of_order_delivery is not ("order" in step.do)
    return replace(active, subscription_type=kind, mode=mode, allow_out_of_order_delivery=any_order)


def as_on_the_wire(refusal: Rejection, recording: Recording) -> str:
    """Error and text as a client gets them, without the id and the address of another consumer."""
    error = _ON_THE_WIRE.get(refusal.error, refusal.error)
    if not isinstance(refusal, RangeConflict):
        return f"{error}: {refusal.message}"
    kind = "NonPersistentSubscription" if recording.topic.startswith(f"{NON_PERSISTENT}:") else "PersistentSubscription"
    place = f"{kind}{{topic={recording.topic}, name={recording.subscription}}}"
    other = f"subscription={place}, consumerId={_UNKNOWN}, consumerName={refusal.other.name}, address={_UNKNOWN}"
    return f"{error}: Range conflict with consumer Consumer{{{other}}}"


def _without_ids(recorded: str, recording: Recording) -> str:
    """A recorded text without the id and the address of another consumer, which the model cannot know."""
    if "consumerName=" not in recorded:
        return recorded
    if recording.partitions:
        recorded = re.sub(r"-partition-\d+, name=", ", name=", recorded)
    recorded = re.sub(r"consumerId=\d+, consumerName=", f"consumerId={_UNKNOWN}, consumerName=", recorded)
    return re.sub(r", address=.*\}$", f", address={_UNKNOWN}}}", recorded, flags=re.DOTALL)


def _is_own_check(result: str | None) -> bool:
    """Whether a client refused the ranges itself; a broker's refusal carries the broker's message."""
    return result is not None and result.startswith(_OWN_CHECKS) and "errorMsg" not in result


def _compare_own_check(name: str, step: KeySharedStep, ledger: Ledger) -> None:
    """Compare whether a client refuses ranges; clients of other languages have texts of their own."""
    if step.ranges is None:
        ledger.skip("checks of clients without recorded ranges")
        return
    problem = policy_problem(step.ranges)
    modelled = "refused by the client" if problem is not None else "sent to the broker"
    rule = problem.message if problem is not None else "KeySharedPolicySticky.validate finds nothing wrong"
    ledger.compare(StepFact.CLIENT_CHECK, name, "refused by the client", modelled, rule)

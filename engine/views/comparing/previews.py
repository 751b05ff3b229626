"""What a command would make of the shown subscription, before anybody takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.cluster.commands import Command
from engine.cluster.state import ClusterState
from engine.compare.verdict import Verdict, carried_out, subscription_of, verdict_between
from engine.errors import Rejection
from engine.views.comparing.handovers import HandoverRow, handovers
from engine.views.comparing.heirs import PARTITION, SLOT, key_handovers
from engine.views.keys.moves import key_moves, keys_verdict
from engine.views.keys.slice import keys_slice_by_key


@dataclass(frozen=True, eq=False, slots=True)
class ChangeView:
    """What became of one subscription from one state to another; ``rows`` are partitions or known keys."""

    noun: str
    verdict: Verdict
    rows: Sequence[HandoverRow]


def change_view(before: ClusterState, after: ClusterState, subscription_key: str) -> ChangeView | None:
    """The change of a subscription of either type in one history; None where one of the states lacks it."""
    mine, theirs = subscription_of(before, subscription_key), subscription_of(after, subscription_key)
    if mine is not None and theirs is not None:
        verdict = verdict_between(before, after, subscription_key)
        return ChangeView(PARTITION, verdict, handovers(before, mine, after, theirs))
    was, now = keys_slice_by_key(before, subscription_key), keys_slice_by_key(after, subscription_key)
    if was is None or now is None:
        return None
    return ChangeView(SLOT, keys_verdict(was, now, key_moves(was, now)), key_handovers(was, now))


def preview_of(state: ClusterState, command: Command, subscription_key: str) -> Verdict | Rejection | None:
    """The verdict on a command for one subscription of either type; None where it lacks one, before or after."""
    after = carried_out(state, command)
    if isinstance(after, Rejection):
        return after
    if subscription_of(state, subscription_key) is not None and subscription_of(after, subscription_key) is not None:
        return verdict_between(state, after, subscription_key)
    before, now = keys_slice_by_key(state, subscription_key), keys_slice_by_key(after, subscription_key)
    return None if before is None or now is None else keys_verdict(before, now, key_moves(before, now))

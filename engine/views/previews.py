"""What a command would make of the shown subscription, before anybody takes it."""

from __future__ import annotations

from engine.cluster.commands import Command
from engine.cluster.state import ClusterState
from engine.compare.verdict import Verdict, carried_out, subscription_of, verdict_between
from engine.errors import Rejection
from engine.views.keys_moves import key_moves
from engine.views.keys_slice import keys_slice_by_key
from engine.views.keys_verdict import keys_verdict


def preview_of(state: ClusterState, command: Command, subscription_key: str) -> Verdict | Rejection | None:
    """The verdict on a command for one subscription of either type; None where it lacks one, before or after."""
    after = carried_out(state, command)
    if isinstance(after, Rejection):
        return after
    if subscription_of(state, subscription_key) is not None and subscription_of(after, subscription_key) is not None:
        return verdict_between(state, after, subscription_key)
    before, now = keys_slice_by_key(state, subscription_key), keys_slice_by_key(after, subscription_key)
    return None if before is None or now is None else keys_verdict(before, now, key_moves(before, now))

"""Small clusters with a Key_Shared subscription for the tests of the state machine."""

from __future__ import annotations

from engine.cluster.commands import AddConsumer, Command, ShareKeys, SubscribeKeyShared
from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import ClusterState
from tests.engine.cluster.support import AUDIT, after, cluster

KEY = "orders"


def key_cluster(*names: str, mode: str = "", points: int = 0) -> ClusterState:
    """Beside the Failover subscription "billing" (ids 0 to 2): "orders" on ``audit``, consumers with ids from 3 on."""
    commands: list[Command] = [SubscribeKeyShared(KEY, AUDIT)]
    if mode:
        commands.append(ShareKeys(KEY, mode, points))
    return after(cluster(), *commands, *(AddConsumer(KEY, name) for name in names))


def shared(state: ClusterState) -> KeySubscription:
    """The first Key_Shared subscription."""
    return state.key_subscriptions[0]


def who(state: ClusterState) -> list[tuple[int, str]]:
    """(Id, name) of the connected consumers of it."""
    return [(consumer.consumer_id, consumer.name) for consumer in shared(state).consumers]

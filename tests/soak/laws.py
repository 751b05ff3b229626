"""Laws between two neighbouring states, that need no second model."""

from __future__ import annotations

from engine.cluster.keys.state import KeySubscription
from engine.cluster.moves import moves
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.keyshared.delivery_state import DeliveryState
from tests.oracles.cluster import Cluster
from tests.soak.tally import Tally


def judge_step(before: ClusterState, after: ClusterState, tally: Tally) -> None:
    """No message comes to another consumer while its holder stays, and none comes back that was acknowledged."""
    old = {subscription.key: subscription for subscription in before.key_subscriptions}
    for each in after.key_subscriptions:
        if each.key in old:
            _judge_messages(old[each.key], each, tally)


def _judge_messages(before: KeySubscription, after: KeySubscription, tally: Tally) -> None:
    for was, now in zip(before.dispatchers, after.dispatchers, strict=False):  # there can be more partitions
        _judge_dispatcher(before, after, (was, now), tally)


def _judge_dispatcher(
    before: KeySubscription, after: KeySubscription, states: tuple[DeliveryState, DeliveryState], tally: Tally
) -> None:
    was, now = states
    first = was.next_position
    tally.holds("no message comes back", all(at in was.backlog for at in now.backlog if at < first), after.key)
    tally.holds(
        "messages keep their keys",
        all(now.backlog[at].key == was.backlog[at].key for at in now.backlog if at < first),
        after.key,
    )
    if any(type(event).__name__ == "KeyDispatcherStarted" for event in after.happened[len(before.happened) :]):
        return
    left = {
        event.consumer_id
        for event in after.happened[len(before.happened) :]
        if type(event).__name__ == "KeyConsumerLeft"
    }
    holder = {at: number for number, held in now.pending.items() for at in held}
    for number, held in was.pending.items():
        for at in held:
            if at in now.backlog and number not in left:
                tally.agree("a holder keeps its messages", holder.get(at), number, f"{after.key}: message {at}")


def compare_moves(before: ClusterState, after: ClusterState, old: Cluster, new: Cluster, tally: Tally) -> None:
    """Which partitions changed hands, and how few moves would have led to the same loads."""
    for was, now in zip(old.failover, new.failover, strict=True):
        mine, a, b = moves(before, after, now.key), old.actives(was), new.actives(now)
        moved = {name for name in b if a.get(name) is not None and b[name] is not None and a[name] != b[name]}
        tally.agree("moved partitions", set(mine.moved), moved, now.key)
        taken_up = {name for name in b if name in a and a[name] is None and b[name] is not None}
        tally.agree("taken up partitions", set(mine.taken_up), taken_up, now.key)
        orphaned = {name for name in b if a.get(name) is not None and b[name] is None}
        tally.agree("orphaned partitions", set(mine.orphaned), orphaned, now.key)
        gained = {number: sum(b[name] == number for name in moved) for number in {b[name] for name in moved}}
        lost = {number: sum(a[name] == number for name in moved) for number in {a[name] for name in moved}}
        tally.agree("gains", {k: v for k, v in mine.gained.items() if v}, gained, now.key)
        tally.agree("losses", {k: v for k, v in mine.lost.items() if v}, lost, now.key)
        least = sum(max(0, gained.get(number, 0) - lost.get(number, 0)) for number in gained)
        tally.agree("least moves", mine.least, least, now.key)
        tally.agree("partitions after", mine.partitions, len(b), now.key)


def judge_time_travel(before: Timeline, after: Timeline, tally: Tally) -> None:
    """There and back is the same state, and what a new branch leaves behind stays as it was."""
    if len(after.log) > len(before.log):
        undone = after.undo()
        tally.holds("undo gives the state before", undone.state == before.state)
        tally.holds("redo gives the state after", undone.redo().state == after.state)
        if before.can_redo:
            tip = next(at for at, branch in enumerate(before.branches) if branch.current)
            left = after.switch_branch(tip)
            tally.holds("a branch leaves the original", left.state == before.end().state)
    elif before.steps:
        back = after.select(before.steps[-1].number, before.cursor) if before.steps[-1].number in after.tips else None
        tally.holds("there and back is the same", back is not None and back.state == before.state)

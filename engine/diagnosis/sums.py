"""What sums over partitions prove: ``partitioned-stats`` prints nothing else unless it is asked with an option.

Names of consumers, their permits and which partition is meant are lost in sums. How many messages wait, whether
anybody is connected anywhere and whether messages go out is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.admin.facts import NotReported, PartitionSums, ReplicatorFacts, SubscriptionFacts
from engine.admin.moments import Moment
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.causes.consumers import NO_CONSUMERS
from engine.diagnosis.causes.pace import IDLE
from engine.diagnosis.model import Cause, Diagnosis, Verdict, worst_first
from engine.diagnosis.release import ReleaseSeen, release_seen
from engine.diagnosis.replicating import REPLICATES, REPLICATION, REPLICATOR
from engine.diagnosis.seen import NOBODY
from engine.names import namespace_of
from engine.text import counted, shell_line

SUMS_ONLY: Final = "sums_only"


def diagnosed_sums(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose the subscriptions of topics of which the answers have sums alone, the worst first."""
    snapshots = [moment.snapshot for moment in moments]
    known = {topic for snapshot in snapshots for topic in snapshot.topics}
    last: dict[str, PartitionSums] = {}
    before: dict[str, PartitionSums] = {}
    for snapshot in snapshots:
        for topic, sums in snapshot.sums.items():
            if topic in last:
                before[topic] = last[topic]
            last[topic] = sums
    alone = {
        topic: sums for topic, sums in last.items() if not any(name.startswith(f"{topic}-partition-") for name in known)
    }
    release = release_seen([moment.snapshot for moment in moments])
    return worst_first(
        [
            *(
                _diagnosis(sums, sub, before.get(topic), len(moments), release)
                for topic, sums in alone.items()
                for sub in sums.topic.subscriptions
            ),
            *(_of_producers(sums, len(moments)) for sums in alone.values() if not sums.topic.subscriptions),
            *(
                _of_replicator(sums, one, len(moments))
                for sums in alone.values()
                for one in sums.topic.replicators
                if one.backlog
            ),
        ]
    )


def _of_producers(sums: PartitionSums, moments: int) -> Diagnosis:
    """Say what sums without a subscription tell about producers."""
    topic, rate = sums.topic.name, sums.topic.msg_rate_in_msgs_per_sec
    over = counted(sums.partitions, "partition") if sums.partitions else "all partitions"
    came = "how much comes in is not in the answer" if rate is None else f"{rate:,.1f} messages/s come in"
    ask = shell_line("pulsar-admin", "topics", "partitioned-stats", "--per-partition", topic)
    cause = Cause(
        SUMS_ONLY,
        Verdict.FINE if rate == 0 else Verdict.CANNOT_TELL,
        f"{came} over {over}, and nobody has subscribed; an entry of publishers is one"
        " producer's sum over its partitions, and not one partition: sums do not say whether one gets all",
        topic,
        numbers=(
            *((("in_rate", round(rate, 1)),) if rate is not None else ()),
            *((("publishers", sums.topic.publishers),) if sums.topic.publishers is not None else ()),
            *((("partitions", sums.partitions),) if sums.partitions else ()),
        ),
        fix=f"ask for the partitions: {ask}",
        fields=("msgRateIn", "publishers"),
    )
    return Diagnosis(namespace_of(topic), "", NOBODY, topic, sums.partitions or 1, moments, 0, (cause,))


def _of_replicator(sums: PartitionSums, one: ReplicatorFacts, moments: int) -> Diagnosis:
    """Say how much waits for another cluster; whether a replicator is connected is always false in sums (#23695)."""
    topic, waiting = sums.topic.name, one.backlog or 0
    ask = shell_line("pulsar-admin", "topics", "partitioned-stats", "--per-partition", topic)
    cause = Cause(
        REPLICATION,
        Verdict.CANNOT_TELL,
        f"{counted(waiting, 'entry', 'waits', 'wait')} for the cluster {one.cluster} over all partitions; sums do not"
        " say whether its replicators are connected",
        topic,
        waiting=waiting,
        numbers=(("replication_backlog", waiting),),
        fix=f"ask for the partitions: {ask}",
        fields=("replicationBacklog",),
    )
    return Diagnosis(namespace_of(topic), REPLICATOR + one.cluster, REPLICATES, topic, sums.partitions or 1, moments,
                     waiting, (cause,))  # fmt: skip


def _diagnosis(
    sums: PartitionSums, sub: SubscriptionFacts, before: PartitionSums | None, moments: int, release: ReleaseSeen
) -> Diagnosis:
    topic = sums.topic.name
    causes = (_cause(sums, sub, before),)
    return Diagnosis(
        namespace_of(topic),
        sub.name,
        sub.type,
        topic,
        sums.partitions or 1,
        moments,
        sub.msg_backlog_entries,
        causes,
        release=release,
    )


def _cause(sums: PartitionSums, sub: SubscriptionFacts, before: PartitionSums | None) -> Cause:
    topic, waiting = sums.topic.name, sub.msg_backlog_entries
    over = f"over {counted(sums.partitions, 'partition')}" if sums.partitions else "over all partitions"
    ask = shell_line("pulsar-admin", "topics", "partitioned-stats", "--per-partition", topic)
    counts = (
        ("backlog", waiting),
        ("in_replay", sub.msg_in_replay),
        ("unacked", sub.unacked_messages),
        ("delayed", sub.msg_delayed),
        ("deleted_ranges", sub.deleted_ranges),
        ("in_rate", _rounded(sums.topic.msg_rate_in_msgs_per_sec)),
        ("out_rate", _rounded(sub.msg_rate_out_msgs_per_sec)),
        ("partitions", sums.partitions),
    )
    numbers = tuple((name, count) for name, count in counts if count is not None)
    if waiting is None:
        return Cause(
            NOT_REPORTED, Verdict.CANNOT_TELL, "the answer lacks msgBacklog", topic, numbers=numbers,
            fix=f"give the whole answer: {ask}", fields=("subscriptions",),
        )  # fmt: skip
    if not waiting:
        return Cause(IDLE, Verdict.FINE, f"nothing waits {over}", topic, numbers=numbers, fields=("msgBacklog",))
    if not sub.consumers and not isinstance(sub.consumers, NotReported):
        what = f"nobody consumes any partition: {counted(waiting, 'message', 'waits', 'wait')} {over}"
        fields = ("consumers", "msgBacklog")
        return Cause(
            NO_CONSUMERS, Verdict.BLOCKS, what, topic, waiting=waiting, numbers=numbers,
            fix="start a consumer", fields=fields,
        )  # fmt: skip
    out = _out(sub, before)
    went = f"{counted(out, 'message')} went out between the moments" if out is not None else _rates(sums, sub)
    parts = [
        f"{counted(waiting, 'message', 'waits', 'wait')} {over}",
        f"{counted(sub.msg_in_replay, 'message')} in replay" if sub.msg_in_replay else "",
        f"{sub.unacked_messages:,} unacknowledged" if sub.unacked_messages else "",
        f"{sub.deleted_ranges:,} gaps of acknowledged ones" if sub.deleted_ranges else "",
        went,
    ]
    return Cause(
        SUMS_ONLY,
        Verdict.CANNOT_TELL,
        "; ".join(filter(None, parts)) + "; sums do not say at which partition or consumer",
        topic,
        waiting=waiting,
        numbers=numbers,
        fix=f"ask for the partitions: {ask}",
        fields=("msgBacklog", "msgInReplay", "unackedMessages", "msgRateIn", "msgRateOut"),
    )


def _rates(sums: PartitionSums, sub: SubscriptionFacts) -> str:
    rate_in, rate_out = sums.topic.msg_rate_in_msgs_per_sec, sub.msg_rate_out_msgs_per_sec
    if rate_out is None:
        return f"{rate_in:,.1f}/s come in" if rate_in is not None else ""
    if not rate_out:
        return "nothing went out in the last minute" + (f", while {rate_in:,.1f}/s came in" if rate_in else "")
    return f"it is delivered: {rate_out:,.1f}/s out" + (f", {rate_in:,.1f}/s in" if rate_in is not None else "")


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 1)


def _out(sub: SubscriptionFacts, before: PartitionSums | None) -> int | None:
    earlier = next((old for old in before.topic.subscriptions if old.name == sub.name), None) if before else None
    if earlier is None or earlier.msg_out_counter is None or sub.msg_out_counter is None:
        return None
    grown = sub.msg_out_counter - earlier.msg_out_counter
    return grown if grown >= 0 else None

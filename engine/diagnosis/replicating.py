"""Topics replicated to other clusters: what waits for one whose replicator is not connected or sends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.admin.facts import ReplicatorFacts, TopicFacts
from engine.admin.moments import Moment
from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.recording import two_moments
from engine.text import counted, shell_line

REPLICATION: Final = "replication_behind"
REPLICATES: Final = "Replicator"
"""What stands in the place of a subscription's type."""
REPLICATOR: Final = "pulsar.repl."
"""Before the name of the other cluster, that of a replicator's cursor."""


def replication_behind(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose the replicators that have a backlog and are not connected, or send nothing. O(topics)."""
    before: dict[str, TopicFacts] = {}
    last: dict[str, TopicFacts] = {}
    for moment in moments:
        for name, topic in moment.snapshot.topics.items():
            if topic.replicators:
                before |= {name: last[name]} if name in last else {}
                last[name] = topic
    return [
        Diagnosis(topic.namespace, REPLICATOR + one.cluster, REPLICATES, topic.name, 1, len(moments), one.backlog,
                  (cause,))
        for topic in last.values()
        for one, cause in _causes(topic, before.get(topic.name))
    ]  # fmt: skip


def _causes(topic: TopicFacts, before: TopicFacts | None) -> Iterator[tuple[ReplicatorFacts, Cause]]:
    then = {one.cluster: one for one in before.replicators} if before is not None else {}
    for one in topic.replicators:
        old = then.get(one.cluster)
        if not one.backlog or one.connected is None or (one.connected and one.msg_rate_out_msgs_per_sec != 0):
            continue
        lasts = old is not None and 0 < (old.backlog or 0) <= one.backlog and old.connected == one.connected
        state = "is connected and sends nothing" if one.connected else "is not connected"
        unload = shell_line("pulsar-admin", "topics", "unload", topic.name)
        sooner = f"look again some seconds later: {two_moments(topic.name)}; a replicator that stays so: "
        yield one, Cause(
            REPLICATION,
            Verdict.BLOCKS if lasts else Verdict.CANNOT_TELL,
            f"{counted(one.backlog, 'entry', 'waits', 'wait')} for the cluster {one.cluster}, whose replicator {state}"
            f"{' at both moments' if lasts else ''}",
            topic.name,
            waiting=one.backlog,
            numbers=(("replication_backlog", one.backlog),),
            fix=f"{'' if lasts else sooner}look for {one.cluster} in the log of the topic's broker: its address, its"
            f" certificate, its quota; {unload} starts the replicator anew",
            fields=("replicationBacklog", "connected", *(("msgRateOut",) if one.connected else ())),
        )  # fmt: skip

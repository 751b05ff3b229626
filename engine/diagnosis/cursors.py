"""What cursors alone prove: ``stats-internal`` without ``stats`` has no consumers, permits or rates.

How far a subscription has acknowledged and read, and whether its cursor has a read under way, is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.admin.facts import LedgerFacts
from engine.admin.moments import Moment
from engine.diagnosis.causes.pace import IDLE
from engine.diagnosis.model import Cause, Diagnosis, Verdict, worst_first
from engine.diagnosis.release import release_seen
from engine.diagnosis.replicating import REPLICATOR
from engine.diagnosis.seen import NOBODY, is_internal
from engine.names import namespace_of
from engine.text import counted, shell_line

CURSORS_ONLY: Final = "cursors_only"


def diagnosed_cursors(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose the subscriptions of topics of which the answers have cursors alone, the worst first."""
    known = {
        topic
        for moment in moments
        for named in (moment.snapshot.topics, moment.snapshot.sums, moment.snapshot.metered)
        for topic in named
    }
    last: dict[str, LedgerFacts] = {}
    before: dict[str, LedgerFacts] = {}
    for moment in moments:
        for topic, ledger in moment.snapshot.ledgers.items():
            if topic in last:
                before[topic] = last[topic]
            last[topic] = ledger
    release = release_seen([moment.snapshot for moment in moments])
    return worst_first(
        Diagnosis(
            namespace_of(topic), name, NOBODY, topic, 1, len(moments), 0 if ledger.entries_left(name) == 0 else None,
            (_cause(topic, name, ledger, before.get(topic)),), release=release,
        )
        for topic, ledger in last.items()
        if topic not in known
        for name in ledger.cursors
        if not is_internal(topic, name)
    )  # fmt: skip


def _cause(topic: str, name: str, ledger: LedgerFacts, before: LedgerFacts | None) -> Cause:
    left, unread = ledger.entries_left(name), ledger.entries_unread(name)
    stats = shell_line("pulsar-admin", "topics", "stats", topic)
    if left == 0:
        end = "waitingReadOp" if ledger.last_confirmed_entry is None else "lastConfirmedEntry"
        return Cause(
            IDLE, Verdict.FINE, "nothing waits: by its cursor every entry is acknowledged", topic,
            numbers=(("entries_left", 0),),
            fields=("markDeletePosition", end),
        )  # fmt: skip
    cursor = ledger.cursors[name]
    is_written, held = ledger.end_for(name) is not None, cursor.in_hands
    members = (
        ("markDeletePosition", cursor.mark_delete_position is not None),
        ("readPosition", cursor.read_position is not None),
        ("lastConfirmedEntry", is_written),
    )
    counts = (("entries_left", left), ("unread", unread), ("in_hands", None if is_written else held))
    numbers = [(key, count) for key, count in counts if count is not None]
    return Cause(
        CURSORS_ONLY,
        Verdict.CANNOT_TELL,
        "; ".join(_shown(name, ledger, before)) + "; cursors do not say who is connected or has permits",
        topic,
        waiting=left or 0,
        numbers=tuple(numbers),
        fix=f"give the statistics as well: {stats}",
        fields=tuple(name for name, is_there in members if is_there),
    )


def _shown(name: str, ledger: LedgerFacts, before: LedgerFacts | None) -> Iterator[str]:
    cursor, left, unread = ledger.cursors[name], ledger.entries_left(name), ledger.entries_unread(name)
    if ledger.end_for(name) is None:
        held = cursor.in_hands
        yield "how far the topic is written is not in the answer"
        if held:
            yield f"up to {counted(held, 'entry', 'was', 'were')} read and not acknowledged"
        elif held == 0:
            yield "all that was read is acknowledged"
        if cursor.has_pending_read and cursor.waits_for_entries is False and cursor.pending_reads == 0:
            yield "its dispatcher waits for a read, and the cursor has none under way"
    elif cursor.mark_delete_position is None:
        yield "how far it acknowledged is not in the answer"
    else:
        behind = "entries of earlier ledgers" if left is None else f"up to {counted(left, 'entry')}"
        yield f"{behind} behind markDeletePosition are not acknowledged"
    if unread is not None:
        yield "all of them were read" if not unread else f"{unread:,} were not read"
    if unread and cursor.waits_for_entries is not None and cursor.pending_reads is not None:
        yield "the cursor has a read under way" if cursor.pending_reads else "the cursor has no read of them under way"
    if name.startswith(REPLICATOR):
        yield f"it is the cursor of the replication to {name.removeprefix(REPLICATOR)}"
    old = None if before is None else before.cursors.get(name)
    if old is not None and old.read_position is not None and cursor.read_position is not None:
        moved = old.read_position != cursor.read_position or old.mark_delete_position != cursor.mark_delete_position
        yield "it moved between the moments" if moved else "it did not move between the moments"

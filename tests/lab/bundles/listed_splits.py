"""Splits that a scenario tells beside its steps: a list of its own, or changes between two recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.admin.namespaces import decode_bundles, decode_hash_positions
from engine.admin.topics import decode_broker_stats_topics
from engine.bundles import BundleRange, NamespaceBundles, TopicLoad, namespace_bundles, parse_range
from engine.errors import Rejection
from engine.hashing import crc32_hash
from tests.lab.bundles.namespaces import load_of
from tests.lab.bundles.splits import Asked, Awaited, ask, judge_split_result, needs_topics
from tests.lab.judge import Judge
from tests.lab.recording import Recording, SplitRecord, ToldSplit
from tests.lab.report import FactKind, Ledger

_SAME = "the same request as in the steps"


class ToldOutside:
    """Compares what stands in ``splits`` and ``changes`` of a scenario."""

    def __init__(self, recording: Recording, judge: Judge, ledger: Ledger) -> None:
        self._recording = recording
        self._judge = judge
        self._ledger = ledger

    def compare_told(self, asked: Sequence[Awaited], *, complete: bool) -> None:
        """``splits``: the status of each must be the one the model gave the same request in the steps.

        ``complete``: ``asked`` are all split requests of the steps, so that each one told must be among them. Without
        split requests in the steps each is planned by itself, from its own files.
        """
        left = list(asked)
        for number, told in enumerate(self._recording.told_splits, 1):
            self._ledger.step, self._ledger.file = f"split {number} of the list", told.names.get("after", "")
            wanted = (told.bundle, told.algorithm)
            asked_so = [each for each in left if (each.asked.bundle, each.asked.algorithm) == wanted]
            # One request can be made again: first the one that agrees in all, so that each is told of once.
            agreeing = [each for each in asked_so if _facts_of(each.asked) == (told.positions, told.status)]
            same = next(iter(agreeing or asked_so), None)
            if same is None and complete and asked:
                subject = f"{told.bundle} by {told.algorithm}"
                self._ledger.compare(FactKind.SPLIT_STATUS, subject, "asked for", "not asked for", _SAME)
            elif same is None:
                self._plan(told)
            else:
                left.remove(same)
                self._hold_against(told, same)

    def _hold_against(self, told: ToldSplit, same: Awaited) -> None:
        subject = f"{same.asked.namespace}/{told.bundle} by {told.algorithm}"
        if told.status is not None and same.plan is not None:
            kind = FactKind.REFUSAL_STATUS if isinstance(same.plan, Rejection) else FactKind.SPLIT_STATUS
            wanted = "never answered" if same.status is None else str(same.status)
            self._ledger.compare(kind, subject, str(told.status), wanted, _SAME)
        if told.positions or same.asked.positions:
            self._ledger.compare(FactKind.SPLIT_SPECIFIED, subject, told.positions, same.asked.positions, _SAME)

    def _plan(self, told: ToldSplit) -> None:
        files = dict(told.files)
        namespace = self._recording.namespace
        before, after = (_bundles(namespace, files.get(part, b"")) for part in ("before", "after"))
        asked = Asked(namespace, told.bundle, told.algorithm, told.positions, False, told.status, True)
        topics = _topics(files)
        if before is None or after is None or (needs_topics(asked, self._judge) and not topics):
            self._ledger.skip("splits of bundles whose topics were not recorded")
            return
        awaited = ask(asked, self._judge, self._ledger, before, topics)
        if awaited is not None:
            judge_split_result(awaited, self._ledger, after)

    def compare_changes(self, topics: Mapping[str, Sequence[TopicLoad]]) -> None:
        """``changes``: both lists are told; the topics are those of the recording after it, if there are as many."""
        for number, change in enumerate(self._recording.changes, 1):
            self._ledger.step, self._ledger.file = f"change {number}", ""
            before = namespace_bundles(change.namespace, change.before)
            after = namespace_bundles(change.namespace, change.after)
            if isinstance(before, Rejection) or isinstance(after, Rejection):
                valid = "NamespaceBundles: ascending from the first to 0xffffffff"
                self._ledger.compare(FactKind.VALID_LIST, change.namespace, "no valid list", "valid", valid)
                continue
            known = list(topics.get(change.namespace, ()))
            asked = Asked(
                change.namespace, change.bundle, change.algorithm, change.positions, False, change.status, True
            )
            if needs_topics(asked, self._judge) and not _as_many(change, known):
                self._ledger.skip("splits between two recordings: the topics of that moment are not recorded")
                continue
            awaited = ask(asked, self._judge, self._ledger, before, known)
            if awaited is not None:
                judge_split_result(awaited, self._ledger, after)


def _facts_of(asked: Asked) -> tuple[tuple[int, ...], int | None]:
    return asked.positions, asked.status


def _as_many(change: SplitRecord, topics: Sequence[TopicLoad]) -> bool:
    place = parse_range(change.bundle)
    if not isinstance(place, BundleRange):
        return False
    return sum(place.includes(topic.hash) for topic in topics) == change.topics_in_bundle


def _bundles(namespace: str, data: bytes) -> NamespaceBundles | None:
    found = namespace_bundles(namespace, decode_bundles(data).good.boundaries) if data else None
    return None if isinstance(found, Rejection) else found


def _topics(files: Mapping[str, bytes]) -> list[TopicLoad]:
    """The topics of the bundle as the broker listed them, with their rates; without such a list those with rates."""
    positions = decode_hash_positions(files["positions"]).good if files.get("positions") else None
    rates = decode_broker_stats_topics(files["rates"]).good.topics if files.get("rates") else {}
    loads = {name: load_of(topic) for name, topic in rates.items()}
    if positions is None:
        return list(loads.values())
    return [loads.get(name, TopicLoad(name, crc32_hash(name), has_stats=False)) for name in positions.positions]

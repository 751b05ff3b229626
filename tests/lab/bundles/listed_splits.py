"""Splits that a scenario lists beside its steps: in ``splits``, and in ``changes`` between two recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from engine.admin.namespaces import decode_bundles, decode_hash_positions
from engine.admin.topics import decode_broker_stats_topics
from engine.bundles.boundaries import BundleRange, NamespaceBundles, namespace_bundles, parse_range
from engine.bundles.loads import TopicLoad
from engine.errors import Rejection
from engine.hashing import crc32_hash
from engine.verify.bundles import VALID_RULE
from engine.verify.report import FactKind, Ledger, Rules
from tests.lab.bundles.namespaces import load_of
from tests.lab.bundles.splits import TOPICS_UNKNOWN, PendingSplit, SplitRequest, compare_outcome, plan_request
from tests.lab.facts import StepFact
from tests.lab.scenario import ListedChange, ListedSplit, Recording

_SAME: Final = "the same request as in the steps"


def compare_listed_splits(
    recording: Recording, rules: Rules, ledger: Ledger, requests: Sequence[PendingSplit], *, complete: bool
) -> None:
    """Compare each split in ``splits`` with the same request in the steps.

    ``complete``: ``requests`` are all split requests of the steps, so that each listed one must be among them. Without
    split requests in the steps each listed one is planned by itself, from its own files.
    """
    left = list(requests)
    for number, listed in enumerate(recording.listed_splits, 1):
        ledger.moment, ledger.file = f"split {number} of the list", listed.files.get("after", "")
        candidates = [
            one for one in left if (one.request.bundle, one.request.algorithm) == (listed.bundle, listed.algorithm)
        ]
        # One request can be made again: first the one that agrees in everything.
        agreeing = [
            candidate
            for candidate in candidates
            if (candidate.request.positions, candidate.request.status) == (listed.positions, listed.status)
        ]
        same = next(iter(agreeing or candidates), None)
        if same is not None:
            left.remove(same)
            _compare_with_request(ledger, listed, same)
        elif complete and requests:
            subject = f"{listed.bundle} by {listed.algorithm}"
            ledger.compare(StepFact.SPLIT_STATUS, subject, "requested", "not requested", _SAME)
        else:
            _compare_from_files(recording, rules, ledger, listed)


def _compare_with_request(ledger: Ledger, listed: ListedSplit, same: PendingSplit) -> None:
    subject = f"{same.request.namespace}/{listed.bundle} by {listed.algorithm}"
    if listed.status is not None and same.plan is not None:
        kind = StepFact.REFUSAL_STATUS if isinstance(same.plan, Rejection) else StepFact.SPLIT_STATUS
        modelled = "never answered" if same.status is None else str(same.status)
        ledger.compare(kind, subject, str(listed.status), modelled, _SAME)
    if listed.positions or same.request.positions:
        ledger.compare(StepFact.SPLIT_SPECIFIED, subject, listed.positions, same.request.positions, _SAME)


def _compare_from_files(recording: Recording, rules: Rules, ledger: Ledger, listed: ListedSplit) -> None:
    before, after = (_bundles(recording.namespace, listed.contents.get(part, b"")) for part in ("before", "after"))
    request = SplitRequest(
        recording.namespace, listed.bundle, listed.algorithm, listed.positions, unload=False, status=listed.status
    )
    topics = _topics(listed.contents)
    if before is None or after is None or (request.needs_topics(rules) and not topics):
        ledger.skip(TOPICS_UNKNOWN)
        return
    pending = plan_request(request, rules, ledger, before, topics)
    if pending is not None:
        compare_outcome(pending, ledger, after)


def compare_listed_changes(
    recording: Recording, rules: Rules, ledger: Ledger, topics: Mapping[str, Sequence[TopicLoad]]
) -> None:
    """Compare each split in ``changes``, which has both lists.

    Its topics are those of the recording after it, if they are as many as the change says.
    """
    for number, change in enumerate(recording.changes, 1):
        ledger.moment, ledger.file = f"change {number}", ""
        before = namespace_bundles(change.namespace, change.before)
        after = namespace_bundles(change.namespace, change.after)
        if isinstance(before, Rejection) or isinstance(after, Rejection):
            ledger.compare(FactKind.VALID_LIST, change.namespace, "not a valid list", "valid", VALID_RULE)
            continue
        known = list(topics.get(change.namespace, ()))
        request = SplitRequest(
            change.namespace, change.bundle, change.algorithm, change.positions, unload=False, status=change.status
        )
        if request.needs_topics(rules) and not _has_all_topics(change, known):
            ledger.skip("splits between two recordings: the topics of that moment are not recorded")
            continue
        pending = plan_request(request, rules, ledger, before, known)
        if pending is not None:
            compare_outcome(pending, ledger, after)


def _has_all_topics(change: ListedChange, topics: Sequence[TopicLoad]) -> bool:
    bundle = parse_range(change.bundle)
    if not isinstance(bundle, BundleRange):
        return False
    return sum(bundle.includes(topic.hash) for topic in topics) == change.topics_in_bundle


def _bundles(namespace: str, data: bytes) -> NamespaceBundles | None:
    bundles = namespace_bundles(namespace, decode_bundles(data).good.boundaries) if data else None
    return None if isinstance(bundles, Rejection) else bundles


def _topics(files: Mapping[str, bytes]) -> list[TopicLoad]:
    """The topics that the broker listed in the bundle, with their rates; without such a list those with rates."""
    positions = decode_hash_positions(files["positions"]).good if files.get("positions") else None
    rates = decode_broker_stats_topics(files["rates"]).good.topics if files.get("rates") else {}
    loads = {name: load_of(topic) for name, topic in rates.items()}
    if positions is None:
        return list(loads.values())
    return [loads.get(name, TopicLoad(name, crc32_hash(name), has_stats=False)) for name in positions.positions]

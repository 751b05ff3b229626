"""Requests themselves: which status a broker must answer with, and what a split request means for the next list."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.loads import TopicLoad
from engine.verify.report import Ledger, Rules
from tests.lab.bundles.namespaces import Namespace, Namespaces, note_making
from tests.lab.bundles.splits import TOPICS_UNKNOWN, PendingSplit, SplitRequest, plan_request
from tests.lab.facts import StepFact
from tests.lab.members import wholes
from tests.lab.scenario import Answer, Recording
from tests.lab.settings import compare_change

REFUSALS_NOT_MODELLED: Final = "refusals of requests that are not modelled"


class Requests:
    """Compares statuses; ``splits`` are the split requests so far that could be planned."""

    def __init__(self, recording: Recording, rules: Rules, ledger: Ledger, namespaces: Namespaces) -> None:
        self._load_manager = recording.load_manager
        self._rules = rules
        self._ledger = ledger
        self._namespaces = namespaces
        self.splits: list[PendingSplit] = []

    def compare(self, answer: Answer) -> bool:
        """Compare a status; True when it says all there is to compare, False when the content must be looked at."""
        request = answer.request
        if is_split(answer):
            self._compare_split(answer)
            return True
        if request.what == "namespace" and request.method == "PUT" and (answer.status or 0) < 400:
            note_making(self._namespaces.of(request.namespace), answer.body)
        if request.what == "topicHashPositions" and self._is_refused_positions(answer):
            return True
        if compare_change(answer, self._ledger):
            return True
        if answer.status is not None and answer.status >= 400:
            self._ledger.skip(REFUSALS_NOT_MODELLED)
            return True
        return False

    def _compare_split(self, answer: Answer) -> None:
        request = _split_request(answer, self._load_manager)
        namespace = self._namespaces.of(request.namespace)
        before = namespace.bundles if namespace.pending is None else namespace.pending.list_after
        if before is None:
            self._ledger.skip("split requests whose bundle list at that moment was not recorded")
            return
        topics = _topics_for(namespace, request.bundle)
        if request.needs_topics(self._rules) and not topics and not namespace.knows_topics_of(request.bundle):
            self._ledger.skip(TOPICS_UNKNOWN)
            namespace.forget_list()
            return
        pending = plan_request(request, self._rules, self._ledger, before, topics)
        if pending is None:
            return
        if namespace.pending is None or request.status is None or request.status < 400:
            namespace.all_listed = namespace.all_listed and (namespace.pending is None or namespace.is_certain)
            namespace.pending = pending
            namespace.remember(before)
        self.splits.append(pending)
        if answer.data:
            self._ledger.skip("wording of refusals")

    def _is_refused_positions(self, answer: Answer) -> bool:
        """Compare whether a request for hash positions is refused; True when it was, or should have been.

        Refused are ranges that are not a current bundle. So are current ones that nobody owns, and those with loaded
        topics have an owner.
        """
        if answer.status not in (200, 412):
            return False
        namespace = self._namespaces.of(answer.request.namespace)
        subject = f"{namespace.name}/{answer.request.bundle}"
        bundle = parse_range(answer.request.bundle)
        is_known = namespace.bundles is not None and not self._namespaces.automatic
        is_current = isinstance(bundle, BundleRange) and (
            not is_known or namespace.bundles is None or namespace.bundles.validate_bundle(bundle) is None
        )
        if not is_current:
            rule = "only a current bundle has hash positions"
            self._ledger.compare(StepFact.REFUSAL_STATUS, subject, str(answer.status), "412", rule)
            return True
        if answer.status == 200:
            return False
        if not isinstance(bundle, BundleRange) or not is_known or not namespace.has_statistics:
            self._ledger.skip("refusals of bundles that may have no owner: their list or their topics are unknown")
            return True
        modelled = "200" if namespace.has_loaded_topics(bundle) else "412"
        rule = "a bundle with loaded topics has an owner, another one may have none"
        self._ledger.compare(StepFact.REFUSAL_STATUS, subject, "412", modelled, rule)
        return True


def is_split(answer: Answer) -> bool:
    """Whether a split was requested."""
    return answer.request.method == "PUT" and answer.request.what == "split"


def _split_request(answer: Answer, load_manager: str) -> SplitRequest:
    request = answer.request
    return SplitRequest(
        request.namespace,
        request.bundle,
        request.query.get("splitAlgorithmName", ""),
        wholes(answer.body),
        request.query.get("unload", "") == "true",
        answer.status,
        answer.answered,
        "extensible" if load_manager == "extensible" else "modular",
    )


def _topics_for(namespace: Namespace, bundle: str) -> list[TopicLoad]:
    """The namespace's topics with the latest rates; inside of ``bundle`` those that the broker listed for it."""
    listed = namespace.in_bundle.get(bundle)
    place = parse_range(bundle) if listed is not None else None
    chosen: list[TopicLoad] = []
    for name, known in namespace.topics.items():
        if isinstance(place, BundleRange) and listed is not None and place.includes(known.hash) and name not in listed:
            continue
        chosen.append(namespace.rates.get(name, replace(known, has_stats=False)))
    return chosen

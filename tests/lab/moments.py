"""A folder without a scenario: answers whose names begin with one number were recorded at one moment.

Where such a moment has one bundle list of a namespace, the policies must carry the same list, and the bundles that have
loaded topics must be in it. With two lists (before and after something) nothing can be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.admin.facts import BundleList
from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import decode_bundles, decode_policies
from engine.admin.naming import Naming
from engine.admin.topics import decode_broker_stats_topics
from tests.lab.bundles.splits import texts
from tests.lab.recording import Answer, Recording
from tests.lab.report import FactKind, Ledger


def compare_moments(recording: Recording, naming: Naming, ledger: Ledger) -> None:
    """Compare the answers of each moment with each other."""
    moments: dict[str, list[Answer]] = {}
    for step in recording.steps:
        for answer in step.answers:
            found = re.match(r"\d*", answer.file)
            moments.setdefault(found[0] if found else "", []).append(answer)
    for prefix, answers in moments.items():
        ledger.step = prefix or "the folder"
        lists: dict[str, list[BundleList]] = {}
        for answer in _of_kind(answers, AnswerKind.BUNDLES):
            lists.setdefault(_namespace(naming, answer), []).append(decode_bundles(answer.data).good)
        only = {name: found[0] for name, found in lists.items() if len(found) == 1 and found[0].boundaries}
        _compare_policies(only, _of_kind(answers, AnswerKind.POLICIES), naming, ledger)
        _compare_loaded(only, _of_kind(answers, AnswerKind.BROKER_STATS_TOPICS), ledger)


def _of_kind(answers: Iterable[Answer], kind: AnswerKind) -> list[Answer]:
    return [answer for answer in answers if answer.kind is kind]


def _namespace(naming: Naming, answer: Answer) -> str:
    return naming.namespace(answer.file) or ""


def _compare_policies(lists: dict[str, BundleList], policies: Iterable[Answer], naming: Naming, ledger: Ledger) -> None:
    for answer in policies:
        ledger.file = answer.file
        namespace = _namespace(naming, answer)
        recorded = decode_policies(answer.data).good
        if namespace in lists and recorded.boundaries:
            wanted = texts(lists[namespace].boundaries)
            rule = "the same list as in the bundle list of that moment"
            ledger.compare(FactKind.POLICIES, namespace, texts(recorded.boundaries), wanted, rule)


def _compare_loaded(lists: dict[str, BundleList], stats: Iterable[Answer], ledger: Ledger) -> None:
    for answer in stats:
        ledger.file = answer.file
        places = decode_broker_stats_topics(answer.data).good.places.values()
        for namespace, bundle in sorted({(place.namespace, place.bundle) for place in places}):
            if namespace in lists:
                listed = "listed" if bundle in lists[namespace].ranges else "not listed"
                rule = "it has loaded topics"
                ledger.compare(FactKind.BUNDLE_IN_LIST, f"{namespace}/{bundle}", "listed", listed, rule)

"""Owners in a cluster of several brokers: every bundle has one, its topics are there, and look-ups name it.

Answers of one step are taken for one moment, unless the step has two lists of one broker: then something changed
inside of it, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from engine.admin.kinds import AnswerKind
from engine.admin.owners import decode_lookup, decode_owned
from engine.admin.topics import decode_broker_stats_topics
from engine.bundles import BundleRange, parse_range
from engine.errors import Problem, Rejection
from engine.hashing import crc32_hash
from engine.names import parse_topic_name
from tests.lab.recording import Answer, Recording, Step
from tests.lab.report import FactKind, Ledger

_CHANNEL = "pulsar/system"
_NO_OWNER = "look-ups of bundles whose owner that step does not tell"


class Owners:
    """Compares the owners of each step; does nothing where the scenario names no brokers."""

    def __init__(self, recording: Recording, ledger: Ledger, problems: list[Problem]) -> None:
        self._brokers = recording.brokers
        self._channel = bool(recording.balancing and recording.balancing.cycles)
        self._ledger = ledger
        self._problems = problems

    def takes(self, answer: Answer) -> bool:
        """Whether an answer is compared here."""
        looked_up = answer.broker in self._brokers and answer.kind is AnswerKind.LOOKUP
        return looked_up or self._is_own_list(answer)

    def go_on(self, step: Step) -> None:
        """Compare the answers of one step with each other."""
        if not self._brokers:
            return
        owned: dict[str, list[tuple[Answer, tuple[str, ...]]]] = {}
        for answer in step.answers:
            if self._is_own_list(answer):
                decoded = decode_owned(answer.data, answer.file)
                self._problems += decoded.problems
                owned.setdefault(answer.broker, []).append((answer, decoded.good))
        once = {broker: found[0] for broker, found in owned.items() if len(found) == 1}
        several = sum(len(found) for found in owned.values() if len(found) > 1)
        self._ledger.skip("lists of owned bundles that changed within a step", several)
        owners = self._owners(once)
        for answer in step.answers:
            self._ledger.file = answer.file
            if answer.kind is AnswerKind.BROKER_STATS_TOPICS and answer.broker in once:
                self._compare_loaded(answer, set(once[answer.broker][1]), owners)
            elif answer.request.what == "lookup" and answer.broker in self._brokers:
                self._compare_lookup(answer, owners, complete=len(owned) == len(once))
        self._ledger.file = ""

    def _owners(self, once: Mapping[str, tuple[Answer, tuple[str, ...]]]) -> dict[str, str]:
        """Bundle -> the letter of its owner; each must have one only."""
        owners: dict[str, str] = {}
        for broker, (answer, bundles) in sorted(once.items()):
            self._ledger.file = answer.file
            for bundle in bundles:
                wanted = owners.setdefault(bundle, broker)
                rule = "a bundle is owned by one broker"
                self._ledger.compare(FactKind.OWNED_ONCE, bundle, broker, wanted, rule)
        return owners

    def _compare_loaded(self, answer: Answer, owned: Collection[str], owners: Mapping[str, str]) -> None:
        stats = decode_broker_stats_topics(answer.data, answer.file).good
        for name in sorted({f"{place.namespace}/{place.bundle}" for place in stats.places.values()}):
            if name not in owned and self._channel and name.startswith(f"{_CHANNEL}/"):
                self._ledger.skip("bundles of the state channel itself, which brokers do not list as owned")
            elif name not in owners and any(_overlap(name, each) for each in owners):
                self._ledger.skip("statistics that name a bundle that was split meanwhile")
            else:
                found = "owned" if name in owned else "not owned"
                rule = f"the list of owned bundles of broker {answer.broker}"
                self._ledger.compare(FactKind.LOADED_BY_OWNER, name, "owned", found, rule)

    def _compare_lookup(self, answer: Answer, owners: Mapping[str, str], *, complete: bool) -> None:
        owner = _owner_of(answer.request.topic, owners) if complete else None
        told = self._told(answer)
        if owner is None or told is None:
            self._ledger.skip(_NO_OWNER)
            return
        rule = "the broker that lists the topic's bundle as its own"
        self._ledger.compare(FactKind.LOOKUP_OWNER, answer.request.topic, told, owner, rule)

    def _told(self, answer: Answer) -> str | None:
        """The letter of the broker that a look-up names, or is sent on to; an address nobody has as it stands."""
        if answer.kind is AnswerKind.LOOKUP and answer.data:
            decoded = decode_lookup(answer.data, answer.file)
            self._problems += decoded.problems
            if decoded.good is None:
                return None
            found = self._letters(decoded.good.broker_url), self._letters(decoded.good.http_url)
            return found[0] if found[0] == found[1] else " and ".join(found)
        if answer.status == 307 and answer.location:
            return self._letters("/".join(answer.location.split("/")[:3]))
        return None

    def _is_own_list(self, answer: Answer) -> bool:
        """A list a broker gives of itself: of another one it may know nothing."""
        addresses = self._brokers.get(answer.broker, ())
        return answer.kind is AnswerKind.OWNED_NAMESPACES and answer.request.broker in addresses

    def _letters(self, address: str) -> str:
        return next((letter for letter, addresses in self._brokers.items() if address in addresses), address)


def _overlap(one: str, other: str) -> bool:
    (namespace, _, text), (of_other, _, other_text) = one.rpartition("/"), other.rpartition("/")
    a, b = parse_range(text), parse_range(other_text)
    if isinstance(a, Rejection) or isinstance(b, Rejection) or namespace != of_other:
        return False
    return a.lower < b.upper and b.lower < a.upper


def _owner_of(topic: str, owners: Mapping[str, str]) -> str | None:
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        return None
    position = crc32_hash(topic)
    for bundle, owner in owners.items():
        namespace, _, text = bundle.rpartition("/")
        place = parse_range(text)
        if namespace == name.namespace and isinstance(place, BundleRange) and place.includes(position):
            return owner
    return None

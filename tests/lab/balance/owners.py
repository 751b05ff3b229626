"""Owners in a cluster of several brokers: every bundle has one, its topics are loaded there, and look-ups name it.

Answers of one step are taken for one moment, unless the step has two lists of one broker: then something changed inside
of it, and nothing can be said. Statistics are older than the lists beside them, since brokers update them once an
interval: a bundle that was unloaded or split within the last interval may still be in them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import decode_lookup, decode_owned
from engine.admin.topics import decode_broker_stats_topics
from engine.bundles.boundaries import BundleRange, parse_range
from engine.errors import Problem, Rejection
from engine.hashing import crc32_hash
from engine.names import parse_topic_name
from engine.verify.report import Ledger
from tests.lab.balance.lists import SeenSplit
from tests.lab.facts import StepFact
from tests.lab.folder import shared
from tests.lab.scenario import Answer, Recording, Step

_CHANNEL: Final = "pulsar/system"
_NO_OWNER: Final = "look-ups of bundles whose owner that step does not name"
MEANWHILE: Final = (
    "statistics that name a bundle that was split or unloaded meanwhile: they are updated once an interval"
)
_DEFAULT_INTERVAL_S: Final = 60.0
_LATE_S: Final = 5.0
"""How much later than an interval statistics may be updated, and answers of one step recorded."""
_stats, _owned, _lookup = shared(decode_broker_stats_topics), shared(decode_owned), shared(decode_lookup)


@dataclass(frozen=True, slots=True)
class _Change:
    """Bundles, by full name, that something may have taken from their owner at a moment, if that is known."""

    bundles: tuple[str, ...]
    at_s: float | None
    step: int


class OwnersComparison:
    """Compares the owners of each step; does nothing where the scenario names no brokers.

    ``splits`` are those that a series shows.
    """

    def __init__(
        self, recording: Recording, ledger: Ledger, problems: list[Problem], splits: Collection[SeenSplit]
    ) -> None:
        self._brokers = recording.brokers
        self._channel = recording.load_manager == "extensible" or bool(recording.balance and recording.balance.cycles)
        self._interval_s = _seconds(recording.named_settings.get("statsUpdateFrequencyInSecs"))
        self._ledger = ledger
        self._problems = problems
        self._step = 0
        self._changes = [_Change((split.name,), split.at_ms / 1000, -1) for split in splits]
        self._last_owned: dict[str, tuple[str, ...]] = {}

    def takes(self, answer: Answer) -> bool:
        """Whether an answer is compared here."""
        looked_up = answer.broker in self._brokers and answer.kind is AnswerKind.LOOKUP
        return looked_up or self._is_own_list(answer)

    def go_on(self, step: Step) -> None:
        """Compare the answers of one step with each other."""
        if not self._brokers:
            return
        self._step += 1
        owned: dict[str, list[tuple[Answer, tuple[str, ...]]]] = {}
        for answer in step.answers:
            self._note_request(answer)
            if self._is_own_list(answer):
                decoded = _owned(answer.data, answer.file)
                self._problems += decoded.problems
                owned.setdefault(answer.broker, []).append((answer, decoded.good))
                self._note_loss(answer, decoded.good)
        once = {broker: lists[0] for broker, lists in owned.items() if len(lists) == 1}
        several = sum(len(lists) for lists in owned.values() if len(lists) > 1)
        self._ledger.skip("lists of owned bundles that changed within a step", several)
        owners = self._owners(once)
        for answer in step.answers:
            self._ledger.file = answer.file
            if answer.kind is AnswerKind.BROKER_STATS_TOPICS and answer.broker in once:
                self._compare_loaded(answer, set(once[answer.broker][1]), owners)
            elif answer.request.what == "lookup" and answer.broker in self._brokers:
                self._compare_lookup(answer, owners, complete=len(owned) == len(once))
        self._ledger.file = ""

    def _note_request(self, answer: Answer) -> None:
        request = answer.request
        if request.method == "PUT" and request.what in ("split", "unload") and (answer.status or 0) < 300:
            self._changes.append(_Change((f"{request.namespace}/{request.bundle}",), answer.at_s, self._step))

    def _note_loss(self, answer: Answer, bundles: tuple[str, ...]) -> None:
        """What a broker lists no longer was taken from it some time before this list."""
        lost = tuple(name for name in self._last_owned.get(answer.broker, ()) if name not in bundles)
        self._changes.append(_Change(lost, answer.at_s, self._step))
        self._last_owned[answer.broker] = bundles

    def _owners(self, once: Mapping[str, tuple[Answer, tuple[str, ...]]]) -> dict[str, str]:
        """Bundle -> the letter of its owner; each must have one only."""
        owners: dict[str, str] = {}
        for broker, (answer, bundles) in sorted(once.items()):
            self._ledger.file = answer.file
            for bundle in bundles:
                first = owners.setdefault(bundle, broker)
                self._ledger.compare(StepFact.OWNED_ONCE, bundle, broker, first, "a bundle is owned by one broker")
        return owners

    def _compare_loaded(self, answer: Answer, owned: Collection[str], owners: Mapping[str, str]) -> None:
        stats = _stats(answer.data, answer.file).good
        for name in sorted({f"{place.namespace}/{place.bundle}" for place in stats.places.values()}):
            if name not in owned and self._channel and name.startswith(f"{_CHANNEL}/"):
                self._ledger.skip("bundles of the state channel itself, which brokers do not list as owned")
            elif (name not in owners and any(_overlap(name, other) for other in owners)) or (
                name not in owned and self._was_changed(name, answer.at_s)
            ):
                self._ledger.skip(MEANWHILE)
            else:
                modelled = "owned" if name in owned else "not owned"
                rule = f"the list of owned bundles of broker {answer.broker}"
                self._ledger.compare(StepFact.LOADED_BY_OWNER, name, "owned", modelled, rule)

    def _was_changed(self, bundle: str, now_s: float | None) -> bool:
        """Whether something took a bundle, or one that overlaps it, from its owner within the last interval.

        Without times, changes of this step and of the one before count.
        """
        for change in self._changes:
            if now_s is not None and change.at_s is not None:
                recent = now_s - self._interval_s - _LATE_S <= change.at_s <= now_s + _LATE_S
            else:
                recent = change.step >= self._step - 1
            if recent and any(name == bundle or _overlap(name, bundle) for name in change.bundles):
                return True
        return False

    def _compare_lookup(self, answer: Answer, owners: Mapping[str, str], *, complete: bool) -> None:
        owner = _owner_of(answer.request.topic, owners) if complete else None
        named = self._named_owner(answer)
        if owner is None or named is None:
            self._ledger.skip(_NO_OWNER)
            return
        rule = "the broker that lists the topic's bundle as its own"
        self._ledger.compare(StepFact.LOOKUP_OWNER, answer.request.topic, named, owner, rule)

    def _named_owner(self, answer: Answer) -> str | None:
        """The letter of the broker that a look-up names, or redirects to; the address itself if no broker has it."""
        if answer.kind is AnswerKind.LOOKUP and answer.data:
            decoded = _lookup(answer.data, answer.file)
            self._problems += decoded.problems
            if decoded.good is None:
                return None
            letters = self._letter(decoded.good.broker_url), self._letter(decoded.good.http_url)
            return letters[0] if letters[0] == letters[1] else " and ".join(letters)
        if answer.status == 307 and answer.location:
            return self._letter("/".join(answer.location.split("/")[:3]))
        return None

    def _is_own_list(self, answer: Answer) -> bool:
        """A list that a broker gives of itself: of another one it may know nothing."""
        addresses = self._brokers.get(answer.broker, ())
        return answer.kind is AnswerKind.OWNED_NAMESPACES and answer.request.broker in addresses

    def _letter(self, address: str) -> str:
        return next((letter for letter, addresses in self._brokers.items() if address in addresses), address)


def _seconds(text: str | None) -> float:
    try:
        return float(text) if text is not None else _DEFAULT_INTERVAL_S
    except ValueError:
        return _DEFAULT_INTERVAL_S


def _overlap(one: str, other: str) -> bool:
    (namespace, _, text), (of_other, _, other_text) = one.rpartition("/"), other.rpartition("/")
    if namespace != of_other:
        return False
    a, b = parse_range(text), parse_range(other_text)
    if isinstance(a, Rejection) or isinstance(b, Rejection):
        return False
    return a.lower < b.upper and b.lower < a.upper


def _owner_of(topic: str, owners: Mapping[str, str]) -> str | None:
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        return None
    position = crc32_hash(topic)
    for bundle, owner in owners.items():
        namespace, _, text = bundle.rpartition("/")
        place = parse_range(text) if namespace == name.namespace else None
        if isinstance(place, BundleRange) and place.includes(position):
            return owner
    return None

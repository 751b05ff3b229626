"""The release of brokers that do not name it, by the signs in their answers.

A range of releases is inferred, and of it the newest counts: for most rules it does not matter which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from engine.admin.facts import ConsumerFacts, Snapshot
from engine.admin.release_signs import RECENTLY_JOINED, SIGNS, Sign
from engine.config import CURRENT, LINES, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.errors import Rejection
from engine.keyshared.model import Consumer, RangesById, Selector
from engine.ranges import HashRange, join_neighbours
from engine.releases import CURRENT_RELEASE, FINAL, OLDEST, Release

_OPEN: Final = 999
"""The patch number that stands for the newest release of a line, also in ``release_of``."""
_MOST_PATCHES: Final = 20
_CANDIDATES: Final = (
    Release(OLDEST.major, OLDEST.minor - 1, _OPEN),
    *(
        release
        for line in LINES
        for release in (
            *(Release(*line, 0, milestone=number) for number in (1, 2) if line == CURRENT_RELEASE.line),
            *(Release(*line, patch) for patch in (*range(_MOST_PATCHES + 1), _OPEN)),
        )
    ),
)
"""All releases that are distinguished, ascending; the first is for all that are older than those modelled here."""
_RINGS: Final = (
    (Sign("ring-name-i", "hash ranges", before=(Release(3, 0, 3), Release(3, 2, 1))), "2.11.0"),
    (Sign("ring-name-nul-i", "hash ranges", since=(Release(3, 0, 3), Release(3, 2, 1)),
          before=(Release(3, 0, 7), Release(3, 3, 2))), "3.2.3"),
    (Sign("ring-indexed", "hash ranges", since=(Release(3, 0, 7), Release(3, 3, 2)),
          before=(Release(4, 0, 0, milestone=0),)), "3.3.2"),
)  # fmt: skip
"""The rings of Key_Shared before PIP-379, each with the releases that have it (#22053, #23327) and one of them."""
_LAST_BEFORE_PIP_379: Final = Release(3, 3, _OPEN)
_MOST_RINGS, _MOST_CONSUMERS = 4, 200
_Evidence = tuple[Sign, ...]


@dataclass(frozen=True, slots=True)
class InferredRelease:
    """Releases that can have printed some answers: ``at_least`` and later, older than ``older_than``; None: unknown.

    ``newest`` is the one whose rules are taken. ``why`` names the evidence. ``classic``: the brokers are of 4.x and
    have the classic Key_Shared dispatcher.
    """

    newest: Release
    at_least: Release | None
    older_than: Release | None
    why: str
    classic: bool = False
    evidence: _Evidence = ()

    @property
    def label(self) -> str:
        """The release as ``--pulsar`` takes it: a line where the newest of a line is meant."""
        return _label(max(self.newest, OLDEST))

    @property
    def behaviour(self) -> ReleaseBehaviour:
        """The rules of the newest release."""
        return _behaviour(self.label)

    @property
    def text(self) -> str:
        """What the answers say, to follow "by its answers": ``older than 4.0 (readPositionWhenJoining)``."""
        if self.at_least == self.newest and self.older_than is not None and self.newest.patch != _OPEN:
            said = f"exactly {self.newest}"
        elif self.at_least is None or self.older_than is None:
            said = f"{_short(self.at_least)} or later" if self.at_least else f"older than {_short(self.older_than)}"
        else:
            said = f"{_short(self.at_least)} or later, and older than {_short(self.older_than)}"
        return f"{said} ({self.why})"

    def fits(self, release: Release) -> bool:
        """Whether brokers of a release can have printed the answers."""
        return all(sign.fits(release) for sign in self.evidence)

    def may_be(self, affected: Callable[[Release], bool]) -> bool:
        """Whether one of the releases that fit is affected by something."""
        return any(affected(release) for release in _CANDIDATES if self.fits(release))

    def newest_with(self, rule: Callable[[ReleaseBehaviour], bool]) -> ReleaseBehaviour | None:
        """The newest release that fits and has a rule; None where none has."""
        fitting = (_behaviour(_label(release)) for release in reversed(_CANDIDATES[1:]) if self.fits(release))
        return next((behaviour for behaviour in fitting if rule(behaviour)), None)


NOTHING_INFERRED: Final = InferredRelease(CURRENT_RELEASE, None, None, "")


def inferred_release(snapshots: Iterable[Snapshot]) -> InferredRelease | None:
    """Infer the release of the brokers behind some answers; None where nothing in them shows it.

    Where signs contradict each other, because brokers of several releases answered or an answer was edited, those of
    the newest count. O(Key_Shared consumers), of at most ``_MOST_RINGS`` dispatchers.
    """
    snapshots = list(snapshots)
    ids = frozenset().union(*(snapshot.signs for snapshot in snapshots))
    signs = [sign for sign in SIGNS.values() if sign.id in ids]
    classic = RECENTLY_JOINED in ids and any(not sign.fits(_LAST_BEFORE_PIP_379) for sign in signs if sign.since)
    signs += [] if classic else _ring_signs(snapshots)
    fitting = [release for release in _CANDIDATES if all(sign.fits(release) for sign in signs)]
    if not fitting:
        signs = [sign for sign in signs if sign.since]
        fitting = [release for release in _CANDIDATES if all(sign.fits(release) for sign in signs)]
    if len(fitting) == len(_CANDIDATES):
        return None
    first, last = _CANDIDATES.index(fitting[0]), _CANDIDATES.index(fitting[-1])
    below = _CANDIDATES[first - 1] if first else None
    above = _CANDIDATES[last + 1] if last + 1 < len(_CANDIDATES) else None
    reasons = [_excluding(signs, bound) for bound in (below, above) if bound is not None]
    proper = [release for release in fitting if release.milestone == FINAL]
    newest = CURRENT_RELEASE if CURRENT_RELEASE in fitting else (proper or fitting)[-1]
    why = " and ".join(dict.fromkeys(reasons))
    at_least = fitting[0] if below is not None else None
    return InferredRelease(newest, at_least, above, why, classic, tuple(signs))


def _excluding(signs: Sequence[Sign], release: Release) -> str:
    return next((sign.what for sign in signs if not sign.fits(release)), "")


def _short(release: Release | None) -> str:
    if release is None:
        return ""
    return f"{release.major}.{release.minor}" if release.patch in (0, _OPEN) else str(release)


def _label(release: Release) -> str:
    return _short(release) if release.patch == _OPEN else str(release)


@lru_cache(maxsize=len(_CANDIDATES))
def _behaviour(label: str) -> ReleaseBehaviour:
    behaviour = CURRENT if label == CURRENT.label else behaviour_of(label)
    assert not isinstance(behaviour, Rejection), label
    return behaviour


def _ring_signs(snapshots: Sequence[Snapshot]) -> list[Sign]:
    """The ring whose ranges are reported, where only one form of it gives them."""
    signs: dict[str, Sign] = {}
    for consumers, settings in _dispatchers(snapshots):
        joined, reported = reported_ranges(consumers)
        fitting = [sign for sign, release in _RINGS if _gives(joined, reported, settings, _behaviour(release))]
        signs |= {sign.id: sign for sign in fitting if len(fitting) == 1}
    return list(signs.values())


def _dispatchers(snapshots: Sequence[Snapshot]) -> list[tuple[tuple[ConsumerFacts, ...], BrokerSettings | None]]:
    """A few dispatchers of Key_Shared all of whose consumers report ranges in the texts of older releases."""
    found = {
        subscription.consumers: snapshot.settings
        for snapshot in snapshots
        for topic in snapshot.topics.values()
        for subscription in topic.subscriptions
        if subscription.type == "Key_Shared"
        and 0 < len(subscription.consumers) <= _MOST_CONSUMERS
        and all(consumer.range_texts for consumer in subscription.consumers)
    }
    return list(found.items())[:_MOST_RINGS]


def reported_ranges(consumers: Sequence[ConsumerFacts]) -> tuple[tuple[Consumer, ...], RangesById]:
    """The consumers in the order of connecting, with their places as ids, and the ranges that they report."""
    facts = list(consumers)
    if all(consumer.connected_since for consumer in facts):
        facts.sort(key=lambda consumer: consumer.connected_since.rstrip("Z"))
    ranges = {
        number: join_neighbours(HashRange(start, end) for start, end in consumer.key_hash_ranges if start <= end)
        for number, consumer in enumerate(facts)
        if consumer.key_hash_ranges
    }
    return tuple(Consumer(number, consumer.name) for number, consumer in enumerate(facts)), ranges


def _gives(
    consumers: tuple[Consumer, ...],
    reported: RangesById,
    settings: BrokerSettings | None,
    behaviour: ReleaseBehaviour,
) -> bool:
    """Whether the ring of a release has these ranges, also after consumers of the same names left."""
    chosen = replace(settings or default_settings(behaviour), subscriptionKeySharedUseConsistentHashing=True)
    return reported == ring_ranges(consumers, chosen, behaviour) or reported == ring_ranges_after(
        consumers, reported, chosen, behaviour
    )


@lru_cache(maxsize=256)
def ring_ranges(
    consumers: tuple[Consumer, ...], settings: BrokerSettings, behaviour: ReleaseBehaviour
) -> RangesById | None:
    """The ranges that automatic assignment gives, None where these consumers cannot have it; do not change them.

    Cached, since most topics of a subscription have the same consumers.
    """
    from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble

    selector = assemble(consumers, KeySharedMode.AUTO_SPLIT, settings, behaviour)
    return None if isinstance(selector, Rejection | JoinRefused) else joined_ranges(selector)


def joined_ranges(selector: Selector) -> RangesById:
    """The ranges of a selector, neighbours joined."""
    return {owner: join_neighbours(pieces) for owner, pieces in selector.ranges().items()}


def ring_ranges_after(
    consumers: tuple[Consumer, ...], reported: RangesById, settings: BrokerSettings, behaviour: ReleaseBehaviour
) -> RangesById | None:
    """The ranges that the ring gives if so many namesakes had connected before and left as ``reported`` shows."""
    from engine.keyshared.admission import KeySharedMode, assemble
    from engine.keyshared.name_indices import with_namesakes_gone
    from engine.keyshared.ring import RingSelector

    selector = assemble((), KeySharedMode.AUTO_SPLIT, settings, behaviour)
    if not isinstance(selector, RingSelector):
        return None
    return joined_ranges(with_namesakes_gone(selector, consumers, [reported[one.consumer_id] for one in consumers]))

"""Which release and which Failover rule the brokers behind some answers run: reported, inferred, or assumed.

Load reports name the release, dynamic configuration the flag. Where neither was saved, the active consumers that
statistics name decide: each candidate explains some of them and contradicts others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Final

from engine.admin.files import natural_key
from engine.admin.priorities import infer_priority_levels
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.failover.choose import rule_in_force

_OLDER: Final = ("3.2.3", "2.11.0")
"""One release that ignores the flag, and one in which a topic without partitions stays with its first consumer as well:
for Failover all others are like one of these or like the newest."""
MOST_OBSERVED: Final = 200
"""Consumer lists that are looked at to infer a rule; more of them say the same."""


class Basis(Enum):
    """How a rule is known."""

    GIVEN = "given"
    REPORTED = "reported"
    INFERRED = "inferred"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class ObservedActives:
    """One list of consumers in the dispatcher's order, and the active consumer of some of its topics.

    ``actives``: (full topic name, partition index, -1 for none) -> name of the active consumer.
    """

    names: tuple[str, ...]
    actives: Mapping[tuple[str, int], str]


@dataclass(frozen=True, slots=True)
class RulesInForce:
    """The rules of the brokers behind some answers, and how each is known."""

    behaviour: ReleaseBehaviour
    release_basis: Basis
    consistent_hashing: bool
    flag_basis: Basis


def rules_in_force(
    observed: Iterable[ObservedActives],
    releases: Collection[str] = (),
    flags: Collection[bool] = (),
    *,
    given_release: ReleaseBehaviour | None = None,
    given_flag: bool | None = None,
) -> RulesInForce:
    """The release and the flag of one set of brokers.

    ``releases`` and ``flags`` are what they reported, each value once or more; brokers in the middle of an upgrade
    report several, and then those count that explain most of the observed active consumers. What was given wins over
    what was reported, that over what can be inferred; without anything it is the newest release with the flag off.
    O(candidates x consumer lists x topics), of at most ``MOST_OBSERVED`` lists.

    Modulo over two consumers gives partition 0 to ``a`` and 1 to ``b``; the ring does not:

    >>> seen = ObservedActives(("a", "b"), {(f"persistent://t/n/x-partition-{n}", n): "ab"[n % 2] for n in range(8)})
    >>> rules = rules_in_force([seen])
    >>> rules.consistent_hashing, rules.flag_basis.value, rules.release_basis.value
    (False, 'inferred', 'assumed')
    """
    known = _known(releases)
    behaviours = [given_release] if given_release is not None else known or [CURRENT, *map(_behaviour, _OLDER)]
    choices = [given_flag] if given_flag is not None else sorted(set(flags)) or [False, True]
    evidence = list(observed)[:MOST_OBSERVED]
    candidates = [
        (behaviour, flag)
        for behaviour, flag in product(behaviours, choices)
        # A release that does not know the flag ignores it, so with it on there is nothing else to be told from.
        if len(choices) == 1 or not flag or behaviour.knows_failover_consistent_hashing
    ]
    scores = [_score(evidence, behaviour, flag) for behaviour, flag in candidates] if len(candidates) > 1 else [(0, 0)]
    best = scores.index(max(scores))
    behaviour, flag = candidates[best]
    return RulesInForce(
        behaviour,
        _basis(given_release is not None, bool(known), _decided(candidates, scores, 0)),
        flag and behaviour.knows_failover_consistent_hashing,
        _basis(given_flag is not None, bool(flags), _decided(candidates, scores, 1)),
    )


def _known(releases: Collection[str]) -> list[ReleaseBehaviour]:
    """The behaviours of releases, the newest first; versions that are not known here say nothing."""
    found = (behaviour_of(version) for version in sorted(set(releases), key=natural_key, reverse=True))
    return [each for each in found if isinstance(each, ReleaseBehaviour)]


def _behaviour(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert not isinstance(behaviour, Rejection)
    return behaviour


def _score(evidence: Iterable[ObservedActives], behaviour: ReleaseBehaviour, flag: bool) -> tuple[int, int]:
    """Explained active consumers, and those of them for which no priority level had to be invented."""
    counts = [_explained(each, behaviour, flag) for each in evidence]
    return sum(count for count, _ in counts), sum(plain for _, plain in counts)


def _explained(each: ObservedActives, behaviour: ReleaseBehaviour, flag: bool) -> tuple[int, int]:
    total = plain = 0
    for partitioned in (True, False):
        actives = {key: active for key, active in each.actives.items() if (key[1] >= 0) is partitioned}
        if not actives:
            continue
        rule = rule_in_force(0 if partitioned else -1, consistent_hashing=flag, behaviour=behaviour)
        found = infer_priority_levels(each.names, actives, [rule])
        if found.rule is not None:
            total += len(actives)
            plain += len(actives) if found.basis == "order" else 0
    return total, plain


def _decided(candidates: Sequence[tuple[object, object]], scores: Sequence[tuple[int, int]], part: int) -> bool:
    """Whether the evidence speaks against the default (the first candidate), or for it and against all others."""
    values = [candidate[part] for candidate in candidates]
    best = [value for value, score in zip(values, scores, strict=True) if score == max(scores)]
    if values[0] not in best:
        return True
    return all(value == values[0] for value in best) and any(value != values[0] for value in values)


def _basis(given: bool, reported: bool, inferred: bool) -> Basis:
    if given:
        return Basis.GIVEN
    if reported:
        return Basis.REPORTED
    return Basis.INFERRED if inferred else Basis.ASSUMED

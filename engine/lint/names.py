"""The doctor on a plain list of consumer names, before anything is deployed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.keyshared.admission import KeySharedMode
from engine.keyshared.assembly import JoinRefused, assemble
from engine.keyshared.model import Consumer as KeyConsumer
from engine.keyshared.model import DeclaredRanges
from engine.lint.cases import KeyCase, SubscriptionCase
from engine.lint.doctor import lint_key_subscription, lint_subscription, lint_world
from engine.lint.model import Finding, World, in_order
from engine.lint.registry import EVERY, RuleSet
from engine.lint.rules import failover_flag_ignored, failover_flag_unknown
from engine.lint.rules.key_overlaps import admitted

_ABOUT_TOPICS: Final = (failover_flag_ignored.RULE, failover_flag_unknown.RULE)
"""Rules that speak of topics, which a list of names does not have."""


def lint_names(
    names: Sequence[str],
    world: World,
    *,
    declared: Sequence[DeclaredRanges | None] = (),
    rules: RuleSet = EVERY,
) -> tuple[Finding, ...]:
    """What would be wrong with consumers of these names, connecting in this order.

    Judged are a Failover subscription whose topics go by modulo and by the ring, as far as the release has it, and a
    Key_Shared one: automatic, or STICKY alone where ``declared`` (parallel to ``names``) has ranges.
    O(n log n) for 100 n points.

    >>> [(each.rule, each.where.consumer) for each in lint_names(["a", "b", "a"], World())]
    [('failover-duplicate-names', 'a'), ('key-duplicate-names', 'a')]
    """
    found = list(lint_world(world, rules.world))
    sticky = any(each is not None for each in declared)
    if rules.subscription and not sticky:
        consumers = tuple(Consumer(at, name) for at, name in enumerate(names))
        found += lint_subscription(
            SubscriptionCase(world, "", "", "", consumers, partitioned=1, unpartitioned=1),
            [rule for rule in rules.subscription if rule not in _ABOUT_TOPICS],
        )
    if rules.key:
        found += lint_key_subscription(_key_case(names, world, declared if sticky else ()), rules.key)
    return in_order(found)


def _key_case(names: Sequence[str], world: World, declared: Sequence[DeclaredRanges | None]) -> KeyCase:
    """The names as a subscription; those that a broker would refuse are not on its selector."""
    consumers = tuple(
        KeyConsumer(at, name, (declared[at] or ()) if declared else None) for at, name in enumerate(names)
    )
    mode = KeySharedMode.STICKY if declared else KeySharedMode.AUTO_SPLIT
    made = assemble(admitted(consumers)[0], mode, world.settings, world.behaviour)
    # Beyond what is declared only a subscription of more consumers than slots is refused: no selector, no findings.
    selector = None if isinstance(made, (Rejection, JoinRefused)) else made
    return KeyCase(world, "", "", "", 0, consumers, selector)

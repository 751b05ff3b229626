"""The list of all rules, and running them over one case, a whole state, or a plain list of consumer names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Protocol, TypeVar

from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble
from engine.keyshared.model import Consumer as KeyConsumer
from engine.keyshared.model import DeclaredRanges
from engine.lint.model import (
    Finding,
    KeyCase,
    NamespaceCase,
    Rule,
    ScalableCase,
    Severity,
    SubscriptionCase,
    World,
    in_order,
)
from engine.lint.opened import (
    NOTHING_REPORTED,
    Reported,
    key_cases,
    namespace_cases,
    scalable_cases,
    subscription_cases,
    world_of,
)
from engine.lint.rules import bundles, failover, keys, producers, scalable, settings


class RuleFacts(Protocol):
    """What all rules have in common, whatever they look at."""

    @property
    def id(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def worst(self) -> Severity: ...
    @property
    def source(self) -> str: ...


SUBSCRIPTION_RULES: Final[tuple[Rule[SubscriptionCase], ...]] = (
    failover.DUPLICATE_NAMES,
    failover.FLAG_IGNORED,
    failover.FLAG_UNKNOWN,
    failover.NAMES_COLLIDE,
)
KEY_RULES: Final[tuple[Rule[KeyCase], ...]] = (
    keys.DUPLICATE_NAMES,
    keys.GAPS,
    keys.GAPS_SERVED,
    keys.HASH_RESONANCE,
    keys.NAMES_COLLIDE,
    keys.NO_SLOTS,
    keys.OVERLAPS,
    keys.POINTS_LOST,
)
NAMESPACE_RULES: Final[tuple[Rule[NamespaceCase], ...]] = (
    bundles.BUNDLE_HOT_TOPIC,
    producers.FULL,
    producers.MIXED_KEY_ROUTING,
    bundles.SPLIT_EMPTY_HALF,
    bundles.SPLIT_IN_VAIN,
    bundles.SPLIT_MANY_BOUNDARIES,
    bundles.TOPIC_CRC32_TWINS,
    bundles.TOPIC_LOOKUP_FAILS,
)
SCALABLE_RULES: Final[tuple[Rule[ScalableCase], ...]] = (
    scalable.FEW_BUCKETS,
    scalable.INVALID_POLICY,
    scalable.KEPT_SEGMENTS,
    scalable.KEYLESS,
    scalable.MAX_SEGMENTS,
    scalable.MERGE_WINDOW,
    scalable.MIN_SEGMENTS,
    scalable.SPLIT_MERGES,
)
WORLD_RULES: Final[tuple[Rule[World], ...]] = (
    settings.BANDWIDTH_LIMIT_OVERFLOW,
    scalable.OLD_RATES,
    settings.SETTING_NOT_READ,
    settings.SETTING_UNKNOWN,
    settings.SETTING_WITHOUT_USE,
    settings.SETTINGS_FIGHT,
    settings.SHEDDER_ALONE,
    settings.SHEDDER_MARGIN,
)
ALL_RULES: Final[tuple[RuleFacts, ...]] = (
    *WORLD_RULES,
    *SUBSCRIPTION_RULES,
    *KEY_RULES,
    *NAMESPACE_RULES,
    *SCALABLE_RULES,
)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The chosen rules."""

    subscription: tuple[Rule[SubscriptionCase], ...] = SUBSCRIPTION_RULES
    key: tuple[Rule[KeyCase], ...] = KEY_RULES
    namespace: tuple[Rule[NamespaceCase], ...] = NAMESPACE_RULES
    scalable: tuple[Rule[ScalableCase], ...] = SCALABLE_RULES
    world: tuple[Rule[World], ...] = WORLD_RULES


EVERY: Final = RuleSet()


def rule_ids() -> tuple[str, ...]:
    """The ids of all rules, in the order of ``ALL_RULES``."""
    return tuple(rule.id for rule in ALL_RULES)


def rule_set(ids: Collection[str] | None) -> RuleSet | Rejection:
    """The rules with these ids, all for None. An id that no rule has is refused, with one that is near.

    >>> rule_set(["key-gap"]).message
    "there is no rule 'key-gap'; did you mean key-gaps?"
    """
    if ids is None:
        return EVERY
    for wanted in ids:
        if wanted not in rule_ids():
            near = get_close_matches(wanted, rule_ids(), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            return Rejection("UnknownRule", f"there is no rule {wanted!r}{hint}", field="rule")
    return RuleSet(
        tuple(rule for rule in SUBSCRIPTION_RULES if rule.id in ids),
        tuple(rule for rule in KEY_RULES if rule.id in ids),
        tuple(rule for rule in NAMESPACE_RULES if rule.id in ids),
        tuple(rule for rule in SCALABLE_RULES if rule.id in ids),
        tuple(rule for rule in WORLD_RULES if rule.id in ids),
    )


_Case = TypeVar("_Case")


def lint_subscription(
    case: SubscriptionCase, rules: Iterable[Rule[SubscriptionCase]] = SUBSCRIPTION_RULES
) -> tuple[Finding, ...]:
    """The findings about one Failover subscription. O(n log n) for n consumers, with collisions for 100 n points."""
    return _run(case, rules)


def lint_key_subscription(case: KeyCase, rules: Iterable[Rule[KeyCase]] = KEY_RULES) -> tuple[Finding, ...]:
    """The findings about one Key_Shared subscription. O(p log p) for p points or ranges."""
    return _run(case, rules)


def lint_namespace(case: NamespaceCase, rules: Iterable[Rule[NamespaceCase]] = NAMESPACE_RULES) -> tuple[Finding, ...]:
    """The findings about one namespace. O(t log b) for t topics in b bundles, more for bundles above a limit."""
    return _run(case, rules)


def lint_scalable(case: ScalableCase, rules: Iterable[Rule[ScalableCase]] = SCALABLE_RULES) -> tuple[Finding, ...]:
    """The findings about one scalable topic. O(segments + subscriptions)."""
    return _run(case, rules)


def lint_world(world: World, rules: Iterable[Rule[World]] = WORLD_RULES) -> tuple[Finding, ...]:
    """The findings about the brokers' settings. O(1)."""
    return _run(world, rules)


def lint(
    state: ClusterState, reported: Reported = NOTHING_REPORTED, *, rules: RuleSet = EVERY, namespace: str | None = None
) -> tuple[Finding, ...]:
    """All findings of a state, the worst first; ``namespace`` narrows to one, the brokers' settings included.

    The findings do not depend on the order of topics, subscriptions or namespaces; that of consumers is part of the
    input. Only what the rules need is computed. O(t log t) for t partitions, and the costs of the subscriptions.

    >>> from engine.cluster.state import Subscription
    >>> from engine.cluster.tables.topics import Topic
    >>> from engine.failover.model import Consumer
    >>> topic = Topic("persistent://t/n/x")
    >>> twins = Subscription("s", "s", "t/n", (topic.name,), (Consumer(1, "c"), Consumer(2, "c")))
    >>> findings = lint(ClusterState(topics={topic.name: topic}, subscriptions=(twins,)))
    >>> [(finding.rule, finding.severity.label) for finding in findings]
    [('failover-duplicate-names', 'error'), ('failover-flag-ignored', 'info')]
    """
    world = world_of(state, reported)
    findings: list[Finding] = list(lint_world(world, rules.world))
    if rules.subscription:
        for subscription in subscription_cases(state, world, namespace):
            findings += lint_subscription(subscription, rules.subscription)
    if rules.key:
        for shared in key_cases(state, world, reported, namespace):
            findings += lint_key_subscription(shared, rules.key)
    if rules.namespace:
        for namespace_case in namespace_cases(state, world, reported, namespace):
            findings += lint_namespace(namespace_case, rules.namespace)
    if rules.scalable:
        for scalable in scalable_cases(state, world, reported, namespace):
            findings += lint_scalable(scalable, rules.scalable)
    return in_order(findings)


def _run(case: _Case, rules: Iterable[Rule[_Case]]) -> tuple[Finding, ...]:
    return in_order(finding for rule in rules for finding in rule.check(case))


_ABOUT_TOPICS: Final = (failover.FLAG_IGNORED, failover.FLAG_UNKNOWN)
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

    >>> [(finding.rule, finding.where.consumer) for finding in lint_names(["a", "b", "a"], World())]
    [('failover-duplicate-names', 'a'), ('key-duplicate-names', 'a')]
    """
    findings = list(lint_world(world, rules.world))
    sticky = any(ranges is not None for ranges in declared)
    if rules.subscription and not sticky:
        consumers = tuple(Consumer(at, name) for at, name in enumerate(names))
        findings += lint_subscription(
            SubscriptionCase(world, "", "", "", consumers, partitioned=1, unpartitioned=1),
            [rule for rule in rules.subscription if rule not in _ABOUT_TOPICS],
        )
    if rules.key:
        findings += lint_key_subscription(_key_case(names, world, declared if sticky else ()), rules.key)
    return in_order(findings)


def _key_case(names: Sequence[str], world: World, declared: Sequence[DeclaredRanges | None]) -> KeyCase:
    """The names as a subscription; those that a broker would refuse are not on its selector."""
    consumers = tuple(
        KeyConsumer(at, name, (declared[at] or ()) if declared else None) for at, name in enumerate(names)
    )
    mode = KeySharedMode.STICKY if declared else KeySharedMode.AUTO_SPLIT
    assembled = assemble(keys.admitted(consumers)[0], mode, world.settings, world.behaviour)
    # Beyond what is declared only a subscription of more consumers than slots is refused: no selector, no findings.
    selector = None if isinstance(assembled, (Rejection, JoinRefused)) else assembled
    return KeyCase(world, "", "", "", 0, consumers, selector)

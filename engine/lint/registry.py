"""All rules, by what they look at."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Protocol

from engine.errors import Rejection
from engine.lint.cases import KeyCase, NamespaceCase, SubscriptionCase
from engine.lint.model import Rule, Severity, World
from engine.lint.rules import (
    bandwidth_limit_overflow,
    bundle_hot_topic,
    failover_duplicate_names,
    failover_flag_ignored,
    failover_flag_unknown,
    failover_names_collide,
    key_duplicate_names,
    key_gaps,
    key_gaps_served,
    key_names_collide,
    key_no_slots,
    key_overlaps,
    key_points_lost,
    producers_mixed_key_routing,
    shedder_alone,
    split_empty_half,
    split_in_vain,
    split_many_boundaries,
    topic_crc32_twins,
    topic_lookup_fails,
)


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
    failover_duplicate_names.RULE,
    failover_flag_ignored.RULE,
    failover_flag_unknown.RULE,
    failover_names_collide.RULE,
)
KEY_RULES: Final[tuple[Rule[KeyCase], ...]] = (
    key_duplicate_names.RULE,
    key_gaps.RULE,
    key_gaps_served.RULE,
    key_names_collide.RULE,
    key_no_slots.RULE,
    key_overlaps.RULE,
    key_points_lost.RULE,
)
NAMESPACE_RULES: Final[tuple[Rule[NamespaceCase], ...]] = (
    bundle_hot_topic.RULE,
    producers_mixed_key_routing.RULE,
    split_empty_half.RULE,
    split_in_vain.RULE,
    split_many_boundaries.RULE,
    topic_crc32_twins.RULE,
    topic_lookup_fails.RULE,
)
WORLD_RULES: Final[tuple[Rule[World], ...]] = (bandwidth_limit_overflow.RULE, shedder_alone.RULE)
ALL_RULES: Final[tuple[RuleFacts, ...]] = (*WORLD_RULES, *SUBSCRIPTION_RULES, *KEY_RULES, *NAMESPACE_RULES)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules that are asked for."""

    subscription: tuple[Rule[SubscriptionCase], ...] = SUBSCRIPTION_RULES
    key: tuple[Rule[KeyCase], ...] = KEY_RULES
    namespace: tuple[Rule[NamespaceCase], ...] = NAMESPACE_RULES
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
        tuple(rule for rule in WORLD_RULES if rule.id in ids),
    )

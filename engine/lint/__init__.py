"""The doctor: rules over what brokers answered or over a list of names, each finding a value.

A finding says what is wrong, where, how bad in numbers, and what to change. One rule a file (``engine.lint.rules``);
``registry`` lists them. ``lint`` looks at a whole state; ``lint_subscription``, ``lint_key_subscription`` and
``lint_namespace`` at one thing each, so that a pipeline can call them row by row.
"""

from engine.lint.doctor import (
    ALL_RULES,
    RuleFacts,
    lint,
    lint_key_subscription,
    lint_names,
    lint_namespace,
    lint_subscription,
    lint_world,
    rule_ids,
)
from engine.lint.model import Finding, KeyCase, NamespaceCase, ProducedTopic, Severity, SubscriptionCase, Where, World
from engine.lint.opened import NOTHING_REPORTED, Reported

__all__ = [
    "ALL_RULES",
    "NOTHING_REPORTED",
    "Finding",
    "KeyCase",
    "NamespaceCase",
    "ProducedTopic",
    "Reported",
    "RuleFacts",
    "Severity",
    "SubscriptionCase",
    "Where",
    "World",
    "lint",
    "lint_key_subscription",
    "lint_names",
    "lint_namespace",
    "lint_subscription",
    "lint_world",
    "rule_ids",
]

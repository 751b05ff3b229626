"""The commands that record what a diagnosis still needs."""

from __future__ import annotations

from typing import Final

from engine.text import shell_line

APART_S: Final = 30
"""Seconds between two moments: long enough that what moves is seen to move."""


def two_moments(topic: str) -> str:
    """Return a line for a shell that records statistics and the cursor twice, and diagnoses them."""
    stats = shell_line("pulsar-admin", "topics", "stats", topic)
    internal = shell_line("pulsar-admin", "topics", "stats-internal", topic)
    again = shell_line("ringside", "why", ".", "--topic", topic)
    return f"for n in 1 2; do {stats} > $n-stats.json; {internal} > $n-internal.json; sleep {APART_S}; done; {again}"


def settings_and_policies(topic: str) -> str:
    """Return lines that record the limits in force and the state of the broker's threads."""
    config = shell_line("pulsar-admin", "brokers", "get-runtime-config")
    limit = shell_line("pulsar-admin", "topicPolicies", "get-dispatch-rate", "--applied", topic)
    return f"{config} > runtime.json; {limit} > dispatch-rate.json"

"""The events panel of producers: what each step opened, what it cut, and what became of messages."""

from __future__ import annotations

from typing import Final

from engine.cluster.commands import PassTime, RepartitionTopic
from engine.cluster.producers.apply import find_producer_topic
from engine.cluster.producers.commands import ProducerCommand
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Step, Timeline
from engine.errors import Rejection
from engine.routing.key_moves import moved_keys
from engine.views.events import kind_of
from engine.views.producers.model import ProducerStep
from engine.views.producers.words import tally_text
from engine.views.step_lines import StepLines, first_shown

KEYS_COMPARED: Final = 10_000
"""With more known keys than these a step says nothing of them."""


def producer_steps(timeline: Timeline, topic: str, before: ClusterState | None) -> tuple[ProducerStep, ...]:
    """The opening and the steps of ``StepLines.up_to_cursor``."""
    opening = () if first_shown(timeline) else (ProducerStep(0, "open", f"open {timeline.source}".rstrip(), 0, 0, ""),)
    return (*opening, *_LINES.up_to_cursor(timeline, topic, before))


def _line(step: Step, topic: str, before: ClusterState, after: ClusterState) -> ProducerStep:
    was, now = find_producer_topic(before, topic), find_producer_topic(after, topic)
    opened = now.tally.opened if now is not None and now is not was else 0
    back = now.tally.reconnected if now is not None and now is not was else 0
    gone = max(0, _objects(was) + opened + back - _objects(now))
    return ProducerStep(step.depth, kind_of(step.command), step.text, opened, gone, _effect(step, was, now))


_LINES: Final = StepLines(_line)


def _objects(topic: ProducerTopic | None) -> int:
    return topic.objects if topic is not None else 0


def _effect(step: Step, was: ProducerTopic | None, now: ProducerTopic | None) -> str:
    if now is None or now is was:
        return ""
    if isinstance(step.command, RepartitionTopic):
        before = was.partitions if was is not None else now.partitions
        return f"{now.partitions - before:,} partitions more{_moved_keys(now, before)}"
    return tally_text(now.tally) if isinstance(step.command, ProducerCommand | PassTime) else ""


def _moved_keys(now: ProducerTopic, before: int) -> str:
    """How many of the known keys go to another partition from now on, as Java hashes them."""
    if not now.keys or len(now.keys) > KEYS_COMPARED:
        return ""
    found = moved_keys(now.keys, before, now.partitions)
    assert not isinstance(found, Rejection), found
    return f", {len(found.moved):,} of {len(now.keys):,} known keys move"

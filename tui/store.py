"""The only owner of the timeline: takes commands, gives views, and tells the screen when there is another one.

Nothing else in the shell holds engine state, so there is one answer to the question what is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from textual.message import Message

from engine.cluster.commands import Command
from engine.cluster.grammar import parse_command
from engine.cluster.navigation import navigate
from engine.cluster.timeline import Timeline
from engine.cluster.timeline_commands import TimelineCommand
from engine.errors import Rejection
from engine.views.dashboard import dashboard_view, partitions_of, split_previews, topic_explanation, topics_of_bundle
from engine.views.details import SplitPreviewView, TopicExplanation
from engine.views.model import BundleTopic, DashboardView, Notice, PartitionRow


class Journal(Protocol):
    """What keeps the steps on disk. Called before the screen shows a step, so what was seen is never lost."""

    def record(self, timeline: Timeline) -> str:
        """Write what is new. The answer says where the steps are kept, or what went wrong, for the status line."""


class Store:
    """One timeline, the subscription that is shown, and the present view of both."""

    @dataclass
    class Changed(Message):
        """There is another view. Bursts collapse: only the last one matters."""

        view: DashboardView

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Store.Changed)

    def __init__(
        self,
        timeline: Timeline,
        *,
        subscription: int = 0,
        problems: int = 0,
        notes: tuple[Notice, ...] = (),
        journal: Journal | None = None,
    ) -> None:
        self._timeline = timeline
        self._subscription = subscription
        self._problems = problems
        self._notes = notes
        self._journal = journal
        self._listeners: list[Callable[[Message], object]] = []
        self.saved = journal.record(timeline) if journal is not None else ""
        self.view = self._project()

    def tell(self, listener: Callable[[Message], object]) -> None:
        """Send every ``Changed`` there, such as to a screen's ``post_message``."""
        self._listeners.append(listener)

    @property
    def timeline(self) -> Timeline:
        """The timeline as it stands; a value, so it cannot be changed behind the store's back."""
        return self._timeline

    @property
    def subscription(self) -> int:
        """The place of the shown subscription."""
        return self._subscription

    @property
    def subscription_key(self) -> str:
        """The key of the shown subscription, "" where there is none."""
        return self.view.status.subscription

    def submit(self, command: Command | TimelineCommand) -> Rejection | None:
        """Carry out a command, or move in time; what is refused changes nothing."""
        if isinstance(command, Command):
            timeline, rejection = self._timeline.submit(command)
        else:
            moved = navigate(self._timeline, command)
            timeline, rejection = moved.timeline, moved.rejection
        self._take(timeline)
        return rejection

    def submit_line(self, text: str) -> Rejection | None:
        """Carry out one line of the grammar."""
        command = parse_command(text, self._timeline.state, self.subscription_key or None)
        return command if isinstance(command, Rejection) else self.submit(command)

    def step_by(self, count: int) -> None:
        """Move in time, forwards or backwards, as far as there are steps."""
        self._take(self._timeline.step_by(count))

    def show_subscription(self, by: int) -> None:
        """Show the subscription that stands ``by`` places further, round the end."""
        count = len(self.view.status.subscriptions)
        if count > 1:
            self._subscription = (self._subscription + by) % count
            self._publish()

    def partitions_of(self, consumer_id: int) -> tuple[PartitionRow, ...]:
        """The partitions a consumer is active for, busiest first."""
        return partitions_of(self._timeline, self._subscription, consumer_id)

    def topics_of(self, namespace: str, range_text: str) -> tuple[BundleTopic, ...]:
        """The topics of a bundle, by hash."""
        return topics_of_bundle(self._timeline, namespace, range_text, self._subscription)

    def explain(self, topic_text: str) -> TopicExplanation | Rejection:
        """Where a topic goes, and why."""
        return topic_explanation(self._timeline, self._subscription, topic_text)

    def previews(self, namespace: str, range_text: str) -> SplitPreviewView:
        """What every split algorithm would make of a bundle."""
        return split_previews(self._timeline, namespace, range_text)

    def _take(self, timeline: Timeline) -> None:
        if timeline is self._timeline:
            return
        self._timeline = timeline
        if self._journal is not None:
            self.saved = self._journal.record(timeline)
        self._publish()

    def _publish(self) -> None:
        self.view = self._project()
        for listener in self._listeners:
            listener(self.Changed(self.view))

    def _project(self) -> DashboardView:
        return dashboard_view(
            self._timeline, subscription=self._subscription, problems=self._problems, notes=self._notes
        )

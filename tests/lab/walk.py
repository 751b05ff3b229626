"""Going through a recording step by step, with one set of rules, writing every fact into a ledger.

Owns the order in which things are compared; ``requests`` and ``contents`` look at each answer.
"""

from __future__ import annotations

from engine.errors import Problem
from tests.lab.balance.compare import compare_balancing
from tests.lab.balance.owners import Owners
from tests.lab.books import Books
from tests.lab.bundles.listed_splits import ToldOutside
from tests.lab.bundles.requests import Requests, is_split
from tests.lab.consumers import Court, compare_delivery, guess_levels
from tests.lab.contents import Contents
from tests.lab.judge import Judge
from tests.lab.key_shared.compare import KeySharedWalk
from tests.lab.moments import compare_moments
from tests.lab.names import known_names, topics_of_scenario
from tests.lab.notices import NoticeBook, compare_notices
from tests.lab.producers.compare import ProducersWalk
from tests.lab.recording import Recording, Step
from tests.lab.report import Ledger
from tests.lab.settings import compare_told_settings
from tests.lab.statistics import Statistics, decode_statistics


class Walk:
    """One pass over a recording; ``problems`` are what could not be read on the way."""

    def __init__(self, recording: Recording, judge: Judge) -> None:
        self.recording = recording
        self.judge = judge
        self.ledger = Ledger()
        self.problems: list[Problem] = []
        self._naming = known_names(recording)
        self._books = Books(recording, self._naming)
        statistics = {
            id(answer): decode_statistics(
                answer, self._naming, self.problems, key_shared=recording.key_shared is not None
            )
            for step in recording.steps
            for answer in step.answers
        }
        everything = [topic for found in statistics.values() if found for topic in found.topics.values()]
        subscribed = frozenset(
            topic.name for topic in everything if any(s.name == recording.subscription for s in topic.subscriptions)
        )
        self._court = Court(recording, judge, self.ledger, guess_levels(judge, everything), subscribed)
        self._requests = Requests(judge, self.ledger, self._books)
        self._statistics = statistics
        self._key_shared = KeySharedWalk(recording, judge, self.ledger, self.problems)
        self._producers = ProducersWalk(recording, judge, self.ledger, self.problems)
        self._owners = Owners(recording, self.ledger, self.problems)
        self._contents = Contents(
            self._court,
            self._books,
            statistics,
            self.problems,
            key_shared=self._key_shared,
            producers=self._producers,
            owners=self._owners,
        )

    def go(self) -> None:
        """Compare everything; the results are in ``ledger`` and ``problems``."""
        compare_told_settings(self.recording, self.judge, self.ledger)
        topics = topics_of_scenario(self.recording)
        listens = any(step.notices for step in self.recording.steps) and _has_unique_ids(self.recording)
        notices = NoticeBook(self.recording, self.judge, topics if listens else [])
        connected: tuple[str, ...] | None = None
        for step in self.recording.steps:
            self.ledger.step, self.ledger.file = step.label, ""
            connected = step.connected if step.connected is not None else connected
            self._key_shared.go_on(step, self._statistics_of(step))
            self._producers.go_on(step)
            told = notices.go_on(step.connected) if listens and step.connected is not None else None
            for answer in step.answers:
                self.ledger.file = answer.file
                if not self._requests.see(answer) and answer.data:
                    self._contents.see(answer, connected)
            self._owners.go_on(step)
            if told is not None:
                compare_notices(self.recording, self.ledger, step, told, topics)
            elif step.notices is not None:
                self.ledger.skip("notices without a list of who was connected", len(step.notices))
            if step.delivered is not None and connected is not None:
                compare_delivery(self._court, step, connected, topics)
        if not self.recording.has_scenario:
            compare_moments(self.recording, self._naming, self.ledger)
        self._about_changes()
        compare_balancing(self.recording, self._books, self.judge, self.ledger)
        self._about_the_rest()

    def _statistics_of(self, step: Step) -> list[Statistics]:
        found = (self._statistics[id(answer)] for answer in step.answers)
        return [each for each in found if each is not None]

    def _about_changes(self) -> None:
        """Splits that a scenario tells outside of its steps."""
        told = ToldOutside(self.recording, self.judge, self.ledger)
        splits = sum(is_split(answer) for step in self.recording.steps for answer in step.answers)
        asked = self._requests.asked
        told.compare_told(asked, complete=splits == len(asked))
        topics = {name: list(book.topics.values()) for name, book in self._books.by_namespace.items()}
        told.compare_changes(topics)

    def _about_the_rest(self) -> None:
        self.ledger.step = self.ledger.file = ""
        self.ledger.skip("files that are no admin answers, or that no step names", len(self.recording.passed_over))
        if self.recording.balancing is None:
            self.ledger.skip("splits that brokers made on their own", self.recording.automatic_splits)
        for name, count in self.recording.untold:
            self.ledger.skip(f"{name} (of routing or clients)", count)
        for book in self._books.by_namespace.values():
            if book.awaited is not None and book.awaited.plan is not None:
                self.ledger.skip("split requests after which no bundle list was recorded")


def _has_unique_ids(recording: Recording) -> bool:
    lists = [step.connected for step in recording.steps if step.connected is not None]
    return all(len(set(connected)) == len(connected) for connected in lists)

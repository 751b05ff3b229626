"""Requests as such, whatever their answers hold: splits, refusals, and changes of settings.

Owns which status a broker must answer with, and what a split request makes of the book of its namespace.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.bundles import BundleRange, TopicLoad, parse_range
from engine.errors import Rejection
from tests.lab.books import Books
from tests.lab.bundles.namespaces import NamespaceBook
from tests.lab.bundles.splits import Asked, Awaited, ask, needs_topics
from tests.lab.judge import Judge
from tests.lab.recording import Answer
from tests.lab.report import FactKind, Ledger
from tests.lab.settings import compare_change

REFUSALS_NOT_MODELLED: Final = "refusals of requests that are not modelled"


class Requests:
    """Compares statuses; ``asked`` are the split requests so far that could be planned."""

    def __init__(self, judge: Judge, ledger: Ledger, books: Books) -> None:
        self._judge = judge
        self._ledger = ledger
        self._books = books
        self.asked: list[Awaited] = []

    def see(self, answer: Answer) -> bool:
        """True when the status says all there is to compare; False: look at what the answer holds."""
        if is_split(answer):
            self._split(answer)
            return True
        if answer.request.what == "topicHashPositions" and self._positions(answer):
            return True
        if compare_change(answer, self._ledger):
            return True
        if answer.status is not None and answer.status >= 400:
            self._ledger.skip(REFUSALS_NOT_MODELLED)
            return True
        return False

    def _split(self, answer: Answer) -> None:
        request = answer.request
        book = self._books.of(request.namespace)
        before = book.bundles if book.awaited is None else book.awaited.list_after
        if before is None:
            self._ledger.skip("split requests whose bundle list at that moment was not recorded")
            return
        body = answer.body if isinstance(answer.body, list) else []
        asked = Asked(
            request.namespace,
            request.bundle,
            request.query.get("splitAlgorithmName", ""),
            tuple(position for position in body if isinstance(position, int)),
            request.query.get("unload", "") == "true",
            answer.status,
            answer.answered,
        )
        topics = _topics_for(book, request.bundle)
        if needs_topics(asked, self._judge) and not topics and not book.knows_topics_of(request.bundle):
            self._ledger.skip("splits of bundles whose topics were not recorded")
            book.forget_list()
            return
        awaited = ask(asked, self._judge, self._ledger, before, topics)
        if awaited is not None and (book.awaited is None or asked.status is None or asked.status < 400):
            book.all_listed = book.all_listed and (book.awaited is None or book.is_certain)
            book.awaited = awaited
            book.met(before)
        if awaited is not None:
            self.asked.append(awaited)
        if answer.data:
            self._ledger.skip("wording of refusals")

    def _positions(self, answer: Answer) -> bool:
        """Hold a request for hash positions against the model; True when it was, or should have been, refused."""
        if answer.status not in (200, 412):
            return False
        book = self._books.of(answer.request.namespace)
        place = parse_range(answer.request.bundle)
        refused = isinstance(place, Rejection) or (
            book.bundles is not None and not self._books.automatic and book.bundles.validate_bundle(place) is not None
        )
        if not refused and answer.status == 200:
            return False
        subject = f"{book.name}/{answer.request.bundle}"
        rule = "only a current bundle has hash positions"
        wanted = "412" if refused else "200"
        self._ledger.compare(FactKind.REFUSAL_STATUS, subject, str(answer.status), wanted, rule)
        return True


def is_split(answer: Answer) -> bool:
    """Whether a split was asked for."""
    return answer.request.method == "PUT" and answer.request.what == "split"


def _topics_for(book: NamespaceBook, bundle: str) -> list[TopicLoad]:
    """The namespace's topics with the latest rates; inside of ``bundle`` those that the broker listed for it."""
    listed = book.in_bundle.get(bundle)
    place = parse_range(bundle) if listed is not None else None
    chosen: list[TopicLoad] = []
    for name, known in book.topics.items():
        if isinstance(place, BundleRange) and listed is not None and place.includes(known.hash) and name not in listed:
            continue
        chosen.append(book.rates.get(name, replace(known, has_stats=False)))
    return chosen

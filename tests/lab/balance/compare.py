"""A cluster whose load managers split by themselves: what its series and its logs tell, held against the model."""

from __future__ import annotations

from tests.lab.balance.extensible import ExtensibleBalancing
from tests.lab.balance.lists import ListBook, compare_splits
from tests.lab.balance.modular import ModularBalancing
from tests.lab.books import Books
from tests.lab.judge import Judge
from tests.lab.recording import Recording
from tests.lab.report import Ledger


def compare_balancing(recording: Recording, books: Books, judge: Judge, ledger: Ledger) -> None:
    """Cuts of bundles, decisions of whichever load manager ran, hits and averages; nothing without a series.

    Splits that somebody asked for are compared with their requests.
    """
    told = recording.balancing
    if told is None:
        return
    book = ListBook(told.series, ledger)
    if books.automatic and judge.settings.loadBalancerAutoBundleSplitEnabled:
        compare_splits(book, told, judge, ledger)
        if told.series.reports:
            ModularBalancing(told, book, judge, ledger).compare()
        if told.cycles:
            ExtensibleBalancing(told, book, judge, ledger).compare()
    ledger.skip("lines of a series that no decision depends on", told.series.others)
    ledger.step = ledger.file = ""

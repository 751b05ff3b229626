"""A fleet's result folder: its summary, and the lists of what is worst, of findings and of what was set aside.

Needs pyarrow, so it is imported where a result is opened and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Any, Final

from engine.errors import InputError
from engine.views.fleet.runs import ResultFolder, Trend, history_of, trends_of
from engine.views.fleet.summary import FILE_NAME, FleetSummary, read_summary
from tui.sources.fleet_listing import Columns, Listing, whole
from tui.sources.fleet_tables import empty_table, read_table

SUBSCRIPTIONS: Final = "worst_subscriptions"
NAMESPACES: Final = "worst_namespaces"
FINDINGS: Final = "findings"
SET_ASIDE: Final = "quarantine"
BROKERS: Final = "balance_brokers"
SCALABLE: Final = "scale_forecast"
SEARCHED: Final[Mapping[str, tuple[str, ...]]] = {
    SUBSCRIPTIONS: ("cluster", "namespace", "subscription"),
    NAMESPACES: ("cluster", "namespace"),
    FINDINGS: ("rule", "cluster", "namespace", "subscription", "bundle", "topic", "consumer"),
    SET_ASIDE: ("cluster", "file", "place", "reason", "table"),
    BROKERS: ("cluster", "broker", "next_outcome"),
    SCALABLE: ("cluster", "topic", "next", "reason"),
}
"""In which columns of a list a filter looks for parts of names."""
REPEATED: Final = (
    "cluster",
    "namespace",
    "type",
    "policy",
    "verdict",
    "severity",
    "worst_severity",
    "rule",
    "kind",
    "table",
    "file",
)
"""Columns with few different words: read as dictionaries, they cost a fraction."""
FLAG_ON: Final = "flag_on"
"""The rule in force where ``activeConsumerFailoverConsistentHashing`` is true, as the tables name it."""
FLAG_OFF: Final = "flag_off"


class FleetResults:
    """The lists of a folder, read when they are first needed.

    ``summary`` is None where there is none, or none that can be read; ``complaint`` then says why.
    """

    def __init__(self, folder: ResultFolder) -> None:
        self.folder = folder
        self.summary: FleetSummary | None = None
        self.complaint = ""
        self._lists: dict[str, Listing] = {}
        self._warmed: set[str] = set()
        try:
            self.summary = read_summary(folder.document(FILE_NAME), FILE_NAME)
        except FileNotFoundError:
            self.complaint = f"{folder.name} holds no {FILE_NAME}; ringside fleet report makes one"
        except InputError as error:
            self.complaint = str(error)

    @cached_property
    def _history(self) -> list[FleetSummary]:
        """Each run up to this one, by moment; of a folder of this machine, which is quick to read."""
        return history_of(self.folder) if isinstance(self.folder.root, Path) else []

    @property
    def topics_over_runs(self) -> tuple[int, ...]:
        return tuple(summary.totals.topics for summary in self._history)

    @cached_property
    def trends(self) -> Mapping[tuple[str, str], Trend]:
        """How clusters and tenants changed over the runs, by cluster and tenant ("" for the whole cluster)."""
        return {(trend.cluster, trend.tenant): trend for trend in trends_of(self._history)}

    @property
    def name(self) -> str:
        """The folder as people call it, also where it was given as ``.``."""
        root = self.folder.root
        return (root.resolve().name if isinstance(root, Path) else root.name) or str(root)

    def listing(self, name: str) -> Listing:
        """One of the lists, as its job wrote it: the worst first. Raises ``InputError``, which says what is missing."""
        if name not in self._lists:
            table = self._table(name)
            self._lists[name] = whole(Columns(table, SEARCHED[name]))
        return self._lists[name]

    @property
    def has_clusters(self) -> bool:
        """Whether there is more than one cluster, as far as is known."""
        return self.summary is not None and self.summary.totals.clusters > 1

    def listed_flag(self, policy: str | None = None) -> bool | None:
        """The flag of the rule ``policy``, else of the one that the lists are of; None where that is unknown."""
        if policy not in (FLAG_ON, FLAG_OFF):
            policies = self.summary.policies if self.summary is not None else ()
            policy = next((judged.policy for judged in policies if judged.in_force), None)
        return None if policy not in (FLAG_ON, FLAG_OFF) else policy == FLAG_ON

    @property
    def first(self) -> str:
        """The list to begin with: subscriptions, or the first of brokers and scalable topics that has any."""
        return next((name for name in (SUBSCRIPTIONS, BROKERS, SCALABLE) if len(self.listing(name))), SUBSCRIPTIONS)

    def warm(self, name: str) -> None:
        """Compute once, in a daemon thread, what keys on a list will need."""
        if name not in self._warmed:
            self._warmed.add(name)
            Thread(target=self.listing(name).columns.warm, name=f"warm {name}", daemon=True).start()

    def _table(self, name: str) -> Any:
        # The job report may have failed where others did not, or only the brokers were asked for. Its tables are
        # required where the folder has no other result.
        others = (FINDINGS, SET_ASIDE, BROKERS)
        optional = name in (FINDINGS, SET_ASIDE, BROKERS, SCALABLE) or any(self.folder.has(other) for other in others)
        if optional and not self.folder.has(name):
            return empty_table(name)
        return read_table(self.folder, name, repeated=REPEATED)


def read_results(folder: ResultFolder) -> FleetResults:
    """Open a result folder. Raises ``InputError``, which says what is missing and which command makes it."""
    results = FleetResults(folder)
    results.listing(SUBSCRIPTIONS)
    results.listing(NAMESPACES)
    results.listing(SCALABLE)
    return results

"""The lists of a fleet: which columns each has, what its bars show, and which of them fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from themes.palettes import Palette, hex_colour
from tui.kit.wording import BUSIEST, BUSIEST_SHORT, ONE_CLUSTER

HEAT_CELLS: Final = 10
MANY_TIMES: Final = 4.0
"""From this many times the even share on a bar is as hot as can be; 1 is even."""
_NAME_CELLS: Final = 16
_WIDE: Final = 110
_WIDE_NAME: Final = 24
"""The width of names where there are ``_WIDE`` cells or more, before columns of little weight get any."""


@dataclass(frozen=True, slots=True)
class FleetColumn:
    """One column: its name in the table, its heading, its kind and its least width with the gap behind it.

    ``kind``: name, text, word and severity are aligned left; count, times and share are numbers; heat is a bar.
    Of those that do not fit, the ones with the highest ``rank`` are left out. ``about`` says what it is, for the help,
    ``empty`` what is shown where there is no text.
    """

    name: str
    label: str
    kind: str
    width: int
    rank: int
    about: str = ""
    empty: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is sorted by numbers, so that a histogram of it says something."""
        return self.kind in ("count", "times", "share")


@dataclass(frozen=True, slots=True)
class FleetList:
    """One list of the screen. ``heat`` is the column that its bars and colours show, "" for none.

    ``hot``: the number from which it is no longer fine, and the one from which it is as bad as can be.
    ``table`` is its name among the results, ``hint`` what a newcomer reads above it, ``first`` what comes first as the
    result has it, ``filter_example`` a filter that means something here.
    """

    table: str
    title: str
    noun: str
    columns: tuple[FleetColumn, ...]
    heat: str
    hint: str
    first: str = "the worst first"
    opens: bool = True
    order: str = ""
    """The column that the list is sorted by at first, ascending; "" for the order of the result."""
    hot: tuple[float, float] = (1.0, MANY_TIMES)
    filter_example: str = "idle>2"

    @property
    def sortable(self) -> tuple[FleetColumn, ...]:
        """The columns that a list can be sorted by, in their order."""
        return tuple(column for column in self.columns if column.kind != "heat")

    @property
    def labels(self) -> Mapping[str, str]:
        """Column names by their headings, as they are typed into a filter: ``busiest/avg``."""
        return {column.label.replace(" ", "-").replace("÷", "/"): column.name for column in self.sortable}

    def column(self, name: str) -> FleetColumn:
        """A column by its name in the table."""
        return next(column for column in self.columns if column.name == name)

    def having(self, names: Collection[str]) -> FleetList:
        """The list without the columns that a table does not have: those of an earlier release lack some."""
        kept = tuple(column for column in self.columns if column.kind == "heat" or column.name in names)
        return replace(self, columns=kept)


_CLUSTER: Final = FleetColumn("cluster", "cluster", "name", _NAME_CELLS, 1, "its cluster", empty=ONE_CLUSTER)
_BUSIEST: Final = "the most times its even share that a consumer has, of what it reads: 1 is even"
SUBSCRIPTIONS: Final = FleetList(
    "worst_subscriptions",
    "subscriptions",
    "subscription",
    (
        _CLUSTER,
        FleetColumn("namespace", "namespace", "name", _NAME_CELLS, 0),
        FleetColumn("subscription", "subscription", "name", _NAME_CELLS, 0),
        FleetColumn("busiest_over_average", BUSIEST_SHORT, "times", 14, 0, _BUSIEST),
        FleetColumn("heat", "", "heat", HEAT_CELLS + 1, 1),
        FleetColumn("partitions", "parts", "count", 8, 3, "topics and partitions it reads"),
        FleetColumn("consumers", "cons", "count", 7, 2, "connected consumers"),
        FleetColumn("idle", "idle", "count", 7, 2, "consumers that get nothing"),
        FleetColumn("msg_rate_out", "msg/s", "count", 8, 2, "messages per second to its consumers"),
        FleetColumn(
            "spare_msg_rate",
            "spare/s",
            "count",
            8,
            4,
            "messages/s that less busy consumers would get if all were even",
        ),
        FleetColumn("findings", "findings", "count", 10, 5, "what the doctor found"),
        FleetColumn("worst_severity", "worst", "severity", 8, 6, "the worst of it: error, warning or info"),
        FleetColumn(
            "busiest_over_average_rate", "by rate", "times", 10, 7, f"{BUSIEST} by messages instead of partitions"
        ),
        FleetColumn("type", "type", "word", 11, 8, "Failover or Key_Shared"),
        FleetColumn("msg_backlog_entries", "backlog", "count", 10, 9, "entries not yet acknowledged"),
        FleetColumn("policy", "rule", "word", 12, 10, "the rule that the numbers are of"),
        FleetColumn("lists", "lists", "count", 7, 10, "different lists of consumers that its topics have"),
        FleetColumn("moved", "moved", "count", 8, 11, "partitions that go to another consumer"),
        FleetColumn("least_moved", "least", "count", 8, 12, "the fewest moves to these loads"),
    ),
    "busiest_over_average",
    "Worst first. busiest÷avg: the busiest consumer over the average; 1 is even.",
)
NAMESPACES: Final = FleetList(
    "worst_namespaces",
    "namespaces",
    "namespace",
    (
        _CLUSTER,
        FleetColumn("namespace", "namespace", "name", _NAME_CELLS, 0),
        FleetColumn(
            "worst_busiest_over_average", BUSIEST_SHORT, "times", 14, 0, f"of its worst subscription {_BUSIEST}"
        ),
        FleetColumn("heat", "", "heat", HEAT_CELLS + 1, 1),
        FleetColumn("topics", "topics", "count", 9, 2, "topics and partitions"),
        FleetColumn("subscriptions", "subs", "count", 7, 3, "subscriptions"),
        FleetColumn("idle", "idle", "count", 7, 4, "consumers that get nothing"),
        FleetColumn("msg_rate_out", "out/s", "count", 8, 5, "messages per second to consumers"),
        FleetColumn("bundles", "bundles", "count", 10, 6, "bundles"),
        FleetColumn("bundles_to_split", "split", "count", 8, 6, "bundles that the load manager would split"),
        FleetColumn("findings", "findings", "count", 10, 7, "what the doctor found"),
        FleetColumn("worst_severity", "worst", "severity", 8, 8, "the worst of it: error, warning or info"),
        FleetColumn("worst_subscription", "worst subscription", "name", 20, 9, "the subscription of that number"),
        FleetColumn("msg_rate_in", "in/s", "count", 7, 10, "messages per second from producers"),
        FleetColumn("backlog_size_bytes", "backlog", "count", 10, 11, "bytes not yet acknowledged"),
    ),
    "worst_busiest_over_average",
    "Worst first, by the most uneven subscription of each. enter opens all of one.",
)
FINDINGS: Final = FleetList(
    "findings",
    "findings",
    "finding",
    (
        FleetColumn("severity_level", "severity", "severity", 11, 0, "error, warning or info"),
        FleetColumn("rule", "rule", "name", 26, 1, "the rule of the doctor that found it"),
        _CLUSTER,
        FleetColumn("namespace", "namespace", "name", _NAME_CELLS, 0),
        FleetColumn("subscription", "subscription", "name", _NAME_CELLS, 0),
        FleetColumn("topics", "topics", "count", 9, 3, "how many topics it concerns"),
        FleetColumn("what", "what", "text", 40, 4),
    ),
    "",
    "What the doctor found, worst first; below in full, with what to change.",
    filter_example="topics>1",
)
SET_ASIDE: Final = FleetList(
    "quarantine",
    "set aside",
    "entry",
    (
        _CLUSTER,
        FleetColumn("kind", "kind", "word", 12, 0, "bad, superseded by a better answer, contested, or a mere note"),
        FleetColumn("table", "table", "word", 15, 2, "the table whose records are missing"),
        FleetColumn("rows", "records", "count", 10, 0, "how many were set aside"),
        FleetColumn("file", "file", "name", _NAME_CELLS, 0, "the file"),
        FleetColumn("reason", "reason", "text", 20, 0, "what was wrong"),
        FleetColumn("place", "place", "name", _NAME_CELLS, 4, "where in the file"),
        FleetColumn("job", "job", "word", 8, 5, "the job that set it aside"),
    ),
    "",
    "bad: could not be used; superseded: a newer answer about the same replaced it, which is no problem.",
    first="bad ones first",
    order="kind",
    opens=False,
    filter_example="kind=bad",
)
BROKERS: Final = FleetList(
    "balance_brokers",
    "brokers",
    "broker",
    (
        FleetColumn("cluster", "cluster", "name", _NAME_CELLS, 1, "the folder of its answers", empty=ONE_CLUSTER),
        FleetColumn("broker", "broker", "name", _NAME_CELLS, 0),
        FleetColumn("usage", "usage", "share", 9, 0, "weighted usage, as placement and shedding see it"),
        FleetColumn("heat", "", "heat", HEAT_CELLS + 1, 2),
        FleetColumn("next_unloads", "leaving", "count", 9, 1, "bundles that the next cycle unloads from it"),
        FleetColumn("next_outcome", "next cycle", "word", 21, 3, "what the next cycle does with it, and why"),
        FleetColumn("loops", "loops", "count", 8, 2, "bundles that come back to it in the forecast"),
        FleetColumn("unloads", "unloads", "count", 10, 4, "bundles unloaded from it in all cycles"),
        FleetColumn("gained", "gains", "count", 8, 5, "bundles that it gets in all cycles"),
        FleetColumn("usage_after", "after", "share", 8, 4, "its usage after the last cycle"),
        FleetColumn("bundles", "bundles", "count", 10, 6, "bundles as reported"),
        FleetColumn("fullest", "by", "word", 14, 7, "the resource that makes its usage"),
        FleetColumn("topics", "topics", "count", 9, 8, "topics as reported"),
        FleetColumn("msg_rate", "msg/s", "count", 8, 8, "messages per second, in and out"),
        FleetColumn("topics_interrupted", "interrupted", "count", 13, 9, "topics that its unloads interrupt"),
        FleetColumn("shedder", "shedder", "word", 19, 10, "the shedder of its cluster"),
    ),
    "usage",
    "Fullest first, by reported usage. enter opens the brokers of its cluster.",
    first="the fullest first",
    hot=(0.5, 1.0),
    filter_example="next>0",
)
SCALABLE: Final = FleetList(
    "scale_forecast",
    "scalable",
    "scalable topic",
    (
        _CLUSTER,
        FleetColumn("namespace", "namespace", "name", _NAME_CELLS, 5),
        FleetColumn("topic", "topic", "name", _NAME_CELLS, 0),
        FleetColumn("score", "score", "times", 8, 0, "the greatest rate over its split limit: above 1 it is split"),
        FleetColumn("heat", "", "heat", HEAT_CELLS + 1, 2),
        FleetColumn("blocked", "blocked", "count", 9, 0, "segments that wait for an older one"),
        FleetColumn("stuck", "stuck", "count", 7, 4, "segments in a hand-over that never ends"),
        FleetColumn("unattached", "unread", "count", 8, 4, "segments that are dealt and that nobody reads"),
        FleetColumn("idle", "idle", "count", 7, 1, "connected consumers without a segment"),
        FleetColumn("consumers", "cons", "count", 7, 3, "consumers of all subscriptions"),
        FleetColumn("segments", "segs", "count", 7, 3, "active segments"),
        FleetColumn("backlog", "backlog", "count", 10, 6, "messages not yet acknowledged"),
        FleetColumn("next", "next", "word", 9, 2, "what the next evaluation does"),
        FleetColumn("reason", "reason", "word", 22, 7, "why, in Pulsar's word"),
        FleetColumn("flaps", "flaps/h", "count", 9, 8, "splits, merges and rebuckets within an hour"),
        FleetColumn("sealed", "sealed", "count", 8, 9, "sealed segments that are still listed"),
    ),
    "score",
    "Worst first: hand-overs that never end, segments that nobody reads, that wait. enter opens one.",
    hot=(0.8, 1.2),
    filter_example="blocked>0",
)
LISTS: Final = (SUBSCRIPTIONS, NAMESPACES, FINDINGS, SET_ASIDE, BROKERS, SCALABLE)


def tabs_of(shown: FleetList, listed: Mapping[str, int]) -> list[int]:
    """The places in ``LISTS`` of those that have a tab: an empty list of scalable topics only while it is shown."""
    hidden = SCALABLE if not listed.get(SCALABLE.table) and shown.table != SCALABLE.table else None
    return [at for at, fleet_list in enumerate(LISTS) if fleet_list is not hidden]


@dataclass(frozen=True, slots=True)
class Placed:
    """A column with the width it got, a gap at its end included."""

    column: FleetColumn
    width: int


def placed(columns: Sequence[FleetColumn], width: int, sorted_by: str = "") -> tuple[Placed, ...]:
    """The columns that fit, in their order, always with the one that is sorted by; what is left over goes to the names.

    >>> [shown.column.label for shown in placed(SUBSCRIPTIONS.columns, 50)]
    ['namespace', 'subscription', 'busiest÷avg']
    >>> [shown.column.label for shown in placed(SUBSCRIPTIONS.columns, 56, "msg_backlog_entries")]
    ['namespace', 'subscription', 'busiest÷avg', 'backlog']
    """
    kept = [
        replace(column, width=_WIDE_NAME) if column.kind == "name" and width >= _WIDE else column for column in columns
    ]
    ranks = {column.name: -1 if column.name == sorted_by else column.rank for column in columns}
    while len(kept) > 1 and sum(column.width for column in kept) > width:
        kept.remove(max(kept, key=lambda column: (ranks[column.name], column.width)))
    wide = [column for column in kept if column.kind == "text"] or [column for column in kept if column.kind == "name"]
    spare = max(0, width - sum(column.width for column in kept))
    extra, first = divmod(spare, len(wide)) if wide else (0, 0)
    return tuple(
        Placed(column, column.width + (extra + (first if column is wide[0] else 0) if column in wide else 0))
        for column in kept
    )


def severity_style(severity: str | None, colours: Palette) -> str:
    """The colour of a severity, "" for an unknown one."""
    known = {"error": colours.bad, "warning": colours.warn, "info": colours.accent}
    return hex_colour(known[severity]) if severity in known else ""

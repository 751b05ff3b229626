"""The options of each job, each declared once: what the job knows, and what the command line offers with its help.

Imports nothing but the standard library, so that help is there at once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

CLUSTERS: Final = "clusters"
"""A grouping, or folders with the names of their clusters."""
MAX_INPUT: Final = "max-input"
ALLOW_EMPTY: Final = "allow-empty"
KEEP: Final = "keep"
BACKFILL: Final = "backfill"
ONCE: Final = "once"
EVERY: Final = "every"
EVERY_S: Final = 10
RUN: Final = "run"
IN_RUN: Final = ("import", "assign", "keys", "bundles", "lint", "balance", "scalable", "report")
"""The jobs of ``run``, in their order."""


class Option(NamedTuple):
    """``jobs`` take it; those of ``run`` are offered by that command, too. Without a ``metavar`` it is a flag."""

    name: str
    jobs: str
    metavar: str
    about: str
    is_repeated: bool = False

    @property
    def is_offered_by_run(self) -> bool:
        return RUN in self.jobs.split()


_REPORTED: Final = "[default: as reported or inferred, for each cluster]"
OPTIONS: Final = (
    Option(
        CLUSTERS, "import balance watch run", "HOW",
        "Which folders are which cluster: by-bundles, folders, one, FOLDER=NAME with commas, or a .csv file with the "
        "columns folder,cluster.  [default: by-bundles; watch: one]",
    ),
    Option(MAX_INPUT, "import balance watch run", "SIZE", "Read so much of a file at most, unpacked.  [default: 2GB]"),
    Option(
        ALLOW_EMPTY, "import run", "", "Make an empty result where IN has no usable record; else keep the earlier."
    ),
    Option(
        BACKFILL, RUN, "", "Add the run of an older state: the latest run remains the one that is opened."
    ),
    Option(KEEP, "watch run", "N", "Keep the newest N runs in OUT.  [default: all; watch: 2]"),
    Option("policies", "assign", "NAMES", "Under flag_off, flag_on or all.  [default: all]"),
    Option("add", "assign run", "NAME", "What if this consumer joined? May be repeated.", is_repeated=True),
    Option("kill", "assign run", "NAME", "What if this consumer left? May be repeated.", is_repeated=True),
    Option("consumers-from", "assign run", "FILE", "What if these were the consumers (CSV or JSON)?"),
    Option("consumers-from", "keys", "FILE", "The consumers of subscriptions (CSV or JSON)."),
    Option("consumers", "keys", "NAMES", "The consumers of every subscription: a number, or names with commas."),
    Option("tables", "keys", "FOLDER", "Take consumers from this import.  [default: from OUT]"),
    Option("modes", "keys", "NAMES", "auto_split, consistent_auto_split, sticky or all.  [default: all]"),
    Option("top", "keys", "N", "So many hot keys of each subscription.  [default: 20]"),
    Option("top", "report", "N", "So many rows of each kind in the summary.  [default: 20]"),
    Option("flag", "assign watch", "BOOLEAN", f"activeConsumerFailoverConsistentHashing.  {_REPORTED}"),
    Option("pulsar", "assign keys bundles lint balance watch run", "RELEASE", f"Judge by this release.  {_REPORTED}"),
    Option("listed", "bundles", "BOOLEAN", "Whether topics count that are listed and not loaded.  [default: true]"),
    Option("load-manager", "lint", "NAME", "modular, simple or extensible.  [default: as reported]"),
    Option("cycles", "balance", "N", "Forecast so many cycles of shedding.  [default: 20]"),
    Option("shedder", "balance", "NAME", "What if this were the strategy of shedding?"),
    Option("placement", "balance", "NAME", "What if this were the strategy of placement?"),
    Option("seed", "balance", "N", "Of the draws of destinations.  [default: 0]"),
    Option(EVERY, "watch", "SECONDS", f"Look for new answers so often, until stopped.  [default: {EVERY_S}]"),
    Option(ONCE, "watch", "", "Read what is there now, and end."),
)  # fmt: skip


def options_of(job: str) -> tuple[Option, ...]:
    """The options of a job; of ``run`` those that it offers for its jobs."""
    return tuple(option for option in OPTIONS if job in option.jobs.split())


def names_of(job: str) -> tuple[str, ...]:
    """The names of the options that a job takes itself: what ``run`` offers for one of its jobs is not its own."""
    return tuple(option.name for option in options_of(job) if job != RUN or not job_of(option))


def job_of(option: Option) -> str:
    """The job that an option of ``run`` is for; "" for what is for ``run`` itself, or for all that take it.

    >>> job_of(next(option for option in OPTIONS if option.name == "add"))
    'assign'
    """
    first, *_ = option.jobs.split()
    return "" if option.name in (CLUSTERS, KEEP, BACKFILL, "pulsar") else first

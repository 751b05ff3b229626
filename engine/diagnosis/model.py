"""Diagnoses of subscriptions: causes with verdict and numbers, reasons against other causes, the worst of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from engine.answer import about
from engine.diagnosis.limits import Setting
from engine.diagnosis.release import ASSUMED, JudgedRelease, ReleaseSeen
from engine.diagnosis.seen import parent_of
from engine.releases import Release
from engine.text import joined, natural_key

if TYPE_CHECKING:
    from engine.diagnosis.seen import Dispatcher, SubscriptionSeen

Value = int | float | str | tuple[tuple[int, int], ...]
Numbers = tuple[tuple[str, Value], ...]
TWO_READINGS: Final = "stats and stats-internal of the topic, twice, some seconds apart, and the log of its broker"
"""What a report of a fault needs at least."""


class Verdict(Enum):
    """The effect of a cause on a subscription, the worst first."""

    BLOCKS = "blocks"
    SLOWS = "slows"
    UNEVEN = "uneven"
    CANNOT_TELL = "cannot_tell"
    BY_DESIGN = "by_design"
    FINE = "fine"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANKS[self]

    @property
    def harms(self) -> bool:
        """Whether somebody has to act."""
        return self in (Verdict.BLOCKS, Verdict.SLOWS, Verdict.UNEVEN)


_RANKS: Final = {verdict: rank for rank, verdict in enumerate(Verdict)}


class KnownBug(Struct, frozen=True):
    """One fault. ``causes`` and ``symptoms`` are those of a cause ("" in ``symptoms``: also without one), and ``fits``
    looks at its dispatcher. ``since``: the first release that is known to have it, None where nothing says so.
    ``mended``: the first releases without it, one a line, () where none is known.
    """

    issue: Annotated[str, about("Its number at apache/pulsar.")]
    what: Annotated[str, about("What happens.")]
    causes: frozenset[str]
    types: frozenset[str]
    mended: tuple[Release, ...] = ()
    since: Release | None = None
    symptoms: frozenset[str] = frozenset({""})
    fits: Callable[[Dispatcher], bool] | None = None
    attach: Annotated[str, about("What a report of it needs.")] = TWO_READINGS

    def affects(self, release: Release) -> bool:
        """Whether a release has it."""
        return (self.since is None or release >= self.since) and not (self.mended and release.has(*self.mended))

    @property
    def mended_in(
        self,
    ) -> Annotated[tuple[str, ...], about("The first releases without it, one a line; empty where none is known.")]:
        return tuple(map(str, self.mended))

    @property
    def text(self) -> str:
        """What is said of it: what happens, and which releases do not have it."""
        mended = f"mended in {joined(self.mended_in)}" if self.mended else "no release is known to mend it"
        return f"{self.issue}: {self.what}; {mended}"


def _by_name(numbers: Numbers) -> Mapping[str, Value]:
    return dict(numbers)


def _name(setting: Setting | None) -> str | None:
    return None if setting is None else setting.name


class Cause(Struct, frozen=True):
    """One named cause, in a sentence without a full stop.

    ``symptom`` is what a table of known faults of releases calls it, "" where no such fault looks like it.
    """

    id: Annotated[str, about("Its name; the same in every release of Ringside.")]
    verdict: Annotated[Verdict, about("What it does, the worst first; the last two harm nobody.")]
    what: Annotated[str, about("A sentence.")]
    topic: Annotated[
        str,
        about(
            "Full name of the topic or partition where it is worst; empty for a cause of the subscription as a whole."
        ),
    ] = ""
    topics: Annotated[int, about("On how many topics and partitions it was found.", 1)] = 1
    blocked: Annotated[tuple[str, ...], about("Consumers that get nothing because of it.")] = ()
    by: Annotated[tuple[str, ...], about("Consumers that make it so.")] = ()
    waiting: Annotated[int, about("Messages that wait for it, on all those topics.")] = 0
    numbers: Annotated[
        Numbers,
        about("What it was read from, by name; times in ms and sizes in bytes where the name says so.", form=_by_name),
    ] = ()
    setting: Annotated[Setting | None, about("The setting that rules it.", form=_name)] = None
    fix: Annotated[str, about("What to do; command lines in it are quoted for a shell.")] = ""
    fields: Annotated[tuple[str, ...], about("Members of the answers that it was read from.")] = ()
    symptom: str = ""
    looks_like: Annotated[
        tuple[KnownBug, ...],
        about("Publicly reported faults of Pulsar that it looks like, of releases that the brokers can have."),
    ] = ()

    @property
    def setting_in_force(self) -> Annotated[Setting | None, about("What is known of that setting.")]:
        return self.setting

    def number(self, name: str) -> Value:
        """Return one of ``numbers`` by its name, which must exist."""
        return dict(self.numbers)[name]


def in_order_of_verdict(causes: Iterable[Cause]) -> list[Cause]:
    """Sort causes, the worst first, without fine ones if another does harm or something waits and none can tell why."""
    ordered = list(causes)
    harmed = any(
        cause.verdict.harms or (cause.verdict is Verdict.CANNOT_TELL and cause.waiting > 0) for cause in ordered
    )
    return sorted(
        (cause for cause in ordered if not harmed or cause.verdict is not Verdict.FINE),
        key=lambda cause: cause.verdict.rank,
    )


class RuledOut(Struct, frozen=True):
    """A cause that the answers contradict, and how."""

    id: Annotated[str, about("Its name.")]
    why: Annotated[str, about("How it was ruled out.")]


Judgement = Cause | str
"""A cause, or a few words why it does not apply."""


class Decider(Struct, frozen=True):
    """The test for one cause. ``types`` are the subscription types that can have it, as Pulsar writes them.

    ``also_quiet``: whether it is possible where nothing waits and no consumer is stopped. ``of_some``: whether some of
    the consumers prove it, whatever the others do.
    """

    id: str
    about: str
    types: frozenset[str]
    decide: Callable[[SubscriptionSeen], Judgement]
    also_quiet: bool = False
    of_some: bool = False


Rank = tuple[int, int, str, str]
"""Sorts the worst first: by verdict, then by the number of waiting messages, then by name."""


def rank_of(first: Cause | None, backlog: int, namespace: str, subscription: str) -> Rank:
    """Return the rank of a subscription by its first cause, if any."""
    rank = Verdict.FINE.rank if first is None else first.verdict.rank
    return rank, -max(backlog, first.waiting if first else 0), namespace, subscription


class Earlier(Struct, frozen=True):
    """What was wrong at the latest moment at which something was, where nothing is at the last one; else null."""

    moment: Annotated[int, about("Which moment, counted from 1.", 1)]
    at_ms: Annotated[int | None, about("When that was, in epoch milliseconds; null where nothing says it.")]
    cause: Annotated[Cause, about("The cause.")]


def _summary(release: ReleaseSeen) -> JudgedRelease:
    return release.summary


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The causes of one subscription, the most important first."""

    namespace: Annotated[str, about("Tenant and namespace.")]
    subscription: Annotated[str, about("Name of the subscription.")]
    type: Annotated[
        str, about("Its type; None where nobody has connected since the topic was loaded, unknown of metrics alone.")
    ]
    topic: Annotated[
        str,
        about(
            "Full name of the topic where the first cause is worst, without the suffix of a partition.", form=parent_of
        ),
    ]
    topics: Annotated[int, about("Its topics and partitions.", 1)]
    moments: Annotated[int, about("At how many moments the cluster was looked at.", 1)]
    backlog: Annotated[
        int | None, about("Entries that are not acknowledged, on all of them; null where the answers lack it.")
    ]
    causes: Annotated[tuple[Cause, ...], about("What was found; the first one is the answer.")] = ()
    ruled_out: Annotated[tuple[RuledOut, ...], about("Causes that the answers speak against.")] = field(
        default=(), repr=False
    )
    earlier: Annotated[Earlier | None, about("What was mended, or went by.")] = None
    release: Annotated[ReleaseSeen, about("The release by whose rules it was judged.", form=_summary)] = ASSUMED

    @property
    def first(self) -> Cause | None:
        """The most important cause, if any."""
        return self.causes[0] if self.causes else None

    @property
    def said(self) -> tuple[Cause, ...]:
        """The causes in the order in which they are said: first the harm of an earlier moment that is gone now."""
        return self.causes if self.earlier is None else (self.earlier.cause, *self.causes)

    @property
    def harms(self) -> bool:
        """Whether somebody has to act now."""
        return self.first is not None and self.first.verdict.harms

    @property
    def is_settled(self) -> bool:
        """Whether everything is fine or as it is meant to be."""
        return self.first is None or self.first.verdict in (Verdict.BY_DESIGN, Verdict.FINE)

    @property
    def blocks(self) -> bool:
        return any(cause.verdict is Verdict.BLOCKS for cause in self.causes)

    @property
    def rank(self) -> Rank:
        """Sorts the worst first."""
        return rank_of(self.first, self.backlog or 0, self.namespace, self.subscription)


def worst_first(diagnoses: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Sort diagnoses, the worst first."""
    return sorted(diagnoses, key=lambda diagnosis: diagnosis.rank)


def worst_of(
    seen: SubscriptionSeen, decide: Callable[[Dispatcher], Judgement], *, also_quiet: bool = False
) -> Judgement:
    """Judge each dispatcher; return the worst cause with all consumers that are blocked or block anywhere.

    If no dispatcher has the cause, the reason is that of the one with the largest backlog. Only busy dispatchers are
    judged unless ``also_quiet``: of many topics most are quiet.
    """
    judged = map(decide, seen.dispatchers if also_quiet else seen.busy)
    causes = [judgement for judgement in judged if isinstance(judgement, Cause)]
    if not causes:
        reason = decide(seen.largest)
        # Of a quiet dispatcher only the reason counts, or ``worst`` would have to judge all of them.
        return reason if isinstance(reason, str) else "nothing waits, and no consumer is stopped"
    worst = min(causes, key=lambda cause: (cause.verdict.rank, -cause.waiting))
    same = [cause for cause in causes if cause.verdict is worst.verdict]
    return replace(
        worst,
        topics=len(same),
        blocked=union(cause.blocked for cause in same),
        by=union(cause.by for cause in same),
        waiting=sum(cause.waiting for cause in same),
    )


def union(groups: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return all names once, in natural order: ``node-2`` before ``node-10``."""
    return natural({name for names in groups for name in names})


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """Sort names so that numbers in them count as numbers.

    >>> natural(["node-10", "node-2"])
    ('node-2', 'node-10')
    """
    return tuple(sorted(names, key=natural_key))

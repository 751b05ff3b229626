"""The release by whose rules a subscription is judged, and how it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct

from engine.admin.facts import Snapshot
from engine.admin.inference import Basis
from engine.answer import about
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of, release_of
from engine.errors import Rejection
from engine.releases import Release

if TYPE_CHECKING:  # imported where no answer names the release
    from engine.admin.inferred_release import InferredRelease


class JudgedRelease(Struct, frozen=True):
    rules: Annotated[str, about("The release whose rules are taken: a version or a line.")]
    basis: Annotated[
        Basis,
        about("Whether an answer or --pulsar named it, the shapes of the answers show it, or nothing does."),
    ]
    shown: Annotated[
        str | None, about("The range of releases that the answers show, and by what; null unless it is inferred.")
    ]


class ReleaseSeen(Struct, frozen=True):
    """A release as reported, as inferred from the shapes of answers, or assumed because nothing shows it."""

    behaviour: ReleaseBehaviour
    basis: Basis
    inferred: InferredRelease | None = None

    @property
    def text(self) -> str:
        """How it is known where no answer names it, "" where one does."""
        if self.basis is Basis.REPORTED:
            return ""
        shown = "" if self.inferred is None else f"; by its answers {self.inferred.text}"
        return f"no answer has the release{shown}: judged by the rules of Pulsar {self.behaviour.label}"

    def may_be(self, affected: Callable[[Release], bool]) -> bool:
        """Whether the brokers can be of releases that are affected by something; False where nothing shows theirs."""
        if self.inferred is not None:
            return self.inferred.may_be(affected)
        release = release_of(self.behaviour.label)
        return self.basis is Basis.REPORTED and not isinstance(release, Rejection) and affected(release)

    @property
    def summary(self) -> JudgedRelease:
        """The release as a part of a document."""
        return JudgedRelease(self.behaviour.label, self.basis, None if self.inferred is None else self.inferred.text)


ASSUMED: Final = ReleaseSeen(CURRENT, Basis.ASSUMED)


def release_seen(snapshots: Sequence[Snapshot]) -> ReleaseSeen:
    """The release that the last answer with one names, else the one that the answers show."""
    version = next((snapshot.version for snapshot in reversed(snapshots) if snapshot.version), None)
    if version is not None:
        known = behaviour_of(version)
        return ASSUMED if isinstance(known, Rejection) else ReleaseSeen(known, Basis.REPORTED)
    from engine.admin.inferred_release import inferred_release

    inferred = inferred_release(snapshots)
    return ASSUMED if inferred is None else ReleaseSeen(inferred.behaviour, Basis.INFERRED, inferred)

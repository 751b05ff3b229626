"""What the line above the panels says at the moment: a refusal, a caption, a notice, or what to try next."""

from __future__ import annotations

from typing import Protocol

from engine.diagnosis.model import Cause, Earlier, Verdict
from engine.errors import Rejection
from engine.text import counted
from engine.views.failover.model import Notice
from tui.kit.playing import Stage
from tui.kit.reported import earlier_text
from tui.kit.store import Store
from tui.kit.wording import not_saved, safe_name

Sentence = tuple[str, str]
"""Its kind, a key of the signs of the line, and its text."""


class Status(Protocol):
    """What sentences need of a status."""

    @property
    def step(self) -> int: ...


class Noticed(Protocol):
    """What sentences need of a view."""

    @property
    def status(self) -> Status: ...
    @property
    def notices(self) -> tuple[Notice, ...]: ...


class Subject(Protocol):
    """The screen: its view, and what it says about it."""

    @property
    def now(self) -> Noticed: ...
    def hint(self) -> str: ...
    def hint_with(self, notice: str) -> str: ...


class Sentences:
    """Chooses the sentence; keeps the last refusal and the notice that the last step brought up."""

    def __init__(self, subject: Subject, store: Store, stage: Stage, *, repeats_notices: bool) -> None:
        """``repeats_notices``: whether a notice counts as new when only its text changed."""
        self._subject = subject
        self._store = store
        self._stage = stage
        self._repeats_notices = repeats_notices
        self._complaint = ""
        self._fresh_notice = ""

    def complain(self, rejection: Rejection | str | None) -> None:
        """Keep a refusal; None takes the last one back."""
        self._complaint = "" if rejection is None else str(rejection)

    def compare(self, before: Noticed | None, view: Noticed) -> None:
        """Keep the first notice that the view before did not have; nothing where there was no view before."""
        self._fresh_notice = "" if before is None else self._brought_up(before, view)

    def _brought_up(self, before: Noticed, view: Noticed) -> str:
        codes = {notice.code for notice in before.notices}
        for notice in view.notices:
            if notice not in before.notices if self._repeats_notices else notice.code not in codes:
                return notice.text
        return ""

    @property
    def current(self) -> Sentence:
        """A refusal first, then a script's caption, then a notice that the last step brought up, else the hint.

        A caption is about the state that the script left: after a step of the user the hint is about that step.
        """
        store, stage = self._store, self._stage
        if self._complaint:
            return "refusal", self._complaint
        if store.computing.what:
            return "computing", f"computing {safe_name(store.computing.what)} …; escape cancels"
        if not_saved(store.saved):
            return "refusal", store.saved
        if stage.caption and stage.captioned is store.timeline:
            failed = stage.failed_expectations
            return "caption", stage.caption + (f" ({counted(failed, 'expectation')} failed)" if failed else "")
        if self._fresh_notice:
            return "notice", self._subject.hint_with(self._fresh_notice)
        view = self._subject.now
        trouble = store.reported_trouble() if view.status.step == 0 else None
        if trouble is not None:
            return "notice", _said(*trouble, store.moment[0])
        more = f" (i: {counted(len(view.notices), 'notice')})" if view.notices else ""
        return "hint", self._subject.hint() + more


def _said(cause: Cause, earlier: Earlier | None, moments: int) -> str:
    effect = "blocked" if cause.verdict is Verdict.BLOCKS else "slow"
    when = "" if earlier is None else f" {earlier_text(earlier, moments)}"
    return f"reported as {effect}{when}: {safe_name(cause.what)} (w: why)"

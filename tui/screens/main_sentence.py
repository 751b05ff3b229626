"""What is said in the line above the panels."""

from __future__ import annotations

from engine.errors import Rejection
from engine.views.model import DashboardView
from tui.hints import hint, with_notice
from tui.screens.main_slices import MainSlices
from tui.wording import counted, not_saved


class MainSentence(MainSlices):
    """A refusal goes before a caption, a caption before a hint."""

    caption = ""
    fresh_notice = ""
    """A notice that the last step brought up."""
    _complaint = ""

    def sentence_for(self, view: DashboardView) -> tuple[str, str]:
        """A refusal first, then a script's caption, a notice that just came up, else what happened and what to try."""
        if self._complaint:
            return "refusal", self._complaint
        if not_saved(self.store.saved):
            return "refusal", self.store.saved
        if self.caption:
            failed = self.failed_expectations
            return "caption", self.caption + (f" ({counted(failed, 'expectation')} failed)" if failed else "")
        if self.fresh_notice:
            return "notice", with_notice(view, self.fresh_notice)
        noted = f" (i: {counted(len(view.notices), 'notice')})" if view.notices else ""
        return "hint", hint(view) + noted

    def complain(self, rejection: Rejection | str | None) -> None:
        """Show a refusal; None takes the last one back."""
        self._complaint = "" if rejection is None else str(rejection)
        self.sentence = self.sentence_for(self.store.view)

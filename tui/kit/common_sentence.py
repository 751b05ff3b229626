"""What is said in the line above the panels."""

from __future__ import annotations

from engine.errors import Rejection
from tui.kit.common_slices import CommonSlices
from tui.kit.wording import counted, not_saved


class CommonSentence(CommonSlices):
    """A refusal goes before a caption, a caption before a hint."""

    fresh_notice = ""
    """A notice that the last step brought up."""
    _complaint = ""

    def hint(self) -> str:
        """What happened or is to be seen, and what to try next."""
        raise NotImplementedError

    def hint_with(self, notice: str) -> str:
        """What the last step did, and a notice that it brought up."""
        raise NotImplementedError

    def sentence_now(self) -> tuple[str, str]:
        """A refusal first, then a script's caption, a notice that just came up, else what happened and what to try.

        A caption is about the state that the script made: after somebody's own step the hint is about that one.
        """
        if self._complaint:
            return "refusal", self._complaint
        if not_saved(self.store.saved):
            return "refusal", self.store.saved
        if self.stage.caption and self.stage.told_at is self.store.timeline:
            failed = self.failed_expectations
            told = f" ({counted(failed, 'expectation')} failed)" if failed else ""
            return "caption", self.stage.caption + told
        if self.fresh_notice:
            return "notice", self.hint_with(self.fresh_notice)
        notices = self.now.notices
        noted = f" (i: {counted(len(notices), 'notice')})" if notices else ""
        return "hint", self.hint() + noted

    def complain(self, rejection: Rejection | str | None) -> None:
        """Show a refusal; None takes the last one back."""
        self._complaint = "" if rejection is None else str(rejection)
        self.sentence = self.sentence_now()

    def done(self, refused: Rejection | None) -> Rejection | None:
        """What was accepted takes the last refusal back; a new one is left to whoever asked."""
        if refused is None:
            self.complain(None)
        return refused

"""Words for diagnoses, the same on the screen and in text."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.model import Earlier, Setting, Verdict
from tui.kit.reported_words import moment_text
from tui.kit.wording import safe_name

_WORDS: Final = {Verdict.CANNOT_TELL: "cannot tell", Verdict.BY_DESIGN: "by design"}
SIGNS: Final = {
    Verdict.BLOCKS: "!",
    Verdict.SLOWS: "~",
    Verdict.UNEVEN: "±",
    Verdict.CANNOT_TELL: "?",
    Verdict.BY_DESIGN: " ",
    Verdict.FINE: " ",
}
"""Colour is never the only carrier."""


def verdict_word(verdict: Verdict) -> str:
    """A verdict for people."""
    return _WORDS.get(verdict, verdict.value)


def setting_text(setting: Setting) -> str:
    """A setting with its value, who says it, and its default.

    >>> setting_text(Setting("keepAliveIntervalSeconds", None, 30))
    'keepAliveIntervalSeconds (default 30)'
    """
    value = "" if setting.value is None else f" = {setting.value}"
    about = [setting.source] if setting.value is not None and setting.source else []
    about += [f"default {setting.default}"] if setting.default is not None else []
    return f"{setting.name}{value}" + (f" ({', '.join(about)})" if about else "")


def earlier_text(earlier: Earlier, moments: int) -> str:
    """What was wrong at an earlier moment and is no more."""
    at = f" ({moment_text(earlier.at_ms)})" if earlier.at_ms is not None else ""
    word = verdict_word(earlier.cause.verdict)
    what = safe_name(f"{word}: {earlier.cause.what} ({earlier.cause.id})")
    return f"earlier, at moment {earlier.moment:,} of {moments:,}{at}: {what}; at the last moment no more"

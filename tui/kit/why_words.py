"""Words for diagnoses, the same on the screen and in text."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.model import Setting, Verdict

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

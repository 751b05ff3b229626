"""English for verdicts: one word first, then what becomes of the shares and what moves; and the colour of the word."""

from __future__ import annotations

from engine.compare.evenness import Evenness
from engine.compare.verdict import Judgement, Verdict
from engine.text import counted
from themes.palettes import Palette, Rgb
from tui.kit.wording import bytes_per_sec, msgs_per_sec


def shares_text(verdict: Verdict) -> str:
    """How uneven it was and is, by what was judged; idle consumers where their number changes.

    >>> from engine.compare.evenness import evenness_of
    >>> import numpy as np
    >>> even, two = (evenness_of(np.array(each), np.zeros(3), 6) for each in ([2, 2, 2], [4, 2, 0]))
    >>> shares_text(Verdict("worse", "items", even, two, 2, 2, 6, 0.0, 0.0, 0))
    'max/mean 1.00 → 2.00, 0 → 1 idle'
    """
    before, after = verdict.before, verdict.after
    if verdict.judged_by == "nobody":
        return f"{before.items - before.owned:,} → {after.items - after.owned:,} without a consumer"
    if before.consumers == after.consumers:
        told = f"max/mean {before.max_over_mean:.2f} → {after.max_over_mean:.2f}"
        if verdict.judged_by == "messages":
            told += f", by messages {before.max_over_mean_rate:.2f} → {after.max_over_mean_rate:.2f}"
    else:
        # The mean changes with the number of consumers, so the busiest one itself is what can be compared.
        by = " by messages" if verdict.judged_by == "messages" else ""
        told = f"busiest{by} {_most(verdict, before)} → {_most(verdict, after)}"
    idle = f", {before.idle:,} → {after.idle:,} idle" if before.idle != after.idle else ""
    return told + idle


def _most(verdict: Verdict, side: Evenness) -> str:
    if verdict.judged_by == "messages":
        return f"{side.busiest_msgs_per_sec / side.msgs_per_sec:.0%}" if side.msgs_per_sec else "0%"
    return f"{side.busiest:,} of {side.items:,}"


def moved_text(verdict: Verdict, noun: str = "partition") -> str:
    """What moves, the least that would do, the traffic in it, and what may be delivered twice."""
    if not verdict.moved:
        return "nothing moves"
    verb = "moves" if verdict.moved == 1 else "move"
    text = f"{verdict.moved:,} of {counted(verdict.items, noun)} {verb}, at least {verdict.least:,} must"
    if verdict.msgs_per_sec or verdict.bytes_per_sec:
        text += f", {msgs_per_sec(verdict.msgs_per_sec)}, {bytes_per_sec(verdict.bytes_per_sec)}"
    if verdict.unacked_at_risk:
        text += f"; {counted(verdict.unacked_at_risk, 'message')} may be delivered twice"
    return text


def verdict_text(verdict: Verdict, noun: str = "partition") -> str:
    """A verdict in one line, before the change is taken."""
    return f"{verdict.judgement}: {shares_text(verdict)}; {moved_text(verdict, noun)}"


def judgement_colour(judgement: Judgement, colours: Palette) -> Rgb:
    """Better is good, worse is bad, even is neither."""
    return {"better": colours.good, "worse": colours.bad, "even": colours.accent}[judgement]

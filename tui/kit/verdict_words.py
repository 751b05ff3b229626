"""English for verdicts and suggestions: one word first, then what becomes of the shares and what moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from engine.compare.verdict import Judgement, Verdict, busiest_share
from engine.config import FLAG
from engine.text import counted
from themes.palettes import Palette, Rgb
from tui.kit.wording import (
    BUSIEST,
    Remark,
    bytes_per_sec,
    change_word,
    out_rate,
    percent,
    quantity,
    safe_name,
    short_topic,
)

if TYPE_CHECKING:
    from engine.compare.names import Fit, Score
    from engine.compare.sizes import Sizing
    from engine.compare.suggestion import Suggestion
    from engine.compare.verdict import Goal
    from engine.views.comparing.heirs import HeirRow


def shares_text(verdict: Verdict) -> str:
    """The figure that decides, before and after; idle consumers, and what speaks against the verdict.

    >>> from engine.compare.verdict import evenness_of
    >>> import numpy as np
    >>> even, two = (evenness_of(np.array(items), np.zeros(3), 6) for items in ([2, 2, 2], [4, 2, 0]))
    >>> shares_text(Verdict("worse", "items", even, two, 2, 2, 6, 0.0, 0.0, 0))
    'busiest ÷ average 1.00 → 2.00, 0 → 1 idle'
    >>> shares_text(Verdict("worse", "items", two, two, 2, 2, 6, 0.0, 0.0, 0))
    'busiest ÷ average 2.00 → 2.00'
    """
    before, after = verdict.before, verdict.after
    if verdict.judged_by == "nobody":
        return f"{before.items - before.owned:,} → {after.items - after.owned:,} without a consumer"
    by_messages = verdict.judged_by == "messages" or (verdict.judged_by == "lost" and bool(busiest_share(before)))
    text = _figure(verdict, by_messages=by_messages)
    if verdict.judged_by == "messages" and _is_against(verdict, before.max_over_mean, after.max_over_mean):
        text += f", although {before.max_over_mean:.2f} → {after.max_over_mean:.2f} by count"
    if before.idle != after.idle:
        against = _is_against(verdict, before.idle, after.idle)
        text += f"{', although' if against else ','} {before.idle:,} → {after.idle:,} idle"
    return text


def _figure(verdict: Verdict, *, by_messages: bool) -> str:
    before, after = verdict.before, verdict.after
    by = " by messages" if by_messages else ""
    if before.consumers == after.consumers:
        sides = [(one.max_over_mean_rate if by_messages else one.max_over_mean) or 0 for one in (before, after)]
        return f"{BUSIEST}{by} {sides[0]:.2f} → {sides[1]:.2f}"
    # The mean changes with the number of consumers, so the busiest one itself is what can be compared.
    shares = [
        percent(busiest_share(one)) if by_messages else f"{one.busiest:,} of {one.items:,}" for one in (before, after)
    ]
    return f"busiest{by} {shares[0]} → {shares[1]}"


def _is_against(verdict: Verdict, before: float, after: float) -> bool:
    """Whether a number, of which less is better, speaks against the verdict."""
    return after < before if verdict.judgement == "worse" else after > before and verdict.judgement == "better"


def moved_text(verdict: Verdict, noun: str = "partition") -> str:
    """What moves, the least that would do, the traffic in it, and what may be delivered twice."""
    if noun == "slot" and not verdict.items:
        return "every key has another slot"
    if not verdict.moved:
        return "nobody takes over" if verdict.after.owned < verdict.before.owned else "nothing moves"
    verb = "moves" if verdict.moved == 1 else "move"
    text = f"{verdict.moved:,} of {counted(verdict.items, noun)} {verb}, at least {verdict.least:,} must"
    if verdict.msgs_per_sec != 0 or verdict.bytes_per_sec != 0:
        text += f", {out_rate(verdict.msgs_per_sec)}, {bytes_per_sec(verdict.bytes_per_sec)}"
    if verdict.unacked_at_risk:
        text += f"; {counted(verdict.unacked_at_risk, 'message')} may be delivered twice"
    return text


def verdict_text(verdict: Verdict, noun: str = "partition") -> str:
    """A verdict in one line, before the change is taken."""
    return f"{change_word(verdict)}: {shares_text(verdict)}; {moved_text(verdict, noun)}"


def loss_text(verdict: Verdict, heirs: Sequence[HeirRow], noun: str) -> str:
    """A verdict on consumers that go, in one line: who is overloaded by it, or that nobody is."""
    if verdict.judged_by == "nobody":
        return verdict_text(verdict, noun)
    who = "nobody is overloaded by it"
    if verdict.judgement == "worse":
        by_messages = verdict.judged_by == "messages"
        most = max(heirs, key=lambda row: (row.msgs_after or 0.0) if by_messages else row.items_after, default=None)
        who = f"{safe_name(most.name)} has most then" if most is not None else ""
    texts = (f"{change_word(verdict)}: {shares_text(verdict)}", who, moved_text(verdict, noun))
    return "; ".join(filter(None, texts))


def judgement_colour(judgement: Judgement, colours: Palette) -> Rgb:
    """Better is good, worse is bad, even is neither."""
    return {"better": colours.good, "worse": colours.bad, "even": colours.accent}[judgement]


HOT: Final = 0.5
"""A partition with so much of a mean consumer's share decides how even it can be."""
_ROWS: Final = 12


WITHOUT_RING: Final = (
    f"by the ring of {FLAG}=true; it is false here, where partitions are dealt out by index and only the order of names"
    " counts"
)
"""What suggested names are worth where the flag is off."""


def suggestion_remarks(kind: str, answer: Suggestion, goal: Goal, *, on: bool) -> tuple[Remark, ...]:
    """A suggestion for the panel beside the screen; ``on``: whether a ring is in force."""
    from engine.compare.names import Fit
    from engine.compare.sizes import Sizing

    if isinstance(answer, Fit):
        return (*_names(answer, survive=goal.survive), *(() if on else (Remark("but", WITHOUT_RING),)))
    if isinstance(answer, Sizing):
        return tuple(_numbers(kind, answer, goal))
    return _flag(answer, on=on)


def _names(fit: Fit, *, survive: bool) -> Iterator[Remark]:
    yield Remark("worth", worth(fit.before, fit.after, survive=survive), main=True)
    for old, new in zip(fit.given, fit.names, strict=True):
        yield Remark("name", safe_name(new) if old == new else f"{safe_name(old)} → {safe_name(new)}")
    if fit.held_out_before is not None and fit.held_out_after is not None:
        yield Remark(
            "elsewhere", f"{worth(fit.held_out_before, fit.held_out_after, survive=survive)}, on a half left out"
        )
    yield Remark("tried", f"{fit.tried:,} names")


def _numbers(kind: str, sizing: Sizing, goal: Goal) -> Iterator[Remark]:
    yield Remark("answer", sizing_answer(kind, sizing, goal), main=True)
    if sizing.smallest_on_ring is not None:
        yield Remark("instead", on_ring(sizing))
    text = what_rules(kind, sizing)
    if text:
        yield Remark("but", text)
    at = next((at for at, row in enumerate(sizing.rows) if row.number == (sizing.smallest or sizing.now)), 0)
    low = max(0, min(at - _ROWS // 2, len(sizing.rows) - _ROWS))
    for row in sizing.rows[low : low + _ROWS]:
        loss = f", {row.after_loss:.2f} after a loss" if row.after_loss else ""
        chance = f", by chance {row.chance_low:.2f} to {row.chance_high:.2f}" if row.chance_high else ""
        met = " (meets it)" if row.good else ""
        yield Remark(f"{row.number:,}", f"{BUSIEST} {row.max_over_mean:.2f}{loss}{chance}{met}")


def _flag(verdict: Verdict, *, on: bool) -> tuple[Remark, ...]:
    now, other = ("true", "false") if on else ("false", "true")
    change = verdict.judgement == "better"
    return (
        Remark("answer", f"set {FLAG}={other}" if change else f"leave {FLAG}={now}", main=True),
        Remark("because", f"{other} would be {verdict_text(verdict)}"),
    )


def worth(before: Score, after: Score, *, survive: bool) -> str:
    """How even it was and would be."""
    text = f"{BUSIEST} {before.now:.2f} → {after.now:.2f}"
    return text + (f", after any one loss {before.after_loss:.2f} → {after.after_loss:.2f}" if survive else "")


def sizing_answer(kind: str, sizing: Sizing, goal: Goal) -> str:
    """The smallest number that meets the goal, or that none does."""
    wanted = f"{BUSIEST} {goal.max_over_mean:.2f}{' after any one loss too' if goal.survive else ''}"
    if goal.busiest_msgs:
        wanted += f", at most {quantity(goal.busiest_msgs)} out/s for one"
    if sizing.smallest is None:
        return f"no number of {kind} up to {sizing.rows[-1].number:,} meets {wanted}; there are {sizing.now:,} now"
    between = f"{sizing.smallest:,}"
    if sizing.largest != sizing.smallest:
        between += f" is the smallest and {sizing.largest:,} the largest number of {kind} looked at that"
    return f"{between} meets {wanted}; there are {sizing.now:,} now"


def on_ring(sizing: Sizing) -> str:
    """How many consumers meet the goal with the flag on."""
    return f"with {FLAG}=true {sizing.smallest_on_ring:,} meet it"


def _fast_producer(sizing: Sizing) -> str:
    fast = sizing.fastest
    if fast is None or fast.partitions >= sizing.rows[-1].number:
        return ""
    where = f"{quantity(fast.msgs_per_sec)} msg/s to {counted(fast.partitions, 'partition')}"
    return f"{safe_name(fast.name)} sends {where}: more partitions take nothing off them unless its router takes more"


def what_rules(kind: str, sizing: Sizing) -> str:
    """What no number can divide: a partition, key or topic by its share of all messages, a producer; "" for none."""
    if kind == "partitions":
        return _fast_producer(sizing)
    if not sizing.hottest or sizing.hottest_share <= HOT / max(sizing.now, 1):
        return ""
    share = percent(sizing.hottest_share)
    if kind == "bundles":
        return f"{short_topic(sizing.hottest)} has {share} of all messages, and one bundle has all of it"
    if "://" in sizing.hottest:
        text = f"{short_topic(sizing.hottest)} has {share} of all messages, and one consumer has all of it"
        return f"{text}: more consumers take nothing off it"
    more = "no number of points" if kind == "points" else "more consumers: no"
    text = f"{more}, key {safe_name(sizing.hottest)} has {share} of all messages and stays on one consumer"
    least = sizing.hottest_share * sizing.now if kind == "consumers" else 0.0
    if least > 1:
        text += f": by messages {BUSIEST} {least:.2f} at the least with {sizing.now:,}, and more with more"
    return text

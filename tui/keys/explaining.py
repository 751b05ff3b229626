"""The explanation of one key as labelled sentences. The reasons come from the engine as data."""

from __future__ import annotations

from typing import Final

from engine.keyshared.explain import KeyExplanation, Rival, WhyNot
from engine.text import counted
from engine.views.keys.model import KeyAnswer
from tui.keys.words import key_shown
from tui.kit.remarks import Remark, bytes_text
from tui.kit.wording import safe_name

RIVALS_SHOWN: Final = 4


def key_remarks(answer: KeyAnswer) -> tuple[Remark, ...]:
    """The answer first, then what stands in its way, then the numbers in the order they are checked by hand."""
    why = answer.explanation
    owner = safe_name(why.owner.name) if why.owner is not None else "nobody: its messages wait"
    remarks = [
        Remark("key", key_shown(answer.text)),
        Remark("owner", owner, main=True),
        Remark("rule", answer.sentence),
        Remark("waits", answer.obstacle or _free_way(why)),
        Remark("bytes", bytes_text(why.slot.key) or "none: the key is empty"),
        Remark("hash", f"{why.slot.hash_value:,}: Murmur3 {why.slot.raw_hash:,} with its top bit cleared"),
        Remark("slot", _slot(why)),
    ]
    if why.range is not None:
        remarks.append(Remark("range", f"{why.range.start:,} to {why.range.end:,}"))
    remarks += _point(why)
    names = [safe_name(heir.name) for heir in why.heirs]
    remarks.append(
        Remark("heirs", f"{names[0]} if it leaves" + "".join(f", then {name}" for name in names[1:]))
        if names
        else Remark("heirs", "nobody else is connected")
    )
    if why.draining is not None:
        entry = why.draining
        remarks.append(Remark("draining", f"since {entry.since_ms:,} ms, {counted(entry.unacked, 'message')} to go"))
    return (*remarks, *_others(answer.rivals))


def why_not(rival: Rival) -> str:
    """What keeps a consumer from getting the key, in few words."""
    if rival.nearest is None:
        text = "owns no slot"
    else:
        piece = rival.nearest.range
        where = f"{piece.start:,} to {piece.end:,}"
        own = f"has {where}" if rival.pieces == 1 else f"nearest of {rival.pieces} ranges: {where}"
        text = f"{own}, {counted(rival.away or 0, 'slot')} away"
        if rival.why_not is not WhyNot.OTHER_SLOTS:
            text = f"{rival.why_not.value}; {own}"
    return f"{text}; the slot drains until it has acknowledged" if rival.drains else text


def nearest_first(rivals: tuple[Rival, ...]) -> tuple[Rival, ...]:
    """Those that the slot drains for, then by how far their slots are."""
    return tuple(sorted(rivals, key=lambda each: (not each.drains, each.away is None, each.away or 0)))


def _others(rivals: tuple[Rival, ...]) -> list[Remark]:
    shown = [
        Remark("not" if not at else "", f"{safe_name(rival.consumer.name)}: {why_not(rival)}")
        for at, rival in enumerate(nearest_first(rivals)[:RIVALS_SHOWN])
    ]
    left = len(rivals) - len(shown)
    return shown + ([Remark("", f"and {left:,} more")] if left else [])


def _free_way(why: KeyExplanation) -> str:
    return "nothing stands in its way" if why.owner is not None else "until somebody has its slot; none waits now"


def _slot(why: KeyExplanation) -> str:
    step, division = why.slot, why.slot.division
    text = f"{step.slot:,}: {division.dividend:,} mod {division.divisor:,}"
    if step.low:
        text += f" + {step.low}"
    return text + (", and 0 becomes 1, since 0 means no hash" if step.folded else "")


def _point(why: KeyExplanation) -> list[Remark]:
    point = why.point
    if point is None:
        return []
    first = point.claimants[0] if point.claimants else None
    made = f": the hash of {first.point_keys[0]!r}" if first is not None and first.point_keys else ""
    where = "exactly there" if point.distance == 0 else f"{counted(point.distance, 'slot')} on"
    remarks = [Remark("point", f"{point.point:,}, {where}{', round the end' if point.wrapped else ''}{made}")]
    if len(point.claimants) > 1:
        names = ", ".join(safe_name(each.consumer.name) for each in point.claimants)
        who = "they take turns" if point.shared is not None else "the first has it"
        remarks.append(Remark("collision", f"claimed by {names}; {who}"))
    return remarks

"""The explanation of one key as labelled sentences. The reasons come from the engine as data."""

from __future__ import annotations

from engine.keyshared.explain import KeyExplanation
from engine.views.keys_model import KeyAnswer
from tui.keys.words import key_shown
from tui.kit.remarks import Remark, bytes_text
from tui.kit.wording import counted, safe_name


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
    return tuple(remarks)


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

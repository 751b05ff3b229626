"""English for Key_Shared: modes, waits, gaps, luck, totals, the sentence above, and why a key goes where it goes."""

from __future__ import annotations

from typing import Final

from engine.keyshared.explain import KeyExplanation, Rival, WhyNot
from engine.text import counted
from engine.views.failover.model import EventLine
from engine.views.keys.model import GapRow, KeyAnswer, KeysFoot, KeysStatus, KeysView, LuckView, StepMoves, WaitRow
from engine.views.keys.words import NO_HEIRS, verdict_text
from tui.kit.reported import comparison_hint
from tui.kit.wording import (
    BUSIEST,
    BUSIEST_SHORT,
    Remark,
    bytes_text,
    quantity,
    safe_name,
    shorten_middle,
)

MODES: Final = {
    "consistent-auto-split": (
        "consistent auto-split",
        "Points on a ring: a slot goes to the next point, so who joins or leaves moves little. The broker's default.",
    ),
    "auto-split": (
        "auto-split",
        "Ranges are halved: a newcomer takes the lower half of the widest, who leaves gives its range to a neighbour.",
    ),
    "sticky": (
        "sticky",
        "Every consumer declares its ranges. Overlaps are refused, and messages of slots that nobody declared wait.",
    ),
    "consistent-sticky": (
        "consistent sticky ranges",
        "A client-side technique, no mode of the broker: every node works out its ranges from points, index and count.",
    ),
}
"""The four modes by their names in commands: as people write them, and a sentence on each."""
CLIENT_SIDE: Final = "client-side technique"
_SHORT_RULES: Final = {
    "consistent-auto-split": "ring",
    "auto-split": "halved",
    "sticky": "sticky",
    "consistent-sticky": "sticky",
}
_NO_KEY: Final = "(empty key)"
NO_PARTITIONS: Final = "the topic has no partitions"


def mode_name(mode: str) -> str:
    """A mode as people write it."""
    return MODES[mode][0]


def key_shown(text: str) -> str:
    """The text of a key on one line; the empty key is a key too."""
    return safe_name(text) if text else _NO_KEY


def keys_shown(keys: tuple[str, ...]) -> str:
    """The first of several keys, and how many more."""
    if not keys:
        return "no known key"
    return key_shown(keys[0]) + (f" +{len(keys) - 1}" if len(keys) > 1 else "")


def mode_in_few_words(view: KeysView) -> tuple[str, ...]:
    """The mode in two words or three, for the middle of a small ring."""
    if not view.consumers:
        return ("nobody",)
    return _SHORT_RULES[view.status.mode.value], f"of {len(view.consumers)}"


def name_at(view: KeysView, position: int) -> str:
    """The consumer in a row of the table; nobody where there is none."""
    return safe_name(view.consumers[position].name) if position >= 0 else "nobody"


def slots_title(view: KeysView) -> str:
    """The title of the slots: of all partitions, or of the one that is shown."""
    status, slots = view.status, f"[1] slots 0 to {view.ring.space_size - 1}"
    if status.drawn_partition >= 0:
        return f"[1] slots of partition {status.drawn_partition} (P: others)"
    return f"{slots}, partition {status.partition}" if status.partition >= 0 else slots


def partitions_sentence(view: KeysView) -> str:
    """Whose hash takes the partition of a key, which one has most, and what the hash leaves of the slots."""
    status, partitions = view.status, view.partitions
    if partitions is None:
        return NO_PARTITIONS
    busiest = max(partitions.rows, key=lambda row: (row.messages, -row.partition))
    head = (
        f"{counted(status.partitions, 'partition')}: {status.hashing} of {status.client} mod {status.partitions:,}"
        f" takes the one of a key; the busiest is {busiest.partition} with {counted(busiest.messages, 'message')} of"
        f" {counted(busiest.keys, 'key')}."
    )
    return f"{head} {partitions.sentence}." if partitions.sentence else head


def wait_sentence(view: KeysView, wait: WaitRow) -> str:
    """Who waits for whom, since when, and what ends it, in one or two sentences."""
    where = f" in partition {wait.partition}" if wait.partition >= 0 and view.status.partition < 0 else ""
    verb = "waits" if wait.messages == 1 else "wait"
    what = f"{counted(wait.messages, 'message')} of {keys_shown(wait.keys)}{where} {verb}"
    whom = f" for {name_at(view, wait.owner)}" if wait.owner >= 0 else ""
    since = f" since {wait.since_ms:,} ms" if wait.since_ms >= 0 else ""
    held = ", ".join(
        f"{name_at(view, holder.consumer)} holds {counted(holder.unacked, 'message')}" for holder in wait.holders
    )
    tried = f" {counted(wait.blocked_attempts, 'attempt')} blocked." if wait.blocked_attempts else ""
    return f"{what}{whom}{since}: {wait.reason}{f', {held}' if held else ''}. It ends when {_when(wait)}.{tried}"


def comes_with_time(wait: WaitRow) -> bool:
    """Whether the wait ends by itself."""
    return wait.ends_when.startswith("the next ")


def _when(wait: WaitRow) -> str:
    return f"{wait.ends_when} comes" if comes_with_time(wait) else wait.ends_when


def gap_sentence(gap: GapRow) -> str:
    """A gap in one sentence."""
    keys = f"the known {'key' if len(gap.keys) == 1 else 'keys'} {', '.join(map(key_shown, gap.keys[:3]))}" + (
        " and others" if len(gap.keys) > 3 else ""
    )
    known = keys if gap.keys else "no known key"
    waiting = f", {counted(gap.waiting, 'message')} waiting" if gap.waiting else ""
    return f"Nobody has the slots {gap.start:,} to {gap.end:,}: {known}{waiting}."


def luck_title(luck: LuckView) -> str:
    """The question, and the answer in a word."""
    return f"uneven by chance? {verdict_text(luck.verdict, unusual=luck.observed_max > luck.high_max)}"


def luck_numbers(luck: LuckView) -> tuple[str, ...]:
    """Observed beside expected, in a long form and in shorter ones."""
    if not luck.expected_max:
        return (luck.sentence, luck.sentence.partition(",")[0], luck.verdict)
    seen, keys = f"{luck.observed_max:,}", f"{luck.keys:,}"
    span = f"{luck.low_max:,} to {luck.high_max:,}"
    return (
        f"busiest has {seen} of {keys} keys; chance gives {luck.expected_max:.1f}, mostly {span}",
        f"busiest {seen} of {keys} keys, chance {luck.expected_max:.1f} ({span})",
        f"{seen} of {keys} keys, chance {luck.expected_max:.1f} ({span})",
        f"{seen} keys, chance {luck.expected_max:.1f}",
    )


def luck_reason(luck: LuckView) -> str:
    """Why the verdict is what it is: what the sentence says behind its numbers."""
    return luck.sentence.partition(": ")[2] or luck.sentence


def moves_sentence(moves: StepMoves) -> str:
    """What the last step moved, and the least that would have been enough."""
    if not moves.slots:
        return moves.sentence
    enough = "no more than had to" if moves.slots == moves.least else f"though {moves.least:,} would do"
    return f"{moves.sentence} ({enough})"


def keys_foot_texts(foot: KeysFoot) -> tuple[str, ...]:
    """The line below the table, longest form first."""
    if not foot.consumers:
        return ("nobody is connected",)
    ratios = (foot.max_over_mean_slots, foot.max_over_mean_keys, foot.max_over_mean_messages)
    known = [(name, ratio) for name, ratio in zip(("slots", "keys", "msgs"), ratios, strict=True) if ratio]
    named = ", ".join(f"{name} {ratio:.2f}" for name, ratio in known)
    short = " ".join(f"{name.rstrip('s')} {ratio:.1f}" for name, ratio in known)
    idle = f" · {foot.idle_consumers:,} idle" if foot.idle_consumers else ""
    gap = f" · {foot.unowned_slots:,} unowned" if foot.unowned_slots else ""
    waiting = f" · {foot.waiting:,} wait" if foot.waiting else ""
    amounts = f"{counted(foot.keys, 'key')} · {counted(foot.messages, 'message')}{waiting}"
    unowned = f" · {counted(foot.unowned_slots, 'slot')} unowned" if foot.unowned_slots else ""
    return (
        f"{amounts} · {BUSIEST}: {named}{idle}{unowned}",
        f"{quantity(foot.keys)} keys · {BUSIEST_SHORT}: {named}{idle}{gap}",
        f"{BUSIEST_SHORT}: {named}{idle}{gap}",
        f"{BUSIEST_SHORT} {short}{idle}",
        f"{BUSIEST_SHORT} {short}",
    )


def mode_parts(status: KeysStatus) -> tuple[str, ...]:
    """The mode in words, with the label that a technique of clients must carry; shorter forms follow."""
    name = mode_name(status.mode.value)
    if status.client_side:
        return f"{name} ({CLIENT_SIDE})", f"{name} (client-side)"
    return (name,)


def keys_hint(view: KeysView) -> str:
    """What a newcomer sees, or after a step what it did; then what to try next."""
    event = view.events[-1] if view.events else None
    if not view.status.step or event is None or event.kind == "open":
        return keys_state_hint(view)
    return f"{_happened(event, view)} {_next(event, view)}"


def keys_hint_with(view: KeysView, notice: str) -> str:
    """What the last step did, and the new notice."""
    return f"{_happened(view.events[-1], view)} New (i): {notice}"


def keys_state_hint(view: KeysView) -> str:
    """One sentence about the state as it is, and the key that shows more."""
    if not view.consumers:
        return "Nobody consumes this subscription, so every message waits. Press a to connect a consumer."
    differs = comparison_hint(view.reported)
    if differs:
        return differs
    if view.gaps:
        return f"{_unowned(view)} a declares a range, f says where a key goes."
    if view.waits:
        return f"{wait_sentence(view, view.waits[0])} f says why."
    if not view.foot.keys:
        return "No key is known yet. Press t to send a message with a key, f to ask where one would go."
    count = counted(len(view.consumers), "consumer")
    share = f"{counted(view.foot.keys, 'key')} on {count}, {mode_name(view.status.mode.value)}."
    return f"{share} f asks where a key goes, t sends one, m changes the mode."


def _happened(event: EventLine, view: KeysView) -> str:
    words = shorten_middle(safe_name(event.text), 40)
    if event.kind in ("add", "kill", "setting", "release"):
        return f"{words}: {view.moves.sentence}."
    return f"{words}: done."


def _next(event: EventLine, view: KeysView) -> str:
    if not view.consumers:
        return "Press a to connect a consumer."
    if view.gaps:
        return f"{_unowned(view)} a declares a range."
    if view.waits:
        wait = view.waits[0]
        waiting = f"{counted(view.foot.waiting, 'message')} {_wait(view)}"
        if wait.holders:
            return f"{waiting}, first for {name_at(view, wait.holders[0].consumer)}: select it and press o. f says why."
        return f"{waiting}: {wait.reason}. {'Key . lets time pass' if comes_with_time(wait) else 'f says why'}."
    if event.kind in ("send", "wait"):
        return "Try x or a now: a key that moves waits for its former consumer. o acknowledges."
    if event.kind == "ack":
        return "Nothing waits any more. t sends on."
    return "f asks where a key goes, t sends one, u takes the step back."


def _unowned(view: KeysView) -> str:
    """The slots without an owner, and what waits there."""
    foot = view.foot
    has = "has" if foot.unowned_slots == 1 else "have"
    waiting = f", and {counted(foot.waiting, 'message')} {_wait(view)}" if foot.waiting else ""
    return f"{counted(foot.unowned_slots, 'slot')} {has} no owner{waiting}."


def _wait(view: KeysView) -> str:
    return "waits" if view.foot.waiting == 1 else "wait"


RIVALS_SHOWN: Final = 4


def key_remarks(answer: KeyAnswer) -> tuple[Remark, ...]:
    """The answer, then what blocks the key, then the numbers in the order in which they are checked by hand."""
    why = answer.explanation
    owner = safe_name(why.owner.name) if why.owner is not None else "nobody: its messages wait"
    remarks = [
        Remark("key", key_shown(answer.text)),
        Remark("owner", owner, main=True, role="active" if why.owner is not None else "warn"),
        *([Remark("partition", answer.path.sentence)] if answer.path is not None else []),
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
        else Remark("heirs", NO_HEIRS)
    )
    if why.draining is not None:
        entry = why.draining
        remarks.append(Remark("draining", f"since {entry.since_ms:,} ms, {counted(entry.unacked, 'message')} to go"))
    if answer.path is not None and answer.path.resonance is not None:
        remarks.append(Remark("slots", answer.path.resonance.sentence))
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
    return tuple(sorted(rivals, key=lambda rival: (not rival.drains, rival.away is None, rival.away or 0)))


def _others(rivals: tuple[Rival, ...]) -> list[Remark]:
    shown = [
        Remark("not" if not at else "", f"{safe_name(rival.consumer.name)}: {why_not(rival)}")
        for at, rival in enumerate(nearest_first(rivals)[:RIVALS_SHOWN])
    ]
    left = len(rivals) - len(shown)
    return shown + ([Remark("", f"and {left:,} more")] if left else [])


def _free_way(why: KeyExplanation) -> str:
    return "nothing blocks it" if why.owner is not None else "until somebody has its slot; none waits now"


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
    source = f": the hash of {first.point_keys[0]!r}" if first is not None and first.point_keys else ""
    where = "exactly there" if point.distance == 0 else f"{counted(point.distance, 'slot')} on"
    remarks = [Remark("point", f"{point.point:,}, {where}{', round the end' if point.wrapped else ''}{source}")]
    if len(point.claimants) > 1:
        names = ", ".join(safe_name(claimant.consumer.name) for claimant in point.claimants)
        who = "they take turns" if point.shared is not None else "the first has it"
        remarks.append(Remark("collision", f"claimed by {names}; {who}"))
    return remarks

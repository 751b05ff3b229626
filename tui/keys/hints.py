"""The sentence above the panels of a Key_Shared subscription: what happened or is to be seen, and the key to press."""

from __future__ import annotations

from engine.views.keys_model import KeysView
from engine.views.model import EventLine
from tui.keys.words import comes_with_time, mode_name, name_at, wait_told
from tui.kit.wording import counted, safe_name, shorten_middle


def keys_hint(view: KeysView) -> str:
    """What is to be seen for a newcomer, and after a step what it did; then what to try next."""
    event = view.events[-1] if view.events else None
    if not view.status.step or event is None or event.kind == "open":
        return keys_state_hint(view)
    return f"{_happened(event, view)} {_next(event, view)}"


def keys_hint_with(view: KeysView, notice: str) -> str:
    """What the last step did, and a notice that it brought up."""
    return f"{_happened(view.events[-1], view)} New (i): {notice}"


def keys_state_hint(view: KeysView) -> str:
    """One sentence about the state as it is, and the key that shows more."""
    if not view.consumers:
        return "Nobody consumes this subscription, so every message waits. Press a to connect a consumer."
    if view.gaps:
        return f"{_unowned(view)} a declares a range, f says where a key goes."
    if view.waits:
        return f"{wait_told(view, view.waits[0])} f says why."
    if not view.foot.keys:
        return "No key is known yet. Press t to send a message with a key, f to ask where one would go."
    count = counted(len(view.consumers), "consumer")
    share = f"{counted(view.foot.keys, 'key')} on {count}, {mode_name(view.status.mode)}."
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
            return f"{waiting}, first for {name_at(view, wait.holders[0][0])}: select it and press o. f says why."
        return f"{waiting}: {wait.reason}. {'w lets time pass' if comes_with_time(wait) else 'f says why'}."
    if event.kind in ("send", "wait"):
        return "Try x or a now: a key that moves waits for its former consumer. o acknowledges."
    if event.kind == "ack":
        return "Nothing waits any more. t sends on."
    return "f asks where a key goes, t sends one, u takes the step back."


def _unowned(view: KeysView) -> str:
    """The slots that nobody has, and what waits there."""
    foot = view.foot
    has = "has" if foot.unowned_slots == 1 else "have"
    waiting = f", and {counted(foot.waiting, 'message')} {_wait(view)}" if foot.waiting else ""
    return f"{counted(foot.unowned_slots, 'slot')} {has} no owner{waiting}."


def _wait(view: KeysView) -> str:
    return "waits" if view.foot.waiting == 1 else "wait"

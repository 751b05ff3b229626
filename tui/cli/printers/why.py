"""``why``: the named cause of one subscription with what to do, or a line for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.seen import parent_of
from tui.cli.plain import Align, table, wrapped
from tui.kit.reported import earlier_text, setting_text, verdict_word
from tui.kit.wording import counted, safe_name, short_topic

_ALIGNS: tuple[Align, ...] = ("<", "<", "<", "<", ">")


def why_lines(diagnosis: Diagnosis, *, others: int = 0, in_full: bool = False) -> Iterator[str]:
    """One subscription: the first cause whole, the others in a line each, and what was ruled out where ``in_full``.

    ``others`` is how many subscriptions there are besides.
    """
    place = short_topic(parent_of(diagnosis.topic))
    if diagnosis.topics > 1:
        place += f" and {diagnosis.topics - 1:,} more"
    moments = counted(diagnosis.moments, "moment")
    yield safe_name(f"{diagnosis.subscription} ({diagnosis.type}) on {place}, {moments}")
    if diagnosis.first is None:
        yield ""
        yield "  no cause was found"
    for number, cause in enumerate(diagnosis.causes):
        yield ""
        yield from cause_lines(cause) if number == 0 else _in_short(cause)
    if diagnosis.earlier is not None:
        yield ""
        yield from wrapped(earlier_text(diagnosis.earlier, diagnosis.moments), first="  ", rest="    ")
    if in_full:
        yield ""
        yield "ruled out"
        yield from table([(f"  {each.id}", safe_name(each.why)) for each in diagnosis.ruled_out], ("<", "<"))
    if diagnosis.moments == 1:
        yield ""
        yield "One moment alone does not say what stands still: take a second dump some seconds later."
    if others:
        yield ""
        yield f"{counted(others, 'other subscription')}: --all lists them, worst first."


def cause_lines(cause: Cause) -> Iterator[str]:
    """One cause with numbers, setting, mend and sources."""
    yield from wrapped(safe_name(f"{verdict_word(cause.verdict)}: {cause.what}"), first="  ", rest="    ")
    yield f"    cause     {cause.id}"
    if cause.topic:
        more = f" (worst of {cause.topics:,})" if cause.topics > 1 else ""
        yield f"    topic     {safe_name(cause.topic)}{more}"
    if cause.blocked:
        yield from wrapped(safe_name(", ".join(cause.blocked)), first="    blocked   ", rest="              ")
    if cause.by:
        yield from wrapped(safe_name(", ".join(cause.by)), first="    by        ", rest="              ")
    if cause.setting is not None:
        yield f"    setting   {safe_name(setting_text(cause.setting))}"
    if cause.fix:
        yield from wrapped(safe_name(cause.fix), first="    to do     ", rest="              ")
    yield from wrapped(", ".join(cause.fields), first="    read from ", rest="              ")


def _in_short(cause: Cause) -> Iterator[str]:
    yield from wrapped(safe_name(f"{verdict_word(cause.verdict)}: {cause.what}"), first="  ", rest="    ")
    yield f"    cause     {cause.id}"


def all_lines(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """Every subscription in a line, in the given order."""
    rows = [("VERDICT", "CAUSE", "SUBSCRIPTION", "TOPIC", "BACKLOG")]
    for each in diagnoses:
        first = each.first
        topic = short_topic(parent_of(each.topic)) + (f" +{each.topics - 1:,}" if each.topics > 1 else "")
        verdict = verdict_word(first.verdict if first is not None else Verdict.FINE)
        cause = first.id if first is not None else ""
        rows.append((verdict, cause, safe_name(each.subscription), safe_name(topic), f"{each.backlog:,}"))
    yield from table(rows, _ALIGNS)

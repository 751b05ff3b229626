"""English for people: numbers, names, sentences and labelled remarks, shared by the screen and the text printers.

Values come from the engine; nothing is computed here beyond choosing units and words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from rich.cells import cell_len, chop_cells

from engine.text import counted, visible

if TYPE_CHECKING:
    from engine.compare.verdict import Judgement, Verdict
    from engine.views.failover.model import EventLine

BUSIEST: Final = "busiest ÷ average"
BUSIEST_SHORT: Final = "busiest÷avg"
"""The load of the fullest over the mean: 1 is even."""
NO_NAME: Final = "(no name)"
NOBODY: Final = "nobody"
_ELLIPSIS: Final = "…"
_UNITS: Final = ("", "k", "M", "G", "T", "P")
_MOVES_NOTHING: Final = frozenset({"open", "send", "ack", "wait"})
"""Kinds of steps that never move anything, so that nothing is said about moves."""
LONGEST_WORD: Final = 512
"""In terminal cells; Pulsar's own names are shorter, and a longer one would push everything else off the screen."""


Line = tuple[str, str]
"""A sentence and the role it has: head, text, dim, warn, bad, good."""


ONE_CLUSTER: Final = "(all)"
"""For the cluster of a fleet whose answers are all in the top folder, so that no folder names it."""


def safe_name(name: str) -> str:
    """A name on one line with everything visible: control, format and unassigned characters as Python escapes.

    A name of blanks alone stands in quotes, and a word of more than ``LONGEST_WORD`` cells loses its middle.

    >>> safe_name("a\\nb"), safe_name(""), safe_name(" ")
    ('a\\\\nb', '(no name)', '" "')
    """
    if not name:
        return NO_NAME
    if name.isspace() and not name.strip(" \u3000"):
        return f'"{name}"'
    shown = visible(name)
    if len(shown) <= LONGEST_WORD // 2:  # no character has more than two cells
        return shown
    return " ".join(shorten_middle(word, LONGEST_WORD) for word in shown.split(" "))


def shorten_middle(text: str, cells: int) -> str:
    """``text`` in at most ``cells`` terminal cells; a longer one loses its middle, where names differ least.

    >>> shorten_middle("billing-consumer-17", 11)
    'billi…er-17'
    """
    if cell_len(text) <= cells:
        return text
    if cells <= 1:
        return _ELLIPSIS[:cells]
    tail_cells = cells // 2
    begin = text[: 4 * cells]  # enough, and quickly chopped where a text is very long
    head = chop_cells(begin, cells - 1 - tail_cells)[0] if cells > 2 else ""
    tail = _last_cells(text, tail_cells)
    return f"{head}{_ELLIPSIS}{tail}"


def _last_cells(text: str, cells: int) -> str:
    at = len(text)
    room = cells
    while at > 0 and (width := cell_len(text[at - 1])) <= room:
        room -= width
        at -= 1
    return text[at:]


def cut_end(text: str, cells: int) -> str:
    """The beginning of a text that is too long for so many cells: what counts comes first.

    >>> cut_end("knows 28 partitions, 4 opened", 24)
    'knows 28 partitions, 4…'
    """
    return text if cell_len(text) <= cells else f"{chop_cells(text, max(1, cells - 1))[0].rstrip()}{_ELLIPSIS}"


def subject_title(key: str, keys: Collection[str], name: str, namespace: str, topics: Sequence[str]) -> str:
    """The name of a subscription; where several have it and ``keys`` number them from 2 on, with what it reads.

    >>> keys = ("billing", "billing#2")
    >>> subject_title("billing", keys, "billing", "shop", ()), subject_title("billing", ("billing",), "billing", "", ())
    ('billing in shop', 'billing')
    >>> subject_title("billing#2", keys, "billing", "shop", ("persistent://shop/a/b", "persistent://shop/a/c"))
    'billing on shop/a/b and 1 more'
    """
    first, _, number = key.rpartition("#")
    first = first if number.isdecimal() and first in keys else key
    if f"{first}#2" not in keys:
        return safe_name(key)
    if not topics:
        return f"{safe_name(key)} in {safe_name(namespace)}" if namespace else safe_name(key)
    more = f" and {len(topics) - 1:,} more" if len(topics) > 1 else ""
    return f"{safe_name(name)} on {short_topic(topics[0])}{more}"


def fit(text: str, cells: int) -> str:
    """``text`` in exactly ``cells`` terminal cells: shortened in the middle or padded on the right."""
    short = shorten_middle(text, cells)
    return short + " " * (cells - cell_len(short))


def judgement_word(judgement: Judgement, moved: int, *, lost: bool = False) -> str:
    """A verdict in words; shares can stay as they are although ``moved`` items have another owner.

    ``lost``: they moved because their consumer left, which nobody calls a small change.
    """
    if judgement != "even" or not moved:
        return judgement if judgement != "even" else "no change"
    return "handed over" if lost else "similar shares"


def change_word(verdict: Verdict) -> str:
    return judgement_word(verdict.judgement, verdict.moved, lost=verdict.judged_by == "lost")


UNKNOWN: Final = "–"
"""What nobody reported or computed: not 0."""


def percent(share: float | None) -> str:
    """A fraction as a percentage with one decimal, or a dash for one that nobody reported.

    >>> percent(0.1234), percent(1.0), percent(1.1), percent(None)
    ('12.3%', '100%', '110.0%', '–')
    """
    if share is None:
        return UNKNOWN
    return "100%" if 0.9995 <= share < 1.0005 else f"{share * 100:.1f}%"


def quantity(value: float | None) -> str:
    """A number in at most five characters: plain below 1000, then with k, M, G; a dash for one that nobody reported.

    What is not finite is named.

    >>> [quantity(v) for v in (0, 9.46, 42.0, 999.6, 1234, 98765, 99_950, 2_500_000)]
    ['0', '9.5', '42', '1.0k', '1.2k', '98.8k', '100k', '2.5M']
    >>> quantity(math.nan), quantity(-math.inf), quantity(None)
    ('NaN', '-inf', '–')
    """
    if value is None:
        return UNKNOWN
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value)
    if value < 10 and value != int(value) and round(value, 1) < 10:
        return f"{value:.1f}"
    unit = 0
    while round(value) >= 1000 and unit < len(_UNITS) - 1:
        value /= 1000
        unit += 1
    if unit == 0:
        return f"{value:.0f}"
    return f"{value:.0f}{_UNITS[unit]}" if round(value, 1) >= 100 else f"{value:.1f}{_UNITS[unit]}"


def known(value: float | None) -> str:
    """A whole number with its thousands, or a dash for one that nobody reported."""
    return UNKNOWN if value is None else f"{value:,}"


def at_least(text: str, lacking: int | None) -> str:
    """A sum with a plus where ``lacking`` things of it lack the number, so that it is at least so much.

    >>> at_least("1.2k", 0), at_least("1.2k", 3), at_least(UNKNOWN, 3)
    ('1.2k', '1.2k+', '–')
    """
    return f"{text}+" if lacking and text != UNKNOWN else text


def out_rate(value: float | None) -> str:
    """Messages per second to consumers."""
    return f"{quantity(value)} out/s"


def in_out_rate(value: float | None) -> str:
    """Messages per second from producers and to consumers, added up as brokers do for bundles."""
    return f"{quantity(value)} in+out/s"


def bytes_per_sec(value: float | None) -> str:
    """A throughput with its unit (1 kB is 1000 bytes)."""
    return f"{quantity(value)}B/s"


def short_topic(topic: str) -> str:
    """A topic without the scheme that nearly all of them share."""
    return safe_name(topic.removeprefix("persistent://"))


NOT_SAVED: Final = "not saved"


def saved_text(saved: str, steps: int) -> str:
    """Where the steps are kept; "" while there are no steps."""
    return saved or (NOT_SAVED if steps else "")


def not_saved(saved: str) -> bool:
    """Whether saving the steps failed (rather than was not asked for)."""
    return saved.startswith(f"{NOT_SAVED}: ")


def event_effect(event: EventLine, noun: str = "partition") -> str:
    """What a step did: how much moved, the least that had to, and what may be delivered twice."""
    if event.partitions == 0 or event.kind in _MOVES_NOTHING:
        return ""
    if event.moved == 0:
        return unmoved_text(event, noun)
    moved = f"{event.moved:,} of {counted(event.partitions, noun)} moved"
    text = f"{_judged(event)}{moved} ({enough_text(event)})"
    if event.handover_ms:
        text += f", {event.handover_ms:,} ms pause"
    if event.unacked_at_risk:
        text += f"; {counted(event.unacked_at_risk, 'message')} may be delivered again"
    return text


def enough_text(event: EventLine) -> str:
    """How many moves would have done."""
    return "the minimum" if event.moved == event.least else f"{event.least:,} would do"


def unmoved_text(event: EventLine, noun: str = "partition") -> str:
    """What to say about a step that moved nothing; more than that where consumers are missing."""
    return _left_alone(event, lambda items: f" of {counted(items, noun)}") or "nothing moved"


def _left_alone(event: EventLine, of: Callable[[int], str]) -> str:
    """How many ``of`` all have no consumer, if that is what the step made better or worse; else ""."""
    verdict = event.verdict
    if verdict is None or verdict.judged_by != "nobody":
        return ""
    left = verdict.after.items - verdict.after.owned
    return f"{judgement_word(verdict.judgement, 0)}: {left:,}{of(verdict.after.items)} without a consumer"


def event_effect_short(event: EventLine) -> str:
    """``event_effect`` for narrow panels."""
    if event.partitions == 0 or event.kind in _MOVES_NOTHING:
        return ""
    if event.moved == 0:
        return _left_alone(event, lambda items: f"/{items:,}") or "0 moved"
    risk = f", {quantity(event.unacked_at_risk)} at risk" if event.unacked_at_risk else ""
    return f"{_judged(event)}{event.moved:,}/{event.partitions:,} moved (least {event.least:,}){risk}"


def _judged(event: EventLine) -> str:
    """The verdict in a word, before the numbers."""
    return f"{change_word(event.verdict)}: " if event.verdict is not None else ""


_NUMBERED: Final = re.compile(r"(?P<stem>.*?)(?P<number>[0-9]{1,9})", re.DOTALL)
FIRST_NAME: Final = "consumer-0"


def next_name(names: Iterable[str]) -> str:
    """The commonest stem with the number after its highest one, as wide as that one; never a name that is taken.

    >>> next_name(["billing-0", "billing-1", "audit"]), next_name(["c-08", "c-09"]), next_name([]), next_name(["audit"])
    ('billing-2', 'c-10', 'consumer-0', 'audit-1')
    """
    taken = list(names)
    numbered = [match for name in taken if (match := _NUMBERED.fullmatch(name))]
    if not numbered:
        named = next((name for name in taken if name), "")
        return f"{named}-1" if named else FIRST_NAME
    stem, _ = Counter(match["stem"] for match in numbered).most_common(1)[0]
    highest = max(
        (match["number"] for match in numbered if match["stem"] == stem), key=lambda number: (int(number), number)
    )
    return f"{stem}{int(highest) + 1:0{len(highest)}}"


BYTES_SHOWN: Final = 12


class Remark(Struct, frozen=True):
    """One labelled sentence; the one with ``main`` set is the answer, in the colour of its ``role``."""

    label: str
    text: str
    main: bool = False
    role: Literal["active", "warn", "bad"] = "active"


def bytes_text(data: bytes) -> str:
    """Bytes in hexadecimal; many lose their middle.

    >>> bytes_text(b"ab"), bytes_text(bytes(30))
    ('61 62', '00 00 00 00 00 00 00 00 00 00 00 00 … 00 00 00 00 00 00 00 00 00 00 00 00')
    """
    if len(data) <= 2 * BYTES_SHOWN:
        return data.hex(" ")
    return f"{data[:BYTES_SHOWN].hex(' ')} … {data[-BYTES_SHOWN:].hex(' ')}"


_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], levels: str = _EIGHTHS) -> str:
    """Values as eighths of the largest, blank where unknown; ``levels`` are nine signs, the first one blank.

    >>> sparkline((0, 4, None, 8))
    '▁▄ █'
    """
    most = max((value for value in values if value is not None), default=0)
    steps = (None if value is None else max(1, round(8 * value / most)) if most else 1 for value in values)
    return "".join(" " if step is None else levels[step] for step in steps)

"""Text for people: untrusted text made visible, words quoted for a shell, numbers with their nouns, times."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
BLANK_LETTERS: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that count as letters, marks or symbols and show nothing."""
_SELECTORS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""They choose another form of the character before them, of another width in some terminals, and show nothing."""
_MARKS_AT_MOST: Final = 4
"""So many combining marks may share a cell with their letter; piles of them cover the lines above and below."""
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)[-:](\d\d)[-:](\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d[-:]?\d\d)?")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts ``9-x`` before ``10-x``. Numbers stay text, as Python makes no number of 5,000 digits."""
    parts = (part for part in re.split(r"(\d+)", name) if part)
    return tuple((0, len(digits := part.lstrip("0")), digits) if part.isdecimal() else (1, 0, part) for part in parts)


def visible(text: str) -> str:
    """Return the text on one line: control, format, private, unassigned and blank characters as Python escapes.

    So are those that choose another form of a character. Nothing in the text then moves a cursor, ends a line, reverses
    the writing or stays unseen. O(length).

    >>> visible("a\\x1b[2J"), visible("[/x]"), visible("\\u202eb\\u200b"), visible("\u2764\\ufe0f")
    ('a\\\\x1b[2J', '[/x]', '\\\\u202eb\\\\u200b', '\u2764\\\\ufe0f')
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        hidden = category in _HIDDEN or char in BLANK_LETTERS or char in _SELECTORS or marks > _MARKS_AT_MOST
        shown.append(char.encode("unicode_escape").decode("ascii") if hidden else char)
    return "".join(shown)


def shell_line(*words: str) -> str:
    """A command line that a POSIX shell splits into exactly these words.

    A word behind the command's name that begins with a dash is for options; a path of that form has ``./`` put before
    it by :func:`path_word`.

    >>> shell_line("pulsar-admin", "namespaces", "bundles", "t/n;$(reboot)")
    "pulsar-admin namespaces bundles 't/n;$(reboot)'"
    """
    return shlex.join(words)


def path_word(path: str) -> str:
    """A path as a word that no command takes for an option.

    >>> path_word("-x.json"), path_word("answers/")
    ('./-x.json', 'answers/')
    """
    return f"./{path}" if path.startswith("-") else path


_SIBILANTS: Final = ("s", "ch", "sh", "x")
_VOWELS: Final = "aeiou"


def counted(count: int, noun: str, one: str = "", many: str = "") -> str:
    """Write a number with its noun, and the verb that goes with it if given.

    >>> counted(1, "topic"), counted(1200, "topic"), counted(2, "entry"), counted(2, "branch"), counted(2, "key")
    ('1 topic', '1,200 topics', '2 entries', '2 branches', '2 keys')
    >>> counted(1, "slot", "has", "have"), counted(0, "slot", "has", "have")
    ('1 slot has', '0 slots have')
    """
    verb = one if count == 1 else many
    return f"{count:,} {noun if count == 1 else _plural(noun)}" + (f" {verb}" if verb else "")


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(_SIBILANTS) else f"{noun}s"


def time_text(ms: float) -> str:
    """A length of time in its largest fitting unit, whole.

    >>> [time_text(minutes * 60_000) for minutes in (0.5, 1, 90, 300, 5_000, 30_000_000_000)]
    ['30 s', '60 s', '90 min', '5 h', '3 days', '57,078 years']
    """
    seconds = ms / 1000
    for unit, length, least in (("years", 31_536_000, 2), ("days", 86_400, 2), ("h", 3_600, 2), ("min", 60, 2)):
        if seconds >= least * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def listed(texts: Sequence[str], at_most: int = 3) -> str:
    """Write the first few of many texts, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    shown = ", ".join(texts[:at_most])
    return f"{shown} and {len(texts) - at_most} more" if len(texts) > at_most else shown


def joined(names: Sequence[str], at_most: int = 3) -> str:
    """Write names with "and" before the last one, or how many more there are.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(names) > at_most:
        return listed(names, at_most)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))


_LAST_MS: Final = 253_402_300_799_000
"""The last time that ``datetime`` can express; brokers may print any number."""


def clock_text(at_ms: int) -> str:
    """A time of day in UTC; a number beyond the calendar is shown as it is.

    >>> clock_text(1_795_258_955_109), clock_text(2**62)
    ('11:02:35Z', '4611686018427387904 ms')
    """
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%H:%M:%SZ}" if at_ms <= _LAST_MS else f"{at_ms} ms"


def moment_text(at_ms: int) -> str:
    """A day and a time in UTC, or that there was none.

    >>> moment_text(1_795_258_955_109), moment_text(0)
    ('2026-11-21 11:02:35Z', 'never')
    """
    return f"{day_text(at_ms)}{clock_text(at_ms)}" if at_ms > 0 else "never"


def day_text(at_ms: int) -> str:
    """A day and a space in UTC, "" for a number beyond the calendar."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d} " if at_ms <= _LAST_MS else ""


def moment_ms(folder: str) -> int | None:
    """Read the time in a folder's name, in epoch milliseconds; None for other names. Colons may be hyphens.

    >>> moment_ms("2026-11-22T09-48-07.231Z") - moment_ms("2026-11-22T09:48:07+00:00")
    231
    """
    match = _MOMENT.fullmatch(folder)
    if match is None:
        return None
    day, hour, minute, second, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z") else f"{zone[:3]}:{zone[-2:]}"
    try:
        at = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second[:9]}{zone}")
    except ValueError:
        return None
    return round(at.timestamp() * 1000)


def apart(one: float, other: float, decimals: int = 1) -> tuple[str, str]:
    """Two numbers as text, with as many decimals as it takes to see that they differ, six at most.

    >>> apart(60.44, 60.41), apart(74, 46.2), apart(5, 5)
    (('60.44', '60.41'), ('74.0', '46.2'), ('5.0', '5.0'))
    """
    for digits in range(decimals, 7):
        texts = f"{one:,.{digits}f}", f"{other:,.{digits}f}"
        if texts[0] != texts[1] or one == other:
            break
    return texts

"""What tools put around every line of a text, or around a text as a whole, and nobody typed.

Logs have a time and a stream before each line, ``docker compose`` the name of a container, pages the number of a line,
a split terminal a border behind it. An issue tracker, a page, a mail, a table of cells, a comparison or a job runner
has the text in markup or in a string of its own. Every line keeps its number.
"""

from __future__ import annotations

import html
import quopri
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

_FEWEST: Final = 3
"""So many lines after one another with the same margin have it from a tool, and not by chance."""
_OPENING: Final = re.compile(
    r"(?P<before>[^\n]{0,400}?)(?:[{\[](?:[ \t]{0,200}(?P<behind>[^\w\s\"'{}\[\],:;.…]{1,3}))?[ \t]{0,200}$"
    r"|[{\[](?=[ \t]{0,200}[\"'{}\[\]])|(?=msgRateIn:[ ])|(?<=^>[ ])(?=[A-Za-z_]\w{0,80}:(?:[ ]|$)))"
)
"""How an answer begins in a line, with what is before it and behind it."""
_NO_MARGIN: Final = re.compile(
    r"\s*(?:[\"'“]|[{\[(]+\s*(?:[\"'“{\[]|-?\d+[\s,\]]|$)|[\d\s.,)}\]-]*$|.*[\"'“]\s*[,:]\s*[\"'“])"
)
"""What an answer itself has before a bracket: a name in quotes, numbers, or another bracket."""
_NUMBER: Final = re.compile(r"\d+")
_TRIES: Final = 500
"""So many lines are tried below a margin, and besides so many as the text has, several times."""
_TIMES: Final = 10
_MOST_CONTINUED: Final = 40
_SECOND_PROMPT: Final = re.compile(r"^\s*>(?=\s)")
_MACRO: Final = r"\{(?:code|noformat|quote|panel)(?:[:=][^{}\n\"]{0,200})?\}"
_MARKUP: Final = re.compile(rf"^[ \t]*{_MACRO}|{_MACRO}[ \t]*$", re.MULTILINE)
_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|blockquote|body|br|code|details|div|em|font|h[1-6r]|html|i|img|li|nowiki|ol|p|pre|s|span|strong|sub"
    r"|summary|sup|syntaxhighlight|table|tbody|td|th|thead|tr|tt|u|ul)(?:\s[^<>\n]{0,300})?/?>"
)
_MARKED_UP: Final = re.compile(r"</(?:code|details|div|p|pre|span|summary|td)>|<br ?/?>")
_QUOTE: Final = re.compile("&(?:quot|#34|#x22);")
_LINK: Final = re.compile(
    r"(?P<url>\b(?:(?:non-)?persistent|pulsar|pulsar\+ssl|https?)://[^\s\"<>|]{1,600})<(?P=url)[^\s<>]{0,600}>"
    r"|<((?:(?:non-)?persistent|pulsar|pulsar\+ssl|https?)://[^\s\"<>|]{1,600})(?:\|[^<>\n]{0,600})?>"
)
"""An address that a mail or a chat made a link of."""
_HUNK: Final = re.compile(r"^@@ -\d[^\n]{0,100}@@", re.MULTILINE)
_ESCAPED_MARKDOWN: Final = re.compile(r"(?<!\\)\\([_\[\]{}*#])")
_CELL: Final = re.compile(r"\{\s{0,40}\"\"[A-Za-z]")
_WINDOWS: Final = {0xDC85: "…", 0xDC91: "‘", 0xDC92: "’", 0xDC93: "“", 0xDC94: "”", 0xDC96: "-", 0xDCA0: "\u00a0"}
"""Bytes of Windows-1252, which are not UTF-8, where words and code are pasted through a mail or an office program."""


def without_margins(text: str) -> str:
    """The text without what tools put before or behind its lines, and without markup around it. O(length)."""
    if any(chr(code) in text for code in _WINDOWS):
        text = text.translate(_WINDOWS)
    if "quoted-printable" in text:
        text = quopri.decodestring(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    if _MARKED_UP.search(text) is not None:
        text = html.unescape(_TAG.sub("", text.replace("<br>", " ").replace("&nbsp;", " ")))
    elif len(_QUOTE.findall(text)) > text.count('"'):
        text = html.unescape(text)
    if "{code" in text or "{noformat" in text or "{quote" in text or "{panel" in text:
        text = _MARKUP.sub("", text)
    if _CELL.search(text) is not None:
        text = text.replace('""', '"')
    if "<" in text:
        text = _LINK.sub(lambda match: match["url"] or match[2], text)
    if "\\{" in text or "\\[" in text:
        text = _ESCAPED_MARKDOWN.sub(r"\1", text)
    lines = text.split("\n")
    if _HUNK.search(text) is not None:
        lines = ["" if line.startswith(("-", "+++", "@@")) else line[1:] for line in lines]
    return "\n".join(_continued(_stripped(lines)))


def _continued(lines: Iterable[str]) -> Iterator[str]:
    """The lines, those of one command together at its last one: a shell goes on behind a backslash, after a ``>``."""
    before, count = "", 0
    for written in lines:
        line = _SECOND_PROMPT.sub("", written) if before else written
        if line.endswith(" \\") and count < _MOST_CONTINUED:
            before, count = f"{before}{line[:-1].strip()} ", count + 1
            yield ""
            continue
        yield f"{before}{line.strip()}" if before else line
        before, count = "", 0
    if before:
        yield before


def _stripped(lines: list[str]) -> list[str]:
    """The lines without what a tool put before or behind each: what is around a line in which an answer begins, and the
    same (but for digits) around the lines above and below it. O(length).
    """
    at, room = 0, _TRIES + _TIMES * len(lines)
    while at < len(lines) and room > 0:
        opening = _OPENING.match(lines[at])
        at += 1
        if opening is None:
            continue
        before, behind = opening["before"], opening["behind"] or ""
        if _NO_MARGIN.match(before) is not None:
            before = ""
        if not before and not behind:
            continue
        head = _head(before)
        above = [*takewhile(_is_known, (_inside(lines[up], head, behind) for up in range(at - 2, -1, -1)))]
        below = [*takewhile(_is_known, (_inside(lines[down], head, behind) for down in range(at - 1, len(lines))))]
        room -= len(above) + len(below) + len(lines) // _TRIES
        if len(above) + len(below) >= _FEWEST:
            first, last = at - 1 - len(above), at - 1 + len(below)
            lines[first:last] = [line for line in (*above[::-1], *below) if line is not None]
            at = last
    return lines


def _is_known(line: str | None) -> bool:
    return line is not None


def _head(before: str) -> re.Pattern[str]:
    """What is before lines with this margin: numbers differ from line to line, and the other half of a screen."""
    written = before.rstrip()
    if written.endswith(("│", "┃")):
        return re.compile(f".{{{len(written) - 1}}}{written[-1]}[ \\t]?")
    return re.compile(r"\d+".join(map(re.escape, _NUMBER.split(written))) + r"[ \t]?")


def _inside(line: str, head: re.Pattern[str], behind: str) -> str | None:
    """What is between the margins of a line; None for a line without them."""
    match = head.match(line)
    if match is None:
        return None
    inside = line[match.end() :]
    if not behind:
        return inside
    inside = inside.rstrip(" \t")
    return inside[: -len(behind)].rstrip(" \t") if inside.endswith(behind) else None

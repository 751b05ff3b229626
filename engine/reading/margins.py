"""What tools put around every line of a text, or around a text as a whole, and nobody typed.

Logs of containers have a time and a stream before each line, ``docker compose`` and ``kubectl logs --prefix`` the name
of a container, pages the number of a line, a split terminal a border behind it. An issue tracker, a page, a table of
cells or a job runner has the text in markup or in a string of its own. Every line keeps its number.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

_FEWEST: Final = 3
"""So many lines after one another with the same kind of margin have it from a tool, and not by chance."""
_BEFORE: Final = (
    re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.,]{8,24}(?:Z|[+-]\d\d:?\d\d)? (?:stdout|stderr) [FP] ?"),
    re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.,]{8,24}(?:Z|[+-]\d\d:?\d\d) (?=[ {}\[\]\"$]|$)"),
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w./@-]{1,100}(?:\[\d{1,9}\])?: ?"),
    re.compile(r"[\w.-]{1,100} +\| ?"),
    re.compile(r"\[(?:pod/[\w./-]{1,200}|\d{4}-\d\d-\d\d[T ][\d:.,]{8,24}(?:Z|[+-]\d\d:?\d\d)?)\] ?"),
    re.compile(r"[\w.]{1,60}-[\w.-]{1,200} [\w.-]{1,100} (?=[ {}\[\]\"$])"),
    re.compile(r"L\d{1,7}(?:[ :\t]|$)"),
    re.compile(r"(?:> ?){2,20}"),
)
_MOST_CONTINUED: Final = 40
_BEHIND: Final = re.compile(r"[ \t]*[│┃|][ \t]*$")
_OF_JSON: Final = re.compile(r"\s*(?:[{}\[\]]|\"[^\"\n]{1,200}\"\s*:)")
"""How a line of an answer begins, below its margin."""
_MACRO: Final = r"\{(?:code|noformat|quote|panel)(?:[:=][^{}\n\"]{0,200})?\}"
_MARKUP: Final = re.compile(rf"^[ \t]*{_MACRO}|{_MACRO}[ \t]*$", re.MULTILINE)
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,20}(?:\s[^<>\n]{0,300})?/?>")
_CELL: Final = re.compile(r"\{\s{0,40}\"\"[A-Za-z]")
_ESCAPED: Final = re.compile(
    r"\"(?:stdout|stderr|output|cmd|command|log|body|result|content|text|message|msg)\"\s{0,20}:\s{0,20}"
    r"(\"(?:[^\"\\\n]|\\.)*\")"
)
_ENVELOPE: Final = re.compile(r"\"\s*:\s*\"(?:\\[ntr]|\s){0,20}\{(?:\\[ntr]|\s){0,40}\\\"|\"log\"\s*:\s*\"\s*\{?\\n\"")
_BARE: Final = re.compile(
    r"(?<!\\)\"(?:msgRateIn|msgBacklog|subscriptions|entriesAddedCounter|boundaries|brokerUrl|bundles)\"\s*:"
)
"""A member of an answer that is in no string: then strings around it are not taken for the output."""
_WINDOWS: Final = {0xDC85: "…", 0xDC91: "‘", 0xDC92: "’", 0xDC93: "“", 0xDC94: "”", 0xDC96: "-", 0xDCA0: "\u00a0"}
"""Bytes of Windows-1252, which are not UTF-8, where words and code are pasted through a mail or an office program."""


def without_margins(text: str) -> str:
    """The text without what tools put before or behind its lines, and without markup around it. O(length)."""
    if any(chr(code) in text for code in _WINDOWS):
        text = text.translate(_WINDOWS)
    if _ENVELOPE.search(text) is not None and _BARE.search(text) is None:
        text = _out_of_strings(text)
    if text.count("&quot;") > text.count('"'):
        text = html.unescape(_TAG.sub("", text))
    if "{code" in text or "{noformat" in text or "{quote" in text or "{panel" in text:
        text = _MARKUP.sub("", text)
    if _CELL.search(text) is not None:
        text = text.replace('""', '"')
    lines = text.split("\n")
    for pattern in _BEFORE:
        lines = _stripped(lines, [match.end() if (match := pattern.match(line)) else 0 for line in lines])
    ends = [match.start() if (match := _BEHIND.search(line)) else 0 for line in lines]
    for run in _runs(ends):
        if any(_OF_JSON.match(lines[at]) for at in run):
            for at in run:
                lines[at] = lines[at][: ends[at]]
    return "\n".join(_continued(lines))


def _continued(lines: Iterable[str]) -> Iterator[str]:
    """The lines, those of one command together at its last one: a shell goes on behind a backslash."""
    before, count = "", 0
    for line in lines:
        if line.endswith(" \\") and count < _MOST_CONTINUED:
            before, count = f"{before}{line[:-1].strip()} ", count + 1
            yield ""
            continue
        yield f"{before}{line.strip()}" if before else line
        before, count = "", 0
    if before:
        yield before


def _stripped(lines: list[str], widths: list[int]) -> list[str]:
    """The lines without margins of these widths, where several have one after another and an answer is below them."""
    for run in _runs(widths):
        if any(_OF_JSON.match(lines[at], widths[at]) for at in run):
            for at in run:
                lines[at] = lines[at][widths[at] :]
    return lines


def _runs(widths: Iterable[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for at, width in enumerate((*widths, 0)):
        if width:
            run.append(at)
            continue
        if len(run) >= _FEWEST:
            yield run
        run = []


def _out_of_strings(text: str) -> str:
    """What is in strings of members that job runners and logs keep an output in, each at the line where it was."""
    parts: list[str] = []
    at = 0
    for match in _ESCAPED.finditer(text):
        breaks = text.count("\n", at, match.start())
        parts.append("\n" * (breaks or bool(parts)))
        at = match.start()
        try:
            value = str(json.loads(match[1]))
        except ValueError:
            continue
        parts.append(value.replace("\n", " "))
    return "".join(parts)

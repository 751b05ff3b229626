"""Read one JSON value that a person copied, cut or printed with another tool, and say what was mended.

Strict JSON never comes here. Every step consumes text and nothing is read twice beyond a few lines, so the time is
linear; brackets are a list and not the call stack, so no depth can end the process.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from engine.reading.shapes import CONSUMERS, SOME_CONSUMERS, is_topic, name_without_head

DEEPEST: Final = 100
"""The most levels of lists and objects that are read, as for sound answers."""
Path = tuple[str, ...]
"""Names of members from the root to a value; an item of a list adds none."""


class Mend(Enum):
    """What was wrong with a text, as one line for people."""

    COMMENT = "a comment"
    COMMA = "a comma too many"
    NO_COMMA = "a missing comma"
    QUOTES = "other quotes than JSON has"
    NO_QUOTES = "words without quotes"
    LITERAL = "True, False and None as Python writes them"
    WRAPPED = "a text that a terminal broke over two lines"
    MARGIN = "marks before the lines"
    LINES = "other lines in the middle of the answer"
    BRACES = "missing braces around it"
    NUMBER = "numbers in another form"
    TYPE_NAME = "names of types before the braces"


@dataclass(frozen=True, slots=True)
class Cut:
    """A list or an object of which a part is missing: at a mark such as ``...`` (``by_hand``), before its first line in
    the text (``at_head``), else at the end."""

    path: Path
    at: int
    by_hand: bool
    at_head: bool = False


@dataclass(slots=True)
class Read:
    """A value as JSON with the line breaks of the text, where it ends, what was mended, and what is missing.

    ``too_deep`` is the place of a bracket that opens one level too many; there is no value then.
    """

    end: int
    text: str = ""
    mended: Counter[Mend] = field(default_factory=Counter)
    cuts: list[Cut] = field(default_factory=list)
    too_deep: int | None = None


# Besides spaces: what a quoting mail, a table or a comparison puts before a line, and characters without a width.
_SPACE: Final = re.compile(r"(?:\n(?:[>|│]+|[+](?=[ \t]))?|[^\S\n]+|[\ufeff\u200b-\u200d\u2060]+)*")
_STRING: Final = re.compile(r'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"')
_SINGLE: Final = re.compile(r"[ub]?'([^'\\\n]*(?:\\.[^'\\\n]*)*)'")
_TYPOGRAPHIC: Final = re.compile(
    r"[“”„‟«»]([^“”„‟«»\"\n]*)[“”„‟«»\"]|\"([^“”„‟«»\"\\\n]*)[“”„‟]|[‘’‚‛]([^‘’‚‛\n]*)[‘’‚‛]"
)
_NUMBER: Final = re.compile(
    r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?=[^\S\n]*(?:[\n,，}\])=\"'“]|:(?!\d)|//|#|/\*|\.\.|…|$))"
)
_STRICT_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD: Final = re.compile(r"(?:(?:non-)?persistent://)?[A-Za-z_$][\w$./-]*|:[A-Za-z_]\w*(?==>|[ ])")
_BARE: Final = re.compile(r"[^\s,，{}\[\]()\"'“”=]+")
_RANGES: Final = re.compile(r"\[?(?:[(\[]-?\d+:-?\d+\.\.-?\d+:-?\d+[)\]][,\s]*)+\]?(?=[,\s])")
"""Positions from and to, in brackets that tell whether the ends belong to them."""
_RANGES_OF_KEYS: Final = ("keyHashRanges",)
"""A list of texts such as ``[0, 5]``, which look like lists without their quotes."""
_COMMENTS: Final = {"//": "\n", "/*": "*/", "<!": "-->", "#": "\n"}
"""How comments begin and end; one of a line keeps its line break."""
_CUT_MARK: Final = re.compile(
    r":(?=[ \t]*(?:\n|$))|(?:\.{2,}|…)(?:[ \t]*[A-Za-z0-9(][^\n,\[\]{}\"…]{0,80})?(?:\.{2,}|…)?"
    r"|<(?:snip|cut|truncated|omitted|more|\.\.\.)[^>\n]{0,40}>|[\[(](?:snip|cut|truncated|omitted|\.{2,}|…)[^\])\n]{0,40}[\])]",
    re.IGNORECASE,
)
_TYPE: Final = re.compile(
    r"(?:(?:\[\d*\]|map\[[\w.]{1,80}\]|[*&])*[A-Za-z_][\w.:]{0,80}\s*|%)(?=[({])"
    r"|(?:OrderedDict|defaultdict|dict|list|tuple|Some)\s*\("
)
_PAIR: Final = re.compile(r"=>|[:=：]")
_LITERALS: Final = {
    "true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null",
    "TRUE": "true", "FALSE": "false", "NULL": "null", "nil": "null", "undefined": "null",
    "NaN": "NaN", "nan": "NaN", "Infinity": "Infinity", "inf": "Infinity",
}  # fmt: skip
_JSON_LITERALS: Final = ("true", "false", "null", "NaN", "Infinity")
_VALUE_BEGINS: Final = re.compile(r"\s+\S|[\"'{\[(“‘]|[-\d]|(?:true|false|nil)\b|[\w.]{1,80}\{|map\[")
_TITLE: Final = re.compile(r"[A-Za-z][\w -]{0,60}:[ \t]*\n\s*\"[^\"\n]{1,600}\"[ \t]*:[ \t]*\{")
"""A line of words before a member of another answer, which this one does not reach."""
_FOREIGN: Final = re.compile(r"[^\n]*(?:\n|$)")
_GOES_ON: Final = re.compile(r"[ \t]*(?:[\"'“}\]),{\[]|(?:-?\d[\d.eE+-]*|true|false|null)[ \t]*,?[ \t\r]*(?:\n|$))")
_MOST_FOREIGN: Final = 5
"""The most lines of something else between two lines of an answer; with more of them it ended there."""
_DEEPEST_INDENT: Final = 400
"""The most spaces before a line of an answer."""
NARROWEST: Final = 60
"""The least width of a terminal: a shorter line was not broken by one."""
_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
_IN_LIST: Final = re.compile(r"\s*(?:,\s*\{|\])")
"""Behind an object that is an item of a list."""
_MOST_OUTWARD: Final = 8
"""From an item of a consumer to the topics of a broker; each level that the text does not open is read once more."""


@dataclass(slots=True)
class _Open:
    """A list or object that is open: its bracket, its name in the parent, and the text of its members so far."""

    bracket: str
    path: Path
    parts: list[str] = field(default_factory=list)
    members: int = 0
    gap: str = ""
    """Line breaks since the last member, kept so that faults are reported where they are in the file."""
    is_cut: bool = False
    is_list: bool | None = False
    """None in parentheses, until their first token says whether they have names."""
    has_comma: bool = False
    key: str | None = None

    @property
    def text(self) -> str:
        inside = "".join(self.parts) + self.gap
        return f"{{{inside}}}" if self.is_list is False else f"[{inside}]"

    def add(self, value: str) -> None:
        name = f"{json.dumps(self.key, ensure_ascii=False)}:" if self.key is not None else ""
        self.parts.append(f"{',' if self.members else ''}{self.gap}{name}{value}")
        self.gap, self.key, self.has_comma = "", None, False
        self.members += 1


_LABEL: Final = re.compile(r"[A-Z][\w -]{0,60}:[ \t]*\n")
"""A line of its own that says what comes next."""


class Reader:
    """Reads one value from ``start``. ``is_command``: whether a line is a command, with which an answer has ended."""

    def __init__(self, text: str, start: int, is_command: Callable[[str], bool]) -> None:
        self._text = text
        self._at = start
        self._start = start
        self._is_command = is_command
        self._stack: list[_Open] = []
        self._read = Read(start)
        self._quoted_keys = False
        self._outward = 0

    def value(self) -> Read:
        """Read an object or a list that begins here."""
        self._open(is_list=self._skip_type())
        return self._run()

    def members(self) -> Read:
        """Read members of an object whose braces are missing, as far as they go."""
        self._read.mended[Mend.BRACES] += 1
        self._stack.append(_Open("", (), has_comma=False))
        return self._run()

    def _run(self) -> Read:
        while self._stack and self._read.too_deep is None:
            if not self._step():
                self._close_all()
                break
        self._read.end = self._at
        return self._read

    def _step(self) -> bool:
        """Read one member, item, comma or bracket; return False where the value stops."""
        top = self._stack[-1]
        self._space(top)
        if self._at >= len(self._text):
            return False
        char = self._text[self._at]
        if char in ",，":
            self._comma()
            return True
        if char in "}])":
            return self._close(char)
        if self._comment() or self._cut_mark(top):
            return True
        # Members without braces end where another document begins.
        is_bare = top.bracket == "" and not top.is_list
        if is_bare and (char in "{[" or _LABEL.match(self._text, self._at)):
            return False
        if self._quoted_keys and _TITLE.match(self._text, self._at):
            return False
        if top.is_list is None:
            top.is_list = not self._names_a_member()
        if top.is_list:
            return self._item(top) or self._foreign_lines()
        return self._member(top) or self._foreign_lines()

    def _space(self, top: _Open) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        passed = match[0]
        if passed:
            if not passed.isspace():
                self._read.mended[Mend.MARGIN] += 1
            top.gap += "\n" * passed.count("\n")
            self._at = match.end()

    def _comma(self) -> None:
        self._at += 1
        top = self._stack[-1]
        if top.has_comma:
            self._read.mended[Mend.COMMA] += 1
        top.has_comma = True

    def _comment(self) -> bool:
        begins = self._text[self._at : self._at + 2]
        ends = _COMMENTS.get(begins) or _COMMENTS.get(begins[:1])
        if ends is None:
            return False
        end = self._text.find(ends, self._at + 1)
        end = len(self._text) if end < 0 else end + (0 if ends == "\n" else len(ends))
        self._read.mended[Mend.COMMENT] += 1
        self._stack[-1].gap += "\n" * self._text.count("\n", self._at, end)
        self._at = end
        return True

    def _cut_mark(self, top: _Open) -> bool:
        match = _CUT_MARK.match(self._text, self._at)
        if match is None:
            return False
        if not top.is_cut:
            self._read.cuts.append(Cut(top.path, self._at, by_hand=True))
        top.is_cut = True
        self._at = match.end()
        return True

    def _names_a_member(self) -> bool:
        word = _WORD.match(self._text, self._at)
        return word is not None and self._text[word.end() : word.end() + 1] == "="

    def _open(self, *, is_list: bool) -> None:
        bracket = self._text[self._at]
        if len(self._stack) >= DEEPEST:
            self._read.too_deep = self._at
            return
        path: Path = ()
        if self._stack:
            top = self._stack[-1]
            path = (*top.path, top.key) if top.key is not None else top.path
        self._stack.append(_Open(bracket, path, is_list=None if bracket == "(" else is_list or bracket == "["))
        self._at += 1

    def _close(self, char: str) -> bool:
        """Close the object or list that a bracket is for, and with it those inside that are open still."""
        if not any(_CLOSERS.get(level.bracket) == char for level in self._stack):
            if self._stack[0].bracket == "":
                return self._close_unopened(char)
            self._at += 1
            self._read.mended[Mend.BRACES] += 1
            return True
        while _CLOSERS.get(self._stack[-1].bracket) != char:
            self._close_top(cut=True)
        self._at += 1
        if self._stack[-1].has_comma and self._stack[-1].members:
            self._read.mended[Mend.COMMA] += 1
        self._close_top(cut=False)
        return True

    def _close_unopened(self, char: str) -> bool:
        """Close an object or a list that began before the text did: what follows is around it."""
        root = self._stack[0]
        is_open = len(self._stack) > 1 or root.key is not None
        if is_open or char != ("]" if root.is_list else "}") or self._outward == _MOST_OUTWARD:
            return False
        if not self._outward:
            self._read.cuts.append(Cut((), self._start, by_hand=False, at_head=True))
        self._outward += 1
        self._at += 1
        value = root.text
        inside = json.loads(value)
        if not root.is_list and is_topic(inside):
            return False
        around = _Open("", ())
        around.is_list = char == "}" and _IN_LIST.match(self._text, self._at) is not None
        name = None if around.is_list else name_without_head(inside)
        if around.is_list and root.members:
            around.add(value)
        elif name is not None:
            around.key = name
            around.add(value)
        self._stack = [around]
        return True

    def _close_top(self, *, cut: bool) -> None:
        top = self._stack.pop()
        if cut and not top.is_cut:
            self._read.cuts.append(Cut(top.path, self._at, by_hand=False))
        is_list = top.is_list is not False
        whole = not (cut or top.is_cut)
        value = top.text
        if not self._stack:
            self._read.text = value
            return
        parent, inside = self._stack[-1], value[1:-1]
        if not whole and is_list and top.members and parent.key == CONSUMERS:
            parent.key = SOME_CONSUMERS
        elif not whole and (is_list or not top.members):
            # A part of a list would be taken for all of it: nothing is known of it then.
            parent.gap += "\n" * inside.count("\n")
            parent.key, parent.has_comma = None, False
            if parent.is_list and not parent.is_cut:
                parent.is_cut = True
                self._read.cuts.append(Cut(parent.path, self._at, by_hand=top.is_cut))
            return
        if top.bracket == "(" and top.is_list and top.members == 1:
            value = inside  # Some(1), dict({...}): one value in the parentheses of a type
        if parent.is_list and parent.path[-1:] == _RANGES_OF_KEYS:
            value = json.dumps(value.replace(",", ", "))
        parent.add(value)

    def _close_all(self) -> None:
        root = self._stack[0]
        if root.bracket == "" and len(self._stack) == 1 and not root.is_list:
            self._close_top(cut=False)
            return
        while self._stack:
            self._close_top(cut=True)
        if root.bracket == "" and root.is_list:
            name = name_without_head(json.loads(self._read.text))
            self._read.text = f'{{"{name}":{self._read.text}}}' if name is not None else ""

    def _member(self, top: _Open) -> bool:
        """Read the name of a member, and its value unless that is another object or list."""
        before = self._at
        name = self._name()
        if name is None:
            return False
        self._spaces_inside(top)
        pair = _PAIR.match(self._text, self._at)
        if pair is None:
            if self._goes_on_from(top, before):
                return True
            self._at = before
            return False
        after = self._at
        self._at = pair.end()
        self._spaces_inside(top)
        self._expect_comma(top)
        top.key = name
        mark = _CUT_MARK.match(self._text, self._at)
        if mark is not None:
            top.has_comma = False
            self._read.cuts.append(Cut((*top.path, name), self._at, by_hand=True))
            self._at, top.key = mark.end(), None
            return True
        if self._value(top):
            return True
        top.key, top.has_comma = None, False
        if self._text[self._at : self._at + 1] in (",", "}", "]", ")"):
            # The value was taken out by hand, with nothing in its place.
            self._read.cuts.append(Cut((*top.path, name), self._at, by_hand=True))
            return True
        self._at = after
        end = self._text.find("\n", after)
        self._read.cuts.append(Cut((*top.path, name), after, by_hand=False))
        self._at = len(self._text) if end < 0 else end
        return True

    def _goes_on_from(self, top: _Open, before: int) -> bool:
        """Add a text to the one before it, as Python prints a long text in several pieces."""
        if self._text[before] not in "'\"" or not top.parts or top.has_comma or not top.parts[-1].endswith('"'):
            return False
        self._at = before
        text = self._string()
        if text is None:
            return False
        top.parts[-1] = top.parts[-1][:-1] + text[1:]
        return True

    def _item(self, top: _Open) -> bool:
        before = self._at
        if self._text[before] == "'" and self._goes_on_from(top, before):
            return True
        if not self._value(top):
            self._at = before
            return False
        return True

    def _expect_comma(self, top: _Open) -> None:
        if top.members and not top.has_comma:
            self._read.mended[Mend.NO_COMMA] += 1

    def _value(self, top: _Open) -> bool:
        """Read a value, or open an object or a list."""
        if self._at >= len(self._text):
            return False
        ranges = _RANGES.match(self._text, self._at)
        if ranges is not None:
            top.add(json.dumps(ranges[0]))
            self._at = ranges.end()
            return True
        is_list = self._skip_type()
        char = self._text[self._at : self._at + 1]
        if char and char in "{[(":
            if char == "(" and not (self._at and self._text[self._at - 1].isalnum()) and top.bracket == "":
                return False
            self._open(is_list=is_list)
            return True
        text = self._string()
        if text is not None:
            top.add(text)
            return True
        return self._number(top) or self._bare(top)

    def _skip_type(self) -> bool:
        """Pass over the name of a type; return whether its braces hold a list, as Go writes it."""
        match = _TYPE.match(self._text, self._at)
        if match is None:
            return False
        self._read.mended[Mend.TYPE_NAME] += 1
        self._at = match.end() - match[0].endswith("(")
        return match[0].startswith("[")

    def _spaces_inside(self, top: _Open) -> None:
        while True:
            self._space(top)
            if self._at >= len(self._text) or not self._comment():
                return

    def _name(self) -> str | None:
        start = self._at
        text = self._string()
        if text is not None:
            self._quoted_keys = True
            return str(json.loads(text))
        number = _NUMBER.match(self._text, start)
        word = _WORD.match(self._text, start) or number
        if word is None:
            return None
        end = word.end()
        behind = self._text[end : end + 1]
        if behind == "=" or (behind == ":" and (not self._quoted_keys or _VALUE_BEGINS.match(self._text, end + 1))):
            self._read.mended[Mend.NO_QUOTES] += 1
            self._at = end
            return word[0].lstrip(":")
        if behind in (" ", "\t") and re.compile(r"[ \t]+[:=][ \t]").match(self._text, end):
            self._read.mended[Mend.NO_QUOTES] += 1
            self._at = end
            return word[0].lstrip(":")
        return None

    def _string(self) -> str | None:
        """Read a text in any quotes as a JSON string; None where none begins."""
        text, at = self._text, self._at
        char = text[at : at + 1]
        if char == '"':
            match = _STRING.match(text, at)
            if match is not None:
                self._at = match.end()
                return f'"{match[1]}"' if _is_plain(match[1]) else json.dumps(_unescaped(match[1]), ensure_ascii=False)
            return self._mixed() or self._wrapped(at)
        if char in ("'", "u", "b"):
            match = _SINGLE.match(text, at)
            if match is None:
                return None
            self._at = match.end()
            self._read.mended[Mend.QUOTES] += 1
            return json.dumps(_unescaped(match[1]), ensure_ascii=False)
        return self._mixed() if char and char in "“”„‟«»‘’‚‛" else None

    def _mixed(self) -> str | None:
        match = _TYPOGRAPHIC.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        self._read.mended[Mend.QUOTES] += 1
        return json.dumps(next(group for group in match.groups() if group is not None), ensure_ascii=False)

    def _wrapped(self, at: int) -> str | None:
        """Read a text that a terminal broke: the line is full, and the text ends on the next one."""
        end = self._text.find("\n", at)
        if end < 0 or end - self._line_at(at) < NARROWEST:
            return None
        close = self._text.find('"', end)
        stop = self._text.find("\n", end + 1)
        if close < 0 or (0 <= stop < close):
            return None
        inside = self._text[at + 1 : end].rstrip("\r") + self._text[end + 1 : close]
        if "\\" in inside:
            return None
        self._at = close + 1
        self._read.mended[Mend.WRAPPED] += 1
        self._stack[-1].gap += "\n"
        return json.dumps(inside, ensure_ascii=False)

    def _line_at(self, at: int) -> int:
        """The beginning of a line. O(its length): asked once for a line."""
        return self._text.rfind("\n", 0, at) + 1

    def _number(self, top: _Open) -> bool:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            return False
        end, digits = match.end(), match[0]
        if self._text[end : end + 1] == "\n" and end - self._line_at(end) >= NARROWEST:
            rest = re.compile(r"[\d.]+(?=\s*[,}\]])").match(self._text, end + 1)
            if rest is not None:
                self._read.mended[Mend.WRAPPED] += 1
                digits, end = digits + rest[0], rest.end()
        if end >= len(self._text):
            return False  # the end of the text may be the middle of the number
        if not _STRICT_NUMBER.fullmatch(digits):
            try:
                value = float(digits)
            except ValueError:
                return False
            self._read.mended[Mend.NUMBER] += 1
            digits = json.dumps(int(value) if value.is_integer() and abs(value) < 2**53 else value)
        self._at = end
        top.add(digits)
        return True

    def _bare(self, top: _Open) -> bool:
        match = _BARE.match(self._text, self._at)
        if match is None or match.end() >= len(self._text):
            return False
        word = match[0]
        literal = _LITERALS.get(word)
        if literal is not None:
            if word not in _JSON_LITERALS:
                self._read.mended[Mend.LITERAL] += 1
            top.add(literal)
            self._at = match.end()
            return True
        long = re.fullmatch(r"(-?\d{1,19})[lL]", word)
        if long is not None:
            self._read.mended[Mend.NUMBER] += 1
            top.add(str(int(long[1])))
            self._at = match.end()
            return True
        if top.key is None and not top.is_list:
            return False
        # A value without quotes ends its line or stands before a comma or bracket; a sentence does not.
        rest = re.compile(r"[^\S\n]*(?:[\n,，}\])]|//|#)").match(self._text, match.end())
        if rest is None or (top.is_list and top.bracket == "[" and self._quoted_keys) or word[0] in "@$%!?<>&;":
            return False
        top.add(json.dumps(word, ensure_ascii=False))
        self._read.mended[Mend.NO_QUOTES] += 1
        self._at = match.end()
        return True

    def _foreign_lines(self) -> bool:
        """Pass over lines of something else in the middle, if the answer goes on behind them."""
        at = self._text.rfind("\n", max(0, self._at - _DEEPEST_INDENT), self._at) + 1
        if (
            (at == 0 and self._at > _DEEPEST_INDENT)
            or self._text[at : self._at].strip()
            or self._stack[0].bracket == ""
        ):
            return False
        place = at
        for _ in range(_MOST_FOREIGN):
            line = _FOREIGN.match(self._text, place)
            assert line is not None
            if not line[0] or self._is_command(line[0]):
                return False
            place = line.end()
            if place >= len(self._text):
                return False
            goes_on = _GOES_ON.match(self._text, place)
            if goes_on is not None:
                if goes_on[0] in ("{", "["):
                    return False  # at the margin begins another answer
                self._read.mended[Mend.LINES] += 1
                self._stack[-1].gap += "\n" * self._text.count("\n", at, place)
                self._at = place
                return True
        return False


_PLAIN: Final = re.compile(r"(?:[^\x00-\x1f\\]|\\[\"\\/bfnrt]|\\u[0-9a-fA-F]{4})*")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def _is_plain(inside: str) -> bool:
    return ("\\" not in inside and inside.isprintable()) or _PLAIN.fullmatch(inside) is not None


def _unescaped(inside: str) -> str:
    """The characters of a text as Python, Java or JavaScript escapes them.

    >>> _unescaped(r"it\\'s \\x41")
    "it's A"
    """

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 1:
            return _ESCAPED.get(code, code)
        number = int(code[1:], 16)
        return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"

    return _ESCAPE.sub(character, inside)

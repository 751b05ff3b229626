"""Turn the bytes of a file into one JSON text, undoing gzip, byte order marks and UTF-16, and locate its faults.

Nothing here knows what an answer means, only where a text stops being JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Final

import msgspec

from engine.errors import InputError, Problem
from engine.input import GZIP_MAGIC, MAX_INPUT_BYTES, Gunzipped, collected_if_small, size_text, sliced

SET_ASIDE: Final = "this one is set aside; the rest is kept"
"""The advice of a problem that costs one item alone."""
_MARKS: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_OFFSET: Final = re.compile(r"\(byte (\d+)\)")


def plain_json(data: bytes, source: str, *, limit: int = MAX_INPUT_BYTES) -> tuple[bytes, tuple[Problem, ...]]:
    """Return the UTF-8 bytes of a text, unpacked and decoded from any encoding of a shell's redirection.

    Each repair is a ``Problem``; the readable part is returned, possibly ``b""``. O(length).
    """
    problems: list[Problem] = []
    if data[:2] == GZIP_MAGIC:
        data, problem = _gunzip(data, source, limit)
        problems += [problem] if problem else []
    data, problem = _to_utf_8(data, source)
    problems += [problem] if problem else []
    if not problems and (not data or data.isspace()):
        problems.append(Problem(source, "$", "the file is empty", "record the answer again"))
    return data, tuple(problems)


def _gunzip(data: bytes, source: str, limit: int) -> tuple[bytes, Problem | None]:
    tried: list[Gunzipped] = []

    def begin() -> Gunzipped:
        tried.append(Gunzipped(sliced(data)))
        return tried[-1]

    try:
        out = collected_if_small(begin, len(data), limit)
    except InputError as error:
        return b"", Problem(source, "$", str(error), "check what this file really is")
    if out is None:
        reason = f"unpacks to more than {size_text(limit)}, which is all that is read (--max-input)"
        return b"", Problem(source, "$", reason, "check what this file really is, or give a larger --max-input")
    fault = tried[-1].fault
    return out, Problem(source, "$", fault, "copy the file again") if fault else None


def _to_utf_8(data: bytes, source: str) -> tuple[bytes, Problem | None]:
    if data.startswith(_UTF_8_MARK):
        return data[3:], Problem(source, "$", "starts with a byte order mark; it was read without", "save without BOM")
    encoding, mark = _encoding_of(data)
    if encoding is None:
        return data, None
    body = data[mark:]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as fault:
        return b"", Problem(source, "$", f"looks like UTF-16 but is not: {fault.reason}", "save the file as UTF-8")
    return text.encode("utf-8", "replace"), Problem(
        source, "$", "is written in UTF-16 and was converted", "save the file as UTF-8"
    )


def _encoding_of(data: bytes) -> tuple[str | None, int]:
    """Return UTF-16 recognised by its mark or by every other byte being NUL, and the length of the mark."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is not None:
        return encoding, 2
    first = data[:4]
    if len(first) == 4 and (first[0] == 0) != (first[1] == 0):
        return ("utf-16-le" if first[1] == 0 else "utf-16-be"), 0
    return None, 0


def nul_in(head: bytes) -> int | None:
    """Return the offset of the first NUL, which JSON never has; None without one."""
    encoding, mark = _encoding_of(head)
    text = head if encoding is None else head[mark:].decode(encoding, "ignore").encode("utf-8", "replace")
    at = text.find(b"\0")
    return at if at >= 0 else None


def malformed(data: bytes, source: str, fault: Exception, path: str = "$") -> Problem:
    """Return the problem of a text that is not JSON: the first fault with line and column (in characters), from 1."""
    advice = "record the answer again, whole"
    if isinstance(fault, RecursionError):
        return _too_deep(data, source, path)
    reason, offset = _reason(data, fault)
    line, column = _line_and_column(data, offset)
    word = data[offset : offset + 9].decode("utf-8", "replace")
    literal = re.match(r"-?(NaN|Infinity)|nan", word)
    if literal:
        reason, advice = f"has {literal[0]}, which is not a JSON number", "write 0.0, or record the answer again"
    return Problem(source, path, f"is not JSON: {reason}" if not literal else reason, advice, line, column)


_DEEPEST: Final = 100
"""The most levels of lists and objects that are read; a broker's answers have about ten."""
_SEARCHED_BYTES: Final = 1 << 24
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)


def _too_deep(data: bytes, source: str, path: str) -> Problem:
    """Locate the bracket that opens one level too many, unless it is beyond the searched bytes."""
    reason, advice = f"is nested more than {_DEEPEST} levels deep", "check what this file really is"
    depth = 0
    for token in _TOKEN.finditer(data, 0, _SEARCHED_BYTES):
        first = token[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > _DEEPEST:
            return Problem(source, path, reason, advice, *_line_and_column(data, token.start()))
    return Problem(source, path, reason, advice)


def _line_and_column(data: bytes, offset: int) -> tuple[int, int]:
    """Return line and column from 1, the column in characters."""
    line = data.count(b"\n", 0, offset) + 1
    return line, len(data[data.rfind(b"\n", 0, offset) + 1 : offset].decode("utf-8", "replace")) + 1


def _reason(data: bytes, fault: Exception) -> tuple[str, int]:
    if isinstance(fault, UnicodeDecodeError):
        try:
            data.decode()
        except UnicodeDecodeError as whole:
            return f"{whole.reason} (not UTF-8)", whole.start
    text = str(fault)
    place = _OFFSET.search(text)
    if place is not None:
        offset = min(int(place[1]), len(data))
        reason = text[: place.start()].removeprefix("JSON is malformed: ").strip()
        # msgspec points behind a literal it refused; the useful place is the beginning of the literal.
        while offset > 0 and data[offset - 1 : offset].isalpha() and not data[:offset].endswith(b'"'):
            offset -= 1
        return reason, offset
    if "truncated" in text:
        return "it stops in the middle", len(data)
    return text, 0


def value_problem(source: str, path: str, fault: Exception) -> Problem:
    """Return the problem of a wrong value, from msgspec's message (``Expected `float`, got `str` - at `$.msgRateIn`
    ``)."""
    reason, _, place = str(fault).partition(" - at ")
    inner = place.strip("`").removeprefix("$")
    return Problem(source, path + inner, _plain(reason), SET_ASIDE)


def _plain(reason: str) -> str:
    reason = reason.replace("`", "").replace(" | null", "")
    match = re.fullmatch(r"Expected (\w+), got (\w+)", reason)
    if match:
        return f"{_KINDS.get(match[1], match[1])} is expected here, not {_KINDS.get(match[2], match[2])}"
    if reason.endswith(">= 0.0") or reason.endswith(">= 0"):
        return "a rate or a size cannot be negative"
    if _BEYOND.fullmatch(reason):
        return "this number is out of range: a broker's numbers are below 2^53, places of hash ranges below 2^31"
    return reason


_BEYOND: Final = re.compile(r"Expected (?:int|float) [<>]= -?[0-9.]+")
_KINDS: Final = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "object": "an object",
    "array": "a list",
    "bool": "true or false",
    "null": "null",
}


# ``json.dumps`` would make an encoder for each topic.
_QUOTED: Final = json.JSONEncoder(ensure_ascii=False).encode


def child(path: str, key: str) -> str:
    """Return the JSON path of a member: ``$.a`` for plain names, ``$["persistent://t/n/x"]`` for others.

    >>> child("$", "partitions")
    '$.partitions'
    """
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{_QUOTED(key)}]"


RawObject = dict[str, msgspec.Raw]
_RAW_OBJECT: Final = msgspec.json.Decoder(RawObject)
_RAW_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


def raw_object(
    data: bytes | msgspec.Raw, source: str, path: str = "$", *, check_names: bool = True
) -> tuple[RawObject, tuple[Problem, ...]]:
    """Split one object into undecoded members, and return the problems of the object itself.

    A repeated name is a problem (the later one counts, as for Pulsar's own reader), unless ``check_names`` is off.
    O(length).
    """
    try:
        members = _RAW_OBJECT.decode(data)
    except msgspec.ValidationError:
        return {}, (Problem(source, path, "an object { } is expected here", "check what this file really is"),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return {}, (malformed(bytes(data), source, fault, path),)
    if not check_names or _fills(data, members):
        return members, ()
    return members, tuple(
        Problem(source, child(path, name), "occurs twice here; the later one counts", "keep one of them")
        for name in duplicate_names(bytes(data), members)
    )


def _fills(data: bytes | msgspec.Raw, members: RawObject) -> bool:
    """Whether an object written without spaces has no room for more members, and so no name twice. O(members)."""
    written = sum(len(name.encode()) + len(memoryview(raw)) for name, raw in members.items())
    return len(memoryview(data)) == written + len('"":,') * len(members) + len("{}") - bool(members)


_SPACE: Final = re.compile(rb"[\s,]*")
_COLON: Final = re.compile(rb"\s*:\s*")
_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def duplicate_names(data: bytes, members: RawObject) -> tuple[str, ...]:
    """Return the names that occur more than once in the object ``data``, whose members msgspec has split already.

    Goes from name to name and skips each value by comparing it with the kept one. From the first replaced value on,
    all are parsed instead. O(length).
    """
    seen: set[str] = set()
    at = data.index(b"{") + 1
    while True:
        gap = _SPACE.match(data, at)
        assert gap is not None
        name_at = _STRING.match(data, gap.end())
        if name_at is None:
            return ()
        name = name_at[1].decode() if b"\\" not in name_at[1] else str(json.loads(name_at[0]))
        colon = _COLON.match(data, name_at.end())
        assert colon is not None
        kept = bytes(members[name])
        end = colon.end() + len(kept)
        # A number can be the beginning of another number, so what follows has to end the value too.
        same = data.startswith(kept, colon.end()) and data[end : end + 1] in b",} \t\r\n"
        if name in seen or not same:
            return _duplicates_from(data[gap.end() :], seen)
        seen.add(name)
        at = end


_SPACES: Final = re.compile(r"[\s,]*")
_DECODER: Final = json.JSONDecoder(strict=False, parse_int=len, parse_float=len)
"""Numbers are not parsed: only names matter, and Python refuses numbers of thousands of digits."""


def _duplicates_from(data: bytes, seen: set[str]) -> tuple[str, ...]:
    """Return the repeated names in the rest of an object, parsed member by member; ``seen`` are the names before."""
    text = data.decode("utf-8", "replace")
    twice: dict[str, None] = {}
    at = 0
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        if name in seen:
            twice[name] = None
        seen.add(name)
        colon = text.index(":", at)
        _, at = _DECODER.raw_decode(text, _after_space(text, colon + 1))
        at = _after_space(text, at)
    return tuple(twice)


def _after_space(text: str, at: int) -> int:
    """Return the next place that is neither space nor a comma."""
    space = _SPACES.match(text, at)
    assert space is not None
    return space.end()


def raw_list(data: bytes | msgspec.Raw, source: str, path: str = "$") -> tuple[list[msgspec.Raw], tuple[Problem, ...]]:
    """Split one list into undecoded items, and return the problems of the list itself."""
    try:
        return _RAW_LIST.decode(data), ()
    except msgspec.ValidationError:
        return [], (Problem(source, path, "a list [ ] is expected here", "check what this file really is"),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return [], (malformed(bytes(data), source, fault, path),)


# Larger texts are dumps that nobody edits by hand, and Pulsar's writer never repeats a member.
WHOLE_CHECK_BYTES: Final = 16 * 1024**2


def unread_faults(data: bytes, source: str) -> tuple[Problem, ...]:
    """What is wrong with a text of which nothing is used, so that no decoder says it; nothing of a long one."""
    if len(data) > WHOLE_CHECK_BYTES:
        return ()
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return (malformed(data, source, fault),)
    return ()


def repeated_members(data: bytes | msgspec.Raw, source: str, path: str) -> tuple[Problem, ...]:
    """Return the repeated members of any object below ``data``; the later one counts.

    Decoding and encoding again loses repeated members: only if the number of names then differs, a slow parser looks
    for them. O(length).
    """
    raw = bytes(data)
    if raw.count(b'":') <= msgspec.json.encode(msgspec.json.decode(raw)).count(b'":'):
        return ()
    repeated: list[str] = []

    def look(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) != len(pairs):
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return members

    json.loads(raw, object_pairs_hook=look)
    return tuple(
        Problem(source, path, f"{name!r} occurs twice in one object; the later one counts", "keep one of them")
        for name in dict.fromkeys(repeated)
    )


def without_nulls(value: object) -> object:
    """Return the value without null members and items, which older releases write where newer ones write nothing.

    >>> without_nulls({"type": None, "consumers": [None, {"address": None}]})
    {'consumers': [{}]}
    """
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value

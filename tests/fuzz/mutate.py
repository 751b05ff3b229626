"""Changes to an input: of values and structure where it is JSON, of words where it is text, of bytes anywhere."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.fuzz.case import Case, Lines
from tests.fuzz.tree import Literal, Members, at_path, edited, paths, replaced, thing_at

NUMBERS: Final = (
    "0", "-0.0", "-1", "1", "2", "0.5", "1e308", "-1e308", "1e-320", "1e400", "NaN", "Infinity", "-Infinity",
    "2147483646", "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296", "65535", "65536", "65537",
    "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "1" + "0" * 400, "1" + "0" * 5000, "100001", "999999999", "1000000000000",
)  # fmt: skip
TEXTS: Final = (
    "", " ", "\0", "\n", "\x1b[2J", "\x9b31m", "a\u202eb", "\ud800", "\udcff", "[/x]", "[@click=app.quit]x[/]",
    "$(touch pwned)", "';--", "=cmd|'/C calc'!A0", "../../x", "/dev/zero", "x" * 200, "x" * 20_000, "\U0001f3bb" * 50,
    "persistent://public/default/x", "persistent://public/default/x-partition-2147483646", "persistent://a/b",
    "non-persistent://e;vil/n/x", "topic://t/n/x", "segment://t/n/p/0000-ffff-1", "0x00000000_0xffffffff",
    "0xffffffff_0x00000000", "0x0_0x1", "LARGEST", "-1", "NaN", "true", "None", "2147483648", "9" * 30, "[0, 65535]",
    "[9, 1]", "Failover", "Key_Shared", "Shared", "1.0.0", "9.9.9", "2024-13-45T99:99:99Z",
    "1970-01-01T00:00:00.000Z", "0001-01-01T00:00:00Z",
)  # fmt: skip
NAMES: Final = (
    "type", "kind", "consumers", "subscriptions", "partitions", "metadata", "boundaries", "numBundles", "bundles",
    "msgRateIn", "publishers", "steps", "answers", "request", "status", "file", "code_points", "float", "name",
    "ranges", "columns", "recipe", "topics", "loads", "keyHashRanges", "keyHashRangeArrays", "activeConsumerName",
    "unackedMessages", "scenario", "version", "lastStats", "bundleStats", "topicHashPositions", "connected",
)  # fmt: skip
COLUMNS: Final[tuple[tuple[Any, ...], ...]] = (
    (None,), (0, -1, 2**31, 2**63 - 1, -(2**63)), (0.0, float("nan"), float("inf"), 1e308, -1.0), (True, False),
    tuple(text for text in TEXTS if text.isprintable() or text.isascii()), (b"\xff", b""), ([1], [], [2**40]),
    (["a", ""], [None], []), ({"a": 1},),
)  # fmt: skip
"""Values that a column may have, each column of one type."""
Mutation = Callable[[Random, Any], Any]


def mutated(random: Random, case: Case) -> Case:
    """The input after one to four changes, sometimes of its bytes at the end."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        body = case.body
        # A file may be called a table and be a text.
        if case.name.endswith(".parquet") and isinstance(body, bytes) and random.random() < 0.7:
            case = replace(case, body=_of_table(random, body))
        elif isinstance(body, Lines):
            case = replace(case, body=_of_lines(random, body))
        elif not isinstance(body, bytes):
            case = replace(case, body=_of_tree(random, body))
        else:
            case = replace(case, body=_of_bytes(random, body))
    if random.random() < 0.12 and not isinstance(case.body, bytes):
        case = replace(case, body=_of_bytes(random, case.content()))
    return case


def _of_tree(random: Random, tree: Any) -> Any:
    places = paths(tree)
    path = random.choice(places)
    value = at_path(tree, path)
    if not path:
        path = random.choice(places)
    roll = random.random()
    if roll < 0.40 or not path:
        return replaced(tree, path, _other(random, value))
    thing = thing_at(tree, path)
    if roll < 0.50:
        return edited(tree, path)
    if roll < 0.60:
        return edited(tree, path, *[thing] * random.choice((2, 3, 300)))
    if roll < 0.70:
        other = random.choice(places)
        return replaced(tree, path, at_path(tree, other))
    if roll < 0.85 and isinstance(at_path(tree, path[:-1]), Members):
        name = random.choice((*TEXTS, *NAMES))
        return edited(tree, path, [name, thing[1]])
    if roll < 0.92 and isinstance(at_path(tree, path[:-1]), Members):
        return edited(tree, path, thing, [random.choice(NAMES), _any(random)])
    return replaced(tree, path, _nested(random))


def _of_table(random: Random, data: bytes) -> bytes:
    """A column gone, twice, of another type or name, or with other values; or rows gone or repeated."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError, ValueError):
        return _of_bytes(random, data)
    at = random.randrange(table.num_columns) if table.num_columns else 0
    roll = random.randrange(8)
    if not table.num_columns or roll == 0:
        table = table.slice(random.randrange(table.num_rows + 1))
    elif roll == 1:
        table = pa.concat_tables([table] * 3)
    elif roll == 2:
        table = table.remove_column(at)
    elif roll == 3:
        table = table.append_column(table.field(at), table.column(at))
    elif roll == 4:
        table = table.set_column(at, random.choice(NAMES), table.column(at))
    else:
        column = random.choice(COLUMNS)
        values = column[random.randrange(len(column))] if roll == 5 else None
        cells = [random.choice(column) if values is None else values for _ in range(table.num_rows)]
        table = table.set_column(at, table.field(at).name, pa.array(cells))
    changed = io.BytesIO()
    pq.write_table(table, changed)
    return changed.getvalue()


def _other(random: Random, value: Any) -> Any:
    """Another value, three times of four of the same kind."""
    if random.random() < 0.25:
        return _any(random)
    if isinstance(value, Literal):
        return Literal(random.choice(NUMBERS))
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return _text(random, value)
    if isinstance(value, Members):
        return Members(value[: random.randrange(len(value) + 1)])
    if isinstance(value, list):
        return value[::-1] if random.random() < 0.5 else value[: random.randrange(len(value) + 1)]
    return _any(random)


def _text(random: Random, value: str) -> str:
    roll = random.random()
    if roll < 0.5 or not value:
        return random.choice(TEXTS)
    at = random.randrange(len(value))
    if roll < 0.75:
        return value[:at] + random.choice(TEXTS) + value[at:]
    return value[:at] + value[at + random.randrange(1, 5) :]


def _any(random: Random) -> Any:
    return random.choice(
        (None, True, False, [], Members(), Literal(random.choice(NUMBERS)), random.choice(TEXTS), [[]],
         Members([["", None]]))
    )  # fmt: skip


def _nested(random: Random) -> Literal:
    depth = random.choice((30, 99, 101, 600, 3000, 60_000))
    left, right = random.choice((("[", "]"), ('{"a":', "}"), ('{"subscriptions":', "}")))
    inside = "1" if left != "[" else ""
    return Literal(left * depth + inside + right * depth)


def _of_lines(random: Random, lines: Lines) -> Lines:
    if not lines:
        return Lines([random.choice(TEXTS).encode("utf-8", "surrogatepass")])
    at = random.randrange(len(lines))
    line = lines[at]
    roll = random.random()
    if roll < 0.08:
        return Lines([*lines[:at], *lines[at + 1 :]])
    if roll < 0.16:
        return Lines([*lines[:at], *[line] * random.choice((2, 50)), *lines[at + 1 :]])
    if roll < 0.22:
        other = random.randrange(len(lines))
        return Lines([*lines[:at], lines[other], *lines[at + 1 :]])
    changed = _of_words(random, line) if isinstance(line, bytes) else _of_tree(random, line)
    return Lines([*lines[:at], changed, *lines[at + 1 :]])


def _of_words(random: Random, line: bytes) -> bytes:
    for blank in (b" ", b",", b"\t"):
        words = line.rstrip(b"\n").split(blank)
        if len(words) > 1:
            break
    at = random.randrange(len(words))
    new = random.choice((*TEXTS, *NUMBERS)).encode("utf-8", "surrogatepass")
    words[at : at + 1] = random.choice(([new], [words[at], new], [], [words[at] + new]))
    return blank.join(words) + b"\n"


INTERESTING: Final = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"\\", b"\\u", b"{", b"}",
                      b"[", b"]", b",", b":", b"\n", b"\r", b"1e", b"-", b"\x1f\x8b", b"PAR1", b"\x80")  # fmt: skip


def _of_bytes(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice((1, 1, 2, 8, 100)))
    match random.randrange(11):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[end:]
        case 2:
            return data[:at] + data[at:end] * random.choice((2, 30)) + data[end:]
        case 3:
            return data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-16-be", "utf-32", "utf-8-sig")))
        case 4:
            return gzip.compress(data, mtime=0)
        case 5:
            packed = gzip.compress(data, mtime=0)
            return packed[: random.randrange(len(packed))]
        case 6:
            return gzip.compress(data, mtime=0) + random.choice((b"\0" * 100, b"garbage", data[:20]))
        case 7 | 8 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
    return data[:at] + random.choice(INTERESTING) + data[at:]

"""What must hold however bad the input is. Knows nothing of how it is read."""

from __future__ import annotations

import gzip
import json
import re
import signal
import unicodedata
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.hostile.limited import OUTPUT_BYTES, Ended
from tests.hostile.readers import ABOUT_A_PART, MAY_FAIL

LONGEST_LINE: Final = 2_000
"""The most characters of a sentence for people, whatever a file holds."""
_INTERNAL: Final = re.compile(r"Traceback|unexpected [A-Z]|fault of ringside|[Ii]nternal error")
_PLACE: Final = re.compile(r":\d+(:\d+)?\b| at \$|\bbyte [\d,]+ of the file|the gzip data stops")


def faults(words: Sequence[str], ended: Ended, path: Path, kind: str) -> list[str]:
    """Everything that is wrong with how a run over one file ended; empty when it is as documented."""
    if ended.signal:
        return [f"ended by {_name_of(ended.signal)}"]
    command = words[0]
    result: list[str] = []
    internal = _INTERNAL.search(ended.err) or _INTERNAL.search(ended.out if ended.code else "")
    if internal:
        result.append(f"an internal fault: {_around(ended.err or ended.out, internal.group())}")
    if ended.code not in (0, 1, 2):
        result.append(f"exit code {ended.code}")
    if ended.code == 1 and command not in MAY_FAIL:
        result.append(f"exit code 1, which {command} has no use for: {ended.err[:200]!r}")
    if ended.code == 2:
        result += _of_refusal(words, ended, path, kind)
    controls = sorted({char for text in (ended.out, ended.err) for char in text if not _may_be_printed(char)})
    if controls and "--json" not in words:
        result.append(f"prints {controls[:5]}")
    if "--json" in words and ended.code == 0 and len(ended.out) < OUTPUT_BYTES:
        result += _of_json(ended.out)
    long = max((len(line) for line in ended.err.splitlines()), default=0)
    if long > LONGEST_LINE and not command.startswith("@"):  # those print rows of a table
        result.append(f"a sentence of {long} characters")
    return result


def _of_refusal(words: Sequence[str], ended: Ended, path: Path, kind: str) -> list[str]:
    if not ended.err.strip():
        return ["refused without a word"]
    known_as = "standard input" if "-" in words else path.name
    if not ABOUT_A_PART.isdisjoint(words):
        return []
    if known_as not in ended.err:
        return [f"refused without the name of the file: {ended.err[:200]!r}"]
    if kind == "answers" and words[0] != "verify" and is_malformed(path) and not _PLACE.search(ended.err):
        return [f"malformed, and no place is named: {ended.err[:300]!r}"]
    return []


def is_malformed(path: Path) -> bool:
    """Whether a file begins as a JSON object and is none, as Python's own reader sees it: then there is a place."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except EOFError:
            return False  # nothing but its end is at fault
        except (OSError, zlib.error):
            return True
    if not data.lstrip().startswith(b"{") or b"\0" in data[:4]:
        return False
    try:
        json.loads(data.decode(), parse_constant=_refuse)
    except RecursionError:
        return True
    except ValueError as fault:
        # Python refuses integers of thousands of digits, which JSON does not.
        return "integer string conversion" not in str(fault)
    return False


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _of_json(text: str) -> list[str]:
    try:
        json.loads(text, parse_constant=_refuse)
    except ValueError as fault:
        return [f"prints what is not JSON: {fault}"]
    return []


def _may_be_printed(char: str) -> bool:
    return char.isprintable() or char == "\n" or unicodedata.category(char) == "Zs"


def _name_of(number: int) -> str:
    name = signal.Signals(number).name
    if number in (signal.SIGXCPU, signal.SIGKILL):
        return f"{name}: it takes too much time"
    return name


def _around(text: str, word: str) -> str:
    lines = [line for line in text.splitlines() if word in line]
    last = text.strip().splitlines()[-1] if word == "Traceback" else lines[0]
    return last[:300]

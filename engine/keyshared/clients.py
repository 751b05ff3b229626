"""Sticky ranges as the Java, Python and Go clients take them: source text to paste into a consumer.

Sources: ``KeySharedPolicy.stickyHashRange`` of the Java client, ``ConsumerKeySharedPolicy`` of the Python client,
``NewKeySharedPolicySticky`` of the Go client.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from engine.ranges import HashRange

WIDTH_CHARS: Final = 100


class ClientLanguage(Enum):
    """A client library; the value is its name for users."""

    JAVA = "java"
    PYTHON = "python"
    GO = "go"


def policy_code(language: ClientLanguage, name: str, ranges: Sequence[HashRange]) -> tuple[str, ...]:
    """Source lines that assign a STICKY policy of these ranges to ``name``; none without ranges.

    A policy without ranges is refused by every client. The **Go client's constructor also refuses a range of one slot**
    (it wants start < end), though the broker takes it: then the structure is filled in directly, which it accepts.

    >>> print(*policy_code(ClientLanguage.PYTHON, "node_0", [HashRange(0, 9), HashRange(12, 12)]), sep="\\n")
    node_0 = pulsar.ConsumerKeySharedPolicy(
        key_shared_mode=pulsar.KeySharedMode.Sticky,
        sticky_ranges=[
            (0, 9), (12, 12),
        ],
    )
    """
    if not ranges:
        return ()
    match language:
        case ClientLanguage.JAVA:
            return _java(name, ranges)
        case ClientLanguage.PYTHON:
            return _python(name, ranges)
        case ClientLanguage.GO:
            return _go(name, ranges)


def comment_mark(language: ClientLanguage) -> str:
    """The comment prefix of the language."""
    return "#" if language is ClientLanguage.PYTHON else "//"


def _java(name: str, ranges: Sequence[HashRange]) -> tuple[str, ...]:
    pieces = [f"Range.of({piece.start}, {piece.end})" for piece in ranges]
    body = _rows(pieces, indent=8, ends_with_comma=False)
    return (f"KeySharedPolicy {name} = KeySharedPolicy.stickyHashRange().ranges(", *body[:-1], f"{body[-1]});")


def _python(name: str, ranges: Sequence[HashRange]) -> tuple[str, ...]:
    return (
        f"{name} = pulsar.ConsumerKeySharedPolicy(",
        "    key_shared_mode=pulsar.KeySharedMode.Sticky,",
        "    sticky_ranges=[",
        *_rows([f"({piece.start}, {piece.end})" for piece in ranges], indent=8),
        "    ],",
        ")",
    )


def _go(name: str, ranges: Sequence[HashRange]) -> tuple[str, ...]:
    pairs = [f"{piece.start}, {piece.end}" for piece in ranges]
    if all(piece.size > 1 for piece in ranges):
        # The constructor returns its refusal as a second value, so the generated code checks it.
        return (f"{name}, err := pulsar.NewKeySharedPolicySticky([]int{{", *_rows(pairs, indent=1, tabs=True), "})")
    return (
        "// NewKeySharedPolicySticky refuses a range of one slot; filled in directly it is sent as it is.",
        f"{name} := &pulsar.KeySharedPolicy{{",
        "\tMode: pulsar.KeySharedPolicyModeSticky,",
        "\tHashRanges: []int{",
        *_rows(pairs, indent=2, tabs=True),
        "\t},",
        "}",
    )


def _rows(pieces: Sequence[str], *, indent: int, tabs: bool = False, ends_with_comma: bool = True) -> list[str]:
    """Pieces with commas over lines of at most ``WIDTH_CHARS`` (a tab counts as four)."""
    margin = ("\t" if tabs else " ") * indent
    room = WIDTH_CHARS - indent * (4 if tabs else 1)
    lines: list[str] = []
    row = ""
    for piece in pieces:
        if row and len(row) + len(piece) + 3 > room:
            lines.append(f"{margin}{row},")
            row = piece
        else:
            row = f"{row}, {piece}" if row else piece
    return [*lines, f"{margin}{row}{',' if ends_with_comma else ''}"]

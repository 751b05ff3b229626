"""Numbers as Java's ``Long.decode`` reads them, which is how Pulsar reads bundle boundaries given as text."""

from __future__ import annotations

import unicodedata

from engine.errors import Rejection

_LONG_MIN = -(2**63)
_LONG_MAX = 2**63 - 1


def long_decode(text: str) -> int | Rejection:
    """A 64-bit number: optional sign, then ``0x``, ``0X`` or ``#`` for hex, a leading ``0`` for octal, else decimal.

    Refusal: NumberFormatException for everything else, blanks and underscores included.

    >>> long_decode("0X10"), long_decode("010"), long_decode("-#ff"), long_decode("12")
    (16, 8, -255, 12)
    """
    digits = text
    negative = digits.startswith("-")
    if digits[:1] in ("-", "+"):
        digits = digits[1:]
    radix = 10
    if digits[:2] in ("0x", "0X"):
        radix, digits = 16, digits[2:]
    elif digits.startswith("#"):
        radix, digits = 16, digits[1:]
    elif digits.startswith("0") and len(digits) > 1:
        radix, digits = 8, digits[1:]
    if not digits:
        return _refuse(text)
    value = 0
    for char in digits:
        digit = _digit(char)
        if not 0 <= digit < radix:
            return _refuse(text)
        value = value * radix + digit
        if value > -_LONG_MIN:
            return _refuse(text)
    value = -value if negative else value
    return value if value <= _LONG_MAX else _refuse(text)


def _digit(char: str) -> int:
    """``Character.digit``: any Unicode decimal digit of the basic plane, and Latin letters of both widths; -1 else."""
    if ord(char) > 0xFFFF:
        return -1
    if char.isdecimal():
        return unicodedata.decimal(char)
    for first in "aA\uff41\uff21":
        if ord(first) <= ord(char) <= ord(first) + 25:
            return ord(char) - ord(first) + 10
    return -1


def _refuse(text: str) -> Rejection:
    return Rejection(
        "NumberFormatException", f"{text!r} is not a number: write 0x40000000 or 1073741824", field="boundary"
    )

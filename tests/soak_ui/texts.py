"""Texts that are pasted, by name: what people have in their clipboards, and what somebody may have put there."""

from __future__ import annotations

from typing import Final

TEXTS: Final[dict[str, str]] = {
    "empty": "",
    "blank": "   ",
    "markup": "[bold red]x[/] [/] [@click=app.quit]quit[/] [link=file:///etc]",
    "closing": "[/x]",
    "escapes": "\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\x9b31m",
    "controls": "".join(map(chr, range(32))) + "\x7f\x85\u2028\u2029",
    "lines": "kill billing-0\nadd one\r\nadd two\rundo",
    "many-lines": "line\n" * 500,
    "long": "x" * 5_000,
    "huge": "send order-1 " * 20_000,
    "wide": "消費者" * 40,
    "combining": "e\u0301" * 30 + "\u200b\u202e\ufeff",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 10,
    "surrogate": "\ud800\udfff",
    "zeros": "a\x00b",
    "quotes": "'\"`$(touch pwned);|&\\",
    "formula": "=cmd|' /C calc'!A0",
    "number": "1e308",
    "digits": "9" * 4_000,
    "negative": "-1",
    "percent": "%s %d {0} {x!r} %(a)s",
    "path": "../" * 40 + "etc/passwd",
    "astral": "\U0010ffff" * 5,
    "tab": "a\tb\tc",
    "number-sign": "#0",
    "key-bytes": "\u00e4\u00f6\u00fc\u20ac" * 10,
}

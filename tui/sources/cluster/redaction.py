"""Secrets taken out of what is shown or saved: the one that requests are sent with, and those in brokers' settings.

What is decoded stays as it came: a password may be the name of a namespace.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

HIDDEN: Final = "***"
_SHORTEST: Final = 8
"""A shorter text may be a part of any other."""
_COMPARED: Final = 256
"""Characters of a secret that are compared; what follows them without a gap belongs to it."""
_NAME: Final = re.compile(r"[A-Za-z._:/-]+")
_NUMBER: Final = re.compile(r"[-+.0-9eE]+")
_REST: Final = r"(?:[\w.~+/=%-]|\\+u[0-9A-Fa-f]{4}|\\+/)*"
_IN_ADDRESSES: Final = str.maketrans("+/", "-_")
"""What base64 has in addresses for two of its letters."""
_ESCAPES: Final = {**{char: char for char in '"\\/'}, "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
"""What JSON may write behind a backslash for a character."""
_NOT_IN_ESCAPE: Final = r"(?<!(?<!\\)\\)"
"""The letter of an escape such as a line end is not the beginning of a secret: what is left would not be JSON."""
_SETTING: Final = re.compile(
    "passw|secret|credential|passphrase|authenticationparam|authparam|privatekey", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Secret:
    """The value of an ``Authorization`` header, and the texts in it that nobody may see. Printing it shows nothing.

    ``parts`` are hidden in whatever is shown or saved, also with escapes of JSON or of addresses and as base64.
    ``words`` could as well be names or numbers of the cluster, and so could short parts: they are hidden in what
    somebody says about a request, as whole words.
    """

    header: str = field(default="", repr=False)
    parts: tuple[str, ...] = field(default=(), repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """A text to show or to save without the secret."""
        pattern = _pattern(self.parts) if _may_have(text, self.parts) else None
        return pattern.sub(HIDDEN, text) if pattern is not None else text

    def cover(self, text: str) -> str:
        """The same, as long as before."""
        pattern = _pattern(self.parts) if _may_have(text, self.parts) else None
        return pattern.sub(lambda match: "*" * len(match[0]), text) if pattern is not None else text

    def hide_in(self, data: bytes) -> bytes:
        """An answer to save without the secret. It stays JSON if it was."""
        if not self.parts:
            return data
        text = data.decode("utf-8", "surrogateescape")
        hidden = self.hide(text)
        return data if hidden is text else hidden.encode("utf-8", "surrogateescape")

    def hide_in_reason(self, text: str) -> str:
        """What a broker or a proxy says about a request: they like to repeat what they were sent."""
        text = self.hide(text)
        for word in (*self.words, *(part for part in self.parts if len(part) < _SHORTEST)):
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", HIDDEN, text)
        return text


NO_SECRET: Final = Secret()


def bearer_secret(text: str) -> Secret:
    """A bearer token."""
    return Secret(f"Bearer {text}", **_sorted_out(text, may_be_name=False))


def basic_secret(user: str, password: str) -> Secret:
    """A user and a password, as HTTP sends them."""
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    of_password = _sorted_out(password, may_be_name=True)
    return Secret(f"Basic {encoded}", (encoded, *of_password.get("parts", ())), of_password.get("words", ()))


def _sorted_out(text: str, *, may_be_name: bool) -> dict[str, tuple[str, ...]]:
    is_word = _NUMBER.fullmatch(text) or (may_be_name and (len(text) < _SHORTEST or _NAME.fullmatch(text)))
    return {"words" if is_word else "parts": (text,)} if text else {}


def _may_have(text: str, parts: tuple[str, ...]) -> bool:
    """Whether it is worth looking for forms of the parts: most texts have neither escapes nor the secret."""
    if not parts:
        return False
    has_escapes = "\\u" in text or "%" in text or ("\\" in text and any(char in _ESCAPES for char in "".join(parts)))
    return has_escapes or any(form[:_SHORTEST] in text for form in _forms(parts))


@lru_cache(maxsize=4)
def _forms(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts that are long enough, and what each of them is as base64 behind any other text."""
    forms: list[str] = []
    for part in parts:
        forms.append(part)
        data = part.encode()
        for before in range(3):
            whole = base64.b64encode(bytes(before) + data).decode()
            # The first and the last letter may have bits of what is around it.
            inner = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            as_base64 = [inner] if before else [whole, inner]
            forms += [form.translate(other) for form in as_base64 for other in ({}, _IN_ADDRESSES)]
    return tuple(sorted({form for form in forms if len(form) >= _SHORTEST}, key=len, reverse=True))


@lru_cache(maxsize=4)
def _pattern(parts: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = _forms(parts)
    if not forms:
        return None
    patterns = ("".join(map(_any_form, form[:_COMPARED])) + (_REST if len(form) > _COMPARED else "") for form in forms)
    return re.compile(f"{_NOT_IN_ESCAPE}(?:{'|'.join(patterns)})")


def _any_form(char: str) -> str:
    """A character as it is, as JSON may escape it, and as addresses do, once or several times over."""
    units = char.encode("utf-16-be")
    as_json = "".join(rf"\\+u{_hex(units[at : at + 2])}" for at in range(0, len(units), 2))
    as_address = "".join(f"%(?:25)*{_hex(bytes([byte]))}" for byte in char.encode())
    forms = [as_json, as_address, re.escape(char)]
    if char == "\\":
        forms.insert(0, r"(?:\\\\)+")  # in pairs: an odd one escapes what follows
    elif char in _ESCAPES:
        forms.insert(0, r"\\+" + re.escape(_ESCAPES[char]))
    return f"(?:{'|'.join(forms)})"


def _hex(data: bytes) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in data.hex())


def without_secrets(data: bytes) -> bytes | None:
    """An answer with the values of secret members hidden; None where it is not JSON.

    >>> without_secrets(b'{"tlsKeyStorePassword":"x","a":[{"authParams":"token:y","b":1}],"defaultSecret":""}')
    b'{"tlsKeyStorePassword":"***","a":[{"authParams":"***","b":1}],"defaultSecret":""}'
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return msgspec.json.encode(_hidden(value))


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: HIDDEN if item and isinstance(item, str) and _SETTING.search(name) else _hidden(item)
            for name, item in value.items()
        }
    return [_hidden(item) for item in value] if isinstance(value, list) else value

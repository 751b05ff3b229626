"""Answers about configuration without the secrets that brokers print in them."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from tui.sources.cluster.access import HIDDEN

_SECRET: Final = re.compile(
    r"passw|secret|credential|passphrase|authenticationparam|authparam|privatekey", re.IGNORECASE
)


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
            name: HIDDEN if item and isinstance(item, str) and _SECRET.search(name) else _hidden(item)
            for name, item in value.items()
        }
    return [_hidden(item) for item in value] if isinstance(value, list) else value

"""Where a server listens, and who can reach it there."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from engine.errors import InputError

_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>[0-9]{1,5})")


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to a host, and so no other name of it means this server."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(listen: str, *, anywhere: bool) -> tuple[str, int]:
    """Host and port of ``--listen``. Raises ``InputError`` for other texts, and for addresses that others can reach.

    >>> address_of("127.0.0.1:9393", anywhere=False), address_of("[::1]:0", anywhere=False)
    (('127.0.0.1', 9393), ('::1', 0))
    """
    match = _ADDRESS.fullmatch(listen)
    if match is None or int(match["port"]) > 65535:
        raise InputError(
            f"--listen {listen[:80]!r} is not an address; write 127.0.0.1:9393, [::1]:9393 or localhost:9393"
        )
    host = match["six"] or match["host"]
    if not anywhere and not is_loopback(host):
        raise InputError(f"--listen {listen}: others could connect; give --not-only-here too if they may")
    return host, int(match["port"])

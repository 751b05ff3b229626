"""Where requests may go: the address that somebody gave, the brokers that a cluster lists, and targets of redirects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from engine.errors import InputError

SCHEMES: Final = {"http": 80, "https": 443}
"""Each with the port of an address that names none: that of the web, as every other client takes it."""
MOST_OF_PORTS: Final = 65_535
READ_ONLY: Final = "/admin/v2/"
_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s\[\]:@/?#%\\]+))(?::(?P<port>[0-9]{0,5}))?"
)
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_LIKE_IPV4: Final = re.compile(r"[0-9.]+")
_USER: Final = re.compile(r"//[^/?#]*@")
_AUTHORITATIVE: Final = ("authoritative=true", "authoritative=false")


def is_url(text: str | None) -> bool:
    """Whether a word on the command line names a running cluster.

    >>> [is_url(word) for word in ("http://localhost:8080", "HTTPS://pulsar", "./folder", "pulsar://localhost:6650")]
    [True, True, False, False]
    """
    return text is not None and text.lower().startswith(("http://", "https://"))


def origin_in(text: str, scheme: str) -> str | None:
    """``HOST:PORT`` as an origin, always with its port; None for what nobody can connect to.

    >>> [origin_in(text, "http") for text in ("Broker-1:8080", "[::1]", "[", "b:-1")]
    ['http://broker-1:8080', 'http://[::1]:80', None, None]
    """
    match = _AUTHORITY.fullmatch(text)
    if match is None or scheme not in SCHEMES:
        return None
    port = int(match["port"] or SCHEMES[scheme])
    host = _host(match["six"] or "", match["name"] or "")
    return f"{scheme}://{host}:{port}" if host and 0 < port <= MOST_OF_PORTS else None


def _host(six: str, name: str) -> str:
    """A host in lower case and ASCII, "" for what is not one."""
    try:
        if six:
            return f"[{IPv6Address(six)}]"
        host = name.encode("idna").decode("ascii").lower()  # raises for parts that are empty or too long
        if _LIKE_IPV4.fullmatch(host):
            return str(IPv4Address(host))
    except (UnicodeError, AddressValueError):
        return ""
    return host if _HOST.fullmatch(host) else ""


def authority_of(origin: str) -> str:
    """Host and port of an origin, as it is trusted.

    >>> authority_of("https://[::1]:8443")
    '[::1]:8443'
    """
    return origin.partition("://")[2]


def host_in(text: str) -> str:
    """The host in ``HOST:PORT``, without brackets; "" for what nobody can connect to.

    >>> host_in("[::1]:9393"), host_in("Localhost")
    ('::1', 'localhost')
    """
    origin = origin_in(text, "http") or ""
    return authority_of(origin).rpartition(":")[0].strip("[]")


def at_port_of(origin: str, other: str) -> str:
    """The host of one origin at the port of another.

    >>> at_port_of("http://b-2:8080", "http://b-1:80")
    'b-2:80'
    """
    return f"{authority_of(origin).rpartition(':')[0]}:{other.rpartition(':')[2]}"


def origin_of(url: str) -> str:
    """Scheme, host and port of an address that somebody gave. Raises ``InputError``, without a secret in its text.

    >>> origin_of("http://localhost:8080/")
    'http://localhost:8080'
    """
    scheme, _, rest = url.partition("://")
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    if "@" in url:
        # The address is shown everywhere.
        raise InputError("the address has a user or a password in it; put them into a file and give --basic-file FILE")
    origin = origin_in(authority, scheme.lower())
    if origin is None:
        raise InputError(f"{scheme}://{authority}: this is not an address of a cluster; write http://HOST:PORT")
    if rest[len(authority) :].strip("/"):
        raise InputError(f"give the address alone, without a path, such as {scheme}://{authority}")
    return origin


def shown_address(text: str) -> str:
    """An address without what may be secret in it: a user, a password, a query.

    >>> shown_address("http://u:p@h:80/x?token=y")
    'http://***@h:80/x'
    """
    return _USER.sub("//***@", re.split("[?#]", text, maxsplit=1)[0])


def stays_inside(path: str) -> bool:
    """Whether a path is one of the admin API and no server can take it for another one: it has no steps upwards.

    >>> stays_inside("/admin/v2/tenants"), stays_inside("/admin/v2/%2e%2e/lookup"), stays_inside("/lookup/v2/x")
    (True, False, False)
    """
    before, path = "", path.partition("?")[0]
    if not path.startswith(READ_ONLY):
        return False
    while path != before:  # some proxies decode once more than others
        before, path = path, unquote(path, errors="replace")
    steps = (step.partition(";")[0].strip() for step in re.split(r"[/\\]", path))
    return not any(step in (".", "..") for step in steps)


@dataclass(frozen=True, slots=True)
class Target:
    """Where the same request is sent next. ``takes_ownership``: who gets it may take a bundle that nobody owns."""

    origin: str
    takes_ownership: bool


def redirected(origin: str, path: str, location: str) -> Target | None:
    """The target of a redirect; None unless it is the same request at another place.

    Brokers only ever change host and port, and whether who gets the request may take what nobody owns: the leader gives
    that right to the broker that it chose. So path and query of a redirect are compared and never sent.

    >>> redirected("http://b-1:80", "/admin/v2/x?a=1", "http://b-2:80/admin/v2/x?a=1&authoritative=true")
    Target(origin='http://b-2:80', takes_ownership=True)
    >>> redirected("http://b-1:80", "/admin/v2/x", "http://b-2:80/admin/v2/../../lookup/v2/topic/x")
    """
    try:
        parts = urlsplit(urljoin(origin + path, location))
    except ValueError:
        return None
    target = origin_in(parts.netloc, parts.scheme)
    asked, _, query = path.partition("?")
    pieces = [piece for piece in parts.query.split("&") if piece]
    rights = [piece for piece in pieces if piece in _AUTHORITATIVE]
    others = "&".join(piece for piece in pieces if piece not in _AUTHORITATIVE)
    is_same = unquote(parts.path) == unquote(asked) and parse_qsl(others, keep_blank_values=True) == parse_qsl(query)
    if not location or target is None or not is_same:
        return None
    return Target(target, rights[-1:] == [_AUTHORITATIVE[0]])

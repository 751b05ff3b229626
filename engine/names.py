"""Names as Pulsar reads them: of topics (short and complete forms, domains, partition suffixes), namespaces, bundles.

Whatever comes from outside is judged here: ``parse_topic_name`` (``TopicName``, 5.0 line), ``refuse_namespace``
(``NamespaceName``), ``refuse_bundle``, ``refuse_subscription``. Names of consumers and producers are free in Pulsar.

A complete name is kept letter for letter, because it is what gets hashed: ``Persistent://t/n/x`` is the domain
``persistent``, and yet another hash than ``persistent://t/n/x``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from msgspec import Struct

from engine.errors import Rejection

PARTITION_SUFFIX: Final = "-partition-"
NAMELESS: Final = "unknown/unknown"
"""The namespace of topics with an invented name."""
PERSISTENT: Final = "persistent"
NON_PERSISTENT: Final = "non-persistent"
SEGMENT: Final = "segment"
SCALABLE: Final = "topic"
"""The domain of scalable topics, whose messages are in segments."""
_DOMAINS: Final = (PERSISTENT, NON_PERSISTENT, SCALABLE, SEGMENT)
_ENTITY: Final = re.compile(r"[-=:.A-Za-z0-9_]+")
_PLAIN_NAME: Final = re.compile(r"(?:non-)?persistent://[-=:.A-Za-z0-9_]+/[-=:.A-Za-z0-9_]+/[^/\s]+")
NAMESPACE_PATTERN: Final = "[-=:.A-Za-z0-9_]+(?:/[-=:.A-Za-z0-9_]+){1,2}"
"""``refuse_namespace`` as a regular expression of a whole text, for columns of them."""
_NAMESPACE: Final = re.compile(NAMESPACE_PATTERN)
_RANGE: Final = re.compile(r"0x[0-9a-fA-F]{1,16}_0x[0-9a-fA-F]{1,16}")
_SHOWN: Final = 200
"""Characters of a wrong name in a sentence."""
_INT_MAX: Final = 2**31 - 1
_LONG_DIGITS: Final = 19
_NO_BREAK_SPACES: Final = "\u00a0\u2007\u202f"


NAMES_KEPT: Final = 1 << 15
"""Names that are not parsed again: a cluster that is read every few seconds has the same ones each time."""


def partition_index(topic: str) -> int:
    """The partition number a topic name ends with, -1 for none (``TopicName.getPartitionIndex``).

    What follows the last ``-partition-`` counts only as the shortest decimal text of a number below 2^31; Java's reader
    also takes other Unicode digits of the basic plane, one text unit for one digit. O(length of the name).

    >>> partition_index("persistent://t/n/x-partition-12"), partition_index("persistent://t/n/x-partition-01")
    (12, -1)
    """
    _, suffix, digits = topic.rpartition(PARTITION_SUFFIX)
    if not suffix or not digits or len(digits) > len(str(_INT_MAX)):
        return -1
    if digits.isascii() and digits.isdigit():
        index = int(digits)
        return index if index <= _INT_MAX and len(str(index)) == len(digits) else -1
    # Java reads 16-bit units, so a digit beyond the basic plane is two units, neither of them a digit.
    if any(ord(char) > 0xFFFF or not char.isdecimal() for char in digits):
        return -1
    index = int("".join(str(unicodedata.decimal(char)) for char in digits))
    return index if index <= _INT_MAX and len(str(index)) == len(digits) else -1


def partition_name(base: str, index: int) -> str:
    """The name of one partition of a partitioned topic.

    >>> partition_name("persistent://t/n/x", 3)
    'persistent://t/n/x-partition-3'
    """
    return f"{base}{PARTITION_SUFFIX}{index}"


def partitioned_name(partition: str) -> str:
    """The name of the partitioned topic that a partition belongs to.

    >>> partitioned_name("persistent://t/n/x-partition-3")
    'persistent://t/n/x'
    """
    return partition.rpartition(PARTITION_SUFFIX)[0]


def namespace_of(topic: str) -> str:
    """The namespace in a topic's complete name, "" for a text without a domain.

    >>> namespace_of("persistent://t/n/x"), namespace_of("t/n")
    ('t/n', '')
    """
    return "/".join(topic.partition("://")[2].split("/", 2)[:2])


def is_segment(topic: str) -> bool:
    """Whether a full name is that of a segment of a scalable topic: what classic subscriptions obey is not for it.

    >>> is_segment("segment://t/n/x/0000-ffff-0"), is_segment("persistent://t/n/x")
    (True, False)
    """
    return topic.startswith(f"{SEGMENT}://")


class TopicName(Struct, frozen=True):
    """A topic name taken apart. ``complete`` is the text that is hashed; ``partition_index`` is -1 for no partition."""

    complete: str
    domain: str
    tenant: str
    namespace_portion: str
    local_name: str
    partition_index: int

    @property
    def namespace(self) -> str:
        return f"{self.tenant}/{self.namespace_portion}"

    @property
    def partitioned_topic(self) -> str:
        """The complete name without its partition suffix; the name itself where there is none."""
        return self.complete.rpartition(PARTITION_SUFFIX)[0] if self.partition_index >= 0 else self.complete

    def __str__(self) -> str:
        return self.complete


@lru_cache(maxsize=NAMES_KEPT)
def parse_topic_name(text: str) -> TopicName | Rejection:
    """Read a topic name in any form Pulsar 5.0 accepts: ``x``, ``tenant/ns/x`` or ``domain://tenant/ns/x``.

    Refusals carry Pulsar's exception name (IllegalArgumentException, NumberFormatException for a bad segment range).
    The old form with a cluster, ``persistent://tenant/cluster/ns/x``, is refused too; releases up to 4.x took it.

    >>> str(parse_topic_name("x")), str(parse_topic_name("t/n/x"))
    ('persistent://public/default/x', 'persistent://t/n/x')
    >>> parse_topic_name("Persistent://t/n/x").domain
    'persistent'
    """
    complete = text
    if "://" not in text:
        parts = text.split("/")
        if len(parts) not in (1, 3):
            return _refuse(f"invalid short topic name {text!r}: write <topic> or <tenant>/<namespace>/<topic>")
        complete = f"persistent://{text}" if len(parts) == 3 else f"persistent://public/default/{text}"
    written_domain, _, rest = complete.partition("://")
    domain = _domain(written_domain)
    if domain is None:
        return _refuse(f"invalid topic domain {written_domain!r} in {text!r}: use persistent:// or non-persistent://")
    tenant, _, after_tenant = rest.partition("/")
    namespace, _, local = after_tenant.partition("/")
    if _is_blank(local):
        return _refuse(f"invalid topic name {text!r}: it needs a tenant, a namespace and a topic, {domain}://t/n/topic")
    for entity in (tenant, namespace):
        if not _ENTITY.fullmatch(entity):
            return _refuse(
                f"invalid tenant or namespace {entity!r} in {text!r}: letters, digits and _ - = : . are allowed"
            )
    if domain in (PERSISTENT, NON_PERSISTENT) and "/" in local:
        return _refuse(
            f"invalid topic name {text!r}: three parts are wanted after {domain}://"
            " (a fourth, the cluster, is known to releases up to 4.x only)"
        )
    if domain == SEGMENT:
        canonical = _canonical_segment(local, text)
        if isinstance(canonical, Rejection):
            return canonical
        local = canonical
        complete = f"segment://{tenant}/{namespace}/{local}"
    return TopicName(complete, domain, tenant, namespace, local, partition_index(complete))


def topic_fault(text: str) -> str:
    """What is wrong with a topic's full name, "" for nothing. Nearly all names are of one form, which is read fast."""
    if _PLAIN_NAME.fullmatch(text):
        return ""
    name = parse_topic_name(text)
    if isinstance(name, Rejection):
        return name.message
    return "" if "://" in text else f"{_short(text)} is not a full topic name, like persistent://tenant/namespace/topic"


def refuse_namespace(text: str) -> Rejection | None:
    """None for ``tenant/namespace``, and for ``tenant/cluster/namespace`` as releases up to 4.x print it.

    >>> refuse_namespace("shop/orders"), refuse_namespace("shop/o;reboot").error
    (None, 'IllegalArgumentException')
    """
    if _NAMESPACE.fullmatch(text):
        return None
    return Rejection(
        "IllegalArgumentException",
        f"{_short(text)} is not a namespace: write tenant/namespace, of letters, digits and _ - = : .",
        field="namespace",
    )


def refuse_bundle(text: str) -> Rejection | None:
    """None for a bundle's full name, ``tenant/namespace/0x00000000_0x80000000``.

    >>> refuse_bundle("t/n/0x00000000_0x80000000"), refuse_bundle("t/n/0x0_;").error
    (None, 'IllegalArgumentException')
    """
    namespace, _, piece = text.rpartition("/")
    return refuse_namespace(namespace) or refuse_range(piece)


def refuse_range(text: str) -> Rejection | None:
    """None for the text of a bundle's range as brokers print it, ``0x00000000_0x80000000``."""
    if _RANGE.fullmatch(text):
        return None
    return Rejection(
        "IllegalArgumentException", f"{_short(text)} is not the range of a bundle, like 0x00000000_0x80000000", "bundle"
    )


def refuse_subscription(text: str) -> Rejection | None:
    """None for the name of a subscription: any text that is not blank."""
    return Rejection("NamingException", "Empty subscription name", "name") if _is_blank(text) else None


def _short(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}…"


def _canonical_segment(local: str, text: str) -> str | Rejection:
    """``parent/HHHH-HHHH-ID`` with the two ends of the hash range as four lower-case hex digits."""
    parent, _, descriptor = local.rpartition("/")
    pieces = descriptor.split("-")
    if _is_blank(parent) or len(pieces) != 3:
        return _refuse(f"invalid segment name {text!r}: write segment://tenant/namespace/parent/0000-7fff-1")
    low, high, number = pieces
    if not re.fullmatch(r"[0-9A-Fa-f]{1,7}", low) or not re.fullmatch(r"[0-9A-Fa-f]{1,7}", high):
        return Rejection("NumberFormatException", f"segment range {low}-{high} in {text!r} is not hexadecimal", "topic")
    if not re.fullmatch(rf"[0-9]{{1,{_LONG_DIGITS}}}", number):
        return Rejection("NumberFormatException", f"segment number {number!r} in {text!r} is not a number", "topic")
    return f"{parent}/{int(low, 16):04x}-{int(high, 16):04x}-{int(number)}"


def _domain(written: str) -> str | None:
    # Almost every name is in canonical case, and inventories hold millions.
    if written in _DOMAINS:
        return written
    return next((known for known in _DOMAINS if _equals_ignoring_case(known, written)), None)


def _equals_ignoring_case(known: str, written: str) -> bool:
    # Java compares unit by unit, upper case first, then lower case: ``ſ`` passes for ``s``, ``ß`` not for ``ss``.
    return len(known) == len(written) and all(
        a == b or a.upper() == b.upper() or a == b.lower()[:1] for a, b in zip(known, written, strict=True)
    )


def has_blank_ends(text: str) -> bool:
    """Whether Java's ``String.trim`` would change a text: it cuts off all characters up to the blank.

    >>> has_blank_ends("x "), has_blank_ends("\\u3000x"), has_blank_ends("x y")
    (True, False, False)
    """
    return bool(text) and (text[0] <= " " or text[-1] <= " ")


def _is_blank(text: str) -> bool:
    # Java's white space: the separators of Unicode without the no-break spaces, and the classic controls.
    return all(
        (unicodedata.category(char) in ("Zs", "Zl", "Zp") and char not in _NO_BREAK_SPACES)
        or "\t" <= char <= "\r"
        or "\x1c" <= char <= "\x1f"
        for char in text
    )


def _refuse(message: str) -> Rejection:
    return Rejection("IllegalArgumentException", message, field="topic")


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
        return _not_a_number(text)
    value = 0
    for char in digits:
        digit = _digit(char)
        if not 0 <= digit < radix:
            return _not_a_number(text)
        value = value * radix + digit
        if value > -_LONG_MIN:
            return _not_a_number(text)
    value = -value if negative else value
    return value if value <= _LONG_MAX else _not_a_number(text)


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


def _not_a_number(text: str) -> Rejection:
    return Rejection(
        "NumberFormatException", f"{text!r} is not a number: write 0x40000000 or 1073741824", field="boundary"
    )

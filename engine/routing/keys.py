"""From the key of a message to a partition: which text counts as the key, and how a client hashes it.

Source: ``MessageRouterBase``, ``JavaStringHash``, ``Murmur3Hash32``, ``TypedMessageBuilderImpl`` of the Java client.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from engine.hashing import java_string_hash, murmur3_32, sign_safe_mod, utf8
from engine.routing.boost_hash import boost_hash

HashingScheme = Literal["JavaStringHash", "Murmur3_32Hash", "BoostHash"]
"""How a client hashes keys. The Java client knows the first two, with JavaStringHash as its default; BoostHash is what
the Python client does, with no choice, so one key goes to different partitions from Java and from Python."""

_HASHES: Final[dict[HashingScheme, Callable[[str], int]]] = {
    "JavaStringHash": java_string_hash,
    "Murmur3_32Hash": murmur3_32,
    "BoostHash": lambda key: boost_hash(utf8(key)),
}


@dataclass(frozen=True, slots=True)
class Message:
    """What a router sees of a message: the partition key as a text, None without one. The ordering key plays no part.

    An empty key is a key for the Java client (its hash is 0, so partition 0) and none for the Python client. The size
    counts for the C++ client's round robin while batching, and for nothing else.
    """

    key: str | None = None
    size_bytes: int = 0

    @classmethod
    def of_key_bytes(cls, key: bytes) -> Message:
        """A message whose key was set with ``keyBytes``: clients hash the base64 form of such a key.

        A broker decodes it again for Key_Shared, so that one key has different hashes in the two places.

        >>> Message.of_key_bytes(b"\\x00\\xff").key
        'AP8='
        """
        return cls(base64.b64encode(key).decode("ascii"))

    def has_key(self, hashing: HashingScheme) -> bool:
        """Whether a client with this hashing scheme takes the message for one with a key."""
        return bool(self.key) if hashing == "BoostHash" else self.key is not None


def key_hash(key: str, hashing: HashingScheme) -> int:
    """The hash of a key, 0 .. 2**31 - 1.

    >>> key_hash("ab", "JavaStringHash") == 97 * 31 + 98
    True
    """
    return _HASHES[hashing](key)


def partition_of_key(key: str, hashing: HashingScheme, partitions: int) -> int:
    """The partition of a key among ``partitions`` (at least 1); it changes when partitions are added.

    >>> [partition_of_key("a", "JavaStringHash", count) for count in (1, 10, 97, 98)]
    [0, 7, 0, 97]
    """
    return sign_safe_mod(key_hash(key, hashing), partitions)

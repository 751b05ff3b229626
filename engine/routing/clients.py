"""How each client family takes the partition of a keyed message: its hash, and where it deviates from Java's.

All of them divide a hash of the key by the number of partitions; the hash is rarely the same, even under one name.

=========== =================================================== ====================================================
client      what is hashed, by default first                    source
=========== =================================================== ====================================================
java        JavaStringHash, Murmur3_32Hash; 31 bits             ``MessageRouterBase``, ``JavaStringHash``,
                                                                ``Murmur3Hash32``
cpp         BoostHash, Murmur3_32Hash, JavaStringHash of bytes  apache/pulsar-client-cpp: ``lib/BoostHash.cc``,
                                                                ``Murmur3_32Hash.cc``, ``JavaStringHash.cc``
python      BoostHash                                           it is built on the C++ client
node        as C++, by ``hashingScheme``                        apache/pulsar-client-node: ``src/ProducerConfig.cc``
go          JavaStringHash of bytes, 32 bits; Murmur3_32Hash    apache/pulsar-client-go: ``pulsar/internal/hash.go``,
                                                                ``pulsar/default_router.go``
rust        Murmur3, all 32 bits                                streamnative/pulsar-rs: ``src/routing_policy.rs``
dotpulsar   Murmur3 of the key's own bytes, all 32 bits         apache/pulsar-dotpulsar:
                                                                ``RoundRobinPartitionRouter.cs`` (after #213)
fsharp      DotnetStringHash, Murmur3_32Hash                    fsprojects/pulsar-client-dotnet: ``Routing.fs``,
                                                                ``PartitionedProducerImpl.fs``
php         none: any partition, at random                      ikilobyte/pulsar-client-php: ``src/Producer.php``
                                                                (before #41 of March 2026)
=========== =================================================== ====================================================

Of a message they look at the partition key only; the ordering key plays no part.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal

from msgspec import Struct

from engine.answer import about
from engine.errors import Rejection
from engine.hashing import Division, boost_hash, java_hash_code, java_hash_of_bytes, murmur3_32_raw, utf8, utf16_order

MAX_PARTITIONS: Final = 32_768
"""Up to here every slot of 65536 occurs with every remainder that its own remainder allows, within 31 bits of hash."""


class Message(Struct, frozen=True):
    """What a router sees of a message: its partition key, None without one; bytes are a key that was set as bytes.

    The size counts for the C++ client's round robin while batching, and for nothing else.
    """

    key: str | bytes | None = None
    size_bytes: int = 0


class KeyHash(Struct, frozen=True):
    """The hash of one client under one name.

    ``raw`` takes the bytes that are hashed (``utf16``: the big-endian UTF-16 units of the text, else its UTF-8 form)
    and gives a number of up to 32 bits, negative where the client's language has it so; the lowest ``bits`` of it are
    divided. ``murmur``: it is the hash from which brokers take the slot of Key_Shared, of the same bytes. ``raw`` is
    None where the number cannot be known: ``random`` says what decides instead.
    """

    scheme: str
    raw: Callable[[bytes], int] | None
    bits: Literal[31, 32] = 31
    utf16: bool = False
    murmur: bool = False
    random: str = ""

    @property
    def murmur_bits(self) -> Literal[0, 31, 32]:
        return self.bits if self.murmur else 0


class RoutingClient(Struct, frozen=True):
    """A client family. ``hashes`` are those a user can choose from by name, the default first.

    ``empty_is_key``: a message with the empty key counts as keyed. ``bytes_keys``: what is hashed of a key that was
    given as bytes: their base64 form, or they themselves; None where the client takes only texts. A broker decodes the
    base64 form again for Key_Shared, so that one key has different hashes in the two places.
    """

    word: str
    name: str
    hashes: Mapping[str, KeyHash]
    empty_is_key: bool = True
    bytes_keys: Literal["base64", "raw"] | None = None

    @property
    def default(self) -> KeyHash:
        return next(iter(self.hashes.values()))


MURMUR: Final = KeyHash("Murmur3_32Hash", murmur3_32_raw, murmur=True)
_WHOLE_MURMUR: Final = KeyHash("Murmur3_32Hash", murmur3_32_raw, 32, murmur=True)
_JAVA: Final = KeyHash("JavaStringHash", java_hash_code, utf16=True)
_BOOST: Final = KeyHash("BoostHash", boost_hash)
_CPP_JAVA: Final = KeyHash("JavaStringHash", lambda data: java_hash_of_bytes(data, signed=True))
_GO_JAVA: Final = KeyHash("JavaStringHash", lambda data: java_hash_of_bytes(data, signed=False), 32)
_DOTNET: Final = KeyHash("DotnetStringHash", None, random="String.GetHashCode, which .NET seeds anew in every process")
_NO_HASH: Final = KeyHash("none", None, random="a random partition for every message, whatever its key")


def _named(*hashes: KeyHash) -> dict[str, KeyHash]:
    return {key_hash.scheme: key_hash for key_hash in hashes}


ROUTING_CLIENTS: Final[Mapping[str, RoutingClient]] = {
    client.word: client
    for client in (
        RoutingClient("java", "Java", _named(_JAVA, MURMUR), bytes_keys="base64"),
        RoutingClient("cpp", "C++", _named(_BOOST, MURMUR, _CPP_JAVA)),
        RoutingClient("python", "Python", _named(_BOOST), empty_is_key=False),
        RoutingClient("node", "Node.js", _named(_BOOST, MURMUR, _CPP_JAVA)),
        RoutingClient("go", "Go", _named(_GO_JAVA, MURMUR), empty_is_key=False),
        RoutingClient("rust", "Rust (pulsar-rs)", _named(_WHOLE_MURMUR)),
        RoutingClient("dotpulsar", "DotPulsar", _named(_WHOLE_MURMUR), empty_is_key=False, bytes_keys="raw"),
        RoutingClient(
            "fsharp", "pulsar-client-dotnet", _named(_DOTNET, MURMUR), empty_is_key=False, bytes_keys="base64"
        ),
        RoutingClient("php", "PHP (pulsar-client-php)", _named(_NO_HASH), empty_is_key=False),
    )
}
"""Client families by the word that names them."""


class KeyRouting(Struct, frozen=True):
    """Producers of one client family that route by key: ``client`` is a word of ``ROUTING_CLIENTS``.

    ``hashing`` is the name of one of the client's hashes.
    """

    client: str
    hashing: str

    @property
    def family(self) -> RoutingClient:
        return ROUTING_CLIENTS[self.client]

    @property
    def key_hash(self) -> KeyHash:
        return self.family.hashes[self.hashing]

    @property
    def known(self) -> bool:
        """Whether the partition of a key can be computed."""
        return self.key_hash.raw is not None

    def undecided(self, key: str | bytes | None) -> str:
        """What decides the partition of a message in place of this key; "" where the key does."""
        family = self.family
        if key is None:
            return "the message has no key, so the router decides"
        if not key and not family.empty_is_key:
            return f"the empty key is no key for {family.name}, so its router decides"
        if isinstance(key, bytes) and family.bytes_keys is None:
            return f"{family.name} takes texts as keys, not bytes"
        return "" if self.known else f"{family.name} takes {self.key_hash.random}"

    def hashed(self, key: str | bytes) -> bytes:
        """The bytes that are hashed of a key that decides.

        >>> JAVA_DEFAULT.hashed("a"), JAVA_DEFAULT.hashed(b"a"), PYTHON_DEFAULT.hashed("a")
        (b'\\x00a', b'\\x00Y\\x00Q\\x00=\\x00=', b'a')
        """
        if isinstance(key, bytes):
            if self.family.bytes_keys == "raw":
                return key
            key = base64_text(key)
        return utf16_order(key) if self.key_hash.utf16 else utf8(key)

    def hash_of(self, key: str | bytes) -> int:
        """The hash of a key that decides, from 0 on.

        >>> JAVA_DEFAULT.hash_of("ab") == 97 * 31 + 98
        True
        """
        key_hash = self.key_hash
        assert key_hash.raw is not None, f"{key_hash.scheme} is not known"
        mask: int = 2**key_hash.bits - 1
        return key_hash.raw(self.hashed(key)) & mask


def base64_text(key: bytes) -> str:
    """The text that clients hash of a key that was set as bytes.

    >>> base64_text(b"\\x00\\xff")
    'AP8='
    """
    return base64.b64encode(key).decode("ascii")


JAVA_DEFAULT: Final = KeyRouting("java", "JavaStringHash")
CPP_DEFAULT: Final = KeyRouting("cpp", "BoostHash")
PYTHON_DEFAULT: Final = KeyRouting("python", "BoostHash")


def every_routing() -> Iterator[KeyRouting]:
    """Each client with each of its hashes."""
    return (KeyRouting(family.word, scheme) for family in ROUTING_CLIENTS.values() for scheme in family.hashes)


def key_routing(client: str = "java", hashing: str | None = None) -> KeyRouting | Rejection:
    """The routing of a client by its word, with its default hash where none is named. Refused: unknown ones.

    >>> key_routing("go"), key_routing("rust", "JavaStringHash").message
    (KeyRouting(client='go', hashing='JavaStringHash'), 'JavaStringHash is not a hash of rust; known: Murmur3_32Hash')
    """
    family = ROUTING_CLIENTS.get(client.lower())
    if family is None:
        known = ", ".join(ROUTING_CLIENTS)
        return Rejection("UnknownValue", f"{client[:60]} is not a client; known: {known}", "client")
    if hashing is None:
        return KeyRouting(family.word, family.default.scheme)
    for name in family.hashes:
        if name.lower() == hashing.lower():
            return KeyRouting(family.word, name)
    known = ", ".join(family.hashes)
    return Rejection("UnknownValue", f"{hashing[:60]} is not a hash of {family.word}; known: {known}", "hashing")


class KeyRoute(Struct, frozen=True):
    """The partition of a key, or why it is not decided by the key.

    ``hashed`` are the bytes that the client hashes, ``raw`` its hash before its sign or top bit is dealt with,
    ``hash_value`` what it divides by the partitions (``division``). All are None where no hash decides; ``undecided``
    says what does.
    """

    routing: KeyRouting
    partitions: int
    partition: int | None
    hashed: bytes | None = None
    raw: int | None = None
    hash_value: int | None = None
    division: Division | None = None
    undecided: str = ""


def route_key(key: str | bytes | None, routing: KeyRouting, partitions: int) -> KeyRoute:
    """The partition of a message with this partition key among ``partitions`` (at least 1); None: it has no key.

    Bytes are a key that was set as bytes. Of one partition no key needs to decide.

    >>> [route_key("ab", KeyRouting(client, "Murmur3_32Hash"), 6).partition for client in ("java", "rust")]
    [3, 5]
    >>> route_key("", KeyRouting("go", "JavaStringHash"), 6).undecided
    'the empty key is no key for Go, so its router decides'
    """
    assert partitions > 0, f"a topic has partitions, not {partitions}"
    undecided = routing.undecided(key)
    if undecided:
        return KeyRoute(routing, partitions, 0 if partitions == 1 else None, undecided=undecided)
    assert key is not None
    data, value = routing.hashed(key), routing.hash_of(key)
    raw = routing.key_hash.raw
    assert raw is not None
    division = Division(value, partitions, value % partitions)
    return KeyRoute(routing, partitions, division.remainder, data, raw(data), value, division)


def partition_of(key: str | bytes | None, routing: KeyRouting, partitions: int) -> int | None:
    """The partition alone; None where the key does not decide it. It changes when partitions are added.

    >>> [partition_of("a", JAVA_DEFAULT, count) for count in (1, 10, 97, 98)], partition_of("", PYTHON_DEFAULT, 6)
    ([0, 7, 0, 97], None)
    """
    if partitions == 1:
        return 0
    return None if key is None or routing.undecided(key) else routing.hash_of(key) % partitions


def partition_of_bytes(key: bytes, routing: KeyRouting, partitions: int) -> int | None:
    """The partition of a key by its bytes: those of a text, else it was set as bytes. None where it is not decided.

    >>> [partition_of_bytes(key, JAVA_DEFAULT, 4) for key in (b"a", b"\\xff")]
    [1, 0]
    """
    return partition_of(routed_bytes(key), routing, partitions)


def routed_bytes(key: bytes) -> str | bytes:
    """What a client was given to make a key of these bytes: a text where they are one, else the bytes."""
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        return key


class OtherRoute(Struct, frozen=True):
    """Where another client, or the same one with another hash, sends the key; ``undecided`` as in ``KeyRoute``."""

    client: Annotated[str, about("The word that names the client family.")]
    hashing: Annotated[str, about("The name of its hash.")]
    partition: Annotated[int | None, about("The partition; null where the key does not decide.", 0)]
    undecided: Annotated[str, about("What decides instead of a hash, empty where one does.")]


def other_routes(key: str | bytes | None, routing: KeyRouting, partitions: int) -> tuple[OtherRoute, ...]:
    """Where all other clients and hashes send the key."""
    return tuple(
        OtherRoute(other.client, other.hashing, route.partition, route.undecided)
        for other in every_routing()
        if other != routing
        for route in (route_key(key, other, partitions),)
    )


def alike(others: Iterable[OtherRoute]) -> list[tuple[str, int | None, tuple[str, ...]]]:
    """A hash and its partition, None for one that is not decided, with the clients for which both are the same.

    >>> alike(other_routes("k0", JAVA_DEFAULT, 4))[1]
    ('BoostHash', 3, ('cpp', 'python', 'node'))
    """
    clients: dict[tuple[str, int | None], list[str]] = {}
    for other in others:
        clients.setdefault((other.hashing, other.partition), []).append(other.client)
    return [(hashing, partition, tuple(words)) for (hashing, partition), words in clients.items()]

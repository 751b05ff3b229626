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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from engine.errors import Rejection
from engine.hashing import Division, java_string_hash, murmur3_32, murmur3_32_raw, utf8
from engine.routing.keys import Message, boost_hash

_MASK_31: Final = 2**31 - 1
_MASK_32: Final = 2**32 - 1

MAX_PARTITIONS: Final = 32_768
"""Up to here every slot of 65536 occurs with every remainder that its own remainder allows, within 31 bits of hash."""


@dataclass(frozen=True, slots=True)
class KeyHash:
    """The hash of one client under one name. ``of`` takes what the client hashes and gives a number from 0 on.

    ``murmur_bits``: 31 or 32 where it is the hash from which brokers take the slot of Key_Shared, of the same bytes;
    0 where it is another one. ``of`` is None where the number cannot be known: ``random`` says what decides instead.
    """

    scheme: str
    of: Callable[[str | bytes], int] | None
    murmur_bits: Literal[0, 31, 32] = 0
    random: str = ""


@dataclass(frozen=True, slots=True)
class RoutingClient:
    """A client family. ``hashes`` are those a user can choose from by name, the default first.

    ``empty_is_key``: a message with the empty key counts as keyed. ``bytes_keys``: what is hashed of a key that was
    given as bytes: their base64 form, or they themselves; None where the client takes only texts.
    """

    word: str
    name: str
    hashes: Mapping[str, KeyHash]
    empty_is_key: bool = True
    bytes_keys: Literal["base64", "raw"] | None = None

    @property
    def default(self) -> KeyHash:
        return next(iter(self.hashes.values()))


def java_hash_of_bytes(data: bytes, *, signed: bool) -> int:
    """JavaStringHash as Go and C++ compute it: over the UTF-8 bytes, 32 bits; C++ takes them as signed numbers.

    A text of ASCII has the same hash as in Java, before the top bit is cleared. (Signed is C++ on x86; where ``char``
    is unsigned, as on ARM, C++ does as Go does.)

    >>> java_hash_of_bytes(b"ab", signed=True) == java_hash_of_bytes(b"ab", signed=False) == 97 * 31 + 98
    True
    >>> java_hash_of_bytes("é".encode(), signed=False), java_hash_of_bytes("é".encode(), signed=True) - 2**32
    (6214, -1978)
    """
    accumulator = 0
    for byte in data:
        accumulator = (accumulator * 31 + (byte - 256 if signed and byte > 127 else byte)) & _MASK_32
    return accumulator


def _java(key: str | bytes) -> int:
    return java_string_hash(_text(key))


def _text(key: str | bytes) -> str:
    assert isinstance(key, str), "this client hashes texts"
    return key


MURMUR: Final = KeyHash("Murmur3_32Hash", murmur3_32, 31)
_WHOLE_MURMUR: Final = KeyHash("Murmur3_32Hash", lambda key: murmur3_32_raw(key) & _MASK_32, 32)
_BOOST: Final = KeyHash("BoostHash", lambda key: boost_hash(utf8(_text(key))))
_CPP_JAVA: Final = KeyHash("JavaStringHash", lambda key: java_hash_of_bytes(utf8(_text(key)), signed=True) & _MASK_31)
_GO_JAVA: Final = KeyHash("JavaStringHash", lambda key: java_hash_of_bytes(utf8(_text(key)), signed=False))
_DOTNET: Final = KeyHash("DotnetStringHash", None, random="String.GetHashCode, which .NET seeds anew in every process")
_NO_HASH: Final = KeyHash("none", None, random="a random partition for every message, whatever its key")


def _named(*hashes: KeyHash) -> dict[str, KeyHash]:
    return {key_hash.scheme: key_hash for key_hash in hashes}


ROUTING_CLIENTS: Final[Mapping[str, RoutingClient]] = {
    client.word: client
    for client in (
        RoutingClient("java", "Java", _named(KeyHash("JavaStringHash", _java), MURMUR), bytes_keys="base64"),
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


@dataclass(frozen=True, slots=True)
class KeyRouting:
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
        return self.key_hash.of is not None


JAVA_DEFAULT: Final = KeyRouting("java", "JavaStringHash")


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


@dataclass(frozen=True, slots=True)
class KeyRoute:
    """The partition of a key, or why it is not decided by the key.

    ``hashed`` are the bytes (or the UTF-8 form of the text) that the client hashes, ``hash_value`` its hash, which
    ``division`` divides by the partitions. All are None where no hash decides; ``undecided`` says what does.
    """

    routing: KeyRouting
    partitions: int
    partition: int | None
    hashed: bytes | None = None
    hash_value: int | None = None
    division: Division | None = None
    undecided: str = ""


def route_key(key: str | bytes | None, routing: KeyRouting, partitions: int) -> KeyRoute:
    """The partition of a message with this partition key among ``partitions`` (at least 1); None: it has no key.

    Bytes are a key that was set as bytes. With one partition nothing is hashed.

    >>> [route_key("ab", KeyRouting(client, "Murmur3_32Hash"), 6).partition for client in ("java", "rust")]
    [3, 5]
    >>> route_key("", KeyRouting("go", "JavaStringHash"), 6).undecided
    'the empty key is no key for Go, so its round robin decides'
    """
    assert partitions > 0, f"a topic has partitions, not {partitions}"
    family, key_hash = routing.family, routing.key_hash

    def undecided(reason: str) -> KeyRoute:
        return KeyRoute(routing, partitions, 0 if partitions == 1 else None, undecided=reason)

    if partitions == 1:
        return undecided("there is one partition")
    if key is None:
        return undecided("the message has no key, so the router decides")
    if not key and not family.empty_is_key:
        return undecided(f"the empty key is no key for {family.name}, so its round robin decides")
    if isinstance(key, bytes) and family.bytes_keys is None:
        return undecided(f"{family.name} takes texts as keys, not bytes")
    if key_hash.of is None:
        return undecided(f"{family.name} takes {key_hash.random}")
    material: str | bytes = key
    if isinstance(key, bytes) and family.bytes_keys == "base64":
        material = Message.of_key_bytes(key).key or ""
    value = key_hash.of(material)
    data = material if isinstance(material, bytes) else utf8(material)
    division = Division(value, partitions, value % partitions)
    return KeyRoute(routing, partitions, division.remainder, data, value, division)


def partition_of_bytes(key: bytes, routing: KeyRouting, partitions: int) -> int | None:
    """The partition of a key by its bytes: those of a text, else it was set as bytes. None where it is not decided.

    >>> [partition_of_bytes(key, JAVA_DEFAULT, 4) for key in (b"a", b"\\xff")]
    [1, 0]
    """
    return 0 if partitions == 1 else route_key(routed_bytes(key), routing, partitions).partition


def routed_bytes(key: bytes) -> str | bytes:
    """What a client was given to make a key of these bytes: a text where they are one, else the bytes."""
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        return key

"""Why a message goes to its partition: every step from the key or the router's turn, and the rule in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from engine.answer import about
from engine.errors import Rejection
from engine.hashing import Division
from engine.routing.clients import KeyRoute, Message, base64_text, route_key
from engine.routing.producers.model import PartitionedProducer, ProducersState, SendResult
from engine.routing.producers.producer import send
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    Router,
    SinglePartitionRouter,
    period_of,
    route,
)

RouteRule = Literal["key hash", "fixed index", "clock", "counter", "batch counter", "one partition", "partial list"]


@dataclass(frozen=True, slots=True)
class KeyStep:
    """From a key to its hash."""

    text: Annotated[
        str | None, about("The key; of bytes their base64 form, or null where the bytes themselves are hashed.")
    ]
    data: Annotated[bytes, about("The bytes that are hashed, in hexadecimal: UTF-8, of JavaStringHash UTF-16.")]
    hashing: Annotated[str, about("The name of the hash.")]
    raw: Annotated[int, about("The hash before its sign or top bit is dealt with.")]
    value: Annotated[int, about("What is divided.")]
    from_bytes: Annotated[bytes | None, about("The key as bytes, in hexadecimal, if it was given so.")] = None


@dataclass(frozen=True, slots=True)
class RouteExplanation:
    """Where a message goes and why."""

    partition: Annotated[int, about("The partition.", 0)]
    rule: Annotated[RouteRule, about("What decided.")]
    key: Annotated[KeyStep | None, about("From the key to its hash; null where no key decides.")]
    modulo: Annotated[Division | None, about("The last division; null where no number is divided.")]
    chosen: Annotated[
        tuple[int, ...],
        about("The list of a partial router after this message; its entry at the remainder is the partition.", 0),
    ]
    key_ignored: Annotated[
        bool, about("Whether there is a key that the router ignores, or that the client does not count as one.")
    ]
    sentence: Annotated[str, about("The rule with its numbers.")]


def explain_route(
    router: Router,
    key: str | bytes | None,
    partitions: int,
    now_ms: int = 0,
    *,
    size_bytes: int = 0,
) -> RouteExplanation | Rejection:
    """Route one message and keep every step; the partition is that of ``route``.

    A key of bytes is what ``keyBytes`` sets. The router's own state is not changed; constant time but for hashing.

    >>> from engine.routing.routers import round_robin
    >>> explain_route(round_robin(0), "ab", 10).sentence
    'The key decides: JavaStringHash of "ab" is 3105, and 3105 mod 10 partitions = 5.'
    """
    if partitions < 1:
        return Rejection("IllegalArgumentException", f"{partitions} is below 1", field="partitions")
    after, partition = route(router, Message(key, size_bytes), partitions, now_ms)
    if isinstance(router, PartialRoundRobinRouter) or router.keys.undecided(key):
        return _without_key(router, after, partition, partitions, now_ms, key=key)
    assert key is not None
    return explain_key_route(key, route_key(key, router.keys, partitions))


def explain_key_route(key: str | bytes, found: KeyRoute) -> RouteExplanation:
    """The same where the key decides, whatever the router: one that looks at keys asks it last.

    >>> from engine.routing.clients import KeyRouting
    >>> explain_key_route("ab", route_key("ab", KeyRouting("rust", "Murmur3_32Hash"), 10)).sentence
    'The key decides: Murmur3_32Hash of "ab" is 2613040991, and 2613040991 mod 10 partitions = 1.'
    """
    step, division = key_step(key, found), found.division
    assert division is not None, found.undecided
    if step.from_bytes is None or step.text is None:
        what = f'"{step.text}"' if step.from_bytes is None else "its bytes"
    else:
        what = f'"{step.text}" (the base64 form of its bytes)'
    sentence = (
        f"The key decides: {step.hashing} of {what} is {step.value},"
        f" and {step.value} mod {_partitions(found.partitions)} = {division.remainder}."
    )
    return RouteExplanation(division.remainder, "key hash", step, division, (), False, sentence)


def key_step(key: str | bytes, found: KeyRoute) -> KeyStep:
    """The steps from a key to its hash.

    >>> from engine.routing.clients import JAVA_DEFAULT
    >>> step = key_step("ab", route_key("ab", JAVA_DEFAULT, 4))
    >>> step.data, step.raw
    (b'\\x00a\\x00b', 3105)
    """
    assert found.hashed is not None and found.raw is not None and found.hash_value is not None
    text = key if isinstance(key, str) else None if found.routing.family.bytes_keys == "raw" else base64_text(key)
    from_bytes = key if isinstance(key, bytes) else None
    return KeyStep(text, found.hashed, found.routing.hashing, found.raw, found.hash_value, from_bytes)


def _without_key(
    router: Router, after: Router, partition: int, partitions: int, now_ms: int, *, key: str | bytes | None
) -> RouteExplanation:
    modulo: Division | None = None
    chosen: tuple[int, ...] = ()
    rule: RouteRule
    key_ignored, lead = key is not None, _lead(key)
    if isinstance(router, SinglePartitionRouter):
        rule = "fixed index"
        sentence = f"{lead}: every such message of this producer goes to partition {partition}, drawn at its creation."
    elif isinstance(router, PartialRoundRobinRouter):
        rule = "partial list"
        assert isinstance(after, PartialRoundRobinRouter)
        chosen = after.chosen
        modulo = Division(router.counter, len(chosen), router.counter % len(chosen))
        sentence = (
            f"Partial round robin looks at no key: turn {router.counter} mod {len(chosen)} chosen partitions ="
            f" {modulo.remainder}, and that place in its list has partition {partition}."
        )
    elif isinstance(router, BatchRoundRobinRouter):
        return _by_batch(router, after, partition, partitions, key)
    elif router.batching:
        rule = "clock"
        period = period_of(now_ms, router.switch_ms)
        modulo = Division(period + router.start, partitions, partition)
        sentence = (
            f"{lead}, batching on: period {period} of {max(1, router.switch_ms)} ms plus the start {router.start},"
            f" {period + router.start} mod {_partitions(partitions)} = {partition}."
        )
    else:
        rule = "counter"
        modulo = Division(router.counter, partitions, partition)
        sentence = f"{lead}, batching off: turn {router.counter} mod {_partitions(partitions)} = {partition}."
    return RouteExplanation(partition, rule, None, modulo, chosen, key_ignored, sentence)


def _by_batch(
    router: BatchRoundRobinRouter, after: Router, partition: int, partitions: int, key: str | bytes | None
) -> RouteExplanation:
    assert isinstance(after, BatchRoundRobinRouter)
    if partitions == 1:
        sentence = (
            f"There is one partition: every message goes to partition {partition}, and the turn stays where it is."
        )
        return RouteExplanation(partition, "one partition", None, None, (), key is not None, sentence)
    why = "the batch is full or late, so turn" if after.cursor != router.cursor else "the batch has room, so still turn"
    sentence = f"{_lead(key)}, batching on: {why} {after.cursor} mod {_partitions(partitions)} = {partition}."
    modulo = Division(after.cursor, partitions, partition)
    return RouteExplanation(partition, "batch counter", None, modulo, (), key is not None, sentence)


def _lead(key: str | bytes | None) -> str:
    if key is None:
        return "No key"
    return "A key of bytes is none for this client" if key else "The empty key counts as none"


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


@dataclass(frozen=True, slots=True)
class SendExplanation:
    """How the partition is found (``route``), what sending does (``result``) and what that means (``sentence``)."""

    route: RouteExplanation
    result: SendResult
    sentence: str


def explain_send(
    state: ProducersState, number: int, key: str | None = None, *, size_bytes: int = DEFAULT_MSG_SIZE_BYTES
) -> SendExplanation | Rejection:
    """Explain the next message of one producer with this key, or without one; the state does not change.

    Pulsar's refusals are in ``result``; an unknown producer is a ``Rejection``.
    """
    if not 0 <= number < len(state.producers):
        return Rejection("IllegalArgumentException", f"there is no producer {number}", field="producer")
    producer = state.producers[number]
    assert producer.router is not None, "producers of a fleet have routers that are modelled"
    route = explain_route(producer.router, key, producer.partitions, state.now_ms, size_bytes=size_bytes)
    if isinstance(route, Rejection):
        return route
    result = send(producer, state.topic, key, state.now_ms, size_bytes=size_bytes)[2]
    return SendExplanation(route, result, _sentence(producer, result))


def _sentence(producer: PartitionedProducer, result: SendResult) -> str:
    at = f"partition {result.partition}"
    opens = f"It opens {at}: {result.opened.value}" if result.opened is not None else ""
    if result.error is not None:
        why = f" ({result.cause.message})" if result.cause is not None else ""
        fails = f"the send fails: {result.error.message}{why}."
        return f"{opens}; still {fails}" if opens else f"No message gets to {at}; {fails}"
    if opens:
        return f"{opens}."
    mine = producer.started[result.partition]
    if result.outcome == "queued":
        limit = f" of {producer.max_pending_messages}" if producer.max_pending_messages else ""
        return f"It waits as number {mine.pending_msgs + 1}{limit} in the queue: {at} is not connected."
    return f"It goes to {at}, which is open: {mine.opened.value}."

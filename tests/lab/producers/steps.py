"""What the steps of a scenario say of producers: who starts and how, what is sent, and where clients put it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.routing.producers.settings import (
    ACCESS_MODES,
    CPP,
    JAVA,
    PYTHON,
    AccessMode,
    Client,
    RouterKind,
)
from tests.lab.members import dicts, members, text, whole, wholes

PRODUCER_FACTS: Final = frozenset({"key_to_partition", "partitions_in_order", "message_id", "client_result"})
"""Members of steps that hold facts of producers."""

ACCEPTED: Final = "accepted"
_ROUTERS: Final[dict[str, RouterKind]] = {
    "UseSinglePartition": "SinglePartition",
    "SinglePartition": "SinglePartition",
    "RoundRobinDistribution": "RoundRobinPartition",
    "RoundRobinPartition": "RoundRobinPartition",
}
_HASHINGS: Final = ("JavaStringHash", "Murmur3_32Hash", "BoostHash")
_PARTIAL_ROUTER: Final = re.compile(r"PartialRoundRobin(?:MessageRouterImpl)?\((\d+)\)")
_KEYLESS: Final = re.compile(r"(\d+) (?:messages? without key|more)\b")
_NUMBERED: Final = re.compile(r"message \d+")
_KEYED: Final = re.compile(r"(\d+) messages with keys (\D*)(\d+)\.\.\D*(\d+)")
_BY: Final = re.compile(r"(\d+) (keyed messages )?by ([^\s,]+)")
_MESSAGE_ID: Final = re.compile(r"\(-?\d+,\s*-?\d+,\s*(\d+),\s*-?\d+\)")
_RAW: Final = re.compile(r"raw producers, supports_partial_producer=(True|False): (.+)")
_PLACES: Final = re.compile(r"(.+?) on (?:partitions? )?([\d, and]+)$")
_ONE_PER_KEY: Final = "send one message per key"
_EAGER_CLOSE: Final = "all but the lazy ones close"


@dataclass(frozen=True, slots=True)
class ProducerStart:
    """One producer that starts.

    ``routing`` is None for a router of the user's own; ``limit`` is that of partial round robin. ``partitions``: raw
    producers, one at each of them, with ``flag`` or without it.
    """

    name: str | None
    lazy: bool = False
    access_mode: AccessMode = "Shared"
    routing: RouterKind | None = "RoundRobinPartition"
    limit: int = 0
    batching: bool | None = None
    hashing: str | None = None
    partitions: tuple[int, ...] | None = None
    flag: bool = False


@dataclass(frozen=True, slots=True)
class Sending:
    """Messages in order, each with its key or None; ``by`` None: from the producer that started last."""

    keys: tuple[str | None, ...]
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ProducerStep:
    """One step. ``complete`` is False where messages beside ``sendings`` may have been sent.

    ``eager_close``: all producers but the lazy ones close. ``in_order`` are the partitions of messages without key,
    ``id_partition`` the one in the message id; ``result`` is what a client answered its user. ``hashing`` is a scheme
    that the step's options name.
    """

    starts: tuple[ProducerStart, ...] = ()
    sendings: tuple[Sending, ...] = ()
    complete: bool = True
    eager_close: bool = False
    key_to_partition: Mapping[str, int] = field(default_factory=dict)
    in_order: tuple[int, ...] = ()
    batching: bool | None = None
    hashing: str | None = None
    id_partition: int | None = None
    producer_name: str | None = None
    result: str | None = None

    @property
    def keyless_partitions(self) -> tuple[int, ...]:
        """Where messages without key went, as far as the step says."""
        return self.in_order or (() if self.id_partition is None else (self.id_partition,))

    @property
    def all_partitions(self) -> tuple[int, ...]:
        """Where messages went, with and without key, in the order of sending."""
        return (*self.keyless_partitions, *self.key_to_partition.values())


@dataclass(frozen=True, slots=True)
class ProducersScenario:
    """What holds for all steps; ``client`` is None for one that is not modelled, or not named."""

    client: Client | None


def producers_scenario(scenario: Mapping[str, Any]) -> ProducersScenario | None:
    """The producers' side of a scenario; None when it says nothing of producers."""
    steps = (producer_step(raw) for raw in dicts(scenario.get("steps")))
    if any(step.starts or step.key_to_partition or step.in_order for step in steps):
        return ProducersScenario(_client(text(scenario.get("client"))))
    return None


def _client(name: str) -> Client | None:
    lower = name.lower()
    if "pypi" in lower or "python" in lower:
        return PYTHON
    if "c++" in lower or "cpp" in lower:
        return CPP
    return JAVA if re.search(r"\bjava\b", lower) else None


def producer_step(raw: Mapping[str, Any]) -> ProducerStep:
    """One step of a scenario; members of a wrong kind count as absent."""
    do = text(raw.get("do"))
    starts = _starts(raw, do)
    keys = members(raw.get("key_to_partition")).items()
    by_key = {key: partition for key, partition in keys if whole(partition) is not None}
    in_order = wholes(raw.get("partitions_in_order"))
    sendings, complete = _sendings(do, by_key)
    if not sendings and not complete:
        sendings = _all_in_order(by_key, in_order, len(wholes(raw.get("raw_partitions"))))
        complete = bool(sendings) or do == _EAGER_CLOSE
    message_id = _MESSAGE_ID.fullmatch(text(raw.get("message_id")))
    result, name = raw.get("client_result"), raw.get("producer_name")
    return ProducerStep(
        starts=starts,
        sendings=() if starts else sendings,
        complete=bool(starts) or complete,
        eager_close=do == _EAGER_CLOSE,
        key_to_partition=by_key,
        in_order=in_order,
        batching=False if "batching off" in do else True if "batching on" in do else None,
        hashing=_hashing(raw.get("options")),
        id_partition=int(message_id[1]) if message_id is not None else None,
        producer_name=name if isinstance(name, str) else None,
        result=result if isinstance(result, str) else None,
    )


def _starts(raw: Mapping[str, Any], do: str) -> tuple[ProducerStart, ...]:
    options = raw.get("options")
    if do.startswith("producer ") and isinstance(options, dict):
        return (_start(options),)
    _, listed, names = do.partition("producers: ")
    if listed and not do.startswith("raw"):
        return tuple(
            ProducerStart(name.removesuffix(" (lazy)"), lazy=name.endswith(" (lazy)")) for name in names.split(", ")
        )
    match = _RAW.fullmatch(do)
    return tuple(_raw_starts(match[2], flag=match[1] == "True")) if match is not None else ()


def _start(options: Mapping[str, Any]) -> ProducerStart:
    name, batching = options.get("producer_name"), options.get("batching_enabled")
    mode = text(options.get("access_mode", "Shared"))
    own_router = text(options.get("router") or options.get("message_router"))
    routing = _ROUTERS.get(text(options.get("message_routing_mode", "" if own_router else "RoundRobinPartition")))
    partial = _PARTIAL_ROUTER.fullmatch(own_router)
    limit = int(partial[1]) if routing is None and partial is not None else 0
    return ProducerStart(
        name if isinstance(name, str) else None,
        options.get("lazy_start_partitioned_producers") is True,
        next((known for known in ACCESS_MODES if known == mode), "Shared"),
        "PartialRoundRobin" if limit > 0 else routing,
        limit,
        batching if isinstance(batching, bool) else None,
        _hashing(options),
    )


def _hashing(options: object) -> str | None:
    name = text(members(options).get("hashing_scheme"))
    return next((known for known in _HASHINGS if known == name), None)


def _raw_starts(places: str, *, flag: bool) -> list[ProducerStart]:
    starts: list[ProducerStart] = []
    for place in places.split("; "):
        match = _PLACES.fullmatch(place)
        if match is not None:
            partitions = tuple(int(number) for number in re.findall(r"\d+", match[2]))
            if match[1] == "generated names":
                starts += [ProducerStart(None, partitions=(at,), flag=flag) for at in partitions]
            else:
                starts.append(ProducerStart(match[1], partitions=partitions, flag=flag))
    return starts


def _all_in_order(by_key: Mapping[str, int], in_order: tuple[int, ...], count: int) -> tuple[Sending, ...]:
    """The messages of a step that counts them as well: all with a key, or all without; () where it counts others."""
    if count and count == len(by_key) and not in_order:
        return (Sending(tuple(by_key)),)
    return (Sending((None,) * count),) if count and count == len(in_order) and not by_key else ()


def _sendings(do: str, by_key: Mapping[str, int]) -> tuple[tuple[Sending, ...], bool]:
    """The messages that a step names, and whether that is all of them."""
    if do == "create":
        return (), True
    if do == _ONE_PER_KEY:
        return (Sending(tuple(by_key)),), True
    keyless, keyed = _KEYLESS.match(do), _KEYED.fullmatch(do)
    if keyless is not None:
        return (Sending((None,) * int(keyless[1])),), True
    if _NUMBERED.fullmatch(do):
        return (Sending((None,)),), True
    if keyed is not None:
        numbers = range(int(keyed[3]), int(keyed[4]) + 1)
        return (Sending(tuple(f"{keyed[2]}{number}" for number in numbers)),), True
    by_name = _BY.finditer(do)
    return tuple(Sending(tuple(by_key) if match[2] else (None,) * int(match[1]), match[3]) for match in by_name), False

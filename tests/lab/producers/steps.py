"""What the steps of a scenario tell of producers: who starts and how, what is sent, and where clients put it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.routing.keys import HashingScheme
from engine.routing.producer_settings import (
    ACCESS_MODES,
    CPP,
    JAVA,
    PYTHON,
    AccessMode,
    Client,
    RouterKind,
)
from tests.lab.members import dicts, items, text, whole

PRODUCER_FACTS: Final = frozenset({"key_to_partition", "partitions_in_order", "message_id", "client_result"})
"""Members of steps that hold facts of producers."""

ACCEPTED: Final = "accepted"
_ROUTERS: Final[dict[str, RouterKind]] = {
    "UseSinglePartition": "SinglePartition",
    "SinglePartition": "SinglePartition",
    "RoundRobinDistribution": "RoundRobinPartition",
    "RoundRobinPartition": "RoundRobinPartition",
}
_HASHINGS: Final[tuple[HashingScheme, ...]] = ("JavaStringHash", "Murmur3_32Hash", "BoostHash")
_KEYLESS: Final = re.compile(r"(\d+) (?:messages? without key|more)\b")
_NUMBERED: Final = re.compile(r"message \d+")
_KEYED: Final = re.compile(r"(\d+) messages with keys (\D*)(\d+)\.\.\D*(\d+)")
_BY: Final = re.compile(r"(\d+) (keyed messages )?by ([^\s,]+)")
_MESSAGE_ID: Final = re.compile(r"\(-?\d+,\s*-?\d+,\s*(\d+),\s*-?\d+\)")
_RAW: Final = re.compile(r"raw producers, supports_partial_producer=(True|False): (.+)")
_PLACES: Final = re.compile(r"(.+?) on (?:partitions? )?([\d, and]+)$")
_ONE_PER_KEY: Final = "send one message per key"


@dataclass(frozen=True, slots=True)
class StartTold:
    """One producer that starts. ``partitions``: raw producers, one at each of them, with ``flag`` or without it."""

    name: str | None
    lazy: bool = False
    access_mode: AccessMode = "Shared"
    routing: RouterKind | None = "RoundRobinPartition"
    batching: bool | None = None
    hashing: HashingScheme | None = None
    partitions: tuple[int, ...] | None = None
    flag: bool = False


@dataclass(frozen=True, slots=True)
class SendTold:
    """Messages in order, each with its key or None; ``by`` None: the producer that started last."""

    keys: tuple[str | None, ...]
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ProducersTold:
    """One step. ``silent``: it tells of no messages beside ``sends``; False: others may have been sent.

    ``id_partition`` is the partition in the message id the step tells, ``result`` what a client answered its user.
    ``hashing`` is a scheme that its options name.
    """

    starts: tuple[StartTold, ...] = ()
    sends: tuple[SendTold, ...] = ()
    silent: bool = True
    key_to_partition: Mapping[str, int] = field(default_factory=dict)
    in_order: tuple[int, ...] = ()
    batching: bool | None = None
    hashing: HashingScheme | None = None
    id_partition: int | None = None
    producer_name: str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class ProducersScenario:
    """What holds for all steps; ``client`` None: another one than those that are modelled, or not told."""

    client: Client | None


def producers_scenario(scenario: Mapping[str, Any]) -> ProducersScenario | None:
    """The producers' side of a scenario; None when it tells nothing of producers."""
    told = (producers_told(raw) for raw in dicts(scenario.get("steps")))
    if any(each.starts or each.key_to_partition or each.in_order for each in told):
        return ProducersScenario(_client(text(scenario.get("client"))))
    return None


def _client(name: str) -> Client | None:
    lower = name.lower()
    if "pypi" in lower or "python" in lower:
        return PYTHON
    if "c++" in lower or "cpp" in lower:
        return CPP
    return JAVA if re.search(r"\bjava\b", lower) else None


def producers_told(raw: Mapping[str, Any]) -> ProducersTold:
    """One step of a scenario; odd members count as absent."""
    do = text(raw.get("do"))
    starts = _starts(raw, do)
    keys = raw.get("key_to_partition")
    by_key = {key: at for key, at in keys.items() if whole(at) is not None} if isinstance(keys, dict) else {}
    order = tuple(at for at in map(whole, items(raw.get("partitions_in_order"))) if at is not None)
    sends, silent = _sends(do, by_key)
    found = _MESSAGE_ID.fullmatch(text(raw.get("message_id")))
    result = raw.get("client_result")
    name = raw.get("producer_name")
    return ProducersTold(
        starts=starts,
        sends=() if starts else sends,
        silent=bool(starts) or silent,
        key_to_partition=by_key,
        in_order=order,
        batching=False if "batching off" in do else True if "batching on" in do else None,
        hashing=_hashing(raw.get("options")),
        id_partition=int(found[1]) if found is not None else None,
        producer_name=name if isinstance(name, str) else None,
        result=result if isinstance(result, str) else None,
    )


def _starts(raw: Mapping[str, Any], do: str) -> tuple[StartTold, ...]:
    options = raw.get("options")
    if do.startswith("producer ") and isinstance(options, dict):
        return (_start(options),)
    _, listed, names = do.partition("producers: ")
    if listed and not do.startswith("raw"):
        return tuple(
            StartTold(each.removesuffix(" (lazy)"), lazy=each.endswith(" (lazy)")) for each in names.split(", ")
        )
    found = _RAW.fullmatch(do)
    return tuple(_raw(found[2], flag=found[1] == "True")) if found is not None else ()


def _start(options: Mapping[str, Any]) -> StartTold:
    name, batching = options.get("producer_name"), options.get("batching_enabled")
    mode = text(options.get("access_mode", "Shared"))
    return StartTold(
        name if isinstance(name, str) else None,
        options.get("lazy_start_partitioned_producers") is True,
        next((known for known in ACCESS_MODES if known == mode), "Shared"),
        _ROUTERS.get(text(options.get("message_routing_mode", "RoundRobinPartition"))),
        batching if isinstance(batching, bool) else None,
        _hashing(options),
    )


def _hashing(options: object) -> HashingScheme | None:
    name = text(options.get("hashing_scheme")) if isinstance(options, dict) else ""
    return next((known for known in _HASHINGS if known == name), None)


def _raw(places: str, *, flag: bool) -> list[StartTold]:
    found: list[StartTold] = []
    for each in places.split("; "):
        match = _PLACES.fullmatch(each)
        if match is not None:
            partitions = tuple(int(number) for number in re.findall(r"\d+", match[2]))
            if match[1] == "generated names":
                found += [StartTold(None, partitions=(at,), flag=flag) for at in partitions]
            else:
                found.append(StartTold(match[1], partitions=partitions, flag=flag))
    return found


def _sends(do: str, by_key: Mapping[str, int]) -> tuple[tuple[SendTold, ...], bool]:
    """The messages a step tells of, and whether that is all of them."""
    if do == "create":
        return (), True
    if do == _ONE_PER_KEY:
        return (SendTold(tuple(by_key)),), True
    keyless = _KEYLESS.match(do)
    if keyless is not None:
        return (SendTold((None,) * int(keyless[1])),), True
    if _NUMBERED.fullmatch(do):
        return (SendTold((None,)),), True
    keyed = _KEYED.fullmatch(do)
    if keyed is not None:
        numbers = range(int(keyed[3]), int(keyed[4]) + 1)
        return (SendTold(tuple(f"{keyed[2]}{number}" for number in numbers)),), True
    found = tuple(
        SendTold(tuple(by_key) if match[2] else (None,) * int(match[1]), match[3]) for match in _BY.finditer(do)
    )
    return found, False

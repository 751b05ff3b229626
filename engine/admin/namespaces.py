"""Decode answers about namespaces and brokers: bundles, policies, hash positions, lists, settings, owners."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from engine.admin.facts import BundleList, Count, HashPositions, RuntimeConfiguration
from engine.admin.text import SET_ASIDE, child, malformed, plain_json, raw_list, raw_object, value_problem
from engine.config import DEFAULTS, BrokerSettings
from engine.errors import Decoded, Problem, Rejection
from engine.names import (
    refuse_bundle,
    refuse_namespace,
    refuse_range,
    topic_fault,
)


class _BundlesWire(msgspec.Struct):
    boundaries: list[str]
    numBundles: Count | None = None


class _HashPositionsWire(msgspec.Struct):
    namespace: str
    bundle: str
    topicHashPositions: dict[str, int]


_BUNDLES: Final = msgspec.json.Decoder(_BundlesWire)
_POSITIONS: Final = msgspec.json.Decoder(_HashPositionsWire)
_BROKER_ID: Final = re.compile(r"[^\s/]{1,300}:\d{1,5}")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]{1,8}")
_EMPTY: Final = BundleList(())


def decode_bundles(data: bytes, source: str = "", path: str = "$") -> Decoded[BundleList]:
    """Decode ``GET /admin/v2/namespaces/{tenant}/{namespace}/bundles``: ``{"boundaries": […], "numBundles": n}``.

    An impossible list (not ascending, a number missing, a wrong count) is kept as far as its numbers can be read, with
    a problem; without readable numbers the list is empty.
    """
    data, repairs = plain_json(data, source)
    try:
        wire = _BUNDLES.decode(data)
    except msgspec.ValidationError as fault:
        return Decoded(_EMPTY, (*repairs, value_problem(source, path, fault)), 1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return Decoded(_EMPTY, (*repairs, malformed(data, source, fault, path)), 1)
    problems = list(repairs)
    numbers: list[int] = []
    where = child(path, "boundaries")
    for index, text in enumerate(wire.boundaries):
        if _HEX.fullmatch(text):
            numbers.append(int(text, 16))
        else:
            reason = f"{text!r} is not a boundary; it should look like 0x40000000"
            problems.append(Problem(source, f"{where}[{index}]", reason, "record the answer again"))
    if len(numbers) != len(wire.boundaries):
        return Decoded(_EMPTY, tuple(problems), 1)
    if len(numbers) < 2:
        problems.append(Problem(source, where, "a namespace has at least two boundaries", "record the answer again"))
    if any(lower >= upper for lower, upper in pairwise(numbers)):
        problems.append(Problem(source, where, "boundaries do not ascend", "record the answer again"))
    if wire.numBundles is not None and wire.numBundles != len(numbers) - 1:
        reason = f"says {wire.numBundles} bundles, but {len(numbers)} boundaries make {len(numbers) - 1}"
        problems.append(Problem(source, child(path, "numBundles"), reason, "record the answer again"))
    return Decoded(BundleList(tuple(numbers), wire.numBundles), tuple(problems))


def decode_policies(data: bytes, source: str = "") -> Decoded[BundleList]:
    """Decode the member ``bundles`` of ``GET /admin/v2/namespaces/{tenant}/{namespace}``."""
    data, repairs = plain_json(data, source)
    members, problems = raw_object(data, source)
    if not members:
        return Decoded(_EMPTY, repairs + problems, 1)
    raw = members.get("bundles")
    if raw is None or bytes(raw).strip() == b"null":
        missing = Problem(source, "$.bundles", "the policies name no bundles", "ask …/bundles instead")
        return Decoded(_EMPTY, (*repairs, *problems, missing))
    inner = decode_bundles(bytes(raw), source, "$.bundles")
    return Decoded(inner.good, repairs + problems + inner.problems, inner.set_aside)


def decode_hash_positions(data: bytes, source: str = "") -> Decoded[HashPositions | None]:
    """Decode ``GET …/{bundle}/topicHashPositions`` (PIP-143): decimal CRC-32 positions by full topic name."""
    data, repairs = plain_json(data, source)
    try:
        wire = _POSITIONS.decode(data)
    except msgspec.ValidationError as fault:
        return Decoded(None, (*repairs, value_problem(source, "$", fault)), 1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return Decoded(None, (*repairs, malformed(data, source, fault)), 1)
    refusal = refuse_namespace(wire.namespace) or refuse_range(wire.bundle)
    if refusal is not None:
        return Decoded(None, (*repairs, Problem(source, "$", refusal.message, "the answer is set aside")), 1)
    wrong_names = {name: why for name in wire.topicHashPositions if (why := topic_fault(name))}
    where = child("$", "topicHashPositions")
    wrong = tuple(Problem(source, child(where, name), why, SET_ASIDE) for name, why in wrong_names.items())
    positions = {name: value for name, value in wire.topicHashPositions.items() if name not in wrong_names}
    return Decoded(HashPositions(wire.namespace, wire.bundle, positions), (*repairs, *wrong), len(wrong))


def decode_topic_list(data: bytes, source: str = "") -> Decoded[tuple[str, ...]]:
    """Decode ``GET /admin/v2/{domain}/{tenant}/{namespace}``: full topic names, partitions singly, in listing order."""
    data, repairs = plain_json(data, source)
    items, problems = raw_list(data, source)
    good: list[str] = []
    faults: list[Problem] = [*repairs, *problems]
    for index, raw in enumerate(items):
        try:
            name = msgspec.json.decode(raw, type=str)
        except (msgspec.ValidationError, UnicodeDecodeError):
            faults.append(Problem(source, f"$[{index}]", "is not a topic name", SET_ASIDE))
            continue
        wrong = topic_fault(name)
        if wrong:
            faults.append(Problem(source, f"$[{index}]", wrong, SET_ASIDE))
        else:
            good.append(name)
    return Decoded(tuple(good), tuple(faults), len(items) - len(good))


def decode_runtime_configuration(data: bytes, source: str = "") -> Decoded[RuntimeConfiguration | None]:
    """Decode ``GET /admin/v2/brokers/configuration/runtime``: an object of texts; unknown settings are counted."""
    data, repairs = plain_json(data, source)
    members, problems = raw_object(data, source)
    if not members:
        return Decoded(None, repairs + problems, 1)
    faults: list[Problem] = [*repairs, *problems]
    settings, named, others = BrokerSettings(), [], 0
    for name, raw in members.items():
        if name not in DEFAULTS:
            others += 1
            continue
        changed = _with_setting(settings, name, raw)
        if isinstance(changed, Rejection):
            faults.append(Problem(source, child("$", name), changed.message, "the default is taken for it"))
        else:
            settings = changed
            named.append(name)
    return Decoded(RuntimeConfiguration(settings, tuple(named), others), tuple(faults))


def _with_setting(settings: BrokerSettings, name: str, raw: msgspec.Raw) -> BrokerSettings | Rejection:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Rejection("IllegalArgumentException", "cannot be read", field=name)
    if isinstance(value, list) and isinstance(DEFAULTS[name], tuple):
        return replace(settings, **{name: tuple(str(part) for part in value)})
    text = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else str(value)
    # Java prints a list as [a, b].
    return settings.with_setting(name, str(text).strip("[]") if isinstance(DEFAULTS[name], tuple) else str(text))


class LookupFacts(Struct, frozen=True):
    """A broker's addresses for clients and for HTTP, as a look-up answers; "" where missing."""

    broker_url: str
    http_url: str


class _LookupWire(msgspec.Struct):
    brokerUrl: str | None = None
    httpUrl: str | None = None


def decode_owned(data: bytes, source: str = "") -> Decoded[tuple[str, ...]]:
    """Decode ``GET …/brokers/{cluster}/{broker}/ownedNamespaces``: full names of the bundles, in the answer's order."""
    members, problems = raw_object(data, source)
    faults = {name: refusal.message for name in members if (refusal := refuse_bundle(name)) is not None}
    wrong = tuple(Problem(source, child("$", name), fault, SET_ASIDE) for name, fault in faults.items())
    return Decoded(tuple(name for name in members if name not in faults), problems + wrong, len(wrong))


def decode_lookup(data: bytes, source: str = "") -> Decoded[LookupFacts | None]:
    """Decode ``GET /lookup/v2/topic/…``: the broker that serves the topic."""
    try:
        wire = msgspec.json.decode(data, type=_LookupWire)
    except (msgspec.ValidationError, msgspec.DecodeError) as fault:
        return Decoded(None, (value_problem(source, "$", fault),), 1)
    return Decoded(LookupFacts(wire.brokerUrl or "", wire.httpUrl or ""))


def decode_named_lookups(data: bytes, source: str = "") -> Decoded[dict[str, str]]:
    """Decode what ``pulsar-admin topics partitioned-lookup`` prints: the broker's address by full topic name."""
    members, problems = raw_object(data, source)
    good: dict[str, str] = {}
    faults = list(problems)
    for name, raw in members.items():
        wrong = topic_fault(name)
        if wrong:
            faults.append(Problem(source, child("$", name), wrong, SET_ASIDE))
        else:
            good[name] = str(msgspec.json.decode(raw))
    return Decoded(good, tuple(faults), len(members) - len(good))


def living_brokers(name: str, data: bytes) -> frozenset[str] | None:
    """The brokers in the answer of ``GET /admin/v2/brokers/CLUSTER``; None for another list, by the file's name.

    >>> sorted(living_brokers("02-brokers-a.json", b'["b-1:8080", "b-2:8080"]'))
    ['b-1:8080', 'b-2:8080']
    """
    if "brokers" not in name or data.lstrip()[:1] != b"[":
        return None
    try:
        listed = msgspec.json.decode(data, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return frozenset(listed) if listed and all(map(_BROKER_ID.fullmatch, listed)) else None
